//! `apply`: bytes, views and exit codes.

use serde_json::Value;

use crate::support::{Bench, EMAIL, RULES, holding, request, secret};

/// No value that was redacted may be anywhere in what a person or a program reads.
fn assert_masked(text: &str) {
    assert!(!text.contains(&secret()) && !text.contains(EMAIL), "{text}");
}

#[test]
fn the_bytes_are_those_that_leave() {
    let odd = "{ \"messages\" : [ ],\t\"n\": 1.50E+0 }\n";
    let untouched = Bench::new().run(&["apply"], odd);
    assert_eq!((untouched.code, untouched.out.as_str(), untouched.err.as_str()), (0, odd, ""));
    let edited = Bench::with(RULES).run(&["apply", "--policy", "policy", "-"], &request());
    assert_eq!(edited.code, 0);
    assert_masked(&edited.out);
    let [mut sent, mut received] =
        [&edited.out, &request()].map(|body| serde_json::from_str::<Value>(body).unwrap());
    let mut said = |at: usize| {
        received["messages"][at]["content"].take();
        sent["messages"][at]["content"].take().as_str().unwrap().to_owned()
    };
    assert_eq!(said(0), "Be brief. Be polite.");
    assert!(said(1).starts_with("Write to EMAIL_"));
    assert!(said(3).starts_with("PORT=80\nGITHUB_TOKEN="));
    assert_eq!(sent, received, "nothing else changed");
}

#[test]
fn a_file_is_read_like_standard_input() {
    let bench = Bench::with(RULES);
    let file = bench.file("request.json", &request());
    let from_file = bench.run(&["apply", "--policy", "policy", file.to_str().unwrap()], "");
    assert_eq!(from_file.out, bench.run(&["apply", "--policy", "policy"], &request()).out);
}

// S0-79
#[test]
fn diff() {
    let shown = Bench::with(RULES).run(&["apply", "--policy", "policy", "--diff"], &request()).shown();
    assert_masked(&shown);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_diff_of_what_leaves_as_it_came_is_empty() {
    let clean = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
    let ran = Bench::with(RULES).run(&["apply", "--policy", "policy", "--diff"], clean);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
}

#[test]
fn a_diff_shows_no_value_that_holds_the_request() {
    let rules = r#"
[[rule]]
id = "address"
match = {}
action = "redact"
detect = ["pii/email"]

[[rule]]
id = "polite"
match = {}
action = "rewrite"
replace = { pattern = "PLEASE", with = "please" }
"#;
    // "contact ann.lee@corp-mail.de about it, and nobody else": what is encoded holds the request, since nothing can stand in its place.
    let encoded = "Y29udGFjdCBhbm4ubGVlQGNvcnAtbWFpbC5kZSBhYm91dCBpdCwgYW5kIG5vYm9keSBlbHNl";
    let body =
        serde_json::json!({"messages": [{"role": "user", "content": format!("PLEASE read {encoded} now")}]});
    let ran = Bench::with(rules).run(&["apply", "--policy", "policy", "--diff"], &body.to_string());
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.out.contains("please read") && !ran.out.contains(&encoded[8..40]), "{}", ran.out);
}

#[test]
fn operations() {
    let shown = Bench::with(RULES).run(&["apply", "--policy", "policy", "--ops"], &request()).shown();
    assert_masked(&shown);
    insta::assert_snapshot!(shown);
}

#[test]
fn json() {
    let ran = Bench::with(RULES).run(&["apply", "--policy", "policy", "--json"], &request());
    assert_masked(&ran.out);
    let mut report: Value = ran.json();
    // The generation hangs on the detectors' data, the rest of the report on the clock.
    assert_eq!(report["generation"].take().as_str().unwrap().len(), 12);
    assert_eq!(report["report"].take()["rules"].as_array().unwrap().len(), 2);
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());
}

#[test]
fn a_blocked_request_writes_nothing_and_says_why() {
    let bench = Bench::with(&holding("block"));
    for view in [&["--diff"][..], &["--ops"], &[]] {
        let ran = bench.run(&[&["apply", "--policy", "policy"], view].concat(), &request());
        assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{view:?}");
        assert!(ran.err.contains("no-projects") && ran.err.contains("Ask first"), "{}", ran.err);
        assert_masked(&ran.err);
    }
    let ran = bench.run(&["apply", "--policy", "policy", "--json"], &request());
    assert_eq!(ran.code, 4);
    let report: Value = ran.json();
    assert_eq!(report["verdict"]["type"], "block");
}

#[test]
fn a_paused_request_shows_its_edits_and_not_its_bytes() {
    let bench = Bench::with(&holding("pause"));
    let ran = bench.run(&["apply", "--policy", "policy"], &request());
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    assert!(ran.err.contains("Ask first"), "{}", ran.err);
    let ran = bench.run(&["apply", "--policy", "policy", "--diff"], &request());
    assert_eq!(ran.code, 3);
    assert!(ran.out.contains("EMAIL"));
}

#[test]
fn what_is_no_request() {
    let bench = Bench::new();
    let mut shown = String::new();
    for input in ["", "{\"a\":\n x}", "[[[", "\u{1b}[2J"] {
        shown += &format!("{}\n", bench.run(&["apply"], input).shown());
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_text_that_is_no_json_is_taken_under_any_name_for_it() {
    let text = "not JSON, and nothing in it\n";
    let bench = Bench::new();
    let refused = bench.run(&["apply"], text);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""), "as a gate refuses it");
    assert!(refused.err.contains("no JSON") || refused.err.contains("not JSON"), "{}", refused.err);
    for format in [&["--format", "raw"], &["--format", "generic"]] {
        let ran = bench.run(&[&["apply"], &format[..]].concat(), text);
        assert_eq!((ran.code, ran.out.as_str()), (0, text), "{format:?}");
        assert!(ran.err.contains("taken as one text"), "{}", ran.err);
    }
    assert_eq!(bench.run(&["apply", "--format", "openai-chat"], text).code, 2, "which is JSON or nothing");
    assert_eq!(bench.run(&["apply", "--format", "raw"], "[{").code, 2, "what ends too early is a mistake");
}

#[test]
fn bad_calls() {
    let bench = Bench::with("[[rule]]\nid = \"a\"\nmatsch = {}\naction = \"block\"\n");
    let mut shown = String::new();
    let calls: [&[&str]; 6] = [
        &["apply", "--policy", "policy"],
        &["apply", "--policy", "not-there"],
        &["apply", "not-there.json"],
        &["apply", "--format", "morse"],
        &["apply", "--diff", "--ops"],
        &["run", "--upstream", "https://host/v1"],
    ];
    for call in calls {
        shown += &format!("$ leafgate {}\n{}\n", call.join(" "), bench.run(call, "{}").shown());
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    let bench = Bench::with(RULES);
    let run = || bench.run(&["apply", "--policy", "policy"], &request()).out;
    assert_eq!(run(), run());
}
