//! `apply --ops` and `--ops-in`: what was edited once is edited again, or it is said why not.

use serde_json::{Value, json};

use crate::support::{Bench, EMAIL, RULES, request, secret};

/// Rules whose edits are of every kind that rules make.
const EDITING: &str = r#"
[[rule]]
id = "no-search"
match = { section = "request-option", tool = "search" }
action = "delete"
"#;

fn with_tools() -> Value {
    let mut body: Value = serde_json::from_str(&request()).unwrap();
    let tool = |name| json!({ "type": "function", "function": { "name": name, "parameters": {} } });
    body["tools"] = json!([tool("search"), tool("read_file")]);
    body
}

/// Records the operations of a request under both sets of rules.
fn recorded(bench: &Bench) -> String {
    bench.file("editing/rules.toml", &format!("{RULES}{EDITING}"));
    bench.file("policy/rules.toml", RULES.split("[[rule]]\nid = \"polite\"").next().unwrap());
    let ran = bench.run(&["apply", "--policy", "editing", "--ops"], &with_tools().to_string());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    bench.file("ops.jsonl", &ran.out);
    ran.out
}

const REPLAY: &[&str] = &["apply", "--policy", "policy", "--ops-in", "ops.jsonl"];

#[test]
fn what_was_recorded_is_made_again() {
    let bench = Bench::new();
    let operations = recorded(&bench);
    assert!(!operations.contains(&secret()) && !operations.contains(EMAIL));
    let body = with_tools().to_string();
    let once = bench.run(&["apply", "--policy", "editing"], &body);
    let again = bench.run(REPLAY, &body);
    assert_eq!((again.code, again.err.as_str()), (0, ""));
    assert!(once.out.contains("Be polite.") && !once.out.contains("search"));
    assert_eq!(again.out, once.out, "the rules that made the edits are not even there");
    let written = bench.run(&[REPLAY, &["--ops"]].concat(), &body);
    assert_eq!(written.out, operations);
}

#[test]
fn redactions_are_made_anew() {
    let bench = Bench::new();
    let operations = recorded(&bench).replace("Be polite.\"", &format!("Be {}.\"", "eve@mail.example.org"));
    bench.file("ops.jsonl", &operations);
    let ran = bench.run(REPLAY, &with_tools().to_string());
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("Be EMAIL_") && !ran.out.contains("eve@"), "{}", ran.out);
    assert!(!ran.out.contains(&secret()));
}

#[test]
fn what_no_longer_fits_is_told_and_held() {
    let bench = Bench::new();
    recorded(&bench);
    // The history grew at its front, so that places mean other messages now; the tools changed
    // their order.
    let mut body = with_tools();
    body["messages"].as_array_mut().unwrap().insert(0, json!({ "role": "system", "content": "Be kind." }));
    body["tools"].as_array_mut().unwrap().reverse();
    let ran = bench.run(REPLAY, &body.to_string());
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    assert!(ran.err.contains("the edit in line 3 (messages[0].content) no longer fits"), "{}", ran.err);
    assert!(ran.err.contains("the edit in line 4 (requestOptions.tools[0]) no longer fits"), "{}", ran.err);
    let report: Value = bench.run(&[REPLAY, &["--json"]].concat(), &body.to_string()).json();
    assert_eq!(report["misfits"].as_array().unwrap().len(), 2);
    assert!(report["operations"].as_array().unwrap().iter().all(|operation| operation["kind"] == "redact"));
    // A place that is gone is told too.
    let ran = bench.run(REPLAY, r#"{"messages":[]}"#);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("no value at this pointer"), "{}", ran.err);
}

#[test]
fn a_file_that_holds_no_operations_is_refused() {
    let bench = Bench::with(RULES);
    bench.file("ops.jsonl", &format!("\n{{\"kind\":\"set\",\"pointer\":\"{}\"}}\n", secret()));
    let ran = bench.run(REPLAY, &request());
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("ops.jsonl, line 2") && !ran.err.contains(&secret()), "{}", ran.err);
}

#[test]
fn other_formats_are_told_by_their_shape() {
    let bench = Bench::new();
    let format = |body: &str| {
        let report = bench.run(&["apply", "--json"], body).out;
        serde_json::from_str::<Value>(&report).unwrap()["format"].take()
    };
    assert_eq!(format(&request()), "openai-chat");
    assert_eq!(format(r#"{"system":"x","messages":[]}"#), "anthropic-messages");
    assert_eq!(format(r#"{"input":[{"role":"user","content":"x"}]}"#), "openai-responses");
    assert_eq!(format(r#"[{"role":1,"content":[]}]"#), "raw");
    let said = bench.run(&["apply", "--format", "generic", "--json"], &request()).out;
    assert!(said.contains("\"generic\""), "the call overrides the shape");
}
