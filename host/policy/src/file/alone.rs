//! The keys of a rule whose action cannot be told, each read for itself: a mistyped action hides no
//! other mistake.

use std::ops::Range;

use leafgate_contract::World;

use super::compile::Compiler;
use super::matches;
use super::raw::RawRule;
use crate::rule::{OnDrift, OnUnredactable, Published, Restore, Sees, With};

impl Compiler<'_, '_> {
    /// Reads each key that belongs to some action. What goes with what is for the action to say, so
    /// it is not asked.
    pub(super) fn keys_of_no_action(&mut self, raw: &RawRule, header: &Range<usize>) {
        self.optional::<With>("with", &raw.with);
        self.optional::<Restore>("restore", &raw.restore);
        self.optional::<OnUnredactable>("on_unredactable", &raw.on_unredactable);
        self.optional::<Published>("published", &raw.published);
        if let Some(detect) = &raw.detect {
            self.detectors(detect.get_ref().words(detect.span()));
        }
        if raw.kind.is_some() {
            self.classify(raw, header.clone());
        }
        self.optional::<OnDrift>("on_drift", &raw.on_drift);
        self.protect(raw);
        self.each_change(raw);
        matches::globs(&raw.keep, "keep", &mut self.complaints);
        matches::globs(&raw.drop, "drop", &mut self.complaints);
        self.inserted_path(raw);
        self.optional::<Sees>("sees", &raw.sees);
        if let Some(plugin) = &raw.plugin {
            self.plugin(plugin.get_ref(), plugin.span(), World::Transformer);
        }
        self.pause(raw);
        if raw.tag.is_some() {
            self.tag(raw, header.clone());
        }
    }
}
