//! `apply`: what the gate would send for one request.
//!
//! The bytes are written only if they would really leave: a pipe that ignores the exit code must
//! not send a request that a rule holds. The views (`--diff`, `--ops`) are written for a paused
//! request too, `--json` for a blocked one as well.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use leafgate_admin::ShownText;
use leafgate_assemble::Step;
use leafgate_chat::redact::ranges::{Ranges, Stale};
use leafgate_gate::{SavedStore, request_diff};
use leafgate_policy::{Hold, Report, Route, Verdict};
use leafgate_review::rows;
use leafgate_saved::SavedEditOutcome;
use leafgate_tree::{Author, BadOperation, Draft, LeftOut, Misfit, Operation, Replay, display_mask};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::options::ApplyArgs;
use crate::print::{Exit, Printer};
use crate::request::{self, EarlierEdits, JudgedRequest};
use crate::saved::SavedFolder;
use crate::{masking, policy};

pub(crate) fn run(args: &ApplyArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut replay = args.ops_in.as_deref().map(read_operations).transpose()?;
    let saved = args.saved.then(|| SavedFolder::open(".".as_ref())).transpose()?.map(|folder| folder.read());
    let mut outcomes = Vec::new();
    let earlier = match (&saved, replay.as_mut()) {
        (Some(files), _) => EarlierEdits::Saved(files, &mut outcomes),
        (None, Some(replay)) => EarlierEdits::Recorded(replay),
        (None, None) => EarlierEdits::None,
    };
    let judged =
        request::judge_by(&policy::load(&args.policy.source)?, &args.request, &args.config, earlier)?;
    judged.must_be_json(args.request.file.as_deref())?;
    let misfits = replay.map(Replay::into_misfits).unwrap_or_default();
    let exit = match exit(&judged.evaluation.verdict) {
        // What a person edited away must not leave because the edit no longer fits.
        Exit::Done if !misfits.is_empty() => Exit::Paused,
        Exit::Done if judged.ranges.holds() => Exit::Paused,
        exit => exit,
    };
    let draft = &judged.evaluation.draft;
    match &args.output {
        _ if printer.is_json => printer.json(&Applied::new(&judged, &misfits, &outcomes))?,
        _ if exit == Exit::Blocked => {}
        output if output.diff => print_diff(judged.shown(), printer)?,
        output if output.ops => {
            draft.operations(masking::masked).iter().try_for_each(|made| printer.json_line(made))?;
        }
        _ if exit == Exit::Done => printer.bytes(&draft.render())?,
        _ => {}
    }
    judged.print_notes(printer);
    print_holds(&judged.evaluation.verdict, printer);
    let stale = &judged.ranges.stale;
    stale.iter().for_each(|stale| printer.error_line(&format!("leafgate: {}", stale_range(stale))));
    saved.iter().flat_map(|files| &files.problems).for_each(|problem| {
        printer.error_line(&format!("leafgate: {problem}"));
    });
    for SavedOutcome { id, scope, path, why, .. } in outcomes.iter().map(SavedOutcome::of) {
        if let Some(why) = why {
            printer.error_line(&format!("leafgate: saved edit {id} ({scope}, {path}) is not made: {why}"));
        }
    }
    for misfit in &misfits {
        printer.error_line(&format!(
            "leafgate: held: the edit in line {} ({}) no longer fits: {}",
            misfit.line, misfit.target_path, misfit.why
        ));
    }
    Ok(exit)
}

/// Reads what `--ops` wrote.
fn read_operations(file: &Path) -> anyhow::Result<Replay> {
    let shown = file.display();
    let record = fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    Replay::parse(&record).map_err(|BadOperation { line, column }| {
        anyhow!("{shown}, line {line}: not an operation as `apply --ops` writes it: column {column}")
    })
}

/// Returns the exit code for a verdict.
pub(crate) fn exit(verdict: &Verdict) -> Exit {
    match verdict {
        Verdict::Forward | Verdict::Route(_) => Exit::Done,
        Verdict::Pause(_) => Exit::Paused,
        Verdict::Block(_) => Exit::Blocked,
    }
}

/// Prints on standard error what holds a request.
pub(crate) fn print_holds(verdict: &Verdict, printer: &mut Printer) {
    let mut say = |what: &str, hold: &Hold| {
        printer.error_line(&format!(
            "leafgate: {what} by rule `{}`: {} ({})",
            hold.rule, hold.reason, hold.detail
        ));
    };
    match verdict {
        Verdict::Forward => {}
        Verdict::Route(Route { rule, to, detail }) => {
            printer.error_line(&format!("leafgate: sent to the upstream `{to}` by rule `{rule}` ({detail})"));
        }
        Verdict::Pause(holds) => holds.iter().for_each(|hold| say("held", hold)),
        Verdict::Block(hold) => say("blocked", hold),
    }
}

/// Returns what is said of a range of a chat export that could not follow its texts.
pub(crate) fn stale_range(stale: &Stale) -> String {
    let held = if stale.reason.holds() { "held" } else { "left as it was" };
    format!("{held}: {}: {}", masking::masked(&stale.pointer), stale.reason.describe())
}

/// Prints as JSON what became of a request in which no earlier edits were made.
pub(crate) fn print_json(judged: &JudgedRequest, printer: &mut Printer) -> anyhow::Result<()> {
    printer.json(&Applied::new(judged, &[], &[]))?;
    Ok(())
}

/// The output of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Applied<'a> {
    request_id: String,
    generation: &'a str,
    format: &'static str,
    verdict: &'a Verdict,
    is_dirty: bool,
    /// The profile that made the request, before all rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    assembled: Option<ByProfile<'a>>,
    /// The body that the rules looked at: as it came, or as a profile made it.
    received: AppliedBody,
    /// The body that would leave, once nothing holds it.
    sent: AppliedBody,
    operations: Vec<Operation>,
    /// Ranges of a chat export that could not follow its texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stale: Vec<Stale>,
    /// Recorded edits that no longer fit.
    #[serde(skip_serializing_if = "<[Misfit]>::is_empty")]
    misfits: &'a [Misfit],
    /// What became of the saved edits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    saved: Vec<SavedOutcome<'a>>,
    report: &'a Report,
}

/// What a profile did.
#[derive(Serialize)]
struct ByProfile<'a> {
    profile: &'a str,
    steps: &'a [Step],
}

/// What became of a saved edit.
#[derive(Serialize)]
struct SavedOutcome<'a> {
    id: &'a str,
    scope: &'static str,
    path: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl<'a> SavedOutcome<'a> {
    fn of(outcome: &'a SavedEditOutcome) -> Self {
        SavedOutcome {
            id: outcome.id.as_str(),
            scope: outcome.scope.name(),
            path: masking::masked(&outcome.path),
            outcome: outcome.fit.name(),
            why: outcome.fit.why(),
        }
    }
}

/// Returns stale ranges, with masks for secrets in their pointers.
fn masked_stale(ranges: &Ranges) -> Vec<Stale> {
    let masked = |stale: &Stale| Stale { pointer: masking::masked(&stale.pointer), reason: stale.reason };
    ranges.stale.iter().map(masked).collect()
}

/// A body without its text.
#[derive(Serialize)]
struct AppliedBody {
    bytes: usize,
    sha256: String,
}

impl AppliedBody {
    fn of(body: &[u8]) -> Self {
        AppliedBody { bytes: body.len(), sha256: base16ct::lower::encode_string(&Sha256::digest(body)) }
    }
}

impl<'a> Applied<'a> {
    fn new(judged: &'a JudgedRequest, misfits: &'a [Misfit], outcomes: &'a [SavedEditOutcome]) -> Self {
        let draft = &judged.evaluation.draft;
        Applied {
            request_id: judged.document.request_id(),
            generation: &judged.generation,
            format: judged.document.format().name(),
            verdict: &judged.evaluation.verdict,
            is_dirty: draft.is_dirty(),
            assembled: judged.assembled.as_ref().map(|(profile, steps)| ByProfile { profile, steps }),
            received: AppliedBody::of(judged.document.source()),
            sent: AppliedBody::of(&draft.render()),
            operations: draft.operations(masking::masked),
            stale: masked_stale(&judged.ranges),
            misfits,
            saved: outcomes.iter().map(SavedOutcome::of).collect(),
            report: &judged.evaluation.report,
        }
    }
}

/// Prints what came against what would leave, as the prompt shows it: no value that a rule redacted is in
/// what a draft shows, and a key may be a secret too.
pub(crate) fn print_diff(draft: &Draft, printer: &mut Printer) -> anyhow::Result<()> {
    if !draft.is_dirty() {
        return Ok(());
    }
    let (mut diff, changes) = (request_diff(draft), draft.changes(display_mask));
    // By the order in which all came, as rules and operations name places.
    for (leaf, change) in diff.leaves.iter_mut().zip(&changes.leaves) {
        leaf.path = draft.display_path(change.node);
    }
    let said =
        |section: &LeftOut<'_>| format!("{}  {}", draft.display_path(section.node), joined(&section.authors));
    diff.deleted = changes.deleted.iter().map(said).collect();
    let paths = diff.leaves.iter_mut().map(|leaf| &mut leaf.path).chain(&mut diff.deleted);
    let paths = paths.chain(diff.inserted.iter_mut().map(|inserted| &mut inserted.before));
    for path in paths.chain(diff.options.iter_mut().map(|option| &mut option.key)) {
        *path = masking::masked(path);
    }
    for option in &mut diff.options {
        option.json = ShownText::new(masking::masked(option.json.expose()));
    }
    Ok(printer.rows(&rows::diff_rows(&diff))?)
}

/// Returns the authors. A section that is left out together with another one has no author of its
/// own.
fn joined(authors: &[&Author]) -> String {
    match authors {
        [] => "goes with another".to_owned(),
        authors => authors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}
