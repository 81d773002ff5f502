//! Commands that judge a request do it as the gate does: by its profile, and for the upstream that it goes to.

use leafgate_tests::gate::{self, Gate};
use serde_json::{Value, json};

use crate::setup::policy;

const VAULT: &str = r#"
[[assemble]]
id = "notes"
prompt = { type = "literal", text = "Write to ann@example.org." }

[[rule]]
id = "mail"
match = {}
detect = ["pii/email"]
action = "redact"
"#;

/// `explain` found no address where `apply` redacted one, and no profile of a base URL could be tried.
#[test]
fn a_profile_of_a_base_url_is_tried_by_every_command() {
    let folder = policy(VAULT);
    let path = folder.path().to_string_lossy().into_owned();
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "Now?" }] }).to_string();
    let run = |command: &[&str]| {
        let mut arguments = command.to_vec();
        arguments.extend(["--policy", &path, "-"]);
        let output = gate::run(&arguments, body.as_bytes()).unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(run(&["apply"]).contains("Now?") && !run(&["apply"]).contains("Write to"));
    assert!(run(&["apply", "--profile", "notes"]).contains("Write to EMAIL_"));
    assert!(run(&["compose", "--profile", "notes"]).contains("ann@example.org"));
    let explained = |command: &[&str]| -> Value { serde_json::from_str(&run(command)).unwrap() };
    let mail = |explained: &Value| {
        let rules = explained["rules"].as_array().unwrap().clone();
        rules.into_iter().find(|rule| rule["rule"] == "mail").unwrap()["did"].to_string()
    };
    let (with, without) = (
        mail(&explained(&["explain", "--json", "--profile", "notes"])),
        mail(&explained(&["explain", "--json"])),
    );
    assert!(with.contains("EMAIL") && !without.contains("EMAIL"), "{with} {without}");
}

/// `check` passed a route to nowhere, and `apply` showed what does not leave.
#[test]
fn a_route_is_shown_as_it_is_judged_there() {
    let rules = "[[rule]]\nid = \"mail\"\nmatch = {}\ndetect = [\"pii/email\"]\naction = \"redact\"\n\
        [[rule]]\nid = \"home\"\nmatch = {}\nwhen = 'leaf.findings.exists(f, f.label == \"EMAIL\")'\naction = \"route\"\nto = \"local\"\n";
    let folder = policy(rules);
    let path = folder.path().to_string_lossy().into_owned();
    let body =
        json!({ "model": "m", "messages": [{ "role": "user", "content": "ann@example.org" }] }).to_string();
    let data = tempfile::tempdir().unwrap();
    let run = |command: &[&str]| gate::run_in(data.path(), command, body.as_bytes()).unwrap();
    let refused = run(&["check", "--policy", &path]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("routes to `local`") && said.contains("write `[upstreams.local]`"), "{said}");
    assert!(!said.contains("--set"), "no key of an upstream is set there: {said}");
    let unknown = run(&["apply", "--policy", &path, "-"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("not what leaves there"));
    let config = data.path().join("leafgate.toml");
    std::fs::write(&config, "[upstreams.local]\nurl = \"echo:\"\npolicy = \"none\"\n").unwrap();
    let config_path = config.to_string_lossy();
    let known = run(&["check", "--policy", &path, "--config", &config_path]);
    assert_eq!(known.status.code(), Some(0), "{}", String::from_utf8_lossy(&known.stderr));
    let raw = run(&["apply", "--policy", &path, "--config", &config_path, "-"]);
    let said = String::from_utf8_lossy(&raw.stderr).into_owned();
    assert_eq!(raw.stdout, body.as_bytes(), "{said}");
    assert!(said.contains("sent to the upstream `local`"), "{said}");
}

/// Under `run --policy` the plan compared with another policy than the one that serves.
#[test]
fn a_plan_is_compared_with_what_serves() {
    let folder =
        policy("[[rule]]\nid = \"mail\"\nmatch = {}\ndetect = [\"pii/email\"]\naction = \"redact\"\n");
    let path = folder.path().to_string_lossy().into_owned();
    let data = tempfile::tempdir().unwrap();
    let _gate = Gate::start_in(data.path(), &["--policy", &path, "--upstream", "echo:"]).unwrap();
    let file = folder.path().join("request.json");
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "ann@example.org" }] });
    std::fs::write(&file, body.to_string()).unwrap();
    let arguments = ["plan", "--policy", &path, "--json", "--against", &file.to_string_lossy()];
    let planned = gate::run_in(data.path(), &arguments, b"").unwrap();
    let plan: Value = serde_json::from_slice(&planned.stdout).unwrap();
    assert_eq!(plan["today"], plan["new"], "{plan}");
    assert_eq!(plan["changes"], json!([]), "{plan}");
    assert!(plan["notes"].to_string().contains("the running gate serves"), "{plan}");
}
