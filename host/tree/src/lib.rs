//! A JSON request as a tree of sections and leaves, edited by splicing.
//!
//! - [`Index`]: the received bytes and where every value lies in them. [`Document`]: the index and what a format says. Immutable.
//! - [`Section`], [`Leaf`]: what people see as a card, and the scalars that rules, plugins and people edit. A projection by
//!   [`Format`] names them.
//! - [`Draft`]: a document and the journal of its edits, with undo, redo and reset; renders the bytes to send.
//! - [`Operation`], [`Replay`]: the edits of a draft as JSON, and how they are made again on another request.
//!
//! What it promises: a draft without edits renders the received buffer itself; an edit changes the bytes of its leaf and no other; a
//! JSON text inside a string stays one; every scalar is a leaf; undo gives back the very bytes; a redacted value comes back by no
//! way. What it must not know: rules, detectors, HTTP.
//!
//! ```
//! use std::sync::Arc;
//! use leafgate_tree::{Author, Document, Draft, Format, Limits};
//!
//! let body = r#"{"messages": [{"role":"user", "content":"Hi \u0042ob"}]}"#;
//! let document = Document::parse(body.into(), Format::OpenaiChat, &Limits::default())?;
//! let leaf = document.resolve("/messages/0/content")?;
//! let mut draft = Draft::new(Arc::new(document));
//! draft.set(leaf, "Hi Alice", &Author::Person)?;
//! assert_eq!(draft.render(), r#"{"messages": [{"role":"user", "content":"Hi Alice"}]}"#);
//! draft.undo();
//! assert_eq!(draft.render(), body);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
mod changes;
mod document;
mod draft;
mod error;
mod escape;
mod exchange;
mod formats;
mod index;
mod insert;
mod journal;
mod json;
mod kinds;
mod label;
mod leaf;
mod lift;
mod marks;
mod media;
mod node;
mod object;
mod operation;
mod pieces;
mod pointer;
mod project;
mod render;
mod replay;
mod reread;
mod scan;
mod section;
mod text;
mod validate;

pub use block::Block;
pub use changes::{ChangedLeaf, Changes, LeftOut, display_mask};
pub use document::Document;
pub use draft::{Draft, EditError, MarkedSpan, PutOption};
pub use error::{ParseError, ParseErrorKind};
pub use formats::Format;
pub use index::{Index, Key, Segment};
pub use insert::Inserted;
pub use journal::{Author, Edit, EditKind, FindingId, Redaction, RedactionRecord, ReleaseTerms, Version};
pub use json::ValueSource;
pub use kinds::{ContentKind, LeafKind, Role, SectionKind, ValueType};
pub use leaf::Leaf;
pub use media::{FileKind, PackedFormat, file_head};
pub use node::NodeId;
pub use operation::{Operation, OperationHistory};
pub use pointer::ResolveError;
pub use project::Access;
pub use replay::{BadOperation, Misfit, Replay, ReplayError};
pub use reread::{Origin, Reread};
pub use scan::Limits;
pub use section::{CallBefore, NodeType, Section, SectionId};
pub use text::{LeafText, unescape_deeply};
pub use validate::Invalid;
