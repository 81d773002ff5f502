//! A value that lies over two adjacent parts of a message is found, and taken out of both.

use leafgate_policy::{Cause, Context, Evaluation, Policy, Verdict};
use leafgate_tree::Format;
use serde_json::{Value, json};

use super::support::*;

const RULES: &str = r#"
    [[rule]]
    id = "secrets"
    match = {}
    detect = ["secrets"]
    action = "redact"
"#;

/// The secret in pieces, with words around it.
fn pieces() -> [String; 3] {
    let secret = secret();
    [format!("use {}", &secret[..6]), secret[6..20].to_owned(), format!("{} today", &secret[20..])]
}

fn run(policy: &Policy, body: &Value, format: Format) -> Evaluation {
    policy.evaluate(parse(&body.to_string(), format), &Context::default(), &vault())
}

fn texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(members) => members.values().for_each(|member| texts(member, into)),
        _ => {}
    }
}

/// Requests of every format with the pieces as adjacent parts.
fn requests() -> Vec<(Format, Value)> {
    let of = |kind: &str| -> Vec<Value> {
        pieces().iter().map(|text| json!({"type": kind, "text": text})).collect()
    };
    let text = || of("text");
    let of_gemini = || -> Vec<Value> { pieces().iter().map(|text| json!({"text": text})).collect() };
    vec![
        (Format::OpenaiChat, json!({"messages": [{"role": "user", "content": text()}]})),
        (Format::OpenaiChat, json!({"messages": [{"role": "tool", "tool_call_id": "c", "content": text()}]})),
        (Format::AnthropicMessages, json!({"messages": [{"role": "user", "content": text()}]})),
        (
            Format::AnthropicMessages,
            json!({"system": text(), "messages": [{"role": "user", "content": "x"}]}),
        ),
        (
            Format::AnthropicMessages,
            json!({"messages": [{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": text()}]}]}),
        ),
        (
            Format::OpenaiResponses,
            json!({"input": [{"type": "message", "role": "user", "content": of("input_text")}]}),
        ),
        (
            Format::OpenaiResponses,
            json!({"input": [{"type": "reasoning", "id": "r", "summary": of("summary_text")}]}),
        ),
        (
            Format::Gemini,
            json!({"systemInstruction": {"parts": of_gemini()}, "contents": [{"role": "user", "parts": [{"text": "x"}]}]}),
        ),
        (Format::Gemini, json!({"contents": [{"role": "user", "parts": of_gemini()}]})),
        (Format::Raw, {
            let parts: Vec<Value> = pieces().iter().map(|text| json!({"type": 1, "text": text})).collect();
            json!([{"role": 1, "content": parts}])
        }),
        (Format::VscodeChat, {
            let parts: Vec<Value> = pieces().iter().map(|text| json!({"value": text})).collect();
            json!({"requests": [{"message": {"text": "x"}, "response": parts}]})
        }),
    ]
}

#[test]
fn a_value_over_adjacent_parts_leaves_in_no_format_and_comes_back_whole_and_once() {
    let policy = policy(RULES);
    for (format, body) in requests() {
        let vault = vault();
        let document = parse(&body.to_string(), format);
        let evaluation = policy.evaluate(document, &Context::default(), &vault);
        assert_eq!(evaluation.verdict, Verdict::Forward, "{format}: {body}");
        let sent = sent(&evaluation);
        let mut left = Vec::new();
        texts(&sent, &mut left);
        let piece = &secret()[6..20];
        assert!(left.iter().all(|text| !text.contains(piece)), "{format}: {sent}");
        assert!(left.contains(&format!("use {}", token("SECRET", &secret()))), "{format}: {sent}");
        assert!(left.contains(&"[SECRET]".to_owned()), "no part is left without text: {sent}");
        let restored = left.iter().map(|text| restore(&vault, text)).collect::<String>();
        assert_eq!(restored.matches(&secret()).count(), 1, "{format}");

        assert_eq!(
            run(&policy, &body, format).draft.render(),
            evaluation.draft.render(),
            "same in, same out"
        );
        let again = run(&policy, &sent, format);
        assert_eq!(super::support::sent(&again), sent, "{format}: what is redacted stays as it is");
    }
}

#[test]
fn parts_with_something_between_them_are_not_joined() {
    let [first, second, third] = pieces();
    let image = json!({"type": "image_url", "image_url": {"url": "https://example.org/x.png"}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let body = json!({"messages": [
        {"role": "user", "content": [text(&first), image, text(&second)]},
        {"role": "user", "content": [text(&third)]},
    ]});
    let evaluation = evaluate(&policy(RULES), &body);
    assert_eq!(sent(&evaluation), body);
}

#[test]
fn what_one_part_holds_alone_is_replaced_as_ever() {
    let parts = [format!("{} a", secret()), format!("b {}.", secret()), "c".to_owned()];
    let parts: Vec<Value> = parts.iter().map(|text| json!({"type": "text", "text": text})).collect();
    let evaluation = evaluate(&policy(RULES), &json!({"messages": [{"role": "user", "content": parts}]}));
    let token = token("SECRET", &secret());
    assert_eq!(sent_at(&evaluation, "/messages/0/content/0/text"), format!("{token} a"));
    assert_eq!(sent_at(&evaluation, "/messages/0/content/1/text"), format!("b {token}."));
    assert_eq!(evaluation.report.rules[0].findings["SECRET"], 2);
}

/// Two rules find the same, and each part counts once for each of them, whatever else is found in it.
#[test]
fn beside_a_value_over_a_border_each_finding_and_each_part_counts_once() {
    let mail = RULES.replace("[\"secrets\"]", "[\"pii/email\"]");
    let policy = policy(&[&*mail, &mail.replace("id = \"secrets\"", "id = \"again\"")].concat());
    let part = |text: &str| json!({"type": "text", "text": text});
    let parts = [part("mail jane@exam"), part("ple.org, then a@example.org and b@example.org")];
    let evaluation = evaluate(&policy, &json!({"messages": [{"role": "user", "content": parts}]}));
    assert_eq!(evaluation.recall.detectors()["pii/email"], 3);
    let matched: Vec<usize> = evaluation.report.rules.iter().map(|rule| rule.matched).collect();
    assert_eq!(matched, [2, 2]);
    assert_eq!(evaluation.report.rules[1].findings["EMAIL"], 3);
}

#[test]
fn a_piece_in_a_signed_part_holds() {
    let [first, second, third] = pieces();
    let think = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "x"});
    let body = json!({"messages": [{"role": "user", "content": "go"},
        {"role": "assistant", "content": [think(&first), think(&format!("{second}{third}"))]}]});
    let evaluation = run(&policy(RULES), &body, Format::AnthropicMessages);
    let hold = block(&evaluation);
    assert_eq!(hold.cause, Cause::Unredactable);
    assert!(hold.detail.starts_with("SECRET in a frozen leaf, at /messages/1/content/0"), "{}", hold.detail);
}

#[test]
fn what_is_encoded_over_a_border_pauses() {
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("the key is {}", secret()));
    let (first, second) = encoded.split_at(30);
    let text = |text: &str| json!({"type": "text", "text": text});
    let body = json!({"messages": [{"role": "user", "content": [text(first), text(second)]}]});
    assert!(matches!(evaluate(&policy(RULES), &body).verdict, Verdict::Pause(_)));
}

#[test]
fn a_plugin_sees_the_joined_text_and_a_person_who_writes_one_half_is_searched() {
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let rules = "[[rule]]\nid='n'\nmatch={}\ndetect=['plugin:names']\naction='redact'\nwith='mask'\n[plugins.names]\nfile='names.wasm'";
    let policy = policy_with(rules, &fakes);
    let text = |text: &str| json!({"type": "text", "text": text});
    let body = |last: &str| json!({"messages": [{"role": "user", "content": [text("at Ac"), text(last)]}]});
    let evaluation = evaluate(&policy, &body("me, Inc."));
    assert_eq!(sent_at(&evaluation, "/messages/0/content/0/text"), "at [NAME]");
    assert_eq!(sent_at(&evaluation, "/messages/0/content/1/text"), ", Inc.");

    let Evaluation { mut draft, recall, .. } = evaluate(&policy, &body("x"));
    let node = draft.document().resolve("/messages/0/content/1/text").unwrap();
    draft.set(node, "me", &leafgate_tree::Author::Person).unwrap();
    policy.review(&mut draft, &Context::default(), &vault(), &recall).unwrap();
    let sent = String::from_utf8(draft.render().to_vec()).unwrap();
    assert!(sent.contains("at [NAME]") && !sent.contains("Ac\""), "{sent}");
}
