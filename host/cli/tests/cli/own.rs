//! A policy of the user's own: begun by whoever needs it first, served where none is named, above the built-in rules.

use crate::support::{Bench, Ran, secret};

const SAID: [&str; 6] = ["--reason", "an example", "--by", "me", "--until", "30d"];
const TICKETS: &str = "[[detector]]\nid = \"ticket\"\nregex = 'CASE-[0-9]{4,}'\nexamples = [\"CASE-1234\"]\n\n\
                       [[rule]]\nid = \"tickets\"\nmatch = {}\ndetect = [\"own/ticket\"]\naction = \"redact\"\n";

/// Runs a command of a user with a home.
fn at_home(bench: &Bench, args: &[&str], input: &str) -> Ran {
    let mut command = bench.command(args);
    command.env("HOME", bench.path());
    bench.run_command(command, input)
}

fn chat(text: &str) -> String {
    serde_json::json!({ "messages": [{ "role": "user", "content": text }] }).to_string()
}

/// The first false alarm under the built-in policy had no way out.
#[test]
fn the_first_false_alarm_has_a_way_out_and_begins_a_policy() {
    let bench = Bench::new();
    let request = chat(&format!("TOKEN={}", secret()));
    assert!(!at_home(&bench, &["apply"], &request).out.contains(&secret()));
    let added = at_home(&bench, &[&["except", "add", "--value", &secret()][..], &SAID].concat(), "");
    assert_eq!(added.code, 0, "{}", added.shown());
    assert!(bench.path().join(".config/leafgate/policy/exceptions.toml").exists());
    assert!(at_home(&bench, &["apply"], &request).out.contains(&secret()), "it passes from now on");
    let built_in = at_home(&bench, &["apply", "--policy", "default"], &request);
    assert!(!built_in.out.contains(&secret()), "who names the built-in policy gets that");
}

#[test]
fn a_baseline_begins_a_policy_too() {
    let bench = Bench::new();
    bench.file("request.json", &chat(&format!("TOKEN={}", secret())));
    let ran = at_home(&bench, &[&["baseline"], &SAID[..], &["request.json"]].concat(), "");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(at_home(&bench, &["apply", "request.json"], "").out.contains(&secret()));
}

#[test]
fn a_rule_about_tickets_leaves_credentials_masked_and_none_is_said_aloud() {
    let bench = Bench::new();
    let begun = at_home(&bench, &["policy", "new"], "");
    assert_eq!(begun.code, 0, "{}", begun.shown());
    let again = at_home(&bench, &["policy", "new"], "");
    assert!(again.code == 2 && again.err.contains("is there already"), "{}", again.shown());
    let checked = at_home(&bench, &["check"], "");
    assert!(checked.out.starts_with("the policy is sound: 1 rule,"), "{}", checked.shown());

    bench.file(".config/leafgate/policy/tickets.toml", TICKETS);
    let request = chat(&format!("CASE-12345 {}", secret()));
    let sent = at_home(&bench, &["apply"], &request).out;
    assert!(!sent.contains("CASE-12345") && !sent.contains(&secret()), "{sent}");

    bench.file(".config/leafgate/policy/alone.toml", "extends = \"none\"\n");
    let sent = at_home(&bench, &["apply"], &request).out;
    assert!(!sent.contains("CASE-12345") && sent.contains(&secret()), "{sent}");
    let checked = at_home(&bench, &["check"], "");
    assert!(checked.out.contains("warning: the built-in rules do not run"), "{}", checked.shown());
    let json = at_home(&bench, &["check", "--json"], "").out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["unprotected"].as_str().is_some_and(|told| told.contains("do not run")), "{json}");
}

#[test]
fn what_runs_and_what_to_do_next_is_said_where_nothing_is_asked() {
    let bench = Bench::new();
    insta::assert_snapshot!(at_home(&bench, &[], "").shown());
}
