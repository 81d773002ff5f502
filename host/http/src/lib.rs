//! HTTP as a gate speaks it, whatever it is asked: listeners and connections, bodies within bounds, codings, headers, and refusals as
//! values.
//!
//! It knows no policy, no API and no person who decides. A [`refusal::Refusal`] says what was wrong; in whose words a client reads it,
//! who serves an API decides. No header value and no text of a body is logged, or stands in an error.

pub mod body;
pub mod budget;
pub mod coding;
mod connections;
pub mod content;
pub mod guard;
pub mod headers;
pub mod in_place;
pub mod listener;
pub mod media;
pub mod refusal;
pub mod server;
mod stall;
mod throttle;
