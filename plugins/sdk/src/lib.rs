//! Write Leafgate plugins in Rust: one function, tested natively, built for
//! `wasm32-unknown-unknown`.
//!
//! A **detector** says where in a leaf something is that must not be sent; the host puts the
//! placeholder in:
//!
//! ```
//! use leafgate_plugin::detect::*;
//!
//! #[leafgate_plugin::config]
//! struct Config {
//!     /// The names, as people write them.
//!     names: Vec<String>,
//! }
//!
//! /// Finds the names of projects.
//! #[leafgate_plugin::detector(labels = ["PROJECT"])]
//! fn project_names(config: &Config, leaf: &Leaf) -> Vec<Finding> {
//!     let found = config.names.iter().flat_map(|name| leaf.text.match_indices(name.as_str()));
//!     found.map(|(start, name)| leaf.finding(start..start + name.len())).collect()
//! }
//!
//! // In a test: plain Rust, no sandbox.
//! let config = Config { names: vec!["Zeppelin".into()] };
//! let findings = project_names(&config, &Leaf::with_text("on Zeppelin"));
//! assert_eq!(findings[0].at, (3..11).into());
//! ```
//!
//! A **transformer** sees a request and proposes edits:
//!
//! ```
//! use leafgate_plugin::transform::*;
//!
//! /// Ends every text with a full stop.
//! #[leafgate_plugin::transformer]
//! fn full_stops(request: &Request) -> Vec<Edit> {
//!     let open = request.leaves.iter().filter(|leaf| leaf.kind == LeafKind::Text && !leaf.text.ends_with('.'));
//!     open.map(|leaf| leaf.set(format!("{}.", leaf.text))).collect()
//! }
//! ```
//!
//! The crate is a `cdylib`; add `rlib` so that its tests can link it. Build with
//! `RUSTFLAGS="-C target-feature=+simd128" cargo build --release --target wasm32-unknown-unknown`;
//! the host wraps the module as a component when it loads it. With the vectors of that feature,
//! `memchr` and what is built on it search a text several times as fast.
//!
//! # The shape of the function
//!
//! - The first parameter is `&Config`; leave it out where there is nothing to configure. With
//!   [`config`] on the type (feature `schema`), the plugin describes its configuration by a JSON Schema, documentation
//!   included: `leafgate plugin inspect` shows it, and what does not fit is told by key and line of
//!   the rule file before the plugin is asked. Any type that serde can deserialize will do, too: what
//!   serde rejects then becomes a finding with serde's message.
//! - With `prepare = path`, the first parameter is what `path(config)` made of the configuration,
//!   or failed to make: a compiled pattern, an index. It is built once, when the plugin is loaded,
//!   and every instance starts with it: what takes long belongs there. A reason that begins with a
//!   pointer (`/patterns/3: not a regular expression`) is told at the line of that value.
//! - The result may be a `Result<_, Failure>`. A failure, like a panic, lets the rule's `on_error`
//!   decide.
//! - The first line of the function's documentation is the plugin's summary; name and version are
//!   the package's.
//!
//! There is no clock, no random number, no file and no network in a plugin. The same input must
//! give the same answer.

#[doc(hidden)]
pub mod bindings;
pub mod detect;
mod log;
#[doc(hidden)]
pub mod runtime;
pub mod transform;

pub use leafgate_plugin_macros::{config, detector, transformer};
pub use log::{Level, log};
#[cfg(feature = "schema")]
#[doc(hidden)]
pub use schemars;
#[doc(hidden)]
pub use serde;
