//! `configure` is called once, and an instance starts as it was left.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::guest::{self, Guest, finding};
use crate::support::{load_bytes, text};
use leafgate_contract::{Plugin, Spent};
use leafgate_wasm::{LoaderConfig, LoaderLimits, WasmLoader};

const LOG: &str = r#"(import "leafgate:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32)))"#;
const SAY: &str = "(call $log (i32.const 1) (i32.const 16) (i32.const 6))";
/// `result<_, list<string>>` without an error.
const ACCEPTED: &str = "(i32.store (i32.const 1024) (i32.const 0)) (i32.const 1024)";

/// A loader, and how often a plugin of it has logged.
fn counting() -> (WasmLoader, Arc<AtomicUsize>) {
    let said = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&said);
    let log: leafgate_wasm::LogSink = Arc::new(move |_, _, _| _ = count.fetch_add(1, Ordering::Relaxed));
    let config = LoaderConfig { log: Some(log), ..LoaderConfig::default() };
    (WasmLoader::new(config).unwrap(), said)
}

fn ends(plugin: &dyn Plugin) -> Vec<usize> {
    let findings = plugin.detect(&[text("some text")], &Spent::default()).unwrap().into_vec();
    findings.iter().map(|finding| finding.at.end).collect()
}

/// A detector whose `configure` logs, and leaves the length of the configuration in memory and in a
/// global. What it finds ends there, one further for each call that it has had before.
fn remembering() -> Guest {
    let last = format!(
        "(global.set $length (i32.add (global.get $length) (i32.const 1)))
         (i32.store (i32.const 2048) (i32.add (i32.load (i32.const 2048)) (i32.const 1)))
         {}",
        finding(0, 0, 0, 0)
    );
    let end =
        "(i32.store (i32.const 1096) (i32.sub (i32.add (global.get $length) (i32.load (i32.const 2048)))
         (i32.const 3)))";
    let call = last.replacen("(i32.store (i32.const 1024)", &format!("{end} (i32.store (i32.const 1024)"), 1);
    Guest::detector()
        .with(format!("{LOG} (global $length (mut i32) (i32.const 0))"))
        .configure(format!(
            "{SAY} (global.set $length (local.get $length)) (i32.store (i32.const 2048) (local.get $length)) {ACCEPTED}"
        ))
        .call(call)
}

#[test]
fn configure_is_called_once_on_load_and_never_for_a_call() {
    let module = Guest::detector().with(LOG).configure(format!("{SAY} {ACCEPTED}")).module();
    let (loader, said) = counting();
    let plugin = load_bytes(&loader, &module, "{}").unwrap();
    for _ in 0..3 {
        ends(&*plugin);
    }
    assert_eq!(said.load(Ordering::Relaxed), 1);
}

#[test]
fn what_configure_left_is_there_and_what_a_call_left_is_not() {
    // A component is configured for each call.
    for bytes in [remembering().module(), remembering().component()] {
        let (loader, _) = counting();
        // Two and three bytes of configuration, each in a memory of its own.
        let plugins = ["{}", "{ }"].map(|config| load_bytes(&loader, &bytes, config).unwrap());
        for _ in 0..3 {
            assert_eq!(ends(&*plugins[0]), [3]);
            assert_eq!(ends(&*plugins[1]), [5]);
        }
    }
}

#[test]
fn a_reload_of_the_same_file_and_configuration_configures_nothing() {
    let (loader, said) = counting();
    let load = |config| load_bytes(&loader, &remembering().module(), config).unwrap();
    let first = load("{}");
    let again = load("{}");
    assert_eq!(said.load(Ordering::Relaxed), 1);
    let other = load("{ }");
    assert_eq!(said.load(Ordering::Relaxed), 2);
    assert_eq!((ends(&*first), ends(&*again), ends(&*other)), (vec![3], vec![3], vec![5]));
}

#[test]
fn what_cannot_be_kept_is_configured_for_each_call() {
    let changing = Guest::detector()
        .with(format!("{LOG} (table $t 1 funcref)"))
        .configure(format!("(table.set $t (i32.const 0) (ref.null func)) {SAY} {ACCEPTED}"));
    let logging = Guest::detector().with(LOG).configure(format!("{SAY} {ACCEPTED}"));
    // A memory without room for the page in which the state is told.
    let full = Guest::detector().memory("1 1").with(LOG).configure(format!("{SAY} {ACCEPTED}"));
    for bytes in [changing.module(), logging.component(), full.module()] {
        let (loader, said) = counting();
        let plugin = load_bytes(&loader, &bytes, "{}").unwrap();
        ends(&*plugin);
        ends(&*plugin);
        assert_eq!(said.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn a_configuration_too_large_to_keep_is_made_for_each_call() {
    let grown = Guest::detector().with(LOG).configure(format!(
        "(local $at i32)
         (drop (memory.grow (i32.const 3)))
         (local.set $at (i32.const 65536))
         (loop $next
            (i32.store (local.get $at) (i32.const -1))
            (local.set $at (i32.add (local.get $at) (i32.const 4096)))
            (br_if $next (i32.lt_u (local.get $at) (i32.const 262144))))
         {SAY} {ACCEPTED}"
    ));
    let said = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&said);
    let log: leafgate_wasm::LogSink = Arc::new(move |_, _, _| _ = count.fetch_add(1, Ordering::Relaxed));
    let limits = LoaderLimits { file_bytes: 100 << 10, ..LoaderLimits::default() };
    let loader = WasmLoader::new(LoaderConfig { limits, log: Some(log), ..LoaderConfig::default() }).unwrap();
    let plugin = load_bytes(&loader, &grown.call(guest::findings(0)).module(), "{}").unwrap();
    assert!(ends(&*plugin).is_empty());
    assert_eq!(said.load(Ordering::Relaxed), 2);
}
