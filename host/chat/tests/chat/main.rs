//! Conversions over recordings and over whatever else may be in a file.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod exports;
mod inputs;
mod properties;
mod redacting;
mod support;
mod upstream;
mod wires;
