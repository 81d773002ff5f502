//! `[[rule]]` tables to [`Rule`]s.
//!
//! Each field is read by exactly one function. A rule with an error is dropped: the policy is
//! refused anyway, and what can still be checked is.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use leafgate_contract::World;
use leafgate_diagnostic::keys::Table;
use leafgate_diagnostic::{Complaints, hint_for};
use leafgate_tree::SectionKind;
use regex::{Regex, RegexBuilder};
use toml::Spanned;

use super::detectors::{Engines, ONE_LINE};
use super::own::OwnDetectors;
use super::plugins::Plugins;
use super::raw::{ACTIONS, PROTECTED_FROM, RawRule};
use super::{answers, belongs, idle, matches, replacement};
use crate::bounded::bad_regex;
use crate::condition::Condition;
use crate::rule::{
    Action, Decide, Delete, Edit, Insert, Mode, On, OnDrift, OnError, OnTimeout, OnUnredactable, Pause, Pin,
    Published, Redact, Restore, Rewrite, Rule, Sees, Streaming, Subagents, Transform, With, Word,
};
use crate::selector::Selector;
use crate::shorten::{LEAST_CHARS, LEAST_LINES, Shorten};

/// Longest name of an upstream.
const MAX_UPSTREAM: usize = 40;
/// Letters of a tag: the header that names tags has room for some twenty.
const MAX_TAG: usize = 40;

/// Compiled size that one regular expression of a rule may have; the default of `regex` is ten
/// times that.
pub(super) const REGEX_SIZE: usize = 1 << 20;

/// Longest pause. Nobody waits a day for a prompt, and no client holds a connection that long.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Instead of a text to pin to: the one that a leaf had first.
const FIRST_SEEN: &str = "first-seen";

/// What a `rewrite` rule may do.
const CHANGES: [&str; 8] =
    ["set", "replace", "prepend", "append", "max_lines", "max_chars", "options", "model"];

fn one_of_changes() -> String {
    CHANGES.map(|name| format!("`{name}`")).join(", ")
}

/// Everything that compiling one rule may look at.
pub(crate) struct Compiler<'c, 'd> {
    pub(crate) complaints: Complaints<'d>,
    pub(crate) plugins: &'c Plugins,
    pub(crate) own: &'c OwnDetectors,
    pub(crate) engines: &'c mut Engines,
    pub(crate) mode: Mode,
}

impl Compiler<'_, '_> {
    /// Compiles one rule; `None` where something is wrong with it, which has been reported.
    pub(crate) fn rule(&mut self, raw: &Spanned<RawRule>) -> Option<Rule> {
        let before = self.complaints.diagnostics.errors();
        let header = Range { start: raw.span().start, end: raw.span().end };
        let raw = raw.get_ref();
        let id = self.id(raw, header.clone());
        let selector = self.selector(raw, header.clone());
        let action_name = self.action_name(raw, header.clone());
        let action = match action_name {
            Some(action) => {
                belongs::check(raw, action, &mut self.complaints);
                self.action(raw, action, header.clone())
            }
            None => {
                self.keys_of_no_action(raw, &header);
                None
            }
        };
        let finds = action_name == Some("redact");
        let when = raw.when.as_ref().and_then(|when| self.condition(when, !finds));
        let mode = self.optional("mode", &raw.mode).unwrap_or(self.mode);
        let on_error = self.optional("on_error", &raw.on_error);
        let on = self.on(raw);
        // Each key is read before the rule is given up for any of them.
        let reason = self.reason(raw);
        let severity = self.about(raw);
        let (streamed, on_odd) = (self.streamed(on, raw), self.on_odd(on, raw));
        let count = self.finding_count(on, raw);
        let (mut action, mut selector) = (action?, selector?);
        place_absent(&mut action, &selector);
        selector.reach = action.reach();
        let rule = Rule {
            id: id?.into(),
            on: on?,
            streaming: Streaming::Buffer,
            on_odd,
            origin: self.origin(&header),
            selector,
            when,
            count,
            action,
            mode,
            on_error: on_error.unwrap_or(OnError::Block),
            reason,
            severity,
            says: raw.says(),
        };
        let rule = Rule { streaming: self.streaming(&rule, raw, streamed, header), ..rule };
        self.model_is_of_request(&rule, raw);
        if let (Some(written), true) =
            (&raw.when, finds && rule.when.as_ref().is_some_and(Condition::spares_texts))
        {
            let message = "one such text lets everything else in its leaf pass";
            let hint = "allow the value alone with an `[[exception]]`";
            self.complaints.warning(written.span(), message, hint);
        }
        if let Some(paths) = raw.matches.as_ref().and_then(|table| table.get_ref().path.as_ref()) {
            idle::warn(&rule, paths.span(), &mut self.complaints);
        }
        (self.complaints.diagnostics.errors() == before).then_some(rule)
    }

    pub(crate) fn origin(&self, header: &Range<usize>) -> String {
        let file = self.complaints.file;
        let diagnostics = &self.complaints.diagnostics;
        format!("{}:{}", diagnostics.name(file), diagnostics.line(file, header))
    }

    /// What a rule is about; `None` where nobody can tell.
    fn on(&mut self, raw: &RawRule) -> Option<On> {
        match &raw.on {
            None if raw.broken.contains("on") => None,
            None => Some(On::default()),
            Some(word) => self.complaints.word("on", word, On::NAMES, On::from_name),
        }
    }

    fn id(&mut self, raw: &RawRule, header: Range<usize>) -> Option<String> {
        let Some(id) = &raw.id else {
            let hint = "reports and holds name it: `id = \"my-rule\"`";
            self.complaints.missing((raw, "id"), header, "a rule without `id`", hint);
            return None;
        };
        self.complaints.kebab(id, "no-production-data")
    }

    fn selector(&mut self, raw: &RawRule, header: Range<usize>) -> Option<Selector> {
        let Some(table) = &raw.matches else {
            let hint = "`match = {}` matches everything";
            self.complaints.missing((raw, "match"), header, "a rule without `match`", hint);
            return None;
        };
        Some(matches::compile(table.get_ref(), &mut self.complaints))
    }

    fn action_name(&mut self, raw: &RawRule, header: Range<usize>) -> Option<&'static str> {
        let Some(action) = &raw.action else {
            let hint = format!("one of: {}", ACTIONS.join(", "));
            self.complaints.missing((raw, "action"), header, "a rule without `action`", hint);
            return None;
        };
        let find = |word: &str| ACTIONS.iter().copied().find(|action| *action == word);
        self.complaints.word("action", action, ACTIONS, find)
    }

    fn condition(&mut self, when: &Spanned<String>, findings: bool) -> Option<Condition> {
        let source = when.get_ref();
        match Condition::compile(source, findings) {
            Ok(condition) => Some(condition),
            Err(faults) => {
                for fault in faults {
                    let at = self.complaints.inside(when.span(), source, fault.at);
                    self.complaints.diagnostics.error(self.complaints.file, at, fault.message, fault.hint);
                }
                None
            }
        }
    }

    fn action(&mut self, raw: &RawRule, action: &str, header: Range<usize>) -> Option<Action> {
        match action {
            "redact" => self.redact(raw, header).map(Action::Redact),
            "classify" => self.classify(raw, header).map(Action::Classify),
            "protect" => self.protect(raw).map(Action::Pin),
            "pin" => self.pin(raw).map(Action::Pin),
            "rewrite" => self.rewrite(raw, header).map(Action::Edit),
            "delete" => Some(Action::Edit(Edit::Delete(delete(raw)))),
            "insert" => self.insert(raw, header).map(Edit::Insert).map(Action::Edit),
            "filter-tools" => self.filter_tools(raw, header).map(Action::Edit),
            "strip-tools" => Some(Action::Edit(Edit::StripTools)),
            "normalise-tools" => Some(Action::Edit(Edit::NormaliseTools)),
            "transform" => self.transform(raw, header).map(Edit::Transform).map(Action::Edit),
            "pause" => Some(Action::Decide(Decide::Pause(self.pause(raw)?))),
            "block" => Some(Action::Decide(Decide::Block)),
            "route" => self.route(raw, header).map(Decide::Route).map(Action::Decide),
            "tag" => self.tag(raw, header).map(Decide::Tag).map(Action::Decide),
            // `ACTIONS` names no other.
            _ => None,
        }
    }

    fn redact(&mut self, raw: &RawRule, header: Range<usize>) -> Option<Redact> {
        let with = self.optional("with", &raw.with).unwrap_or(answers::default_replacement(raw));
        let restore = self.restore(raw, with);
        let on_unredactable = self.optional("on_unredactable", &raw.on_unredactable);
        let published = self.optional("published", &raw.published);
        let words =
            raw.detect.as_ref().map(|detect| detect.get_ref().words(detect.span())).unwrap_or_default();
        let Some(detect) = raw.detect.as_ref().filter(|_| !words.is_empty()) else {
            let span = raw.detect.as_ref().map_or(header, Spanned::span);
            let hint = "for example `detect = [\"secrets\", \"pii/email\"]`";
            self.complaints.missing((raw, "detect"), span, "`redact` needs `detect`", hint);
            return None;
        };
        let built_in =
            |word: &&(&str, Range<usize>)| !word.0.starts_with("plugin:") && !word.0.starts_with("own");
        let written: Vec<String> =
            words.iter().filter(built_in).map(|(word, _)| (*word).to_owned()).collect();
        let (detectors, plugins) = self.detectors(words);
        Some(Redact {
            engine: self.engine(&detectors, detect.span())?,
            checked: self.engine(&checked_by_digits(&detectors), detect.span())?,
            detectors: match written.iter().any(|word| word.starts_with('!') || word == ONE_LINE) {
                true => written,
                false => detectors,
            },
            plugins,
            with,
            restore,
            on_unredactable: on_unredactable.unwrap_or(OnUnredactable::Block),
            on_encoded: on_unredactable.unwrap_or(OnUnredactable::Pause),
            published: published.unwrap_or(match (with, restore) {
                (With::Token, Restore::On) => Published::Redact,
                _ => Published::Keep,
            }),
            releasable: raw.releasable.as_ref().is_some_and(|releasable| *releasable.get_ref()),
        })
    }

    fn restore(&mut self, raw: &RawRule, with: With) -> Restore {
        let restore = self.optional("restore", &raw.restore);
        if let Some(span) = raw.restore.as_ref().map(Spanned::span).filter(|_| with != With::Token) {
            let hint = "only tokens are restored: leave `restore` out, or say `with = \"token\"`";
            self.complaints.error(span, format!("`restore` means nothing to `with = \"{with}\"`"), hint);
        }
        restore.unwrap_or(Restore::On)
    }

    fn pin(&mut self, raw: &RawRule) -> Option<Pin> {
        let on_drift = self.optional("on_drift", &raw.on_drift);
        let to = raw.to.as_ref().map(|to| to.get_ref().as_str());
        if let Some(written) = raw.on_drift.as_ref().filter(|_| to != Some(FIRST_SEEN)) {
            let hint =
                "it says what happens where a leaf is no longer as it was first: `to = \"first-seen\"`";
            self.complaints.error(
                written.span(),
                "`on_drift` means nothing without `to = \"first-seen\"`",
                hint,
            );
        }
        Some(match to {
            None => Pin::Received,
            Some(FIRST_SEEN) => Pin::FirstSeen(on_drift.unwrap_or(OnDrift::Pin)),
            Some(to) => Pin::To { text: to.to_owned(), absent: BTreeMap::new() },
        })
    }

    /// `classify`: whose words a section holds. What an API must find together is no matter of words.
    pub(super) fn classify(&mut self, raw: &RawRule, header: Range<usize>) -> Option<SectionKind> {
        let words: Vec<&str> =
            SectionKind::ALL.iter().filter(|kind| kind.is_of_words()).map(|kind| kind.name()).collect();
        let Some(kind) = &raw.kind else {
            let hint = format!("say what it is: `as = \"context\"`; one of {}", words.join(", "));
            self.complaints.missing((raw, "as"), header, "`classify` needs `as`", hint);
            return None;
        };
        let read = |word: &str| SectionKind::from_name(word).filter(|kind| kind.is_of_words());
        self.complaints.word("as", kind, &words, read)
    }

    pub(super) fn protect(&mut self, raw: &RawRule) -> Option<Pin> {
        let Some(from) = &raw.from else { return Some(Pin::Protect { edit: true, delete: true }) };
        let (mut edit, mut delete) = (false, false);
        let before = self.complaints.diagnostics.errors();
        for (word, span) in from.get_ref().words(from.span()) {
            match word {
                "edit" => edit = true,
                "delete" => delete = true,
                other => {
                    let message = format!("`{other}` is no value of `from`");
                    self.complaints.error(span, message, hint_for(other, PROTECTED_FROM));
                }
            }
        }
        if self.complaints.diagnostics.errors() > before {
            return None;
        }
        if !edit && !delete {
            let hint = "say from what, or leave `from` out: `from = [\"edit\", \"delete\"]`";
            self.complaints.error(from.span(), "protected from nothing", hint);
            return None;
        }
        Some(Pin::Protect { edit, delete })
    }

    fn rewrite(&mut self, raw: &RawRule, header: Range<usize>) -> Option<Edit> {
        let given: Vec<&str> = CHANGES.into_iter().filter(|name| raw.place(name).is_some()).collect();
        let limits = given.iter().all(|name| matches!(*name, "max_lines" | "max_chars"));
        match given.as_slice() {
            [] if CHANGES.iter().any(|name| raw.broken.contains(*name)) => None,
            [] => {
                let hint = format!("give exactly one of {}", one_of_changes());
                self.complaints.error(header, "`rewrite` needs to know what to write", hint);
                None
            }
            _ if limits => self.shorten(raw).map(Rewrite::Shorten).map(Edit::Rewrite),
            ["options"] => self.options(raw),
            ["model"] => self.model(raw.model.as_ref()?),
            ["replace"] => self.replace(raw).map(Edit::Rewrite),
            [_] => {
                let text = |field: &Option<Spanned<String>>| field.as_ref().map(|it| it.get_ref().clone());
                let set = text(&raw.set).map(Rewrite::Set);
                let prepend = || text(&raw.prepend).map(Rewrite::Prepend);
                let append = || text(&raw.append).map(Rewrite::Append);
                set.or_else(prepend).or_else(append).map(Edit::Rewrite)
            }
            _ => {
                let hint = format!("give exactly one of {}; two changes are two rules", one_of_changes());
                self.complaints.error(header, "`rewrite` does one thing", hint);
                self.each_change(raw);
                None
            }
        }
    }

    /// Reads each key of `rewrite` that can be wrong, whether or not they go together.
    pub(super) fn each_change(&mut self, raw: &RawRule) {
        self.shorten(raw);
        self.options(raw);
        self.replace(raw);
        raw.model.as_ref().map(|model| self.model(model));
    }

    /// `max_lines` and `max_chars`, which may stand together.
    fn shorten(&mut self, raw: &RawRule) -> Option<Shorten> {
        let mut limit = |field: &str, value: &Option<Spanned<i64>>, least: usize| match value {
            None => Some(None),
            Some(value) => match usize::try_from(*value.get_ref()).ok().filter(|&limit| limit >= least) {
                Some(limit) => Some(Some(limit)),
                None => {
                    let hint = "the line that says how much is missing needs room too";
                    self.complaints.error(value.span(), format!("`{field}` is at least {least}"), hint);
                    None
                }
            },
        };
        let lines = limit("max_lines", &raw.max_lines, LEAST_LINES);
        let chars = limit("max_chars", &raw.max_chars, LEAST_CHARS);
        Some(Shorten { lines: lines?, chars: chars? })
    }

    fn replace(&mut self, raw: &RawRule) -> Option<Rewrite> {
        let replace = raw.replace.as_ref()?.get_ref();
        let pattern = replace.pattern.get_ref();
        match RegexBuilder::new(pattern).size_limit(REGEX_SIZE).build() {
            Ok(regex) => {
                self.groups(&replace.with, &regex);
                Some(Rewrite::Replace { pattern: regex, with: replace.with.get_ref().clone() })
            }
            Err(error) => {
                self.complaints.error(
                    replace.pattern.span(),
                    bad_regex(&error),
                    "the syntax is that of Rust's `regex`; a literal string '…' needs no doubled backslashes",
                );
                None
            }
        }
    }

    fn groups(&mut self, with: &Spanned<String>, pattern: &Regex) {
        for unknown in replacement::unknown_groups(with.get_ref(), pattern) {
            let message =
                format!("the pattern has no group `{}`, so nothing would be written for it", unknown.name);
            let hint = match unknown.instead.starts_with("$$") {
                true => format!("write `{}` for a dollar sign", unknown.instead),
                false => format!("write `{}`: braces end the name of a group", unknown.instead),
            };
            let at = self.complaints.inside(with.span(), with.get_ref(), unknown.at);
            self.complaints.error(at, message, hint);
        }
    }

    fn insert(&mut self, raw: &RawRule, header: Range<usize>) -> Option<Insert> {
        let path = self.inserted_path(raw);
        let Some(text) = raw.text.as_ref().filter(|text| !text.get_ref().is_empty()) else {
            let span = raw.text.as_ref().map_or(header, Spanned::span);
            let hint = "what the message says: `text = \"…\"`";
            self.complaints.missing((raw, "text"), span, "`insert` needs `text`", hint);
            return None;
        };
        let text = text.get_ref();
        Some(match path {
            None => Insert { text: text.clone() },
            Some(path) => Insert { text: format!("Context from {path}:\n\n{text}") },
        })
    }

    /// The name that an inserted text is known by.
    pub(super) fn inserted_path<'r>(&mut self, raw: &'r RawRule) -> Option<&'r str> {
        let path = raw.path.as_ref()?;
        if path.get_ref().trim().is_empty() || path.get_ref().contains(['\n', '\r']) {
            let hint = "the name that the model is to know the text by: `path = \"notes.md\"`";
            self.complaints.error(path.span(), "`path` must be the name of a file", hint);
            return None;
        }
        Some(path.get_ref())
    }

    fn transform(&mut self, raw: &RawRule, header: Range<usize>) -> Option<Transform> {
        let sees = self.optional("sees", &raw.sees).unwrap_or(Sees::Redacted);
        let on_unredactable =
            self.optional("on_unredactable", &raw.on_unredactable).unwrap_or(OnUnredactable::Block);
        let Some(plugin) = &raw.plugin else {
            let hint = "name one of `[plugins.…]`";
            self.complaints.missing((raw, "plugin"), header, "`transform` needs `plugin`", hint);
            return None;
        };
        Some(Transform {
            plugin: self.plugin(plugin.get_ref(), plugin.span(), World::Transformer)?,
            sees,
            on_unredactable,
        })
    }

    pub(super) fn pause(&mut self, raw: &RawRule) -> Option<Pause> {
        let timeout = raw.timeout.as_ref().map(|text| self.duration(text));
        let on_timeout = self.optional("on_timeout", &raw.on_timeout);
        let subagents = self.optional("subagents", &raw.subagents);
        Some(Pause {
            timeout: match timeout {
                Some(read) => Some(read?),
                None => None,
            },
            on_timeout: on_timeout.unwrap_or(OnTimeout::Cancel),
            subagents: subagents.unwrap_or(Subagents::Pause),
        })
    }

    /// `route`: whether there is such an upstream is known to a gate alone.
    fn route(&mut self, raw: &RawRule, header: Range<usize>) -> Option<Arc<str>> {
        let Some(to) = &raw.to else {
            let hint = "name an upstream of the configuration: `to = \"local\"`";
            self.complaints.missing((raw, "to"), header, "`route` needs `to`", hint);
            return None;
        };
        let name = to.get_ref();
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        if !begins || name.len() > MAX_UPSTREAM || !name.bytes().all(fits) {
            let message = format!("no upstream can be called `{name}`");
            let hint =
                "a name as in the configuration (`upstreams.<name>`): lower-case letters, digits, hyphens";
            self.complaints.error(to.span(), message, hint);
            return None;
        }
        Some(name.as_str().into())
    }

    pub(super) fn tag(&mut self, raw: &RawRule, header: Range<usize>) -> Option<Arc<str>> {
        let Some(tag) = &raw.tag else {
            let hint = "say what the request is to be known by: `tag = \"payments\"`";
            self.complaints.missing((raw, "tag"), header, "`tag` needs `tag`", hint);
            return None;
        };
        if tag.get_ref().len() > MAX_TAG {
            let message = format!("a tag has at most {MAX_TAG} letters");
            self.complaints.error(tag.span(), message, "a header and a column of the log have it");
            return None;
        }
        self.complaints.kebab(tag, "payments").map(Into::into)
    }

    fn duration(&mut self, text: &Spanned<String>) -> Option<Duration> {
        let units = [("s", 1000), ("m", 60 * 1000), ("h", 60 * 60 * 1000)];
        let read = super::duration(text.get_ref(), &units).filter(|read| *read <= MAX_TIMEOUT);
        if read.is_none() {
            let message = format!("`{}` is no duration", text.get_ref());
            self.complaints.error(
                text.span(),
                message,
                "a number and a unit, at most a day: `30s`, `5m`, `2h`",
            );
        }
        read
    }

    /// A word of a closed list, which may be absent.
    pub(super) fn optional<T: Word>(&mut self, field: &str, value: &Option<Spanned<String>>) -> Option<T> {
        value.as_ref().and_then(|value| self.complaints.word(field, value, T::NAMES, T::from_word))
    }
}

fn delete(raw: &RawRule) -> Delete {
    Delete { history: raw.history.as_ref().is_some_and(|history| *history.get_ref()) }
}

/// Detectors of numbers that carry check digits: chance seldom makes one.
const CHECKED: &[&str] = &["pii/payment-card", "pii/iban"];

/// Returns those of the named detectors whose findings check digits vouch for.
fn checked_by_digits(names: &[String]) -> Vec<String> {
    let named =
        |id: &&&str| names.iter().any(|name| name == **id || id.split('/').next() == Some(name.as_str()));
    CHECKED.iter().filter(named).map(|id| (*id).to_owned()).collect()
}

/// Has a pin know where it puts its text in, in each format that has one place for it.
fn place_absent(action: &mut Action, selector: &Selector) {
    if let Action::Pin(Pin::To { absent, .. }) = action {
        let formats = selector.formats().into_iter();
        absent.extend(formats.filter_map(|format| Some((format, selector.only_place(format)?))));
    }
}
