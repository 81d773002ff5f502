//! `[[rule]]` tables to [`Rule`]s.
//!
//! Each field is read by exactly one function. A rule with an error is dropped: the policy is
//! refused anyway, and what can still be checked is.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use leafgate_contract::World;
use leafgate_diagnostic::Complaints;
use leafgate_diagnostic::keys::Table;
use leafgate_diagnostic::number::in_millis;
use leafgate_tree::SectionKind;
use regex::RegexBuilder;
use toml::Spanned;

use super::detectors::Engines;
use super::own::OwnDetectors;
use super::plugins::Plugins;
use super::raw::{RawRule, said, text, words_of};
use super::{answers, matches, replacement};
use crate::bounded::{SYNTAX, compiled};
use crate::condition::Condition;
use crate::reason::Reason;
use crate::rule::{
    Action, ActionName, Decide, Edit, Mode, OnDrift, OnError, OnOdd, OnTimeout, OnUnredactable, Pause, Pin,
    Published, Redact, Restore, Rewrite, Rule, Sees, Streaming, Subagents, Transform, With,
};
use crate::selector::Selector;
use crate::shorten::Shorten;

/// Longest name of an upstream.
const MAX_UPSTREAM: usize = 40;
/// Letters of a tag: the header that names tags has room for some twenty.
const MAX_TAG: usize = 40;

/// Compiled size that one regular expression of a rule may have; the default of `regex` is ten
/// times that.
pub(super) const REGEX_SIZE: usize = 1 << 20;

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
        let header = raw.span();
        let raw = raw.get_ref();
        let id = raw.id.as_ref().and_then(|id| self.complaints.kebab(id, "no-production-data"));
        let selector =
            raw.matches.as_ref().map(|table| matches::compile(table.get_ref(), &mut self.complaints));
        let action_name = said(&raw.action);
        let action = match action_name {
            Some(action) => self.action(raw, action, &header),
            None => {
                self.keys_of_no_action(raw);
                None
            }
        };
        let finds = action_name == Some(ActionName::Redact);
        let when = raw.when.as_ref().and_then(|when| self.condition(when, !finds));
        let on = (!raw.broken.contains("on")).then(|| said(&raw.on).unwrap_or_default());
        // Each key is read before the rule is given up for any of them.
        let reason = raw.reason.as_ref();
        let reason = reason.and_then(|words| self.complaints.sound(words, Reason::parse(words.get_ref())));
        for (tag, span) in words_of(&raw.tags) {
            self.complaints.kebab(&Spanned::new(span, tag.to_owned()), "customer-data");
        }
        let (streamed, count) = (self.streamed(raw), self.finding_count(raw));
        let (mut action, mut selector) = (action?, selector?);
        place_absent(&mut action, &selector);
        selector.reach = action.reach();
        let rule = Rule {
            id: id?.into(),
            on: on?,
            streaming: Streaming::Buffer,
            on_odd: said(&raw.on_odd).unwrap_or(OnOdd::Refuse),
            origin: self.complaints.origin(&header),
            selector,
            when,
            count,
            action,
            action_name: action_name?,
            mode: said(&raw.mode).unwrap_or(self.mode),
            on_error: said(&raw.on_error).unwrap_or(OnError::Block),
            reason,
            severity: said(&raw.severity),
            says: raw.says.clone(),
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
        (self.complaints.diagnostics.errors() == before).then_some(rule)
    }

    fn condition(&mut self, when: &Spanned<String>, findings: bool) -> Option<Condition> {
        self.complaints.sound(when, Condition::compile(when.get_ref(), findings))
    }

    fn action(&mut self, raw: &RawRule, action: ActionName, header: &Range<usize>) -> Option<Action> {
        Some(match action {
            ActionName::Redact => Action::Redact(self.redact(raw)?),
            ActionName::Classify => Action::Classify(SectionKind::from_name(raw.kind.as_ref()?.get_ref())?),
            ActionName::Protect => Action::Pin(protect(raw)),
            ActionName::Pin => Action::Pin(self.pin(raw)),
            ActionName::Rewrite => Action::Edit(self.rewrite(raw, header)?),
            ActionName::Delete => {
                Action::Edit(Edit::Delete { history: said(&raw.history).unwrap_or_default() })
            }
            ActionName::Insert => Action::Edit(Edit::Insert(self.insert(raw)?)),
            ActionName::FilterTools => Action::Edit(self.filter_tools(raw, header)?),
            ActionName::StripTools => Action::Edit(Edit::StripTools),
            ActionName::NormaliseTools => Action::Edit(Edit::NormaliseTools),
            ActionName::Transform => Action::Edit(Edit::Transform(self.transform(raw)?)),
            ActionName::Pause => Action::Decide(Decide::Pause(pause(raw))),
            ActionName::Block => Action::Decide(Decide::Block),
            ActionName::Route => Action::Decide(Decide::Route(self.route(raw, header)?)),
            ActionName::Tag => Action::Decide(Decide::Tag(self.tag(raw)?)),
        })
    }

    fn redact(&mut self, raw: &RawRule) -> Option<Redact> {
        let with = said(&raw.with).unwrap_or(answers::default_replacement(raw));
        let restore = self.restore(raw, with);
        let on_unredactable = said(&raw.on_unredactable);
        raw.detect.as_ref()?;
        let (detectors, plugins) = self.detectors(words_of(&raw.detect));
        let engine = self.engines.engine(detectors);
        let checked = self.engines.among(engine, &CHECKED);
        Some(Redact {
            engine,
            checked: self.engines.engine(checked),
            plugins,
            with,
            restore,
            on_unredactable: on_unredactable.unwrap_or(OnUnredactable::Block),
            on_encoded: on_unredactable.unwrap_or(OnUnredactable::Pause),
            published: said(&raw.published).unwrap_or(match (with, restore) {
                (With::Token, Restore::On) => Published::Redact,
                _ => Published::Keep,
            }),
            releasable: said(&raw.releasable).unwrap_or_default(),
        })
    }

    fn restore(&mut self, raw: &RawRule, with: With) -> Restore {
        if let Some(span) = raw.restore.as_ref().map(Spanned::span).filter(|_| with != With::Token) {
            let hint = "only tokens are restored: leave `restore` out, or say `with = \"token\"`";
            self.complaints.error(span, format!("`restore` means nothing to `with = \"{with}\"`"), hint);
        }
        said(&raw.restore).unwrap_or(Restore::On)
    }

    fn pin(&mut self, raw: &RawRule) -> Pin {
        let to = text(&raw.to);
        if let Some(written) = raw.on_drift.as_ref().filter(|_| to != Some(FIRST_SEEN)) {
            let hint =
                "it says what happens where a leaf is no longer as it was first: `to = \"first-seen\"`";
            self.complaints.error(
                written.span(),
                "`on_drift` means nothing without `to = \"first-seen\"`",
                hint,
            );
        }
        match to {
            None => Pin::Received,
            Some(FIRST_SEEN) => Pin::FirstSeen(said(&raw.on_drift).unwrap_or(OnDrift::Pin)),
            Some(to) => Pin::To { text: to.to_owned(), absent: BTreeMap::new() },
        }
    }

    fn rewrite(&mut self, raw: &RawRule, header: &Range<usize>) -> Option<Edit> {
        let given: Vec<&str> = CHANGES.into_iter().filter(|name| raw.place(name).is_some()).collect();
        let limits = given.iter().all(|name| matches!(*name, "max_lines" | "max_chars"));
        match given.as_slice() {
            [] if CHANGES.iter().any(|name| raw.broken.contains(*name)) => None,
            [] => {
                let hint = format!("give exactly one of {}", one_of_changes());
                self.complaints.error(header.clone(), "`rewrite` needs to know what to write", hint);
                None
            }
            _ if limits => {
                let shorten = Shorten { lines: said(&raw.max_lines), chars: said(&raw.max_chars) };
                Some(Edit::Rewrite(Rewrite::Shorten(shorten)))
            }
            ["options"] => self.options(raw),
            ["model"] => self.model(raw.model.as_ref()?),
            ["replace"] => self.replace(raw).map(Edit::Rewrite),
            [_] => {
                let text = |field| text(field).map(str::to_owned);
                let set = text(&raw.set).map(Rewrite::Set);
                let prepend = || text(&raw.prepend).map(Rewrite::Prepend);
                let append = || text(&raw.append).map(Rewrite::Append);
                set.or_else(prepend).or_else(append).map(Edit::Rewrite)
            }
            _ => {
                let hint = format!("give exactly one of {}; two changes are two rules", one_of_changes());
                self.complaints.error(header.clone(), "`rewrite` does one thing", hint);
                self.each_change(raw);
                None
            }
        }
    }

    /// Reads each key of `rewrite` that can be wrong, whether or not they go together.
    pub(super) fn each_change(&mut self, raw: &RawRule) {
        self.options(raw);
        self.replace(raw);
        raw.model.as_ref().map(|model| self.model(model));
    }

    fn replace(&mut self, raw: &RawRule) -> Option<Rewrite> {
        let replace = raw.replace.as_ref()?.get_ref();
        let pattern = replace.pattern.as_ref()?;
        let built = RegexBuilder::new(pattern.get_ref()).size_limit(REGEX_SIZE).build();
        let regex = compiled(pattern, built, SYNTAX, &mut self.complaints)?;
        let with = replace.with.as_ref()?;
        self.complaints.sound(with, replacement::known_groups(with.get_ref(), &regex));
        Some(Rewrite::Replace { pattern: regex, with: with.get_ref().clone() })
    }

    fn insert(&mut self, raw: &RawRule) -> Option<String> {
        let begins = self.inserted_path(raw).map(|path| format!("Context from {path}:\n\n"));
        Some(begins.unwrap_or_default() + raw.text.as_ref()?.get_ref())
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

    fn transform(&mut self, raw: &RawRule) -> Option<Transform> {
        Some(Transform {
            plugin: self.plugin(raw.plugin.as_ref()?, World::Transformer)?,
            sees: said(&raw.sees).unwrap_or(Sees::Redacted),
            on_unredactable: said(&raw.on_unredactable).unwrap_or(OnUnredactable::Block),
        })
    }

    /// `route`: whether there is such an upstream is known to a gate alone.
    fn route(&mut self, raw: &RawRule, header: &Range<usize>) -> Option<Arc<str>> {
        let Some(to) = &raw.to else {
            if !raw.broken.contains("to") {
                let hint = "name an upstream of the configuration: `to = \"local\"`";
                self.complaints.error(header.clone(), "`route` needs `to`", hint);
            }
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

    pub(super) fn tag(&mut self, raw: &RawRule) -> Option<Arc<str>> {
        let tag = raw.tag.as_ref()?;
        if tag.get_ref().len() > MAX_TAG {
            let message = format!("a tag has at most {MAX_TAG} letters");
            self.complaints.error(tag.span(), message, "a header and a column of the log have it");
            return None;
        }
        self.complaints.kebab(tag, "payments").map(Into::into)
    }
}

fn protect(raw: &RawRule) -> Pin {
    let from = words_of(&raw.from);
    let names = |wanted: &str| raw.from.is_none() || from.iter().any(|(word, _)| *word == wanted);
    Pin::Protect { edit: names("edit"), delete: names("delete") }
}

fn pause(raw: &RawRule) -> Pause {
    let timeout = raw.timeout.as_ref().and_then(|text| in_millis(text.get_ref()));
    Pause {
        timeout: timeout.map(Duration::from_millis),
        on_timeout: said(&raw.on_timeout).unwrap_or(OnTimeout::Cancel),
        subagents: said(&raw.subagents).unwrap_or(Subagents::Pause),
    }
}

/// Detectors of numbers that carry check digits: chance seldom makes one.
const CHECKED: [&str; 2] = ["pii/payment-card", "pii/iban"];

/// Has a pin know where it puts its text in, in each format that has one place for it.
fn place_absent(action: &mut Action, selector: &Selector) {
    if let Action::Pin(Pin::To { absent, .. }) = action {
        let formats = selector.formats().into_iter();
        absent.extend(formats.filter_map(|format| Some((format, selector.only_place(format)?))));
    }
}
