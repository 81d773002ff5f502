//! What is remembered hides nothing: a policy that has seen much gives the findings, edits and verdicts of one that has seen nothing.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use leafgate_harness::recordings;
use leafgate_policy::{Context, Evaluation, Policy};
use leafgate_tree::{Document, Format, Limits};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::support::*;

/// Rules of every kind that redaction knows: for all, by role, section, tool, path and condition, by a plugin, and one that counts only.
const RULES: &str = r#"
    [[rule]]
    id = "secrets"
    match = {}
    detect = ["secrets"]
    action = "redact"
    [[rule]]
    id = "mail"
    match = { role = "user" }
    detect = ["pii/email", "pii/payment-card"]
    action = "redact"
    with = "mask"
    [[rule]]
    id = "first"
    match = { path = "messages[0].**" }
    detect = ["pii"]
    action = "redact"
    with = "hash"
    [[rule]]
    id = "results"
    match = { section = "tool-result", tool = "run_*" }
    detect = ["pii/phone", "plugin:names"]
    action = "redact"
    [[rule]]
    id = "asked"
    match = { kind = "text" }
    when = 'leaf.text.contains("a") && leaf.path != "messages[2].content"'
    detect = ["pii/iban", "plugin:names"]
    action = "redact"
    [[rule]]
    id = "counts"
    match = { section = "user" }
    detect = ["pii"]
    action = "redact"
    mode = "monitor"
    [plugins.names]
    file = "names.wasm"
"#;

/// A policy that remembers, and the same that does not.
fn policies() -> (Policy, Policy) {
    let load = || policy_with(RULES, &Fakes::default().with("names", Fake::finds("the")));
    (load(), load().without_memory())
}

/// All that an evaluation decides.
fn decided(evaluation: &Evaluation) -> String {
    let rules = evaluation.report.rules.iter().map(|rule| {
        let counts = (&rule.findings, &rule.published, rule.unredactable, rule.edits);
        format!("{} {} {counts:?} {:?} {:?}\n", rule.rule, rule.matched, rule.skipped, rule.errors)
    });
    let redactions = evaluation.draft.redactions().map(|made| format!("{made:?}\n"));
    let held: Vec<_> = evaluation.recall.unredactable().collect();
    let sent = evaluation.draft.render();
    format!(
        "{}{}{:?}\n{held:?}\n{}",
        rules.collect::<String>(),
        redactions.collect::<String>(),
        evaluation.verdict,
        String::from_utf8_lossy(&sent)
    )
}

fn evaluate(policy: &Policy, body: &[u8], format: Option<Format>) -> String {
    let (body, limits) = (bytes::Bytes::copy_from_slice(body), Limits::default());
    let document = match format {
        Some(format) => Document::parse(body, format, &limits),
        None => Document::detect(body, &limits),
    };
    decided(&policy.evaluate(Arc::new(document.unwrap()), &Context::default(), &vault()))
}

/// Asks both policies about each request: when it is new, when it comes again, and when all others have been asked.
fn assert_same<'b>(requests: impl Iterator<Item = (&'b [u8], Option<Format>)> + Clone) -> usize {
    let (remembers, forgets) = policies();
    let mut expected = Vec::new();
    for (body, format) in requests.clone() {
        let first = evaluate(&forgets, body, format);
        for turn in ["first", "second"] {
            let got = evaluate(&remembers, body, format);
            assert!(got == first, "{turn} time:\n{got}\nand without memory:\n{first}");
        }
        expected.push(first);
    }
    for ((body, format), expected) in requests.zip(&expected) {
        let got = evaluate(&remembers, body, format);
        assert!(got == *expected, "after all others:\n{got}\nand without memory:\n{expected}");
    }
    expected.len()
}

#[test]
fn every_recording_is_judged_alike_with_and_without_memory() {
    let read = |(folder, end, format): &(&str, &'static str, Format)| {
        let format = *format;
        recordings::read(folder, end).into_iter().map(move |file| (file.body.clone(), Some(format)))
    };
    let files: Vec<_> = recordings::FOLDERS.iter().flat_map(read).collect();
    let judged = assert_same(files.iter().map(|(body, format)| (body.as_slice(), *format)));
    assert!(judged >= 9, "{judged} recordings: fewer than every clone has");
}

#[derive(Deserialize)]
struct Row {
    text: String,
}

fn rows() -> Vec<String> {
    let Some(folder) = recordings::corpora() else { return Vec::new() };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "gz"));
    files.sort();
    let lines =
        files.iter().flat_map(|file| BufReader::new(GzDecoder::new(File::open(file).unwrap())).lines());
    lines.map(|line| serde_json::from_str::<Row>(&line.unwrap()).unwrap().text).collect()
}

/// A message with a text, in one of the ways in which messages have one.
fn message(way: usize, text: &str) -> Vec<Value> {
    let half = text.floor_char_boundary(text.len() / 2);
    let call = json!({"name": "run_it", "arguments": json!({"said": text, "n": 1}).to_string()});
    match way % 5 {
        0 => vec![json!({"role": "user", "content": text})],
        1 => vec![json!({"role": "user", "content": [
            {"type": "text", "text": text[..half]}, {"type": "text", "text": text[half..]},
        ]})],
        2 => vec![
            json!({"role": "assistant", "content": null,
                "tool_calls": [{"id": "c1", "type": "function", "function": call}]}),
            json!({"role": "tool", "tool_call_id": "c1", "content": text}),
        ],
        3 => vec![json!({"role": "assistant", "content": "so", "name": text})],
        _ => vec![json!({"role": "user", "content": [{"type": "text", "text": "so", (text): 1}]})],
    }
}

/// Conversations of some rows each: as they come, and in another order, so that each message stands in two places.
fn conversations(rows: &[String]) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    for (number, some) in rows.chunks(10).enumerate() {
        let mut messages: Vec<Vec<Value>> =
            some.iter().enumerate().map(|(at, text)| message(number + at, text)).collect();
        for _ in 0..2 {
            let all: Vec<&Value> = messages.iter().flatten().collect();
            bodies.push(json!({"model": "m", "messages": all}).to_string().into_bytes());
            messages.reverse();
        }
    }
    bodies
}

#[test]
fn every_row_of_the_corpora_is_judged_alike_with_and_without_memory() {
    let bodies = conversations(&rows());
    assert_same(bodies.iter().map(|body| (body.as_slice(), Some(Format::OpenaiChat))));
}

/// Large requests are searched from both ends at once.
#[test]
fn a_large_new_request_is_judged_alike_however_it_was_searched() {
    let secret = |number: usize| format!("{}{}", "AKIA", format!("{:016}", number * 7919).replace('0', "Q"));
    let text = |number: usize| {
        let words =
            format!("The {number}th part of what is said, which is long enough to be remembered. ").repeat(9);
        match number % 7 {
            3 => format!("{words} {} {words}", secret(number)),
            5 => format!("{words} %{:02x}{} {words}", b'A', &secret(number)[1..]),
            _ => words,
        }
    };
    for size in [100, 350, 1000] {
        let messages: Vec<Value> = (0..size).flat_map(|number| message(number, &text(number))).collect();
        let body = json!({"model": "m", "messages": messages}).to_string().into_bytes();
        let expected = evaluate(&policies().1, &body, Some(Format::OpenaiChat));
        for _ in 0..10 {
            let got = evaluate(&policies().0, &body, Some(Format::OpenaiChat));
            assert!(got == expected, "{size} messages");
        }
    }
}

#[test]
fn a_key_that_was_found_elsewhere_is_not_taken_for_quiet_here() {
    let (remembers, forgets) = policies();
    let of = |messages: &[Value]| json!({"model": "m", "messages": messages}).to_string().into_bytes();
    let part =
        |said: &str| json!({"role": "user", "content": [{"type": "text", "text": said, (secret()): 1}]});
    // The key is searched once for both messages, and stands in the second one alone then.
    for messages in [vec![part("one"), part("two")], vec![part("two")], vec![part("three"), part("two")]] {
        let body = of(&messages);
        let (got, expected) = (evaluate(&remembers, &body, None), evaluate(&forgets, &body, None));
        assert_eq!(got, expected);
        assert!(got.contains("Block"), "{got}");
    }
}

#[test]
fn a_result_is_asked_about_anew_when_it_belongs_to_another_tool() {
    let (remembers, forgets) = policies();
    for tool in ["read", "run_sql", "read"] {
        let call = json!({"id": "c1", "type": "function", "function": {"name": tool, "arguments": "{}"}});
        let body = json!({"model": "m", "messages": [
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "over the hills"},
        ]})
        .to_string()
        .into_bytes();
        let (got, expected) = (evaluate(&remembers, &body, None), evaluate(&forgets, &body, None));
        assert_eq!(got, expected);
    }
}

#[test]
fn a_condition_that_failed_for_one_model_does_not_answer_for_another() {
    let rules = r#"
        [[rule]]
        id = "some"
        match = {}
        when = "int(request.model) > 3"
        on_error = "pass"
        detect = ["pii/email"]
        action = "redact"
    "#;
    let (remembers, forgets) = (policy(rules), policy(rules).without_memory());
    for (model, leaves) in [("none", true), ("4", false), ("3", true), ("5", false)] {
        let body =
            json!({"model": model, "messages": [{"role": "user", "content": format!("{EMAIL} it is")}]});
        let body = body.to_string().into_bytes();
        let (got, expected) = (evaluate(&remembers, &body, None), evaluate(&forgets, &body, None));
        assert_eq!(got, expected);
        assert_eq!(got.contains(EMAIL), leaves, "{got}");
    }
}

#[test]
fn a_message_that_moves_is_asked_about_by_path_rules() {
    let (remembers, forgets) = policies();
    let mail = json!({"role": "assistant", "content": format!("write to {EMAIL}")});
    let other = json!({"role": "assistant", "content": "nothing here"});
    for messages in [[&other, &mail], [&mail, &other], [&other, &mail]] {
        let body = json!({"model": "m", "messages": messages}).to_string().into_bytes();
        let (got, expected) = (evaluate(&remembers, &body, None), evaluate(&forgets, &body, None));
        assert_eq!(got, expected);
        assert_eq!(got.contains(EMAIL), messages[0]["content"] == "nothing here", "{got}");
    }
}

#[test]
fn what_lies_beyond_the_caps_is_not_taken_for_what_was_walked() {
    let (remembers, forgets) = policies();
    let inner = json!({"deep": {"said": secret()}}).to_string();
    let message = json!({"role": "assistant", "content": inner});
    let body = json!({"model": "m", "messages": [message]}).to_string();
    for embedded in [4, 0, 4] {
        let judge = |policy: &Policy| {
            let limits = Limits { embedded, ..Limits::default() };
            let document = Document::parse(body.clone().into(), Format::OpenaiChat, &limits).unwrap();
            decided(&policy.evaluate(Arc::new(document), &Context::default(), &vault()))
        };
        assert_eq!(judge(&remembers), judge(&forgets));
    }
}

proptest! {
    // Each case loads several policies, which takes longer than all that they do.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_conversation_is_judged_alike_with_and_without_memory_turn_by_turn(
        turns in prop::collection::vec((0usize..5, "[a-z ]{20,60}"), 1..6)
    ) {
        let part = |kind: usize| match kind {
            0 => String::new(),
            1 => secret(),
            2 => EMAIL.to_owned(),
            3 => STANDARD.encode(format!("the key is {}", secret())),
            _ => format!("{} {EMAIL}", token("SECRET", &secret())),
        };
        let text = |(kind, words): &(usize, String)| format!("{words} {} {words}", part(*kind));
        let texts: Vec<String> = turns.iter().map(text).collect();
        let bodies: Vec<_> = (1..=texts.len()).map(|turn| history(&texts[..turn]).to_string().into_bytes()).collect();
        assert_same(bodies.iter().map(|body| (body.as_slice(), Some(Format::OpenaiChat))));
    }
}
