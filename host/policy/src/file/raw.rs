//! The content of a rule file, word for word: the first of two stages.
//!
//! Nothing here judges meaning. A table with an unknown key or a wrong type is reported and left
//! out; the others are still read, so that one load shows as many errors as it can. Only
//! [`super::compile`] reads these types.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{SeqAccess, Visitor};
use toml::Spanned;
use toml::de::DeValue;

use super::assemble::raw::{
    RawApprove, RawAssemble, RawDowngrade, RawMap, RawPrompt, RawRequestPlugin, RawTools,
};
use super::fields::fields_of;
use super::tables::{Tables, nested_mut};
use crate::diagnostic::{Diagnostics, hint_for};

/// One file: its top-level words, its rules and the plugins that it declares.
#[derive(Debug, Default)]
pub(crate) struct RawFile {
    pub(crate) extends: Option<Spanned<String>>,
    pub(crate) mode: Option<Spanned<String>>,
    pub(crate) requires: Option<Spanned<OneOrMany>>,
    /// Where values may return among the arguments of tools; `None` where the file does not say.
    pub(crate) restore: Option<Vec<Spanned<RawFlow>>>,
    pub(crate) rules: Vec<Spanned<RawRule>>,
    pub(crate) exceptions: Vec<Spanned<RawException>>,
    pub(crate) detectors: Vec<Spanned<RawDetector>>,
    pub(crate) assemblies: Vec<Spanned<RawAssemble>>,
    pub(crate) plugins: Vec<(Spanned<String>, RawPlugin)>,
    /// `require_signed` among the plugins: keys of whom one must have signed each.
    pub(crate) require_signed: Option<Spanned<OneOrMany>>,
    /// Names of plugin tables that could not be read.
    pub(crate) broken_plugins: Vec<String>,
}

pub(super) const TOP_LEVEL: &[&str] =
    &["extends", "mode", "requires", "restore", "plugins", "rule", "exception", "detector", "assemble"];

/// The one key of `plugins` that is no plugin.
pub(super) const REQUIRE_SIGNED: &str = "require_signed";

/// A row of `restore`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFlow {
    pub(crate) from: Option<Spanned<OneOrMany>>,
    pub(crate) to: Option<Spanned<OneOrMany>>,
}

/// `[[rule]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawRule {
    pub(crate) id: Option<Spanned<String>>,
    #[serde(rename = "match")]
    pub(crate) matches: Option<Spanned<RawMatch>>,
    pub(crate) when: Option<Spanned<String>>,
    pub(crate) action: Option<Spanned<String>>,
    pub(crate) on: Option<Spanned<String>>,
    pub(crate) stream: Option<Spanned<String>>,
    pub(crate) look_behind: Option<Spanned<i64>>,
    pub(crate) on_odd: Option<Spanned<String>>,
    pub(crate) mode: Option<Spanned<String>>,
    pub(crate) reason: Option<Spanned<String>>,
    pub(crate) severity: Option<Spanned<String>>,
    pub(crate) tags: Option<Spanned<OneOrMany>>,
    pub(crate) owner: Option<Spanned<String>>,
    pub(crate) docs: Option<Spanned<String>>,
    pub(crate) on_error: Option<Spanned<String>>,
    pub(crate) detect: Option<Spanned<OneOrMany>>,
    pub(crate) with: Option<Spanned<String>>,
    pub(crate) restore: Option<Spanned<String>>,
    pub(crate) on_unredactable: Option<Spanned<String>>,
    pub(crate) published: Option<Spanned<String>>,
    pub(crate) releasable: Option<Spanned<bool>>,
    pub(crate) to: Option<Spanned<String>>,
    pub(crate) on_drift: Option<Spanned<String>>,
    #[serde(rename = "as")]
    pub(crate) kind: Option<Spanned<String>>,
    pub(crate) from: Option<Spanned<OneOrMany>>,
    pub(crate) set: Option<Spanned<String>>,
    pub(crate) replace: Option<Spanned<RawReplace>>,
    pub(crate) prepend: Option<Spanned<String>>,
    pub(crate) append: Option<Spanned<String>>,
    pub(crate) max_lines: Option<Spanned<i64>>,
    pub(crate) max_chars: Option<Spanned<i64>>,
    pub(crate) options: Option<Spanned<BTreeMap<String, Spanned<toml::Value>>>>,
    pub(crate) model: Option<Spanned<String>>,
    pub(crate) keep: Option<Spanned<OneOrMany>>,
    pub(crate) drop: Option<Spanned<OneOrMany>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) path: Option<Spanned<String>>,
    pub(crate) history: Option<Spanned<bool>>,
    pub(crate) plugin: Option<Spanned<String>>,
    pub(crate) sees: Option<Spanned<String>>,
    pub(crate) timeout: Option<Spanned<String>>,
    pub(crate) on_timeout: Option<Spanned<String>>,
    pub(crate) subagents: Option<Spanned<String>>,
    pub(crate) examples: Option<Spanned<OneOrMany>>,
    pub(crate) counter_examples: Option<Spanned<OneOrMany>>,
    /// Keys whose values could not be read. That has been reported, so they must not be reported as
    /// missing too.
    #[serde(skip)]
    pub(crate) broken: BTreeSet<String>,
}

/// `match = { … }`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawMatch {
    pub(crate) kind: Option<Spanned<OneOrMany>>,
    pub(crate) role: Option<Spanned<OneOrMany>>,
    pub(crate) section: Option<Spanned<OneOrMany>>,
    pub(crate) tool: Option<Spanned<OneOrMany>>,
    pub(crate) path: Option<Spanned<OneOrMany>>,
    pub(crate) model: Option<Spanned<OneOrMany>>,
    pub(crate) format: Option<Spanned<OneOrMany>>,
    pub(crate) agent: Option<Spanned<OneOrMany>>,
    pub(crate) session: Option<Spanned<OneOrMany>>,
    pub(crate) upstream: Option<Spanned<OneOrMany>>,
    pub(crate) endpoint: Option<Spanned<OneOrMany>>,
    pub(crate) project: Option<Spanned<OneOrMany>>,
    pub(crate) stream: Option<Spanned<bool>>,
    pub(crate) subagent: Option<Spanned<bool>>,
    pub(crate) latest: Option<Spanned<bool>>,
    pub(crate) header: Option<Spanned<RawNamed>>,
    pub(crate) option: Option<Spanned<RawNamed>>,
}

/// `header = { x-team = "…" }`: any names, with a word or words for each.
pub(crate) type RawNamed = BTreeMap<String, Spanned<OneOrMany>>;

/// `replace = { pattern = "…", with = "…" }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawReplace {
    pub(crate) pattern: Spanned<String>,
    pub(crate) with: Spanned<String>,
}

/// `[[exception]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawException {
    pub(crate) rule: Option<Spanned<OneOrMany>>,
    #[serde(rename = "match")]
    pub(crate) matches: Option<Spanned<RawMatch>>,
    pub(crate) value: Option<Spanned<OneOrMany>>,
    pub(crate) pattern: Option<Spanned<String>>,
    pub(crate) finding: Option<Spanned<OneOrMany>>,
    pub(crate) reason: Option<Spanned<String>>,
    pub(crate) by: Option<Spanned<String>>,
    pub(crate) until: Option<Spanned<toml::Value>>,
    /// Keys whose values could not be read.
    #[serde(skip)]
    pub(crate) broken: BTreeSet<String>,
}

/// `[[detector]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDetector {
    pub(crate) id: Option<Spanned<String>>,
    pub(crate) label: Option<Spanned<String>>,
    pub(crate) confidence: Option<Spanned<String>>,
    pub(crate) regex: Option<Spanned<String>>,
    pub(crate) keywords: Option<Spanned<OneOrMany>>,
    pub(crate) words: Option<Spanned<OneOrMany>>,
    pub(crate) words_file: Option<Spanned<String>>,
    pub(crate) names: Option<Spanned<OneOrMany>>,
    pub(crate) case_sensitive: Option<Spanned<bool>>,
    pub(crate) keys: Option<Spanned<OneOrMany>>,
    pub(crate) checks: Option<Spanned<OneOrMany>>,
    pub(crate) examples: Option<Spanned<OneOrMany>>,
    pub(crate) counter_examples: Option<Spanned<OneOrMany>>,
    /// Keys whose values could not be read.
    #[serde(skip)]
    pub(crate) broken: BTreeSet<String>,
}

/// `[plugins.<name>]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPlugin {
    pub(crate) file: Option<Spanned<String>>,
    pub(crate) sha256: Option<Spanned<String>>,
    pub(crate) config: Option<Spanned<toml::Table>>,
    pub(crate) limits: Option<RawPluginLimits>,
}

/// `[plugins.<name>.limits]`. Values of other types are told like any that is no limit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPluginLimits {
    pub(crate) start_deadline: Option<Spanned<toml::Value>>,
    pub(crate) call_deadline: Option<Spanned<toml::Value>>,
    pub(crate) request_time: Option<Spanned<toml::Value>>,
    pub(crate) memory_bytes: Option<Spanned<toml::Value>>,
    pub(crate) answer_bytes: Option<Spanned<toml::Value>>,
    pub(crate) findings: Option<Spanned<toml::Value>>,
    pub(crate) edits: Option<Spanned<toml::Value>>,
}

/// A string, or a list of strings of which any may match.
#[derive(Clone, Debug)]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<Spanned<String>>),
}

impl OneOrMany {
    /// Its words with their places; `span` is the place of the whole value.
    pub(crate) fn words(&self, span: Range<usize>) -> Vec<(&str, Range<usize>)> {
        match self {
            OneOrMany::One(word) => vec![(word, span)],
            OneOrMany::Many(words) => {
                words.iter().map(|word| (word.get_ref().as_str(), word.span())).collect()
            }
        }
    }
}

impl<'de> Deserialize<'de> for OneOrMany {
    // Not `#[serde(untagged)]`: that loses the places of the list's items.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;

        impl<'de> Visitor<'de> for Words {
            type Value = OneOrMany;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_str<E>(self, word: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany::One(word.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<OneOrMany, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = items.next_element()? {
                    words.push(word);
                }
                Ok(OneOrMany::Many(words))
            }
        }

        deserializer.deserialize_any(Words)
    }
}

/// Reads one file. Whatever is wrong goes to `diagnostics`; the rest is returned.
pub(crate) fn read(file: usize, diagnostics: &mut Diagnostics) -> RawFile {
    let text = diagnostics.file(file).text.clone();
    let mut tables = Tables { file, diagnostics };
    let Some(table) = tables.parse(&text) else { return RawFile::default() };
    let mut reader = Reader { tables, out: RawFile::default() };
    for (key, value) in table {
        reader.top_level(key, value);
    }
    let mut out = reader.out;
    // The parser's map is sorted by name; plugins load and digest in the order in which they were
    // written.
    out.plugins.sort_by_key(|(name, _)| name.span().start);
    out
}

struct Reader<'d> {
    tables: Tables<'d>,
    out: RawFile,
}

impl Reader<'_> {
    fn top_level(&mut self, key: Spanned<std::borrow::Cow<'_, str>>, value: Spanned<DeValue<'_>>) {
        match key.get_ref().as_ref() {
            "extends" => self.out.extends = self.tables.take(value),
            "mode" => self.out.mode = self.tables.take(value),
            "requires" => self.out.requires = self.tables.take(value),
            "restore" => self.restore(value),
            "rule" => self.rules(value),
            "exception" => self.exceptions(value),
            "detector" => self.detectors(value),
            "assemble" => self.assemblies(value),
            "plugins" => self.plugins(value),
            other => {
                let message = format!("unknown key `{other}`");
                self.tables.error(key.span(), message, hint_for(other, TOP_LEVEL));
            }
        }
    }

    fn restore(&mut self, value: Spanned<DeValue<'_>>) {
        let span = value.span();
        let DeValue::Array(items) = value.into_inner() else {
            let hint = "`restore = [{ from = \"Read(.env*)\", to = [\"Edit(.env*)\"] }]`; `restore = \"off\"` belongs \
                        into a `[[rule]]`";
            return self.tables.error(span, "`restore` must be a list", hint);
        };
        let rows = self.out.restore.get_or_insert_default();
        for mut item in items {
            let mut broken = self.tables.drop_unknown(&mut item, fields_of::<RawFlow>(), belongs_elsewhere);
            broken.extend(self.tables.drop_broken::<RawFlow>(&mut item));
            // What is left of a broken row would be told as a row without the broken key.
            if broken.is_empty() {
                rows.extend(self.tables.take::<Spanned<RawFlow>>(item));
            }
        }
    }

    fn rules(&mut self, value: Spanned<DeValue<'_>>) {
        let span = value.span();
        let DeValue::Array(items) = value.into_inner() else {
            return self.tables.error(
                span,
                "`rule` must be a list of tables",
                "write `[[rule]]` above each rule",
            );
        };
        for mut item in items {
            let mut broken = self.tables.drop_unknown(&mut item, fields_of::<RawRule>(), belongs_elsewhere);
            if let Some(table) = nested_mut(&mut item, "match") {
                self.tables.drop_unknown(table, fields_of::<RawMatch>(), belongs_elsewhere);
                self.tables.drop_broken::<RawMatch>(table);
            }
            broken.extend(self.drop_misspelt(
                &mut item,
                "replace",
                fields_of::<RawReplace>(),
                &["pattern", "with"],
            ));
            broken.extend(self.tables.drop_broken::<RawRule>(&mut item));
            if let Some(rule) = self.tables.take::<Spanned<RawRule>>(item) {
                let span = rule.span();
                self.out.rules.push(Spanned::new(span, RawRule { broken, ..rule.into_inner() }));
            }
        }
    }

    /// Reports the unknown keys of a table inside a table. Where one was meant that must be there, what is
    /// left says nothing, and the table is taken out whole; its name is returned.
    fn drop_misspelt(
        &mut self,
        item: &mut Spanned<DeValue<'_>>,
        name: &str,
        known: &[&str],
        required: &[&str],
    ) -> Option<String> {
        let inner = nested_mut(item, name)?;
        let misspelt = self.tables.drop_unknown(inner, known, belongs_elsewhere);
        if !required.iter().any(|key| misspelt.contains(*key)) {
            return None;
        }
        let DeValue::Table(table) = item.get_mut() else { return None };
        table.remove(name);
        Some(name.to_owned())
    }

    fn exceptions(&mut self, value: Spanned<DeValue<'_>>) {
        let span = value.span();
        let DeValue::Array(items) = value.into_inner() else {
            let hint = "write `[[exception]]` above each exception";
            return self.tables.error(span, "`exception` must be a list of tables", hint);
        };
        for mut item in items {
            let misspelt =
                self.tables.drop_unknown(&mut item, fields_of::<RawException>(), belongs_elsewhere);
            let before = self.tables.diagnostics.errors();
            if let Some(table) = nested_mut(&mut item, "match") {
                self.tables.drop_unknown(table, fields_of::<RawMatch>(), belongs_elsewhere);
                self.tables.drop_broken::<RawMatch>(table);
            }
            let is_place_broken = self.tables.diagnostics.errors() > before;
            let mut broken = self.tables.drop_broken::<RawException>(&mut item);
            broken.extend(misspelt);
            broken.extend(is_place_broken.then(|| "match".to_owned()));
            if let Some(exception) = self.tables.take::<Spanned<RawException>>(item) {
                let span = exception.span();
                let exception = RawException { broken, ..exception.into_inner() };
                self.out.exceptions.push(Spanned::new(span, exception));
            }
        }
    }

    fn detectors(&mut self, value: Spanned<DeValue<'_>>) {
        let span = value.span();
        let DeValue::Array(items) = value.into_inner() else {
            let hint = "write `[[detector]]` above each detector";
            return self.tables.error(span, "`detector` must be a list of tables", hint);
        };
        for mut item in items {
            let mut broken =
                self.tables.drop_unknown(&mut item, fields_of::<RawDetector>(), belongs_elsewhere);
            broken.extend(self.tables.drop_broken::<RawDetector>(&mut item));
            if let Some(detector) = self.tables.take::<Spanned<RawDetector>>(item) {
                let span = detector.span();
                let detector = RawDetector { broken, ..detector.into_inner() };
                self.out.detectors.push(Spanned::new(span, detector));
            }
        }
    }

    fn assemblies(&mut self, value: Spanned<DeValue<'_>>) {
        let span = value.span();
        let DeValue::Array(items) = value.into_inner() else {
            let hint = "write `[[assemble]]` above each profile";
            return self.tables.error(span, "`assemble` must be a list of tables", hint);
        };
        let nested = [
            ("match", fields_of::<RawMatch>()),
            ("map", fields_of::<RawMap>()),
            ("tools", fields_of::<RawTools>()),
            ("downgrade", fields_of::<RawDowngrade>()),
        ];
        for mut item in items {
            let mut broken =
                self.tables.drop_unknown(&mut item, fields_of::<RawAssemble>(), belongs_elsewhere);
            broken.extend(self.drop_misspelt(&mut item, "prompt", fields_of::<RawPrompt>(), &["type"]));
            for (name, known) in nested {
                if let Some(table) = nested_mut(&mut item, name) {
                    self.tables.drop_unknown(table, known, belongs_elsewhere);
                }
            }
            if let Some(approve) =
                nested_mut(&mut item, "tools").and_then(|tools| nested_mut(tools, "approve"))
            {
                self.tables.drop_unknown(approve, fields_of::<RawApprove>(), belongs_elsewhere);
            }
            if let Some(DeValue::Array(plugins)) = nested_mut(&mut item, "plugins").map(Spanned::get_mut) {
                for plugin in plugins.iter_mut() {
                    self.tables.drop_unknown(plugin, fields_of::<RawRequestPlugin>(), belongs_elsewhere);
                }
            }
            broken.extend(self.tables.drop_broken::<RawAssemble>(&mut item));
            if let Some(assembly) = self.tables.take::<Spanned<RawAssemble>>(item) {
                let span = assembly.span();
                let assembly = RawAssemble { broken, ..assembly.into_inner() };
                self.out.assemblies.push(Spanned::new(span, assembly));
            }
        }
    }

    fn plugins(&mut self, value: Spanned<DeValue<'_>>) {
        let span = value.span();
        let DeValue::Table(tables) = value.into_inner() else {
            return self.tables.error(span, "`plugins` must hold tables", "write `[plugins.name]`");
        };
        for (name, mut table) in tables {
            // No plugin has this name: names are kebab-case.
            if name.get_ref() == REQUIRE_SIGNED {
                self.out.require_signed = self.tables.take(table);
                continue;
            }
            let misspelt = self.tables.drop_unknown(&mut table, fields_of::<RawPlugin>(), belongs_elsewhere);
            if let Some(limits) = nested_mut(&mut table, "limits") {
                self.tables.drop_unknown(limits, fields_of::<RawPluginLimits>(), belongs_elsewhere);
            }
            let broken = self.tables.drop_broken::<RawPlugin>(&mut table);
            let is_whole = broken.is_empty() && !misspelt.contains("file");
            let name = Spanned::new(name.span(), name.into_inner().into_owned());
            match self.tables.take(table).filter(|_| is_whole) {
                Some(plugin) => self.out.plugins.push((name, plugin)),
                None => self.out.broken_plugins.push(name.into_inner()),
            }
        }
    }
}

/// Returns a hint for a key that belongs into a table of another kind.
fn belongs_elsewhere(key: &str) -> Option<String> {
    if fields_of::<RawMatch>().contains(&key) {
        return Some(format!("`{key}` belongs into `match`: `match = {{ {key} = \"…\" }}`"));
    }
    if fields_of::<RawReplace>().contains(&key) {
        return Some(format!(
            "`{key}` belongs into `replace`: `replace = {{ pattern = \"…\", with = \"…\" }}`"
        ));
    }
    if fields_of::<RawPlugin>().contains(&key) {
        return Some(format!("`{key}` belongs into a table `[plugins.<name>]`"));
    }
    fields_of::<RawRule>().contains(&key).then(|| format!("`{key}` belongs into a `[[rule]]`"))
}
