//! `redact`: sessions and chat exports on disk without what a policy redacts.
//!
//! A file is written whole or not at all: what cannot be redacted, or asks for a person, stops it.

mod export;
mod file;
mod session;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use leafgate_chat::redact::copies::KnownCopies;
use leafgate_chat::redact::seams::{self, SeamRun};
use leafgate_policy::{Context, Evaluation, Policy, Verdict};
use leafgate_tree::{Document, Draft, Format, Limits, NodeId};
use leafgate_vault::Vault;
use serde::Serialize;

pub(crate) use self::export::{JudgedExport, judge};
use crate::apply;
use crate::options::RedactArgs;
use crate::print::{Exit, Printer, counted};
use crate::{policy, request};

const EDITS: &str = "other edits by rules";

/// What a policy makes of a file.
#[derive(Default, Serialize)]
struct Redacted {
    file: String,
    /// The file as it may be shared.
    #[serde(skip)]
    bytes: Vec<u8>,
    /// The redactions, in order.
    findings: Vec<FileFinding>,
    /// Other changes by rules.
    edits: usize,
    /// What is counted behind the redactions.
    #[serde(skip)]
    parts: Vec<(usize, &'static str)>,
    /// What holds the file.
    holds: Vec<Verdict>,
    /// Whether it waits for a person although no rule says so.
    #[serde(skip)]
    waits: bool,
    /// Where copies or pieces of a value cannot be replaced.
    stuck: Vec<FindingPlace>,
    /// What else is to be said of it.
    notes: Vec<String>,
    /// Whether the file is written.
    written: bool,
}

/// Where something stands in a file.
#[derive(Clone, Debug, derive_more::Display, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
enum FindingPlace {
    /// Of a session.
    Line { line: usize },
    /// Of an export.
    Pointer { pointer: String },
}

/// A redaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct FileFinding {
    #[serde(flatten)]
    place: FindingPlace,
    label: String,
}

/// What all evaluations of one file have in common.
struct RedactJudge<'p> {
    policy: &'p Policy,
    session: &'p str,
    vault: Vault,
    /// How the file is read.
    format: Format,
    /// The values that were redacted so far.
    known: KnownCopies,
}

impl RedactJudge<'_> {
    fn parse(&self, bytes: Bytes) -> anyhow::Result<Arc<Document>> {
        Ok(Arc::new(Document::parse(bytes, self.format, &Limits::default())?))
    }

    fn evaluate(&self, document: Arc<Document>) -> Evaluation {
        let context = Context { session: self.session, ..Context::default() };
        self.policy.evaluate(document, &context, &self.vault)
    }

    /// Returns the document that a draft renders, or its own.
    fn redacted(&self, draft: &Draft) -> anyhow::Result<Arc<Document>> {
        match draft.is_dirty() {
            true => self.parse(draft.render()).context("it outgrows a limit when it is redacted"),
            false => Ok(Arc::clone(draft.document())),
        }
    }

    /// Redacts what the policy finds in joined pieces of texts alone. Returns the pieces where that failed, and the
    /// verdict about the joined texts.
    fn seams(
        &mut self,
        document: &Arc<Document>,
        runs: &[SeamRun],
    ) -> anyhow::Result<(Draft, Vec<NodeId>, Verdict)> {
        let mut draft = Draft::new(Arc::clone(document));
        if runs.is_empty() {
            return Ok((draft, Vec::new(), Verdict::Forward));
        }
        let joined = seams::joined(document, runs).context("cannot join the pieces of texts")?;
        let seen = self.evaluate(self.parse(joined)?);
        let found = seams::found(document, runs, &seen.draft);
        seams::redact(&mut draft, &found).context("cannot redact a value that stands in pieces")?;
        self.known.learn_seams(&found);
        Ok((draft, found.unclear, seen.verdict))
    }
}

/// Returns what was redacted; of values that stand in several pieces each once, unless the empty rests are
/// wanted too.
fn findings(draft: &Draft, rests: bool, place: impl Fn(NodeId) -> FindingPlace) -> Vec<FileFinding> {
    let records = draft.redactions().filter(|record| rests || !record.replacement.is_empty());
    records.map(|record| FileFinding { place: place(record.node), label: record.label.to_string() }).collect()
}

impl Redacted {
    /// Returns the worst of what holds the file.
    fn exit(&self) -> Exit {
        let verdicts: Vec<Exit> = self.holds.iter().map(apply::exit).collect();
        if !self.stuck.is_empty() || verdicts.contains(&Exit::Blocked) {
            Exit::Blocked
        } else if self.waits || verdicts.contains(&Exit::Paused) {
            Exit::Paused
        } else {
            Exit::Done
        }
    }

    fn changes(&self) -> usize {
        self.findings.len() + self.edits
    }
}

/// `exports`: whether chat exports alone are meant.
pub(crate) fn run(args: &RedactArgs, exports: bool, printer: &mut Printer) -> anyhow::Result<Exit> {
    ensure!(
        args.files.len() == 1 || args.output.is_none() && (args.check || args.in_place || printer.is_json),
        "several files cannot go to one: use --in-place, or --check"
    );
    ensure!(
        !args.in_place || args.files.iter().all(|path| path != Path::new("-")),
        "--in-place replaces files: name one"
    );
    let policy = policy::load(&args.policy.source)?;
    let mut worst = Exit::Done;
    for path in &args.files {
        let exit = one(args, path, exports, &policy, printer)
            .with_context(|| format!("{} is as it was", request::name(Some(path))))?;
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
    exports: bool,
    policy: &Policy,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let input = file::RedactInput::read(path)?;
    let mut redacted = match Document::parse(input.bytes.clone(), Format::VscodeChat, &Limits::default()) {
        Ok(document) if exports || leafgate_chat::is_export(&document) => export::redact(policy, document)?,
        Err(error) if exports => return Err(error.into()),
        _ => session::redact(policy, &input.bytes)?,
    };
    let held = redacted.exit();
    redacted.file = path.display().to_string();
    if held == Exit::Done && !args.check {
        if args.in_place {
            redacted.written = redacted.changes() > 0;
            if redacted.written {
                input.replace(&redacted.bytes)?;
            }
        } else if let Some(output) = &args.output {
            fs::write(output, &redacted.bytes)
                .with_context(|| format!("cannot write {}", output.display()))?;
            redacted.written = true;
        } else if !printer.is_json {
            printer.bytes(&redacted.bytes)?;
        }
    }
    report(args, path, &redacted, printer)?;
    Ok(match held {
        Exit::Done if args.check && redacted.changes() > 0 => Exit::Unmet,
        held => held,
    })
}

fn report(args: &RedactArgs, path: &Path, redacted: &Redacted, printer: &mut Printer) -> io::Result<()> {
    if printer.is_json {
        return printer.json(redacted);
    }
    let shown = if path == Path::new("-") { String::new() } else { format!("{}:", path.display()) };
    if args.check {
        for FileFinding { place, label } in &redacted.findings {
            printer.line(&format!("{shown}{place}: {label}"))?;
        }
    }
    for hold in &redacted.holds {
        apply::print_holds(hold, printer);
    }
    for place in &redacted.stuck {
        printer.error_line(&format!(
            "leafgate: blocked: {shown}{place}: a copy or a piece of a redacted value cannot be replaced"
        ));
    }
    redacted.notes.iter().for_each(|note| printer.error_line(&format!("leafgate: {note}")));
    let what = match redacted.changes() {
        0 => "nothing to redact".to_owned(),
        _ => {
            let parts = redacted.parts.iter().filter(|(count, _)| *count > 0);
            let parts: String = parts.map(|(count, what)| format!(", {count} {what}")).collect();
            format!("{}{parts}", counted(redacted.findings.len(), "redaction"))
        }
    };
    let done = match (args.in_place && !args.check, redacted.written) {
        (true, true) => ", written",
        (true, false) if redacted.changes() > 0 => ", not written: take out by hand what is blocked",
        _ => "",
    };
    let name = if shown.is_empty() { shown } else { format!("{shown} ") };
    printer.error_line(&format!("leafgate: {name}{what}{done}"));
    Ok(())
}
