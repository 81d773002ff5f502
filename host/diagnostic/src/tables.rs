//! Tables of a TOML file, read so that one mistake hides no other.
//!
//! A key that nobody knows and a value of a wrong type are reported and taken out, and the rest of the
//! table is read. What a table is about does not matter here: files of rules and files of their tests
//! are read alike.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, ValueDeserializer};

use crate::keys::{Table, TableKey, Type, WORD_MATCH, names};
use crate::{Complaints, did_you_mean, hint_for};

/// One file, and where what is wrong with it goes.
pub struct Tables<'d> {
    /// What is wrong with it.
    pub complaints: Complaints<'d>,
    /// What only files of its kind know.
    pub dialect: &'d Dialect,
}

/// What only files of one kind know of their keys.
pub struct Dialect {
    /// Returns a hint for a key that belongs into a table of another kind.
    pub elsewhere: fn(&str) -> Option<String>,
    /// Returns how the value of a key is written, where it is of a wrong type.
    pub written: fn(&str) -> Option<&'static str>,
    /// Reads those tables inside another one of which each key counts, by [`Tables::inside`]. Returns the
    /// keys of those in which something is wrong.
    pub inside: fn(&mut Tables<'_>, &mut Spanned<DeValue<'_>>) -> BTreeSet<String>,
}

impl Tables<'_> {
    /// Parses the text of the file; `None` where it is no TOML, which is reported.
    pub fn parse<'t>(&mut self, text: &'t str) -> Option<DeTable<'t>> {
        if let Some(at) = merge_conflict(text) {
            let hint = "keep one side, or put both together, and take the marks out";
            self.complaints.error(at, "a merge that was not finished", hint);
            return None;
        }
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let message = format!("not TOML: {}", error.message());
            self.complaints.error(error.span().unwrap_or(0..0), message, mends(error.message()));
        }
        errors.is_empty().then(|| table.into_inner())
    }

    /// Reads a list of tables, each under `[[name]]`.
    pub fn list<T: Table>(&mut self, value: Spanned<DeValue<'_>>, name: &str, what: &str) -> Vec<Spanned<T>> {
        self.items(value, name, what).into_iter().filter_map(|item| self.table(item)).collect()
    }

    /// Returns the tables of such a list, unread.
    pub fn items<'i>(&mut self, value: Spanned<DeValue<'i>>, name: &str, what: &str) -> DeArray<'i> {
        let span = value.span();
        let DeValue::Array(items) = value.into_inner() else {
            let hint = format!("write `[[{name}]]` above each {what}");
            self.complaints.error(span, format!("`{name}` must be a list of tables"), hint);
            return DeArray::new();
        };
        items
    }

    /// Reads a table; `None` where nothing of it can be read, which is reported.
    pub fn table<T: Table>(&mut self, mut item: Spanned<DeValue<'_>>) -> Option<Spanned<T>> {
        let mut broken = (self.dialect.inside)(self, &mut item);
        broken.extend(self.drop_unknown(&mut item, T::KEYS));
        broken.extend(self.drop_broken::<T>(&mut item));
        let mut read = self.take::<Spanned<T>>(item)?;
        *read.get_mut().broken_mut() = broken;
        Some(read)
    }

    /// Reads a table under a key of another one key by key, and takes out what is wrong. Returns its key
    /// where something is.
    pub fn inside<T: Table>(&mut self, item: &mut Spanned<DeValue<'_>>, key: &str) -> BTreeSet<String> {
        let before = self.complaints.diagnostics.errors();
        if let Some(inner) = nested_mut(item, key) {
            self.drop_unknown(inner, T::KEYS);
            self.drop_broken::<T>(inner);
        }
        (self.complaints.diagnostics.errors() > before).then(|| key.to_owned()).into_iter().collect()
    }

    /// Reports every key that nothing here knows, here and in the tables inside, and removes it so that
    /// the rest can be read. A table inside that says nothing any more is taken out whole. Returns the
    /// keys that were meant and are not there: nobody needs to be told that they are missing.
    fn drop_unknown(&mut self, value: &mut Spanned<DeValue<'_>>, known: &[TableKey]) -> BTreeSet<String> {
        let mut misspelt = BTreeSet::new();
        let DeValue::Table(table) = value.get_mut() else { return misspelt };
        let names = names(known);
        let unknown: Vec<_> =
            table.keys().filter(|key| !names.contains(&key.get_ref().as_ref())).cloned().collect();
        for key in unknown {
            let name = key.get_ref();
            let meant = did_you_mean(name, names.iter().copied());
            let hint = meant
                .map(|meant| format!("did you mean `{meant}`?"))
                .or_else(|| (self.dialect.elsewhere)(name))
                .unwrap_or_else(|| hint_for(name, &names));
            self.complaints.error(key.span(), format!("unknown key `{name}`"), hint);
            table.remove(&key);
            misspelt.extend(meant.filter(|meant| !table.contains_key(*meant)).map(str::to_owned));
        }
        for key in known {
            let mut says = |inner: &mut Spanned<DeValue<'_>>, known: &[TableKey]| {
                let missing = self.drop_unknown(inner, known);
                !known.iter().any(|key| key.is_needed && missing.contains(key.name))
            };
            let Some(inner) = table.iter_mut().find(|(name, _)| name.get_ref() == key.name) else { continue };
            let is_whole = match (&key.takes, inner.1.get_mut()) {
                (Type::WordMatch(_), DeValue::Table(words)) => {
                    let written = words.len();
                    says(inner.1, WORD_MATCH);
                    let left = inner.1.get_ref().as_table().map_or(0, DeTable::len);
                    left > 0 || written == 0 || {
                        table.remove(key.name);
                        false
                    }
                }
                (Type::Of(known), DeValue::Table(_)) => {
                    says(inner.1, known) || {
                        table.remove(key.name);
                        false
                    }
                }
                (Type::ListOf(known), DeValue::Array(items)) => {
                    let written = items.len();
                    let sound = std::mem::replace(items, DeArray::new()).into_iter();
                    *items = sound.filter_map(|mut item| says(&mut item, known).then_some(item)).collect();
                    items.len() == written
                }
                _ => true,
            };
            misspelt.extend((!is_whole).then(|| key.name.to_owned()));
        }
        misspelt
    }

    /// Reports every key whose value is of a wrong type, and removes it, so that one mistake hides
    /// no other; of a list, its wrong items alone. Each value is read as if it stood alone: all fields
    /// of `T` are optional. Returns the keys that were reported.
    fn drop_broken<T: DeserializeOwned>(&mut self, value: &mut Spanned<DeValue<'_>>) -> BTreeSet<String> {
        let mut broken = BTreeSet::new();
        let span = value.span();
        let DeValue::Table(table) = value.get_mut() else { return broken };
        let keys: Vec<_> = table.keys().cloned().collect();
        for key in keys {
            let Some(entry) = table.get(&key) else { continue };
            let read = |value: &Spanned<DeValue<'_>>| -> Result<(), toml::de::Error> {
                let mut alone = DeTable::new();
                alone.insert(key.clone(), value.clone());
                let alone = Spanned::new(span.clone(), DeValue::Table(alone));
                T::deserialize(ValueDeserializer::from(alone)).map(drop)
            };
            let Err(error) = read(entry) else { continue };
            broken.insert(key.get_ref().to_string());
            if let Some((left, wrong)) = sound_items(entry, &read) {
                for (at, error) in wrong {
                    self.wrong_type(key.get_ref(), error.span().unwrap_or(at), error.message());
                }
                table.insert(key, left);
            } else {
                self.wrong_type(key.get_ref(), error.span().unwrap_or(entry.span()), error.message());
                table.remove(&key);
            }
        }
        broken
    }

    fn wrong_type(&mut self, key: &str, span: Range<usize>, message: &str) {
        // serde names our own types, which mean nothing to an author of rules, and the types of Rust.
        let mut said = message.to_owned();
        while let Some(start) = said.find("struct Raw") {
            let end = said[start + 7..]
                .find(|c: char| !c.is_alphanumeric())
                .map_or(said.len(), |at| start + 7 + at);
            said.replace_range(start..end, "a table");
        }
        let said = [
            ("expected i64", "expected a whole number"),
            ("expected a sequence", "expected a list"),
            ("expected a map", "expected a table"),
            ("type: sequence", "type: a list"),
            ("type: map", "type: a table"),
        ]
        .iter()
        .fold(said, |said, (word, plain)| said.replace(word, plain));
        let hint = (self.dialect.written)(key).or_else(|| hint_of_type(&said)).map(str::to_owned);
        self.complaints.diagnostics.error(self.complaints.file, span, format!("`{key}`: {said}"), hint);
    }

    /// Reads a value; `None` where it cannot be read, which is reported.
    pub fn take<T: DeserializeOwned>(&mut self, value: Spanned<DeValue<'_>>) -> Option<T> {
        let span = value.span();
        match T::deserialize(ValueDeserializer::from(value)) {
            Ok(read) => Some(read),
            Err(error) => {
                let message = error.message().to_owned();
                self.complaints.diagnostics.error(
                    self.complaints.file,
                    error.span().unwrap_or(span),
                    message,
                    None,
                );
                None
            }
        }
    }
}

/// Where an item of a list stands, and why it cannot be read.
type WrongItem = (Range<usize>, toml::de::Error);

/// Returns a list without the items that cannot be read alone, and why they cannot; `None` where that is
/// not what is wrong with a value.
fn sound_items<'i>(
    value: &Spanned<DeValue<'i>>,
    read: &dyn Fn(&Spanned<DeValue<'_>>) -> Result<(), toml::de::Error>,
) -> Option<(Spanned<DeValue<'i>>, Vec<WrongItem>)> {
    let DeValue::Array(items) = value.get_ref() else { return None };
    let list = |items: DeArray<'i>| Spanned::new(value.span(), DeValue::Array(items));
    let (mut sound, mut wrong) = (DeArray::new(), Vec::new());
    for item in items.iter() {
        let mut alone = DeArray::new();
        alone.push(item.clone());
        match read(&list(alone)) {
            Ok(()) => sound.push(item.clone()),
            Err(error) => wrong.push((item.span(), error)),
        }
    }
    let left = list(sound);
    (!wrong.is_empty() && read(&left).is_ok()).then_some((left, wrong))
}

/// Returns what to do about a value of a wrong type.
fn hint_of_type(message: &str) -> Option<&'static str> {
    let has = |word: &str| message.contains(word);
    let is_one_word = ["integer", "floating", "boolean", "datetime"].iter().any(|kind| has(kind));
    Some(match () {
        () if has("expected a boolean") => "`true` or `false`, without quotes",
        () if has("expected a whole number") => "a number without quotes",
        () if has("expected a string") && is_one_word => "put it in quotes",
        () if has("expected a list") => "write a list: `[…]`",
        () if has("expected a table") => "write a table: `{ … = … }`",
        () if has("type: a list") => "one text, no list",
        () => return None,
    })
}

/// Returns what to do about a text that is no TOML. The parser says what it expected, which helps those
/// who know TOML.
fn mends(message: &str) -> &'static str {
    let has = |word: &str| message.contains(word);
    match () {
        () if has("duplicate key") => {
            "a key stands once in its table: take one out, or write `[[rule]]` above what belongs to another rule"
        }
        () if has("must be quoted") => "put the text in straight quotes: `action = \"block\"`",
        () if has("escape") => {
            "in `\"…\"` a backslash begins an escape; in `'…'` it is a character like others"
        }
        () if has("expected newline") => "one key a line; a text that holds `\"` stands in `'…'`",
        () if has("expected `=`") || has("unquoted key") => {
            "a key and its value are written `key = \"text\"`"
        }
        () if has("unclosed") || has("literal string") || has("basic string") => "close what is open",
        () => "keys are written `key = \"text\"`, and `[[rule]]` stands above each rule",
    }
}

/// The value under a key of a table.
fn nested_mut<'t, 'i>(
    item: &'t mut Spanned<DeValue<'i>>,
    name: &str,
) -> Option<&'t mut Spanned<DeValue<'i>>> {
    let DeValue::Table(table) = item.get_mut() else { return None };
    table.iter_mut().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
}

/// The first mark of a merge that git left to be finished by hand.
fn merge_conflict(text: &str) -> Option<Range<usize>> {
    let mut start = 0;
    let mut opened = None;
    for line in text.split_inclusive('\n') {
        let here = start..start + line.trim_end().len();
        start += line.len();
        if line.starts_with("<<<<<<< ") {
            opened = opened.or(Some(here));
        } else if line.starts_with(">>>>>>> ") && opened.is_some() {
            return opened;
        }
    }
    None
}
