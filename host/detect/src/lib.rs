//! Text in, findings out: where a text holds secrets or personal data.
//!
//! A detector is a row of data in `packs/*.toml`: the literals that call it, the shape of what it
//! looks for, the named checks that a match must pass, and the examples that are its tests. Code
//! exists for the shapes and the checks only.
//!
//! What holds for every [`Engine`]:
//!
//! - **Pure.** The same engine gives the same findings for the same [`Input`]: no clock, no
//!   randomness, no state between calls.
//! - **Linear.** The text's author may be an attacker. No shape looks at a byte more often than a
//!   constant number of times.
//! - **Whole.** A finding covers the secret from its first to its last byte and lies on character
//!   boundaries.
//! - **Silent.** Neither a [`Finding`] nor an error of this crate holds any of the text.
//!
//! It knows no JSON, no rules and no tokens: who calls it decides which leaf to look at and what to
//! do with a finding.
//!
//! Where things are:
//!
//! - `packs/services.toml` has tokens by their prefix, `places.toml` passwords by their place,
//!   `secrets.toml` names and older rows of both, `pii.toml` personal data. A row is read by `pack`.
//! - The other files of `packs` are tables that code goes by: lists of words, what services and states
//!   issue, what is published.
//! - A text is read once for the keywords of all rows (`prefilter`, `literals`); `lead` turns most
//!   places away before a regex is asked, and `reads` bounds what regexes read. `reference` finds the
//!   same the slow way, in tests.
//! - What a value looks like: `value` by rules, `score` where they leave it open, `documented` by what
//!   its service says. `placeholder`, `published` and `publishable` are what is no secret.
//! - Numbers that no pattern describes: `phone`, `identity`, `numbers`, with words beside them (`cues`).
//! - `decode` undoes encodings; `known` finds values that somebody named, before any pattern.
//! - A seed phrase is found behind its name alone: to ask it of every twelve words costs more than all
//!   else.

mod beside;
mod block;
mod bounds;
mod checks;
mod checksums;
#[cfg(test)]
mod cost;
mod cues;
mod decode;
mod documented;
mod engine;
mod explain;
mod finding;
mod frequency;
mod identity;
mod input;
mod keyed;
mod known;
mod lead;
mod lists;
mod literals;
mod names;
mod numbers;
mod pack;
mod phone;
mod placeholder;
mod prefilter;
mod publishable;
mod published;
mod reads;
mod recur;
#[cfg(test)]
mod reference;
mod registry;
mod runs;
mod scan;
mod score;
mod seed_phrase;
mod settings;
mod table;
mod value;
mod work;

pub use checksums::luhn;
pub use decode::{Encoding, LAYERS, MOST_TIMES_TEXT, Source, View, views, views_of_media};
pub use engine::Engine;
pub use explain::{DetectorExplanation, explain};
pub use finding::{Confidence, DetectorId, Finding, InvalidName, Label, replaced};
pub use input::Input;
pub use known::{
    KnownKey, KnownValue, KnownValues, LEAST_KNOWN, MOST_KNOWN, NamedValue, NotKnown, PIECE, Spelled,
    named_values,
};
pub use registry::{DetectorInfo, UnknownDetector, all_detectors, pack_of, selectors};
