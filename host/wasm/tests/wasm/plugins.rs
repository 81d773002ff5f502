//! The bundled plugins, built as an operator builds them and run through the loader.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::support::bundled::{PLUGINS, bundled};
use crate::support::{BothWays, load, text};
use leafgate_author::cases::{self, Cases};
use leafgate_author::sample;
use leafgate_contract::{Action, LoadError, Plugin, PluginEdit, Spent, Target, World};
use leafgate_wasm::LoaderConfig;

static LOADERS: LazyLock<BothWays> = LazyLock::new(|| BothWays::new(LoaderConfig::default()));

fn plugin(package: &str, config: &str) -> Result<Arc<dyn Plugin>, LoadError> {
    load(&*LOADERS, &bundled(package), config)
}

/// Edits of a tool result with a single text.
fn edits_of_result(plugin: &dyn Plugin, text: &str) -> Vec<PluginEdit> {
    sample::transform(plugin, &[text]).unwrap()
}

fn set(text: &str) -> Vec<PluginEdit> {
    vec![PluginEdit { target: Target::Leaf(0), action: Action::Set(text.to_owned()) }]
}

#[test]
fn redact_names_finds_a_configured_name() {
    let plugin = plugin("redact-names", r#"{"names": ["Ada Lovelace"]}"#).unwrap();
    assert_eq!(plugin.world(), World::Detector);
    let findings =
        plugin.detect(&[text("nothing"), text("by LOVELACE, Ada")], &Spent::default()).unwrap().into_vec();
    let places: Vec<_> = findings.iter().map(|finding| (finding.leaf, finding.at.clone())).collect();
    assert_eq!(places, [(1, 3..16)]);
    assert_eq!(plugin.description().labels[findings[0].label].as_str(), "NAME");
}

#[test]
fn findings_keep_their_leaf_across_batches() {
    let plugin = plugin("redact-names", r#"{"names": ["Ada Lovelace"]}"#).unwrap();
    let long = "x ".repeat(200_000);
    let mut leaves = vec![text("by Ada Lovelace"); 1200];
    leaves.insert(700, text(&long));
    let findings = plugin.detect(&leaves, &Spent::default()).unwrap().into_vec();
    let found: Vec<_> = findings.iter().map(|finding| finding.leaf).collect();
    let expected: Vec<_> = (0..1201).filter(|&place| place != 700).collect();
    assert_eq!(found, expected);
}

#[test]
fn rewrite_home_paths_writes_a_tilde() {
    let plugin = plugin("rewrite-home-paths", "{}").unwrap();
    assert_eq!(plugin.world(), World::Transformer);
    assert_eq!(edits_of_result(&*plugin, "in /home/ada/src"), set("in ~/src"));
    assert_eq!(edits_of_result(&*plugin, "in /srv/data"), []);
}

#[test]
fn trim_tool_results_keeps_head_and_tail() {
    let plugin = plugin("trim-tool-results", r#"{"max_lines": 3}"#).unwrap();
    assert_eq!(edits_of_result(&*plugin, "1\n2\n3\n4\n5\n"), set("1\n[3 lines, 6 bytes cut]\n5\n"));
}

#[test]
fn a_plugin_describes_itself() {
    for (package, summary) in [
        ("company-terms", "Finds the terms of a list, however they are written"),
        ("detect-injection", "Notes or pauses where a tool result reads like instructions to the model"),
        ("normalise-timestamps", "Writes points in time as their date, so that prompts stay the same"),
        ("redact-names", "Finds configured names and the ways in which people write them"),
        ("rewrite-home-paths", "Writes home directories as ~ in texts, tool arguments and tool results"),
        ("shorten-json", "Shortens large JSON tool results to their shape with samples"),
        ("strip-ansi", "Takes terminal escapes out of tool results"),
        ("trim-tool-results", "Keeps head and tail of long tool results"),
    ] {
        let inspection = LOADERS.0.inspect(&bundled(package)).unwrap();
        let description = inspection.description.unwrap();
        assert_eq!((description.name.as_str(), description.summary.as_str()), (package, summary));
        assert_eq!((inspection.layer, inspection.contract.as_deref()), ("core module", Some("0.1.0")));
        // What a panic says goes there.
        assert_eq!(inspection.imports, ["leafgate:plugin/host@0.1.0.log"]);
        assert_eq!(inspection.configured_each_call, None, "{package}");
        assert!(inspection.bytes < 256 * 1024, "{package} has {} bytes", inspection.bytes);
        let schema: serde_json::Value = serde_json::from_str(&description.config_schema.unwrap()).unwrap();
        assert_eq!(schema["additionalProperties"], false, "{package}");
        let keys = schema["properties"].as_object().unwrap();
        assert!(
            !keys.is_empty() && keys.values().all(|key| key["description"].is_string()),
            "{package}: {schema}"
        );
    }
}

#[test]
fn every_plugin_fulfils_its_cases() {
    for package in PLUGINS {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../plugins/{package}/cases.toml"));
        let cases = Cases::read(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let outcomes = cases::run(&cases, &|config| plugin(package, config));
        assert!(outcomes.len() > 2, "{package}");
        for outcome in outcomes {
            assert_eq!(
                outcome.problems,
                Vec::<String>::new(),
                "{package}, line {}: {}",
                outcome.line,
                outcome.name
            );
        }
    }
}

#[test]
fn a_typo_in_the_configuration_is_refused_with_the_field_that_was_meant() {
    for (package, config, field) in [
        ("redact-names", r#"{"nmes": []}"#, "`names`"),
        ("redact-names", r#"{"names": []}"#, "`names` is empty"),
        ("rewrite-home-paths", r#"{"kinds": ["beos"]}"#, "`linux`"),
        ("trim-tool-results", r#"{"max_lines": 1}"#, "`max_lines`"),
    ] {
        let error = plugin(package, config).unwrap_err();
        assert!(error.message.contains("configuration") && error.message.contains(field), "{error}");
    }
}
