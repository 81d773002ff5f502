//! `explain` of a request.

use serde_json::Value;

use crate::support::{Bench, EMAIL, holding, request, secret};

fn bench() -> Bench {
    let bench = Bench::with(&holding("pause"));
    bench.file("request.json", &request());
    bench
}

/// The generation depends on the data of detectors, which may grow, and times on the machine.
fn timeless(shown: &str) -> String {
    let generation = shown.split("Policy ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("-");
    let lines = shown.split_inclusive('\n').filter(|line| !line.starts_with("   took "));
    lines.collect::<String>().replace(generation, "GENERATION")
}

#[test]
fn a_request_is_explained_rule_by_rule() {
    let ran = bench().run(&["explain", "--policy", "policy", "request.json"], "");
    insta::assert_snapshot!(timeless(&ran.shown()));
    assert!(!ran.out.contains(EMAIL) && !ran.out.contains(&secret()));
}

#[test]
fn a_leaf_is_named_by_its_path_or_its_pointer() {
    let bench = bench();
    let explain =
        |leaf: &str| bench.run(&["explain", "--policy", "policy", "--leaf", leaf, "request.json"], "");
    let by_path = explain("messages[1].content");
    insta::assert_snapshot!(timeless(&by_path.shown()));
    assert_eq!(explain("/messages/1/content").out, by_path.out);
    let missing = explain("messages[9].content");
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("the request has no leaf messages[9].content"), "{}", missing.err);
}

#[test]
fn programs_read_it_as_json() {
    let ran = bench().run(&["explain", "--policy", "policy", "--json", "-"], &request());
    let json: Value = ran.json();
    assert_eq!(json["rules"][0]["rule"], "secrets");
    assert_eq!(json["rules"][0]["applies"], true);
    assert!(json["rules"][2]["did"][0].as_str().unwrap().starts_with("pauses the request"), "{json}");
}
