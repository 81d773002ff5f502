//! The exceptions that stand in the files of a policy folder, in force or not.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use leafgate_diagnostic::{Complaints, Diagnostics};
use leafgate_vault::TokenKeys;

use crate::explain::TableExplanation;
use crate::file::raw;
use crate::load::read_text;

/// What the ids of exceptions are tokens of.
const LABEL: &str = "EXCEPTION";

/// An exception as it stands in a file. It has no `Debug`: the file may say the values themselves.
#[derive(Clone)]
pub struct WrittenException {
    /// What names it in this installation: sixteen letters and digits, others as soon as the table says anything else. Two tables that
    /// say the same share it.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub table: TableExplanation,
    /// Its place among those of its file, when that said this.
    place: usize,
    text: Arc<str>,
}

impl WrittenException {
    /// Returns the text of its file without it and the remarks above it; `None` for any other text than it was read from, where another
    /// table may stand in its place.
    pub fn taken_out_of(&self, text: &str) -> Option<String> {
        if text != &*self.text {
            return None;
        }
        let mut file: toml_edit::DocumentMut = text.parse().ok()?;
        match file.get_mut("exception")? {
            toml_edit::Item::ArrayOfTables(tables) if self.place < tables.len() => {
                _ = tables.remove(self.place)
            }
            toml_edit::Item::Value(toml_edit::Value::Array(tables)) if self.place < tables.len() => {
                tables.remove(self.place);
            }
            _ => return None,
        }
        Some(file.to_string())
    }
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
        let file = diagnostics.add_file_of(folder, &path, text.clone());
        let text: Arc<str> = text.into();
        let read = raw::read(file, &mut diagnostics);
        let complaints = Complaints { file, diagnostics: &mut diagnostics };
        for (place, raw) in raw::rows(&read.exceptions).iter().enumerate() {
            let origin = complaints.origin(&raw.span());
            let raw = raw.get_ref();
            // What is wrong in it is not among what it says.
            let broken_at = if raw.broken.is_empty() { String::new() } else { origin.to_string() };
            let token = keys.token(LABEL, &format!("{}{broken_at}", raw.says));
            let id = token.as_str().trim_start_matches(LABEL).trim_start_matches('_').to_owned();
            let table = TableExplanation::of_exception(&origin, raw.says_starred());
            all.push(WrittenException { id, path: path.clone(), table, place, text: Arc::clone(&text) });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use leafgate_vault::{ClientIdentity, InstallationKey};

    use super::*;

    const FIRST: &str =
        "[[exception]]\nvalue = \"a@example.org\"\nreason = \"r\"\nby = \"b\"\nuntil = \"never\"\n";
    const SECOND: &str = "\n# why not\n[[exception]]\nfinding = \"EMAIL_k7f3q2xw9mz4ab6c\"\nreason = \"r\"\nby = \"b\"\n\
                          until = 2027-03-31\n[exception.match]\nrole = \"user\"\n";
    const RULE: &str = "\n# of the rule\n[[rule]] # kept\nid = \"mail\"\nmatch = {}\n";

    fn written(text: &str) -> Vec<WrittenException> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.toml"), text).unwrap();
        let keys = TokenKeys::derive(&InstallationKey::from_bytes([1; 32]), &ClientIdentity::new("test"));
        written_exceptions(folder.path(), &keys).unwrap()
    }

    #[test]
    fn a_table_is_taken_out_and_nothing_else_changes() {
        let text = format!("# head\n{FIRST}{SECOND}{RULE}");
        let all = written(&text);
        assert_eq!(all.len(), 2);
        assert_eq!(all[1].taken_out_of(&text).unwrap(), format!("# head\n{FIRST}{RULE}"));
        let rest = all[0].taken_out_of(&text).unwrap();
        assert!(rest.ends_with(&format!("{SECOND}{RULE}")), "{rest}");
        // Its id is the same wherever it stands, and another for another text.
        let alone = written(&rest);
        assert_eq!((alone.len(), &alone[0].id), (1, &all[1].id));
        assert_ne!(written(&rest.replace("user", "tool"))[0].id, all[1].id);
        // Somebody put another one before it meanwhile: its place is that one's.
        assert_eq!(all[0].taken_out_of(&format!("{SECOND}{text}")), None);
        assert_eq!(all[1].taken_out_of(FIRST), None);
    }

    #[test]
    fn one_in_a_list_is_taken_out_too() {
        let text = "exception = [\n  { value = \"a\", reason = \"r\", by = \"b\", until = \"never\" },\n  { value = \"b\", reason = \"r\", by = \"b\", until = \"never\" },\n]\n";
        let rest = written(text)[0].taken_out_of(text).unwrap();
        assert!(!rest.contains("\"a\"") && written(&rest)[0].id == written(text)[1].id, "{rest}");
    }
}
