//! One request, and what differs between two.

use leafgate_store::{AnswerView, Log, RequestLine, RequestView, WholeRequest, WrittenEdit};

use super::list::{outcome, short};
use super::time::moment;
use super::{DiffArgs, ShowArgs};
use crate::print::{Printer, Style};

pub(super) fn show(log: &Log, args: &ShowArgs, printer: &mut Printer) -> anyhow::Result<()> {
    let request = log.show(args.id)?;
    if args.body {
        printer.text(Style::Plain, &String::from_utf8_lossy(&request.body.0))?;
        return Ok(());
    }
    if args.json {
        return Ok(printer.json(&WholeRequest::of(&request))?);
    }
    print(&request, printer)
}

fn print(request: &RequestView, printer: &mut Printer) -> anyhow::Result<()> {
    let RequestView { line, edits, body, answer } = request;
    let mut row = |name: &str, text: &str| {
        printer.text(Style::Faint, &format!("{name:10}"))?;
        printer.line(text)
    };
    row("request", &format!("{}, {}", line.id, moment(line.at)))?;
    row("session", short(&line.session))?;
    row("from", &format!("{} ({})", line.agent, line.class))?;
    row("to", &format!("{} {} at {}", line.method, line.path, place(line)))?;
    row("model", line.model.as_deref().unwrap_or("-"))?;
    row("outcome", &outcome(line))?;
    if let Some(held) = &line.held {
        row("held", held)?;
    }
    let rules = if line.rules.is_empty() { "none matched".to_owned() } else { line.rules.join(", ") };
    row("rules", &format!("{rules} (generation {})", line.generation))?;
    if let Some(ruled) = &line.ruled {
        let rules =
            if line.ruled_by.is_empty() { "no rule matched".to_owned() } else { line.ruled_by.join(", ") };
        row("answer", &format!("{ruled} ({rules})"))?;
    }
    if let Some(same) = line.shown_is_sent {
        row("shown", if same { "what left is what a person agreed to" } else { "NOT what left" })?;
    }
    let sent = line.sent.as_deref().unwrap_or("nothing left");
    row("received", &format!("{} bytes, {}", line.bytes_received, line.received))?;
    row("sent", sent)?;
    for edit in edits {
        printer.inline(Style::Marked, &format!("  {}", told(edit)), 0)?;
        printer.line("")?;
    }
    printer.line("")?;
    printer.line(&pretty(&body.0))?;
    if let Some(answer) = answer {
        print_answer(answer, printer)?;
    }
    Ok(())
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
        printer.text(Style::Heading, &format!("\n{name}\n"))?;
        printer.line(text)?;
    }
    for call in &answer.calls {
        printer.text(Style::Heading, "\ncall ")?;
        printer.line(&format!("{} {}", call.name, call.arguments))?;
    }
    if let Some(failure) = &answer.failure {
        printer.text(Style::Removed, "\nfailed ")?;
        printer.line(failure)?;
    }
    Ok(())
}

fn told(edit: &WrittenEdit) -> String {
    let what = match (&edit.label, edit.length) {
        (Some(label), Some(length)) => format!("{} {label} ({length} bytes)", edit.kind),
        _ => edit.kind.clone(),
    };
    let by = edit.detector.as_ref().map(|id| format!(" found by {id}")).unwrap_or_default();
    format!("{what} at {}, rule {}{by}", edit.path, edit.rule)
}

/// Prints what differs between the bodies of two requests, line by line of their JSON.
pub(super) fn diff(log: &Log, args: &DiffArgs, printer: &mut Printer) -> anyhow::Result<()> {
    let request = log.show(args.id)?;
    let other = match args.other {
        Some(other) => other,
        None => before(log, &request.line)?,
    };
    let other = log.show(other)?;
    let (old, new) = (pretty(&other.body.0), pretty(&request.body.0));
    let names = (format!("request {}", other.line.id), format!("request {}", request.line.id));
    let diff = similar::TextDiff::from_lines(&old, &new);
    let mut unified = diff.unified_diff();
    let text = unified.context_radius(3).missing_newline_hint(false).header(&names.0, &names.1).to_string();
    for line in text.lines() {
        let style = match line.chars().next() {
            Some('-') => Style::Removed,
            Some('+') => Style::Added,
            Some('@') => Style::Faint,
            _ => Style::Plain,
        };
        printer.text(style, line)?;
        printer.line("")?;
    }
    if text.is_empty() {
        printer.error_line("their bodies are the same");
    }
    Ok(())
}

/// Returns the turn before a request in its conversation.
fn before(log: &Log, request: &RequestLine) -> anyhow::Result<i64> {
    let filter = leafgate_store::Filter { session: Some(request.session.clone()), ..Default::default() };
    let before = log.list(&filter, Some(request.id), 1)?;
    let before = before.first().map(|line| line.id);
    before.ok_or_else(|| {
        anyhow::anyhow!(
            "request {} is the first of its conversation in the log: name another one",
            request.id
        )
    })
}

/// Returns JSON over several lines, spelled as it is; what is none, unchanged.
fn pretty(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_err() {
        return text.into_owned();
    }
    let mut out = String::with_capacity(text.len() * 5 / 4);
    let (mut depth, mut in_string, mut escaped, mut empty) = (0_usize, false, false, false);
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    for sign in text.chars() {
        if in_string {
            out.push(sign);
            in_string = escaped || sign != '"';
            escaped = !escaped && sign == '\\';
            continue;
        }
        if sign.is_ascii_whitespace() {
            continue;
        }
        if matches!(sign, '}' | ']') {
            depth = depth.saturating_sub(1);
            if !empty {
                line(&mut out, depth);
            }
        } else if empty {
            line(&mut out, depth);
        }
        empty = false;
        out.push(sign);
        match sign {
            '"' => in_string = true,
            '{' | '[' => (depth, empty) = (depth + 1, true),
            ',' => line(&mut out, depth),
            ':' => out.push(' '),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_shown_over_several_lines_as_it_is_spelled() {
        let json = r#"{"b":[1.50,{}, [] ],"a":"\"{,\\","c":{"d":null}}"#;
        assert_eq!(
            pretty(json.as_bytes()),
            "{\n  \"b\": [\n    1.50,\n    {},\n    []\n  ],\n  \"a\": \"\\\"{,\\\\\",\n  \"c\": {\n    \"d\": null\n  }\n}"
        );
        assert_eq!(pretty(b"{no json"), "{no json");
    }
}
