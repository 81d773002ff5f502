//! Hostile answers on their way through the gate, and what models of clients find in what left.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod models;
mod rig;
