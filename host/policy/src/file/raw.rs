//! The content of a rule file, word for word: the first of two stages.
//!
//! Nothing here judges meaning beyond one key: the rows of a table say what may stand under each. What is wrong is
//! reported and left out, and the rest is read all the same, so that one load shows as many errors as it can.
//! Only [`super::compile`] reads these types.

use std::collections::BTreeMap;

use leafgate_contract::PluginLimits;
use leafgate_detect::Confidence;
use leafgate_diagnostic::keys::Type::{self, Number, Time, Until, Word, Words};
use leafgate_diagnostic::keys::{Table, names};
use leafgate_diagnostic::number::NumberRange;
pub(crate) use leafgate_diagnostic::said;
use leafgate_diagnostic::{Complaints, Diagnostics, OneOrMany, WordMatch, parse, read as read_table, table};
use leafgate_tree::{Format, LeafKind, Role, SectionKind};
use toml::Spanned;
use toml::de::DeValue;

use super::assemble::raw::RawAssemble;
use crate::rule::{
    ActionName, Mode, On, OnDrift, OnError, OnOdd, OnTimeout, OnUnredactable, Published, Restore, Sees,
    Subagents, Urgency, With, words,
};
use crate::selector::section_words;
use crate::shorten::{LEAST_CHARS, LEAST_LINES};

words! {
    /// What a folder says is beneath its rules.
    Extends {
        /// The operator's policy, or the built-in one.
        Default = "default",
        /// Nothing.
        None = "none",
    }
}

/// How a day is written at which an exception ends.
pub(super) const UNTIL: &str =
    "write the last day, or that there is none: `until = 2027-03-31`, `until = \"never\"`";

/// What every exception says.
const SAID: &str = "an exception says why (`reason`), who answers for it (`by`) and for how long (`until`)";

/// What a shortened text has room for.
const SHORTENED: &str = "the line that says how much is missing needs room too";

/// Limits of a plugin up to their caps: times of its start and for a request, and of one call; memory, answers, and
/// what it finds or edits.
const OF_PLUGIN: Type = Time(NumberRange::between(1, 60_000));
const OF_CALL: Type = Time(NumberRange::between(1, 30_000));
const OF_MEMORY: Type = Number(NumberRange::between(1, PluginLimits::MOST_MEMORY as u64));
const OF_ANSWER: Type = Number(NumberRange::between(1, 64 << 20));
const OF_COUNT: Type = Number(NumberRange::between(1, 100_000));
const WRITTEN_TIME: &str = "a number and a unit, above zero: `800ms`, `5s`";
const WRITTEN_LIMIT: &str =
    "a number without a unit, 64 MiB are `67108864`; leave it out, and the usual limit holds";

table! {
    /// One file.
    RawFile, "a file" {
        extends: Extends,
        mode: Mode,
        requires: OneOrMany,
        restore: Vec<Spanned<RawFlow>>; "`restore = [{ from = \"Read(.env*)\", to = [\"Edit(.env*)\"] }]`; \
            `restore = \"off\"` belongs into a `[[rule]]`",
        plugins: BTreeMap<Spanned<String>, Spanned<RawPlugin>> = Type::Tables(RawPlugin::NAME, RawPlugin::KEYS);
            "write `[plugins.name]`",
        /// Keys of whom one must have signed each plugin.
        require_signed as "plugins.require_signed": OneOrMany,
        rules as "rule": Vec<Spanned<RawRule>>; "write `[[rule]]` above each rule",
        exceptions as "exception": Vec<Spanned<RawException>>; "write `[[exception]]` above each exception",
        detectors as "detector": Vec<Spanned<RawDetector>>; "write `[[detector]]` above each detector",
        assemblies as "assemble": Vec<Spanned<RawAssemble>>; "write `[[assemble]]` above each profile",
    }
}

impl RawFile {
    /// Whether it holds exceptions and nothing else.
    pub(crate) fn is_of_exceptions(&self) -> bool {
        RawFile::KEYS.iter().all(|key| self.place(key.name).is_some() == (key.name == "exception"))
    }
}

/// Returns the tables of a list, none where it is not there.
pub(crate) fn rows<T>(list: &Option<Spanned<Vec<Spanned<T>>>>) -> &[Spanned<T>] {
    list.as_ref().map_or(&[], |list| list.get_ref())
}

table! {
    /// A row of `restore`.
    RawFlow, "a row of `restore`" {
        [said] from: OneOrMany; "`{ from = \"Read(.env*)\", to = [\"Edit(.env*)\", \"Write(.env*)\"] }`",
        [said] to: OneOrMany; "`{ from = \"Read(.env*)\", to = [\"Edit(.env*)\", \"Write(.env*)\"] }`",
    }
}

table! {
    /// `[[rule]]`.
    RawRule, "a rule" {
        [must] id: String; "reports and holds name it: `id = \"my-rule\"`",
        [must] matches as "match": RawMatch; "`match = {}` matches everything",
        when: String,
        [tag] action: ActionName,
        on: On,
        stream: String = Word(|| vec!["buffer"]),
        look_behind: usize = Number(NumberRange::between(32, 16 << 10));
            "so many bytes of a text stay behind while a stream comes",
        on_odd: OnOdd,
        mode: Mode,
        reason: String,
        severity: Urgency,
        tags: OneOrMany,
        owner: String,
        docs: String,
        on_error: OnError,
        [said] detect: OneOrMany => ["redact"]; "for example `detect = [\"secrets\", \"pii/email\"]`",
        with: With => ["redact"],
        restore: Restore => ["redact"]; "`restore = \"off\"`, or leave it out",
        on_unredactable: OnUnredactable => ["redact", "transform"],
        published: Published => ["redact"],
        releasable: bool => ["redact"],
        findings: OneOrMany => ["pause", "block", "route", "tag"],
        at_least: usize => ["pause", "block", "route", "tag"];
            "how much must be found at the least: `at_least = 6`",
        to: String => ["pin", "route"],
        [must] tag: String => ["tag"]; "say what the request is to be known by: `tag = \"payments\"`",
        on_drift: OnDrift => ["pin"],
        [must] kind as "as": String = Word(section_kinds) => ["classify"],
        from: OneOrMany = Words(|| vec!["edit", "delete"]) => ["protect"],
        set: String => ["rewrite"],
        replace: RawReplace => ["rewrite"]; REPLACE,
        prepend: String => ["rewrite"],
        append: String => ["rewrite"],
        max_lines: usize = Number(NumberRange::from(LEAST_LINES as u64)) => ["rewrite"]; SHORTENED,
        max_chars: usize = Number(NumberRange::from(LEAST_CHARS as u64)) => ["rewrite"]; SHORTENED,
        options: BTreeMap<String, Spanned<toml::Value>> => ["rewrite"],
        model: String => ["rewrite"],
        keep: OneOrMany => ["filter-tools"],
        drop: OneOrMany => ["filter-tools"],
        [said] text: String => ["insert"]; "what the message says: `text = \"…\"`",
        path: String => ["insert"],
        history: bool => ["delete"],
        [must] plugin: String => ["transform"]; "name one of `[plugins.…]`",
        sees: Sees => ["transform"],
        timeout: String = Time(NumberRange::between(1_000, DAY)) => ["pause"];
            "a number and a unit, at most a day: `30s`, `5m`, `2h`",
        on_timeout: OnTimeout => ["pause"],
        subagents: Subagents => ["pause"],
    }
}

/// Milliseconds of the longest pause. Nobody waits a day for a prompt, and no client holds a connection that
/// long.
const DAY: u64 = 24 * 60 * 60 * 1000;

table! {
    /// `match = { … }`.
    RawMatch, "`match`" {
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
        header: RawNamed; "name the headers: `header = { x-team = \"red\" }`",
        option: RawNamed; "name the options: `option = { temperature = \"*\", \"reasoning.effort\" = \"high\" }`",
    }
}

/// `header = { x-team = "…" }`: any names, with what is wanted for each.
pub(crate) type RawNamed = BTreeMap<String, Spanned<WordMatch>>;

const REPLACE: &str = "`replace = { pattern = \"…\", with = \"…\" }`";

table! {
    /// `replace = { pattern = "…", with = "…" }`.
    RawReplace, "`replace`" {
        [must] pattern: String; REPLACE,
        [must] with: String; REPLACE,
    }
}

table! {
    /// `[[exception]]`.
    RawException, "an exception" {
        rule: OneOrMany,
        matches as "match": RawMatch,
        value: OneOrMany,
        pattern: String,
        finding: OneOrMany,
        [said] reason: String; SAID,
        [said] by: String; SAID,
        [must] until: toml::Value = Until; UNTIL,
    }
}

table! {
    /// `[[detector]]`.
    RawDetector, "a detector" {
        [must] id: String; "rules name it: with `id = \"ticket\"` they say `detect = [\"own/ticket\"]`",
        label: String,
        confidence: Confidence = Word(|| Confidence::NAMES.to_vec()),
        regex: String,
        keywords: OneOrMany,
        words: OneOrMany,
        words_file: String,
        names: OneOrMany,
        case_sensitive: bool,
        keys: OneOrMany,
        checks: OneOrMany = Words(|| vec!["luhn"]),
        examples: OneOrMany,
        counter_examples: OneOrMany,
    }
}

table! {
    /// `[plugins.<name>]`.
    RawPlugin, "a plugin" {
        [must] file: String; "`file = \"….wasm\"`, the component that it is, or a script `….js`",
        sha256: String,
        config: toml::Table,
        limits: RawPluginLimits,
    }
}

table! {
    /// `[plugins.<name>.limits]`.
    RawPluginLimits, "`limits`" {
        start_deadline: String = OF_PLUGIN; WRITTEN_TIME,
        call_deadline: String = OF_CALL; WRITTEN_TIME,
        request_time: String = OF_PLUGIN; WRITTEN_TIME,
        memory_bytes: usize = OF_MEMORY; WRITTEN_LIMIT,
        answer_bytes: usize = OF_ANSWER; WRITTEN_LIMIT,
        findings: usize = OF_COUNT; WRITTEN_LIMIT,
        edits: usize = OF_COUNT; WRITTEN_LIMIT,
    }
}

/// Returns the words of an enumeration.
fn words_of<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|&value| name(value)).collect()
}

/// What a section can be said to be. What an API must find together is no matter of words.
fn section_kinds() -> Vec<&'static str> {
    SectionKind::ALL.iter().filter(|kind| kind.is_of_words()).map(|kind| kind.name()).collect()
}

/// The one key of `plugins` that is no plugin.
pub(super) const REQUIRE_SIGNED: &str = "require_signed";

/// Reads one file. Whatever is wrong goes to `diagnostics`; the rest is returned.
pub(crate) fn read(file: usize, diagnostics: &mut Diagnostics) -> RawFile {
    let text = diagnostics.text(file).to_owned();
    let mut complaints = Complaints { file, diagnostics };
    let Some(mut table) = parse(&text, &mut complaints) else { return RawFile::default() };
    let name = format!("plugins.{REQUIRE_SIGNED}");
    if let Some((key, _)) = table.get_mut().remove_entry(name.as_str()) {
        complaints.error(
            key.span(),
            format!("unknown key `{name}`"),
            "without quotes, it stands among the plugins",
        );
    }
    // No plugin has this name: names are kebab-case.
    if let Some(DeValue::Table(plugins)) = table.get_mut().get_mut("plugins").map(Spanned::get_mut)
        && let Some((key, signers)) = plugins.remove_entry(REQUIRE_SIGNED)
    {
        table.get_mut().insert(Spanned::new(key.span(), name.into()), signers);
    }
    read_table::<RawFile>(table, belongs_elsewhere, &mut complaints).into_inner()
}

/// Returns a hint for a key that belongs into a table of another kind.
fn belongs_elsewhere(key: &str) -> Option<String> {
    let of = |keys| names(keys).contains(&key);
    Some(match () {
        () if of(RawMatch::KEYS) => format!("`{key}` belongs into `match`: `match = {{ {key} = \"…\" }}`"),
        () if of(RawReplace::KEYS) => format!("`{key}` belongs into `replace`: {REPLACE}"),
        () if of(RawPlugin::KEYS) => format!("`{key}` belongs into a table `[plugins.<name>]`"),
        () if of(RawRule::KEYS) => format!("`{key}` belongs into a `[[rule]]`"),
        () if of(RawDetector::KEYS) => {
            format!("`{key}` belongs into a `[[detector]]`; tests of rules stand in the folder `tests`")
        }
        () => return None,
    })
}
