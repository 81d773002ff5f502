//! Finds requests by the words that were said in them, and the lines that say them.

use rusqlite::params;
use serde::Serialize;

use crate::lists::RequestLine;
use crate::log::{AnswerView, Log, LogError};
use crate::schema::{message_of, request_of, text_of, words_of};
use crate::tokens::{JsonTokenKind, JsonTokens};

/// A request in which words were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundRequest {
    /// What lists show of it.
    #[serde(flatten)]
    pub request: RequestLine,
    /// The line that says them first, as the log has it, or the part of it around them; `None` where the
    /// words are spelled otherwise there, as with accents.
    pub found: Option<String>,
}

impl Log {
    /// Returns the requests in which words appear for the first time, and those in whose answers or ids of messages they
    /// do: all the words, in any order, the newest request first. A turn that only repeats what was
    /// said before is not among them.
    ///
    /// # Errors
    /// When there is no word, or the log cannot be read.
    pub fn search(
        &self,
        words: &str,
        before: Option<i64>,
        most: usize,
    ) -> Result<Vec<FoundRequest>, LogError> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Err(LogError::Refused("nothing to search for: give a word, or several".to_owned()));
        }
        let asked: Vec<String> =
            words.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
        let before = words_of(before.unwrap_or(i64::MAX >> 32), 0);
        let mut found = self.database.prepare_cached(
            "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC",
        )?;
        let (mut lines, mut last) = (Vec::new(), None);
        // The newest stand first, so what is behind the page is not looked at.
        let mut rows = found.query(params![asked.join(" "), before])?;
        while let Some(row) = rows.next()? {
            let place = row.get(0)?;
            let id = request_of(place);
            if last.replace(id) == Some(id) {
                continue;
            }
            if let Some((request, pieces)) = self.line_and_pieces(id)? {
                let found = match place == message_of(id) {
                    true => request.message.clone(),
                    false => self.line_with(&words, id, &pieces, text_of(place))?,
                };
                lines.push(FoundRequest { request, found });
            }
            if lines.len() == most {
                break;
            }
        }
        Ok(lines)
    }

    /// Returns the line with some words of a text that can be searched: of the answer, or of a piece of the
    /// body.
    fn line_with(
        &self,
        words: &[String],
        id: i64,
        pieces: &[i64],
        text: usize,
    ) -> Result<Option<String>, LogError> {
        let Some(place) = text.checked_sub(1) else {
            let Some(AnswerView { content, reasoning, calls, .. }) = self.answer(id)? else {
                return Ok(None);
            };
            let calls = calls.into_iter().map(|call| format!("{} {}", call.name, call.arguments));
            let texts: Vec<String> = [content, reasoning].into_iter().chain(calls).collect();
            return Ok(line_with(words, &texts));
        };
        let Some(&piece) = pieces.get(place) else { return Ok(None) };
        let piece = self.piece(id, piece)?;
        Ok(line_of_piece(words, String::from_utf8_lossy(&piece).into_owned()))
    }
}

/// Characters that are shown of a line, and how many of them stand before the first word.
const SHOWN: usize = 160;
const BEFORE: usize = 40;

/// Returns of some texts the line that has most of some words, as far as it is shown; `None` where none has
/// any, as where they are spelled with other accents.
fn line_with(words: &[String], texts: &[String]) -> Option<String> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let mut best: Option<(usize, &str, usize)> = None;
    for line in texts.iter().flat_map(|text| text.lines()) {
        let lower = line.to_lowercase();
        let found: Vec<usize> = words.iter().filter_map(|word| lower.find(word.as_str())).collect();
        let Some(first) = found.iter().min() else { continue };
        if best.is_none_or(|(most, ..)| found.len() > most) {
            best = Some((found.len(), line, lower[..*first].chars().count()));
        }
    }
    best.map(|(_, line, first)| around(line, first))
}

/// Returns the same of a piece of a body: of a string, where it is JSON.
fn line_of_piece(words: &[String], piece: String) -> Option<String> {
    line_with(words, &strings(&piece)).or_else(|| line_with(words, &[piece]))
}

/// Returns a line with what is far from one of its characters left out.
fn around(line: &str, at: usize) -> String {
    let skipped = at.saturating_sub(BEFORE);
    let shown: String = line.chars().skip(skipped).take(SHOWN).collect();
    let (before, behind) = (skipped > 0, line.chars().nth(skipped + SHOWN).is_some());
    format!("{}{}{}", if before { "…" } else { "" }, shown.trim(), if behind { "…" } else { "" })
}

/// Returns the strings of JSON that may begin and end between two members or elements.
fn strings(json: &str) -> Vec<String> {
    let strings = JsonTokens::new(json.as_bytes()).filter(|token| token.kind == JsonTokenKind::String);
    strings.filter_map(|string| serde_json::from_slice(string.text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &str, piece: &str) -> Option<String> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        line_of_piece(&words, piece.to_owned())
    }

    #[test]
    fn the_line_with_most_of_the_words_is_shown() {
        let piece = r#","content":"One deploys.\nThen \"Deploy\" to ‹HOST›\tnow"},{"deploy":1"#;
        assert_eq!(found("deploy", piece).unwrap(), "One deploys.");
        assert_eq!(found("now deploy", piece).unwrap(), "Then \"Deploy\" to ‹HOST›\tnow");
        assert_eq!(found("absent", piece), None);
        assert_eq!(found("plain", "no \"JSON\"\nbut plain text").unwrap(), "but plain text");
    }

    #[test]
    fn of_a_long_line_what_stands_around_the_word_is_shown() {
        let long = format!("{} İ Needle {}", "é".repeat(300), "z".repeat(300));
        let shown = found("needle", &long).unwrap();
        assert!(shown.starts_with('…') && shown.ends_with('…') && shown.contains("Needle"), "{shown}");
        assert_eq!(shown.chars().count(), SHOWN + 2);
    }
}
