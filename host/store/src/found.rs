//! The line of a text in which words were found.

/// Characters that are shown of it, and how many of them stand before the first word.
const SHOWN: usize = 160;
const BEFORE: usize = 40;

/// Returns of some texts the line that has most of some words, as far as it is shown; `None` where none has
/// any, as where they are spelled with other accents.
pub(crate) fn line_with(words: &[String], texts: &[String]) -> Option<String> {
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
pub(crate) fn line_of_piece(words: &[String], piece: String) -> Option<String> {
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
    let (mut strings, mut start, mut escaped) = (Vec::new(), None, false);
    for (at, byte) in json.bytes().enumerate() {
        match (start, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(begin), b'"') => {
                strings.extend(serde_json::from_str(&json[begin..=at]).ok());
                start = None;
            }
            (None, b'"') => start = Some(at),
            _ => {}
        }
    }
    strings
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
