//! Recorded requests hold hardly any secrets: what the default selection reports there is a false alarm or needs a reason.

use leafgate_detect::{Engine, Input, views};
use leafgate_harness::recordings;
use serde_json::Value;

/// How deep JSON texts inside strings are followed.
const DEEPEST: usize = 4;

fn each_leaf(value: &Value, key: &str, depth: usize, f: &mut impl FnMut(&str, &str)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                f(name, "");
                each_leaf(member, name, depth, f);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_leaf(item, key, depth, f)),
        Value::String(text) => {
            f(text, key);
            if depth < DEEPEST
                && text.trim_start().starts_with(['{', '['])
                && let Ok(inner) = serde_json::from_str(text)
            {
                each_leaf(&inner, key, depth + 1, f);
            }
        }
        Value::Null => {}
        scalar => f(&scalar.to_string(), key),
    }
}

#[test]
fn recorded_requests_raise_no_false_alarm_under_the_default_selection() {
    let engine = Engine::new(&["secrets", "pii/payment-card", "pii/iban"]).unwrap();
    let folders =
        ["openai-chat", "openai-responses", "anthropic-messages", "gemini", "code-assist", "copilot"];
    let files: Vec<_> = folders.iter().flat_map(|folder| recordings::read(folder, ".request.json")).collect();
    assert!(files.len() >= 9, "{} recordings: fewer than every clone has", files.len());
    let (mut leaves, mut alarms, mut viewed) = (0, Vec::new(), 0);
    for recordings::File { name, body, .. } in &files {
        let body: Value = serde_json::from_slice(body).unwrap();
        each_leaf(&body, "", 0, &mut |text, key| {
            leaves += 1;
            for finding in engine.scan(&Input::new(text).with_key(key)) {
                alarms.push(format!(
                    "{name}: {} under {key:?}, {} bytes",
                    finding.detector,
                    finding.range.len()
                ));
            }
            for view in views(text) {
                viewed += 1;
                for finding in engine.scan(&Input::new(view.text())) {
                    alarms.push(format!("{name}: {} in {}", finding.detector, view.phrase()));
                }
            }
        });
    }
    println!("{leaves} leaves and {viewed} views of {} requests, {} findings", files.len(), alarms.len());
    assert!(alarms.is_empty(), "{}", alarms.join("\n"));
}
