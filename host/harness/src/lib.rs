//! What the tree promises about any bytes, as functions that panic where a promise is broken.
//!
//! Fuzz targets (`host/fuzz`) call them for minutes with inputs of their own making; the property tests of this crate call the very
//! same functions in every test run, on generated inputs and on every recording. What a correct tree must do is taken from the walk of
//! `leafgate-verify`, which shares no code with it.
//!
//! [`clients`] and [`answers`] are about what comes back: models of clients, and hostile answers for
//! them. Tests of the gate send these through it.
//!
//! An input is a body; bytes behind its first NUL (which no JSON holds) choose what is done to it. See [`Input`].
//!
//! This crate is for development. Its panics print what they compared, texts of the input included: no product code depends on it.
//!
//! What a fuzzer finds becomes a test with a name, here or beside the code at fault.

pub mod answers;
mod bodies;
pub mod clients;
mod embedded;
mod index;
mod input;
mod journal;
pub mod packed;
mod projection;
pub mod recordings;
pub mod rules;
mod splice;

pub use embedded::embedded;
pub use index::index;
pub use input::Input;
pub use journal::journal;
pub use projection::projection;
pub use splice::splice;

pub use leafgate_tree::Format;

use std::panic::RefUnwindSafe;

/// A promise, tried on one input.
pub type Check = Box<dyn Fn(&[u8]) + RefUnwindSafe>;

/// Every check, by the name of its fuzz target: one for each format, and those that need none.
#[must_use]
pub fn checks() -> Vec<(String, Check)> {
    let shared: [(&str, Check); 4] = [
        ("index", Box::new(index)),
        ("embedded", Box::new(embedded)),
        ("splice", Box::new(splice)),
        ("journal", Box::new(journal)),
    ];
    let shared = shared.into_iter().map(|(name, check)| (name.to_owned(), check));
    let formats = Format::ALL.iter().map(|&format| {
        let check: Check = Box::new(move |input: &[u8]| projection(format, input));
        (format.name().replace('-', "_"), check)
    });
    shared.chain(formats).collect()
}
