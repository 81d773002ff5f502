//! `chat redact`: a chat export that may be shown around.

use std::fs;

use anyhow::Context as _;
use leafgate_chat::redact::ranges::{self, AUTHOR, Ranges, Stale};
use leafgate_policy::Verdict;
use leafgate_tree::{Author, Operation};
use serde::Serialize;

use super::args::RedactArgs;
use super::policed::{Policed, police};
use crate::apply;
use crate::exit::Exit;
use crate::print::Printer;
use crate::shield;

pub(super) fn run(args: &RedactArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut policed = police(&args.policy, args.file.as_deref())?;
    let ranges = ranges::follow(&mut policed.evaluation.draft)?;
    let exit = exit(&policed, &ranges);
    if exit == Exit::Done {
        let bytes = policed.evaluation.draft.render();
        match &args.output {
            Some(path) => {
                fs::write(path, &bytes).with_context(|| format!("cannot write {}", path.display()))?
            }
            None if args.json => {}
            None => printer.bytes(&bytes)?,
        }
    }
    if args.json {
        printer.json(&Redacted::new(&policed, &ranges))?;
    }
    printer.flush()?;
    complain(&policed, &ranges, printer);
    Ok(exit)
}

/// The worst that anything says. What stands where nothing can be replaced blocks, as it does by default in a request.
fn exit(policed: &Policed, ranges: &Ranges) -> Exit {
    let verdicts = [&policed.evaluation.verdict, &policed.keys, &policed.joined].map(apply::exit);
    if !policed.copies.stuck.is_empty() || !policed.unclear.is_empty() || verdicts.contains(&Exit::Blocked) {
        Exit::Blocked
    } else if ranges.holds() || verdicts.contains(&Exit::Paused) {
        Exit::Paused
    } else {
        Exit::Done
    }
}

/// What `--json` writes. Operations name places of the received export: encoding again and redaction add and remove none.
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
    /// Leaves of which copies were not looked for, because two values in them could not be told apart.
    untraced: usize,
    range_edits: usize,
    stale: Vec<Stale>,
}

fn is_forward(verdict: &&Verdict) -> bool {
    **verdict == Verdict::Forward
}

impl<'a> Redacted<'a> {
    fn new(policed: &'a Policed, ranges: &Ranges) -> Self {
        let draft = &policed.evaluation.draft;
        Redacted {
            verdict: &policed.evaluation.verdict,
            encoded_keys: &policed.keys,
            joined: &policed.joined,
            is_dirty: [&policed.opened, &policed.seams, draft].iter().any(|draft| draft.is_dirty()),
            operations: [&policed.opened, &policed.seams, draft]
                .into_iter()
                .flat_map(|draft| draft.operations(shield::masked))
                .collect(),
            copies: policed.copies.leaves,
            stuck: stuck(policed),
            untraced: policed.untraced,
            range_edits: ranges.edits,
            stale: apply::masked_stale(ranges),
        }
    }
}

/// Where copies are stuck. The last key may be such a copy itself, so that the object around it is named.
fn stuck(policed: &Policed) -> Vec<String> {
    let document = policed.evaluation.draft.document();
    let place = |&node| document.parent(node).map_or_else(String::new, |parent| document.pointer(parent));
    let copies = policed.copies.stuck.iter().map(place);
    let pieces = policed.unclear.iter().map(|&node| policed.seams.document().pointer(node));
    copies.chain(pieces).map(|pointer| shield::masked(&pointer)).collect()
}

fn complain(policed: &Policed, ranges: &Ranges, printer: &mut Printer) {
    apply::complain(&policed.evaluation.verdict, printer);
    apply::complain(&policed.keys, printer);
    apply::complain(&policed.joined, printer);
    for place in stuck(policed) {
        printer.complain(&format!(
            "leafgate: blocked: a copy or a piece of a redacted value cannot be replaced (below {place})"
        ));
    }
    apply::complain_of_ranges(ranges, printer);
    if policed.untraced > 0 {
        printer.complain(&format!(
            "leafgate: copies were not looked for of values in {} leaves",
            policed.untraced
        ));
    }
    printer.complain(&format!("leafgate: {}", summary(policed, ranges)));
}

/// What was done, in numbers.
fn summary(policed: &Policed, ranges: &Ranges) -> String {
    let encoded = policed.opened.redactions().count();
    let seams = policed.seams.redactions().filter(|record| !record.replacement.is_empty()).count();
    let redactions = encoded + seams + policed.evaluation.draft.redactions().count();
    let edits = policed.evaluation.draft.edits().filter(|edit| edit.author != Author::rule(AUTHOR)).count();
    if redactions + edits == 0 {
        return "nothing to redact".to_owned();
    }
    let parts = [
        (encoded, "in encoded texts"),
        (seams, "over two pieces of a text"),
        (policed.copies.leaves, "leaves with further copies"),
        (edits, "other edits by rules"),
        (ranges.edits, "numbers of ranges moved"),
    ];
    let parts: String = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    format!("{redactions} redaction{}{parts}", if redactions == 1 { "" } else { "s" })
}
