//! `leafgate scan` and `leafgate detectors explain`.

use serde_json::{Value, json};

use super::support::*;

/// A card number of test pages, which opens nothing.
const PUBLISHED: &str = "4242 4242 4242 4242";

#[test]
fn files_are_looked_at_with_the_detectors_that_are_named() {
    let text = format!("{EMAIL} {}", secret());
    let detectors = |args: &[&str]| {
        let ran = Bench::new().run(&[&["scan", "--json", "-"], args].concat(), &text);
        let report: Value = ran.json();
        let found = report["findings"].as_array().unwrap().iter();
        found.map(|finding| finding["detector"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(detectors(&[]), ["secrets/github-token"]);
    assert_eq!(detectors(&["--detect", "pii"]), ["pii/email"]);
    assert_eq!(detectors(&["--detect", "pii,secrets"]), ["pii/email", "secrets/github-token"]);
    assert_eq!(detectors(&["--detect", "secrets/likely"]), [""; 0]);
}

#[test]
fn the_default_is_what_the_built_in_policy_looks_for() {
    let policy = include_str!("../../../policy/src/default.toml");
    let policy: toml::Table = policy.parse().unwrap();
    let named: Vec<&str> = policy["rule"].as_array().unwrap().iter().flat_map(names).collect();
    let (bench, help) = (Bench::new(), Bench::new().run(&["scan", "--help"], "").out);
    for (number, sample) in samples().iter().enumerate() {
        bench.file(&format!("samples/{number}"), sample);
    }
    let scanned = bench.run(&["scan", "--json", "--detect", &named.join(","), "samples"], "").out;
    assert!(scanned.matches("\"detector\"").count() > 100, "{scanned}");
    assert_eq!(scanned, bench.run(&["scan", "--json", "samples"], "").out);
    assert!(named.iter().all(|name| help.contains(&format!("`{name}`"))), "{help}");
}

fn names(rule: &toml::Value) -> impl Iterator<Item = &str> {
    rule["detect"].as_array().unwrap().iter().map(|name| name.as_str().unwrap())
}

/// An example of each detector.
fn samples() -> Vec<String> {
    let list = Bench::new().run(&["detectors", "list", "--json"], "").out;
    let list: Vec<Value> = serde_json::from_str(&list).unwrap();
    let example = |row: &Value| {
        // Known values are somebody's own, so they have no example.
        Some(leafgate_detect::explain(row["id"].as_str().unwrap()).unwrap().examples.first()?.clone())
    };
    list.iter().filter_map(example).collect()
}

fn planted() -> Bench {
    let bench = Bench::new();
    bench.file("tree/.env", &format!("PORT=80\n# é\nGITHUB_TOKEN={}\n", secret()));
    bench.file("tree/a/cards.txt", &format!("pay with {PUBLISHED}\n"));
    bench.file("tree/b c/main.rs", "fn main() {}\n");
    bench.file("tree/.git/config", &secret());
    bench.file("tree/image", &format!("\0\0{}", secret()));
    bench
}

#[test]
fn files_are_reported_by_line_and_column_and_end_with_one() {
    let bench = planted();
    let ran = bench.run(&["scan", "tree"], "");
    assert!(!ran.shown().contains(&secret()[..8]), "{}", ran.shown());
    insta::assert_snapshot!(ran.shown());
    assert_eq!(bench.run(&["scan", "tree/b c", "tree/a"], "").code, 0, "what is published opens nothing");
    assert_eq!(bench.run(&["scan", "tree/image"], "").code, 1, "a file that is named is read");
    let piped = bench.run(&["scan", "-"], &secret());
    assert_eq!((piped.code, piped.out.starts_with("standard input:1:1: ")), (1, true), "{}", piped.shown());
}

#[test]
fn a_link_that_is_named_is_followed_and_one_in_a_folder_is_not() {
    let bench = planted();
    std::os::unix::fs::symlink("tree", bench.path().join("named")).unwrap();
    std::os::unix::fs::symlink("../tree/.env", bench.path().join("tree/a/link")).unwrap();
    let report: Value = bench.run(&["scan", "--json", "named"], "").json();
    let files: Vec<_> = report["findings"].as_array().unwrap().iter().map(|found| &found["file"]).collect();
    assert_eq!(files, ["named/.env", "named/a/cards.txt"]);
    let missing = bench.run(&["scan", "tree/nothing", "tree/image"], "");
    assert_eq!(missing.err.lines().count(), 1, "{}", missing.err);
    assert!(missing.err.contains("cannot read tree/nothing: No such file"), "{}", missing.err);
}

#[test]
fn files_are_reported_as_json_and_as_sarif() {
    let bench = planted();
    let ran = bench.run(&["scan", "--json", "tree"], "");
    let report: Value = ran.json();
    assert_eq!((ran.code, &report["files"], &report["binary"]), (1, &json!(3), &json!(1)));
    let expected = json!({
        "file": "tree/.env", "line": 3, "column": 14, "endLine": 3, "endColumn": 54, "start": 26, "end": 66,
        "detector": "secrets/github-token", "pack": "secrets", "label": "TOKEN", "confidence": "high",
        "published": false,
    });
    let mut found = report["findings"][0].clone();
    found["label"] = expected["label"].clone();
    assert_eq!(found, expected);

    let ran = bench.run(&["scan", "--sarif", "tree"], "");
    let log: Value = ran.json();
    assert_eq!((ran.code, &log["version"]), (1, &json!("2.1.0")));
    let run = &log["runs"][0];
    let result = &run["results"][0];
    let region = &result["locations"][0]["physicalLocation"]["region"];
    assert_eq!((&region["startLine"], &region["endColumn"]), (&json!(3), &json!(54)));
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    assert_eq!((&result["level"], &run["results"][1]["level"]), (&json!("error"), &json!("note")));
    assert!(!ran.shown().contains(&secret()[..8]));
}

#[test]
fn what_cannot_be_read_is_said_and_what_can_be_is_still_reported() {
    let bench = planted();
    let ran = bench.run(&["scan", "missing.txt", "tree/.env"], "");
    assert_eq!(ran.code, 2, "{}", ran.shown());
    assert!(ran.err.contains("cannot read missing.txt"), "{}", ran.err);
    assert!(ran.out.contains("tree/.env:3:14"), "{}", ran.out);
    for call in [&["scan"][..], &["scan", "--json", "--sarif", "x"]] {
        assert_eq!(bench.run(call, "").code, 2, "{call:?}");
    }
    let unknown = bench.run(&["scan", "--detect", "secrest", "tree"], "");
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("did you mean \"secrets\"?"), "{}", unknown.err);
}

#[test]
fn a_detector_is_explained() {
    let bench = Bench::new();
    let ran = bench.run(&["detectors", "explain", "secrets/keyed-uuid"], "");
    let (examples, rest): (Vec<&str>, Vec<&str>) =
        ran.out.lines().partition(|line| line.starts_with("found") || line.starts_with("not found"));
    assert!((ran.code, examples.len()) == (0, 3), "{}", ran.shown());
    insta::assert_snapshot!(rest.join("\n"));
    let json = bench.run(&["detectors", "explain", "secrets/github-token", "--json"], "").out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["pack"], &json["confidence"]), (&json!("secrets"), &json!("high")));
    assert!(!json["keywords"].as_array().unwrap().is_empty());
    let unknown = bench.run(&["detectors", "explain", "github-token"], "");
    assert!(unknown.code == 2 && unknown.err.contains("secrets/github-token"), "{}", unknown.err);
    let pack = bench.run(&["detectors", "explain", "secrets"], "");
    assert!(pack.code == 2 && pack.err.contains("is a pack"), "{}", pack.err);
}
