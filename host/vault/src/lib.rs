//! Values and the tokens that stand for them.
//!
//! A redaction puts a [`Token`] in a value's place, `EMAIL_` and sixteen characters, before a
//! request leaves; the [`Vault`] of the session remembers which value that was and puts it back
//! where the answer repeats the token.
//!
//! What holds:
//!
//! - **Same value, same token**, on every turn and after a restart: a token depends on the keys,
//!   the label and the value, and on nothing else. A prompt that was redacted twice has the same
//!   bytes twice, so caches keep working.
//! - **One identity's tokens mean nothing to another**: every client has keys of its own
//!   ([`TokenKeys::derive`]).
//! - **A value is restored only if this session sent it**, and in text for people never where
//!   something could fetch it by itself (see [`Restorer`]).
//! - **In the arguments of tools a value returns only where a rule lets it**, by where it was first
//!   seen ([`Flow`]).
//! - **Texts that a client may join are restored as joined**: no cutting of an answer into parts
//!   restores a value that the joined text would not.
//! - **A stream restores as its whole text does**, wherever it is split, and holds back only what
//!   begins a token.
//!
//! This crate does no I/O and reads neither a clock nor randomness; it never prints a value, in
//! `Debug` or in an error. It does not find values (`leafgate-detect`) nor decide about them
//! (`leafgate-policy`), and it knows no JSON: it reads and writes decoded text.

mod bound;
mod context;
mod file;
mod first;
mod flow;
mod keys;
mod memory;
mod person;
mod restore;
mod surrogate;
pub mod tools;
mod vault;
mod word;

pub use bound::{MemoryBound, TokenCounts};
pub use file::FileName;
pub use first::FirstSeen;
pub use flow::{Flow, FlowRule, InvalidPlace, Place, Seen};
pub use keys::{ClientIdentity, InstallationKey, TokenKeys};
pub use memory::{MAX_BYTES, MAX_ENTRIES};
pub use restore::{Joined, Restorer};
pub use surrogate::{mask, surrogate};
pub use vault::{Collision, Vault};
pub use word::{MAX_LABEL, Token};
