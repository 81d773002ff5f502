//! A running gate, asked over its admin API: [`AdminClient`] makes calls, [`listen`] hears what happens.
//!
//! Both speak plain HTTP/1.1 to a loopback address and nothing else, so the token never leaves this machine. Calls block; each has a
//! connection of its own, because a person decides in seconds and a connection that sits idle meanwhile would only be one more thing to
//! lose.

mod client;
mod events;
mod http;

pub(crate) use client::AdminClient;
pub(crate) use events::{Told, listen};
