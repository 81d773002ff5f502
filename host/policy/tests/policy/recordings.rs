//! Recorded requests hold hardly any secrets: under the default policy all of them leave, and nobody is asked.

use std::sync::Arc;

use leafgate_contract::NoPlugins;
use leafgate_harness::recordings;
use leafgate_policy::{Context, Policy, PolicySource, Verdict};
use leafgate_tree::{Document, Limits};

use super::support::vault;

/// The formats whose requests clients send. Of the other recordings nothing leaves.
const FORMATS: [&str; 6] =
    ["openai-chat", "openai-responses", "anthropic-messages", "gemini", "code-assist", "copilot"];

#[test]
fn no_recorded_request_is_held_and_none_is_changed() {
    let policy = Policy::load(&PolicySource::Default, &NoPlugins).unwrap();
    let read = |folder: &&str| recordings::read(folder, ".request.json");
    let files: Vec<_> = FORMATS.iter().flat_map(read).collect();
    assert!(files.len() >= 9, "{} recordings: fewer than every clone has", files.len());
    let mut wrong = Vec::new();
    for recordings::File { name, body, .. } in &files {
        let body = bytes::Bytes::from(body.clone());
        let document = Arc::new(Document::detect(body.clone(), &Limits::default()).unwrap());
        let evaluation = policy.evaluate(document, &Context::default(), &vault());
        match &evaluation.verdict {
            Verdict::Forward if evaluation.draft.render() == body => {}
            Verdict::Forward => wrong.push(format!("{name}: changed")),
            held => wrong.push(format!("{name}: {held:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}
