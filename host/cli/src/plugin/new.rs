//! `plugin new`: a project to begin with.

use std::path::{Path, PathBuf};

use leafgate_author::project::{Language, NewPlugin};

use super::args::NewArgs;
use crate::print::{Exit, Printer, Style};

pub(super) fn run(args: &NewArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let plugin = NewPlugin::new(&args.name, args.world)?.in_language(args.lang);
    let folder = args.dir.clone().unwrap_or_else(|| PathBuf::from(plugin.name()));
    let written = plugin.create(&folder)?;
    printer.text(Style::Strong, &format!("{} is begun in {}\n", plugin.name(), folder.display()))?;
    for path in written {
        let shown = path.strip_prefix(&folder).unwrap_or(&path);
        printer.line(format!("  {:<20}{}", shown.display(), about(shown)).trim_end())?;
    }
    if args.lang == Language::Rust {
        printer.line(&format!("  {:<20}the SDK", "vendor/leafgate"))?;
    }
    printer.line(&format!("\nNext: leafgate plugin test {}", folder.display()))?;
    Ok(Exit::Done)
}

/// What a file of a new project is for.
fn about(path: &Path) -> &'static str {
    match path.to_str() {
        Some("src/lib.rs" | "plugin.py") => "the plugin",
        Some("test_plugin.py") => "its tests in plain Python",
        Some("requirements.txt") => "what it is built with",
        Some("leafgate.py") => "the SDK",
        Some("wit/plugin.wit") => "the contract",
        Some("cases.toml") => "what it must answer",
        Some("leafgate.d.ts") => "the types, for editors",
        Some(script) if script.ends_with(".js") => "the plugin",
        Some("README.md") => "how to build and load it",
        _ => "",
    }
}
