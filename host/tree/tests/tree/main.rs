//! The tree over recordings and made-up bodies: what is a leaf, where it stands, and that nothing but edits changes a byte.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod bad_bodies;
mod blocks;
mod common;
mod counts;
mod exports;
mod gemini;
mod insert;
mod invariants;
mod kinds;
mod options;
mod redactors;
mod release;
mod replay;
mod sections;
mod shapes;
mod validate;
mod whole;
