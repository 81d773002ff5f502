//! Assembles a request: the conversation that a client sent, a profile and files make the body that
//! leaves.
//!
//! The order is fixed: one system prompt first, the history, context directly before the latest user
//! message, names of documents on that message, then tools, plugins and options.
//!
//! ```
//! use leafgate_assemble::{Api, FileFault, Files, ListedEntry, Profile, ProfilePrompt, assemble};
//!
//! struct Notes;
//! impl Files for Notes {
//!     fn read(&self, path: &str) -> Result<Vec<u8>, FileFault> {
//!         if path == "a.md" { Ok(b"A says 1.".to_vec()) } else { Err(FileFault::Missing) }
//!     }
//!     fn list(&self, _: &str, _: usize, _: usize) -> Result<Vec<ListedEntry>, FileFault> {
//!         Ok(Vec::new())
//!     }
//! }
//!
//! let profile = Profile {
//!     prompt: Some(ProfilePrompt::Literal("Review.".to_owned())),
//!     context: vec!["a.md".to_owned()],
//!     ..Profile::default()
//! };
//! let body = br#"{"messages":[{"role":"user","content":"Now?"}]}"#;
//! let assembled = assemble(Api::Chat, body, &profile, &Notes, None)?;
//! assert_eq!(
//!     String::from_utf8_lossy(&assembled.body),
//!     r#"{"messages":[{"role":"system","content":"Review."},{"role":"user","content":"Context from a.md:\n\nA says 1."},{"role":"user","content":"Now?"}]}"#,
//! );
//! # Ok::<(), leafgate_assemble::AssembleError>(())
//! ```
//!
//! What it promises:
//!
//! - **Same in, same out**: the same body, profile and files give the same bytes.
//! - **Twice is once**: an assembled body, assembled again, stays as it is.
//! - **Whatever is not touched stays as it was spelled**, members, numbers and spacing alike.
//! - **Nothing from outside**: a path leaves its root by no name, and a request picks only from what
//!   its profile allows.
//! - **Every step is told** ([`Step`]), with its source, its bytes and its digest, and never its text.
//!
//! A provider that does not take a request as it is says so in words of its own: [`refused`] reads
//! them, and [`downgrade`] leaves out what it does not take.
//!
//! What it must not do: I/O (files come through [`Files`]), read a clock, know rules or HTTP. Which
//! requests a profile is for, and when a lesser form is sent, is its caller's.

mod asked;
mod assemble;
mod context;
mod downgrade;
mod error;
mod files;
mod history;
mod json;
mod mcp;
mod profile;
mod prompt;
mod rejection;
mod step;
mod tools;
mod wire;

pub use leafgate_api::{Api, PICKED};

pub use assemble::{Assembled, Counted, assemble};
pub use downgrade::downgrade;
pub use error::AssembleError;
pub use files::{FileFault, Files, ListedEntry, check as check_path};
pub use mcp::{SERVERS, ToolServer};
pub use profile::{
    AgentMode, Continuation, MapOf, Profile, ProfileError, ProfilePlugin, ProfilePrompt, ToolsOf,
};
pub use rejection::{Refused, refused};
pub use step::{Did, Step};
pub use tools::normalise_tools;
