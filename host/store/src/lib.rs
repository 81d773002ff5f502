//! The log of what passed a gate: a SQLite database with each request, what was changed in it, and
//! its answer.
//!
//! [`Store`] is a [`Recorder`](leafgate_record::Recorder): it takes what the gate tells it and
//! hands it to one thread, which masks, compresses and writes. [`Log`] reads.
//!
//! What it promises:
//!
//! - **Nothing secret is in the files.** What the built-in detectors or the request's own policy find
//!   is masked before it is written, in monitor mode too; tokens stay tokens; of headers nothing is
//!   written at all; media is left out. Digests of bodies are keyed, so that who has the files alone
//!   cannot try texts.
//! - **It never delays a request.** What comes faster than it is written is left out and counted. A
//!   store that is required has requests wait until they are on disk instead, and refuses those that
//!   it cannot keep.
//! - **Whole after any end.** A batch is a transaction: after a crash everything that was
//!   acknowledged is there, and nothing is there by half.
//! - **Bounded** by size and age.
//! - **Signed.** Each request's receipt carries the digest of the one before and a signature, so a
//!   missing, changed or moved one is found ([`receipt`]).
//!
//! Texts of a conversation are sent again with every turn. A body is therefore kept as pieces, each
//! written once (`pieces.rs`).
//!
//! It knows no rules and changes no request.

mod bounds;
mod export;
mod fault;
mod files;
mod keys;
mod ledger;
mod lists;
mod live;
mod log;
mod marks;
mod mask;
mod names;
mod pace;
mod pieces;
mod presence;
mod queue;
pub mod receipt;
mod reveals;
mod schema;
mod search;
mod store;
mod tokens;
mod work;
mod writer;

pub use leafgate_record::RecordedEdit;

pub use export::ExportFormat;
pub use keys::StoreKeys;
pub use ledger::{Break, CacheLine};
pub use lists::{Filter, RedactionLine, RequestLine};
pub use live::SavedCall;
pub use log::{AnswerView, BodyView, Log, LogError, RequestView};
pub use marks::{RuleHits, mark};
pub use reveals::RevealLine;
pub use search::FoundRequest;
pub use store::{Store, StoreConfig, StoreError};
