//! Edits that a person made once and wants made in later requests too.
//!
//! - [`SavedEdit`]: one edit, the place where it was made, and a [`Guard`] that knows again what it
//!   replaces.
//! - [`apply`]: makes saved edits on a draft, and says of each what became of it ([`Fit`]).
//! - [`Capture`]: the edits of a turn that stand in it as a person left it, as saved edits.
//! - [`SavedFile`]: the form in which they are kept, TOML that people can read.
//!
//! What it promises: an edit is made only where role, kind and text certainly are those of the
//! place where the person made it, otherwise it is not made and that is told. A guard is a keyed
//! digest of the text with masks in the places of redacted values, so no saved edit holds an old
//! text or a value that redaction took away. The same edits and the same request give the same
//! draft. What it must not do: I/O, clocks, randomness.

mod apply;
mod capture;
mod edit;
mod file;
mod find;
mod guard;
mod spelled;

pub use apply::{Drift, Fit, SavedEditOutcome, ScopeEdits, apply};
pub use capture::{Capture, CaptureStamp, Captured};
pub use edit::{SavedChange, SavedEdit, SavedId};
pub use file::{MAX_EDITS, SavedFile, SavedFileError};
pub use guard::{Guard, GuardKey};
