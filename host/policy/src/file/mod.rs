//! Rule files: what they say ([`raw`]), and what it means ([`compile`]).
//!
//! Two stages, and only the second leaves this folder: everything outside sees
//! [`crate::rule::Rule`]s and loaded plugins. Nothing in a file is ignored silently; what is known
//! but not built yet is refused as such.

mod alone;
mod answers;
pub(crate) mod assemble;
pub(crate) mod compile;
pub(crate) mod detectors;
pub(crate) mod exceptions;
pub(crate) mod flow;
#[cfg(test)]
mod hiding_tests;
pub(crate) mod matches;
mod names;
pub(crate) mod never;
mod notation;
pub(crate) mod options;
pub(crate) mod own;
pub(crate) mod plugins;
pub(crate) mod raw;
#[cfg(test)]
mod reference_tests;
mod replacement;
pub(crate) mod requires;
pub(crate) mod schema;
pub(crate) mod twice;
pub(crate) mod useless;
pub(crate) mod weaken;
