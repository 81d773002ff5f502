//! Calls of a running gate over its admin API: [`AdminClient`] makes calls, [`listen`] receives
//! events.
//!
//! Both speak plain HTTP/1.1 to a loopback address and nothing else, so the token never leaves this
//! machine. Calls block. Each has a connection of its own: a person decides in seconds, and an idle
//! connection could be lost meanwhile.

mod client;
mod events;
mod http;

pub(crate) use client::{AdminClient, caller};
pub(crate) use events::{EventResult, listen};
