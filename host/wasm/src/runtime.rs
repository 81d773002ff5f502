//! The one engine that all plugins of a loader share: how it compiles, where instances live, what
//! they may call.
//!
//! No WASI, no async, no threads. Whatever WebAssembly leaves to the implementation is fixed (NaN
//! bits, relaxed SIMD), because the same request must leave as the same bytes on every machine.

use std::sync::Arc;

use leafgate_admission::Contract;
use leafgate_contract::PluginLimits;
use wasmtime::component::Linker;
use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig, StoreContextMut};

use crate::bindings::{self, host};
use crate::cache::CodeCache;
use crate::clock::Clock;
use crate::compile::Compiler;
use crate::limits::LoaderLimits;
use crate::store::{CallState, LogSink};

/// How a loader is set up.
#[derive(Clone, Default)]
pub struct LoaderConfig {
    /// The limits of every plugin.
    pub limits: LoaderLimits,
    /// Takes plugins' log messages. Without it they are dropped: they may quote leaf text, so only
    /// an author's own runs have one.
    pub log: Option<LogSink>,
    /// The place where plugins are compiled.
    pub compiler: Compiler,
    /// Where their code is kept from start to start; without it, each start compiles.
    pub cache: Option<Arc<CodeCache>>,
    /// Whether plugins that fail on many texts are asked no more for a while. A gate wants that;
    /// whoever tries a plugin out wants to see each fault.
    pub quarantine: bool,
}

/// A loader that cannot run plugins on this machine.
#[derive(Debug, thiserror::Error)]
#[error("the WebAssembly engine cannot start: {0}")]
pub struct EngineError(String);

/// Everything that outlives single plugins.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<CallState>,
    pub(crate) clock: Clock,
    pub(crate) contract: Contract,
    pub(crate) compiler: Compiler,
    pub(crate) cache: Option<Arc<CodeCache>>,
    pub(crate) limits: LoaderLimits,
    pub(crate) log: Option<LogSink>,
}

impl Runtime {
    pub(crate) fn new(config: LoaderConfig, contract: Contract) -> Result<Self, EngineError> {
        let LoaderConfig { limits, log, compiler, cache, .. } = config;
        let engine = engine(&limits).map_err(|error| EngineError(format!("{error:#}")))?;
        let linker = linker(&engine, contract).map_err(|error| EngineError(format!("{error:#}")))?;
        let clock = Clock::start(engine.clone(), limits.concurrent_calls)
            .map_err(|error| EngineError(error.to_string()))?;
        Ok(Runtime { engine, linker, clock, contract, compiler, cache, limits, log })
    }
}

/// Pools are faster, but reserve address space that a container may not have; without them
/// everything works the same.
pub(crate) fn engine(limits: &LoaderLimits) -> wasmtime::Result<Engine> {
    let mut config = config(limits);
    config.allocation_strategy(pools(limits));
    Engine::new(&config).or_else(|error| {
        tracing::warn!(error = %format_args!("{error:#}"), "no pools for plugin instances; each is allocated on demand");
        Engine::new(&self::config(limits))
    })
}

fn config(limits: &LoaderLimits) -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(limits.stack_bytes)
        .concurrency_support(false)
        .wasm_memory64(false)
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        // Frames of a plugin mean nothing to the operator, and collecting them makes a trap slow.
        .wasm_backtrace_max_frames(None);
    config
}

/// Room for as many calls as may run at once. A component of many modules takes many instances, but
/// hardly ever two memories.
fn pools(limits: &LoaderLimits) -> PoolingAllocationConfig {
    const INSTANCES: u32 = 48;
    const MEMORIES: u32 = 4;
    const TABLES: u32 = 16;
    // Pages that a call has written are overwritten with what they held rather than unmapped, so
    // that the next call need not fault them in: a batch of leaves, and what a small plugin needs
    // beside them.
    const RESIDENT: usize = 2 << 20;
    let calls = u32::try_from(limits.concurrent_calls.max(1)).unwrap_or(u32::MAX);
    let mut pools = PoolingAllocationConfig::new();
    pools
        .total_component_instances(calls)
        .max_core_instances_per_component(INSTANCES)
        .total_core_instances(calls.saturating_mul(INSTANCES))
        .max_memories_per_component(MEMORIES)
        .total_memories(calls.saturating_mul(MEMORIES))
        // What any plugin may be given; an address range that is not used costs nothing.
        .max_memory_size(limits.memory_bytes.max(PluginLimits::MOST_MEMORY))
        .max_tables_per_component(TABLES)
        .total_tables(calls.saturating_mul(TABLES))
        .table_elements(limits.table_elements);
    // Where the kernel does not say which pages those are, all would have to be written.
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pools
            .pagemap_scan(Enabled::Yes)
            .linear_memory_keep_resident(RESIDENT)
            .table_keep_resident(limits.table_elements.saturating_mul(size_of::<usize>()));
    }
    pools
}

/// Offers `host` under the name that each version of the contract gives it. `types` holds nothing
/// to call; a component that names it imports it all the same.
fn linker(engine: &Engine, contract: Contract) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    for version in contract.versions() {
        linker.instance(&version.interface("types"))?;
        let mut offered = linker.instance(&version.interface("host"))?;
        offered.func_wrap(
            "log",
            |mut store: StoreContextMut<'_, CallState>, (level, message): (host::Level, String)| {
                store.data_mut().log(bindings::log_level(level), &message);
                Ok(())
            },
        )?;
    }
    Ok(linker)
}
