//! What many findings in one leaf cost: four times as many take about four times as long, not sixteen times.
//!
//! `cargo bench -p leafgate-tree --bench findings`.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to measure")]

use std::sync::Arc;

use divan::Bencher;
use leafgate_tree::{Author, Document, Draft, Format, Limits, NodeId, Redaction};

fn main() {
    divan::main();
}

const FINDINGS: &[usize] = &[8_000, 32_000];

/// A request of 1 MB whose one message holds so many findings, and their places.
fn request(findings: usize) -> (Draft, NodeId, Vec<Redaction>) {
    let stretch = 1_000_000 / findings;
    let text = format!("{}{}", "k3y-", ".".repeat(stretch - 4)).repeat(findings);
    let body = format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let document = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap();
    let leaf = document.resolve("/messages/0/content").unwrap();
    let at = |place: usize| place * stretch..place * stretch + 4;
    let redactions =
        (0..findings).map(|place| Redaction::new(at(place), "KEY", format!("KEY_{place}"))).collect();
    (Draft::new(Arc::new(document)), leaf, redactions)
}

#[divan::bench(args = FINDINGS)]
fn redact_and_render(bencher: Bencher<'_, '_>, findings: usize) {
    let (draft, leaf, redactions) = request(findings);
    bencher.bench(|| {
        let mut draft = draft.clone();
        draft.redact(leaf, &redactions, &Author::rule("secrets")).unwrap();
        draft.validate().unwrap();
        draft.render()
    });
}

#[divan::bench(args = FINDINGS)]
fn edit_and_show(bencher: Bencher<'_, '_>, findings: usize) {
    let (mut draft, leaf, redactions) = request(findings);
    draft.redact(leaf, &redactions, &Author::rule("secrets")).unwrap();
    bencher.bench(|| {
        let mut draft = draft.clone();
        draft.splice(leaf, vec![(0..1, "x".into())], &Author::Person).unwrap();
        let masked = draft.masked_original(leaf, |label| format!("<{label}>")).expose().len();
        (masked, draft.standing_redactions().len(), draft.redacted(leaf).len())
    });
}

/// Leaving out half of so many messages, and naming every one that is left.
#[divan::bench(args = FINDINGS)]
fn delete_and_name(bencher: Bencher<'_, '_>, messages: usize) {
    let list = r#"{"role":"user","content":"q"},{"role":"critic","content":"a"}"#;
    let body = format!(r#"{{"messages":[{}]}}"#, vec![list; messages / 2].join(","));
    let document = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap();
    let draft = Draft::new(Arc::new(document));
    bencher.bench(|| {
        let mut draft = draft.clone();
        for at in (1..messages).step_by(2) {
            draft.delete(leafgate_tree::SectionId::from_index(at), &Author::rule("critics")).unwrap();
        }
        draft.validate().unwrap();
        let named: usize = draft.leaves_now().map(|leaf| draft.pointer_now(leaf).len()).sum();
        (named, draft.render())
    });
}
