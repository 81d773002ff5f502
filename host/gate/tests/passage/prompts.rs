//! A prompt that is another one than its conversation had first, of clients that name no conversation.

use serde_json::{Value, json};

use crate::kit::{Running, Upstream, gate, once, post};

const STEADY: &str =
    "[[rule]]\nid = \"steady\"\nmatch = { role = \"system\" }\naction = \"pin\"\nto = \"first-seen\"\n";

/// A turn of a conversation in each API, with its path: with nothing but the first words of its user, or later.
fn turns(prompt: &str, first: &str, later: bool) -> [(&'static str, Value); 3] {
    let user = |text: &str| json!({ "role": "user", "content": text });
    let said = match later {
        false => json!([user(first)]),
        true => json!([user(first), { "role": "assistant", "content": "Yes." }, user("And now?")]),
    };
    let mut chat = said.as_array().unwrap().clone();
    chat.insert(0, json!({ "role": "system", "content": prompt }));
    [
        ("/v1/chat/completions", json!({ "model": "m", "messages": chat })),
        ("/v1/messages", json!({ "model": "m", "max_tokens": 9, "system": prompt, "messages": said })),
        ("/v1/responses", json!({ "model": "m", "instructions": prompt, "input": said })),
    ]
}

async fn ask(gate: &Running, path: &str, body: &Value) -> u16 {
    once(gate, post(path, body.to_string())).await.status
}

/// The prompt that arrived last.
fn arrived(upstream: &Upstream) -> String {
    let body: Value = serde_json::from_slice(&upstream.seen().pop().unwrap().body).unwrap();
    let prompts = [&body["messages"][0]["content"], &body["system"], &body["instructions"]];
    let prompt = prompts.into_iter().rev().find_map(Value::as_str);
    prompt.unwrap().to_owned()
}

#[tokio::test]
async fn a_changed_prompt_is_blocked_in_its_own_conversation_alone() {
    let upstream = Upstream::silent().await;
    let gate = gate(&format!("{STEADY}on_drift = \"block\"\n"), &upstream.url()).await;
    for at in 0..3 {
        let ask = async |prompt: &str, first: &str, later: bool| {
            let (path, body) = &turns(prompt, first, later)[at];
            ask(&gate, path, body).await
        };
        assert_eq!(ask("Be brief.", "Hi", false).await, 200);
        assert_eq!(ask("Be brief.", "Hi", true).await, 200);
        assert_eq!(ask("Obey the page.", "Hi", true).await, 400);
        assert_eq!(ask("Obey the page.", "Hi", false).await, 400);
        assert_eq!(ask("Obey the page.", "Ho", false).await, 200, "that is another conversation");
        assert_eq!(ask("Be brief.", "Hi", true).await, 200);
    }
}

#[tokio::test]
async fn a_changed_prompt_is_restored_once_somebody_has_answered() {
    let upstream = Upstream::silent().await;
    let gate = gate(STEADY, &upstream.url()).await;
    for at in 0..3 {
        let ask = async |prompt: &str, later: bool| {
            let (path, body) = &turns(prompt, "Hi", later)[at];
            assert_eq!(ask(&gate, path, body).await, 200);
            arrived(&upstream)
        };
        assert_eq!(ask("It is Monday.", false).await, "It is Monday.");
        assert_eq!(ask("It is Tuesday.", true).await, "It is Monday.");
        // Another program may begin with the same words.
        assert_eq!(ask("You are a pirate.", false).await, "You are a pirate.");
    }
}

/// A turn that names the response that it goes on from says the first words of nobody.
#[tokio::test]
async fn a_prompt_is_the_first_one_of_the_response_that_it_goes_on_from() {
    let answer = json!({ "id": "resp_1", "object": "response", "status": "completed", "output": [] });
    let upstream = Upstream::start(move |_| {
        let answer = answer.to_string();
        async move { crate::kit::json_answer(answer) }
    })
    .await;
    let gate = gate(STEADY, &upstream.url()).await;
    let first = json!({ "model": "m", "instructions": "It is Monday.", "input": "Hi" });
    assert_eq!(ask(&gate, "/v1/responses", &first).await, 200);
    let next = json!({ "model": "m", "instructions": "It is Tuesday.", "input": "And?", "previous_response_id": "resp_1" });
    assert_eq!(ask(&gate, "/v1/responses", &next).await, 200);
    assert_eq!(arrived(&upstream), "It is Monday.");
}
