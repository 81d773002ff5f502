//! What the tree promises about any bytes, as functions that panic where a promise is broken.
//!
//! Fuzz targets (`host/fuzz`) call them for minutes with inputs of their own making; the property tests of this crate call the very
//! same functions in every test run, on generated inputs and on every recording. What a correct tree must do is taken from the walk of
//! `leafgate-verify`, which shares no code with it.
//!
//! An input is a body; bytes behind its first NUL (which no JSON holds) choose what is done to it. See [`Input`].
//!
//! This crate is for development. Its panics print what they compared, texts of the input included: no product code depends on it.

mod bodies;
mod embedded;
mod index;
mod input;
mod journal;
mod projection;
mod splice;

pub use embedded::embedded;
pub use index::index;
pub use input::Input;
pub use journal::journal;
pub use projection::projection;
pub use splice::splice;

pub use leafgate_tree::Format;

/// A promise, tried on one input.
pub type Check = fn(&[u8]);

/// Every check, by the name of its fuzz target.
pub const CHECKS: &[(&str, Check)] = &[
    ("index", index),
    ("embedded", embedded),
    ("splice", splice),
    ("journal", journal),
    ("openai_chat", |input| projection(Format::OpenaiChat, input)),
    ("openai_responses", |input| projection(Format::OpenaiResponses, input)),
    ("anthropic_messages", |input| projection(Format::AnthropicMessages, input)),
    ("raw", |input| projection(Format::Raw, input)),
    ("vscode_chat", |input| projection(Format::VscodeChat, input)),
    ("generic", |input| projection(Format::Generic, input)),
];
