//! What plugins see is decoded once and hashed once, however many of them look.

use std::sync::Arc;

use leafgate_contract::{
    CheckedEdits, CheckedFindings, Description, DetectLeaf, Fault, LoadError, Plugin, PluginLoader,
    PluginSource, Spent, TransformRequest, World,
};
use leafgate_detect::Label;
use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};

use crate::work::{self, Work};
use crate::{Context, Policy, PolicySource, Verdict};

const DETECTOR: &str = r#"
    [[rule]]
    id = "names"
    match = {}
    detect = ["pii/email", "plugin:names"]
    action = "redact"
    with = "mask"
    [plugins.names]
    file = "names.wasm"
"#;

const TRANSFORMERS: &str = r#"
    [[rule]]
    id = "first"
    match = {}
    action = "transform"
    plugin = "paths"
    [[rule]]
    id = "second"
    match = {}
    action = "transform"
    plugin = "lines"
    [plugins.paths]
    file = "paths.wasm"
    [plugins.lines]
    file = "lines.wasm"
"#;

/// Loads plugins that look at everything and do nothing.
struct Lookers;

impl PluginLoader for Lookers {
    fn load(&self, source: &PluginSource) -> Result<Arc<dyn Plugin>, LoadError> {
        let world = if source.name == "names" { World::Detector } else { World::Transformer };
        let (name, version, summary) = (source.name.clone(), "1.0".into(), "Looks.".into());
        let labels = vec![Label::new("NAME").unwrap()];
        let description = Description { name, version, summary, labels, config_schema: None };
        Ok(Arc::new(Looker { description, world }))
    }
}

#[derive(Debug)]
struct Looker {
    description: Description,
    world: World,
}

impl Plugin for Looker {
    fn description(&self) -> &Description {
        &self.description
    }

    fn world(&self) -> World {
        self.world
    }

    fn digest(&self) -> [u8; 32] {
        [1; 32]
    }

    fn detect(&self, leaves: &[DetectLeaf<'_>], _: &Spent) -> Result<CheckedFindings, Fault> {
        assert!(leaves.iter().any(|leaf| leaf.text.contains(SEEN)));
        Ok(CheckedFindings::default())
    }

    fn transform(&self, request: &TransformRequest<'_>, _: &Spent) -> Result<CheckedEdits, Fault> {
        assert!(request.leaves.iter().any(|leaf| leaf.text.contains(SEEN)));
        Ok(CheckedEdits::default())
    }
}

const SEEN: &str = "\t\"all is well\"";

/// The bytes of the text, and what a request with it costs.
fn work_under(rules: &str) -> (usize, Work) {
    let folder = tempfile::tempdir().unwrap();
    leafgate_harness::rules::write_alone(folder.path(), rules).unwrap();
    for plugin in ["names.wasm", "paths.wasm", "lines.wasm"] {
        std::fs::write(folder.path().join(plugin), "").unwrap();
    }
    let policy = Policy::load(&PolicySource::Folder(folder.path().to_owned()), &Lookers).unwrap();
    let text = SEEN.repeat(1000);
    let body = serde_json::json!({ "messages": [{ "role": "user", "content": text }] }).to_string();
    let document = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap();
    let keys = TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("laptop"));
    work::take();
    let evaluation = policy.evaluate(Arc::new(document), &Context::default(), &Vault::new(keys));
    let work = work::take();
    assert_eq!(evaluation.verdict, Verdict::Forward);
    (text.len(), work)
}

#[test]
fn a_text_is_decoded_once_for_all_plugins() {
    for rules in [TRANSFORMERS.to_owned(), [DETECTOR, TRANSFORMERS].concat()] {
        let (length, work) = work_under(&rules);
        assert!((length..length + 100).contains(&work.decoded), "{work:?} of {length} bytes");
    }
}

#[test]
fn a_detector_plugin_costs_no_second_hash_of_a_text() {
    let (_, without) = work_under(&DETECTOR.replace(", \"plugin:names\"", ""));
    let (length, with) = work_under(DETECTOR);
    assert!(without.hashed >= length, "{without:?}");
    assert!(with.hashed < without.hashed + 500, "{with:?} beside {without:?}");
}
