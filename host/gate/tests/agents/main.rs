//! Teams of agents behind the gate, over sockets, before a model that is scripted by the name of the agent.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![allow(dead_code, reason = "each suite uses a part of what they share")]

mod bounds;
mod counts;
mod live;
mod scenarios;
mod secrets;
mod stage;
#[path = "../passage/support.rs"]
mod support;
