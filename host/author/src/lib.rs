//! What authors of plugins need beside the SDK: a project to begin with ([`project`]), cases that
//! say what a plugin must answer ([`cases`]), and a request to measure it with ([`sample`]).
//!
//! A plugin is anything that implements `leafgate_contract::Plugin`, so this crate knows no
//! WebAssembly, and its tests need none. It writes the files of a new project and does no other
//! I/O. What a case says is its author's own text: it stands in messages.

pub mod cases;
pub mod project;
pub mod sample;
