//! Recorded requests hold hardly any secrets: what the default selection reports there is a false alarm or needs a reason.

// Helpers of tests are tests: a panic is their report.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use leafgate_detect::{Engine, Input, views};
use leafgate_harness::recordings;
use serde_json::Value;

/// How deep JSON texts inside strings are followed.
const DEEPEST: usize = 4;

fn requests(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            requests(&path, found);
        } else if path.to_string_lossy().ends_with(".request.json") {
            found.push(path);
        }
    }
}

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
    let Some(folder) = recordings::fixtures() else { return };
    let engine = Engine::new(&["secrets", "pii/payment-card", "pii/iban"]).unwrap();
    let mut files = Vec::new();
    requests(&folder, &mut files);
    assert!(files.len() > 100, "only {} recordings under {}", files.len(), folder.display());
    let (mut leaves, mut alarms, mut viewed) = (0, Vec::new(), 0);
    for path in &files {
        let body: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        each_leaf(&body, "", 0, &mut |text, key| {
            leaves += 1;
            for finding in engine.scan(&Input::new(text).with_key(key)) {
                alarms.push(format!(
                    "{}: {} under {key:?}, {} bytes",
                    path.display(),
                    finding.detector,
                    finding.range.len()
                ));
            }
            for view in views(text) {
                viewed += 1;
                for finding in engine.scan(&Input::new(view.text())) {
                    alarms.push(format!("{}: {} in {}", path.display(), finding.detector, view.phrase()));
                }
            }
        });
    }
    println!("{leaves} leaves and {viewed} views of {} requests, {} findings", files.len(), alarms.len());
    assert!(alarms.is_empty(), "{}", alarms.join("\n"));
}
