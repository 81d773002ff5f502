//! Recall, precision and masking over public projects' labelled rows, with floors a little under what is reached.
//!
//! The rows stand outside this repository (`LEAFGATE_CORPORA`, or `../shared/corpora` beside it). Labels are read as their authors
//! mean them: near-miss negatives apart from benign ones, negatives that several engines flag left out.

// Helpers of tests are tests: a panic is their report.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod altered;
mod forms;
mod pii;
mod rows;
mod secrets;
mod sources;
mod views;
