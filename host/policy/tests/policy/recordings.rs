//! Recorded requests hold hardly any secrets: under the default policy all of them leave, and nobody is asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use leafgate_policy::plugin::NoPlugins;
use leafgate_policy::{Context, Policy, PolicySource, Verdict};
use leafgate_tree::{Document, Limits};

use super::support::vault;

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

#[test]
fn no_recorded_request_is_held_and_none_is_changed() {
    let Some(folder) = leafgate_harness::recordings::fixtures() else { return };
    let policy = Policy::load(&PolicySource::Default, &NoPlugins).unwrap();
    let mut files = Vec::new();
    requests(&folder, &mut files);
    assert!(files.len() > 100, "only {} recordings under {}", files.len(), folder.display());
    let mut wrong = Vec::new();
    for path in &files {
        let body: bytes::Bytes = std::fs::read(path).unwrap().into();
        let document = Arc::new(Document::detect(body.clone(), &Limits::default()).unwrap());
        let evaluation = policy.evaluate(document, &Context::default(), &vault());
        match &evaluation.verdict {
            Verdict::Forward if evaluation.draft.render() == body => {}
            Verdict::Forward => wrong.push(format!("{}: changed", path.display())),
            held => wrong.push(format!("{}: {held:?}", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}
