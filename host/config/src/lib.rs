//! Settings of a gate: what can be set, in which words, and where each value comes from.
//!
//! ```text
//! built in < the operator's file < configuration file < file of --config < environment < flags
//! ```
//!
//! Where the operator's file says `enforce = true`, what it says is not changed by the others.
//!
//! [`KEYS`] is the one table of settings. Files, variables of the environment, the schema and what
//! people are shown are all read from it, so a setting cannot be known to one and not to another.
//! What a setting does is not known here: callers ask for values by key.
//!
//! This crate reads no file and no environment itself, and a message quotes no value: a proxy's
//! address may hold a password.

mod enforce;
mod file;
mod keys;
mod resolve;
pub mod schema;
mod value;

pub use file::Layer;
pub use keys::{KEYS, SettingKey, UPSTREAM_KEYS, UPSTREAMS, is_setting, variable};
pub use resolve::{SettingSource, Settings, Shown, UpstreamSettings};
pub use value::{Kind, Value, ValueError};
