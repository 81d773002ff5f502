//! `redact`: sessions and chat exports on disk without what a policy redacts.
//!
//! A file is written whole or not at all: what cannot be redacted, or asks for a person, stops it.

mod file;
mod session;

use std::path::Path;

use anyhow::{Context, ensure};
use leafgate_policy::Verdict;
use serde::Serialize;

pub(crate) use self::session::redact_seams;
use crate::apply;
use crate::args::RedactArgs;
use crate::exit::Exit;
use crate::policy;
use crate::print::{Printer, counted};

/// What a policy makes of a file.
struct Redacted {
    /// The file as it may be shared.
    bytes: Vec<u8>,
    /// The redactions, by line.
    findings: Vec<Finding>,
    /// Other changes by rules.
    edits: usize,
    /// What holds the file.
    holds: Vec<Verdict>,
    /// Lines with copies or pieces of a value that cannot be replaced.
    stuck: Vec<usize>,
}

/// A redaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Finding {
    line: usize,
    label: String,
}

impl Redacted {
    /// Returns the worst of what holds the file.
    fn exit(&self) -> Exit {
        let verdicts: Vec<Exit> = self.holds.iter().map(apply::exit).collect();
        if !self.stuck.is_empty() || verdicts.contains(&Exit::Blocked) {
            Exit::Blocked
        } else if verdicts.contains(&Exit::Paused) {
            Exit::Paused
        } else {
            Exit::Done
        }
    }

    fn changes(&self) -> usize {
        self.findings.len() + self.edits
    }
}

/// The output of `--json` for a file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'r> {
    file: String,
    findings: &'r [Finding],
    edits: usize,
    holds: Vec<&'r Verdict>,
    stuck_lines: &'r [usize],
    written: bool,
}

pub(crate) fn run(args: &RedactArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    ensure!(
        args.check || args.in_place || printer.is_json() || args.files.len() == 1,
        "several files cannot go to standard output: use --in-place, or --check"
    );
    let policy = policy::load(&args.policy.source)?;
    let mut worst = Exit::Done;
    for path in &args.files {
        let exit =
            one(args, path, &policy, printer).with_context(|| format!("{} is as it was", path.display()))?;
        worst = worse(worst, exit);
    }
    Ok(worst)
}

/// What holds a file is worse than what a check has found.
fn worse(one: Exit, other: Exit) -> Exit {
    if one.code() >= other.code() { one } else { other }
}

fn one(
    args: &RedactArgs,
    path: &Path,
    policy: &leafgate_policy::Policy,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let input = file::Input::read(path)?;
    let redacted = session::redact(policy, input.bytes())?;
    let held = redacted.exit();
    let mut written = false;
    if held == Exit::Done && !args.check {
        if args.in_place {
            written = redacted.changes() > 0;
            if written {
                input.replace(&redacted.bytes)?;
            }
        } else if !printer.is_json() {
            printer.bytes(&redacted.bytes)?;
        }
    }
    report(args, path, &redacted, written, printer)?;
    Ok(match held {
        Exit::Done if args.check && redacted.changes() > 0 => Exit::Unmet,
        held => held,
    })
}

fn report(
    args: &RedactArgs,
    path: &Path,
    redacted: &Redacted,
    written: bool,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    if printer.is_json() {
        printer.json(&Report {
            file: path.display().to_string(),
            findings: &redacted.findings,
            edits: redacted.edits,
            holds: redacted.holds.iter().collect(),
            stuck_lines: &redacted.stuck,
            written,
        })?;
        return Ok(());
    }
    let shown = path.display();
    if args.check {
        for Finding { line, label } in &redacted.findings {
            printer.line(&format!("{shown}:{line}: {label}"))?;
        }
    }
    for hold in &redacted.holds {
        apply::print_holds(hold, printer);
    }
    for line in &redacted.stuck {
        printer.error_line(&format!(
            "leafgate: blocked: {shown}:{line}: a copy or a piece of a redacted value cannot be replaced"
        ));
    }
    let redactions = redacted.findings.len();
    let what = match (redactions, redacted.edits) {
        (0, 0) => "nothing to redact".to_owned(),
        (redactions, 0) => counted(redactions, "redaction"),
        (redactions, edits) => format!("{}, {edits} other edits by rules", counted(redactions, "redaction")),
    };
    let done = match (args.in_place && !args.check, written) {
        (true, true) => ", written",
        (true, false) if redacted.changes() > 0 => ", not written: take out by hand what is blocked",
        _ => "",
    };
    printer.error_line(&format!("leafgate: {shown}: {what}{done}"));
    Ok(())
}
