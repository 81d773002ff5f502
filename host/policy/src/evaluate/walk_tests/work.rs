//! What rules cost is counted: conditions that are evaluated, and bytes that are looked at.

use std::sync::Arc;

use leafgate_tree::Format;
use serde_json::json;

use super::{CONTEXT, document, policy, vault};
use crate::condition::evaluated;
use crate::needles::scanned;
use crate::{Evaluation, Policy};

/// A third blocks by tool, a third by what a text holds, a tenth replaces, the rest goes by path.
fn rules(count: usize) -> String {
    let rule = |number: usize| {
        let rest = match (number % 10, number % 3) {
            (3, _) => format!(
                "match = {{ kind = \"text\" }}\naction = \"rewrite\"\n\
                 replace = {{ pattern = 'CASE-{number:04}-[0-9]+', with = 'the case' }}"
            ),
            (_, 0) => format!("match = {{ tool = \"tool_{number}\" }}\naction = \"block\""),
            (_, 1) => {
                format!(
                    "match = {{}}\nwhen = 'leaf.text.contains(\"customer-{number:04}\")'\naction = \"block\""
                )
            }
            _ => format!("match = {{ path = \"metadata.field_{number}\" }}\naction = \"pause\""),
        };
        format!("[[rule]]\nid = \"r{number}\"\n{rest}\n")
    };
    (0..count).map(rule).collect()
}

fn evaluate(policy: &Policy, turns: usize) -> Evaluation {
    let message = |turn: usize| {
        let role = if turn.is_multiple_of(2) { "user" } else { "assistant" };
        json!({ "role": role, "content": format!("turn {turn} is about customers and CASE-0003-{turn}, not more") })
    };
    let body = json!({ "model": "m", "messages": (0..turns).map(message).collect::<Vec<_>>() });
    policy.evaluate(document(&body.to_string(), Format::OpenaiChat), &CONTEXT, &vault())
}

// S0-09
#[test]
fn a_hundred_times_the_rules_look_at_no_more_and_do_the_same() {
    let outcome = |count| {
        let policy = policy(&rules(count));
        evaluated::take();
        scanned::take();
        let evaluation = evaluate(&policy, 500);
        (Arc::new(evaluation.draft.render()), evaluated::take(), scanned::take())
    };
    let (few, conditions, bytes) = outcome(10);
    let (many, more_conditions, more_bytes) = outcome(1000);
    assert_eq!(few, many);
    assert!(String::from_utf8_lossy(&few).contains("the case"));
    assert_eq!((conditions, more_conditions), (0, 0), "no text holds what a condition needs");
    // The body once, and what the one rule wrote.
    assert!(bytes > 0 && more_bytes == bytes, "{bytes} bytes for 10 rules, {more_bytes} for 1,000");
}

#[test]
fn a_condition_is_evaluated_where_its_literal_stands() {
    let policy = policy(
        r#"
        [[rule]]
        id = "numbers"
        match = {}
        when = 'leaf.text.contains("turn 17") && leaf.text.endsWith("nothing")'
        action = "block"
        "#,
    );
    evaluated::take();
    evaluate(&policy, 100);
    // Of one hundred messages with five leaves each, one has the literal.
    assert!(evaluated::take() <= 2);
}
