//! What a call through the sandbox costs, beside the same matcher called natively.
//!
//! Build the plugin first:
//! `cargo build --profile plugin --target wasm32-unknown-unknown -p redact-names`.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use leafgate_policy::plugin::{
    DetectLeaf, LeafKind, Plugin, PluginLoader as _, PluginSource, Role, Spent, ValueType,
};
use leafgate_wasm::{LoaderConfig, WasmLoader};

const CONFIG: &str = r#"{"names": ["Ada Lovelace", "Charles Babbage", "Grace Hopper"]}"#;
const SENTENCE: &str = "The notes that Ada Lovelace wrote are longer than the text. ";

static LOADER: LazyLock<WasmLoader> =
    LazyLock::new(|| WasmLoader::new(LoaderConfig::default()).expect("an engine"));

static PLUGIN: LazyLock<Arc<dyn Plugin>> = LazyLock::new(|| load().expect("redact-names is built and loads"));

fn load() -> Result<Arc<dyn Plugin>, leafgate_policy::plugin::LoadError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let file = "wasm32-unknown-unknown/plugin/redact_names.wasm";
    let built = [root.join("plugins").join(file), root.join(file)];
    let path = built.iter().find(|path| path.exists()).unwrap_or(&built[0]).clone();
    LOADER.load(&PluginSource { name: "bench".to_owned(), path, sha256: None, config: CONFIG.to_owned() })
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
    bencher.bench(load);
}

/// Instantiate and configure; the call itself has nothing to do.
#[divan::bench]
fn no_text(bencher: Bencher<'_, '_>) {
    bencher.bench(|| PLUGIN.detect(&[leaf("")], &Spent::default()));
}

#[divan::bench]
fn one_leaf(bencher: Bencher<'_, '_>) {
    bencher.bench(|| PLUGIN.detect(&[leaf(SENTENCE)], &Spent::default()));
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

    static INDEX: LazyLock<redact_names::Index> = LazyLock::new(|| {
        let mut index = redact_names::Index::default();
        for name in ["Ada Lovelace", "Charles Babbage", "Grace Hopper"] {
            index.add(name).expect("a whole name");
        }
        index
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
