//! Plugins for tests and the demo: the bundled ones, built as an operator builds them, and hostile ones, assembled from text.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, Result, ensure};
use wit_component::StringEncoding;
use wit_parser::Resolve;

use crate::gate::cargo;
use crate::paths;

/// The packages of the bundled plugins; their files are called the same.
pub const BUNDLED: [&str; 8] = [
    "redact-names",
    "rewrite-home-paths",
    "trim-tool-results",
    "normalise-timestamps",
    "shorten-json",
    "strip-ansi",
    "company-terms",
    "detect-injection",
];

/// Those of them that the policy of the demo names.
pub const IN_DEMO: [&str; 3] = ["redact-names", "rewrite-home-paths", "trim-tool-results"];

/// The target that plugins are built for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Builds plugins of this repository and returns the folder of their files.
///
/// # Errors
/// When they do not build, for example because the target is not installed.
pub fn build(packages: &[&str]) -> Result<PathBuf> {
    // A target folder of its own: that of a running `cargo test` may be locked.
    let folder = paths::target().join("plugins");
    let mut command = cargo();
    command.args(["build", "--profile", "plugin", "--target", TARGET, "--target-dir"]).arg(&folder);
    for package in packages {
        command.args(["--package", package]);
    }
    // Flags for the tests, coverage or sanitizers, are not for plugins.
    command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    let status = command.status().context("cargo cannot be run")?;
    ensure!(
        status.success(),
        "the bundled plugins do not build; `rustup target add {TARGET}` adds what they need"
    );
    Ok(folder.join(TARGET).join("plugin"))
}

/// Builds the plugins that the policy of the demo names and puts them into `policy/plugins/` under their own names.
///
/// # Errors
/// When they do not build or cannot be copied.
pub fn install(policy: &Path) -> Result<()> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| build(&IN_DEMO).map_err(|error| format!("{error:#}")));
    let built = built.as_ref().map_err(|error| anyhow::Error::msg(error.clone()))?;
    let folder = policy.join("plugins");
    std::fs::create_dir_all(&folder)?;
    for name in IN_DEMO {
        let built = built.join(format!("{}.wasm", name.replace('-', "_")));
        // A rename is one step: another process that loads the policy meanwhile finds the old file or the new one, never half of it.
        let half = folder.join(format!(".{name}.{}.{:?}", std::process::id(), std::thread::current().id()));
        std::fs::copy(&built, &half)
            .and_then(|_| std::fs::rename(&half, folder.join(format!("{name}.wasm"))))
            .with_context(|| format!("cannot copy {} to {}", built.display(), folder.display()))?;
    }
    Ok(())
}

/// Assembles `examples/hostile-plugins/<name>.wat` to a file that the loader accepts.
///
/// The texts are core modules, short because they leave their types out; the types of the world they name in their first line are
/// added here, exactly as a compiler with `wit-bindgen` adds them.
///
/// # Errors
/// When there is no such text, or it does not assemble.
pub fn hostile(name: &str, to: &Path) -> Result<()> {
    let path = paths::example("hostile-plugins").join(format!("{name}.wat"));
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let world = text
        .lines()
        .find_map(|line| line.strip_prefix(";; world: "))
        .context("the text names no `;; world:`")?
        .trim();
    std::fs::write(to, assemble(&text, world)?).with_context(|| format!("cannot write {}", to.display()))
}

/// Writes a detector of a few ten kilobytes that keeps the compiler busy for minutes: loops inside loops, and at each loop as many
/// variables as there are loops.
///
/// # Errors
/// When it does not assemble or cannot be written.
pub fn slow_to_compile(to: &Path) -> Result<()> {
    const LOOPS: usize = 3000;
    let traps = std::fs::read_to_string(paths::example("hostile-plugins").join("traps.wat"))?;
    let end = traps.rfind(')').context("the text is empty")?;
    let next = |place: usize| (place + 1) % LOOPS;
    let sets: String =
        (0..LOOPS).map(|place| format!("local.get {} local.set {place} ", next(place))).collect();
    let jumps: String = (0..LOOPS).map(|place| format!("local.get {place} br_if {place} ")).collect();
    let heavy = format!(
        "(func (local {}) {} {sets} {jumps} {})",
        "i32 ".repeat(LOOPS),
        "loop ".repeat(LOOPS),
        "end ".repeat(LOOPS)
    );
    std::fs::write(to, assemble(&format!("{}{heavy})", &traps[..end]), "detector")?)
        .with_context(|| format!("cannot write {}", to.display()))
}

fn assemble(text: &str, world: &str) -> Result<Vec<u8>> {
    let mut module = wat::parse_str(text).context("the text is not WebAssembly")?;
    let mut contract = Resolve::default();
    let (package, _) =
        contract.push_dir(paths::root().join("wit")).context("wit/plugin.wit cannot be read")?;
    let world = contract.select_world(&[package], Some(world))?;
    wit_component::embed_component_metadata(&mut module, &contract, world, StringEncoding::UTF8)?;
    Ok(module)
}
