//! `chat redact`: a chat export that may be shared.

use std::fs;

use anyhow::Context as _;
use leafgate_chat::redact::ranges::{self, AUTHOR, Ranges, Stale};
use leafgate_policy::Verdict;
use leafgate_tree::{Author, Operation};
use serde::Serialize;

use super::args::RedactArgs;
use super::judged::{JudgedExport, judge};
use crate::apply;
use crate::exit::Exit;
use crate::masking;
use crate::print::{Printer, counted};

pub(super) fn run(args: &RedactArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut export = judge(&args.policy, args.file.as_deref())?;
    let ranges = ranges::follow(&mut export.evaluation.draft)?;
    let exit = exit(&export, &ranges);
    if exit == Exit::Done {
        let bytes = export.evaluation.draft.render();
        match &args.output {
            Some(path) => {
                fs::write(path, &bytes).with_context(|| format!("cannot write {}", path.display()))?
            }
            None if printer.is_json() => {}
            None => printer.bytes(&bytes)?,
        }
    }
    if printer.is_json() {
        printer.json(&Redacted::new(&export, &ranges))?;
    }
    print_holds(&export, &ranges, printer);
    Ok(exit)
}

/// Returns the exit code of the worst result. A finding that cannot be replaced blocks, as it does
/// by default in a request.
fn exit(export: &JudgedExport, ranges: &Ranges) -> Exit {
    let verdicts = [&export.evaluation.verdict, &export.keys, &export.joined].map(apply::exit);
    if !export.copies.stuck.is_empty() || !export.unclear.is_empty() || verdicts.contains(&Exit::Blocked) {
        Exit::Blocked
    } else if ranges.holds() || verdicts.contains(&Exit::Paused) {
        Exit::Paused
    } else {
        Exit::Done
    }
}

/// The output of `--json`. Operations name places of the received export: encoding again and
/// redaction add and remove none.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Redacted<'a> {
    verdict: &'a Verdict,
    #[serde(skip_serializing_if = "is_forward")]
    encoded_keys: &'a Verdict,
    #[serde(skip_serializing_if = "is_forward")]
    joined: &'a Verdict,
    is_dirty: bool,
    operations: Vec<Operation>,
    /// Leaves with further copies of a redacted value.
    copies: usize,
    /// Copies that cannot be redacted.
    stuck: Vec<String>,
    /// Leaves whose copies were not searched for, because two values in them could not be told
    /// apart.
    untraced: usize,
    range_edits: usize,
    stale: Vec<Stale>,
}

fn is_forward(verdict: &&Verdict) -> bool {
    **verdict == Verdict::Forward
}

impl<'a> Redacted<'a> {
    fn new(export: &'a JudgedExport, ranges: &Ranges) -> Self {
        let draft = &export.evaluation.draft;
        Redacted {
            verdict: &export.evaluation.verdict,
            encoded_keys: &export.keys,
            joined: &export.joined,
            is_dirty: [&export.opened, &export.seams, draft].iter().any(|draft| draft.is_dirty()),
            operations: [&export.opened, &export.seams, draft]
                .into_iter()
                .flat_map(|draft| draft.operations(masking::masked))
                .collect(),
            copies: export.copies.leaves,
            stuck: stuck(export),
            untraced: export.untraced,
            range_edits: ranges.edits,
            stale: apply::masked_stale(ranges),
        }
    }
}

/// Returns where copies cannot be redacted. The last key may be such a copy itself, so the object
/// around it is named.
fn stuck(export: &JudgedExport) -> Vec<String> {
    let document = export.evaluation.draft.document();
    let place = |&node| document.parent(node).map_or_else(String::new, |parent| document.pointer(parent));
    let copies = export.copies.stuck.iter().map(place);
    let pieces = export.unclear.iter().map(|&node| export.seams.document().pointer(node));
    copies.chain(pieces).map(|pointer| masking::masked(&pointer)).collect()
}

fn print_holds(export: &JudgedExport, ranges: &Ranges, printer: &mut Printer) {
    apply::print_holds(&export.evaluation.verdict, printer);
    apply::print_holds(&export.keys, printer);
    apply::print_holds(&export.joined, printer);
    for place in stuck(export) {
        printer.error_line(&format!(
            "leafgate: blocked: a copy or a piece of a redacted value cannot be replaced (below {place})"
        ));
    }
    apply::print_stale_ranges(ranges, printer);
    if export.untraced > 0 {
        printer.error_line(&format!(
            "leafgate: copies were not looked for of values in {} leaves",
            export.untraced
        ));
    }
    printer.error_line(&format!("leafgate: {}", summary(export, ranges)));
}

/// Returns the numbers of all redactions.
fn summary(export: &JudgedExport, ranges: &Ranges) -> String {
    let encoded = export.opened.redactions().count();
    let seams = export.seams.redactions().filter(|record| !record.replacement.is_empty()).count();
    let redactions = encoded + seams + export.evaluation.draft.redactions().count();
    let edits = export.evaluation.draft.edits().filter(|edit| edit.author != Author::rule(AUTHOR)).count();
    if redactions + edits == 0 {
        return "nothing to redact".to_owned();
    }
    let parts = [
        (encoded, "in encoded texts"),
        (seams, "over two pieces of a text"),
        (export.copies.leaves, "leaves with further copies"),
        (edits, "other edits by rules"),
        (ranges.edits, "numbers of ranges moved"),
    ];
    let parts: String = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    format!("{}{parts}", counted(redactions, "redaction"))
}
