//! A policy that changes while requests flow: none fails, and each is judged by one generation.

use std::path::Path;

use leafgate_tests::admin::Admin;
use leafgate_tests::gate::Gate;
use leafgate_tests::{plugins, reloads};

use crate::setup::policy;

/// In the soak of `cargo xtask test --soak` there are twenty times as many.
const RELOADS: usize = 50;

#[test]
fn reloads_under_traffic_disturb_no_request() {
    let figures = reloads::under_traffic(RELOADS).unwrap();
    assert_eq!(figures.reloads, RELOADS);
    // Otherwise most reloads saw no traffic, and nothing is shown.
    assert!(figures.requests > RELOADS && figures.generations > RELOADS / 2, "{figures:?}");
}

fn rules(id: &str, plugin: Option<&str>) -> String {
    let declared = plugin.map(|file| format!("[plugins.heavy]\nfile = \"{file}\"\n")).unwrap_or_default();
    format!("[[rule]]\nid = \"{id}\"\nmatch = {{}}\naction = \"pause\"\nreason = \"Look\"\n{declared}")
}

/// Renamed into place, so that no look meets half a file.
fn save(folder: &Path, text: &str) {
    let draft = folder.join(".draft");
    std::fs::write(&draft, text).unwrap();
    std::fs::rename(draft, folder.join("rules.toml")).unwrap();
}

// S0-127
#[test]
fn a_rule_that_is_saved_while_a_plugin_compiles_without_end_serves_and_the_wait_is_seen() {
    let folder = policy(&rules("first", None));
    let gate = Gate::of(folder.path()).unwrap();
    let admin = Admin::of(&gate).unwrap();
    let mut events = admin.events().unwrap();
    plugins::slow_to_compile(&folder.path().join("heavy.wasm")).unwrap();
    save(folder.path(), &rules("second", Some("heavy.wasm")));
    // The coming of the file alone may be a load of its own; the one that compiles takes longer than that.
    let loading = |admin: &Admin| admin.get("/v1/status").unwrap()["policy"]["loadingSeconds"].as_u64();
    while loading(&admin).is_none_or(|seconds| seconds == 0) {}
    save(folder.path(), &rules("third", None));
    let policy = loop {
        let event = events.next("policy").unwrap();
        assert!(event["policy"]["refused"].is_null(), "what was given up is not told: {event}");
        if event["policy"]["changes"].as_array().is_some_and(|changes| !changes.is_empty()) {
            break event["policy"].clone();
        }
    };
    assert_eq!(policy["changes"], serde_json::json!(["−first", "+third"]), "a guard that is gone is named");
    gate.wait_for_log(|log| log.contains("−first, +third")).unwrap();
}

#[cfg(unix)]
#[test]
fn a_pipe_and_a_device_in_the_folder_keep_no_rule_from_serving() {
    let folder = policy(&rules("first", None));
    let gate = Gate::of(folder.path()).unwrap();
    let mut events = Admin::of(&gate).unwrap().events().unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("x.wasm")).status().unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("y.wasm")).unwrap();
    save(folder.path(), &rules("second", None));
    let event = events.next("policy").unwrap();
    assert_eq!(event["policy"]["changes"], serde_json::json!(["−first", "+second"]));
}
