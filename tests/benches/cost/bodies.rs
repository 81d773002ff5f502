//! Agent-like requests of a given size: a system prompt, turns with tool calls and their results, and now and then a credential.

use anyhow::{Context as _, Result};
use leafgate_tests::plant;
use leafgate_tree::Format;
use serde_json::{Value, json};

/// What a body's text is like.
#[derive(Clone, Copy)]
pub(crate) enum Text {
    /// Source code and talk about it.
    Ordinary,
    /// The same with every sixth word one that detectors of credentials wake up at: the worst that is not an attack.
    Keywords,
}

/// A chat request of at least this many bytes; another seed gives another body.
pub(crate) fn body(size: usize, seed: u64, text: Text) -> Vec<u8> {
    in_format(Format::OpenaiChat, size, seed, text)
}

/// A chat with one message more.
pub(crate) fn with_message(chat: &[u8], text: &str) -> Result<Vec<u8>> {
    let mut body: Value = serde_json::from_slice(chat)?;
    let messages = body.get_mut("messages").and_then(Value::as_array_mut).context("a chat has messages")?;
    messages.push(json!({ "role": "user", "content": text }));
    Ok(body.to_string().into_bytes())
}

/// A request in a format.
pub(crate) fn in_format(format: Format, size: usize, seed: u64, text: Text) -> Vec<u8> {
    let mut words = Words::new(seed, text);
    let system = format!("You are a coding agent. {}", words.text(40));
    let question = words.text(30);
    let mut exchanges = Vec::new();
    let mut length = 900;
    while length < size {
        let exchange = Exchange::new(&mut words, seed, exchanges.len() as u64, (size - length).min(4000));
        let spelled = exchange.spell(format);
        length += spelled.iter().map(|message| message.to_string().len() + 1).sum::<usize>();
        exchanges.push(spelled);
    }
    let exchanges = exchanges.into_iter().flatten();
    let list = |opening: Vec<Value>| Value::from_iter(opening.into_iter().chain(exchanges));
    let said = |role, text| json!({ "role": role, "content": text });
    let raw = |role, text| json!({ "role": role, "content": [{ "type": 1, "text": text }] });
    match format {
        Format::OpenaiChat | Format::Generic => json!({
            "model": "gpt-sample", "stream": true, "temperature": 0.2, "tools": [tool("function")],
            "messages": list(vec![said("system", system), said("user", question)]),
        }),
        Format::OpenaiResponses => json!({
            "model": "gpt-sample", "stream": true, "instructions": system, "tools": [tool("type")],
            "input": list(vec![said("user", question)]),
        }),
        Format::AnthropicMessages => json!({
            "model": "claude-sample", "max_tokens": 1024, "system": system, "tools": [tool("input_schema")],
            "messages": list(vec![said("user", question)]),
        }),
        Format::Raw => list(vec![raw(0, system), raw(1, question)]),
        Format::Gemini => json!({
            "systemInstruction": { "parts": [{ "text": system }] }, "tools": [tool("functionDeclarations")],
            "contents": list(vec![json!({ "role": "user", "parts": [{ "text": question }] })]),
        }),
        Format::VscodeChat => json!({ "responderUsername": "agent", "requests": list(Vec::new()) }),
    }
    .to_string()
    .into_bytes()
}

/// A call of a tool and its result: text, a listing or source code.
struct Exchange {
    id: String,
    remark: String,
    arguments: Value,
    result: String,
}

impl Exchange {
    /// One of about this many bytes.
    fn new(words: &mut Words, seed: u64, turn: u64, size: usize) -> Self {
        let arguments = json!({ "path": format!("/home/ann/src/{}.rs", words.word()), "lines": [1, 400] });
        let mut result = words.code(size.saturating_sub(500));
        if turn % 8 == 3 {
            result.push_str(&format!("token = \"{}\"\n", plant::github(seed ^ turn)));
        }
        Exchange { id: format!("call_{seed}_{turn}"), remark: words.text(12), arguments, result }
    }

    /// The messages, items or requests that a format spells it as.
    fn spell(&self, format: Format) -> Vec<Value> {
        let Exchange { id, remark, arguments, result } = self;
        let function = json!({ "name": "read_file", "arguments": arguments.to_string() });
        let call = json!({ "id": id, "type": "function", "function": function });
        match format {
            Format::OpenaiChat | Format::Generic => vec![
                json!({ "role": "assistant", "content": remark, "tool_calls": [call] }),
                json!({ "role": "tool", "tool_call_id": id, "content": result }),
            ],
            Format::OpenaiResponses => vec![
                json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": remark }] }),
                json!({ "type": "function_call", "call_id": id, "name": "read_file", "arguments": arguments.to_string() }),
                json!({ "type": "function_call_output", "call_id": id, "output": result }),
            ],
            Format::AnthropicMessages => vec![
                json!({ "role": "assistant", "content": [
                    { "type": "text", "text": remark },
                    { "type": "tool_use", "id": id, "name": "read_file", "input": arguments },
                ] }),
                json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": result }] }),
            ],
            Format::Gemini => vec![
                json!({ "role": "model", "parts": [
                    { "text": remark },
                    { "functionCall": { "id": id, "name": "read_file", "args": arguments } },
                ] }),
                json!({ "role": "user", "parts": [
                    { "functionResponse": { "id": id, "name": "read_file", "response": { "output": result } } },
                ] }),
            ],
            Format::Raw => vec![
                json!({ "role": 2, "content": [{ "type": 1, "text": remark }], "toolCalls": [call] }),
                json!({ "role": 3, "toolCallId": id, "content": [{ "type": 1, "text": result }] }),
            ],
            Format::VscodeChat => vec![json!({
                "requestId": id, "message": { "text": remark, "parts": [{ "kind": "text", "text": remark }] },
                "response": [{ "value": result, "supportHtml": false }],
                "result": { "metadata": { "toolCallRounds": [{ "id": id, "toolCalls": [function] }] } },
            })],
        }
    }
}

/// A tool's definition; `shape` is the member that its API knows it by.
fn tool(shape: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" }, "lines": { "type": "array" } } });
    let (name, description) = ("read_file", "Returns the content of a file.");
    match shape {
        "functionDeclarations" => json!({
            "functionDeclarations": [{ "name": name, "description": description, "parameters": schema }],
        }),
        "input_schema" => json!({ "name": name, "description": description, "input_schema": schema }),
        "type" => {
            json!({ "type": "function", "name": name, "description": description, "parameters": schema })
        }
        _ => {
            json!({ "type": "function", "function": { "name": name, "description": description, "parameters": schema } })
        }
    }
}

/// Words out of a small vocabulary, by xorshift.
struct Words {
    state: u64,
    vocabulary: Vec<&'static str>,
}

/// As in source code and talk about it: two in eighty are words that detectors of credentials wake up at.
const VOCABULARY: &str = "request parser the of stream value returns a buffer index error is handler session and client let config to \
     for in that this with from when state window buffered length offset range result match line column reader writer file path name \
     first last next until while each every between before after without under over list map set tree node leaf edit token key";

/// What detectors wake up at.
const KEYWORDS: [&str; 4] = ["token", "key", "password", "secret"];

impl Words {
    fn new(seed: u64, text: Text) -> Self {
        let state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut vocabulary: Vec<_> = VOCABULARY.split_whitespace().collect();
        if matches!(text, Text::Keywords) {
            let share = vocabulary.len() / 5;
            vocabulary.extend(KEYWORDS.iter().cycle().take(share));
        }
        Words { state, vocabulary }
    }

    fn number(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn word(&mut self) -> &'static str {
        let place = usize::try_from(self.number() >> 40).unwrap_or_default();
        self.vocabulary[place % self.vocabulary.len()]
    }

    fn text(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    /// Lines that look like source code, with the quotes, backslashes and numbers that it has.
    fn code(&mut self, size: usize) -> String {
        let mut code = String::with_capacity(size + 80);
        while code.len() < size {
            let (left, right, number) = (self.word(), self.word(), self.number() % 100_000);
            code.push_str(&format!(
                "    let {left}_{number} = self.{right}(\"{}\\n\", 0x{number:x}); // {}\n",
                self.word(),
                self.text(4)
            ));
        }
        code
    }
}
