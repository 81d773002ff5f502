//! The reference of rule files names what the code reads, and its examples load.

use std::time::SystemTime;

use leafgate_contract::NoPlugins;
use leafgate_diagnostic::keys::{Table as _, names as keys};

use super::assemble::raw::{
    RawApprove, RawAssemble, RawDowngrade, RawMap, RawPrompt, RawRequestPlugin, RawTools,
};
use super::raw::{
    RawDetector, RawException, RawFile, RawMatch, RawPlugin, RawPluginLimits, RawReplace, RawRule,
};
use crate::condition::names;
use crate::{Policy, PolicySource};

const REFERENCE: &str = include_str!("../../RULES.md");
const RULES: &str = include_str!("../../../../docs/rules.md");

#[test]
fn every_key_stands_in_the_reference() {
    let tables = [
        keys(RawFile::KEYS),
        keys(RawRule::KEYS),
        keys(RawMatch::KEYS),
        keys(RawReplace::KEYS),
        keys(RawException::KEYS),
        keys(RawDetector::KEYS),
        keys(RawPlugin::KEYS),
        keys(RawPluginLimits::KEYS),
        keys(RawAssemble::KEYS),
        keys(RawPrompt::KEYS),
        keys(RawMap::KEYS),
        keys(RawRequestPlugin::KEYS),
        keys(RawTools::KEYS),
        keys(RawApprove::KEYS),
        keys(RawDowngrade::KEYS),
    ];
    for key in tables.concat().into_iter().map(|key| key.trim_start_matches("plugins.")) {
        let said = [format!("`{key}`"), format!("{{ {key} = "), format!(", {key} = ")];
        assert!(said.iter().any(|said| REFERENCE.contains(said)), "`{key}` is missing");
    }
}

#[test]
fn every_name_of_a_condition_stands_in_the_reference() {
    for name in names() {
        assert!(REFERENCE.contains(&format!("`{name}`")), "`{name}` is missing");
    }
}

fn examples(text: &str) -> impl Iterator<Item = &str> {
    text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next())
}

#[test]
fn the_examples_of_the_reference_load() {
    let of_page = examples(RULES).filter(|example| example.contains("[[detector]]"));
    load(of_page);
    load(examples(REFERENCE).filter(|example| !example.contains("[[test]]")));
}

fn load<'e>(blocks: impl Iterator<Item = &'e str>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    for (place, rules) in blocks.enumerate() {
        std::fs::write(folder.path().join(format!("{place}.toml")), rules).unwrap();
    }
    assert!(folder.path().join("0.toml").exists());
    let policy = Policy::load_knowing(
        &PolicySource::Folder(folder.path().to_owned()),
        None,
        &NoPlugins,
        SystemTime::UNIX_EPOCH,
        None,
    );
    let policy = policy.unwrap_or_else(|error| panic!("{error}"));
    assert!(policy.warnings().is_empty());
}
