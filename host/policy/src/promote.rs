//! A rule that only counted becomes one that acts, in the text of its file.

use std::path::{Path, PathBuf};

use leafgate_diagnostic::{Diagnostics, hint_for};
use toml::Spanned;

use crate::file::raw::{self, RawRule, rows, said};
use crate::load::read_text;
use crate::rule::Mode;

/// A file of rules, as it is and as it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub before: String,
    /// The same with a rule that acts.
    pub after: String,
}

/// Why no rule is promoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromoteError {
    /// The folder, or a file in it, cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// No file of the folder has it.
    #[error("no file of {} has a rule `{rule}`: {hint}", folder.display())]
    NoRule {
        /// The folder.
        folder: PathBuf,
        /// The rule.
        rule: String,
        /// Rules that there are.
        hint: String,
    },
    /// It acts.
    #[error("rule `{0}` acts already: it has no `mode = \"monitor\"` or `\"warn\"`")]
    Acts(String),
    /// It is written so that its mode cannot be replaced.
    #[error("{}: rule `{rule}` is written in one line: take its mode out by hand", path.display())]
    Inline {
        /// The file.
        path: PathBuf,
        /// The rule.
        rule: String,
    },
}

/// Returns the file of a rule as it would be if the rule acted. Nothing is written; remarks and everything
/// else in it stay as they are.
///
/// # Errors
/// When there is no such rule in the folder, or it acts already.
pub fn promotion(folder: &Path, rule: &str) -> Result<Promotion, PromoteError> {
    let listing = leafgate_folder::list(folder)
        .map_err(|error| PromoteError::Unreadable(format!("{} cannot be read: {error}", folder.display())))?;
    let mut ids = Vec::new();
    for path in listing.rules {
        let before =
            read_text(&path).map_err(|why| PromoteError::Unreadable(format!("{}: {why}", path.display())))?;
        let mut diagnostics = Diagnostics::default();
        let file = diagnostics.add_file(path.display().to_string(), before.clone());
        let read = raw::read(file, &mut diagnostics);
        let of_file = said(&read.mode).unwrap_or(Mode::Enforce);
        for raw in rows(&read.rules).iter().map(Spanned::get_ref) {
            let Some(id) = &raw.id else { continue };
            if id.get_ref() == rule {
                let after = acting(&before, raw, of_file, rule, &path)?;
                return Ok(Promotion { path, before, after });
            }
            ids.push(id.get_ref().clone());
        }
    }
    let known: Vec<&str> = ids.iter().map(String::as_str).collect();
    let hint = hint_for(rule, &known);
    Err(PromoteError::NoRule { folder: folder.to_owned(), rule: rule.to_owned(), hint })
}

/// Returns the text with this rule acting.
fn acting(text: &str, raw: &RawRule, of_file: Mode, rule: &str, path: &Path) -> Result<String, PromoteError> {
    let enforce = format!("\"{}\"", Mode::Enforce.name());
    match &raw.mode {
        None if of_file == Mode::Enforce => Err(PromoteError::Acts(rule.to_owned())),
        Some(mode) if *mode.get_ref() == Mode::Enforce => Err(PromoteError::Acts(rule.to_owned())),
        Some(mode) => {
            let (start, end) = line_around(text, mode.span().start);
            let is_alone = text[start..].trim_start().starts_with("mode");
            let mut after = text.to_owned();
            match is_alone && of_file == Mode::Enforce {
                true => after.replace_range(start..end, ""),
                false => after.replace_range(mode.span(), &enforce),
            }
            Ok(after)
        }
        None => {
            // Its file says how all its rules begin, so it must say itself that it does not.
            let id = raw.id.as_ref().map(Spanned::span).unwrap_or_default();
            let (start, end) = line_around(text, id.start);
            if !text[start..].trim_start().starts_with("id") {
                return Err(PromoteError::Inline { path: path.to_owned(), rule: rule.to_owned() });
            }
            let mut after = text.to_owned();
            let newline = if text[..end].ends_with('\n') { "" } else { "\n" };
            after.insert_str(end, &format!("{newline}mode = {enforce}\n"));
            Ok(after)
        }
    }
}

/// Returns where the line of a place begins, and where the next one does.
fn line_around(text: &str, place: usize) -> (usize, usize) {
    let start = text[..place].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[place..].find('\n').map_or(text.len(), |newline| place + newline + 1);
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "# why\n[[rule]]\nid = \"a\"  # first\nmatch = {}\naction = \"block\"\n";

    fn promoted(text: &str, rule: &str) -> Result<String, PromoteError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("rules.toml"), text).unwrap();
        let promotion = promotion(folder.path(), rule)?;
        assert_eq!((promotion.before.as_str(), promotion.path.ends_with("rules.toml")), (text, true));
        Ok(promotion.after)
    }

    #[test]
    fn a_mode_goes_with_its_line_and_nothing_else_changes() {
        let monitored = RULE.replace("match", "mode = \"monitor\" # for now\nmatch");
        assert_eq!(promoted(&monitored, "a").unwrap(), RULE);
        let warned = RULE.replace("match", "  mode='warn'\nmatch");
        assert_eq!(promoted(&warned, "a").unwrap(), RULE);
    }

    #[test]
    fn a_rule_of_a_file_that_only_counts_says_that_it_acts() {
        let file = format!("mode = \"monitor\"\n{RULE}");
        let acting = file.replace("# first\n", "# first\nmode = \"enforce\"\n");
        assert_eq!(promoted(&file, "a").unwrap(), acting);
        let own = file.replace("match", "mode = \"warn\"\nmatch");
        assert_eq!(promoted(&own, "a").unwrap(), file.replace("match", "mode = \"enforce\"\nmatch"));
        assert_eq!(promoted(&acting, "a").unwrap_err(), PromoteError::Acts("a".to_owned()));
    }

    #[test]
    fn what_cannot_be_promoted_is_said() {
        assert_eq!(
            promoted(RULE, "a").unwrap_err().to_string(),
            "rule `a` acts already: it has no `mode = \"monitor\"` or `\"warn\"`"
        );
        let unknown = promoted(RULE, "b").unwrap_err().to_string();
        assert!(unknown.contains("has a rule `b`") && unknown.contains('a'), "{unknown}");
        let inline = "mode = \"warn\"\nrule = [{ id = \"a\", match = {}, action = \"block\" }]\n";
        assert!(matches!(promoted(inline, "a"), Err(PromoteError::Inline { .. })));
        let own = inline.replace("id =", "mode = \"monitor\", id =");
        assert!(promoted(&own, "a").unwrap().contains("mode = \"enforce\", id ="));
    }
}
