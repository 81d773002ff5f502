//! `chat show`: an export as a conversation.
//!
//! Texts pass the policy's redaction first, copies and encoded texts included, and then the
//! built-in detectors, as in `tree`. With `--policy none` nothing is masked, as requested.

use std::sync::Arc;

use anyhow::Context as _;
use leafgate_chat::{ExportTurn, ExportedConversation, FileEdit, RequestStatus, ToolUse, conversation};
use leafgate_policy::PolicySource;
use leafgate_tree::{Author, Document, Draft, Format, Limits, display_mask};

use super::ShowChatArgs;
use crate::masking;
use crate::moments::local;
use crate::print::{Exit, Printer, Row, Style, counted};
use crate::redact::{JudgedExport, judge};
use crate::{policy, request};

pub(super) fn run(args: &ShowChatArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let policy = policy::load(&args.policy.source)?;
    let export = judge(&policy, request::read_as(args.file.as_deref(), Format::VscodeChat)?)?;
    let mut shown = conversation(&masked(&export)?);
    if args.policy.source != PolicySource::None {
        shown.texts_mut().for_each(|text| *text = masking::masked(text));
    }
    printer.show(&shown, print)
}

/// Returns the received export with masks for redacted values. Other rules' edits are left out,
/// because nobody said them.
fn masked(export: &JudgedExport) -> anyhow::Result<Document> {
    let judged = &export.evaluation.draft;
    let mut shown = Draft::new(Arc::clone(judged.document()));
    for record in judged.redactions() {
        let text = judged.masked_original(record.node, display_mask);
        // Numbers take no mask. No number is shown that a rule would redact.
        if shown.set(record.node, text.expose(), &Author::Person).is_err() {
            shown.set(record.node, "0", &Author::Person).context("cannot mask what a rule redacts")?;
        }
    }
    for record in export.seams.redactions().filter(|record| !record.replacement.is_empty()) {
        let node = shown.document().resolve(&export.seams.document().pointer(record.node));
        let node = node.context("a piece of a text is gone")?;
        let text = shown.text(node).expose().replace(&*record.replacement, &display_mask(&record.label));
        shown.set(node, &text, &Author::Person).context("cannot mask what a rule redacts")?;
    }
    Document::parse(shown.render(), Format::VscodeChat, &Limits::default())
        .context("the masked export is too large")
}

fn print(conversation: &ExportedConversation, printer: &mut Printer) -> anyhow::Result<()> {
    let names = [
        conversation.requester.as_deref(),
        conversation.responder.as_deref(),
        conversation.location.as_deref(),
    ];
    let names: Vec<_> = names.into_iter().flatten().collect();
    let count = counted(conversation.turns.len(), "request");
    printer.rows(&[Row::of(&[&names[..], &[&count]].concat().join(" · "), Style::Strong)])?;
    for (number, turn) in conversation.turns.iter().enumerate() {
        printer.line("")?;
        print_turn(number + 1, turn, printer)?;
    }
    if conversation.unreadable > 0 {
        printer.line(&format!("\n{} elements of `requests` are no requests", conversation.unreadable))?;
    }
    Ok(())
}

fn print_turn(number: usize, turn: &ExportTurn, printer: &mut Printer) -> anyhow::Result<()> {
    let mut facts: Vec<String> = turn.timestamp.map(local).into_iter().collect();
    facts.extend(turn.duration_ms.map(duration));
    facts.extend(turn.first_progress_ms.map(|time| format!("first sign after {}", duration(time))));
    facts.extend([turn.model.clone(), turn.agent.clone()].into_iter().flatten());
    facts.extend(turn.hidden.then(|| "taken back".to_owned()));
    let facts: String = facts.iter().map(|fact| format!("  {fact}")).collect();
    let head = Row::of(&format!("{number}  "), Style::Strong);
    printer.rows(&[head.and(turn.status.name(), status_style(turn.status)).and(&facts, Style::Dim)])?;
    said("User", &turn.user, printer)?;
    for attachment in &turn.attachments {
        let kind = attachment.kind.as_deref().unwrap_or("attachment");
        fact("attached", &format!("{kind}  {}", attachment.name), printer)?;
    }
    if !turn.thinking.is_empty() {
        fact("reasoning", &counted(turn.thinking.len(), "passage"), printer)?;
    }
    for tool in &turn.tools {
        fact("tool", &tool_line(tool), printer)?;
        tool.result.iter().try_for_each(|result| said("Result", result, printer))?;
    }
    turn.edits.iter().try_for_each(|edit| fact("edit", &edit_line(edit), printer))?;
    for (kind, count) in &turn.other_parts {
        fact("part", &format!("{kind} × {count}"), printer)?;
    }
    said("Answer", &turn.assistant, printer)?;
    turn.notes.iter().try_for_each(|note| fact(note.kind.name(), &note.text, printer))?;
    if let Some(error) = &turn.error {
        let answer: String = error.answer.iter().map(|word| format!(", answer {word}")).collect();
        let code = error.code.as_deref().unwrap_or("no code");
        fact("error", &format!("{code}{answer}: {}", error.message), printer)?;
    }
    if let Some(vote) = &turn.vote {
        let reason = vote.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        fact("vote", &format!("{}{reason}", if vote.helpful { "helpful" } else { "not helpful" }), printer)?;
    }
    Ok(())
}

fn said(who: &str, text: &str, printer: &mut Printer) -> anyhow::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    printer.text(Style::Strong, &format!("   {who}\n"))?;
    for line in text.trim_matches('\n').split('\n') {
        printer.line(format!("   │ {line}").trim_end())?;
    }
    Ok(())
}

fn fact(what: &str, text: &str, printer: &mut Printer) -> anyhow::Result<()> {
    Ok(printer.rows(&[Row::of(&format!("   {what:<10} "), Style::Dim).and(text, Style::Plain)])?)
}

fn tool_line(tool: &ToolUse) -> String {
    let state = match (tool.failed, tool.complete) {
        (true, _) => ", failed",
        (false, Some(false)) => ", not finished",
        _ => "",
    };
    let call = tool.call_id.as_ref().map_or_else(String::new, |id| format!("  {id}"));
    let words = tool.command.as_ref().unwrap_or(&tool.message);
    format!("{}{call}  {}{state}  {words}", tool.tool, tool.confirmed)
}

fn edit_line(edit: &FileEdit) -> String {
    let changes =
        edit.changes.map_or_else(String::new, |changes| format!("  {}", counted(changes, "change")));
    let kept = edit.kept.map_or_else(String::new, |kept| format!("  {kept}"));
    format!("{}{changes}{kept}", edit.file)
}

fn status_style(status: RequestStatus) -> Style {
    match status {
        RequestStatus::Complete => Style::Added,
        RequestStatus::Failed | RequestStatus::Cancelled => Style::Error,
        RequestStatus::Pending | RequestStatus::NeedsInput | RequestStatus::Unknown => Style::Edited,
    }
}

fn duration(milliseconds: i64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0..60 => format!("{}.{} s", seconds, milliseconds % 1000 / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
