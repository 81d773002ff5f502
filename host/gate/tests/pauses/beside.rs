//! Texts of an answer beside what the model says: what a provider's own tools were asked and gave,
//! what is quoted and what is spoken.

use leafgate_answer::{Api, answer_events};
use serde_json::{Value, json};

use crate::pauses::answering::{ADDRESS, BUFFERED, LIVE, everywhere, read, told};

/// An answer with somebody's name in each such place.
fn whole(api: Api, name: &str) -> Value {
    let said = |before: &str| format!("{before} {name} today");
    match api {
        Api::Chat => {
            json!({ "id": "a", "object": "chat.completion", "created": 1, "model": "m", "choices": [{
                "index": 0, "finish_reason": "stop", "message": {
                    "role": "assistant",
                    "content": "Hello.",
                    "annotations": [{ "type": "url_citation", "url_citation": {
                        "title": said("About"), "url": "https://a.example", "start_index": 0, "end_index": 1 } }],
                    "reasoning_details": [{ "type": "reasoning.text", "text": said("Ask") }],
                    "audio": { "id": "audio_1", "data": "AA==", "expires_at": 1, "transcript": said("Call") },
                },
            }]})
        }
        Api::Messages => {
            json!({ "id": "a", "type": "message", "role": "assistant", "model": "m", "content": [
            { "type": "server_tool_use", "id": "s1", "name": "web_search", "input": { "query": said("Who is") } },
            { "type": "web_search_tool_result", "tool_use_id": "s1", "content": [
                { "type": "web_search_result", "url": "https://a.example", "title": said("About") } ] },
            { "type": "text", "text": "Hello.", "citations": [
                { "type": "web_search_result_location", "cited_text": said("It says"), "url": "https://a.example" } ] },
            { "type": "mcp_tool_result", "tool_use_id": "m1", "is_error": false, "content": [
                { "type": "text", "text": said("Found") } ] },
            { "type": "bash_code_execution_tool_result", "tool_use_id": "b1", "content": {
                "type": "bash_code_execution_result", "stdout": said("Printed"), "stderr": "", "return_code": 0 } },
        ], "stop_reason": "end_turn", "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 } })
        }
        Api::Responses => {
            json!({ "id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [
                { "type": "web_search_call", "id": "w1", "status": "completed",
                    "action": { "type": "search", "query": said("Who is") } },
                { "type": "code_interpreter_call", "id": "c1", "status": "completed", "container_id": "x",
                    "code": said("#"), "outputs": [{ "type": "logs", "logs": said("Printed") }] },
                { "type": "mcp_call", "id": "p1", "name": "find", "server_label": "s", "error": null,
                    "arguments": format!("{{\"q\":\"{name}\"}}"), "output": said("Found") },
                { "type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [
                    { "type": "output_text", "text": "Hello.", "logprobs": [], "annotations": [
                        { "type": "url_citation", "title": said("About"), "url": "https://a.example",
                            "start_index": 0, "end_index": 1 } ] } ] },
            ]})
        }
        Api::CodeAssist => json!({ "response": whole(Api::Gemini, name), "traceId": "t" }),
        Api::Gemini => {
            json!({ "candidates": [{ "index": 0, "finishReason": "STOP", "content": { "role": "model", "parts": [
                    { "executableCode": { "language": "PYTHON", "code": said("#") } },
                    { "codeExecutionResult": { "outcome": "OUTCOME_OK", "output": said("Printed") } },
                    { "text": "Hello." },
                ]},
                "groundingMetadata": {
                    "webSearchQueries": [said("Who is")],
                    "groundingChunks": [{ "web": { "uri": "https://a.example", "title": said("About") } }],
                    "groundingSupports": [{ "segment": { "startIndex": 0, "endIndex": 1, "text": said("It says") } }],
                },
            }]})
        }
    }
}

fn sent(api: Api, stream: bool, name: &str) -> String {
    let whole = whole(api, name);
    match stream {
        true => answer_events(api, &whole, false).unwrap().iter().map(ToString::to_string).collect(),
        false => whole.to_string(),
    }
}

// S3-24
#[tokio::test]
async fn what_stands_beside_the_models_words_is_judged_too() {
    for (api, stream) in everywhere() {
        for rules in [LIVE, BUFFERED] {
            let sent = sent(api, stream, ADDRESS);
            assert!(sent.matches(ADDRESS).count() >= 3, "{sent}");
            let answer = told(rules, api, stream, &sent).await;
            assert!(!answer.text().contains(ADDRESS), "{api:?} {stream}: {}", answer.text());
            let said = read(api, stream, &answer);
            assert_eq!(said.reply.content.expose(), "Hello.", "{api:?} {stream}: {}", answer.text());
            let kinds = |whole: &Value| {
                let list = whole.get("content").or(whole.get("output")).and_then(Value::as_array).cloned();
                list.into_iter().flatten().map(|one| one["type"].clone()).collect::<Vec<_>>()
            };
            assert_eq!(kinds(&said.json()), kinds(&whole(api, "")), "{api:?} {stream}: nothing is lost");
        }
    }
}

#[tokio::test]
async fn where_nothing_is_found_beside_the_models_words_an_answer_is_byte_for_byte_the_same() {
    for (api, stream) in everywhere() {
        for rules in [LIVE, BUFFERED] {
            let sent = sent(api, stream, "nobody");
            assert_eq!(told(rules, api, stream, &sent).await.text(), sent, "{api:?} {stream}");
        }
    }
}

/// A signature is over the words beside it, and the provider wants them back as they were.
#[tokio::test]
async fn what_is_signed_stays_as_it_came() {
    let mut signed = whole(Api::Chat, "nobody");
    signed["choices"][0]["message"]["reasoning_details"] =
        json!([{ "type": "reasoning.text", "text": format!("Ask {ADDRESS} now"), "signature": "s" }]);
    let answer = told(BUFFERED, Api::Chat, false, &signed.to_string()).await;
    assert_eq!(answer.text(), signed.to_string());
}
