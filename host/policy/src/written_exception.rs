//! The exceptions that stand in the files of a policy folder, in force or not.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use leafgate_diagnostic::Diagnostics;
use leafgate_diagnostic::keys::Table;
use leafgate_vault::TokenKeys;

use crate::explain::TableExplanation;
use crate::file::raw;
use crate::load::read_text;

/// What the ids of exceptions are tokens of.
const LABEL: &str = "EXCEPTION";

/// An exception as it stands in a file.
#[derive(Clone, Debug)]
pub struct WrittenException {
    /// What names it in this installation: sixteen letters and digits, others as soon as the table says anything else. Two tables that
    /// say the same share it.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub table: TableExplanation,
}

/// Returns the exceptions of a policy folder, in the order in which its files are read; none for a folder that is not there.
///
/// # Errors
/// When the folder or a rule file cannot be read, as a sentence. What is wrong within a file is for whoever loads the policy.
pub fn written_exceptions(folder: &Path, keys: &TokenKeys) -> Result<Vec<WrittenException>, String> {
    let listing = match leafgate_folder::list(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("{} cannot be read: {error}", folder.display())),
    };
    let mut all = Vec::new();
    for path in listing.rules {
        let text = read_text(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        let mut diagnostics = Diagnostics::default();
        let file = diagnostics.add_file_of(folder, &path, text);
        for raw in raw::read(file, &mut diagnostics).exceptions {
            let (name, line) = (diagnostics.name(file), diagnostics.line(file, &raw.span()));
            let raw = raw.get_ref();
            let token = keys.token(LABEL, &raw.says().to_string());
            let id = token.as_str().trim_start_matches(LABEL).trim_start_matches('_').to_owned();
            let table = TableExplanation::of_exception(&format!("{name}:{line}"), raw.says_starred());
            all.push(WrittenException { id, path: path.clone(), table });
        }
    }
    Ok(all)
}
