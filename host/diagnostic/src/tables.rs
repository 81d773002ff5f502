//! Tables of a TOML file, read so that one mistake hides no other.
//!
//! The rows of a table ([`TableKey`]) say what is wrong with a file: each value is held beside what its key takes, at
//! whatever depth. What is wrong is reported and taken out, and the rest is read. What a table is about does not
//! matter here: files of rules and files of their tests are read alike.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, ValueDeserializer};

use crate::keys::{BROKEN, KeyNeed, SAYS, Table, TableKey, Type, names};
use crate::number::{in_millis, shown_time};
use crate::{Complaints, did_you_mean, hint_for};

/// Parses the text of a file; `None` where it is no TOML, which is reported.
pub fn parse<'t>(text: &'t str, complaints: &mut Complaints<'_>) -> Option<Spanned<DeTable<'t>>> {
    if let Some(at) = merge_conflict(text) {
        let hint = "keep one side, or put both together, and take the marks out";
        complaints.error(at, "a merge that was not finished", hint);
        return None;
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let message = format!("not TOML: {}", error.message());
        complaints.error(error.span().unwrap_or(0..0), message, mends(error.message()));
    }
    errors.is_empty().then_some(table)
}

/// Reads a table, and reports what is wrong with it. `elsewhere` returns a hint for a key that belongs into a table of
/// another kind.
pub fn read<T: Table + Default>(
    table: Spanned<DeTable<'_>>,
    elsewhere: fn(&str) -> Option<String>,
    complaints: &mut Complaints<'_>,
) -> Spanned<T> {
    let span = table.span();
    let mut table = table.into_inner();
    let mut reader = TableReader { complaints, elsewhere, may_be_left_out: false };
    reader.table(&mut table, &span, T::KEYS, T::NAME);
    let read = T::deserialize(ValueDeserializer::from(Spanned::new(span.clone(), DeValue::Table(table))));
    let read = read.unwrap_or_else(|error| {
        // Its rows say more than its types can hold.
        reader.complaints.error(error.span().unwrap_or(span.clone()), error.message(), "write another value");
        T::default()
    });
    Spanned::new(span, read)
}

/// Returns the text of a key; `None` where it is not there, or was reported and taken out.
pub fn text(value: &Option<Spanned<String>>) -> Option<&str> {
    value.as_ref().map(|text| text.get_ref().as_str())
}

/// Returns a copy of the value of a key; `None` where the key is not there, or was reported and taken out.
pub fn said<T: Copy>(value: &Option<Spanned<T>>) -> Option<T> {
    value.as_ref().map(|value| *value.get_ref())
}

/// What a table says under a key that tells such tables apart.
struct TagWord<'t> {
    name: &'static str,
    word: &'t str,
    /// All that the key could say.
    all: &'static [&'static str],
}

impl<'t> TagWord<'t> {
    fn of(key: &TableKey, table: &'t DeTable<'_>, broken: &BTreeSet<String>) -> Option<Self> {
        let word = table.get(key.name).and_then(|value| value.get_ref().as_str());
        let word = match key.need {
            KeyNeed::Tag => word?,
            KeyNeed::Usual(usual) if !broken.contains(key.name) => word.unwrap_or(usual),
            _ => return None,
        };
        let Type::Word(all) = key.takes else { return None };
        Some(TagWord { name: key.name, word, all })
    }

    /// The words of its key to which another one belongs.
    fn words_for(&self, key: &TableKey) -> Vec<&'static str> {
        key.of.iter().copied().filter(|word| self.all.contains(word)).collect()
    }

    /// Whether another key belongs to other words of it alone.
    fn is_other(&self, key: &TableKey) -> bool {
        let words = self.words_for(key);
        !words.is_empty() && !words.contains(&self.word)
    }
}

struct TableReader<'r, 'd> {
    complaints: &'r mut Complaints<'d>,
    elsewhere: fn(&str) -> Option<String>,
    /// Whether what is read says what a text may be, where a word can be left out.
    may_be_left_out: bool,
}

impl TableReader<'_, '_> {
    /// Takes out what is wrong, and notes the keys in which something is: nobody needs to be told that they are
    /// missing.
    fn table(&mut self, table: &mut DeTable<'_>, header: &Range<usize>, keys: &[TableKey], name: &str) {
        let mut broken = self.unknown(table, keys, None);
        let mut says = table.clone();
        for key in keys {
            let before = self.complaints.diagnostics.errors();
            let Some(value) = table.get_mut(key.name) else { continue };
            // What a text is for, whoever wrote none need not be told: quotes are missing, or a letter.
            let is_for = key.need != KeyNeed::No && matches!(key.takes, Type::Text | Type::OneOrMany(_));
            if !self.keeps(key.name, key.takes, key.hint.filter(|_| !is_for), value) {
                table.remove(key.name);
            }
            if self.complaints.diagnostics.errors() > before {
                broken.insert(key.name.to_owned());
            }
        }
        self.belongings(table, header, keys, name, &mut broken);
        broken.iter().for_each(|key| _ = says.remove(key.as_str()));
        let word = |word: String| Spanned::new(header.clone(), DeValue::String(word.into()));
        let broken = DeValue::Array(broken.into_iter().map(word).collect());
        for (key, noted) in [(BROKEN, broken), (SAYS, DeValue::Table(says))] {
            table.insert(Spanned::new(header.clone(), key.into()), Spanned::new(header.clone(), noted));
        }
    }

    /// Reports every key that nothing here knows, and takes it out. Returns the keys that were meant and are not
    /// there.
    fn unknown(
        &mut self,
        table: &mut DeTable<'_>,
        keys: &[TableKey],
        hint: Option<&str>,
    ) -> BTreeSet<String> {
        let (mut misspelt, names) = (BTreeSet::new(), names(keys));
        let unknown: Vec<_> =
            table.keys().filter(|key| !names.contains(&key.get_ref().as_ref())).cloned().collect();
        for key in unknown {
            let name = key.get_ref();
            let meant = did_you_mean(name, names.iter().copied());
            let hint = meant
                .map(|meant| format!("did you mean `{meant}`?"))
                .or_else(|| hint.map(str::to_owned))
                .or_else(|| (self.elsewhere)(name))
                .unwrap_or_else(|| hint_for(name, &names));
            self.complaints.error(key.span(), format!("unknown key `{name}`"), hint);
            table.remove(&key);
            misspelt.extend(meant.filter(|meant| !table.contains_key(*meant)).map(str::to_owned));
        }
        misspelt
    }

    /// Reports what belongs to another word of a key that tells such tables apart, and what says nothing and must.
    fn belongings(
        &mut self,
        table: &DeTable<'_>,
        header: &Range<usize>,
        keys: &[TableKey],
        name: &str,
        broken: &mut BTreeSet<String>,
    ) {
        let tags: Vec<TagWord<'_>> = keys.iter().filter_map(|key| TagWord::of(key, table, broken)).collect();
        for key in keys {
            let field = key.name;
            let value = table.get(field);
            if let (Some(value), Some(other)) = (value, tags.iter().find(|tag| tag.is_other(key))) {
                let message = format!("`{field}` means nothing with `{} = \"{}\"`", other.name, other.word);
                let words = other.words_for(key).join(", ");
                let hint = format!("`{field}` belongs to `{}`: {words}", other.name);
                self.complaints.error(value.span(), message, hint);
                continue;
            }
            let is_missing = match key.need {
                KeyNeed::No | KeyNeed::Usual(_) => false,
                KeyNeed::There | KeyNeed::Tag => value.is_none(),
                KeyNeed::Said => value.is_none_or(|value| !says(value.get_ref())),
                // Blank texts in a list are for whoever reads the texts.
                KeyNeed::NotEmpty => value.is_some_and(|value| match value.get_ref() {
                    DeValue::Array(items) => items.is_empty(),
                    value => !says(value),
                }),
            };
            if !is_missing || broken.contains(field) {
                continue;
            }
            let message = match (key.need, tags.iter().find(|tag| key.of.contains(&tag.word))) {
                (KeyNeed::NotEmpty, _) => format!("an empty `{field}` says nothing"),
                (_, Some(tag)) => format!("`{}` needs `{field}`", tag.word),
                _ if key.of.is_empty() => format!("{name} without `{field}`"),
                _ => continue,
            };
            let place = value.map_or(header.clone(), Spanned::span);
            let usual = || match (key.need, key.takes) {
                (KeyNeed::NotEmpty, _) => "leave it out, or write something".to_owned(),
                (_, Type::Word(words)) => format!("one of: {}", words.join(", ")),
                _ => format!("write it: `{field} = …`"),
            };
            self.complaints.error(place, message, key.hint.map_or_else(usual, str::to_owned));
            broken.insert(field.to_owned());
        }
    }

    /// Reports what is wrong with a value under a key. Returns whether anything of it is left.
    fn keeps(
        &mut self,
        name: &str,
        takes: Type,
        hint: Option<&str>,
        value: &mut Spanned<DeValue<'_>>,
    ) -> bool {
        let span = value.span();
        match (takes, value.get_mut()) {
            (Type::Table | Type::TextOrTable, DeValue::Table(_)) | (Type::TextOrTable, DeValue::Array(_)) => {
                self.keeps_json(name, value)
            }
            (Type::Of(what, keys), DeValue::Table(table)) => {
                self.table(table, &span, keys, what);
                true
            }
            (Type::OneOrMany(item), DeValue::String(_)) => {
                let is_left = self.keeps(name, *item, hint, value);
                let alone = taken(value);
                *value.get_mut() = DeValue::Array([alone].into_iter().collect());
                is_left
            }
            (Type::OneOrMany(item) | Type::ListOf(item), DeValue::Array(items)) => {
                let was_empty = items.is_empty();
                let all = std::mem::replace(items, DeArray::new()).into_iter();
                *items =
                    all.filter_map(|mut it| self.keeps(name, *item, hint, &mut it).then_some(it)).collect();
                was_empty || !items.is_empty()
            }
            (Type::Match(item), DeValue::String(_) | DeValue::Array(_)) => {
                self.may_be_left_out = true;
                let is_left = self.keeps(name, Type::OneOrMany(item), hint, value);
                self.may_be_left_out = false;
                let any = (Spanned::new(value.span(), "any".into()), taken(value));
                *value.get_mut() = DeValue::Table([any].into_iter().collect());
                is_left
            }
            (Type::Match(item), DeValue::Table(table)) => {
                let was_empty = table.is_empty();
                self.words(name, item, hint, table);
                was_empty || !table.is_empty()
            }
            (Type::Named(item), DeValue::Table(table)) => {
                let was_empty = table.is_empty();
                self.named(*item, hint, table);
                was_empty || !table.is_empty()
            }
            (_, value) => wrong(name, takes, value, self.may_be_left_out).is_none_or(|(message, own)| {
                let has_unit = |text: &str| {
                    text.parse::<u64>().is_err() && text.starts_with(|c: char| c.is_ascii_digit())
                };
                let is_quoted =
                    matches!((takes, &*value), (Type::Number(_), DeValue::String(text)) if !has_unit(text));
                self.complaints.error(span, message, hint.filter(|_| !is_quoted).map_or(own, str::to_owned));
                false
            }),
        }
    }

    /// Takes out of a value of any form what no JSON can spell, and reports it. Returns whether anything of it is left.
    fn keeps_json(&mut self, name: &str, value: &mut Spanned<DeValue<'_>>) -> bool {
        let span = value.span();
        let what = match value.get_mut() {
            DeValue::Array(items) => {
                let all = std::mem::replace(items, DeArray::new()).into_iter();
                *items = all.filter_map(|mut it| self.keeps_json(name, &mut it).then_some(it)).collect();
                return true;
            }
            DeValue::Table(table) => {
                for (key, mut it) in std::mem::take(table) {
                    if self.keeps_json(key.get_ref(), &mut it) {
                        table.insert(key, it);
                    }
                }
                return true;
            }
            DeValue::Datetime(_) => "JSON has no dates",
            DeValue::Float(number) if !number.as_str().parse().is_ok_and(f64::is_finite) => {
                "JSON has no infinite numbers"
            }
            DeValue::Integer(number) if i64::from_str_radix(number.as_str(), number.radix()).is_err() => {
                "this number is too large"
            }
            DeValue::Float(_) | DeValue::Integer(_) | DeValue::String(_) | DeValue::Boolean(_) => {
                return true;
            }
        };
        self.complaints.error(span, format!("`{name}`: {what}"), "write it as a text");
        false
    }

    /// Takes what is wrong out of a table that says what the text of a field may be.
    fn words(&mut self, name: &str, item: &'static Type, hint: Option<&str>, table: &mut DeTable<'_>) {
        let keys = word_match(item);
        self.unknown(table, &keys, hint);
        self.may_be_left_out = true;
        for key in &keys {
            // A wrong word is one of the field, whichever of its lists has it.
            let of = if matches!(key.takes, Type::OneOrMany(Type::Word(_))) { name } else { key.name };
            if table.get_mut(key.name).is_some_and(|value| !self.keeps(of, key.takes, None, value)) {
                table.remove(key.name);
            }
        }
        self.may_be_left_out = false;
    }

    /// Takes what is wrong out of a table of any names. A table under a name stays, empty: whoever asks for it need not be told that
    /// there is none.
    fn named(&mut self, item: Type, hint: Option<&str>, table: &mut DeTable<'_>) {
        for (key, mut value) in std::mem::take(table) {
            if !self.keeps(key.get_ref(), item, hint, &mut value) {
                if !matches!(item, Type::Of(..)) {
                    continue;
                }
                *value.get_mut() = DeValue::Table(DeTable::new());
            }
            table.insert(key, value);
        }
    }
}

impl Type {
    /// What a value is, in words.
    fn said(self) -> String {
        match self {
            Type::Text | Type::Word(_) | Type::Until => "a text".to_owned(),
            Type::OneOrMany(_) => "a text or a list of texts".to_owned(),
            Type::Number(range) => format!("a whole number {}", range.said(|number| number.to_string())),
            Type::Time(range) => format!("a time {}", range.said(shown_time)),
            Type::Flag => "true or false".to_owned(),
            Type::FlagOr(word) => format!("true, false or `{word}`"),
            Type::Match(_) => "a text, a list of texts, or a table with `any` and `not`".to_owned(),
            Type::TextOrTable => "a text, a table or a list".to_owned(),
            Type::Named(_) | Type::Table | Type::Of(..) => "a table".to_owned(),
            Type::ListOf(_) => "a list of tables".to_owned(),
        }
    }

    fn hint(self, found: &DeValue<'_>) -> &'static str {
        match self {
            Type::Text | Type::Word(_) | Type::Until if found.is_table() => "one text, no table",
            Type::OneOrMany(_) if found.is_table() => "a text or a list of texts, no table",
            Type::Text | Type::Word(_) | Type::Until if found.is_array() => "one text, no list",
            Type::Text | Type::Word(_) | Type::Until | Type::OneOrMany(_) | Type::Match(_) => {
                "put it in quotes"
            }
            Type::Number(_) if matches!(found, DeValue::Integer(_)) => "write a number of these",
            Type::Number(_) => "a number without quotes",
            Type::Time(_) => "a number and a unit: `500ms`, `30s`, `5m`, `2h`",
            Type::Flag | Type::FlagOr(_) => "`true` or `false`, without quotes",
            Type::ListOf(_) => "write a list: `[…]`",
            _ => "write a table: `{ … = … }`",
        }
    }
}

/// Returns what is wrong with a value that holds no others, and what to do about it.
fn wrong(name: &str, takes: Type, value: &DeValue<'_>, may_be_left_out: bool) -> Option<(String, String)> {
    let is_right = match (takes, value) {
        (Type::Word(known), DeValue::String(word)) => {
            let hint =
                || match word.strip_prefix('!').filter(|other| may_be_left_out && known.contains(other)) {
                    Some(other) => format!("write `{name} = {{ not = \"{other}\" }}`"),
                    None => hint_for(word, known),
                };
            let is_known = known.contains(&word.as_ref());
            return (!is_known).then(|| (format!("`{word}` is no value of `{name}`"), hint()));
        }
        (Type::Number(range), DeValue::Integer(number)) => {
            // TOML has no larger numbers than an `i64`.
            let number = i64::from_str_radix(number.as_str(), number.radix());
            number.is_ok_and(|number| u64::try_from(number).is_ok_and(|number| range.allow(number)))
        }
        (Type::Time(range), DeValue::String(text)) => in_millis(text).is_some_and(|time| range.allow(time)),
        (Type::FlagOr(word), DeValue::String(text)) => text == word,
        (Type::Text | Type::TextOrTable, DeValue::String(_)) => true,
        (Type::Until, DeValue::String(_) | DeValue::Datetime(_)) => true,
        (Type::Flag | Type::FlagOr(_), DeValue::Boolean(_)) => true,
        _ => false,
    };
    (!is_right).then(|| (format!("`{name}` must be {}", takes.said()), takes.hint(value).to_owned()))
}

/// Takes a value out, which what it is short for is to hold: a list, or a table of which it is `any`.
fn taken<'t>(value: &mut Spanned<DeValue<'t>>) -> Spanned<DeValue<'t>> {
    Spanned::new(value.span(), std::mem::replace(value.get_mut(), DeValue::Boolean(true)))
}

/// Whether a value is more than a blank text, a list of nothing else or an empty table.
fn says(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::String(text) => !text.trim().is_empty(),
        DeValue::Array(items) => items.iter().any(|item| says(item.get_ref())),
        DeValue::Table(table) => !table.is_empty(),
        _ => true,
    }
}

/// The keys of a table that says what a text may be.
fn word_match(item: &'static Type) -> [TableKey; 3] {
    let texts = Type::OneOrMany(item);
    [("any", texts), ("not", texts), ("ignore-case", Type::Flag)].map(|(name, takes)| TableKey {
        name,
        takes,
        of: &[],
        need: KeyNeed::No,
        hint: None,
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
