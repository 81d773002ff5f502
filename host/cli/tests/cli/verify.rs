//! `leafgate verify`: clean on the built-in policy, and a leak wherever a policy looks the other
//! way.

use leafgate_harness::recordings;
use serde_json::Value;

use super::support::*;

/// A policy that looks at what users say and nowhere else, and only counts what it finds in keys
/// and ids.
const HALF: &str = r#"
[[rule]]
id = "users"
match = { role = "user" }
detect = ["secrets"]
action = "redact"

[[rule]]
id = "everything"
match = {}
detect = ["secrets"]
action = "redact"
mode = "monitor"
"#;

fn verified(bench: &Bench, args: &[&str]) -> (i32, Value) {
    let ran = bench.run(&[&["verify", "--json"], args].concat(), "");
    let report = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.shown()));
    (ran.code, report)
}

#[test]
fn the_built_in_policy_lets_nothing_through() {
    let bench = Bench::new();
    bench.file("request.json", &request());
    bench.file("words.txt", "no JSON at all");
    for family in ["github", "aws", "card"] {
        let (code, report) = verified(&bench, &["--canary", family, "request.json", "words.txt"]);
        assert_eq!((code, &report["clean"], &report["leaked"]), (0, &true.into(), &0.into()), "{report:#}");
        let chat = &report["formats"]["openai-chat"];
        assert!(chat["positions"]["text"]["redacted"].as_u64() > Some(10), "{chat:#}");
        assert!(chat["positions"]["key"]["held"].as_u64() > Some(10), "{chat:#}");
        assert_eq!(report["formats"]["generic"]["positions"]["text"]["held"], 3, "a raw body is held");
    }
}

#[test]
fn a_policy_that_looks_the_other_way_leaks_by_pointer() {
    let bench = Bench::new();
    bench.file("request.json", &request());
    bench.file("policy/rules.toml", HALF);
    let (code, report) = verified(&bench, &["--policy", "policy", "request.json"]);
    assert_eq!(code, 1);
    let leaks = report["formats"]["openai-chat"]["leaks"].as_array().unwrap();
    let leaked = |pass: &str, pointer: &str| {
        leaks
            .iter()
            .any(|leak| leak["pass"] == pass && leak["pointer"] == pointer && leak["leak"] == "missed")
    };
    assert!(leaked("added", "/messages/0/content"), "a system prompt");
    assert!(leaked("added", "/messages/2/tool_calls/0/function/arguments/path"), "inside a document");
    assert!(leaked("added", "/model"), "a rule that only monitors holds nothing");
    assert!(!leaked("added", "/messages/1/content"), "what users say is redacted");
    let shown = bench.run(&["verify", "--policy", "policy", "request.json"], "");
    assert!(shown.out.contains("leak: request.json text /messages/0/content"), "{}", shown.shown());
    assert!(!shown.out.contains("ghp_"), "no secret is printed");
}

#[test]
fn without_a_policy_everything_leaks() {
    let bench = Bench::new();
    bench.file("request.json", &request());
    let (code, report) = verified(&bench, &["--policy", "none", "request.json"]);
    assert_eq!((code, &report["leaked"]), (1, &report["planted"]));
}

#[test]
fn what_cannot_be_read_is_a_bad_call() {
    let bench = Bench::new();
    bench.file("cut.json", "{\"messages\": [");
    for args in [
        &["verify", "absent.json"][..],
        &["verify", "cut.json"],
        &["verify"],
        &["verify", "--canary", "x", "cut.json"],
    ] {
        assert_eq!(bench.run(args, "").code, 2, "{args:?}");
    }
}

/// Every recorded request of every format, in one process for each kind of secret.
#[test]
fn invariant_3_every_recording_is_clean() {
    let formats = [
        ("openai-chat", "openai-chat", ".request.json"),
        ("openai-responses", "openai-responses", ".request.json"),
        ("anthropic-messages", "anthropic-messages", ".request.json"),
        ("gemini", "gemini", ".request.json"),
        ("code-assist", "gemini", ".request.json"),
        ("copilot", "generic", ".request.json"),
        ("raw-chatmessage", "raw", ".raw-parts.json"),
        ("vscode-chat-export", "vscode-chat", ".json"),
        ("prompt-tsx-json", "generic", ".json"),
    ];
    let bench = Bench::new();
    for (folder, format, ending) in formats {
        let files = recordings::read(folder, ending);
        let files: Vec<&str> = files.iter().map(|file| file.path.to_str().unwrap()).collect();
        assert!(!files.is_empty(), "{folder}: every clone has recordings of it");
        for family in ["github", "card"] {
            let (code, report) =
                verified(&bench, &[&["--canary", family, "--format", format][..], &files].concat());
            let tally = &report["formats"][format];
            println!("{format}, {family}: {}", tally["positions"]);
            assert_eq!((code, tally["files"].as_u64()), (0, Some(files.len() as u64)), "{}", leaks(tally));
        }
    }
}

fn leaks(tally: &Value) -> String {
    let leaks = tally["leaks"].as_array().unwrap();
    let shown: Vec<String> = leaks.iter().take(20).map(ToString::to_string).collect();
    format!("{} leaks\n{}", leaks.len(), shown.join("\n"))
}

#[test]
fn the_matrix_says_which_encodings_are_contained_and_which_are_not() {
    let bench = Bench::new();
    insta::assert_snapshot!(bench.run(&["verify", "--encodings"], "").shown());
    let (code, report) = verified(&bench, &["--encodings"]);
    assert_eq!((code, &report["clean"]), (0, &true.into()));
    let rows = report["encodings"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["contained"] == true || row["promised"] == false), "{report:#}");
    assert!(rows.iter().any(|row| row["contained"] == false), "the rows that are not covered are told");
}

#[test]
fn an_encoding_that_leaves_is_told_by_the_exit_code() {
    let bench = Bench::new();
    let (code, report) = verified(&bench, &["--encodings", "--policy", "none"]);
    assert_eq!((code, &report["clean"], &report["contained"]), (1, &false.into(), &0.into()));
}
