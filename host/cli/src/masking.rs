//! Masks the findings of the built-in detectors in shown text: in keys of paths, in labels, and in
//! text that no rule redacted.

use std::sync::{Arc, OnceLock};

use leafgate_detect::{Engine, Input, KnownValues, replaced};
use leafgate_tree::display_mask;

/// The built-in detectors with the values that are known, once they were read.
static KNOWING: OnceLock<Engine> = OnceLock::new();

/// Has the values masked too that a command's policy knows.
pub(crate) fn know(values: &Arc<KnownValues>) {
    KNOWING.get_or_init(|| {
        Engine::with_known(&["secrets", "pii"], Some(values)).expect("the built-in packs have these names")
    });
}

/// Returns the text with every finding masked.
pub(crate) fn masked(text: &str) -> String {
    masked_beside("", text)
}

/// Returns the value of a key, masked like [`masked`]: some secrets are known by their key alone.
pub(crate) fn masked_beside(key: &str, text: &str) -> String {
    let findings = KNOWING.get().unwrap_or(Engine::built_in()).scan(&Input::new(text).with_key(key));
    replaced(text, findings, display_mask).into_owned()
}
