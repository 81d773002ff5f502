//! `pending`: the approval prompt's calls, one a command, for scripts.
//!
//! With `--json` each writes the answer of the admin API. Ids are numbers that count up, so they
//! are given whole: a prefix of one is the id of another turn.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use leafgate_admin::{ApiError, EditCommand, Pending, ShownText, TurnSummary, TurnView};
use leafgate_review::rows::{self, Row, RowStyle};
use leafgate_review::{AdminApi, Outline, ended, leaf_authors};

use crate::admin::AdminClient;
use crate::args::{EditArgs, EditChange, GateArgs, PendingCommand, ResumeArgs, TurnArgs};
use crate::exit::Exit;
use crate::print::Printer;
use crate::saved;
use crate::status::refused;

pub(crate) fn run(command: &PendingCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    let args = command.gate();
    let mut caller = Caller { gate: AdminClient::new(&args.find()?)?, json: args.json, printer };
    let done = match command {
        PendingCommand::List(_) => caller.list(),
        PendingCommand::Show(turn) => caller.show(turn),
        PendingCommand::Diff(turn) => caller.diff(turn),
        PendingCommand::Edit(edit) => caller.edit(edit),
        PendingCommand::Resume(resume) => caller.resume(resume),
        PendingCommand::Cancel(turn) => caller.cancel(turn),
    };
    match done.map_err(|error| error.downcast::<ApiError>()) {
        Ok(()) => {
            printer.flush()?;
            Ok(Exit::Done)
        }
        Err(Ok(error)) => refused(&error, args.json, printer),
        Err(Err(error)) => Err(error),
    }
}

impl PendingCommand {
    fn gate(&self) -> &GateArgs {
        match self {
            PendingCommand::List(gate) => gate,
            PendingCommand::Show(turn) | PendingCommand::Diff(turn) | PendingCommand::Cancel(turn) => {
                &turn.gate
            }
            PendingCommand::Edit(edit) => &edit.turn.gate,
            PendingCommand::Resume(resume) => &resume.turn.gate,
        }
    }
}

/// Makes calls and prints their answers.
struct Caller<'a> {
    gate: AdminClient,
    json: bool,
    printer: &'a mut Printer,
}

impl Caller<'_> {
    fn list(&mut self) -> anyhow::Result<()> {
        let turns = self.gate.pending()?;
        if self.json {
            return Ok(self.printer.json(&Pending { turns })?);
        }
        if turns.is_empty() {
            let idle = self.gate.mode().ok().and_then(|mode| mode.idle);
            self.printer.error_line(&format!("no turn waits. {}", idle.unwrap_or_default()));
        }
        let width = turns.iter().map(|turn| turn.id.len()).max().unwrap_or(0);
        let listed = |turn: &TurnSummary| {
            let mut row = Row::of(&format!("{:>width$} ", turn.id), RowStyle::Strong);
            row.0.extend(rows::list_row(turn).0);
            row
        };
        let rows: Vec<Row> = turns.iter().map(listed).collect();
        Ok(self.printer.rows(&rows)?)
    }

    fn show(&mut self, args: &TurnArgs) -> anyhow::Result<()> {
        if self.json {
            return Ok(self.printer.json(&self.gate.request(&args.id)?)?);
        }
        Ok(self.printer.rows(&in_full(&self.gate.turn(&args.id)?))?)
    }

    fn diff(&mut self, args: &TurnArgs) -> anyhow::Result<()> {
        let diff = self.gate.diff(&args.id)?;
        match self.json {
            true => Ok(self.printer.json(&diff)?),
            false => Ok(self.printer.rows(&rows::diff_rows(&diff))?),
        }
    }

    fn edit(&mut self, args: &EditArgs) -> anyhow::Result<()> {
        let command = command(&args.change)?;
        let turn = self.gate.edit(&args.turn.id, command)?;
        if self.json {
            return Ok(self.printer.json(&turn)?);
        }
        self.printer.rows(&rows::header_rows(&turn))?;
        Ok(self.printer.rows(&[digest(&turn)])?)
    }

    fn resume(&mut self, args: &ResumeArgs) -> anyhow::Result<()> {
        let id = &args.turn.id;
        let digest = match &args.digest {
            Some(digest) => digest.clone(),
            None => {
                let digest = self.gate.turn(id)?.digest;
                self.printer.error_line(&format!(
                    "no --digest given: turn {id} is resumed as it stands at this moment, with digest {digest}"
                ));
                digest
            }
        };
        let resumed = self.gate.resume(id, &digest)?;
        if self.json {
            return Ok(self.printer.json(&resumed)?);
        }
        self.over(&resumed.turn)?;
        resumed.captured.iter().try_for_each(|captured| saved::tell(captured, self.printer))
    }

    fn cancel(&mut self, args: &TurnArgs) -> anyhow::Result<()> {
        let summary = self.gate.cancel(&args.id)?;
        self.over(&summary)
    }

    fn over(&mut self, summary: &TurnSummary) -> anyhow::Result<()> {
        match self.json {
            true => Ok(self.printer.json(summary)?),
            false => Ok(self.printer.line(&format!("turn {}: {}", summary.id, ended(summary.state)))?),
        }
    }
}

/// Returns the edit of the call. clap ensures that it is exactly one.
fn command(change: &EditChange) -> anyhow::Result<EditCommand> {
    let set = |pointer: &str, text: String| EditCommand::Set {
        pointer: pointer.to_owned(),
        text: ShownText::new(text),
    };
    if let Some([pointer, text]) = change.set.as_deref() {
        return Ok(set(pointer, text.clone()));
    }
    if let Some([pointer, file]) = change.set_file.as_deref() {
        return Ok(set(pointer, text_of(file)?));
    }
    if let Some([before, text]) = change.insert_before.as_deref() {
        return Ok(EditCommand::Insert { before: before.clone(), text: ShownText::new(text.clone()) });
    }
    if let Some(redaction) = change.release {
        return Ok(EditCommand::Release { redaction });
    }
    let named = change.delete.as_ref().map(|key| EditCommand::Delete { section: key.clone() });
    let named = named.or(change.restore.as_ref().map(|key| EditCommand::Restore { section: key.clone() }));
    match named {
        Some(command) => Ok(command),
        None if change.undo => Ok(EditCommand::Undo),
        None if change.redo => Ok(EditCommand::Redo),
        None => Ok(EditCommand::Reset),
    }
}

/// Reads a leaf's new text from a file, its last newline included.
fn text_of(file: &str) -> anyhow::Result<String> {
    let read = if file == "-" {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(Path::new(file))
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
        let mut head = Row::of(&indent, RowStyle::Plain);
        head.0.extend(rows::section_head(section, entry).0);
        shown.push(head.and(&format!("  key {}", section.key), RowStyle::Dim));
        for leaf in &section.leaves {
            let row = rows::leaf_row(leaf, entry.depth + 1, &leaf_authors(turn, leaf)).cut(LINE);
            shown.push(row.and(&format!("  {}", leaf.pointer), RowStyle::Dim));
            let indent = "  ".repeat(entry.depth + 2);
            shown.extend(rows::redaction_rows(leaf).into_iter().map(|row| {
                let mut indented = Row::of(&indent, RowStyle::Plain);
                indented.0.extend(row.0);
                indented
            }));
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
