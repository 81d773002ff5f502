//! The keys of a rule whose action cannot be told, each read for itself: a mistyped action hides no
//! other mistake.

use std::ops::Range;

use super::compile::Compiler;
use super::matches;
use super::raw::RawRule;
use crate::plugin::World;
use crate::rule::{OnDrift, Restore};

impl Compiler<'_, '_> {
    /// Reads each key that belongs to some action. What goes with what is for the action to say, so
    /// it is not asked.
    pub(super) fn keys_of_no_action(&mut self, raw: &RawRule, header: &Range<usize>) {
        self.with(raw);
        self.optional("restore", &raw.restore, Restore::WORDS, Restore::from_word);
        self.on_unredactable(raw);
        self.published(raw);
        if let Some(detect) = &raw.detect {
            self.detectors(detect.get_ref().words(detect.span()));
        }
        if raw.kind.is_some() {
            self.classify(raw, header.clone());
        }
        self.optional("on_drift", &raw.on_drift, OnDrift::WORDS, OnDrift::from_word);
        self.protect(raw);
        self.each_change(raw);
        matches::globs(&raw.keep, "keep", &mut self.complaints);
        matches::globs(&raw.drop, "drop", &mut self.complaints);
        self.inserted_path(raw);
        self.sees(raw);
        if let Some(plugin) = &raw.plugin {
            self.plugin(plugin.get_ref(), plugin.span(), World::Transformer);
        }
        self.pause(raw);
    }
}
