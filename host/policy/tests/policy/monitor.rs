//! Monitor mode: everything is counted, nothing changes.

use serde_json::json;

use super::support::*;
use leafgate_contract::{Action, PluginEdit, Target, ValueType};

const RULES: &str = r#"
    mode = "monitor"

    [[rule]]
    id = "mail"
    match = {}
    detect = ["pii/email"]
    action = "redact"

    [[rule]]
    id = "keep"
    match = { role = "system" }
    action = "pin"
    to = "fixed"

    [[rule]]
    id = "change"
    match = { path = "messages[*].content" }
    action = "rewrite"
    set = "x"

    [[rule]]
    id = "drop"
    match = { section = "tool-result" }
    action = "delete"

    [[rule]]
    id = "plugin"
    match = { kind = "text" }
    action = "transform"
    plugin = "shout"

    [[rule]]
    id = "stop"
    match = {}
    action = "block"

    [plugins.shout]
    file = "shout.wasm"
"#;

fn shout() -> Fake {
    Fake::transformer(|request| {
        let leaf = |place: usize| PluginEdit {
            target: Target::Leaf(place),
            action: Action::Set(request.leaves[place].text.to_uppercase()),
        };
        let redact = PluginEdit { target: Target::Leaf(0), action: Action::Redact(vec![(0..1, 0)]) };
        let texts = (1..request.leaves.len()).filter(|&place| request.leaves[place].value == ValueType::Text);
        Ok(std::iter::once(redact).chain(texts.map(leaf)).collect())
    })
}

#[test]
fn nothing_changes_and_everything_is_counted() {
    let policy = policy_with(RULES, &Fakes::default().with("shout", shout()));
    let body = tool_chat(&json!({EMAIL: EMAIL}), EMAIL);
    let (document, vault) = (document(&body), vault());
    let context = leafgate_policy::Context::default();
    let evaluation = policy.evaluate(document.clone(), &context, &vault);

    assert_forward(&evaluation);
    assert_eq!(evaluation.draft.render().as_ptr(), document.source().as_ptr());
    assert!(vault.is_empty(), "no vault entry");
    let report = |id: &str| evaluation.report.rules.iter().find(|report| &*report.rule == id).unwrap();
    assert_eq!(report("mail").findings["EMAIL"], 3);
    assert_eq!(report("mail").unredactable, 1, "the key");
    assert_eq!(report("change").edits, 2);
    assert_eq!(report("drop").edits, 1);
    assert!(report("plugin").edits > 0);
    assert_eq!(report("stop").matched, 1);
    assert!(!told(&evaluation).contains(EMAIL), "in monitor mode neither");
}

#[test]
fn a_monitored_rule_counts_its_errors_and_never_holds() {
    use leafgate_contract::Fault;

    let fakes = Fakes::default().with("shout", Fake::transformer(|_| Err(Fault::Deadline { limit_ms: 5 })));
    let evaluation = evaluate(&policy_with(RULES, &fakes), &chat("hello"));
    assert_forward(&evaluation);
    assert_eq!(evaluation.report.rules[4].errors.len(), 1);
}

#[test]
fn one_rule_can_monitor_beside_one_that_acts() {
    let rules = r#"
        [[rule]]
        id = "watch"
        match = {}
        detect = ["pii/email"]
        action = "redact"
        with = "mask"
        mode = "monitor"
        [[rule]]
        id = "act"
        match = {}
        detect = ["pii/email"]
        action = "redact"
    "#;
    let evaluation = evaluate(&policy(rules), &chat(EMAIL));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), token("EMAIL", EMAIL));
    assert_eq!(evaluation.report.rules[0].edits, 0);
    assert_eq!(evaluation.report.rules[0].findings["EMAIL"], 1);
}
