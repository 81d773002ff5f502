//! How much of a request stands in the next one byte for byte: what a cache of prompts can use.

use crate::common::*;
use leafgate_assemble::{Api, Continuation, Profile};
use serde_json::{Value, json};

/// How an API spells a conversation.
struct Spelling {
    api: Api,
    /// The member with the conversation, and the one with the system prompt where that has its own.
    conversation: &'static str,
    system: &'static str,
    /// A request about so many messages.
    request: fn(&[Value]) -> Value,
    user: fn(&str) -> Value,
    model: fn(&str) -> Value,
    call: fn(&str) -> Value,
    result: fn(&str, &str) -> Value,
}

fn spellings() -> [Spelling; 4] {
    [
        Spelling {
            api: Api::Chat,
            conversation: "messages",
            system: "",
            request: |messages| {
                json!({ "model": "m", "messages": messages,
                "tools": [{ "type": "function", "function": { "name": "read_file" } }] })
            },
            user: |text| json!({ "role": "user", "content": text }),
            model: |text| json!({ "role": "assistant", "content": text }),
            call: |id| {
                json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": id, "type": "function", "function": { "name": "read_file", "arguments": "{}" } }] })
            },
            result: |id, text| json!({ "role": "tool", "tool_call_id": id, "content": text }),
        },
        Spelling {
            api: Api::Responses,
            conversation: "input",
            system: "instructions",
            request: |items| {
                json!({ "model": "m", "input": items,
                "tools": [{ "type": "function", "name": "read_file" }] })
            },
            user: |text| {
                json!({ "type": "message", "role": "user",
                "content": [{ "type": "input_text", "text": text }] })
            },
            model: |text| {
                json!({ "type": "message", "role": "assistant",
                "content": [{ "type": "output_text", "text": text }] })
            },
            call: |id| json!({ "type": "function_call", "call_id": id, "name": "read_file", "arguments": "{}" }),
            result: |id, text| json!({ "type": "function_call_output", "call_id": id, "output": text }),
        },
        Spelling {
            api: Api::Messages,
            conversation: "messages",
            system: "system",
            request: |messages| {
                json!({ "model": "m", "max_tokens": 9, "messages": messages,
                "tools": [{ "name": "read_file", "input_schema": { "type": "object" } }] })
            },
            user: |text| json!({ "role": "user", "content": [{ "type": "text", "text": text }] }),
            model: |text| json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] }),
            call: |id| {
                json!({ "role": "assistant", "content": [
                { "type": "tool_use", "id": id, "name": "read_file", "input": {} }] })
            },
            result: |id, text| {
                json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": id, "content": text }] })
            },
        },
        Spelling {
            api: Api::Gemini,
            conversation: "contents",
            system: "systemInstruction",
            request: |contents| {
                json!({ "contents": contents,
                "tools": [{ "functionDeclarations": [{ "name": "read_file" }] }] })
            },
            user: |text| json!({ "role": "user", "parts": [{ "text": text }] }),
            model: |text| json!({ "role": "model", "parts": [{ "text": text }] }),
            call: |id| {
                json!({ "role": "model", "parts": [
                { "functionCall": { "id": id, "name": "read_file", "args": {} } }] })
            },
            result: |id, text| {
                json!({ "role": "user", "parts": [
                { "functionResponse": { "id": id, "name": "read_file", "response": { "output": text } } }] })
            },
        },
    ]
}

impl Spelling {
    /// Twenty requests: each question takes four, three of which go on behind the results of a call.
    fn requests(&self) -> Vec<String> {
        let mut said: Vec<Value> = Vec::new();
        let mut requests = Vec::new();
        for turn in 0..5 {
            said.push((self.user)(&format!("Question {turn}?")));
            for step in 0..4 {
                requests.push((self.request)(&said).to_string());
                let id = format!("call_{turn}_{step}");
                if step == 3 {
                    said.push((self.model)(&format!("Answer {turn}.")));
                    continue;
                }
                said.push((self.call)(&id));
                said.push((self.result)(&id, &"line\n".repeat(40)));
            }
        }
        requests
    }

    /// What a model reads, in the order in which caches of prompts compare it: tools, system prompt,
    /// and one message after the other.
    fn prompt(&self, body: &[u8]) -> Vec<String> {
        let body: Value = serde_json::from_slice(body).unwrap();
        let said = body[self.conversation].as_array().unwrap().iter();
        [&body["tools"], &body[self.system]].into_iter().chain(said).map(Value::to_string).collect()
    }

    /// Of each request but the last: the bytes of its prompt that begin the next one, and all of them.
    fn reused(&self, bodies: &[Vec<u8>]) -> Vec<(usize, usize)> {
        let bytes = |parts: &[String]| parts.iter().map(String::len).sum::<usize>();
        let prompts: Vec<Vec<String>> = bodies.iter().map(|body| self.prompt(body)).collect();
        let pair = |pair: &[Vec<String>]| {
            let same = pair[0].iter().zip(&pair[1]).take_while(|(one, other)| one == other).count();
            (bytes(&pair[0][..same]), bytes(&pair[0]))
        };
        prompts.windows(2).map(pair).collect()
    }

    fn assembled(&self, continuation: Continuation) -> Vec<(usize, usize)> {
        // Gemini names the model in the path.
        let profile = Profile { continuation, model: None, plugins: Vec::new(), ..full() };
        let made: Vec<_> = self.requests().iter().map(|body| run(self.api, body, &profile).body).collect();
        self.reused(&made)
    }
}

/// Requests behind which the next one belongs to the same question.
fn within_turns(reused: &[(usize, usize)]) -> Vec<(usize, usize)> {
    reused.iter().enumerate().filter(|(at, _)| at % 4 != 3).map(|(_, one)| *one).collect()
}

fn percent(reused: &[(usize, usize)]) -> usize {
    100 * reused.iter().map(|one| one.0).sum::<usize>() / reused.iter().map(|one| one.1).sum::<usize>()
}

#[test]
fn a_profile_that_keeps_its_context_keeps_the_prefix_while_tools_run() {
    println!(
        "of 20 requests in 5 turns, bytes of the prompt that begin the next one, in all and while tools run:"
    );
    for spelling in spellings() {
        let came: Vec<_> = spelling.requests().into_iter().map(String::into_bytes).collect();
        let plain = spelling.reused(&came);
        let keep = spelling.assembled(Continuation::Keep);
        let skip = spelling.assembled(Continuation::SkipContext);
        for (name, reused) in [("without a gate", &plain), ("keep", &keep), ("skip-context", &skip)] {
            let (all, within) = (percent(reused), percent(&within_turns(reused)));
            println!("  {:<10} {name:<15} {all:>3} % {within:>3} %", format!("{:?}", spelling.api));
        }
        let api = spelling.api;
        assert_eq!(percent(&plain), 100, "{api:?}: each request has the one before in it");
        assert!(
            within_turns(&keep).iter().all(|(common, all)| common == all),
            "{api:?}: while tools run, a request stands in the next one as a whole, as without a gate"
        );
        assert!(
            skip.iter().step_by(4).all(|(common, all)| common < all),
            "{api:?}: the first of a turn has context that the next one lacks"
        );
    }
}
