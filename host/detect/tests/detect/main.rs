//! What detection promises of any text, of recorded requests, and of public projects' labelled rows: recall, precision and masking there
//! have floors a little under what is reached.
//!
//! The rows stand outside this repository (`LEAFGATE_CORPORA`, or `../shared/corpora` beside it). Labels are read as their authors
//! mean them: near-miss negatives apart from benign ones, negatives that several engines flag left out.

// Helpers of tests are tests: a panic is their report.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod altered;
mod fixtures;
mod forms;
mod invariants;
mod pii;
mod rows;
mod secrets;
mod sources;
mod spellings;
mod views;
