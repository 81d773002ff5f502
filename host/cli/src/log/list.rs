//! Requests, a line each, and as they come.

use std::time::Duration;

use leafgate_record::AnswerOutcome;
use leafgate_store::{Log, RequestLine};

use super::TailArgs;
use crate::moments::local;
use crate::print::{Cell, Exit, Printer, Style, TextTable};

/// Digits of a conversation's key that tell it from others of a day.
const KEY: usize = 8;

/// How often the log is looked at. Looking costs one read of its header.
const EVERY: Duration = Duration::from_millis(200);

/// Requests that are read at a time.
const PAGE: usize = 500;

/// Shows a page, or says why there is nothing.
pub(super) fn show(lines: &[RequestLine], why_none: &str, printer: &mut Printer) -> anyhow::Result<Exit> {
    printer.show(lines, |lines, printer| {
        printer.none(lines.len(), why_none);
        printer.more(&mut table(), lines.iter().map(row))
    })
}

/// Prints the last requests, and all that come, until the process is ended or nobody reads.
pub(super) fn tail(log: &Log, args: &TailArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut last = log.newest()? - args.lines;
    let (mut version, mut table) = (None, table());
    loop {
        let found = log.data_version()?;
        if version.replace(found) != Some(found) {
            loop {
                let lines = log.after(last, PAGE)?;
                let Some(newest) = lines.last() else { break };
                last = newest.id;
                match printer.is_json {
                    true => lines.iter().try_for_each(|line| printer.json_line(line))?,
                    false => printer.more(&mut table, lines.iter().map(row))?,
                }
            }
            printer.flush()?;
        }
        std::thread::sleep(EVERY);
    }
}

/// Returns the list of requests, which may grow.
pub(super) fn table() -> TextTable<8> {
    TextTable::new(["id", "time", "session", "client", "model", "outcome", "changed", "upstream"])
}

/// Returns a request as a line of that list.
pub(super) fn row(request: &RequestLine) -> [Cell; 8] {
    let style = if request.verdict == "forwarded" { Style::Plain } else { Style::Error };
    let counted = [(request.redactions, "redacted"), (request.edits, "edits")];
    let changed = counted.iter().filter(|(count, _)| *count > 0);
    let changed: Vec<_> = changed.map(|(count, what)| format!("{count} {what}")).collect();
    [
        request.id.into(),
        Cell::new(Style::Dim, local(request.at)),
        short(&request.session).into(),
        request.agent.as_str().into(),
        request.model.as_deref().unwrap_or("-").into(),
        Cell::new(style, outcome(request)),
        Cell::new(Style::Edited, changed.join(", ")),
        Cell::new(Style::Dim, request.upstream_name.as_deref().unwrap_or_default()),
    ]
}

/// Returns what became of a request, in a few words.
pub(super) fn outcome(request: &RequestLine) -> String {
    if request.verdict != "forwarded" {
        let word = request.verdict.strip_prefix("leafgate_").unwrap_or(&request.verdict);
        return word.replace('_', " ");
    }
    let Some(status) = request.status else { return "sent, no answer".to_owned() };
    let tokens = match (request.input_tokens, request.output_tokens) {
        (Some(input), Some(output)) => format!(", {input} → {output} tokens"),
        _ => String::new(),
    };
    let time = request.answer_ms.map(|ms| format!(" in {:.1} s", ms as f64 / 1000.0)).unwrap_or_default();
    let state = match &*request.answer {
        "open" => ", not ended",
        "broken" => ", broken off",
        _ => "",
    };
    let ruled = match request.ruled.as_deref().map(|word| (word, AnswerOutcome::from_name(word))) {
        None | Some((_, Some(AnswerOutcome::Passed))) => String::new(),
        Some((_, Some(outcome))) => format!(", {}", outcome.label()),
        // A later version may write words that this one does not know.
        Some((word, None)) => format!(", {word}"),
    };
    format!("{status}{time}{state}{ruled}{tokens}")
}

/// Returns the beginning of a conversation's key, behind what all keys have in common.
pub(super) fn short(session: &str) -> &str {
    let key = session.rsplit_once("_h").map_or(session, |(_, key)| key);
    key.get(..KEY).unwrap_or(key)
}
