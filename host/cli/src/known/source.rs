//! Where known values come from: files, a command, and what was added by hand. Each is read into
//! memory that is wiped, and only fingerprints are handed on.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use leafgate_config::Settings;
use leafgate_detect::{KnownKey, KnownValue, NotKnown, named_values};
use leafgate_folder::Stamp;
use serde::Serialize;
use zeroize::Zeroizing;

use super::kept::AddedValues;
use super::{files, values_of};
use crate::kept::KeptRecord as _;
use crate::print::Cell;
use crate::{child, home};

/// A longer file is no file of settings.
const MOST_FILE: u64 = 1 << 20;

/// A password manager may ask its owner something.
const COMMAND_TIME: Duration = Duration::from_secs(60);

/// What the settings say about known values.
#[derive(Clone)]
pub(crate) struct KnownSource {
    files: Vec<String>,
    command: Option<String>,
    /// Where patterns begin.
    folder: PathBuf,
}

/// A file, or a pattern that names none.
#[derive(Serialize)]
pub(super) struct ReadFile {
    pub(super) path: String,
    #[serde(flatten)]
    pub(super) fate: FileFate,
    #[serde(skip)]
    known: Vec<KnownValue>,
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(super) enum FileFate {
    Read { values: usize, too_short: usize, common: usize },
    Absent,
}

impl FileFate {
    /// Returns how many values a file gives, and what is said of others.
    pub(super) fn told(&self) -> (Cell, String) {
        let FileFate::Read { values, too_short, common } = *self else {
            return (Cell::number("-"), ": matches no file".to_owned());
        };
        let short = format!(", and {too_short} too short to be looked for");
        let words = format!(
            ", and {common} that any text holds, such as words (`leafgate known add` has one found all the same)"
        );
        let told = [(too_short, short), (common, words)].into_iter().filter(|(count, _)| *count > 0);
        (values.into(), told.map(|(_, told)| told).collect())
    }
}

/// How the sources look from outside: it changes with them.
pub(super) type Stamps = Vec<(PathBuf, Option<Stamp>)>;

impl KnownSource {
    pub(crate) fn of(settings: &Settings) -> Self {
        KnownSource {
            files: settings.texts("known.files").to_vec(),
            command: settings.text("known.command").map(ToOwned::to_owned),
            folder: settings.text("workspace").unwrap_or(".").into(),
        }
    }

    /// Whether nothing is named and nothing was added.
    pub(super) fn is_empty(&self) -> anyhow::Result<bool> {
        Ok(self.files.is_empty() && self.command.is_none() && self.added()?.is_empty())
    }

    /// Returns whether a pattern names files of the workspace now.
    pub(crate) fn reads_workspace(&self) -> anyhow::Result<bool> {
        for pattern in &self.files {
            let is_there = !pattern.starts_with("~/") && !Path::new(pattern).is_absolute();
            if is_there && !files::named(pattern, &self.folder)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the values of files and of the command.
    pub(super) fn outside(&self, key: &KnownKey) -> anyhow::Result<Vec<KnownValue>> {
        let mut all: Vec<KnownValue> =
            self.read_files(key)?.into_iter().flat_map(|file| file.known).collect();
        all.extend(self.read_command(key)?.unwrap_or_default());
        Ok(all)
    }

    /// Returns the values that were added by hand.
    pub(super) fn added(&self) -> anyhow::Result<Vec<KnownValue>> {
        let kept = AddedValues::of(&home::data_folder()?)?;
        Ok(kept.values.iter().map(|value| value.known.clone()).collect())
    }

    pub(super) fn read_files(&self, key: &KnownKey) -> anyhow::Result<Vec<ReadFile>> {
        let mut read: Vec<ReadFile> = Vec::new();
        for pattern in &self.files {
            let named = files::named(pattern, &self.folder)?;
            if named.is_empty() {
                read.push(ReadFile { path: pattern.clone(), fate: FileFate::Absent, known: Vec::new() });
            }
            for path in named {
                let path_text = path.display().to_string();
                if !read.iter().any(|known| known.path == path_text) {
                    read.push(read_file(&path, key).with_context(|| {
                        format!(
                            "{path_text} of `known.files` cannot be read, so its values would leave unseen"
                        )
                    })?);
                }
            }
        }
        Ok(read)
    }

    /// Runs the command; `None` where there is none.
    pub(super) fn read_command(&self, key: &KnownKey) -> anyhow::Result<Option<Vec<KnownValue>>> {
        let Some(command) = &self.command else { return Ok(None) };
        // What it says on standard error its owner reads.
        let written = child::within(COMMAND_TIME, MOST_FILE, child::shell(command).stdout(Stdio::piped()));
        let written = written.context("`known.command` gave no values")?;
        let values = values_of(&written, false, key).context("a value of `known.command` cannot be used")?;
        Ok(Some(values))
    }

    /// Looks at the sources without reading them.
    pub(super) fn stamp(&self) -> Stamps {
        let named =
            self.files.iter().flat_map(|pattern| files::named(pattern, &self.folder).unwrap_or_default());
        let kept = home::data_folder().map(|data| data.join(AddedValues::FILE)).ok();
        let stamped = |path: PathBuf| (path.clone(), Stamp::at(&path));
        named.chain(kept).map(stamped).collect()
    }
}

fn read_file(path: &Path, key: &KnownKey) -> anyhow::Result<ReadFile> {
    let size = fs::metadata(path)?.len();
    ensure!(size <= MOST_FILE, "it has more than {MOST_FILE} bytes");
    let mut bytes = Zeroizing::new(Vec::with_capacity(size as usize + 1));
    File::open(path)?.take(MOST_FILE + 1).read_to_end(&mut bytes)?;
    let text = std::str::from_utf8(&bytes).ok().context("it is no text")?;
    let (mut known, mut too_short) = (Vec::new(), 0);
    let named = named_values(text);
    let common = named.iter().filter(|named| named.common).count();
    for named in named.into_iter().filter(|named| named.secret) {
        match key.value(named.value) {
            Ok(value) => known.push(value),
            Err(NotKnown::TooShort | NotKnown::TooPlain) => too_short += 1,
            Err(error) => return Err(error.into()),
        }
    }
    let fate = FileFate::Read { values: known.len(), too_short, common };
    Ok(ReadFile { path: path.display().to_string(), fate, known })
}
