//! One request, and what differs between two.

use leafgate_store::{AnswerView, Log, RecordedEdit, RequestLine, RequestView};
use serde::Serialize;

use super::list::{outcome, short};
use super::{DiffArgs, ShowRequestArgs};
use crate::moments::moment;
use crate::print::{Exit, Printer, Row, Style};

pub(super) fn show(log: &Log, args: &ShowRequestArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let request = log.show(args.id)?;
    if args.body {
        printer.text(Style::Plain, &String::from_utf8_lossy(&request.body.0))?;
        return Ok(Exit::Done);
    }
    printer.show(&request, print)
}

fn print(request: &RequestView, printer: &mut Printer) -> anyhow::Result<()> {
    let RequestView { line, edits, body, answer } = request;
    printer.facts(&facts(line))?;
    let edits: Vec<Row> = edits.iter().map(|edit| Row::of(&told(edit), Style::Edited)).collect();
    printer.rows(&edits)?;
    printer.line("")?;
    printer.line(&body.pretty())?;
    if let Some(answer) = answer {
        print_answer(answer, printer)?;
    }
    Ok(())
}

fn facts(line: &RequestLine) -> Vec<(&'static str, String)> {
    let listed = |rules: &[String], none: &str| match rules {
        [] => none.to_owned(),
        rules => rules.join(", "),
    };
    let ruled = |ruled: &String| format!("{ruled} ({})", listed(&line.ruled_by, "no rule matched"));
    let shown = |same| if same { "what left is what a person agreed to" } else { "NOT what left" }.to_owned();
    let facts = [
        ("request", Some(format!("{}, {}", line.id, moment(line.at)))),
        ("session", Some(short(&line.session).to_owned())),
        ("from", Some(format!("{} ({})", line.agent, line.class))),
        ("to", Some(format!("{} {} at {}", line.method, line.path, place(line)))),
        ("model", Some(line.model.as_deref().unwrap_or("-").to_owned())),
        ("outcome", Some(outcome(line))),
        ("held", line.held.clone()),
        ("rules", Some(format!("{} (generation {})", listed(&line.rules, "none matched"), line.generation))),
        ("severity", line.severity.clone()),
        ("tags", (!line.tags.is_empty()).then(|| line.tags.join(", "))),
        ("message", line.message.clone()),
        ("answer", line.ruled.as_ref().map(ruled)),
        ("shown", line.shown_is_sent.map(shown)),
        ("received", Some(format!("{} bytes, {}", line.bytes_received, line.received))),
        ("sent", Some(line.sent.as_deref().unwrap_or("nothing left").to_owned())),
    ];
    facts.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
}

/// Returns where a request went: the upstream by its name, where it has one, and its URL.
fn place(line: &RequestLine) -> String {
    match &line.upstream_name {
        Some(name) => format!("{name} ({})", line.upstream),
        None => line.upstream.clone(),
    }
}

fn print_answer(answer: &AnswerView, printer: &mut Printer) -> anyhow::Result<()> {
    let texts = [("reasoning", &answer.reasoning), ("answer", &answer.content)];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        printer.text(Style::Strong, &format!("\n{name}\n"))?;
        printer.line(text)?;
    }
    for call in &answer.calls {
        printer.text(Style::Strong, "\ncall ")?;
        printer.line(&format!("{} {}", call.name, call.arguments))?;
    }
    if let Some(failure) = &answer.failure {
        printer.text(Style::Deleted, "\nfailed ")?;
        printer.line(failure)?;
    }
    Ok(())
}

fn told(edit: &RecordedEdit) -> String {
    let what = match (&edit.label, edit.length) {
        (Some(label), Some(length)) => format!("{} {label} ({length} bytes)", edit.kind),
        _ => edit.kind.to_string(),
    };
    let by = edit.detector.as_ref().map(|id| format!(" found by {id}")).unwrap_or_default();
    format!("  {what} at {}, rule {}{by}", edit.path, edit.rule)
}

/// The output of `diff --json`.
#[derive(Serialize)]
struct RequestDiff {
    old: i64,
    new: i64,
    /// In the unified format, line by line of their JSON; empty where the bodies are the same.
    diff: String,
}

/// Shows what differs between the bodies of two requests.
pub(super) fn diff(log: &Log, args: &DiffArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let named = args.id.map_or_else(|| log.newest(), Ok)?;
    let (earlier, later) = match args.later {
        Some(later) => (named, log.show(later)?),
        None => {
            let later = log.show(named)?;
            (before(log, &later.line)?, later)
        }
    };
    let (other, request) = (log.show(earlier)?, later);
    let (old, new) = (other.body.pretty(), request.body.pretty());
    let (other, request) = (other.line.id, request.line.id);
    let diff = similar::TextDiff::from_lines(&old, &new);
    let mut unified = diff.unified_diff();
    let names = [other, request].map(|id| format!("request {id}"));
    let diff = unified.context_radius(3).missing_newline_hint(false).header(&names[0], &names[1]).to_string();
    printer.show(&RequestDiff { old: other, new: request, diff }, |RequestDiff { diff, .. }, printer| {
        printer.none(diff.len(), &format!("the bodies of {} and {} are the same", names[0], names[1]));
        diff.lines().try_for_each(|line| {
            let style = match line.chars().next() {
                Some('-') => Style::Deleted,
                Some('+') => Style::Added,
                Some('@') => Style::Dim,
                _ => Style::Plain,
            };
            printer.text(style, &format!("{line}\n"))
        })
    })
}

/// Returns the turn before a request in its conversation.
fn before(log: &Log, request: &RequestLine) -> anyhow::Result<i64> {
    let before = log.turn_before(request)?;
    before.ok_or_else(|| {
        anyhow::anyhow!(
            "request {} is the first of its conversation in the log: name another one",
            request.id
        )
    })
}
