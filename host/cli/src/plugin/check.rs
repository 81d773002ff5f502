//! `plugin check`: loads a plugin as the gate does, and asks it its own cases.

use anyhow::Context as _;
use leafgate_contract::{PluginLoader as _, PluginSource};
use serde::Serialize;

use super::args::CheckArgs;
use super::inspect::{ShownPlugin, print_plugin};
use super::source::{self, AuthorSource};
use super::test;
use crate::exit::Exit;
use crate::print::Printer;
use crate::{home, policy};

/// The output of `--json`.
#[derive(Serialize)]
struct CheckedPlugin<'a> {
    ok: bool,
    #[serde(flatten)]
    plugin: ShownPlugin<'a>,
    cases: usize,
    failed: usize,
}

pub(super) fn run(args: &CheckArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let source = AuthorSource::find(&args.source.plugin)?;
    let loader = policy::loader()?;
    let sha256 = args.sha256.as_deref().map(|text| {
        home::from_hex(text)
            .context("`--sha256` is not 64 hexadecimal digits; `leafgate plugin inspect FILE` prints it")
    });
    let sha256 = sha256.transpose()?;
    let loaded = loader.load(&PluginSource { sha256, ..source.declared(&args.config.json()?) });
    let inspection = loader.inspect(&source.file).map_err(source::with_hint)?;
    let mut plugin = ShownPlugin::new(&inspection);
    if let Err(error) = &loaded {
        plugin.refuse(error);
    }
    let cases = source.cases.as_ref().filter(|_| loaded.is_ok());
    let outcomes = cases.map(|file| test::ask(&source, file, &loader)).transpose()?.unwrap_or_default();
    let failed = test::failed(&outcomes);
    let checked = CheckedPlugin { ok: plugin.loads && failed == 0, plugin, cases: outcomes.len(), failed };
    printer.show(&checked, |checked, printer| {
        print_plugin(&checked.plugin, printer)?;
        cases.map_or(Ok(()), |file| test::print(&outcomes, file, printer))
    })?;
    Ok(match (loaded.is_ok(), failed) {
        (false, _) => Exit::Bad,
        (true, 0) => Exit::Done,
        (true, _) => Exit::Unmet,
    })
}
