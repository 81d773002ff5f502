//! Plugins that fail or attack: their answer is dropped, their request is blocked, and nobody else notices.
//!
//! The plugins are the texts in `examples/hostile-plugins`.

use leafgate_tests::{plugins, sample};
use tempfile::TempDir;

use crate::setup::{Setup, policy};

/// The plugin looks at requests for one model only, so that others show whether the gate serves on.
const RULES: &str = "[plugins.hostile]\nfile = \"hostile.wasm\"\n\n[[rule]]\nid = \"asks-a-plugin\"\n\
                     match = { model = \"hostile\", kind = \"text\" }\ndetect = [\"plugin:hostile\"]\naction = \"redact\"\n";

fn folder(plugin: &str) -> TempDir {
    let folder = policy(RULES);
    plugins::hostile(plugin, &folder.path().join("hostile.wasm")).unwrap();
    folder
}

/// The leaf begins with a character of two bytes, for the plugin that cuts characters.
const TEXT: &str = "ä private thought";

/// A fault blocks its own request, each time anew, and no other.
fn blocks(plugin: &str) {
    let folder = folder(plugin);
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

// S0-127
#[test]
fn invariant_9_a_plugin_that_loops_for_ever_is_stopped_by_its_deadline() {
    blocks("loops-for-ever");
}

// S0-127
#[test]
fn a_plugin_that_allocates_without_end_is_stopped() {
    blocks("allocates-without-end");
}

#[test]
fn invariant_9_a_plugin_whose_answer_is_none_blocks_its_request_only() {
    for plugin in
        ["traps", "span-outside", "span-inside-character", "answers-for-another-leaf", "lists-without-end"]
    {
        blocks(plugin);
    }
}
