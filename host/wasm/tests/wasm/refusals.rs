//! Every reason for which a plugin is not loaded, as its author or operator reads it.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use crate::support::guest::{Guest, configuration_error};
use crate::support::patient_loader;
use leafgate_contract::{LoadError, PluginLoader as _, PluginSource, Signer};
use leafgate_wasm::{LoaderConfig, LoaderLimits, Signatures, SigningKey, WasmLoader};
use sha2::{Digest as _, Sha256};

/// Small, so that what meets them stays small.
fn loader() -> WasmLoader {
    let limits = LoaderLimits {
        file_bytes: 64 << 10,
        start_deadline: Duration::from_millis(200),
        memory_bytes: 1 << 20,
        ..LoaderLimits::default()
    };
    WasmLoader::new(LoaderConfig { limits, ..LoaderConfig::default() }).unwrap()
}

/// The refusals so far.
struct Refusals {
    loader: WasmLoader,
    folder: tempfile::TempDir,
    told: String,
}

impl Refusals {
    fn new() -> Self {
        Refusals { loader: loader(), folder: tempfile::tempdir().unwrap(), told: String::new() }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("tested.wasm")
    }

    fn load(&self, path: &Path, change: impl FnOnce(PluginSource) -> PluginSource) -> Result<(), LoadError> {
        let source = PluginSource::new("tested", path.to_owned(), "{}");
        self.loader.load(&change(source)).map(drop)
    }

    fn refused(&mut self, what: &str, bytes: &[u8]) {
        fs::write(self.path(), bytes).unwrap();
        let refused = self.load(&self.path(), |source| source);
        self.tell(what, refused);
    }

    fn tell(&mut self, what: &str, refused: Result<(), LoadError>) {
        let error = refused.expect_err(what);
        let folder = self.folder.path().to_string_lossy().into_owned();
        let mut told = |text: &str| writeln!(self.told, "{}", text.replace(&folder, "FOLDER")).unwrap();
        told(&format!("# {what}"));
        told(&error.message);
        if let Some(hint) = &error.hint {
            told(&format!("  {hint}"));
        }
    }
}

fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

fn importing(module: &str, function: &str) -> Vec<u8> {
    Guest::detector().with(format!(r#"(import "{module}" "{function}" (func))"#)).module()
}

#[test]
fn every_refusal_says_what_is_wrong_and_what_to_do() {
    let mut all = Refusals::new();
    let good = Guest::detector().module();

    let missing = all.load(&all.folder.path().join("none.wasm"), |source| source);
    all.tell("no such file", missing);
    let folder = all.load(all.folder.path(), |source| source);
    all.tell("a folder", folder);
    symlink("/dev/zero", all.folder.path().join("device.wasm")).unwrap();
    let device = all.load(&all.folder.path().join("device.wasm"), |source| source);
    all.tell("a device", device);
    // 200 MiB that take no room: refused before they are read.
    fs::File::create(all.path()).unwrap().set_len(200 << 20).unwrap();
    let large = all.load(&all.path(), |source| source);
    all.tell("200 MiB", large);

    all.refused("text", b"(module)");
    all.refused("nothing", b"");
    all.refused("half of a plugin", &good[..good.len() * 2 / 3]);
    all.refused("a module without types", &Guest::detector().untyped());
    all.refused(
        "a clock of WASI",
        &component(r#"(component (import "wasi:clocks/wall-clock@0.2.3" (instance)))"#),
    );
    all.refused("WASI of a module", &importing("wasi_snapshot_preview1", "fd_write"));
    all.refused("wasm-bindgen", &importing("__wbindgen_placeholder__", "__wbindgen_throw"));
    all.refused("its own host", &importing("env", "now"));
    let many: String = (0..8).map(|n| format!(r#"(import "foreign-{n}" (func))"#)).collect();
    all.refused("many imports", &component(&format!("(component {many})")));
    all.refused("a future contract", &Guest::detector().module_of_version("0.2.0"));
    all.refused("a future major contract", &Guest::detector().module_of_version("7.0.0"));
    all.refused("an old contract", &Guest::detector().module_of_version("0.0.3"));
    all.refused("a contract that was never released", &Guest::detector().module_of_version("0.2.0-rc.1"));
    all.refused("no world", &component("(component)"));
    all.refused("both worlds", &Guest::both_worlds());
    let no_lifecycle =
        r#"(component (instance $none) (export "leafgate:plugin/detect@0.1.0" (instance $none)))"#;
    all.refused("no lifecycle", &component(no_lifecycle));
    let no_functions = r#"(component (instance $none)
        (export "leafgate:plugin/lifecycle@0.1.0" (instance $none)) (export "leafgate:plugin/detect@0.1.0" (instance $none)))"#;
    all.refused("no functions", &component(no_functions));
    all.refused("memory of 64 bits", &Guest::detector().memory("i64 1").module());
    all.refused("memory above its limit from the start", &Guest::detector().memory("200").module());
    all.refused("a trap at the start", &Guest::detector().start("unreachable").module());
    all.refused(
        "a loop in `describe`",
        &Guest::detector().describe("(loop $a (br $a)) unreachable").module(),
    );
    all.refused("a trap in `configure`", &Guest::detector().configure("unreachable").module());
    all.refused("a bad label", &Guest::detector().label("n_me").module());
    all.refused("a bad configuration", &Guest::detector().configure(configuration_error()).module());

    fs::write(all.path(), &good).unwrap();
    let pinned = all.load(&all.path(), |source| PluginSource { sha256: Some([0xab; 32]), ..source });
    all.tell("another file than the pinned one", pinned);

    let (ours, theirs) = (SigningKey::from_seed(&[1; 32]).unwrap(), SigningKey::from_seed(&[2; 32]).unwrap());
    let signers = |keys: &[&SigningKey]| -> Option<std::sync::Arc<[Signer]>> {
        Some(keys.iter().map(|key| key.signer()).collect())
    };
    let signed_by = |all: &Refusals, signatures: &Signatures| {
        fs::write(Signatures::beside(&all.path()), signatures.to_text()).unwrap();
        all.load(&all.path(), |source| PluginSource { signers: signers(&[&ours]), ..source })
    };
    let unsigned = all.load(&all.path(), |source| PluginSource { signers: signers(&[&ours]), ..source });
    all.tell("no signature", unsigned);
    let mut signatures = Signatures::default();
    signatures.sign(&theirs, &Sha256::digest(&good).into());
    let foreign = signed_by(&all, &signatures);
    all.tell("a signature of somebody else", foreign);
    signatures.sign(&ours, &[0; 32]);
    let stale = signed_by(&all, &signatures);
    all.tell("a signature of another file", stale);
    signatures.sign(&ours, &Sha256::digest(&good).into());
    assert!(signed_by(&all, &signatures).is_ok());
    fs::write(Signatures::beside(&all.path()), "not a signature\n").unwrap();
    let bad = all.load(&all.path(), |source| PluginSource { signers: signers(&[&ours]), ..source });
    all.tell("no file of signatures", bad);
    // Without keys nothing is signed by any of them.
    let none = all.load(&all.path(), |source| PluginSource { signers: signers(&[]), ..source });
    assert!(none.is_err());

    // Where digests differ with the tools that assemble the guests, they are not what is told.
    let digest = base16ct::lower::encode_string(&Sha256::digest(&good));
    insta::assert_snapshot!(all.told.replace(&digest, "DIGEST"));
}

/// Whoever writes a plugin chooses its names, its exceptions and what it says of its configuration.
/// None of that begins a line of the operator's log, or fills it.
#[test]
fn what_a_plugin_says_is_told_in_one_short_line() {
    let (loader, folder) = (patient_loader(None), tempfile::tempdir().unwrap());
    let load = |name: &str, source: &str| {
        let path = folder.path().join(name);
        fs::write(&path, source).unwrap();
        loader.load(&PluginSource::new("tested", path, "{}"))
    };
    let thrown = "\"x\\u001b[2J\\nerror: forged \" + \"A\".repeat(100000)";
    let scripts = [
        format!("throw new Error({thrown});"),
        format!(
            "export const labels = ['NAME'];\nexport function detect() {{}}\nexport function configure() {{ throw new Error({thrown}); }}"
        ),
    ];
    for script in scripts {
        let error = load("forged.js", &script).unwrap_err();
        let told = error.config.iter().map(|finding| finding.message.clone()).chain([error.message]);
        for message in told {
            assert!(message.contains(r"x\u{1b}[2J\nerror: forged AAA"), "{message}");
            assert!(message.len() < 1000 && !message.contains(char::is_control), "{message}");
        }
    }
    let source = format!(
        "export const summary = {thrown};\nexport const labels = ['NAME'];\nexport function detect() {{}}\n"
    );
    let plugin = load("described.js", &source).unwrap();
    let summary = &plugin.description().summary;
    assert!(summary.starts_with(r"x\u{1b}[2J\nerror: forged") && summary.len() < 1000, "{summary}");
}
