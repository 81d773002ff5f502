//! `saved`: the edits that a person saved, of a running gate or on disk, and `trust`.
//!
//! Where a gate runs, it is asked: it knows those of its conversations too. Else the files are.

mod files;
pub(crate) mod trust;

use std::fs::File;
use std::io::{self, Write};

use anyhow::{Context, bail};
use leafgate_admin::{
    ApiError, ArmCapture, CaptureTurn, CapturedEdits, ClearSaved, ErrorCode, SavedDiff, SavedEditView,
    SavedList, SavedScope, SetSaved,
};
use leafgate_gate::{SavedStore, saved_views};
use leafgate_review::rows::text_diff_rows;
use leafgate_review::{Level, Notice, captured_notice};

pub(crate) use self::files::SavedFolder;
use crate::admin::AdminClient;
use crate::options::{CaptureArgs, RemoveArgs, SavedCommand, SavedGateArgs, SetSavedArgs};
use crate::print::{Cell, Exit, Printer, Row, Style};
use crate::runtime;

pub(crate) fn run(
    args: &SavedGateArgs,
    command: &SavedCommand,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let source = SavedSource::find(args)?;
    match (command, &source) {
        (SavedCommand::List, SavedSource::Gate(gate)) => {
            printer.show(&gate.view::<SavedList>("")?, print_list)
        }
        (SavedCommand::List, SavedSource::Files(folder)) => list(folder, printer),
        (SavedCommand::Show { id }, SavedSource::Gate(gate)) => printer.show(&gate.view(id)?, print_edit),
        (SavedCommand::Show { id }, SavedSource::Files(folder)) => {
            let edit = saved_views(&folder.read()).into_iter().find(|edit| edit.id == *id);
            printer.show(&edit.ok_or_else(|| unknown(id))?, print_edit)
        }
        (SavedCommand::Diff { id }, _) => printer.show(&source.gate()?.view::<SavedDiff>(id)?, print_diff),
        (SavedCommand::Remove(RemoveArgs { id: Some(id), .. }), SavedSource::Gate(gate)) => {
            printer.show(&gate.remove_saved(id)?, print_list)
        }
        (SavedCommand::Remove(RemoveArgs { id: Some(id), .. }), SavedSource::Files(folder)) => {
            match folder.remove(id)? {
                true => list(folder, printer),
                false => Err(unknown(id).into()),
            }
        }
        (SavedCommand::Remove(RemoveArgs { scope, yes, .. }), _) => {
            let which = scope.map_or("the scope in which edits are saved", SavedScope::name);
            printer.ask_for_yes(&format!("Remove all saved edits of {which}?"), *yes)?;
            clear(&source, *scope, printer)
        }
        (SavedCommand::Capture(args), _) => capture(source.gate()?, args, printer),
        (SavedCommand::Set(SetSavedArgs { scope, preview_limit, on_drift }), _) => {
            let set = SetSaved { scope: *scope, preview_limit: *preview_limit, on_drift: *on_drift };
            printer.show(&source.gate()?.command("", &set)?, print_list)
        }
    }
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
                bail!("no gate runs that could do this: start one with `leafgate run`")
            }
        }
    }
}

fn list(folder: &SavedFolder, printer: &mut Printer) -> anyhow::Result<Exit> {
    let files = folder.read();
    let shown = FilesShown { edits: &saved_views(&files), problems: &files.problems };
    printer.show(&shown, |shown, printer| {
        printer.error_line("no gate runs: these are the saved edits on disk");
        print_edits(shown.edits, shown.problems, printer)
    })
}

fn clear(source: &SavedSource, scope: Option<SavedScope>, printer: &mut Printer) -> anyhow::Result<Exit> {
    let folder = match source {
        SavedSource::Gate(gate) => {
            return printer.show(&gate.command("", &ClearSaved { scope })?, print_list);
        }
        SavedSource::Files(folder) => folder,
    };
    match scope {
        Some(scope @ (SavedScope::Workspace | SavedScope::Global)) => folder.clear(scope)?,
        _ => bail!("no gate runs: on disk are edits of --scope workspace and global"),
    }
    list(folder, printer)
}

fn capture(gate: &AdminClient, args: &CaptureArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let CaptureArgs { turn, scope, on_drift, export } = args;
    let Some(turn) = turn else { return printer.show(&gate.command("", &ArmCapture {})?, print_list) };
    let command = CaptureTurn { scope: *scope, on_drift: *on_drift, export: export.is_some() };
    let captured = gate.command(turn, &command)?;
    if let (Some(path), Some(file)) = (export, &captured.file) {
        let written = File::create_new(path).and_then(|mut new| new.write_all(file.expose().as_bytes()));
        written.with_context(|| format!("cannot write the new file {}", path.display()))?;
    }
    printer.show(&captured, tell)
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
    let what = format!("  {} {}", diff.edit.action, diff.edit.path);
    printer.rows(&[Row::of(&diff.edit.title, Style::Strong).and(&what, Style::Dim)])?;
    match &diff.after {
        Some(after) => {
            let before = diff.before.as_ref().map_or("", |before| before.expose());
            printer.rows(&text_diff_rows(before, after.expose()))?;
        }
        None => printer.line("  left out")?,
    }
    if diff.before.is_none() && diff.edit.action == "set" {
        printer.error_line("the old text is not kept: it is known once this run of the gate has met it");
    }
    Ok(())
}

/// Tells what was saved of a turn.
pub(crate) fn tell(captured: &CapturedEdits, printer: &mut Printer) -> io::Result<()> {
    let Notice { level, text } = captured_notice(captured);
    match level {
        Level::Done => printer.line(&text)?,
        Level::Warning | Level::Error => printer.error_line(&format!("leafgate: {text}")),
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

fn unknown(id: &str) -> ApiError {
    ApiError {
        code: ErrorCode::NotFound,
        message: format!("there is no saved edit {id}"),
        hint: Some("`leafgate saved list` shows the ids".to_owned()),
    }
}
