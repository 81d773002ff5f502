//! The keys of a rule whose action cannot be told, each read for itself: a mistyped action hides no
//! other mistake.

use leafgate_contract::World;

use super::compile::Compiler;
use super::matches;
use super::raw::{RawRule, words_of};

impl Compiler<'_, '_> {
    /// Reads each key that belongs to some action and whose row does not say all about it. What goes with what is
    /// for the action to say, so it is not asked.
    pub(super) fn keys_of_no_action(&mut self, raw: &RawRule) {
        self.detectors(words_of(&raw.detect));
        self.each_change(raw);
        matches::globs(&raw.keep, "keep", &mut self.complaints);
        matches::globs(&raw.drop, "drop", &mut self.complaints);
        self.inserted_path(raw);
        raw.plugin.as_ref().map(|plugin| self.plugin(plugin, World::Transformer));
        self.tag(raw);
    }
}
