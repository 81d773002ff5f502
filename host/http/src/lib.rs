//! HTTP as a gate speaks it, whatever it is asked: listeners and connections, bodies within bounds, codings, headers, and refusals as
//! values.
//!
//! It knows no policy, no API and no person who decides. A [`Refusal`] says what was wrong; in whose words a client reads it,
//! who serves an API decides. No header value and no text of a body is logged, or stands in an error.

pub mod body;
mod budget;
pub mod coding;
mod connections;
pub mod content;
pub mod guard;
pub mod headers;
pub mod in_place;
mod listener;
pub mod media;
mod refusal;
pub mod server;
mod stall;
mod throttle;

pub use body::BodyBounds;
pub use budget::{AnswerWeight, BodyBudget, Reservation};
pub use coding::{Coding, CodingCaps, DecodedBody};
pub use content::{Content, ContentError};
pub use in_place::INLINE_BODY;
pub use listener::{AddressError, BindError, Listener, listen_address};
pub use media::{AnswerForm, MediaType};
pub use refusal::{Code, Manner, Refusal};
pub use server::Timeouts;
