//! Words of other notations where a glob stands: sound, and never true. What was probably meant.

use std::ops::Range;

use leafgate_diagnostic::Complaints;

/// What a word is instead of a glob, and what to write.
pub(super) struct Meant {
    pub(super) why: &'static str,
    pub(super) hint: String,
}

/// Signs of regular expressions that no name of a tool or a model has.
const SIGNS: [char; 9] = ['^', '$', '\\', '[', ']', '(', ')', '{', '}'];

const GLOB: &str = "a glob is for the whole of a name: `*` stands for any characters, `?` for one";

/// Returns what a word is where the name of a tool or a model stands, if that is no glob.
pub(super) fn of_name(word: &str, field: &str) -> Option<Meant> {
    if let Some(meant) = of_text(word, field) {
        return Some(meant);
    }
    let meant = |why, hint| Some(Meant { why, hint });
    match word.split_once('(') {
        Some((tool, arguments)) if field != "model" => {
            let arguments = arguments.trim_end_matches([')', '*', ':']);
            let hint = format!(
                "write `{field} = \"{tool}\"`, and ask for its arguments in `when = 'leaf.arguments.contains(\"{arguments}\")'`"
            );
            meant("it has the notation of a permission", hint)
        }
        _ if word.contains(',') => meant("it is several names", list(word, ',', field)),
        _ if word.contains(SIGNS) => meant("it is a regular expression, and a glob is wanted", glob(word)),
        _ if word.contains(char::is_whitespace) => meant("names have no blanks", GLOB.to_owned()),
        _ => None,
    }
}

/// Returns what a word is where any text may stand, if that is hardly a glob.
pub(super) fn of_text(word: &str, field: &str) -> Option<Meant> {
    let meant = |why, hint| Some(Meant { why, hint });
    if let Some(other) = word.strip_prefix('!').filter(|other| !other.is_empty()) {
        let hint = match field {
            "keep" => format!("write `drop = \"{other}\"`"),
            "drop" => format!("write `keep = \"{other}\"`"),
            _ => format!("write `{field} = {{ not = \"{other}\" }}`"),
        };
        return meant("a glob has no `!`", hint);
    }
    match word {
        _ if word.contains('|') => meant("a glob has no `|`", list(word, '|', field)),
        // A folder may be called `.*`.
        _ if word.starts_with('^') || word.ends_with('$') || word.contains(".*") && !word.contains("/.*") => {
            meant("it is a regular expression, and a glob is wanted", glob(word))
        }
        _ => None,
    }
}

/// Warns of a word where the name of a tool or a model stands.
pub(super) fn warn_of_name(word: &str, span: Range<usize>, field: &str, complaints: &mut Complaints<'_>) {
    let noun = if field == "model" { "model" } else { "tool" };
    if let Some(Meant { why, hint }) = of_name(word, field) {
        complaints.warning(span, format!("no {noun} is called `{word}`: {why}"), hint);
    }
}

/// Warns of a word where any text may stand.
pub(super) fn warn_of_text(word: &str, span: Range<usize>, field: &str, complaints: &mut Complaints<'_>) {
    if let Some(Meant { why, hint }) = of_text(word, field) {
        complaints.warning(span, format!("`{word}` is taken as it is written: {why}"), hint);
    }
}

fn list(words: &str, separator: char, field: &str) -> String {
    let words: Vec<String> = words
        .split(separator)
        .map(|word| word.trim().trim_start_matches('^').trim_end_matches('$'))
        .map(|word| format!("\"{word}\""))
        .collect();
    format!("write a list: `{field} = [{}]`", words.join(", "))
}

/// A hint with the glob that stands for a regular expression, where there is one.
fn glob(word: &str) -> String {
    let anchored = word.starts_with('^') || word.ends_with('$');
    let name = word.trim_start_matches('^').trim_end_matches('$').replace(".*", "*");
    let before = if anchored && !word.starts_with('^') && !name.starts_with('*') { "*" } else { "" };
    let behind = if anchored && !word.ends_with('$') && !name.ends_with('*') { "*" } else { "" };
    let glob = [before, &name, behind].concat();
    match glob.contains(SIGNS) {
        true => GLOB.to_owned(),
        false => format!("write `{glob}`: {GLOB}"),
    }
}
