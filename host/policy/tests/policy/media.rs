//! Pictures and other media by one word, and results by what their call asked for.

use leafgate_policy::{Context, Verdict};
use leafgate_tree::Format;
use serde_json::{Value, json};

use super::support::*;

fn blocks(rules: &str, body: &Value, format: Format) -> bool {
    let document = parse(&body.to_string(), format);
    matches!(policy(rules).evaluate(document, &Context::default(), &vault()).verdict, Verdict::Block(_))
}

fn rule(selector: &str, when: &str) -> String {
    format!("[[rule]]\nid = 'r'\nmatch = {{ {selector} }}\nwhen = '''{when}'''\naction = 'block'\n")
}

/// A picture could not be named, wherever it stands.
#[test]
fn a_picture_is_media_in_every_format_and_a_text_is_not() {
    let picture = json!([{ "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } },
        { "type": "text", "text": "what is it" }]);
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" });
    let image = json!({ "type": "image", "source": source });
    let result = json!([{ "type": "tool_result", "tool_use_id": "t", "content": [image] }]);
    let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "Read", "input": {} }] });
    let linked = json!([{ "type": "image_url", "image_url": { "url": "https://example.org/a.png" } }]);
    for (format, body) in [
        (Format::OpenaiChat, json!({ "messages": [{ "role": "user", "content": picture }] })),
        (Format::OpenaiChat, json!({ "messages": [{ "role": "user", "content": linked }] })),
        (Format::AnthropicMessages, json!({ "messages": [{ "role": "user", "content": [image] }] })),
        (Format::AnthropicMessages, json!({ "messages": [call, { "role": "user", "content": result }] })),
        (
            Format::Gemini,
            json!({ "contents": [{ "role": "user", "parts": [
            { "inlineData": { "mimeType": "image/png", "data": "iVBORw0KGgo=" } }] }] }),
        ),
    ] {
        assert!(blocks(&rule("section = 'media'", "true"), &body, format), "{body}");
    }
    let text =
        json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "what is it" }] }] });
    assert!(!blocks(&rule("section = 'media'", "true"), &text, Format::OpenaiChat));
    let both = json!({ "messages": [{ "role": "user", "content": picture }] });
    let text_alone = rule("section = { not = 'media' }", "leaf.text.startsWith(\"data:\")");
    assert!(!blocks(&text_alone, &both, Format::OpenaiChat));
}

/// A picture that a profile put in was the user's words.
#[test]
fn a_picture_of_the_context_is_context() {
    let body = json!({ "messages": [{ "role": "user", "content": [
        { "type": "text", "text": "Context from notes/a.png:" },
        { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } }] },
        { "role": "user", "content": "Now?" }] });
    assert!(blocks(
        &rule("section = 'context'", "leaf.text.startsWith(\"data:\")"),
        &body,
        Format::OpenaiChat
    ));
    assert!(!blocks(&rule("section = 'context'", "leaf.text == \"Now?\""), &body, Format::OpenaiChat));
}

/// "block results of `Read(.env)`" could not be said.
#[test]
fn a_result_is_known_by_what_its_call_asked_for() {
    let results = rule("kind = 'tool-result', tool = 'Read'", "leaf.arguments.contains(\".env\")");
    let chat = |path: &str| {
        let arguments = json!({ "file_path": path }).to_string();
        json!({ "messages": [
            { "role": "assistant", "tool_calls": [{ "id": "1", "type": "function",
                "function": { "name": "Read", "arguments": arguments } }] },
            { "role": "tool", "tool_call_id": "1", "content": "A=1" }] })
    };
    assert!(blocks(&results, &chat("/w/.env"), Format::OpenaiChat));
    assert!(!blocks(&results, &chat("/w/a.rs"), Format::OpenaiChat));
    let messages = |path: &str| {
        json!({ "messages": [
            { "role": "assistant", "content": [
                { "type": "tool_use", "id": "1", "name": "Read", "input": { "file_path": path } },
                { "type": "tool_use", "id": "2", "name": "Read", "input": { "file_path": "b" } }] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "1", "content": [{ "type": "text", "text": "A=1" }] },
                { "type": "tool_result", "tool_use_id": "2", "content": "B" }] }] })
    };
    assert!(blocks(&results, &messages("/w/.env"), Format::AnthropicMessages));
    assert!(!blocks(&results, &messages("/w/a.rs"), Format::AnthropicMessages));
    let of_b = rule("kind = 'tool-result'", "leaf.text == \"B\" && leaf.arguments.contains(\".env\")");
    assert!(!blocks(&of_b, &messages("/w/.env"), Format::AnthropicMessages));
}
