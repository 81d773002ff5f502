//! `pending`: the approval prompt's calls, one a command, for scripts.
//!
//! With `--json` each writes the answer of the admin API. Ids are numbers that count up, so they
//! are given whole: a prefix of one is the id of another turn.

use std::io;

use anyhow::Context;
use leafgate_admin::{
    Cancel, EditCommand, EditableRequest, MetadataFields, ModeView, Pending, Resume, ShownText, TurnSummary,
    TurnView,
};
use leafgate_review::rows::{self, Row, RowStyle};
use leafgate_review::{Outline, leaf_authors};

use crate::admin::AdminClient;
use crate::options::{EditChange, GateArgs, PendingCommand, ResumeArgs};
use crate::print::{Exit, Printer};
use crate::saved;

pub(crate) fn run(gate: &GateArgs, command: &PendingCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    let gate = gate.client()?;
    match command {
        PendingCommand::List => list(&gate, printer),
        PendingCommand::Show { id } => {
            match printer.is_json {
                true => printer.json(&gate.view::<EditableRequest>(id)?)?,
                false => printer.rows(&in_full(&gate.view::<TurnView>(id)?))?,
            }
            Ok(Exit::Done)
        }
        PendingCommand::Diff { id } => {
            printer.show(&gate.view(id)?, |diff, printer| printer.rows(&rows::diff_rows(diff)))
        }
        PendingCommand::Edit(edit) => {
            let turn = gate.command(&edit.id, &command_of(&edit.change)?)?;
            printer.show(&turn, |turn, printer| {
                printer.rows(&rows::header_rows(turn))?;
                printer.rows(&[digest(turn)])
            })
        }
        PendingCommand::Fields { fields, none } => {
            let chosen = match fields.is_empty() && !none {
                true => gate.view("")?,
                false => gate.command("", &MetadataFields { fields: fields.clone() })?,
            };
            printer.show(&chosen, |MetadataFields { fields }, printer| {
                printer.none(fields.len(), "no field is shown but the budget");
                fields.iter().try_for_each(|field| printer.line(field.name()))
            })
        }
        PendingCommand::Resume(args) => resume(&gate, args, printer),
        PendingCommand::Cancel { id } => printer.show(&gate.command(id, &Cancel {})?, over),
    }
}

fn list(gate: &AdminClient, printer: &mut Printer) -> anyhow::Result<Exit> {
    let turns = gate.pending()?;
    printer.show(&Pending { turns }, |Pending { turns }, printer| {
        if turns.is_empty() {
            let idle = gate.view::<ModeView>("").ok().and_then(|mode| mode.idle).unwrap_or_default();
            printer.error_line(&format!("no turn waits. {idle}"));
        }
        let width = turns.iter().map(|turn| turn.id.len()).max().unwrap_or(0);
        let listed = |turn: &TurnSummary| {
            Row::of(&format!("{:>width$} ", turn.id), RowStyle::Strong).followed_by(rows::list_row(turn))
        };
        printer.rows(&turns.iter().map(listed).collect::<Vec<_>>())
    })
}

fn resume(gate: &AdminClient, args: &ResumeArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let ResumeArgs { id, digest } = args;
    let seen = match digest {
        Some(digest) => digest.clone(),
        None => gate.view::<TurnView>(id)?.digest,
    };
    let resumed = gate.command(id, &Resume { digest: seen.clone() })?;
    if digest.is_none() {
        printer.error_line(&format!(
            "no --digest given: turn {id} was resumed as it stood at this moment, with digest {seen}"
        ));
    }
    printer.show(&resumed, |resumed, printer| {
        over(&resumed.turn, printer)?;
        resumed.captured.iter().try_for_each(|captured| saved::tell(captured, printer))
    })
}

fn over(summary: &TurnSummary, printer: &mut Printer) -> io::Result<()> {
    printer.line(&format!("turn {}: {}", summary.id, summary.state.label()))
}

/// Returns the edit of the call. clap ensures that it is exactly one.
fn command_of(change: &EditChange) -> anyhow::Result<EditCommand> {
    let EditChange { set, set_file, insert_before, release, delete, restore, undo, redo, .. } = change;
    let said = |text: &str| ShownText::new(text.to_owned());
    Ok(match (set.as_deref(), set_file.as_deref(), insert_before.as_deref()) {
        (Some([pointer, text]), ..) => EditCommand::Set { pointer: pointer.clone(), text: said(text) },
        (_, Some([pointer, file]), _) => {
            EditCommand::Set { pointer: pointer.clone(), text: said(&text_of(file)?) }
        }
        (.., Some([before, text])) => EditCommand::Insert { before: before.clone(), text: said(text) },
        _ => match (release, delete, restore) {
            (Some(redaction), ..) => EditCommand::Release { redaction: *redaction },
            (_, Some(section), _) => EditCommand::Delete { section: section.clone() },
            (.., Some(section)) => EditCommand::Restore { section: section.clone() },
            _ if *undo => EditCommand::Undo,
            _ if *redo => EditCommand::Redo,
            _ => EditCommand::Reset,
        },
    })
}

/// Reads a leaf's new text from a file, its last newline included.
fn text_of(file: &str) -> anyhow::Result<String> {
    let read = match file {
        "-" => io::read_to_string(io::stdin()),
        file => std::fs::read_to_string(file),
    };
    read.with_context(|| format!("cannot read the leaf's new text from {file}"))
}

/// Returns a turn with the names that edits use: the key of each section, the pointer of each leaf.
fn in_full(turn: &TurnView) -> Vec<Row> {
    let outline = Outline::new(turn);
    let mut shown = rows::header_rows(turn);
    for (place, section) in turn.sections.iter().enumerate() {
        let Some(entry) = outline.entry(place) else { continue };
        let indent = "  ".repeat(entry.depth);
        let head = Row::of(&indent, RowStyle::Plain).followed_by(rows::section_head(section, entry));
        shown.push(head.and(&format!("  key {}", section.key), RowStyle::Dim));
        let indented = |row: Row| Row::of(&format!("{indent}  "), RowStyle::Plain).followed_by(row);
        shown.extend(rows::call_rows(section, usize::MAX).into_iter().map(&indented));
        for leaf in &section.leaves {
            let row = rows::leaf_row(leaf, entry.depth + 1, &leaf_authors(turn, leaf)).cut(LINE);
            shown.push(row.and(&format!("  {}", leaf.pointer), RowStyle::Dim));
            let indented = |row| indented(Row::of("  ", RowStyle::Plain).followed_by(row));
            shown.extend(rows::redaction_rows(leaf).into_iter().map(indented));
        }
    }
    shown.push(digest(turn));
    shown
}

/// Cells of a leaf's line. `--json` has all of it.
const LINE: usize = 120;

fn digest(turn: &TurnView) -> Row {
    Row::of("digest ", RowStyle::Dim).and(&turn.digest, RowStyle::Strong)
}
