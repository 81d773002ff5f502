//! Loads, checks, limits and runs WebAssembly plugins.
//!
//! [`WasmLoader`] implements `leafgate_policy::plugin::PluginLoader`. A file passes a gate before it is compiled (`gate`), answers two
//! calls before it is used (`loader`), and then runs in a fresh instance for each call (`instance`, `plugin`), whose answer is checked
//! item by item (`answer`).
//!
//! Invariants, each held by one module:
//! - A plugin reaches `leafgate:plugin/host` and nothing else: no clock, no random numbers, no files, no network (`gate`, `runtime`).
//! - Every entry into guest code has a deadline, a memory budget, a stack limit and a bound on what its answer costs (`instance`).
//! - A fault is one call's: the instance is gone, its answer with it, and the next call starts afresh (`instance`).
//! - The same call gives the same answer on every machine (`runtime`).
//!
//! This crate knows no rules and no JSON, and it decides nothing: what a fault does to a request is the policy's business. Compiling is
//! bounded only by the size of the file; load plugins where a few seconds are no harm.
#![forbid(unsafe_code)]

mod anatomy;
mod answer;
mod bindings;
mod clock;
mod gate;
mod inspect;
mod instance;
mod limits;
mod loader;
mod plugin;
mod refusal;
mod runtime;
mod store;

pub use anatomy::Layer;
pub use inspect::Inspection;
pub use limits::Limits;
pub use loader::{LoaderConfig, WasmLoader};
pub use runtime::{EngineError, LogLevel, LogSink};
