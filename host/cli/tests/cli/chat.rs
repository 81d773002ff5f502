//! `chat`: conversions and exports, as they are written and shown.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Bench, EMAIL, Ran, secret};

/// An example file with a credential in the places of its placeholder.
fn example(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/requests").join(name);
    fs::read_to_string(path).unwrap().replace("{{credential}}", &secret())
}

fn chat(args: &[&str], input: &str) -> Ran {
    Bench::new().run(&[&["chat"], args].concat(), input)
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

// S2-01, S2-16, S2-17, S2-19, S2-23
#[test]
fn a_conversation_is_shown_with_its_secrets_masked() {
    let shown = chat(&["show"], &example("chat.json")).shown();
    assert!(!shown.contains(&secret()), "{shown}");
    insta::assert_snapshot!(shown);
    let told = chat(&["show", "--json"], &example("chat.json"));
    assert!(!told.out.contains(&secret()) && told.out.contains("‹"), "{}", told.out);
    assert_eq!(parsed(&told.out)["turns"][1]["status"], "cancelled");
    let unmasked = chat(&["show", "--policy", "none"], &example("chat.json"));
    assert!(unmasked.out.contains(&secret()), "as was asked for");
}

#[test]
fn what_a_terminal_would_obey_is_shown_and_not_obeyed() {
    let file = json!({ "requests": [{ "message": "a\u{1b}[2Jb\u{202e}c\rd", "response": [{ "value": "\u{9b}x" }] }] }).to_string();
    for args in [&["show"][..], &["show", "--json"], &["messages", "-"], &["raw"]] {
        let ran = chat(args, &file);
        assert_eq!(ran.code, 0);
        assert!(!ran.out.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\r']), "{}", ran.out);
    }
}

#[test]
fn a_redacted_export_differs_in_its_redactions_and_ranges_alone() {
    let before = parsed(&example("chat.json"));
    let ran = chat(&["redact"], &example("chat.json"));
    assert_eq!((ran.code, ran.err.as_str()), (0, "leafgate: 6 redactions, 7 numbers of ranges moved\n"));
    assert!(!ran.out.contains(&secret()));
    let after = parsed(&ran.out);
    let message = &after["requests"][0]["message"];
    let units: Vec<u16> = message["text"].as_str().unwrap().encode_utf16().collect();
    for part in message["parts"].as_array().unwrap() {
        let [start, end] = ["start", "endExclusive"].map(|key| part["range"][key].as_u64().unwrap() as usize);
        assert_eq!(String::from_utf16(&units[start..end]).unwrap(), part["text"].as_str().unwrap());
    }
    assert_eq!(after["requests"][1], before["requests"][1]);
    let again = chat(&["redact"], &ran.out);
    assert_eq!((again.out, again.err.as_str()), (ran.out, "leafgate: nothing to redact\n"));
}

#[test]
fn an_export_without_a_finding_stays_as_it_is_and_goes_where_it_is_told_to() {
    let odd = "{ \"requests\" : [ ],\t\"n\": 1.50E+0 }\n";
    let bench = Bench::new();
    let ran = bench.run(&["chat", "redact", "--output", "out.json", "-"], odd);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(bench.path().join("out.json")).unwrap(), odd);
}

#[test]
fn a_secret_in_hexadecimal_is_redacted_where_it_is_encoded() {
    let file = |value: &str| {
        let config =
            json!({ "hostPath": "/srv", "settings": { "env": { "GITHUB_TOKEN": value } } }).to_string();
        let authority = format!("dev-container+{}", hex(&config));
        let external = format!("vscode-remote://dev-container%2B{}/a", hex(&config));
        json!({ "requests": [{ "message": "look", "response": [
            { "value": "x", "baseUri": { "authority": authority, "external": external, "path": "/a" } }] }] })
    };
    let ran = chat(&["redact"], &file(&secret()).to_string());
    assert_eq!((ran.code, ran.err.as_str()), (0, "leafgate: 2 redactions, 2 in encoded texts\n"));
    assert!(!ran.out.contains(&hex(&secret())));
    let token = parsed(&chat(&["redact"], &json!({ "requests": [], "t": secret() }).to_string()).out);
    let token = token["t"].as_str().unwrap().to_owned();
    assert_eq!(parsed(&ran.out), file(&token), "the same token as anywhere else, encoded");
    let held = chat(&["redact"], &json!({ "requests": [], hex(&secret()): 1 }).to_string());
    assert_eq!((held.code, held.out.as_str()), (4, ""), "a key cannot be replaced: {}", held.err);
}

#[test]
fn bare_copies_of_a_password_go_with_the_one_that_gave_it_away() {
    let password = format!("{}{}", "mallorca", "-4711-Xy");
    let file = |model: &str| {
        json!({ "requests": [{ "message": format!("password: {password}"), "modelId": model,
            "response": [{ "value": format!("You wrote {password}.") }] }] })
        .to_string()
    };
    let ran = chat(&["redact"], &file("m"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!ran.out.contains(&password) && ran.err.contains("1 leaves with further copies"), "{}", ran.err);
    let stuck = chat(&["redact"], &file(&password));
    assert_eq!((stuck.code, stuck.out.as_str()), (4, ""));
    assert!(stuck.err.contains("/requests/0") && !stuck.err.contains(&password), "{}", stuck.err);
}

/// An export whose answer and reasoning are cut in the middle of a value.
fn in_pieces(value: &str) -> Value {
    let (head, tail) = value.split_at(20);
    let [first, middle, last] = [&value[..9], &value[9..25], &value[25..]];
    json!({ "requests": [{
        "message": "look",
        "response": [
            { "kind": "thinking", "value": format!("The key is {head}") },
            { "kind": "thinking", "value": [&tail[..4], &tail[4..], "."] },
            { "value": format!("Use {first}"), "supportHtml": false },
            { "kind": "undoStop", "id": "u" },
            { "value": middle },
            { "kind": "markdownContent", "content": { "value": format!("{last} now.") } },
        ],
        "result": { "metadata": {
            "renderedUserMessage": [{ "type": 1, "text": format!("set {head}") }, { "type": 1, "text": tail }],
            "toolCallRounds": [{ "response": "", "thinking": { "text": [head, tail] } }],
            "toolCallResults": { "call": { "content": [
                { "value": head }, { "value": tail },
                { "value": { "node": { "type": 1, "children": [
                    { "type": 2, "text": format!("a {head}") }, { "type": 2, "text": tail }] } } },
            ] } },
        } },
    }] })
}

/// All strings of a value, joined in order.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(joined).collect(),
        Value::Object(members) => members.values().map(joined).collect(),
        _ => String::new(),
    }
}

#[test]
fn a_value_over_two_pieces_of_a_text_is_redacted_in_each() {
    let ran = chat(&["redact"], &in_pieces(&secret()).to_string());
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (0, "leafgate: 6 redactions, 6 over two pieces of a text\n"),
        "{}",
        ran.out
    );
    let after = parsed(&ran.out);
    for piece in [&secret()[9..25], &secret()[20..], &secret()[..20]] {
        assert!(!joined(&after).contains(piece), "{piece} is left: {after}");
    }
    let answer = &after["requests"][0]["response"];
    let words = format!(
        "{}{}{}",
        answer[2]["value"].as_str().unwrap(),
        answer[4]["value"].as_str().unwrap(),
        answer[5]["content"]["value"].as_str().unwrap()
    );
    let token = words.strip_prefix("Use ").and_then(|rest| rest.strip_suffix(" now.")).unwrap();
    assert_eq!(answer[0]["value"], format!("The key is {token}"), "the token stands where the value began");
    assert_eq!(answer[1]["value"], json!(["", "", "."]));
    let again = chat(&["redact"], &ran.out);
    assert_eq!((again.out, again.err.as_str()), (ran.out, "leafgate: nothing to redact\n"));
}

#[test]
fn pieces_without_a_value_over_their_seam_stay_as_they_are() {
    let file = in_pieces("a text of many words, and none is a secret").to_string();
    let ran = chat(&["redact"], &file);
    assert_eq!((ran.code, ran.out), (0, file));
}

#[test]
fn a_value_over_two_pieces_of_json_is_redacted_in_each() {
    let text = json!({ "token": secret() }).to_string();
    let (head, tail) = text.split_at(24);
    let file =
        json!({ "requests": [{ "message": "m", "response": [{ "value": head }, { "value": tail }] }] });
    let ran = chat(&["redact"], &file.to_string());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let text = joined(&parsed(&ran.out)["requests"][0]["response"]);
    assert!(!text.contains(&secret()[..12]) && !text.contains(&secret()[12..]), "{text}");
    assert!(parsed(&text)["token"].is_string(), "the pieces joined are JSON still: {text}");
}

#[test]
fn what_lies_over_two_pieces_is_shown_masked() {
    let told = chat(&["show", "--json"], &in_pieces(&secret()).to_string());
    assert!(!told.out.contains(&secret()[..20]) && !told.out.contains(&secret()[20..]), "{}", told.out);
    let turn = &parsed(&told.out)["turns"][0];
    assert!(turn["assistant"].as_str().unwrap().starts_with("Use ‹"), "{turn}");
}

#[test]
fn a_value_in_pieces_of_a_question_is_held() {
    let text = format!("use {} now", secret());
    let (head, tail) = text.split_at(20);
    let part = |text: &str, start: usize| json!({ "text": text, "range": { "start": start, "endExclusive": start + text.len() } });
    let file =
        json!({ "requests": [{ "message": { "text": text, "parts": [part(head, 0), part(tail, 20)] } }] });
    for command in [&["chat", "redact"][..], &["apply"]] {
        let ran = Bench::new().run(command, &file.to_string());
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{command:?}");
        assert!(ran.err.contains("held: /requests/0/message/parts/0"), "{}", ran.err);
    }
}

// S2-05
#[test]
fn ranges_follow_what_apply_changes_as_recorded_edits() {
    let bytes = |args: &[&str]| Bench::new().run(args, &example("chat.json"));
    let applied = bytes(&["apply"]);
    assert_eq!(applied.code, 0, "{}", applied.err);
    let message = &parsed(&applied.out)["requests"][0]["message"];
    let units: Vec<u16> = message["text"].as_str().unwrap().encode_utf16().collect();
    for part in message["parts"].as_array().unwrap() {
        let [start, end] = ["start", "endExclusive"].map(|key| part["range"][key].as_u64().unwrap() as usize);
        assert_eq!(String::from_utf16(&units[start..end]).unwrap(), part["text"].as_str().unwrap());
    }
    let told = parsed(&bytes(&["apply", "--json"]).out);
    let operations = told["operations"].as_array().unwrap();
    let followed = operations.iter().filter(|operation| operation["author"]["id"] == "(ranges)");
    assert_eq!(followed.count(), 7);
}

#[test]
fn what_other_rules_changed_is_counted() {
    let bench = Bench::new();
    bench.file(
        "policy/rules.toml",
        "[[rule]]\nid = \"polite\"\nmatch = { path = \"requests[0].response[0].value\" }\naction = \"rewrite\"\nappend = \" Please.\"\n",
    );
    let file = json!({ "requests": [{ "message": "m", "response": [{ "value": "Do it." }] }] }).to_string();
    let ran = bench.run(&["chat", "redact", "--policy", "policy"], &file);
    assert_eq!((ran.code, ran.err.as_str()), (0, "leafgate: 0 redactions, 1 other edits by rules\n"));
    assert!(ran.out.contains("Do it. Please."));
}

#[test]
fn what_is_no_export_is_refused() {
    for command in ["show", "redact"] {
        for file in ["{}", "[]", r#"{"requests":{}}"#, r#"{"messages":[{"role":"user","content":"x"}]}"#] {
            let ran = chat(&[command], file);
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{command} {file}");
            assert!(
                ran.err.contains("not a chat export") && ran.err.contains("leafgate apply"),
                "{}",
                ran.err
            );
        }
    }
}

#[test]
fn a_rule_holds_an_export_as_it_holds_a_request() {
    let bench = Bench::new();
    let rule =
        "[[rule]]\nid = \"no\"\nmatch = { role = \"user\" }\nwhen = 'leaf.text.contains(\"staging\")'\n";
    for (action, code) in [("pause", 3), ("block", 4)] {
        bench.file("policy/rules.toml", &format!("{rule}action = \"{action}\"\nreason = \"Ask first\"\n"));
        let ran =
            bench.run(&["chat", "redact", "--policy", "policy", "-o", "out.json"], &example("chat.json"));
        assert_eq!(ran.code, code);
        assert!(ran.err.contains("Ask first") && !bench.path().join("out.json").exists(), "{}", ran.err);
    }
}

#[test]
fn a_redaction_is_told_without_its_value() {
    let ran = chat(&["redact", "--json"], &example("chat.json"));
    assert!(!ran.out.contains(&secret()[..20]), "{}", ran.out);
    let told = parsed(&ran.out);
    assert_eq!((&told["holds"], &told["edits"], &told["notes"]), (&json!([]), &json!(0), &json!([])));
    let findings = told["findings"].as_array().unwrap();
    assert!(findings.len() == 6 && findings.iter().all(|found| found["pointer"].is_string()), "{told}");
    // A file is told from a session by what it holds.
    let bench = Bench::new();
    bench.file("chat.json", &example("chat.json"));
    let found = bench.run(&["redact", "--check", "chat.json"], "");
    assert!(found.code == 1 && found.out.lines().all(|line| line.starts_with("chat.json:/requests/")));
    assert_eq!(bench.run(&["redact", "chat.json"], "").out, chat(&["redact"], &example("chat.json")).out);
}

#[test]
fn checks_say_who_would_import_a_file() {
    let ran = chat(&["check"], &example("chat.json"));
    assert_eq!(ran.code, 0);
    insta::assert_snapshot!(
        chat(
            &["check"],
            &json!({ "requests": [{ "prompt": "p", "completion": "c" }], "responderUsername": EMAIL })
                .to_string()
        )
        .shown()
    );
    let nowhere = chat(&["check", "--json"], "[]");
    assert_eq!((nowhere.code, &parsed(&nowhere.out)["importable"]), (1, &json!(false)));
}

// S1-17
#[test]
fn messages_are_converted_and_losses_are_told_by_place() {
    for api in ["openai-chat", "openai-responses", "anthropic-messages"] {
        let ran = chat(&["wire", "--to", api, "--json"], &example("raw.json"));
        assert_eq!(ran.code, 0);
        let plain = chat(&["wire", "--to", api], &example("raw.json"));
        let told = parsed(&ran.out);
        assert_eq!(parsed(&plain.out), told["wire"]);
        let dropped = told["dropped"].as_array().unwrap();
        assert_eq!(plain.err.lines().count(), dropped.len());
        assert!(!plain.err.contains("northwind") && !plain.err.contains(&secret()), "{}", plain.err);
    }
    let wire = chat(&["wire", "--to", "anthropic-messages"], &example("raw.json"));
    insta::assert_snapshot!(wire.err);
}

// S1-17, S2-25
#[test]
fn an_export_becomes_messages_of_either_form() {
    let openai = parsed(&chat(&["messages"], &example("chat.json")).out);
    let raw = parsed(&chat(&["messages", "--to", "raw"], &example("chat.json")).out);
    let roles = |messages: &Value| {
        messages.as_array().unwrap().iter().map(|message| message["role"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(roles(&openai["messages"]), ["user", "assistant", "tool", "assistant", "user", "assistant"]);
    assert_eq!(roles(&raw), [1, 2, 3, 2, 1, 2]);
    assert_eq!(raw, parsed(&chat(&["raw"], &example("chat.json")).out));
    assert_eq!(openai["messages"][2]["tool_call_id"], "call_91");
    assert!(
        openai["messages"][2]["content"]
            .as_str()
            .unwrap()
            .starts_with("File: deploy.yaml\nservice: mailer\n")
    );
}

#[test]
fn bad_input_is_told_with_its_place() {
    for (args, input, place) in [
        (&["raw"][..], r#"[{"role":1,"content":"x"}]"#, "/0/content"),
        (&["wire", "--to", "openai-chat"], "{}", "top of the file"),
        (&["wire", "--to", "openai-chat", "--request", "2"], r#"{"prompts":[]}"#, "top of the file"),
        (&["messages"], "[]", "requests"),
        (&["show"], "{", "line 1"),
        (&["check"], "\u{fffe}", "line 1"),
    ] {
        let ran = chat(args, input);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.contains(place), "{}", ran.err);
    }
}
