//! Answers of models: OpenAI chat completions and Responses, Anthropic Messages, Gemini.
//!
//! - [`Reader`] reads an answer, JSON or event stream, cut anywhere: each piece gives [`Delta`]s, and
//!   the end gives an [`Answer`] with its [`Reply`], and what the next request repeats of it
//!   ([`Answer::turn`]).
//! - [`write_answer`] writes a reply as an answer of any API, [`answer_events`] an answer as the events
//!   of its stream. Together they replay a JSON answer to a client that asked for a stream, and let
//!   something else than a model answer.
//! - [`LiveAnswer`] writes the stream of an answer that is not finished yet.
//!
//! ```
//! use leafgate_answer::{AnswerLimits, Api, Delta, Reader, write_answer};
//!
//! let mut reader = Reader::stream(Api::Chat, AnswerLimits::default());
//! let deltas = reader.push(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n")?;
//! assert_eq!(deltas, [Delta::Content("Hi".into())]);
//! let answer = reader.finish()?;
//! assert_eq!(answer.reply.content.expose(), "Hi");
//! assert_eq!(answer.reply.finish, None, "it broke off");
//!
//! // The same, said by another API.
//! let message = write_answer(Api::Messages, &answer.reply, &answer.head);
//! assert_eq!(message["content"][0]["text"], "Hi");
//! # Ok::<(), leafgate_answer::AnswerError>(())
//! ```
//!
//! What it promises:
//!
//! - **One reading.** All texts and calls are those that an [`Account`] hears, once for all: who decides, who restores and
//!   who keeps get what it heard. [`Gathering`] puts a stream together to the JSON answer that it stands for, and a reply
//!   is read from that alone. So a stream and the answer that it replays give one reply, and the deltas of a stream add up
//!   to its texts and calls.
//! - **Bounded.** [`AnswerLimits`] bound what a reader keeps; beyond them it is an error.
//! - **Tolerant.** Unknown events, parts and members say nothing, and what is odd is said to be so. Only what is no
//!   answer at all is an error.
//! - Errors and `Debug` hold places and fixed words, never a text of the answer.
//!
//! What it must not do: I/O, wait, change what goes to the client. It knows neither requests nor HTTP.
//!
//! Where things are: `hearing` cuts a stream into events, `reading` reads their JSON strictly, the
//! `said` of each API names texts and calls, and `account` is the one place that says what is odd.
//! `respell` stands before them where what is odd in its spelling alone may pass.
//! `answer` is one that is there as a whole, `calls` changes one that somebody decides about, and `event` is an event of a
//! stream that is written. An API is a module of `apis`.

mod account;
mod answer;
mod apis;
mod beside;
mod calls;
mod event;
mod hearing;
mod json;
mod limits;
mod lines;
mod live;
mod reader;
mod reading;
mod reply;
mod respell;
mod said;
mod text;
mod told;

pub use leafgate_api::Api;

pub use account::{Account, Heard};
pub use answer::{Answer, RunKind, TextRun};
pub use apis::{answer_events, write_answer};
pub use calls::{CallError, Gathered, Gathering, Holding};
pub use event::StreamEvent;
pub use hearing::{Hearing, StreamStep};
pub use limits::{AnswerError, AnswerLimits};
pub use lines::{Field, Lines, Piece, field, with_data};
pub use live::{LIVE_SIGNATURE, LiveAnswer};
pub use reader::Reader;
pub use reading::parse;
pub use reply::{Call, CallKind, Delta, Failure, Finish, Head, Reply, Summary, Usage};
pub use respell::{Respelling, respelled};
pub use said::{Arguments, CallSaid, Called, Form, Position, Said, TextKind, TextPlace, Tool};
pub use text::AnswerText;
