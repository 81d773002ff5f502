//! Requests, a line each.

use leafgate_store::RequestLine;

use super::time::moment;
use crate::print::{Printer, Style};

/// Digits of a conversation's key that tell it from others of a day.
const KEY: usize = 8;

/// Prints a page, or says why there is nothing.
pub(super) fn print(
    lines: &[RequestLine],
    json: bool,
    why_none: &str,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    if json {
        return Ok(printer.json(&lines)?);
    }
    if lines.is_empty() {
        printer.error_line(why_none);
    }
    lines.iter().try_for_each(|request| line(request, printer))
}

/// Prints one request.
pub(super) fn line(request: &RequestLine, printer: &mut Printer) -> anyhow::Result<()> {
    printer.text(Style::Faint, &format!("{:>6}  {}  ", request.id, moment(request.at)))?;
    printer.inline(Style::Plain, short(&request.session), KEY + 2)?;
    printer.inline(Style::Plain, &request.agent, 14)?;
    printer.inline(Style::Plain, request.model.as_deref().unwrap_or("-"), 20)?;
    printer.text(Style::Plain, "  ")?;
    let style = if request.verdict == "forwarded" { Style::Plain } else { Style::Removed };
    printer.inline(style, &outcome(request), 0)?;
    if request.redactions + request.edits > 0 {
        let edits = if request.edits > 0 { format!(", {} edits", request.edits) } else { String::new() };
        printer.inline(Style::Marked, &format!("  {} redacted{edits}", request.redactions), 0)?;
    }
    if let Some(name) = &request.upstream_name {
        printer.inline(Style::Faint, &format!("  at {name}"), 0)?;
    }
    Ok(printer.line("")?)
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
    let time = request.answer_ms.map(|ms| format!(" in {:.1} s", Seconds(ms).get())).unwrap_or_default();
    let state = match &*request.answer {
        "open" => ", not ended",
        "broken" => ", broken off",
        _ => "",
    };
    let ruled = match request.ruled.as_deref() {
        None | Some("passed") => String::new(),
        Some("held") => ", held for a person".to_owned(),
        Some("partly-refused") => ", partly refused".to_owned(),
        Some("abandoned") => ", left while a person was asked".to_owned(),
        Some(outcome) => format!(", {outcome}"),
    };
    format!("{status}{time}{state}{ruled}{tokens}")
}

/// Milliseconds that are shown as seconds.
struct Seconds(i64);

impl Seconds {
    fn get(&self) -> f64 {
        // No answer takes so long that a digit would be lost.
        f64::from(i32::try_from(self.0).unwrap_or(i32::MAX)) / 1000.0
    }
}

/// Returns the beginning of a conversation's key, behind what all keys have in common.
pub(super) fn short(session: &str) -> &str {
    let key = session.rsplit_once("_h").map_or(session, |(_, key)| key);
    key.get(..KEY).unwrap_or(key)
}
