//! Which folders' own saved edits count: `.leafgate/saved.toml` of a project, as somebody trusted it.
//!
//! A file that comes with a project could take anything out of requests, or put anything in. So it
//! counts only after `leafgate trust DIR`, and only as it was then: what is kept is the digest of
//! the file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use leafgate_saved::SavedFile;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::files::read_text;
use crate::options::TrustArgs;
use crate::print::{Cell, Exit, Printer, Row, Style, counted};
use crate::{home, private};

/// Cells of a line that shows how a text begins.
const FIRST_WORDS: usize = 100;

const TRUSTED_FILE: &str = "trusted.toml";

/// The file that is kept.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Trusted {
    #[serde(default, rename = "folder")]
    folders: Vec<TrustedFolder>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct TrustedFolder {
    path: PathBuf,
    sha256: String,
}

/// The file that says what is trusted.
pub(super) fn file(data: &Path) -> PathBuf {
    data.join(TRUSTED_FILE)
}

/// The saved edits of a project.
pub(super) fn project_file(folder: &Path) -> PathBuf {
    folder.join(".leafgate/saved.toml")
}

/// Returns the saved edits of a folder's own file, where there is one.
///
/// # Errors
/// Why they do not count: the file is not trusted as it is, or cannot be used.
pub(super) fn trusted_edits(data: &Path, folder: &Path) -> anyhow::Result<Option<SavedFile>> {
    let path = project_file(folder);
    if !path.try_exists().unwrap_or(true) {
        return Ok(None);
    }
    let text = read_text(&path).map_err(|error| anyhow!(error))?;
    let trusted = Trusted::read(data)?;
    let why = match trusted.folders.iter().find(|known| known.path == folder) {
        Some(known) if known.sha256 == digest(&text) => {
            let file = SavedFile::parse(&text);
            return file.map(Some).with_context(|| format!("{} cannot be used", path.display()));
        }
        Some(_) => "has changed since it was trusted",
        None => "is not trusted",
    };
    bail!(
        "{} {why}, so its edits are not used: look at it, then run `leafgate trust {}`",
        path.display(),
        folder.display()
    )
}

fn digest(text: &str) -> String {
    base16ct::lower::encode_string(&Sha256::digest(text.as_bytes()))
}

impl Trusted {
    fn read(data: &Path) -> anyhow::Result<Trusted> {
        let path = file(data);
        let found = private::if_there(fs::read_to_string(&path));
        let text = found.with_context(|| format!("cannot read {}", path.display()))?.unwrap_or_default();
        toml::from_str(&text)
            .with_context(|| format!("{} cannot be used: remove it, and trust again", path.display()))
    }

    fn write(&self, data: &Path) -> anyhow::Result<()> {
        let text = toml::to_string_pretty(self)?;
        private::write(data, TRUSTED_FILE, text.as_bytes())
            .with_context(|| format!("cannot write {}", file(data).display()))
    }
}

/// What `trust --list --json` says of a folder.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TrustView<'a> {
    path: &'a Path,
    sha256: &'a str,
    /// Whether the edits of its file are used.
    counts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Trusts a folder, takes that back, or lists what is trusted.
pub(crate) fn run(args: &TrustArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let data = home::data_folder()?;
    match &args.folder {
        None => list(&data, printer),
        Some(folder) if args.remove => remove(&data, folder, printer),
        Some(folder) => trust(&data, folder, printer),
    }
}

fn trust(data: &Path, folder: &Path, printer: &mut Printer) -> anyhow::Result<Exit> {
    let folder = fs::canonicalize(folder).with_context(|| format!("{} is no folder", folder.display()))?;
    let path = project_file(&folder);
    let text = read_text(&path).map_err(|error| anyhow!(error))?;
    let saved = SavedFile::parse(&text).with_context(|| format!("{} cannot be used", path.display()))?;
    let mut trusted = Trusted::read(data)?;
    trusted.folders.retain(|known| known.path != folder);
    trusted.folders.push(TrustedFolder { path: folder.clone(), sha256: digest(&text) });
    trusted.folders.sort_by(|one, other| one.path.cmp(&other.path));
    trusted.write(data)?;
    let shown = TrustView { path: &folder, sha256: &digest(&text), counts: true, why: None };
    printer.show(&shown, |_, printer| {
        let edits = counted(saved.edits.len(), "saved edit");
        printer.line(&format!("{} is trusted as it is now, with {edits}:", path.display()))?;
        for edit in &saved.edits {
            printer.text(Style::Strong, &format!("  {} {}\n", edit.action, edit.path))?;
            if let Some(text) = &edit.text {
                printer.rows(&[Row::of(&format!("    {text}"), Style::Added).cut(FIRST_WORDS)])?;
            }
        }
        io::Result::Ok(())
    })
}

fn remove(data: &Path, folder: &Path, printer: &mut Printer) -> anyhow::Result<Exit> {
    // A folder that is gone is named as it was.
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let mut trusted = Trusted::read(data)?;
    let before = trusted.folders.len();
    trusted.folders.retain(|known| known.path != folder);
    if trusted.folders.len() == before {
        bail!("{} is not trusted: `leafgate trust --list` shows what is", folder.display());
    }
    trusted.write(data)?;
    let shown = folder.display();
    printer.tell(&json!({ "removed": shown.to_string() }), &format!("{shown} is trusted no longer"))
}

fn list(data: &Path, printer: &mut Printer) -> anyhow::Result<Exit> {
    let trusted = Trusted::read(data)?;
    let shown = trusted.folders.iter().map(|known| {
        let why = match trusted_edits(data, &known.path) {
            Ok(Some(_)) => None,
            Ok(None) => Some("it has no `.leafgate/saved.toml`".to_owned()),
            Err(error) => Some(format!("{error:#}")),
        };
        TrustView { path: &known.path, sha256: &known.sha256, counts: why.is_none(), why }
    });
    printer.show(&shown.collect::<Vec<_>>(), |shown, printer| {
        printer.none(shown.len(), "no folder is trusted");
        let row = |folder: &TrustView<'_>| {
            let (used, why) = match &folder.why {
                None => (Cell::new(Style::Added, "used"), String::new()),
                Some(why) => (Cell::new(Style::Error, "not used"), format!(": {why}")),
            };
            [used, format!("{}{why}", folder.path.display()).into()]
        };
        printer.table(["edits", "folder"], shown.iter().map(row))
    })
}
