//! Plugins that fail or attack: their answer is dropped, their request is blocked, and nobody else notices.
//!
//! The plugins are the texts in `examples/hostile-plugins`.

use std::fs;

use leafgate_tests::gate::Gate;
use leafgate_tests::{plugins, sample};
use tempfile::TempDir;

use crate::setup::{Setup, policy};

/// The plugin looks at requests for one model only, so that others show whether the gate serves on.
fn rules(on_error: &str) -> String {
    format!(
        "[plugins.hostile]\nfile = \"hostile.wasm\"\n\n[[rule]]\nid = \"asks-a-plugin\"\nmatch = {{ model = \"hostile\", kind = \"text\" }}\n\
         detect = [\"plugin:hostile\"]\naction = \"redact\"\non_error = \"{on_error}\"\n"
    )
}

fn folder(plugin: &str, on_error: &str) -> TempDir {
    let folder = policy(&rules(on_error));
    plugins::hostile(plugin, &folder.path().join("hostile.wasm")).unwrap();
    folder
}

/// The leaf begins with a character of two bytes, for the plugin that cuts characters.
const TEXT: &str = "ä private thought";

/// A fault blocks its own request, each time anew, and no other.
fn blocks(plugin: &str) {
    let folder = folder(plugin, "block");
    let mut setup = Setup::with_policy(folder.path());
    for _ in 0..2 {
        let answer = setup.client.chat(&sample::chat_for("hostile", TEXT)).unwrap();
        let message = setup.refused(&answer, 400, "leafgate_blocked");
        assert!(message.contains("asks-a-plugin"), "{message}");
        assert!(!message.contains("private"), "{message}");
    }
    setup.gate.wait_for_log(|log| log.contains("asks-a-plugin: ") && log.contains("`hostile`")).unwrap();
    assert!(!setup.gate.log().contains("private thought"), "no text of a leaf is logged");
}

#[test]
fn invariant_9_a_plugin_that_loops_for_ever_is_stopped_by_its_deadline() {
    blocks("loops-for-ever");
}

#[test]
fn a_plugin_that_allocates_without_end_is_stopped() {
    blocks("allocates-without-end");
}

#[test]
fn invariant_9_a_plugin_that_traps_blocks_its_request_only() {
    blocks("traps");
}

#[test]
fn a_span_outside_its_leaf_is_no_answer() {
    blocks("span-outside");
}

#[test]
fn a_span_inside_a_character_is_no_answer() {
    blocks("span-inside-character");
}

#[test]
fn an_answer_for_a_leaf_that_was_not_given_is_none() {
    blocks("answers-for-another-leaf");
}

#[test]
fn a_list_longer_than_memory_is_no_answer() {
    blocks("lists-without-end");
}

#[test]
fn a_rule_may_let_requests_pass_when_its_plugin_fails() {
    let folder = folder("traps", "pass");
    let mut setup = Setup::with_policy(folder.path());
    let body = sample::chat_for("hostile", TEXT);
    assert_eq!(setup.passes(&body).body, body);
}

#[test]
fn a_rule_may_hold_requests_for_a_person_when_its_plugin_fails() {
    let folder = folder("traps", "pause");
    let mut setup = Setup::with_policy(folder.path());
    let mut waiting = setup.gate.client().unwrap();
    // The client waits until the gate ends with this test; what it is told then is not asked here.
    std::thread::spawn(move || waiting.chat(&sample::chat_for("hostile", TEXT)).ok());
    setup.gate.wait_for_log(|log| log.contains("leafgate::turn") && log.contains("asks-a-plugin")).unwrap();
    assert!(setup.upstream.take().is_empty(), "nothing leaves while nobody has decided");
    setup.still_serves();
}

#[test]
fn a_plugin_that_hangs_while_it_loads_refuses_the_start() {
    let said = refused("loops-on-load");
    assert!(said.contains("configure") && said.contains("deadline"), "{said}");
}

#[test]
fn a_plugin_that_wants_more_than_the_contract_is_refused_by_name() {
    let said = refused("wants-a-clock");
    assert!(said.contains("wasi:clocks/monotonic-clock@0.2.0"), "{said}");
}

#[test]
fn what_is_no_plugin_is_refused() {
    let folder = policy(&rules("block"));
    fs::write(folder.path().join("hostile.wasm"), "(module)").unwrap();
    let said = start(&folder);
    assert!(said.contains("neither a WebAssembly component nor a core module"), "{said}");
}

fn refused(plugin: &str) -> String {
    start(&folder(plugin, "block"))
}

fn start(folder: &TempDir) -> String {
    let policy = folder.path().to_string_lossy();
    let error =
        Gate::start(&["--policy", &*policy, "--upstream", "echo:"]).err().expect("the gate must not start");
    let said = format!("{error:#}");
    assert!(said.contains("rules.toml:2"), "the declaration is shown:\n{said}");
    said
}
