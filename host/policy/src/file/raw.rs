//! The content of a rule file, word for word: the first of two stages.
//!
//! Nothing here judges meaning beyond one key: the rows of a table say what may stand under each. What is wrong is
//! reported and left out, and the rest is read all the same, so that one load shows as many errors as it can.
//! Only [`super::compile`] reads these types.

use std::collections::BTreeMap;

use leafgate_contract::PluginLimits;
use leafgate_detect::Confidence;
use leafgate_diagnostic::keys::Type::{self, Match, Number, Time, Until, Word};
use leafgate_diagnostic::keys::{Table, names};
use leafgate_diagnostic::number::NumberRange;
use leafgate_diagnostic::{Complaints, Diagnostics, OneOrMany, WordMatch, parse, read as read_table, table};
pub(crate) use leafgate_diagnostic::{said, text, words_of};
use leafgate_tree::{Format, LeafKind, Role};
use toml::Spanned;
use toml::de::DeValue;

use super::assemble::raw::RawAssemble;
use crate::rule::{
    ActionName, Mode, On, OnDrift, OnError, OnOdd, OnTimeout, OnUnredactable, Published, Restore, Sees,
    Subagents, Urgency, With, words,
};
use crate::selector::SECTION_WORDS;
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

/// How an exception names a value, and the finding of one.
pub(super) const VALUE: &str = "write the value as it stands in the text";
pub(super) const FINDING: &str = "write the token that stands for the value: `EMAIL_k7f3q2xw9mz4ab6c`";

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
        plugins: BTreeMap<Spanned<String>, Spanned<RawPlugin>>; "write `[plugins.name]`",
        /// Keys of whom one must have signed each plugin.
        [some] require_signed as "plugins.require_signed": OneOrMany; "`leafgate plugin key FILE` makes one",
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
        [usual "request"] on: On,
        stream: String = Word(&["buffer"]) => ["response"],
        look_behind: usize = Number(NumberRange::between(32, 16 << 10)) => ["response"];
            "so many bytes of a text stay behind while a stream comes",
        on_odd: OnOdd => ["response", "tool-call"],
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
        releasable: bool => ["redact", "request"],
        findings: OneOrMany => ["pause", "block", "route", "tag", "request"],
        at_least: usize => ["pause", "block", "route", "tag"];
            "how much must be found at the least: `at_least = 6`",
        to: String => ["pin", "route"],
        [must] tag: String => ["tag"]; "say what the request is to be known by: `tag = \"payments\"`",
        on_drift: OnDrift => ["pin"],
        [must] kind as "as": String = Word(KINDS_OF_WORDS) => ["classify"],
        [some] from: OneOrMany = Type::OneOrMany(&Word(&["edit", "delete"])) => ["protect"];
            "say from what, or leave `from` out: `from = [\"edit\", \"delete\"]`",
        set: String => ["rewrite"],
        replace: RawReplace => ["rewrite"]; REPLACE,
        prepend: String => ["rewrite"],
        append: String => ["rewrite"],
        max_lines: usize = Number(NumberRange::from(LEAST_LINES as u64)) => ["rewrite"]; SHORTENED,
        max_chars: usize = Number(NumberRange::from(LEAST_CHARS as u64)) => ["rewrite"]; SHORTENED,
        [some] options: BTreeMap<String, Spanned<serde_json::Value>> = Type::Table => ["rewrite"];
            "name at least one: `options = { temperature = 0.2 }`",
        model: String => ["rewrite"],
        [some] keep: OneOrMany => ["filter-tools"],
        [some] drop: OneOrMany => ["filter-tools"],
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
        kind: WordMatch = Match(&Word(LeafKind::NAMES)),
        role: WordMatch = Match(&Word(Role::NAMES)),
        section: WordMatch = Match(&Word(SECTION_WORDS)),
        tool: WordMatch,
        path: WordMatch,
        model: WordMatch,
        format: WordMatch = Match(&Word(Format::NAMES)),
        agent: WordMatch,
        session: WordMatch,
        upstream: WordMatch,
        endpoint: WordMatch,
        project: WordMatch,
        stream: bool,
        subagent: bool,
        latest: bool,
        [some] header: RawNamed; "name the headers: `header = { x-team = \"red\" }`",
        [some] option: RawNamed; "name the options: `option = { temperature = \"*\", \"reasoning.effort\" = \"high\" }`",
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
        [some] rule: OneOrMany; "leave `rule` out to mean every redact rule",
        matches as "match": RawMatch,
        [some] value: OneOrMany; VALUE,
        pattern: String,
        [some] finding: OneOrMany; FINDING,
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
        confidence: Confidence = Word(Confidence::NAMES),
        regex: String,
        [some] keywords: OneOrMany,
        [some] words: OneOrMany,
        words_file: String,
        [some] names: OneOrMany,
        case_sensitive: bool,
        [some] keys: OneOrMany,
        checks: OneOrMany = Type::OneOrMany(&Word(&["luhn"])),
        examples: OneOrMany,
        counter_examples: OneOrMany,
    }
}

table! {
    /// `[plugins.<name>]`.
    RawPlugin, "a plugin" {
        [must] file: String; "`file = \"….wasm\"`, the component that it is, or a script `….js`",
        sha256: String,
        config: serde_json::Map<String, serde_json::Value> = Type::Table,
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

/// What a section can be said to be. What an API must find together is no matter of words.
const KINDS_OF_WORDS: &[&str] =
    &["system", "user", "assistant", "context", "history", "content-part", "other"];

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

#[cfg(test)]
mod tests {
    use leafgate_diagnostic::keys::KeyNeed;
    use leafgate_tree::SectionKind;

    use super::*;
    use crate::rule::{ActionName, On};

    #[test]
    fn every_word_that_a_key_belongs_to_is_of_one_tag() {
        for word in RawRule::KEYS.iter().flat_map(|key| key.of) {
            assert!(ActionName::from_name(word).is_some() != On::from_name(word).is_some(), "{word}");
        }
        let on = RawRule::KEYS.iter().find(|key| key.name == "on").expect("a key");
        assert_eq!(on.need, KeyNeed::Usual(On::Request.name()));
    }

    #[test]
    fn a_section_can_be_said_to_be_whatever_is_of_words() {
        let of_words = SectionKind::ALL.iter().filter(|kind| kind.is_of_words()).map(|kind| kind.name());
        assert!(of_words.eq(KINDS_OF_WORDS.iter().copied()));
    }
}
