//! Between a client that speaks one API and an upstream that speaks another.
//!
//! - [`adapt`]: a request → that of the other API, and what is lost on the way.
//! - [`adapt_answer`], [`StreamAdapter`]: the answer back, whole or while it comes.
//! - [`messages`]: what both stand on: the messages of a body, whatever API it speaks. Exports of the log read them too.
//!
//! ```
//! use leafgate_adapt::{PathTerms, adapt};
//! use leafgate_api::Api;
//! use leafgate_tree::{Document, Format, Limits};
//!
//! let body = br#"{"messages":[{"role":"user","content":"Hi"}],"stop":"END","logprobs":true}"#;
//! let document = Document::parse(body.to_vec().into(), Format::OpenaiChat, &Limits::default()).unwrap();
//! let path = PathTerms { model: "claude-sonnet-4-5", streams: false };
//! let adapted = adapt(&document, Api::Chat, Api::Messages, path)?;
//! let body: serde_json::Value = serde_json::from_slice(&adapted.body).unwrap();
//! assert_eq!(body["messages"][0]["content"][0]["text"], "Hi");
//! assert_eq!(body["stop_sequences"][0], "END");
//! assert_eq!(adapted.losses, ["logprobs"]);
//! # Ok::<(), leafgate_adapt::AdaptError>(())
//! ```
//!
//! What it promises:
//!
//! - **Same in, same out.** The messages of a longer conversation begin with those of the shorter one, so that caches of prompts hold.
//! - **A loss is told** by the name that an API has for it, never by a text or a key of the client's own.
//! - Words, pictures, calls, results and their pairs stay, in their order.
//!
//! What it must not do: I/O, know rules or HTTP. Nothing is adapted that nobody asked for: see the setting `api` of an upstream.

mod answer;
mod options;
mod request;
mod said;

pub use answer::{AnswerFault, StreamAdapter, adapt_answer};
pub use options::ToolTerms;
pub use request::{AdaptError, AdaptedRequest, PathTerms, adapt, is_adapted};
pub use said::{TurnMessage, TurnPart, further_ids, messages, named, question};
