//! `saved`: the edits that a person saved, of a running gate or on disk, and `trust`.
//!
//! Where a gate runs, it is asked: it knows those of its conversations too. Else the files are.

mod files;
pub(crate) mod trust;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use leafgate_admin::{
    ApiError, CaptureTurn, CapturedEdits, ClearSaved, ErrorCode, SavedEditView, SavedList, SavedScope,
    SetSaved,
};
use leafgate_gate::{SavedFiles, SavedStore, saved_views};

pub(crate) use self::files::SavedFolder;
use crate::admin::AdminClient;
use crate::args::{SavedCommand, SavedGateArgs};
use crate::exit::Exit;
use crate::print::{Printer, Style};
use crate::status::refused;
use crate::{runtime, words};

pub(crate) fn run(command: &SavedCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    let args = command.gate();
    let source = Source::find(args)?;
    let done = Caller { source, json: args.gate.json, printer }.run(command);
    match done.map_err(|error| error.downcast::<ApiError>()) {
        Ok(()) => {
            printer.flush()?;
            Ok(Exit::Done)
        }
        Err(Ok(error)) => refused(&error, args.gate.json, printer),
        Err(Err(error)) => Err(error),
    }
}

/// Where saved edits are looked up.
enum Source {
    Gate(Box<AdminClient>),
    Files(SavedFolder),
}

impl Source {
    fn find(args: &SavedGateArgs) -> anyhow::Result<Source> {
        let running = match args.workspace {
            None => runtime::find_if_any(&runtime::folder()?, args.gate.name())?,
            Some(_) => None,
        };
        Ok(match running {
            Some(gate) => Source::Gate(Box::new(AdminClient::new(&gate)?)),
            None => Source::Files(SavedFolder::open(args.workspace.as_deref().unwrap_or(".".as_ref()))?),
        })
    }

    /// The gate that this command cannot do without.
    fn gate(&self) -> anyhow::Result<&AdminClient> {
        match self {
            Source::Gate(gate) => Ok(gate),
            Source::Files(_) => {
                anyhow::bail!("no gate runs that could do this: start one with `leafgate run`")
            }
        }
    }
}

struct Caller<'a> {
    source: Source,
    json: bool,
    printer: &'a mut Printer,
}

impl Caller<'_> {
    fn run(&mut self, command: &SavedCommand) -> anyhow::Result<()> {
        match command {
            SavedCommand::List(_) => self.list(),
            SavedCommand::Show(edit) => self.show(&edit.id),
            SavedCommand::Diff(edit) => self.diff(&edit.id),
            SavedCommand::Remove(remove) => match (&remove.id, remove.scope) {
                (Some(id), _) => self.remove(id),
                (None, scope) => self.clear(scope.map(SavedScope::from)),
            },
            SavedCommand::Capture(capture) => {
                let command = CaptureTurn {
                    scope: capture.scope.map(SavedScope::from),
                    on_drift: capture.on_drift.map(Into::into),
                    export: capture.export.is_some(),
                };
                self.capture(capture.turn.as_deref(), command, capture.export.as_deref())
            }
            SavedCommand::Set(set) => {
                let command = SetSaved {
                    scope: set.scope.map(SavedScope::from),
                    preview_limit: set.preview_limit,
                    on_drift: set.on_drift.map(Into::into),
                };
                let list = self.source.gate()?.set_saved(&command)?;
                self.listed(&list)
            }
        }
    }

    fn list(&mut self) -> anyhow::Result<()> {
        let files = match &self.source {
            Source::Gate(gate) => {
                let list = gate.saved()?;
                return self.listed(&list);
            }
            Source::Files(folder) => folder.read(),
        };
        let edits = saved_views(&files);
        if self.json {
            return Ok(self.printer.json(&FilesShown { edits: &edits, problems: &files.problems })?);
        }
        self.printer.error_line("no gate runs: these are the saved edits on disk");
        self.edits(&edits)?;
        self.problems(&files.problems);
        Ok(())
    }

    fn listed(&mut self, list: &SavedList) -> anyhow::Result<()> {
        if self.json {
            return Ok(self.printer.json(list)?);
        }
        self.printer.text(Style::Heading, &list.status.title)?;
        self.printer.line(&format!("  {}", list.status.subtitle))?;
        self.edits(&list.edits)?;
        self.problems(&list.problems);
        Ok(())
    }

    fn edits(&mut self, edits: &[SavedEditView]) -> anyhow::Result<()> {
        if edits.is_empty() {
            self.printer.error_line("no edits are saved");
        }
        for edit in edits {
            self.head(edit)?;
        }
        Ok(())
    }

    fn head(&mut self, edit: &SavedEditView) -> anyhow::Result<()> {
        self.printer.text(Style::Heading, &edit.id)?;
        self.printer.inline(
            Style::Plain,
            &format!("  {:9} {:6} {}", edit.scope.name(), edit.action, edit.path),
            0,
        )?;
        self.printer.text(Style::Faint, &format!("  saved {}", edit.updated_at))?;
        if let Some(last) = edit.last.as_ref().filter(|last| !last.fits) {
            let why = last.why.as_deref().unwrap_or(&last.outcome);
            self.printer.text(Style::Removed, &format!("  did not fit: {why}"))?;
        }
        Ok(self.printer.line("")?)
    }

    fn problems(&mut self, problems: &[String]) {
        problems.iter().for_each(|problem| self.printer.error_line(&format!("leafgate: {problem}")));
    }

    fn show(&mut self, id: &str) -> anyhow::Result<()> {
        let edit = match &self.source {
            Source::Gate(gate) => gate.saved_edit(id)?,
            Source::Files(folder) => named(&folder.read(), id)?,
        };
        if self.json {
            return Ok(self.printer.json(&edit)?);
        }
        self.head(&edit)?;
        let on_drift = match edit.on_drift {
            leafgate_admin::OnDrift::Skip => "the turn is sent without it",
            leafgate_admin::OnDrift::Pause => "the turn waits for a person",
        };
        let leaf = edit.leaf.map(|leaf| format!(", leaf {leaf}")).unwrap_or_default();
        for (name, text) in [
            ("format", edit.format.clone()),
            ("role", edit.role.to_string()),
            ("section", format!("{}{leaf}", edit.section)),
            ("pointer", edit.pointer.clone()),
            ("replaces", format!("a text with the digest {}", edit.replaces)),
            ("on drift", on_drift.to_owned()),
        ] {
            self.printer.text(Style::Faint, &format!("  {name:9}"))?;
            self.printer.inline(Style::Plain, &text, 0)?;
            self.printer.line("")?;
        }
        if let Some(text) = &edit.text {
            self.printer.text(Style::Added, text.expose())?;
            self.printer.line("")?;
        }
        Ok(())
    }

    fn diff(&mut self, id: &str) -> anyhow::Result<()> {
        let diff = self.source.gate()?.saved_diff(id)?;
        if self.json {
            return Ok(self.printer.json(&diff)?);
        }
        self.printer.text(Style::Heading, &diff.edit.title)?;
        self.printer.inline(Style::Faint, &format!("  {} {}", diff.edit.action, diff.edit.path), 0)?;
        self.printer.line("")?;
        match (&diff.before, &diff.after) {
            (Some(before), Some(after)) => words::print(before.expose(), after.expose(), self.printer)?,
            (None, Some(after)) => {
                self.printer.text(Style::Added, &format!("  {{+{}+}}", after.expose()))?;
                self.printer.line("")?;
            }
            _ => self.printer.line("  left out")?,
        }
        if diff.before.is_none() && diff.edit.action == "set" {
            self.printer
                .error_line("the old text is not kept: it is known once this run of the gate has met it");
        }
        Ok(())
    }

    fn remove(&mut self, id: &str) -> anyhow::Result<()> {
        match &self.source {
            Source::Gate(gate) => {
                let list = gate.remove_saved(id)?;
                self.listed(&list)
            }
            Source::Files(folder) => match folder.remove(id)? {
                true => self.list(),
                false => Err(unknown(id).into()),
            },
        }
    }

    fn clear(&mut self, scope: Option<SavedScope>) -> anyhow::Result<()> {
        match &self.source {
            Source::Gate(gate) => {
                let list = gate.clear_saved(&ClearSaved { scope })?;
                self.listed(&list)
            }
            Source::Files(folder) => {
                match scope {
                    Some(SavedScope::Workspace) => folder.clear(leafgate_saved::Scope::Workspace)?,
                    Some(SavedScope::Global) => folder.clear(leafgate_saved::Scope::Global)?,
                    _ => anyhow::bail!("no gate runs: on disk are edits of --scope workspace and global"),
                }
                self.list()
            }
        }
    }

    fn capture(
        &mut self,
        turn: Option<&str>,
        command: CaptureTurn,
        export: Option<&Path>,
    ) -> anyhow::Result<()> {
        let gate = self.source.gate()?;
        let Some(turn) = turn else {
            let list = gate.arm_capture()?;
            return self.listed(&list);
        };
        let captured = gate.capture(turn, &command)?;
        if let (Some(path), Some(file)) = (export, &captured.file) {
            let written = File::create_new(path).and_then(|mut new| new.write_all(file.expose().as_bytes()));
            written.with_context(|| format!("cannot write the new file {}", path.display()))?;
        }
        match self.json {
            true => Ok(self.printer.json(&captured)?),
            false => tell(&captured, self.printer),
        }
    }
}

/// Tells what was saved of a turn.
pub(crate) fn tell(captured: &CapturedEdits, printer: &mut Printer) -> anyhow::Result<()> {
    let saved = captured.edits.len();
    let edits = if saved == 1 { "edit is" } else { "edits are" };
    let place = match captured.scope {
        SavedScope::Session => "for the conversation",
        SavedScope::Workspace => "for the workspace",
        SavedScope::Project => "in the file",
        SavedScope::Global => "for all requests",
    };
    printer.line(&format!("{saved} {edits} saved {place}"))?;
    for left in &captured.left_out {
        printer.error_line(&format!("leafgate: not saved: {}: {}", left.path, left.why));
    }
    if let Some(why) = &captured.not_saved {
        printer.error_line(&format!("leafgate: nothing was saved: {why}"));
    }
    Ok(())
}

/// What `saved list --json` says of the files.
#[derive(serde::Serialize)]
struct FilesShown<'a> {
    edits: &'a [SavedEditView],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    problems: &'a [String],
}

fn named(files: &SavedFiles, id: &str) -> Result<SavedEditView, ApiError> {
    saved_views(files).into_iter().find(|edit| edit.id == id).ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> ApiError {
    ApiError {
        code: ErrorCode::NotFound,
        message: format!("there is no saved edit {id}"),
        hint: Some("`leafgate saved list` shows the ids".to_owned()),
    }
}

/// The beginning of a text, for a line.
fn first_words(text: &str) -> String {
    const SHOWN: usize = 96;
    let mut words: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        words.push('…');
    }
    format!("    {words}")
}
