//! Loads, checks, limits and runs WebAssembly plugins.
//!
//! [`WasmLoader`] implements `leafgate_contract::PluginLoader`. A file must be admitted
//! before it is compiled (`leafgate-admission`), answers two calls before it is used (`loader`), and
//! then runs in a fresh instance for each call (`instance`, `plugin`), which starts configured
//! (`snapshot`).
//!
//! Invariants, each held by one module:
//! - A plugin reaches `leafgate:plugin/host` and nothing else: no clock, no random numbers, no
//!   files, no network (`leafgate-admission`, `runtime`).
//! - Every entry into guest code has a deadline, a memory budget, a stack limit and a bound on what
//!   its answer costs (`instance`).
//! - All calls for one request together stay within a budget, however many batches its leaves make
//!   (`budget`).
//! - A fault is one call's: the instance is gone, its answer with it, and the next call starts
//!   afresh (`instance`). A plugin that fails on many different texts is in quarantine, and asked no
//!   more for a while (`ward`); whose text it was is found by asking again (`blame`).
//! - The same call gives the same answer on every machine (`runtime`).
//!
//! - A file of JavaScript is a plugin too: what runs it is a component under the same limits
//!   (`script`).
//! - Compiling ends: it has a process of its own, which is killed when its time is over
//!   (`compile`). What it made is kept on disk, and taken from there only if nobody changed it
//!   (`cache`).
//!
//! This crate knows no rules and no JSON, and it decides nothing: what a fault does to a request is
//! the policy's business. A plugin of many megabytes compiles for many seconds; load plugins where
//! that is no harm.
//!
//! Tests of plugins ask each one twice, started configured and configured for each call, and compare.

mod answer;
mod aside;
mod bindings;
mod blame;
mod budget;
mod cache;
mod clock;
mod compile;
mod engine;
#[cfg(test)]
#[path = "../tests/wasm/support/guest.rs"]
#[allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "shared with the tests of this crate")]
mod guest;
mod inspect;
mod instance;
mod limits;
mod loader;
mod plugin;
mod refusal;
mod runtime;
mod script;
mod slots;
mod snapshot;
mod store;
mod ward;

pub use leafgate_admission::{Signatures, SigningKey};

pub use cache::{CacheError, CodeCache};
pub use compile::{CompileTime, Compiler, compile_worker};
pub use inspect::Inspection;
pub use limits::LoaderLimits;
pub use loader::WasmLoader;
pub use runtime::{EngineError, LoaderConfig};
pub use store::{LogLevel, LogSink};
