//! One leaf under the built-in detectors: each set of them runs at most once on each of its texts, and not at all where the memo knows
//! what it says.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use leafgate_detect::{Finding, Input};
use leafgate_tree::{Access, Leaf, ValueType};

use super::Run;
use super::beneath::{Beneath, beneath};
use crate::index::EngineIndex;
use crate::memo::Answer;

/// A leaf with its present text, and what is beneath that.
pub(super) struct Present<'s> {
    pub(super) leaf: Leaf<'s>,
    pub(super) text: Cow<'s, str>,
    unwalked: bool,
    beneath: Option<Vec<Arc<Beneath>>>,
}

impl<'s> Present<'s> {
    pub(super) fn new(run: &'s Run<'_>, leaf: Leaf<'s>) -> Self {
        let draft = &run.draft;
        let (text, unwalked) = (draft.text(leaf.id()).into_cow(), draft.is_unwalked(leaf.id()));
        Present { leaf, text, unwalked, beneath: None }
    }

    pub(super) fn is_media(&self) -> bool {
        self.leaf.access() == Access::Opaque
    }

    /// The texts beneath the leaf's; looked for when they are first asked for.
    pub(super) fn beneath(&mut self) -> &[Arc<Beneath>] {
        self.beneath.get_or_insert_with(|| {
            beneath(&self.leaf, &self.text, self.unwalked).into_iter().map(Arc::new).collect()
        })
    }

    /// Whether all that can be beneath the text is what is encoded in it.
    fn is_walked_text(&self) -> bool {
        let decoded = matches!(self.leaf.access(), Access::Open | Access::Protected);
        decoded && !self.unwalked && self.leaf.value_type() == ValueType::Text
    }
}

/// Runs engines on one leaf after the other, and keeps its buffer between them.
#[derive(Default)]
pub(super) struct Scanner {
    /// Which engine has run on the leaf's text, or on which of those beneath it, and where its findings lie.
    ran: Vec<(EngineIndex, Option<usize>, Range<usize>)>,
    findings: Vec<Finding>,
    /// Engines that are known to find nothing beneath the leaf's text.
    quiet: Vec<EngineIndex>,
}

impl Scanner {
    /// Forgets the last leaf.
    pub(super) fn begin(&mut self) {
        self.ran.clear();
        self.findings.clear();
        self.quiet.clear();
    }

    /// What an engine finds in a leaf's own text, and whether it is known to find nothing beneath that.
    pub(super) fn scan(
        &mut self,
        run: &Run<'_>,
        engine: EngineIndex,
        present: &mut Present<'_>,
    ) -> (&[Finding], bool) {
        let range = self.known(engine, None).unwrap_or_else(|| self.ask(run, engine, present));
        (&self.findings[range], self.quiet.contains(&engine))
    }

    /// What an engine finds in one of the texts beneath it.
    pub(super) fn scan_beneath(
        &mut self,
        run: &Run<'_>,
        engine: EngineIndex,
        present: &mut Present<'_>,
        place: usize,
    ) -> &[Finding] {
        let range = self.known(engine, Some(place)).unwrap_or_else(|| {
            let start = self.findings.len();
            let beneath = Arc::clone(&present.beneath()[place]);
            // The leaf's key names what is encoded as little as it names a part of it.
            let key = if beneath.is_named_by_key() { present.leaf.key() } else { Cow::Borrowed("") };
            let input = Input::new(beneath.text()).with_key(&key);
            // What looks like media can be anything: all detectors look at what it spells.
            let all = matches!(present.leaf.access(), Access::Open | Access::Opaque);
            let input = if all { input } else { input.prefix_only() };
            run.policy.engines[engine].scan_into(&input, &mut self.findings);
            self.ran(engine, Some(place), start)
        });
        &self.findings[range]
    }

    /// Whether an engine finds nothing in any of the texts beneath the leaf's.
    fn finds_nothing_beneath(
        &mut self,
        run: &Run<'_>,
        engine: EngineIndex,
        present: &mut Present<'_>,
    ) -> bool {
        (0..present.beneath().len()).all(|place| self.scan_beneath(run, engine, present, place).is_empty())
    }

    fn known(&self, engine: EngineIndex, place: Option<usize>) -> Option<Range<usize>> {
        let ran = self.ran.iter().find(|(ran, which, _)| (*ran, *which) == (engine, place));
        ran.map(|(.., range)| range.clone())
    }

    fn ran(&mut self, engine: EngineIndex, place: Option<usize>, start: usize) -> Range<usize> {
        let range = start..self.findings.len();
        self.ran.push((engine, place, range.clone()));
        range
    }

    /// Asks the memo, else the engine.
    fn ask(&mut self, run: &Run<'_>, engine: EngineIndex, present: &mut Present<'_>) -> Range<usize> {
        let start = self.findings.len();
        let key = present.leaf.key();
        let input = Input::new(&present.text).with_key(&key);
        let input = if present.leaf.access() == Access::Open { input } else { input.prefix_only() };
        let memo = &run.policy.memo;
        let question = memo.engine(engine, &input);
        match question.and_then(|question| memo.recall(question)) {
            Some(answer) => {
                self.findings.extend_from_slice(answer.findings());
                if present.is_walked_text() {
                    if answer.plain {
                        present.beneath = Some(Vec::new());
                    }
                    if answer.quiet {
                        self.quiet.push(engine);
                    }
                }
                self.ran(engine, None, start)
            }
            None => {
                run.policy.engines[engine].scan_into(&input, &mut self.findings);
                let own = self.ran(engine, None, start);
                if let Some(question) = question {
                    let walked = present.is_walked_text();
                    let plain = walked && present.beneath().is_empty();
                    let quiet = walked && self.finds_nothing_beneath(run, engine, present);
                    memo.keep(question, Answer::new(&self.findings[own.clone()], plain, quiet));
                }
                own
            }
        }
    }
}
