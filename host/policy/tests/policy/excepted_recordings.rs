//! Exceptions over recorded requests: each changes its own finding and nothing else.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use leafgate_contract::NoPlugins;
use leafgate_harness::recordings;
use leafgate_policy::{Context, Policy, PolicySource};
use leafgate_tree::{Document, Limits};

use super::support::*;

fn policy_on(words: &str, exception: &str, day: u64) -> Policy {
    let rules = format!(
        "[[rule]]\nid = \"words\"\nmatch = {{}}\ndetect = [\"own/words\"]\naction = \"redact\"\n\
         on_unredactable = \"pause\"\n\
         [[detector]]\nid = \"words\"\ncase_sensitive = true\nwords = [{words}]\n{exception}"
    );
    let folder = folder(&rules, &Fakes::default());
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(day * 24 * 60 * 60);
    let source = PolicySource::Folder(folder.path().to_owned());
    Policy::load_knowing(&source, None, &NoPlugins, now, None).unwrap_or_else(|error| panic!("{error}"))
}

/// The first of these is excepted, and the last day of that is 2026-03-31.
const WORDS: [&str; 3] = ["file", "the", "error"];
const LAST_DAY: u64 = 20_543;

#[test]
fn an_exception_changes_its_finding_and_nothing_else_and_an_expired_one_changes_nothing() {
    let exception = "[[exception]]\nvalue = \"file\"\nreason = \"r\"\nby = \"b\"\nuntil = 2026-03-31\n";
    let quoted =
        |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    let all = policy_on(&quoted(&WORDS), "", LAST_DAY);
    let without = policy_on(&quoted(&WORDS[1..]), "", LAST_DAY);
    let excepted = policy_on(&quoted(&WORDS), exception, LAST_DAY);
    let expired = policy_on(&quoted(&WORDS), exception, LAST_DAY + 1);
    assert_ne!(excepted.digest(), expired.digest(), "another generation");
    let (mut changed, mut spared) = (0, 0);
    for recording in recordings::examples() {
        let limits = Limits::default();
        let document =
            Arc::new(Document::parse(recording.body.clone().into(), recording.format, &limits).unwrap());
        let sent = |policy: &Policy| {
            let evaluation = policy.evaluate(Arc::clone(&document), &Context::default(), &vault());
            let places = match &evaluation.verdict {
                leafgate_policy::Verdict::Pause(holds) => holds.iter().map(|hold| hold.total).sum(),
                _ => 0,
            };
            (evaluation.draft.render(), places)
        };
        assert_eq!(sent(&excepted), sent(&without), "{recording:?}");
        assert_eq!(sent(&expired), sent(&all), "{recording:?}");
        changed += usize::from(sent(&all).0 != recording.body);
        spared += usize::from(sent(&excepted) != sent(&all));
    }
    assert!(changed > 5 && spared > 1, "{changed} changed, {spared} spared");
}
