//! What `explain` tells.

use leafgate_policy::{FILES, Policy};

use super::support::*;

const RULES: &str = r#"
    [[rule]]
    id = "mail"
    match = { role = ["user", "tool"], path = "messages[*].content" }
    detect = ["pii/email", "plugin:names"]
    action = "redact"
    with = "mask"
    [[rule]]
    id = "tone"
    match = { kind = "text" }
    action = "transform"
    plugin = "shout"
    [[rule]]
    id = "stop"
    match = {}
    when = 'leaf.text.contains("prod")'
    action = "pause"
    reason = "Production"
    mode = "monitor"
    [plugins.names]
    file = "names.wasm"
    [plugins.shout]
    file = "shout.wasm"
"#;

#[test]
fn it_tells_every_phase_rule_and_plugin_with_defaults_filled_in() {
    let fakes =
        Fakes::default().with("names", Fake::finds("x")).with("shout", Fake::transformer(|_| Ok(vec![])));
    let folder = folder(RULES, &fakes);
    let explanation = load_folder(folder.path(), &fakes).unwrap().explain();
    let shown = explanation.to_string().replace(&folder.path().display().to_string(), "policy");
    // The generation depends on the detectors' data, which may grow.
    let shown = shown.replace(&explanation.generation, "GENERATION");
    snapshot!(shown);
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json["phases"][1]["rules"][0]["on_error"], "block");
    assert_eq!(json["plugins"][1]["usedBy"][0], "tone");
}

#[test]
fn what_is_told_is_a_rule_file_that_says_the_same() {
    let rules = r#"
        mode = "warn"
        [[rule]]
        id = "protected"
        match = { header = { x-team = ["red", "blue"] }, option = { "reasoning.effort" = "high" } }
        action = "protect"
        [[rule]]
        id = "first"
        match = { path = "messages[0].content" }
        action = "pin"
        to = "first-seen"
        [[rule]]
        id = "options"
        match = {}
        action = "rewrite"
        options = { temperature = 0.5, stop = ["a\nb", 'c"d'] }
        [[rule]]
        id = "pattern"
        match = { role = "user" }
        when = 'request.tools > 2 && leaf.key != ""'
        action = "rewrite"
        replace = { pattern = '\bfoo\b', with = "$0 bar" }
        tags = ["a", "b"]
        severity = "low"
        [[rule]]
        id = "wait"
        match = {}
        action = "pause"
        timeout = "30s"
        [[rule]]
        id = "mask"
        match = {}
        action = "redact"
        detect = "pii/email"
        [[rule]]
        id = "answers"
        match = {}
        on = "response"
        action = "redact"
        detect = ["pii"]
        [[exception]]
        value = "jane@example.org"
        reason = "ours"
        by = "jane"
        until = "never"
    "#;
    let first = policy(rules);
    let told = first.explain().to_string();
    let second = policy(&told);
    let says = |policy: &Policy| {
        let explanation = policy.explain();
        let phases = explanation.phases.into_iter().flat_map(|phase| phase.rules);
        phases.chain(explanation.exceptions).map(|table| table.says).collect::<Vec<_>>()
    };
    assert_eq!(says(&first), says(&second), "{told}");
    assert!(first.changes_to(&second).iter().all(|change| &*change.rule == FILES), "{told}");
}

#[test]
fn a_value_that_looks_like_a_secret_is_told_as_stars() {
    let secret = format!("ghp_{}", "x7Kq2mPf9LwT4vBn8RcY1dHs6JgZ3aEu5oQi");
    let rules = "[[rule]]\nid = 'mail'\nmatch = {}\naction = 'redact'\ndetect = ['pii']\n";
    let said = "reason = 'ours'\nby = 'jane'\nuntil = 'never'\n";
    let told =
        policy(&format!("{rules}[[exception]]\nvalue = ['{secret}', 'jane']\n{said}")).explain().to_string();
    let stars = "*".repeat(secret.len());
    assert!(told.contains(&format!("value = [\"{stars}\", \"jane\"]")), "{told}");
}
