//! Tables of a TOML file, read so that one mistake hides no other.
//!
//! A key that nobody knows and a value of a wrong type are reported and taken out, and the rest of the
//! table is read. What a table is about does not matter here: files of rules and files of their tests
//! are read alike.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use crate::diagnostic::{Diagnostics, did_you_mean, hint_for};

/// One file, and where what is wrong with it goes.
pub(crate) struct Tables<'d> {
    pub(crate) file: usize,
    pub(crate) diagnostics: &'d mut Diagnostics,
}

impl Tables<'_> {
    /// Parses the text of the file; `None` where it is no TOML, which is reported.
    pub(crate) fn parse<'t>(&mut self, text: &'t str) -> Option<DeTable<'t>> {
        if let Some(at) = merge_conflict(text) {
            let hint = "keep one side, or put both together, and take the marks out";
            self.error(at, "a merge that was not finished", hint);
            return None;
        }
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let message = format!("not TOML: {}", error.message());
            self.diagnostics.error(self.file, error.span().unwrap_or(0..0), message, None);
        }
        errors.is_empty().then(|| table.into_inner())
    }

    /// Reports every key that nothing here knows, and removes it so that the rest can be read.
    pub(crate) fn drop_unknown(
        &mut self,
        value: &mut Spanned<DeValue<'_>>,
        known: &[&str],
        elsewhere: fn(&str) -> Option<String>,
    ) {
        let DeValue::Table(table) = value.get_mut() else { return };
        let unknown: Vec<_> =
            table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())).cloned().collect();
        for key in unknown {
            let name = key.get_ref();
            let hint = did_you_mean(name, known.iter().copied())
                .map(|meant| format!("did you mean `{meant}`?"))
                .or_else(|| elsewhere(name))
                .unwrap_or_else(|| hint_for(name, known));
            self.error(key.span(), format!("unknown key `{name}`"), hint);
            table.remove(&key);
        }
    }

    /// Reports every key whose value is of a wrong type, and removes it, so that one mistake hides
    /// no other. Each value is read as if it stood alone: all fields of `T` are optional.
    pub(crate) fn drop_broken<T: DeserializeOwned>(
        &mut self,
        value: &mut Spanned<DeValue<'_>>,
    ) -> BTreeSet<String> {
        let mut broken = BTreeSet::new();
        let span = value.span();
        let DeValue::Table(table) = value.get_mut() else { return broken };
        let keys: Vec<_> = table.keys().cloned().collect();
        for key in keys {
            let Some(entry) = table.get(&key) else { continue };
            let mut alone = DeTable::new();
            alone.insert(key.clone(), entry.clone());
            let at = entry.span();
            let alone = Spanned::new(span.clone(), DeValue::Table(alone));
            if let Err(error) = T::deserialize(ValueDeserializer::from(alone)) {
                self.wrong_type(key.get_ref(), error.span().unwrap_or(at), error.message());
                broken.insert(key.get_ref().to_string());
                table.remove(&key);
            }
        }
        broken
    }

    fn wrong_type(&mut self, key: &str, span: Range<usize>, message: &str) {
        // serde names our own types, which mean nothing to an author of rules.
        let message =
            ["Match", "Replace", "Prompt", "Map", "RequestPlugin", "Tools", "Downgrade", "PluginLimits"]
                .iter()
                .fold(message.to_owned(), |said, kind| said.replace(&format!("struct Raw{kind}"), "a table"));
        let is_one_word =
            ["integer", "floating", "boolean", "datetime"].iter().any(|kind| message.contains(kind));
        let hint = match key {
            "timeout" => Some("a number and a unit: `30s`, `5m`, `2h`".to_owned()),
            "match" => Some("`match = {}` matches everything".to_owned()),
            "replace" => Some("`replace = { pattern = \"…\", with = \"…\" }`".to_owned()),
            _ if message.contains("expected a string") && is_one_word => Some("put it in quotes".to_owned()),
            _ if message.contains("sequence") => Some("one text, no list".to_owned()),
            _ => None,
        };
        self.diagnostics.error(self.file, span, format!("`{key}`: {message}"), hint);
    }

    pub(crate) fn take<T: DeserializeOwned>(&mut self, value: Spanned<DeValue<'_>>) -> Option<T> {
        let span = value.span();
        match T::deserialize(ValueDeserializer::from(value)) {
            Ok(read) => Some(read),
            Err(error) => {
                let message = error.message().to_owned();
                self.diagnostics.error(self.file, error.span().unwrap_or(span), message, None);
                None
            }
        }
    }

    pub(crate) fn error(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.diagnostics.error(self.file, span, message, Some(hint.into()));
    }
}

/// The value under a key of a table.
pub(crate) fn nested_mut<'t, 'i>(
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
