//! `leafgate scan` and `leafgate detectors explain`.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::support::*;

/// A card number of test pages, which opens nothing.
const PUBLISHED: &str = "4242 4242 4242 4242";

fn rows(args: &[&str], rows: &[Value]) -> Vec<Value> {
    let input: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let ran = Bench::new().run(&[&["scan", "--jsonl"], args].concat(), &input);
    assert_eq!((ran.code, &*ran.err), (0, ""), "{}", ran.shown());
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_row_is_answered_with_byte_offsets_and_never_with_its_text() {
    let text = format!("naïve “token”: {} and {PUBLISHED}", secret());
    let answers = rows(
        &[],
        &[
            json!({ "id": "a", "text": text, "label": 1 }),
            json!({ "id": 7, "text": "let x = 1;" }),
            json!({ "text": "deployToken: q7Zk29fLmXw84TbV", "id": [null] }),
        ],
    );
    assert_eq!(answers.len(), 3);
    let findings = answers[0]["findings"].as_array().unwrap();
    let cut = |finding: &Value| {
        let at = |name: &str| usize::try_from(finding[name].as_u64().unwrap()).unwrap();
        text[at("start")..at("end")].to_owned()
    };
    assert_eq!(findings.iter().map(cut).collect::<Vec<_>>(), [secret(), PUBLISHED.to_owned()]);
    let mut first = findings[0].as_object().unwrap().clone();
    first.retain(|name, _| !["start", "end"].contains(&&**name));
    let expected = json!({
        "detector": "secrets/github-token", "pack": "secrets", "confidence": "high", "published": false,
    });
    assert_eq!(Value::Object(first), expected);
    assert_eq!((&findings[1]["pack"], &findings[1]["published"]), (&json!("pii"), &json!(true)));
    assert_eq!(answers[1], json!({ "id": 7, "findings": [] }));
    assert_eq!(answers[2]["id"], json!([null]));
    assert_eq!(answers[2]["findings"][0]["pack"], "secrets/likely");
}

#[test]
fn rows_are_looked_at_with_the_detectors_that_are_named() {
    let row = json!({ "id": 1, "text": format!("{EMAIL} {}", secret()) });
    let detectors = |args: &[&str]| {
        let answers = rows(args, std::slice::from_ref(&row));
        let found = answers[0]["findings"].as_array().unwrap().iter();
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
    let help = Bench::new().run(&["scan", "--help"], "").out;
    let rows: Vec<Value> = rows(&["--detect", &named.join(",")], &samples());
    assert_eq!(rows, self::rows(&[], &samples()));
    assert!(named.iter().all(|name| help.contains(&format!("`{name}`"))), "{help}");
}

fn names(rule: &toml::Value) -> impl Iterator<Item = &str> {
    rule["detect"].as_array().unwrap().iter().map(|name| name.as_str().unwrap())
}

/// An example of each detector.
fn samples() -> Vec<Value> {
    let list = Bench::new().run(&["detectors", "list", "--json"], "").out;
    let list: Vec<Value> = serde_json::from_str(&list).unwrap();
    let example = |row: &Value| {
        let id = row["id"].as_str().unwrap();
        let explained = leafgate_detect::explain(id).unwrap();
        // Known values are somebody's own, so they have no example.
        Some(json!({ "id": id, "text": explained.examples.first()? }))
    };
    list.iter().filter_map(example).collect()
}

#[test]
fn what_is_no_row_is_named_by_its_line_and_not_quoted() {
    let bench = Bench::new();
    for (line, why) in [
        (json!({ "id": 1 }).to_string(), "must be an object with `id` and a string `text`"),
        (json!({ "id": 1, "text": [secret()] }).to_string(), "must be an object with"),
        (json!([secret()]).to_string(), "must be an object with"),
        (format!("{{\"id\": 1, \"text\": \"{}", secret()), "is no JSON, from column"),
    ] {
        let input = format!("{}\n\n{line}\n", json!({ "id": 0, "text": "x" }));
        let ran = bench.run(&["scan", "--jsonl"], &input);
        assert_eq!(ran.code, 2, "{}", ran.shown());
        assert!(ran.err.contains("line 3 of standard input") && ran.err.contains(why), "{}", ran.err);
        assert!(!ran.shown().contains(&secret()));
        assert_eq!(ran.out.lines().count(), 1, "the row before is answered");
    }
}

#[test]
fn an_answer_comes_before_the_next_row_is_waited_for() {
    let bench = Bench::new();
    let mut child =
        bench.command(&["scan", "--jsonl"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for id in 0..3 {
        writeln!(input, "{}", json!({ "id": id, "text": secret() })).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
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
fn files_are_reported_as_json_and_as_sarif() {
    let bench = planted();
    let ran = bench.run(&["scan", "--json", "tree"], "");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
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
    let log: Value = serde_json::from_str(&ran.out).unwrap();
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
    for call in [&["scan"][..], &["scan", "--jsonl", "x"], &["scan", "--json", "--sarif", "x"]] {
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
