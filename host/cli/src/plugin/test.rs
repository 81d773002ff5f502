//! `plugin test`: asks a plugin its cases.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use leafgate_author::cases::{self, CaseOutcome, Cases};
use leafgate_contract::PluginLoader as _;
use leafgate_wasm::WasmLoader;
use serde::Serialize;

use super::args::TestArgs;
use super::source::AuthorSource;
use crate::policy;
use crate::print::{Exit, Printer, Row, Style, counted};

/// The output of `--json`.
#[derive(Serialize)]
struct TestedPlugin {
    cases: Vec<CaseOutcome>,
    failed: usize,
}

pub(super) fn run(args: &TestArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let source = AuthorSource::find(&args.source.plugin)?;
    let Some(file) = args.cases.as_ref().or(source.cases.as_ref()) else {
        bail!(
            "there are no cases: write `cases.toml` into the project or beside the file, or name them with `--cases`"
        );
    };
    let loader = policy::loader(Some(super::trial::log_to_standard_error()))?;
    let cases = ask(&source, file, &loader)?;
    let tested = TestedPlugin { failed: failed(&cases), cases };
    printer.show(&tested, |tested, printer| print(&tested.cases, file, printer))?;
    Ok(if tested.failed == 0 { Exit::Done } else { Exit::Unmet })
}

/// Asks a plugin the cases of a file.
pub(super) fn ask(
    source: &AuthorSource,
    file: &Path,
    loader: &WasmLoader,
) -> anyhow::Result<Vec<CaseOutcome>> {
    let shown = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    let cases = Cases::read(&text).with_context(|| format!("cannot use the cases of {shown}"))?;
    Ok(cases::run(&cases, &|config| loader.load(&source.declared(config))))
}

/// Returns how many cases are not fulfilled.
pub(super) fn failed(outcomes: &[CaseOutcome]) -> usize {
    outcomes.iter().filter(|outcome| !outcome.problems.is_empty()).count()
}

/// Prints what came of each case, and how many there were.
pub(super) fn print(outcomes: &[CaseOutcome], file: &Path, printer: &mut Printer) -> anyhow::Result<()> {
    for CaseOutcome { name, line, problems } in outcomes {
        let row = match problems.is_empty() {
            true => Row::of("ok      ", Style::Added).and(name, Style::Plain),
            false => Row::of("FAILED  ", Style::Error)
                .and(name, Style::Plain)
                .and(&format!("  {}:{line}", file.display()), Style::Dim),
        };
        printer.rows(&[row])?;
        for problem in problems {
            printer.rows(&[Row::of(&format!("        {problem}"), Style::Plain)])?;
        }
    }
    let cases = counted(outcomes.len(), "case");
    Ok(printer.line(&match failed(outcomes) {
        0 => format!("{cases}, all fulfilled"),
        failed => format!("{cases}, {failed} not fulfilled"),
    })?)
}
