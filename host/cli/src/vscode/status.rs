//! `vscode status`: what of an editor's requests goes through the gate, and what past it.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use serde::Serialize;

use super::editors::{EditorFile, SettingsFolder};
use super::files::{UserFile, real_path};
use super::jsonc::Jsonc;
use super::{led, models};
use crate::admin::AdminClient;
use crate::mode::unguarded;
use crate::print::{Exit, Printer, Style};
use crate::standing::{self, StandingRecord};

/// What no setting leads through a gate.
pub(crate) const NOT_SEEN: &str = "what VS Code sends to github.com itself (login, code search with its uploads of code, \
attachments of chats, telemetry), and extensions that ask models by themselves.";

/// Says it.
pub(crate) fn not_seen() -> String {
    format!("Not seen: {NOT_SEEN}")
}

/// What editors send where.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EditorReport {
    /// The gate that stands; `None` where none runs.
    gate: Option<String>,
    /// Why it guards nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    unguarded: Option<String>,
    files: Vec<FileReport>,
    not_seen: &'static str,
}

/// One file of settings.
#[derive(Debug, Serialize)]
struct FileReport {
    editor: String,
    path: PathBuf,
    /// What `leafgate vscode on` would lead.
    past: Vec<String>,
    /// What it cannot lead.
    beyond: Vec<String>,
    /// A window that began without the variables of `leafgate exec`.
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<String>,
}

impl EditorReport {
    /// Looks at the settings in these folders.
    pub(crate) fn of(folders: &[SettingsFolder]) -> anyhow::Result<EditorReport> {
        let running = standing::running()?;
        let listen = match &running {
            Some(gate) => Some(gate.listen.clone()),
            None => StandingRecord::of_user()?.url,
        };
        let mut files = Vec::new();
        for folder in folders {
            for &kind in EditorFile::ALL {
                for path in folder.files(kind) {
                    files.push(FileReport::of(folder, kind, path, listen.as_deref().unwrap_or_default())?);
                }
            }
        }
        let unguarded = match &running {
            None => None,
            Some(gate) => match AdminClient::new(gate)?.status() {
                Err(error) => Some(error.message),
                Ok(status) => unguarded(&status, &status.policy.source).map(|why| format!("it {why}")),
            },
        };
        Ok(EditorReport { gate: running.map(|gate| gate.listen), unguarded, files, not_seen: NOT_SEEN })
    }

    /// Returns why not all goes through the gate that could.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.gate.is_none() {
            return Some("no gate stands: `leafgate start` starts it".to_owned());
        }
        if let Some(why) = &self.unguarded {
            return Some(format!("everything passes the gate: {why}"));
        }
        if self.files.is_empty() {
            return Some(
                "no settings are found: `leafgate vscode on --user-data-dir DIR` leads those of a folder"
                    .to_owned(),
            );
        }
        let past = self.files.iter().find(|file| !file.past.is_empty())?;
        Some(format!(
            "{} leads past the gate ({}): `leafgate vscode on` leads it",
            past.path.display(),
            past.past.join(", ")
        ))
    }

    /// Returns what no setting leads.
    pub(crate) fn beyond(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|file| file.beyond.iter().chain(&file.window)).map(String::as_str)
    }

    /// Says in one line how it is.
    pub(crate) fn summary(&self) -> String {
        let led = || format!("{} files of settings lead to the gate", self.files.len());
        self.problem().unwrap_or_else(led)
    }
}

impl FileReport {
    fn of(
        folder: &SettingsFolder,
        kind: EditorFile,
        path: PathBuf,
        gate: &str,
    ) -> anyhow::Result<FileReport> {
        let file = UserFile::read(&real_path(&path)?)?;
        let text = file.text()?.unwrap_or_default();
        let wrong = || format!("{} cannot be looked into", path.display());
        let (past, beyond) = leaving(kind, text, gate).with_context(wrong)?;
        let window = match kind {
            EditorFile::Settings if path.parent() == Some(folder.path()) => window(folder, gate),
            _ => None,
        };
        Ok(FileReport { editor: folder.editor.clone(), path, past, beyond, window })
    }
}

/// Returns what of a file leads past the gate: what could lead there, and what cannot.
pub(super) fn leaving(
    kind: EditorFile,
    text: &str,
    gate: &str,
) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    if kind == EditorFile::Settings {
        return Ok((led::past(text, gate)?, Vec::new()));
    }
    let jsonc = Jsonc::parse(text)?;
    let (mut past, mut beyond) = (Vec::new(), Vec::new());
    let behind = format!("{gate}/");
    for model in models::models(&jsonc)?.iter().filter(|model| !model.address().starts_with(&behind)) {
        match model.split() {
            Some(_) => past.push(format!("the model {}", model.id)),
            None => beyond.push(format!("the model {} goes past the gate: {}", model.id, model.why_not())),
        }
    }
    beyond.extend(models::past_any(&jsonc)?);
    Ok((past, beyond))
}

pub(super) fn run(folders: &[SettingsFolder], printer: &mut Printer) -> anyhow::Result<Exit> {
    let report = EditorReport::of(folders)?;
    printer.show(&report, print)?;
    let all_goes_through = report.problem().is_none() && report.beyond().next().is_none();
    Ok(if all_goes_through { Exit::Done } else { Exit::Unmet })
}

fn print(report: &EditorReport, printer: &mut Printer) -> anyhow::Result<()> {
    match &report.gate {
        Some(gate) => printer.line(&format!("The gate stands at {gate}."))?,
        None => printer.line("No gate stands.")?,
    }
    for file in &report.files {
        let path = file.path.display();
        let said = match (&report.gate, file.past.is_empty()) {
            (_, false) => format!("leads past the gate: {}", file.past.join(", ")),
            (Some(_), true) => "leads to the gate".to_owned(),
            (None, true) => "leads to a gate that does not run".to_owned(),
        };
        printer.text(
            if file.past.is_empty() { Style::Plain } else { Style::Error },
            &format!("{}: {path} {said}\n", file.editor),
        )?;
        for beyond in file.beyond.iter().chain(&file.window) {
            printer.line(&format!("  {beyond}"))?;
        }
    }
    if let Some(problem) = report.problem() {
        printer.text(Style::Error, &format!("Not guarded: {problem}\n"))?;
    }
    printer.line(&not_seen())?;
    Ok(())
}

/// The variable that agents in a window ask Copilot by.
const COPILOT: &str = "COPILOT_API_URL";

/// Returns what is wrong with the window that runs with these settings, as far as the system shows it.
fn window(folder: &SettingsFolder, gate: &str) -> Option<String> {
    let lock = fs::read_to_string(folder.path().parent()?.join("code.lock")).ok()?;
    let process: u32 = lock.trim().parse().ok()?;
    let environment = fs::read(format!("/proc/{process}/environ")).ok()?;
    let wanted = format!("{COPILOT}={gate}/u/copilot");
    let is_led = environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes());
    (!is_led).then(|| {
        format!("its window (process {process}) began without {COPILOT}: agents in it that are Copilot CLI go past the gate. Close it, and `leafgate exec code .`")
    })
}
