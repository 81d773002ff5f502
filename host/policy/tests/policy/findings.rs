//! Rules that count what redact rules found in a request.

use leafgate_policy::Verdict;
use serde_json::{Value, json};

use super::support::*;

const FINDS: &str = "[[rule]]\nid = 'people'\nmatch = {}\ndetect = ['pii/email']\naction = 'redact'\n";

fn counting(lines: &str) -> String {
    format!("{FINDS}[[rule]]\nid = 'many'\naction = 'pause'\nfindings = ['pii']\n{lines}\n")
}

fn addresses(names: &str) -> String {
    names.chars().map(|name| format!("{name}{name}@mail.example.org ")).collect()
}

fn holds(rules: &str, body: &Value) -> bool {
    let evaluation = evaluate(&policy(rules), body);
    match &evaluation.verdict {
        Verdict::Forward => false,
        Verdict::Pause(holds) => holds.iter().any(|hold| &*hold.rule == "many"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn findings_of_all_leaves_count_together() {
    let rules = counting("match = {}\nat_least = 4");
    let said = |texts: &[&str]| history(&texts.iter().map(|names| addresses(names)).collect::<Vec<_>>());
    assert!(!holds(&rules, &said(&["ab", "c"])));
    assert!(holds(&rules, &said(&["ab", "cd"])));
    assert!(holds(&rules, &said(&["abcd"])) && holds(&rules, &said(&["a", "b", "c", "d"])));
    // One is enough where nobody says how many.
    assert!(holds(&counting("match = {}"), &chat(&addresses("a"))));
    assert!(!holds(&counting("match = {}"), &chat("Hi")));
}

#[test]
fn only_what_the_rule_selects_counts_and_each_finding_once() {
    let body = tool_chat(&json!({}), &addresses("abc"));
    assert!(holds(&counting("match = { section = 'tool-result' }\nat_least = 3"), &body));
    assert!(!holds(&counting("match = { role = 'user' }"), &body));
    assert!(!holds(&counting("match = {}\nwhen = 'leaf.tool == \"no\"'"), &body));
    let twice = format!("{}{}", FINDS.replace("'people'", "'again'"), counting("match = {}\nat_least = 4"));
    assert!(!holds(&twice, &body), "two rules that find the same find it once");
    // What a rule in monitor mode finds counts, and leaves as it is.
    let watched = counting("match = {}\nat_least = 3").replacen("'redact'", "'redact'\nmode = 'monitor'", 1);
    assert!(holds(&watched, &body));
}

#[test]
fn the_findings_of_other_detectors_do_not_count() {
    let own =
        "[[detector]]\nid = 'ticket'\nregex = 'CASE-[0-9]+'\nkeywords = ['CASE-']\nexamples = ['CASE-1']\n";
    let rules = format!(
        "{own}{FINDS}[[rule]]\nid = 'tickets'\nmatch = {{}}\ndetect = ['own/ticket']\naction = 'redact'\n\
        [[rule]]\nid = 'many'\nmatch = {{}}\nfindings = ['own/ticket', 'pii', '!pii/email']\nat_least = 2\naction = 'pause'\n"
    );
    assert!(!holds(&rules, &chat(&format!("CASE-1 {}", addresses("abc")))));
    assert!(holds(&rules, &chat("CASE-1 and CASE-2")));
}

#[test]
fn what_counts_nothing_is_said() {
    for (lines, message) in [
        ("findings = ['pii/emial']", "unknown detector `pii/emial`"),
        ("findings = ['own/none']", "no detector `own/none` is declared"),
        ("findings = ['pii']\nat_least = 0", "`at_least` must be a whole number from 1 on"),
        ("at_least = 2", "`at_least` means nothing without `findings`"),
        ("findings = ['pii']\non = 'response'", "`findings` means nothing with `on = \"response\"`"),
    ] {
        let rules = format!("{FINDS}[[rule]]\nid = 'r'\nmatch = {{}}\naction = 'block'\n{lines}\n");
        let error = try_policy(&rules, &Fakes::default()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let unseen = counting("match = {}").replace("['pii']", "['own/ticket']");
    let own =
        "[[detector]]\nid = 'ticket'\nregex = 'CASE-[0-9]+'\nkeywords = ['CASE-']\nexamples = ['CASE-1']\n";
    let warnings: Vec<String> =
        policy(&(own.to_owned() + &unseen)).warnings().iter().map(ToString::to_string).collect();
    assert!(
        warnings.iter().any(|it| it.contains("no redact rule of this policy looks for any of these")),
        "{warnings:?}"
    );
    assert!(policy(&counting("match = {}")).warnings().is_empty());
}
