//! `plugin check`: loads a plugin as the gate does, and asks it its own cases.

use anyhow::Context as _;
use leafgate_author::cases::told;
use leafgate_author::sample::Sample;
use leafgate_contract::{Fault, Plugin, PluginLoader as _, PluginSource, of_hex};
use serde::Serialize;

use super::args::CheckArgs;
use super::inspect::{ShownPlugin, print_plugin};
use super::source::{self, AuthorSource};
use super::test;
use crate::policy;
use crate::print::{Exit, Printer, Row, Style};

/// The output of `--json`.
#[derive(Serialize)]
struct CheckedPlugin<'a> {
    ok: bool,
    #[serde(flatten)]
    plugin: ShownPlugin<'a>,
    cases: usize,
    failed: usize,
    /// How it failed on texts that any plugin must take, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

/// Texts that every plugin is given sooner or later.
const TEXTS: [&str; 3] = ["", "Grüße an Ann, ann@example.org: 42 🙂", "line one\r\n\tline two"];

/// Asks a plugin about texts, whatever it answers. One may say that it has nothing to say of them.
fn called(plugin: &dyn Plugin) -> Option<String> {
    let fault = Sample::new(plugin.world(), &TEXTS).ask(plugin).err()?;
    let is_own = !matches!(fault.parts().1, Fault::GaveUp { unsupported: true, .. });
    let about = match fault.parts().0.and_then(|place| TEXTS.get(place)) {
        Some(text) => format!("the text {text:?}"),
        None => format!("{} texts", TEXTS.len()),
    };
    is_own.then(|| format!("asked about {about}, it {}", told(&fault)))
}

pub(super) fn run(args: &CheckArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let source = AuthorSource::find(&args.source.plugin)?;
    let loader = policy::loader(None)?;
    let sha256 = args.sha256.as_deref().map(|text| {
        of_hex(text)
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
    // The cases tell where it fails, if there are any.
    let fault = loaded.as_ref().ok().filter(|_| failed == 0).and_then(|plugin| called(&**plugin));
    let checked = CheckedPlugin {
        ok: plugin.loads && failed == 0 && fault.is_none(),
        plugin,
        cases: outcomes.len(),
        failed,
        fault,
    };
    printer.show(&checked, |checked, printer| {
        print_plugin(&checked.plugin, printer)?;
        if let Some(fault) = &checked.fault {
            printer.rows(&[Row::of("FAILED  ", Style::Error).and(fault, Style::Plain)])?;
        }
        cases.map_or(Ok(()), |file| test::print(&outcomes, file, printer))
    })?;
    Ok(match loaded.is_ok() {
        false => Exit::Bad,
        true if checked.ok => Exit::Done,
        true => Exit::Unmet,
    })
}
