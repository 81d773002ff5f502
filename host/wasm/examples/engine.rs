//! Makes `plugins/javascript/engine.wasm` of the module that its sources compile to, and writes down
//! what it was made of: `cargo xtask javascript` runs it.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use leafgate_wasm::{LoaderConfig, LoaderLimits, WasmLoader};
use sha2::{Digest as _, Sha256};

/// What decides how the engine behaves, beside itself.
const SOURCES: [&str; 8] = [
    "Cargo.lock",
    "Cargo.toml",
    "src/bridge.rs",
    "src/engine.rs",
    "src/lib.rs",
    "src/place.rs",
    "src/prelude.js",
    "../../wit/plugin.wit",
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        return Err("name the module, and the folder of the engine".into());
    };
    let folder = Path::new(folder);
    // Starting up takes as long as it takes, on whatever machine builds it.
    let limits = LoaderLimits { start_deadline: Duration::from_secs(60), ..LoaderLimits::default() };
    let loader = WasmLoader::new(LoaderConfig { limits, ..LoaderConfig::default() })?;
    fs::write(folder.join("engine.wasm"), loader.started_engine(fs::read(module)?)?)?;
    let mut digests = String::new();
    for file in ["engine.wasm"].iter().chain(&SOURCES) {
        let digest = Sha256::digest(fs::read(folder.join(file))?);
        writeln!(digests, "{}  {file}", base16ct::lower::encode_string(&digest))?;
    }
    fs::write(folder.join("engine.sha256"), digests)?;
    Ok(())
}
