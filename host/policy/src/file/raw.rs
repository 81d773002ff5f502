//! The content of a rule file, word for word: the first of two stages.
//!
//! Nothing here judges meaning. A table with an unknown key or a wrong type is reported and left
//! out; the others are still read, so that one load shows as many errors as it can. Only
//! [`super::compile`] reads these types.

use std::collections::BTreeMap;

use leafgate_diagnostic::keys::Type::{self, Named, Number, Text, Until, Word, WordOf, Words};
use leafgate_diagnostic::keys::{Table, names};
use leafgate_diagnostic::{Complaints, Diagnostics, Dialect, OneOrMany, Tables, WordMatch, hint_for, table};
use leafgate_tree::{Format, LeafKind, Role, SectionKind};
use toml::Spanned;
use toml::de::DeValue;

use super::assemble::raw::RawAssemble;
use crate::rule::{
    Mode, On, OnDrift, OnError, OnOdd, OnTimeout, OnUnredactable, Published, Restore, Sees, Subagents,
    Urgency, With,
};
use crate::selector::section_words;

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

impl RawFile {
    /// Whether it holds exceptions and nothing else.
    pub(crate) fn is_of_exceptions(&self) -> bool {
        let says = [&self.extends, &self.mode].into_iter().any(Option::is_some) || self.requires.is_some();
        let holds = !self.rules.is_empty()
            || !self.detectors.is_empty()
            || !self.assemblies.is_empty()
            || !self.plugins.is_empty();
        let decides = says || holds || self.restore.is_some() || self.require_signed.is_some();
        !decides && !self.exceptions.is_empty()
    }
}

pub(crate) const TOP_LEVEL: &[&str] =
    &["extends", "mode", "requires", "restore", "plugins", "rule", "exception", "detector", "assemble"];

pub(super) const ACTIONS: &[&str] = &[
    "redact",
    "classify",
    "protect",
    "pin",
    "rewrite",
    "delete",
    "insert",
    "filter-tools",
    "strip-tools",
    "normalise-tools",
    "transform",
    "pause",
    "block",
    "route",
    "tag",
];

/// What `protect` keeps a leaf from.
pub(super) const PROTECTED_FROM: &[&str] = &["edit", "delete"];

/// The one key of `plugins` that is no plugin.
pub(super) const REQUIRE_SIGNED: &str = "require_signed";

table! {
    /// A row of `restore`.
    RawFlow {
        from: OneOrMany,
        to: OneOrMany,
    }
}

table! {
    /// `[[rule]]`.
    RawRule {
        id: String,
        matches as "match": RawMatch,
        when: String,
        action: String = Word(ACTIONS),
        on: String = Word(On::NAMES),
        stream: String = Word(&["buffer"]),
        look_behind: i64,
        on_odd: String = Word(OnOdd::NAMES),
        mode: String = Word(Mode::NAMES),
        reason: String,
        severity: String = Word(Urgency::NAMES),
        tags: OneOrMany,
        owner: String,
        docs: String,
        on_error: String = Word(OnError::NAMES),
        detect: OneOrMany => ["redact"],
        with: String = Word(With::NAMES) => ["redact"],
        restore: String = Word(Restore::NAMES) => ["redact"],
        on_unredactable: String = Word(OnUnredactable::NAMES) => ["redact", "transform"],
        published: String = Word(Published::NAMES) => ["redact"],
        releasable: bool => ["redact"],
        findings: OneOrMany => ["pause", "block", "route", "tag"],
        at_least: i64 => ["pause", "block", "route", "tag"],
        to: String => ["pin", "route"],
        tag: String => ["tag"],
        on_drift: String = Word(OnDrift::NAMES) => ["pin"],
        kind as "as": String = WordOf(|| words_of(SectionKind::ALL.iter().filter(|kind| kind.is_of_words()), |kind| kind.name()))
            => ["classify"],
        from: OneOrMany = Words(|| PROTECTED_FROM.to_vec()) => ["protect"],
        set: String => ["rewrite"],
        replace: RawReplace => ["rewrite"],
        prepend: String => ["rewrite"],
        append: String => ["rewrite"],
        max_lines: i64 => ["rewrite"],
        max_chars: i64 => ["rewrite"],
        options: BTreeMap<String, Spanned<toml::Value>> => ["rewrite"],
        model: String => ["rewrite"],
        keep: OneOrMany => ["filter-tools"],
        drop: OneOrMany => ["filter-tools"],
        text: String => ["insert"],
        path: String => ["insert"],
        history: bool => ["delete"],
        plugin: String => ["transform"],
        sees: String = Word(Sees::NAMES) => ["transform"],
        timeout: String => ["pause"],
        on_timeout: String = Word(OnTimeout::NAMES) => ["pause"],
        subagents: String = Word(Subagents::NAMES) => ["pause"],
    }
}

table! {
    /// `match = { … }`.
    #[derive(Default)]
    RawMatch {
        kind: WordMatch = Type::WordMatch(Some(|| words_of(LeafKind::ALL, |kind| kind.name()))),
        role: WordMatch = Type::WordMatch(Some(|| words_of(Role::ALL, |role| role.name()))),
        section: WordMatch = Type::WordMatch(Some(section_words)),
        tool: WordMatch,
        path: WordMatch,
        model: WordMatch,
        format: WordMatch = Type::WordMatch(Some(|| words_of(Format::ALL, |format| format.name()))),
        agent: WordMatch,
        session: WordMatch,
        upstream: WordMatch,
        endpoint: WordMatch,
        project: WordMatch,
        stream: bool,
        subagent: bool,
        latest: bool,
        header: RawNamed = Named,
        option: RawNamed = Named,
    }
}

/// `header = { x-team = "…" }`: any names, with what is wanted for each.
pub(crate) type RawNamed = BTreeMap<String, Spanned<WordMatch>>;

table! {
    /// `replace = { pattern = "…", with = "…" }`.
    RawReplace {
        [needed] pattern: String,
        [needed] with: String,
    }
}

table! {
    /// `[[exception]]`.
    RawException {
        rule: OneOrMany,
        matches as "match": RawMatch,
        value: OneOrMany,
        pattern: String,
        finding: OneOrMany,
        reason: String,
        by: String,
        until: toml::Value = Until,
    }
}

table! {
    /// `[[detector]]`.
    RawDetector {
        id: String,
        label: String,
        confidence: String = Word(&["low", "medium", "high"]),
        regex: String,
        keywords: OneOrMany,
        words: OneOrMany,
        words_file: String,
        names: OneOrMany,
        case_sensitive: bool,
        keys: OneOrMany,
        checks: OneOrMany,
        examples: OneOrMany,
        counter_examples: OneOrMany,
    }
}

table! {
    /// `[plugins.<name>]`.
    RawPlugin {
        [main] file: String,
        sha256: String,
        config: toml::Table,
        limits: RawPluginLimits,
    }
}

table! {
    /// `[plugins.<name>.limits]`. Values of other types are told like any that is no limit.
    RawPluginLimits {
        start_deadline: toml::Value = Text,
        call_deadline: toml::Value = Text,
        request_time: toml::Value = Text,
        memory_bytes: toml::Value = Number,
        answer_bytes: toml::Value = Number,
        findings: toml::Value = Number,
        edits: toml::Value = Number,
    }
}

/// Returns the words of an enumeration.
fn words_of<'t, T: Copy + 't>(
    all: impl IntoIterator<Item = &'t T>,
    name: impl Fn(T) -> &'static str,
) -> Vec<&'static str> {
    all.into_iter().map(|&value| name(value)).collect()
}

/// What only rule files know.
const RULES: Dialect = Dialect {
    elsewhere: belongs_elsewhere,
    written,
    // A `match` is read key by key: what is left of it still says where.
    inside: |tables, item| tables.inside::<RawMatch>(item, "match"),
};

/// Reads one file. Whatever is wrong goes to `diagnostics`; the rest is returned.
pub(crate) fn read(file: usize, diagnostics: &mut Diagnostics) -> RawFile {
    let text = diagnostics.text(file).to_owned();
    let mut tables = Tables { complaints: Complaints { file, diagnostics }, dialect: &RULES };
    let mut out = RawFile::default();
    for (key, value) in tables.parse(&text).unwrap_or_default() {
        match key.get_ref().as_ref() {
            "extends" => out.extends = tables.take(value),
            "mode" => out.mode = tables.take(value),
            "requires" => out.requires = tables.take(value),
            "restore" => out.restore = flows(value, &mut tables),
            "rule" => out.rules = tables.list(value, "rule", "rule"),
            "exception" => out.exceptions = tables.list(value, "exception", "exception"),
            "detector" => out.detectors = tables.list(value, "detector", "detector"),
            "assemble" => out.assemblies = tables.list(value, "assemble", "profile"),
            "plugins" => plugins(value, &mut tables, &mut out),
            other => {
                let message = format!("unknown key `{other}`");
                tables.complaints.error(key.span(), message, hint_for(other, TOP_LEVEL));
            }
        }
    }
    // The parser's map is sorted by name; plugins load and digest in the order in which they were
    // written.
    out.plugins.sort_by_key(|(name, _)| name.span().start);
    out
}

fn flows(value: Spanned<DeValue<'_>>, tables: &mut Tables<'_>) -> Option<Vec<Spanned<RawFlow>>> {
    let span = value.span();
    let DeValue::Array(items) = value.into_inner() else {
        let hint = "`restore = [{ from = \"Read(.env*)\", to = [\"Edit(.env*)\"] }]`; `restore = \"off\"` belongs \
                    into a `[[rule]]`";
        tables.complaints.error(span, "`restore` must be a list", hint);
        return None;
    };
    // What is left of a broken row would be told as a row without the broken key.
    let rows = items.into_iter().filter_map(|item| tables.table::<RawFlow>(item));
    Some(rows.filter(|row| row.get_ref().broken.is_empty()).collect())
}

fn plugins(value: Spanned<DeValue<'_>>, tables: &mut Tables<'_>, out: &mut RawFile) {
    let span = value.span();
    let DeValue::Table(items) = value.into_inner() else {
        return tables.complaints.error(span, "`plugins` must hold tables", "write `[plugins.name]`");
    };
    for (name, item) in items {
        // No plugin has this name: names are kebab-case.
        if name.get_ref() == REQUIRE_SIGNED {
            out.require_signed = tables.take(item);
            continue;
        }
        let name = Spanned::new(name.span(), name.into_inner().into_owned());
        match tables.table::<RawPlugin>(item).filter(|plugin| plugin.get_ref().broken.is_empty()) {
            Some(plugin) => out.plugins.push((name, plugin.into_inner())),
            None => out.broken_plugins.push(name.into_inner()),
        }
    }
}

/// Returns how the value of a key is written.
fn written(key: &str) -> Option<&'static str> {
    Some(match key {
        "timeout" => "a number and a unit: `30s`, `5m`, `2h`",
        "match" => "`match = {}` matches everything",
        "replace" => "`replace = { pattern = \"…\", with = \"…\" }`",
        "header" => "name the headers: `header = { x-team = \"red\" }`",
        "option" => "name the options: `option = { temperature = \"*\", \"reasoning.effort\" = \"high\" }`",
        "restore" => "`restore = \"off\"`, or leave it out",
        _ => return None,
    })
}

/// Returns a hint for a key that belongs into a table of another kind.
fn belongs_elsewhere(key: &str) -> Option<String> {
    let of = |keys| names(keys).contains(&key);
    Some(match () {
        () if of(RawMatch::KEYS) => format!("`{key}` belongs into `match`: `match = {{ {key} = \"…\" }}`"),
        () if of(RawReplace::KEYS) => {
            format!("`{key}` belongs into `replace`: `replace = {{ pattern = \"…\", with = \"…\" }}`")
        }
        () if of(RawPlugin::KEYS) => format!("`{key}` belongs into a table `[plugins.<name>]`"),
        () if of(RawRule::KEYS) => format!("`{key}` belongs into a `[[rule]]`"),
        () if of(RawDetector::KEYS) => {
            format!("`{key}` belongs into a `[[detector]]`; tests of rules stand in the folder `tests`")
        }
        () => return None,
    })
}
