//! `[[detector]]` tables to detectors of the policy's own.
//!
//! One that does not find its own examples, or finds its counter-examples, is refused: it would
//! guard something else than its author thinks.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use leafgate_detect::{Confidence, DetectorId, Label};
use leafgate_diagnostic::{Complaints, OneOrMany};
use toml::Spanned;

use super::raw::{RawDetector, said, text, words_of};
use super::{matches, names, useless};
use crate::bounded::{Pattern, SYNTAX, compiled};
use crate::own::{OwnDetector, PACK, found_in};

/// Bytes of a compiled pattern: those of other scanners begin with long lists of names.
const REGEX_SIZE: usize = 10 << 20;
/// Words that all detectors of a policy may have.
const MAX_WORDS: usize = 200_000;
/// Bytes of a file of words.
const MAX_FILE: usize = 8 << 20;
/// Shorter words stand in every text.
const LEAST_WORD: usize = 2;
/// What a detector is called while the rest of it is checked, where its own id is none.
const UNNAMED: &str = "unnamed";
/// Shorter keywords call a pattern for every text.
const LEAST_KEYWORD: usize = 3;

/// The detectors of a policy, by id.
#[derive(Debug, Default)]
pub(crate) struct OwnDetectors {
    all: BTreeMap<String, Arc<OwnDetector>>,
    /// Ids of tables in which something is wrong: no rule that names one is told that it is unknown.
    broken: Vec<String>,
    words: usize,
}

impl OwnDetectors {
    /// Returns the detectors of a name: one, or the whole pack.
    pub(crate) fn named(&self, name: &str) -> Vec<Arc<OwnDetector>> {
        match name {
            PACK => self.all.values().cloned().collect(),
            name => self.all.get(name).cloned().into_iter().collect(),
        }
    }

    pub(crate) fn is_broken(&self, name: &str) -> bool {
        self.broken.iter().any(|id| id == name) || name == PACK && !self.broken.is_empty()
    }

    /// The names that rules can use.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let pack = (!self.all.is_empty()).then_some(PACK);
        pack.into_iter().chain(self.all.keys().map(String::as_str))
    }

    /// Compiles one table.
    pub(crate) fn add(&mut self, raw: &Spanned<RawDetector>, folder: &Path, complaints: &mut Complaints<'_>) {
        let before = complaints.diagnostics.errors();
        let header = raw.span();
        let raw = raw.get_ref();
        let (id, name) = self.own_id(raw, &header, complaints);
        let pattern = pattern(raw, complaints);
        let mut words = words("words", &raw.words, LEAST_WORD, complaints);
        words.extend(file_words(raw, folder, complaints));
        let names = self::words("names", &raw.names, LEAST_WORD, complaints);
        words.extend(names.iter().flat_map(|name| names::variants(name)));
        let mut keywords = self::words("keywords", &raw.keywords, LEAST_KEYWORD, complaints);
        for list in [&mut words, &mut keywords] {
            list.sort_unstable();
            list.dedup();
        }
        self.words += words.len() + keywords.len();
        if self.words > MAX_WORDS {
            let message = format!("the detectors have more than {MAX_WORDS} words together");
            complaints.error(header.clone(), message, "leave out what a pattern can say");
        }
        if pattern.is_none()
            && words.is_empty()
            && raw.broken.is_empty()
            && complaints.diagnostics.errors() == before
        {
            let hint = "`regex`, `words`, `names` or `words_file`";
            complaints.error(header.clone(), "a detector needs to know what to look for", hint);
        }
        if let Some(span) = raw.keywords.as_ref().map(Spanned::span).filter(|_| raw.regex.is_none()) {
            complaints.error(
                span,
                "`keywords` call a `regex`, and there is none",
                "write `words` to find the words themselves",
            );
        }
        // What it finds can be tried, whatever is wrong with its label.
        let looks = complaints.diagnostics.errors() == before && raw.broken.is_empty();
        let own = Arc::new(OwnDetector {
            label: label(raw, &name, header.clone(), complaints),
            confidence: said(&raw.confidence).unwrap_or(Confidence::High),
            id,
            pattern,
            keywords,
            words,
            any_case: said(&raw.case_sensitive) != Some(true),
            keys: matches::globs(&raw.keys, "keys", complaints),
            // The one check that there is.
            luhn: !words_of(&raw.checks).is_empty(),
        });
        if looks {
            examples(&own, raw, header, complaints);
        }
        match looks && complaints.diagnostics.errors() == before {
            true => _ = self.all.insert(name, own),
            false => self.broken.push(name),
        }
    }

    /// Returns a detector's id and its whole name; of one without an id, a word in its place, since what
    /// else is wrong with it is told too.
    fn own_id(
        &self,
        raw: &RawDetector,
        header: &Range<usize>,
        complaints: &mut Complaints<'_>,
    ) -> (DetectorId, String) {
        let Some((id, name)) = id(raw, complaints) else {
            let name = format!("{PACK}/{}", text(&raw.id).unwrap_or(UNNAMED));
            return (DetectorId::new(&format!("{PACK}/{UNNAMED}")).expect("it follows the rule"), name);
        };
        if self.all.contains_key(&name) {
            let span = raw.id.as_ref().map_or(header.clone(), Spanned::span);
            let message = format!("detector `{name}` is declared twice");
            complaints.error(span, message, "give one of them another id");
        }
        (id, name)
    }
}

fn id(raw: &RawDetector, complaints: &mut Complaints<'_>) -> Option<(DetectorId, String)> {
    let id = raw.id.as_ref()?;
    let name = format!("{PACK}/{}", complaints.kebab(id, "case-number")?);
    let detector = DetectorId::new(&name);
    if let Err(error) = &detector {
        complaints.error(id.span(), error.to_string(), "write it like `case-number`");
    }
    Some((detector.ok()?, name))
}

/// The label of names: surrogates tell people apart by it.
const PERSON: &str = "PERSON";

/// The label, or one made of the id.
fn label(raw: &RawDetector, name: &str, header: Range<usize>, complaints: &mut Complaints<'_>) -> Label {
    let plain = |name: &str| -> String { name.chars().filter(char::is_ascii_alphanumeric).collect() };
    let made = plain(name.trim_start_matches("own/")).to_ascii_uppercase();
    let text = match &raw.label {
        Some(label) => label.get_ref().clone(),
        None if raw.names.is_some() => PERSON.to_owned(),
        None => made[..made.len().min(16)].to_owned(),
    };
    Label::new(&text).unwrap_or_else(|_| {
        let hint = "2 to 16 capital letters and digits, a letter first: `label = \"TICKET\"`";
        let (span, message) = match (&raw.label, &raw.id) {
            (None, Some(id)) => (id.span(), format!("the label is made of the id, and `{text}` is none")),
            (label, _) => (label.as_ref().map_or(header, Spanned::span), format!("`{text}` is no label")),
        };
        complaints.error(span, message, hint);
        Label::new("OWN").expect("it follows the rule")
    })
}

fn pattern(raw: &RawDetector, complaints: &mut Complaints<'_>) -> Option<Pattern> {
    let source = raw.regex.as_ref()?;
    let regex = compiled(source, Pattern::new(source.get_ref(), REGEX_SIZE), SYNTAX, complaints)?;
    if regex.is_match("") {
        let hint = "it would find nothing of something everywhere: leave no way to match no character";
        complaints.error(source.span(), "the pattern matches the empty text", hint);
        return None;
    }
    useless::warn_of_slow(source.get_ref(), source.span(), complaints);
    Some(regex)
}

fn words(
    field: &str,
    raw: &Option<Spanned<OneOrMany>>,
    least: usize,
    complaints: &mut Complaints<'_>,
) -> Vec<String> {
    let words = words_of(raw);
    for (word, span) in words.iter().filter(|(word, _)| word.trim().chars().count() < least) {
        let message = format!("`{word}` is too short for `{field}`");
        complaints.error(span.clone(), message, format!("write at least {least} characters"));
    }
    words.into_iter().map(|(word, _)| word.trim().to_owned()).collect()
}

/// The words of a file beside the rules, one a line; `#` begins a remark.
fn file_words(raw: &RawDetector, folder: &Path, complaints: &mut Complaints<'_>) -> Vec<String> {
    let Some(file) = &raw.words_file else { return Vec::new() };
    let name = Path::new(file.get_ref());
    let mut refuse = |message: String, hint: &str| {
        complaints.error(file.span(), message, hint);
        Vec::new()
    };
    // A running gate looks at no other file, and would not see when this one changes.
    if !leafgate_folder::is_inside(name) || name.extension().is_none_or(|word| word != "txt") {
        return refuse(
            format!("`{}` is no `….txt` of the policy folder", file.get_ref()),
            "name a file in the folder: `words_file = \"names.txt\"`",
        );
    }
    let text = match leafgate_folder::read_text(&folder.join(name), MAX_FILE) {
        Ok(text) => text,
        Err(error) => {
            return refuse(
                format!("`{}` cannot be read: {error}", file.get_ref()),
                "one word a line in UTF-8, in a file of the policy folder",
            );
        }
    };
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (words, short): (Vec<_>, Vec<_>) = lines.partition(|(_, line)| line.chars().count() >= LEAST_WORD);
    if let Some((number, _)) = short.first() {
        // Not quoted: a link may lead to any file.
        return refuse(
            format!("line {number} of `{}` is too short for a word", file.get_ref()),
            "write at least 2 characters",
        );
    }
    if words.is_empty() {
        return refuse(format!("`{}` holds no word", file.get_ref()), "write one word a line");
    }
    words.into_iter().map(|(_, word)| word.to_owned()).collect()
}

/// What must be found, and what must not. A detector that looks under certain keys is tried with the first of them.
fn examples(
    own: &Arc<OwnDetector>,
    raw: &RawDetector,
    header: Range<usize>,
    complaints: &mut Complaints<'_>,
) {
    if raw.examples.is_none() && own.pattern.is_some() && !raw.broken.contains("examples") {
        let hint = "a text that it must find keeps it from finding nothing: `examples = [\"CASE-1234\"]`";
        complaints.error(header, "a detector with a `regex` needs `examples`", hint);
    }
    let key = own.keys.first().map(|glob| glob.to_string().replace(['*', '?'], "x")).unwrap_or_default();
    for (list, must, message) in [
        (&raw.examples, true, "the detector does not find its example"),
        (&raw.counter_examples, false, "the detector finds its counter-example"),
    ] {
        for (text, span) in words_of(list) {
            if found_in(own, &key, text) != must {
                complaints.error(span, message, "mend the pattern, the words or the example");
            }
        }
    }
}
