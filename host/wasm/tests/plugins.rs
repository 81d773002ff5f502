//! The bundled plugins, built as an operator builds them and run through the loader.

mod support;

use leafgate_policy::plugin::World;
use leafgate_wasm::{LoaderConfig, WasmLoader};
use support::bundled::bundled;
use support::{load, text};

#[test]
fn redact_names_finds_a_configured_name() {
    let loader = WasmLoader::new(LoaderConfig::default()).unwrap();
    let plugin = load(&loader, &bundled("redact-names"), r#"{"names": ["Ada Lovelace"]}"#).unwrap();
    assert_eq!(plugin.world(), World::Detector);
    let findings = plugin.detect(&[text("nothing"), text("by Ada Lovelace")]).unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].leaf, findings[0].at.clone()), (1, 3..15));
}
