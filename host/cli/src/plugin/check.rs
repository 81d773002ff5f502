//! `plugin check`: loads a plugin as the gate does, and asks it its own cases.

use std::sync::Arc;

use leafgate_contract::{LoadError, Plugin, PluginLoader as _, PluginSource};
use serde::Serialize;

use super::args::CheckArgs;
use super::source::{self, Source};
use super::test;
use crate::exit::Exit;
use crate::policy;
use crate::print::{Printer, Style};

/// The output of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked<'a> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    world: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    cases: usize,
    failed: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

pub(super) fn run(args: &CheckArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let source = Source::find(&args.source.plugin)?;
    let loader = policy::loader()?;
    let sha256 = args.sha256.as_deref().map(digest).transpose()?;
    let loaded = loader.load(&PluginSource { sha256, ..source.declared(&args.config.json()?) });
    let outcomes = match (&loaded, &source.cases) {
        (Ok(_), Some(file)) => test::ask(&source, file, &loader)?,
        _ => vec![],
    };
    let failed = test::failed(&outcomes);
    printer.show(&checked(&loaded, outcomes.len(), failed), |_, printer| {
        print(&loaded, printer)?;
        match source.cases.filter(|_| loaded.is_ok()) {
            Some(file) => test::print(&outcomes, &file, printer),
            None => Ok(()),
        }
    })?;
    Ok(match (loaded.is_ok(), failed) {
        (false, _) => Exit::Bad,
        (true, 0) => Exit::Done,
        (true, _) => Exit::Unmet,
    })
}

fn checked(loaded: &Result<Arc<dyn Plugin>, LoadError>, cases: usize, failed: usize) -> Checked<'_> {
    let (plugin, refused) = (loaded.as_ref().ok(), loaded.as_ref().err());
    Checked {
        ok: refused.is_none() && failed == 0,
        name: plugin.map(|plugin| plugin.description().name.as_str()),
        version: plugin.map(|plugin| plugin.description().version.as_str()),
        world: plugin.map(|plugin| plugin.world().name()),
        sha256: plugin.map(|plugin| base16ct::lower::encode_string(&plugin.digest())),
        cases,
        failed,
        refused: refused.map(|error| error.message.as_str()),
        hint: refused.and_then(source::hint),
    }
}

fn print(loaded: &Result<Arc<dyn Plugin>, LoadError>, printer: &mut Printer) -> anyhow::Result<()> {
    match loaded {
        Ok(plugin) => {
            let described = plugin.description();
            printer.text(Style::Strong, &format!("{} {}\n", described.name, described.version))?;
            printer.facts(&[
                ("world", plugin.world().to_string()),
                ("sha256", base16ct::lower::encode_string(&plugin.digest())),
            ])?;
            printer.line("loads, and accepts its configuration")?;
        }
        Err(error) => {
            printer.text(Style::Error, &format!("refused   {}\n", error.message))?;
            if let Some(hint) = source::hint(error) {
                printer.line(&format!("          {hint}"))?;
            }
        }
    }
    Ok(())
}

fn digest(text: &str) -> anyhow::Result<[u8; 32]> {
    let mut digest = [0; 32];
    match base16ct::mixed::decode(text, &mut digest) {
        Ok(decoded) if decoded.len() == 32 => Ok(digest),
        _ => {
            anyhow::bail!("`--sha256` is not 64 hexadecimal digits; `leafgate plugin inspect FILE` prints it")
        }
    }
}
