//! What a call through the sandbox costs, beside the same matcher called natively.
//!
//! Build the plugin first:
//! `cargo build --profile plugin --target wasm32-unknown-unknown -p redact-names`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use leafgate_contract::{
    DetectLeaf, LeafKind, Plugin, PluginLoader as _, PluginSource, Role, Spent, ValueType,
};
use leafgate_wasm::{LoaderConfig, WasmLoader};
use wasmtime::component::{Component, Linker};
use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig, Store};

const CONFIG: &str = r#"{"names": ["Ada Lovelace", "Charles Babbage", "Grace Hopper"]}"#;
const SENTENCE: &str = "The notes that Ada Lovelace wrote are longer than the text. ";

static LOADER: LazyLock<WasmLoader> =
    LazyLock::new(|| WasmLoader::new(LoaderConfig::default()).expect("an engine"));

static PLUGIN: LazyLock<Arc<dyn Plugin>> = LazyLock::new(|| load(file(), CONFIG));

fn file() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let file = "wasm32-unknown-unknown/plugin/redact_names.wasm";
    let built = [root.join("plugins").join(file), root.join(file)];
    built.iter().find(|path| path.exists()).unwrap_or(&built[0]).clone()
}

fn load(file: PathBuf, config: &str) -> Arc<dyn Plugin> {
    let plugin = LOADER.load(&PluginSource::new("bench", file, config));
    plugin.expect("redact-names is built and loads")
}

fn component() -> Vec<u8> {
    let module = std::fs::read(file()).expect("redact-names is built");
    let encoder = wit_component::ComponentEncoder::default();
    let mut encoder = encoder.module(&module).expect("a typed module");
    encoder.encode().expect("a component")
}

/// Loads it as a component, which is configured for each call.
fn load_for_each_call(config: &str) -> Arc<dyn Plugin> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), component()).expect("it is written");
    load(file.path().to_owned(), config)
}

/// A configuration of a thousand names.
fn thousand() -> String {
    let letter = |number: usize| char::from(b'a' + (number % 26) as u8);
    let name = |number: usize| {
        let (a, b, c) = (letter(number), letter(number / 26), letter(number / 7));
        format!("\"{a}{b}{c}on {c}{a}{b}er\"")
    };
    format!(r#"{{"names": [{}]}}"#, (0..1000).map(name).collect::<Vec<_>>().join(", "))
}

fn leaf(text: &str) -> DetectLeaf<'_> {
    let (kind, value, role) = (LeafKind::Text, ValueType::Text, Role::User);
    DetectLeaf { kind, value, role, tool: None, key: "content", text }
}

fn main() {
    divan::main();
}

/// Canary and all, with the code compiled before: what a reload costs for a plugin that did not
/// change.
#[divan::bench]
fn reload(bencher: Bencher<'_, '_>) {
    LazyLock::force(&PLUGIN);
    bencher.bench(|| load(file(), CONFIG));
}

/// A fresh instance of the same module in the same kind of pool, and nothing else: what a call is
/// measured by.
#[divan::bench]
fn bare_instance(bencher: Bencher<'_, '_>) {
    let mut pools = PoolingAllocationConfig::new();
    pools.max_memory_size(64 << 20).linear_memory_keep_resident(2 << 20).pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config.epoch_interruption(true).allocation_strategy(pools);
    let engine = Engine::new(&config).expect("an engine");
    let component = Component::new(&engine, component()).expect("it compiles");
    let instance = Linker::<()>::new(&engine).instantiate_pre(&component).expect("it imports nothing");
    bencher.bench(|| {
        let mut store = Store::new(&engine, ());
        store.set_epoch_deadline(1);
        instance.instantiate(&mut store).map(drop)
    });
}

/// The call itself has nothing to do.
#[divan::bench]
fn no_text(bencher: Bencher<'_, '_>) {
    bencher.bench(|| PLUGIN.detect(&[leaf("")], &Spent::default()));
}

#[divan::bench]
fn one_leaf(bencher: Bencher<'_, '_>) {
    bencher.bench(|| PLUGIN.detect(&[leaf(SENTENCE)], &Spent::default()));
}

/// The same where the instance is configured for the call.
#[divan::bench]
fn one_leaf_configured_each_call(bencher: Bencher<'_, '_>) {
    let plugin = load_for_each_call(CONFIG);
    bencher.bench(|| plugin.detect(&[leaf(SENTENCE)], &Spent::default()));
}

#[divan::bench]
fn one_leaf_of_thousand_names(bencher: Bencher<'_, '_>) {
    let plugin = load(file(), &thousand());
    bencher.bench(|| plugin.detect(&[leaf(SENTENCE)], &Spent::default()));
}

#[divan::bench]
fn one_leaf_of_thousand_names_configured_each_call(bencher: Bencher<'_, '_>) {
    let plugin = load_for_each_call(&thousand());
    bencher.bench(|| plugin.detect(&[leaf(SENTENCE)], &Spent::default()));
}

/// A detector with nothing to do, many times over.
#[divan::bench]
fn leaves_2000_of_nothing(bencher: Bencher<'_, '_>) {
    let leaves = vec![leaf("-"); 2000];
    bencher.counter(ItemsCount::new(leaves.len())).bench(|| PLUGIN.detect(&leaves, &Spent::default()));
}

#[divan::bench]
fn leaves_512(bencher: Bencher<'_, '_>) {
    let leaves = vec![leaf(SENTENCE); 512];
    bencher.counter(ItemsCount::new(leaves.len())).bench(|| PLUGIN.detect(&leaves, &Spent::default()));
}

#[divan::bench]
fn kib_256(bencher: Bencher<'_, '_>) {
    let text = SENTENCE.repeat((256 << 10) / SENTENCE.len());
    bencher
        .counter(BytesCount::of_str(text.as_str()))
        .bench(|| PLUGIN.detect(&[leaf(&text)], &Spent::default()));
}

/// The plugin's own function, compiled for this machine: the ratio to the benchmarks above is the
/// price of the sandbox.
mod native {
    use super::*;

    static INDEX: LazyLock<redact_names::NameIndex> = LazyLock::new(|| {
        redact_names::NameIndex::of(&["Ada Lovelace", "Charles Babbage", "Grace Hopper"])
            .expect("whole names")
    });

    #[divan::bench]
    fn leaves_512(bencher: Bencher<'_, '_>) {
        let count = || (0..512).map(|_| INDEX.find(divan::black_box(SENTENCE)).count()).sum::<usize>();
        bencher.counter(ItemsCount::new(512_usize)).bench(count);
    }

    #[divan::bench]
    fn kib_256(bencher: Bencher<'_, '_>) {
        let text = SENTENCE.repeat((256 << 10) / SENTENCE.len());
        bencher.counter(BytesCount::of_str(text.as_str())).bench(|| INDEX.find(&text).count());
    }
}
