//! `except add` and `baseline`: what is written, and what is not.

use crate::support::{Bench, EMAIL, RULES, request, secret};

const SAID: [&str; 6] = ["--reason", "a \"fixed\" address", "--by", "platform", "--until", "never"];

fn bench() -> Bench {
    let bench = Bench::with(RULES);
    bench.file("request.json", &request());
    bench
}

fn add(bench: &Bench, rest: &[&str]) -> crate::support::Ran {
    bench.run(&[&["except", "add", "--policy", "policy"], rest, &SAID].concat(), "")
}

fn sent(bench: &Bench) -> String {
    bench.run(&["apply", "--policy", "policy", "request.json"], "").out
}

fn token(sent: &str) -> String {
    let start = sent.find("EMAIL_").unwrap();
    sent[start..start + "EMAIL_".len() + 16].to_owned()
}

#[test]
fn a_value_and_the_value_of_a_token_are_allowed() {
    for by_token in [false, true] {
        let bench = bench();
        let token = token(&sent(&bench));
        let ran = match by_token {
            true => add(&bench, &["--finding", &token, "--rule", "secrets"]),
            false => add(&bench, &["--value", EMAIL]),
        };
        assert_eq!(ran.code, 0, "{}", ran.shown());
        let after = sent(&bench);
        assert!(after.contains(EMAIL) && !after.contains(&secret()), "its finding alone: {after}");
        let written = std::fs::read_to_string(bench.path().join("policy/exceptions.toml")).unwrap();
        assert_eq!(written.contains(EMAIL), !by_token, "a token gives nothing away: {written}");
    }
}

#[test]
fn a_second_exception_stands_behind_the_first() {
    let bench = bench();
    assert_eq!(add(&bench, &["--value", EMAIL]).code, 0);
    let ran = add(&bench, &["--pattern", r"ghp_\w+", "--rule", "secrets"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    insta::assert_snapshot!(std::fs::read_to_string(bench.path().join("policy/exceptions.toml")).unwrap());
    assert!(sent(&bench).contains(&secret()));
}

#[test]
fn exceptions_are_listed_and_removed_by_their_ids() {
    let bench = bench();
    assert_eq!(add(&bench, &["--value", EMAIL]).code, 0);
    assert_eq!(add(&bench, &["--pattern", r"ghp_\w+", "--rule", "secrets"]).code, 0);
    let except = |rest: &[&str]| bench.run(&[&["except"], rest, &["--policy", "policy"]].concat(), "");
    let list = except(&["list"]);
    let ids: Vec<&str> = list.out.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    assert_eq!((list.code, ids.len()), (0, 2), "{}", list.shown());
    let removed = except(&["remove", ids[0]]);
    assert_eq!(removed.code, 0, "{}", removed.shown());
    let after = sent(&bench);
    assert!(!after.contains(EMAIL) && after.contains(&secret()), "{after}");
    let again = except(&["remove", ids[0]]);
    assert!(again.code == 2 && again.err.contains("no exception has this id"), "{}", again.shown());
    assert!(except(&["list"]).out.contains(ids[1]));
}

#[test]
fn what_does_not_load_is_not_written() {
    let bench = bench();
    for wrong in [["--rule", "polite", "--value", "x"], ["--rule", "nobody", "--value", "x"]] {
        let ran = add(&bench, &wrong);
        assert_eq!(ran.code, 2, "{}", ran.shown());
        assert!(ran.err.contains("nothing was written"), "{}", ran.err);
        assert!(!bench.path().join("policy/exceptions.toml").exists());
    }
    assert_eq!(add(&bench, &["--value", EMAIL]).code, 0);
    let before = std::fs::read_to_string(bench.path().join("policy/exceptions.toml")).unwrap();
    assert_eq!(add(&bench, &["--pattern", "("]).code, 2);
    assert_eq!(std::fs::read_to_string(bench.path().join("policy/exceptions.toml")).unwrap(), before);
    let outside = add(&bench, &["--value", "x", "--file", "../other.toml"]);
    assert!(outside.err.contains("is no name of a rule file"), "{}", outside.err);
    let built_in = bench.run(&[&["except", "add", "--value", "x"][..], &SAID].concat(), "");
    assert!(built_in.err.contains("a built-in policy cannot be changed"), "{}", built_in.err);
}

#[test]
fn a_baseline_allows_what_is_there_today_and_names_no_value() {
    let bench = bench();
    let baseline = |requests: &[&str]| {
        bench.run(&[&["baseline", "--policy", "policy"], &SAID[..], requests].concat(), "")
    };
    let ran = baseline(&["request.json", "request.json"]);
    assert_eq!((ran.code, ran.out.trim()), (0, "policy/baseline.toml: allows 2 values"), "{}", ran.shown());
    let written = std::fs::read_to_string(bench.path().join("policy/baseline.toml")).unwrap();
    assert!(!written.contains(EMAIL) && !written.contains(&secret()), "{written}");
    let after = sent(&bench);
    assert!(after.contains(EMAIL) && after.contains(&secret()));
    bench.file("request.json", &request().replace("jane.doe", "john.roe"));
    assert!(!sent(&bench).contains("john.roe"), "what is new is found");
    assert!(baseline(&["request.json"]).err.contains("is there already"));
}

#[test]
fn a_token_that_is_not_ours_and_a_day_that_is_over_are_refused() {
    let bench = bench();
    let token = token(&sent(&bench));
    let (label, tail) = token.rsplit_once('_').unwrap();
    let turned: String = tail.chars().rev().collect();
    for wrong in [format!("PHONE_{tail}"), format!("{label}_{turned}"), "EMAIL_".to_owned()] {
        let ran = add(&bench, &["--finding", &wrong]);
        assert_eq!(ran.code, 2, "{}", ran.shown());
        assert!(ran.err.contains("no token of this installation") && ran.err.contains("copy the whole word"));
    }
    for command in [&["except", "add", "--value", "x"][..], &["baseline", "request.json"]] {
        let said = ["--reason", "r", "--by", "b", "--until", "2020-02-29", "--policy", "policy"];
        let ran = bench.run(&[command, &said].concat(), "");
        assert!(
            ran.code == 2 && ran.err.contains("bad `--until 2020-02-29`: that day is over"),
            "{}",
            ran.shown()
        );
    }
    for file in ["exceptions.toml", "baseline.toml"] {
        assert!(!bench.path().join("policy").join(file).exists(), "{file}");
    }
}

#[test]
fn what_holds_a_request_is_named_and_no_exception_is_advised() {
    let bench = bench();
    bench.file("policy/rules.toml", &crate::support::holding("block"));
    let ran = bench.run(&[&["baseline", "--policy", "policy", "request.json"], &SAID[..]].concat(), "");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(ran.err.contains("rule `no-projects` holds request.json"), "{}", ran.err);
    assert!(ran.err.contains("/messages/1"), "{}", ran.err);
    assert!(!ran.err.contains("except add") && !ran.err.contains("1 places"), "{}", ran.err);
}

#[test]
fn a_baseline_of_the_log_allows_what_was_redacted() {
    let bench = bench();
    let gate = crate::running::Running::start(bench, &["--policy", "policy"]);
    assert_eq!(gate.chat(&request()).status, 200);
    let bench = gate.stop();
    let baseline = |more: &[&str]| {
        bench.run(&[&["baseline", "--policy", "policy", "--log"], more, &SAID[..]].concat(), "")
    };
    let ran = baseline(&["--since", "1h"]);
    assert_eq!((ran.code, ran.out.trim()), (0, "policy/baseline.toml: allows 2 values"), "{}", ran.shown());
    let written = std::fs::read_to_string(bench.path().join("policy/baseline.toml")).unwrap();
    assert!(!written.contains(EMAIL) && !written.contains(&secret()), "{written}");
    let after = sent(&bench);
    assert!(after.contains(EMAIL) && after.contains(&secret()));
    let both =
        bench.run(&[&["baseline", "--policy", "policy", "--log", "request.json"], &SAID[..]].concat(), "");
    assert!(both.code == 2 && both.err.contains("cannot be used with"), "{}", both.shown());
}
