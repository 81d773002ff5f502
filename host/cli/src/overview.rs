//! `leafgate` alone: what runs, and what to do next.

use leafgate_admin::{RuntimeFile, Status, shown_url};

use crate::admin::AdminClient;
use crate::mode::why_off;
use crate::print::{Exit, Printer, Style};
use crate::runtime;

/// What a person does who has not begun.
const BEGIN: &[(&str, &str)] = &[
    (
        "leafgate exec claude",
        "starts a client behind a gate: claude, codex, copilot, gemini, code, or `-- PROGRAM`",
    ),
    ("leafgate vscode on", "leads VS Code through the gate that stands"),
    ("leafgate log", "what was redacted so far"),
    ("leafgate --help", "all commands"),
];

/// What a person does behind a gate.
const GO_ON: &[(&str, &str)] = &[
    ("leafgate log", "what was redacted: how often, by which rule, where"),
    ("leafgate except add", "lets a value pass that is none: --value …, --reason …, --by …, --until 30d"),
    ("leafgate policy new", "begins rules of your own above the built-in ones"),
    ("leafgate off", "everything passes as it comes for five minutes"),
    ("leafgate --help", "all commands"),
];

pub(crate) fn run(printer: &mut Printer) -> anyhow::Result<Exit> {
    let gates = runtime::find_running(&runtime::folder()?)?;
    if gates.is_empty() {
        printer.line("No gate runs.")?;
    }
    let mut next: Vec<(&str, &str)> = Vec::new();
    for gate in &gates {
        match AdminClient::new(gate)?.status() {
            Ok(status) => {
                printer.line(&line(gate, &status))?;
                next.extend(urgent(&status));
            }
            Err(error) => printer.line(&format!("{}: {}", gate.listen, error.message))?,
        }
    }
    next.extend(if gates.is_empty() { BEGIN } else { GO_ON });
    printer.line("")?;
    let mut said = std::collections::BTreeSet::new();
    for (command, what) in next.into_iter().filter(|(command, _)| said.insert(*command)) {
        printer.text(Style::Strong, &format!("  {command:22}"))?;
        printer.line(what)?;
    }
    Ok(Exit::Done)
}

/// Returns a gate in a line.
fn line(gate: &RuntimeFile, status: &Status) -> String {
    let requests = &status.requests;
    let client = gate.client.as_ref().map(|client| format!(", of {client}")).unwrap_or_default();
    let state = match status.enabled {
        true => format!("policy {}", status.policy.source),
        false => why_off(status),
    };
    format!(
        "{} before {}{client}: {state}; {} requests forwarded, {} blocked, {} waiting",
        status.listen,
        shown_url(&status.upstream),
        requests.forwarded,
        requests.blocked,
        status.pending
    )
}

/// What comes first.
fn urgent(status: &Status) -> Vec<(&'static str, &'static str)> {
    let rows = [
        (status.pending > 0, "leafgate review", "requests wait for you"),
        (!status.enabled, "leafgate on", "has the policy look again"),
        (status.policy.refused.is_some(), "leafgate status", "says why the policy on disk does not serve"),
    ];
    rows.into_iter().filter(|(is_due, ..)| *is_due).map(|(_, command, what)| (command, what)).collect()
}
