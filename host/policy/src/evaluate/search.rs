//! The one way to search a text, whatever it is: a leaf, a key, the border of two parts, a message
//! that was put in, a header, the words of a plugin.
//!
//! Each distinct set of built-in detectors runs at most once on a text and on each text beneath it.
//! Each detector plugin is called at most once per search, with every text that any rule wants it
//! to see and that it has not answered for before. Nothing is changed here: the outcome says what
//! was found where.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use leafgate_detect::Input;
use leafgate_tree::{Access, Leaf, ValueType};

use super::Run;
use super::ask::Candidate;
use super::found::Found;
use super::scanner::Scanner;
use super::subject::Subject;
use crate::index::{PluginIndex, RuleIndex};
use crate::rule::Redact;
use crate::work;

/// Redact rules with their indices.
pub(super) type Rules<'p> = Vec<(RuleIndex, &'p Redact)>;

/// A search under way.
pub(super) struct Search<'s, 'p> {
    pub(super) run: &'s Run<'p>,
    scanner: Scanner,
    /// By index of the plugin.
    pub(super) candidates: Vec<Vec<Candidate<'s>>>,
    /// A buffer for the plugins that are to see a text, kept from one text to the next.
    wanted: Vec<(PluginIndex, RuleIndex)>,
    pub(super) found: Found,
}

impl<'s, 'p> Search<'s, 'p> {
    pub(super) fn new(run: &'s Run<'p>) -> Self {
        let candidates = run.policy.plugins.iter().map(|_| Vec::new()).collect();
        Search { run, scanner: Scanner::default(), candidates, wanted: Vec::new(), found: Found::default() }
    }

    /// Searches the present text of a leaf on behalf of the rules that apply to it.
    pub(super) fn leaf(&mut self, rules: &Rules<'p>, leaf: Leaf<'s>) {
        // `true` and `null` have no room for a value.
        if matches!(leaf.value_type(), ValueType::Boolean | ValueType::Null) || self.found.too_much {
            return;
        }
        work::step();
        let subject = Subject::of_leaf(self.run, leaf);
        // All of them apply to most leaves: a list of its own is for a leaf to which one does not.
        let mut applying: Option<Rules<'p>> = None;
        for (place, &(rule, redact)) in rules.iter().enumerate() {
            match (self.applies(rule, &leaf, || subject.text().into()), &mut applying) {
                (true, Some(applying)) => applying.push((rule, redact)),
                (false, None) => applying = Some(rules[..place].to_vec()),
                (true, None) | (false, Some(_)) => {}
            }
        }
        self.text(applying.as_ref().unwrap_or(rules), subject);
    }

    /// Searches texts that requests repeat, unless built-in detectors are known to find nothing in
    /// any of them. Plugins are asked each time.
    pub(super) fn unless_quiet<'t, T: Iterator<Item = &'t str>>(
        &mut self,
        rules: &Rules<'p>,
        texts: impl FnOnce() -> T,
        search: impl FnOnce(&mut Self),
    ) {
        let memo = &self.run.policy.memo;
        if !memo.remembers() || rules.iter().any(|(_, redact)| !redact.plugins.is_empty()) {
            return search(self);
        }
        let numbers: Vec<u8> =
            rules.iter().flat_map(|(index, _)| (index.get() as u64).to_le_bytes()).collect();
        let question = memo.texts(&numbers, texts());
        if memo.recall_block(question).is_some() {
            return;
        }
        let noisy = self.found.noisy.len();
        search(self);
        if self.found.noisy.len() == noisy && !self.found.too_much {
            memo.keep_block(question, &[]);
        }
    }

    /// Searches a text on behalf of all the rules that are given.
    pub(super) fn text(&mut self, rules: &[(RuleIndex, &'p Redact)], mut subject: Subject<'s>) {
        if rules.is_empty() || self.found.too_much {
            return;
        }
        let is_media = subject.is_media();
        if is_media && subject.beneath().is_empty() {
            return;
        }
        self.scanner.begin();
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.clear();
        let is_timed = self.run.trace.is_some();
        for &(rule, redact) in rules {
            let since = is_timed.then(Instant::now);
            if let Some(engine) = redact.engine {
                let first = self.found.hits.len();
                let mut quiet = false;
                if !is_media {
                    let (findings, nothing_beneath) =
                        self.scanner.scan(self.run.policy, engine, &mut subject);
                    quiet = nothing_beneath;
                    self.found.push(self.run, &subject, findings, rule);
                }
                let plain = first..self.found.hits.len();
                if let Some(checked) = redact.checked.filter(|_| !is_media && subject.access != Access::Open)
                {
                    let findings = self.scanner.scan_checked(self.run.policy, checked, &subject);
                    self.found.push(self.run, &subject, findings, rule);
                }
                let views = if quiet { 0 } else { subject.beneath().len() };
                for view in 0..views {
                    let findings = self.scanner.scan_beneath(self.run.policy, engine, &mut subject, view);
                    let beneath = Arc::clone(&subject.beneath()[view]);
                    self.found.push_beneath(self.run, &subject, (view, &beneath), findings, rule, &plain);
                }
            }
            self.found.took(rule, since);
            if self.asks_plugins(rule, subject.site) {
                wanted.extend(redact.plugins.iter().map(|&plugin| (plugin, rule)));
            }
        }
        if !wanted.is_empty() && subject.is_decoded_for_plugins() {
            subject.beneath();
            self.show(subject, &wanted);
        }
        self.wanted = wanted;
    }

    /// Whether a rule applies to a leaf with a text, which is read only where its condition is about that.
    pub(super) fn applies<'t>(
        &mut self,
        rule: RuleIndex,
        leaf: &Leaf<'_>,
        text: impl FnOnce() -> Cow<'t, str>,
    ) -> bool {
        match self.run.applies(rule, leaf, text) {
            Ok(applies) => applies,
            Err(error) => {
                if !self.found.failed.iter().any(|(failed, _)| *failed == rule) {
                    self.found.failed.push((rule, error));
                }
                false
            }
        }
    }
}

/// Returns what an engine is asked about a text.
pub(super) fn input_of<'i>(access: Access, text: &'i str, key: &'i str) -> Input<'i> {
    let input = Input::new(text).with_key(key);
    if access == Access::Open { input } else { input.prefix_only() }
}
