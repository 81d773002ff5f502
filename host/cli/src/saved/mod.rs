//! `saved`: the edits that a person saved, of a running gate or on disk, and `trust`.
//!
//! Where a gate runs, it is asked: it knows those of its conversations too. Else the files are.

mod files;
pub(crate) mod trust;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use leafgate_admin::{
    ApiError, ArmCapture, CaptureTurn, CapturedEdits, ClearSaved, ErrorCode, SavedDiff, SavedEditView,
    SavedList, SavedScope, SetSaved,
};
use leafgate_gate::{SavedFiles, SavedStore, saved_views};

pub(crate) use self::files::SavedFolder;
use crate::admin::AdminClient;
use crate::ask;
use crate::exit::Exit;
use crate::options::{SavedCommand, SavedGateArgs, SetSavedArgs};
use crate::print::{Printer, Style};
use crate::table::Cell;
use crate::{runtime, words};

pub(crate) fn run(
    args: &SavedGateArgs,
    command: &SavedCommand,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    Caller { source: SavedSource::find(args)?, printer }.run(command)
}

/// Where saved edits are looked up.
enum SavedSource {
    Gate(Box<AdminClient>),
    Files(SavedFolder),
}

impl SavedSource {
    fn find(args: &SavedGateArgs) -> anyhow::Result<SavedSource> {
        let running = match args.workspace {
            None => runtime::find_if_any(&runtime::folder()?, args.gate.name.as_ref())?,
            Some(_) => None,
        };
        Ok(match running {
            Some(gate) => SavedSource::Gate(Box::new(AdminClient::new(&gate)?)),
            None => SavedSource::Files(SavedFolder::open(args.workspace.as_deref().unwrap_or(".".as_ref()))?),
        })
    }

    /// The gate that this command cannot do without.
    fn gate(&self) -> anyhow::Result<&AdminClient> {
        match self {
            SavedSource::Gate(gate) => Ok(gate),
            SavedSource::Files(_) => {
                anyhow::bail!("no gate runs that could do this: start one with `leafgate run`")
            }
        }
    }
}

struct Caller<'a> {
    source: SavedSource,
    printer: &'a mut Printer,
}

impl Caller<'_> {
    fn run(&mut self, command: &SavedCommand) -> anyhow::Result<Exit> {
        match command {
            SavedCommand::List => self.list(),
            SavedCommand::Show { id } => self.show(id),
            SavedCommand::Diff { id } => {
                self.printer.show(&self.source.gate()?.view::<SavedDiff>(id)?, print_diff)
            }
            SavedCommand::Remove(remove) => match (&remove.id, remove.scope) {
                (Some(id), _) => self.remove(id),
                (None, scope) => {
                    let which = scope.map_or("the scope in which edits are saved", SavedScope::name);
                    ask::for_yes(&format!("Remove all saved edits of {which}?"), remove.yes, self.printer)?;
                    self.clear(scope)
                }
            },
            SavedCommand::Capture(capture) => {
                let command = CaptureTurn {
                    scope: capture.scope,
                    on_drift: capture.on_drift,
                    export: capture.export.is_some(),
                };
                self.capture(capture.turn.as_deref(), &command, capture.export.as_deref())
            }
            SavedCommand::Set(set) => {
                let SetSavedArgs { scope, preview_limit, on_drift } = *set;
                let list = self.source.gate()?.command("", &SetSaved { scope, preview_limit, on_drift })?;
                self.printer.show(&list, print_list)
            }
        }
    }

    fn list(&mut self) -> anyhow::Result<Exit> {
        let files = match &self.source {
            SavedSource::Gate(gate) => return self.printer.show(&gate.view::<SavedList>("")?, print_list),
            SavedSource::Files(folder) => folder.read(),
        };
        let shown = FilesShown { edits: &saved_views(&files), problems: &files.problems };
        self.printer.show(&shown, |shown, printer| {
            printer.error_line("no gate runs: these are the saved edits on disk");
            print_edits(shown.edits, shown.problems, printer)
        })
    }

    fn show(&mut self, id: &str) -> anyhow::Result<Exit> {
        let edit = match &self.source {
            SavedSource::Gate(gate) => gate.view(id)?,
            SavedSource::Files(folder) => named(&folder.read(), id)?,
        };
        self.printer.show(&edit, print_edit)
    }

    fn remove(&mut self, id: &str) -> anyhow::Result<Exit> {
        match &self.source {
            SavedSource::Gate(gate) => self.printer.show(&gate.remove_saved(id)?, print_list),
            SavedSource::Files(folder) => match folder.remove(id)? {
                true => self.list(),
                false => Err(unknown(id).into()),
            },
        }
    }

    fn clear(&mut self, scope: Option<SavedScope>) -> anyhow::Result<Exit> {
        match &self.source {
            SavedSource::Gate(gate) => {
                self.printer.show(&gate.command("", &ClearSaved { scope })?, print_list)
            }
            SavedSource::Files(folder) => {
                match scope {
                    Some(scope @ (SavedScope::Workspace | SavedScope::Global)) => folder.clear(scope)?,
                    _ => anyhow::bail!("no gate runs: on disk are edits of --scope workspace and global"),
                }
                self.list()
            }
        }
    }

    fn capture(
        &mut self,
        turn: Option<&str>,
        command: &CaptureTurn,
        export: Option<&Path>,
    ) -> anyhow::Result<Exit> {
        let gate = self.source.gate()?;
        let Some(turn) = turn else {
            return self.printer.show(&gate.command("", &ArmCapture {})?, print_list);
        };
        let captured = gate.command(turn, command)?;
        if let (Some(path), Some(file)) = (export, &captured.file) {
            let written = File::create_new(path).and_then(|mut new| new.write_all(file.expose().as_bytes()));
            written.with_context(|| format!("cannot write the new file {}", path.display()))?;
        }
        self.printer.show(&captured, tell)
    }
}

fn print_list(list: &SavedList, printer: &mut Printer) -> io::Result<()> {
    printer.text(Style::Strong, &list.status.title)?;
    printer.line(&format!("  {}", list.status.subtitle))?;
    print_edits(&list.edits, &list.problems, printer)
}

fn print_edits(edits: &[SavedEditView], problems: &[String], printer: &mut Printer) -> io::Result<()> {
    printer.none(edits.len(), "no edits are saved");
    let row = |edit: &SavedEditView| {
        let misfit = edit.last.as_ref().filter(|last| !last.fits);
        let why = misfit.map(|last| format!("did not fit: {}", last.why.as_deref().unwrap_or(&last.outcome)));
        [
            Cell::new(Style::Strong, &*edit.id),
            edit.scope.name().into(),
            edit.action.as_str().into(),
            edit.path.as_str().into(),
            Cell::new(Style::Dim, edit.updated_at.to_string()),
            Cell::new(Style::Error, why.unwrap_or_default()),
        ]
    };
    printer.table(["id", "scope", "edit", "place", "saved", "last turn"], edits.iter().map(row))?;
    problems.iter().for_each(|problem| printer.error_line(&format!("leafgate: {problem}")));
    Ok(())
}

fn print_edit(edit: &SavedEditView, printer: &mut Printer) -> io::Result<()> {
    print_edits(std::slice::from_ref(edit), &[], printer)?;
    let leaf = edit.leaf.map(|leaf| format!(", leaf {leaf}")).unwrap_or_default();
    printer.facts(&[
        ("format", edit.format.clone()),
        ("role", edit.role.to_string()),
        ("section", format!("{}{leaf}", edit.section)),
        ("pointer", edit.pointer.clone()),
        ("replaces", format!("a text with the digest {}", edit.replaces)),
        ("on drift", edit.on_drift.label().to_owned()),
    ])?;
    match &edit.text {
        Some(text) => printer.text(Style::Added, &format!("{}\n", text.expose())),
        None => Ok(()),
    }
}

fn print_diff(diff: &SavedDiff, printer: &mut Printer) -> io::Result<()> {
    printer.text(Style::Strong, &diff.edit.title)?;
    printer.inline(Style::Dim, &format!("  {} {}", diff.edit.action, diff.edit.path), 0)?;
    printer.line("")?;
    match (&diff.before, &diff.after) {
        (Some(before), Some(after)) => words::print(before.expose(), after.expose(), printer)?,
        (None, Some(after)) => printer.text(Style::Added, &format!("  {{+{}+}}\n", after.expose()))?,
        _ => printer.line("  left out")?,
    }
    if diff.before.is_none() && diff.edit.action == "set" {
        printer.error_line("the old text is not kept: it is known once this run of the gate has met it");
    }
    Ok(())
}

/// Tells what was saved of a turn.
pub(crate) fn tell(captured: &CapturedEdits, printer: &mut Printer) -> io::Result<()> {
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
