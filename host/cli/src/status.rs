//! `status`: how a running gate is, and why the newest policy does not serve if it does not.

use leafgate_admin::{ApiError, Status};
use serde::Serialize;

use crate::admin::AdminClient;
use crate::args::GateArgs;
use crate::exit::Exit;
use crate::print::{Printer, Style};

pub(crate) fn run(args: &GateArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let status = match AdminClient::new(&args.find()?)?.status() {
        Ok(status) => status,
        Err(error) => return refused(&error, args.json, printer),
    };
    match args.json {
        true => printer.json(&status)?,
        false => print(&status, printer)?,
    }
    printer.flush()?;
    Ok(Exit::Done)
}

fn print(status: &Status, printer: &mut Printer) -> anyhow::Result<()> {
    let Status { version, listen, upstream, policy, pending, requests } = status;
    let mut row = |name: &str, text: String| {
        printer.text(Style::Faint, &format!("{name:10}"))?;
        printer.line(&text)
    };
    row("gate", format!("{listen} before {upstream} (leafgate {version})"))?;
    row("policy", format!("{}, generation {}", policy.source, policy.generation))?;
    row("loads", format!("{} done, {} refused", policy.loads, policy.failed_loads))?;
    if !policy.changes.is_empty() {
        row("changed", policy.changes.join(", "))?;
    }
    if let Some(seconds) = policy.loading_seconds.filter(|&seconds| seconds > 0) {
        row(
            "loading",
            format!("what is on disk, for {seconds} s now; the generation above serves meanwhile"),
        )?;
    }
    for warning in &policy.warnings {
        row("warning", warning.clone())?;
    }
    row(
        "requests",
        format!(
            "{} forwarded, {} blocked, {} paused, {} cancelled, {} refused",
            requests.forwarded, requests.blocked, requests.paused, requests.cancelled, requests.refused
        ),
    )?;
    let hint = if *pending == 0 { "" } else { ": `leafgate review` shows them" };
    row("pending", format!("{pending}{hint}"))?;
    if let Some(diagnostics) = &policy.refused {
        printer.line("")?;
        printer.text(Style::Removed, "The policy on disk does not serve; the generation above does.\n")?;
        printer.line(diagnostics.trim_end())?;
    }
    Ok(())
}

/// What `--json` writes where the gate refused a call or does not answer.
#[derive(Serialize)]
struct Refused<'a> {
    error: &'a ApiError,
}

/// Says why a call failed: as JSON on standard output for programs, in words on standard error for people.
pub(crate) fn refused(error: &ApiError, json: bool, printer: &mut Printer) -> anyhow::Result<Exit> {
    if json {
        printer.json(&Refused { error })?;
        printer.flush()?;
        return Ok(Exit::Bad);
    }
    let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    printer.complain(&format!("leafgate: {}{hint}", error.message));
    Ok(Exit::Bad)
}
