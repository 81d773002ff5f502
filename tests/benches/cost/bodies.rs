//! Agent-like requests of a given size: a system prompt, turns with tool calls and their results, and now and then a credential.

use leafgate_tests::plant;
use serde_json::{Value, json};

/// What a body's text is like.
#[derive(Clone, Copy)]
pub(crate) enum Text {
    /// Source code and talk about it.
    Ordinary,
    /// The same with every sixth word one that detectors of credentials wake up at: the worst that is not an attack.
    Keywords,
}

/// A body of at least this many bytes; another seed gives another body.
pub(crate) fn body(size: usize, seed: u64, text: Text) -> Vec<u8> {
    let mut words = Words::new(seed, text);
    let mut messages = vec![
        json!({ "role": "system", "content": format!("You are a coding agent. {}", words.text(40)) }),
        json!({ "role": "user", "content": words.text(30) }),
    ];
    let mut length = 900;
    let mut turn = 0;
    while length < size {
        let added = exchange(&mut words, seed, turn, (size - length).min(4000));
        length += added.iter().map(|message| message.to_string().len() + 1).sum::<usize>();
        messages.extend(added);
        turn += 1;
    }
    json!({ "model": "gpt-sample", "stream": true, "temperature": 0.2, "messages": messages, "tools": [tool()] }).to_string().into_bytes()
}

/// A call of a tool and its result: text, a listing or source code, of about this many bytes.
fn exchange(words: &mut Words, seed: u64, turn: u64, size: usize) -> Vec<Value> {
    let id = format!("call_{seed}_{turn}");
    let arguments =
        json!({ "path": format!("/home/ann/src/{}.rs", words.word()), "lines": [1, 400] }).to_string();
    let call =
        json!({ "id": id, "type": "function", "function": { "name": "read_file", "arguments": arguments } });
    let mut result = words.code(size.saturating_sub(500));
    if turn % 8 == 3 {
        result.push_str(&format!("token = \"{}\"\n", plant::github(seed ^ turn)));
    }
    vec![
        json!({ "role": "assistant", "content": words.text(12), "tool_calls": [call] }),
        json!({ "role": "tool", "tool_call_id": id, "content": result }),
    ]
}

fn tool() -> Value {
    json!({ "type": "function", "function": {
        "name": "read_file",
        "description": "Returns the content of a file.",
        "parameters": { "type": "object", "properties": { "path": { "type": "string" }, "lines": { "type": "array" } } },
    } })
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
