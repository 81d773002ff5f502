//! `vscode`: has VS Code and its kin send what they ask of models through the standing gate, and gives
//! their settings back.
//!
//! Nothing is changed before everything could be: each file is read, and may be written. What was
//! changed is kept in `vscode.json` of the data folder before any file is, so that a crash loses no
//! value of the user's. A file is led from what it was before, so leading twice is leading once.

mod editors;
mod files;
mod jsonc;
mod led;
mod models;
mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

pub(crate) use self::editors::installed;
pub(crate) use self::editors::{Edition, SettingsFolder};
use self::editors::{EditorFile, editions};
use self::files::{UserFile, real_path};
use self::led::{SettingChanges, give_back};
pub(crate) use self::models::Names;
pub(crate) use self::status::{EditorReport, NOT_SEEN, not_seen};
use crate::home;
use crate::kept::KeptRecord;
use crate::print::{Exit, Printer};
use crate::standing::{self, Need, Standing, StandingRecord};

#[derive(Subcommand)]
pub(crate) enum VscodeCommand {
    /// Lead Copilot and the models of your own through the gate, in all editors that are found
    On(EditorArgs),
    /// Give the settings back as they were
    Off(EditorArgs),
    /// Say what goes through the gate and what past it; exit code 1 where something goes past it
    Status(EditorArgs),
}

/// Which settings.
#[derive(Args)]
pub(crate) struct EditorArgs {
    /// The folder of another editor's data, as its own option of that name, or its `User` folder;
    /// without it, those of VS Code, Insiders, VSCodium, code-server and remote servers
    #[arg(long = "user-data-dir", visible_alias = "dir", value_name = "DIR")]
    folders: Vec<PathBuf>,
}

impl EditorArgs {
    /// Returns the folders that are named, or all that are there.
    fn folders(&self) -> Vec<SettingsFolder> {
        match &self.folders[..] {
            [] => installed(None),
            named => named.iter().map(|folder| SettingsFolder::at(folder)).collect(),
        }
    }
}

pub(crate) fn run(command: &VscodeCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        VscodeCommand::On(args) => on(&args.folders(), printer),
        VscodeCommand::Off(args) => off(args, printer),
        VscodeCommand::Status(args) => status::run(&args.folders(), printer),
    }
}

/// Returns whether some file leads to this gate.
pub(crate) fn is_led(listen: &str) -> bool {
    let record = home::data_folder().and_then(|data| Record::read(&data));
    record.is_ok_and(|record| record.gate == listen && !record.files.is_empty())
}

/// What was changed in which files of settings.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Record {
    /// The gate that the files lead to.
    gate: String,
    files: BTreeMap<PathBuf, SettingChanges>,
}

impl KeptRecord for Record {
    const FILE: &'static str = "vscode.json";
    const MEND: &'static str = "restore it, for it says what settings of VS Code were before, or remove it and mend the settings by hand";
}

/// A file that is to lead to the gate.
struct Leading {
    editor: String,
    kind: EditorFile,
    path: PathBuf,
    file: UserFile,
    /// What it was before it led anywhere.
    before: Option<String>,
}

impl Leading {
    fn read(editor: &str, kind: EditorFile, path: &Path, record: &Record) -> anyhow::Result<Leading> {
        let path = real_path(path)?;
        let file = UserFile::read(&path)?;
        let wrong = || format!("{} is not changed", path.display());
        let before = match (file.text()?, record.files.get(&path)) {
            (Some(text), Some(changes)) => give_back(text, changes).with_context(wrong)?.text,
            (text, _) => text.map(str::to_owned),
        };
        Ok(Leading { editor: editor.to_owned(), kind, path, file, before })
    }

    /// Returns the text that leads there, and what that changes.
    fn led(&self, gate: &str, names: &Names) -> anyhow::Result<(String, SettingChanges)> {
        let led = led::lead(self.before.as_deref(), self.kind, gate, names);
        led.with_context(|| format!("{} is not changed", self.path.display()))
    }
}

fn on(folders: &[SettingsFolder], printer: &mut Printer) -> anyhow::Result<Exit> {
    if folders.is_empty() {
        let known: Vec<_> = editions().iter().map(|edition| edition.name).collect();
        bail!("no settings of {} are found: name the folder of yours with --user-data-dir", known.join(", "));
    }
    let standing = Standing::lock()?;
    let data = home::data_folder()?;
    let mut record = Record::read(&data)?;
    let files = to_lead(folders, &record)?;
    let StandingRecord { upstreams: mut names, url: last, .. } = StandingRecord::of_user()?;
    for file in files.iter().filter(|file| file.kind == EditorFile::Models) {
        let text = file.before.as_deref().unwrap_or_default();
        for target in
            models::targets(text, last.as_deref()).with_context(|| file.path.display().to_string())?
        {
            names.add(&target, &standing::is_usual);
        }
    }
    // Whatever is wrong with a file is known before anything begins.
    for file in &files {
        file.led("http://127.0.0.1:0", &names)?;
        file.file.ensure_writable()?;
    }
    standing.keep_upstreams(names.clone())?;
    let gate = standing.gate(Need::Editors, printer)?.listen;
    let led = files.iter().map(|file| file.led(&gate, &names)).collect::<anyhow::Result<Vec<_>>>()?;
    record.gate.clone_from(&gate);
    let (leading, other): (Vec<_>, Vec<_>) =
        files.iter().zip(&led).partition(|(_, (_, changes))| !changes.is_empty());
    for (file, (_, changes)) in &leading {
        record.files.insert(file.path.clone(), changes.clone());
    }
    record.write(&data)?;
    for (file, (text, _)) in &leading {
        file.file.replace(Some(text))?;
        printer.line(&format!("{}: {} leads to {gate}", file.editor, file.path.display()))?;
    }
    // What has nothing to lead any more is as it was before.
    for (file, _) in other {
        file.file.replace(file.before.as_deref())?;
        record.files.remove(&file.path);
    }
    record.write(&data)?;
    for (file, (text, _)) in files.iter().zip(&led) {
        for beyond in status::leaving(file.kind, text, &gate)?.1 {
            printer.line(&format!("{}: {beyond}", file.path.display()))?;
        }
    }
    printer.line(
        "An editor that runs follows at once. Agents in it that are Copilot CLI need a new window from `leafgate exec code .`.",
    )?;
    printer.line(&not_seen())?;
    printer.line("`leafgate vscode off` gives the settings back, `leafgate stop` ends the gate.")?;
    Ok(Exit::Done)
}

/// Returns the files of these folders, and those that were led before: the gate may have moved.
fn to_lead(folders: &[SettingsFolder], record: &Record) -> anyhow::Result<Vec<Leading>> {
    let mut files: Vec<Leading> = Vec::new();
    let mut add = |editor: &str, kind, path: &Path| {
        let file = Leading::read(editor, kind, path, record)?;
        if files.iter().all(|known| known.path != file.path) {
            files.push(file);
        }
        anyhow::Ok(())
    };
    for folder in folders {
        for &kind in EditorFile::ALL {
            folder.files(kind).iter().try_for_each(|path| add(&folder.editor, kind, path))?;
        }
    }
    for path in record.files.keys().filter(|path| path.exists()) {
        let kind = EditorFile::ALL.iter().copied().find(|kind| path.ends_with(kind.name()));
        add("led before", kind.unwrap_or(EditorFile::Settings), path)?;
    }
    Ok(files)
}

fn off(args: &EditorArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let _standing = Standing::lock()?;
    let data = home::data_folder()?;
    let mut record = Record::read(&data)?;
    let folders = args.folders.iter().map(|folder| real_path(SettingsFolder::at(folder).path()));
    let folders = folders.collect::<anyhow::Result<Vec<_>>>()?;
    let is_meant = |path: &Path| folders.is_empty() || folders.iter().any(|folder| path.starts_with(folder));
    let paths: Vec<PathBuf> = record.files.keys().filter(|path| is_meant(path)).cloned().collect();
    if paths.is_empty() {
        printer.error_line("leafgate: no settings lead to the gate");
        return Ok(Exit::Done);
    }
    let mut exit = Exit::Done;
    for path in paths {
        let changes = &record.files[&path];
        let given = give_back_file(&path, changes);
        match given.with_context(|| format!("{} stays as it is", path.display())) {
            Ok(left) => {
                record.files.remove(&path);
                printer.line(&format!("{} is as it was", path.display()))?;
                for name in left {
                    printer.error_line(&format!("leafgate: but for {name}, which was changed meanwhile"));
                }
            }
            Err(error) => {
                printer.error_line(&format!("leafgate: {error:#}"));
                exit = Exit::Bad;
            }
        }
    }
    record.write(&data)?;
    if let Some(gate) = standing::running()?.filter(|_| record.files.is_empty()) {
        printer.line(&format!("The gate at {} goes on: `leafgate stop` ends it.", gate.listen))?;
    }
    Ok(exit)
}

/// Gives a file back; returns what was changed meanwhile.
fn give_back_file(path: &Path, changes: &SettingChanges) -> anyhow::Result<Vec<String>> {
    let file = UserFile::read(path)?;
    let Some(text) = file.text()? else { return Ok(Vec::new()) };
    let given = give_back(text, changes)?;
    file.replace(given.text.as_deref())?;
    Ok(given.left)
}
