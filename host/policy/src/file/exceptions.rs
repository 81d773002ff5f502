//! `[[exception]]` tables to exceptions that are in force.

use std::collections::BTreeSet;

use leafgate_diagnostic::{Complaints, OneOrMany, hint_for, starred};
use regex::{Regex, RegexBuilder};
use toml::Spanned;

use super::compile::REGEX_SIZE;
use super::matches;
use super::raw::{FINDING, RawException, UNTIL, VALUE, words_of};
use crate::bounded::compiled;
use crate::exception::{Allowed, Day, Exception};
use crate::index::RuleIndex;
use crate::new_exception::NEVER;
use crate::request::Reach;
use crate::rule::{Action, Rule};
use crate::selector::Selector;

/// Everything that compiling exceptions may look at.
pub(crate) struct Compiler<'c, 'd> {
    pub(crate) complaints: Complaints<'d>,
    pub(crate) rules: &'c [Rule],
    /// The ids of all rules that were written, those among them in which something is wrong too.
    pub(crate) declared: &'c BTreeSet<&'c str>,
    /// `None` where nobody says which day it is: then whatever ends has ended.
    pub(crate) today: Option<Day>,
}

impl Compiler<'_, '_> {
    /// Compiles one exception; `None` where it has ended, or something is wrong with it.
    pub(crate) fn exception(&mut self, raw: &Spanned<RawException>) -> Option<Exception> {
        let before = self.complaints.diagnostics.errors();
        let header = raw.span();
        let raw = raw.get_ref();
        let rules = self.rules(raw);
        let selector =
            raw.matches.as_ref().map(|table| matches::compile(table.get_ref(), &mut self.complaints));
        let selector = Selector { reach: Reach::Allows, ..selector.unwrap_or_default() };
        let allowed = self.allowed(raw);
        let until = self.until(raw);
        let names_something = raw.value.is_some()
            || raw.pattern.is_some()
            || raw.finding.is_some()
            || ["value", "pattern", "finding", "match"].iter().any(|key| raw.broken.contains(*key));
        if !names_something && selector.is_everything() {
            let hint = "name a `value`, a `pattern`, a `finding`, or a place in `match`";
            self.complaints.error(header.clone(), "an exception for everything is none", hint);
        }
        if self.complaints.diagnostics.errors() > before {
            return None;
        }
        self.warn_of_all(raw, &selector, &allowed);
        let origin = self.complaints.origin(&header);
        let ends = until?;
        if let Some(last) = ends
            && self.today.is_none_or(|today| last < today)
        {
            if self.today.is_some() {
                let hint = "take it out, or write a later day";
                let span = raw.until.as_ref().map_or(header, Spanned::span);
                self.complaints.warning(span, "this exception has ended and is not in force", hint);
            }
            return None;
        }
        Some(Exception { origin, rules, selector, allowed, says: raw.says_starred(), ends })
    }

    /// Warns of a pattern that lets pass whatever is found: it is easily meant for one value.
    fn warn_of_all(&mut self, raw: &RawException, selector: &Selector, allowed: &Allowed) {
        let (Some(written), Some(pattern)) = (&raw.pattern, &allowed.pattern) else { return };
        if !selector.is_everything() || !allows_all(pattern) {
            return;
        }
        let of = match words_of(&raw.rule).as_slice() {
            [] => "redact rules find".to_owned(),
            [(rule, _)] => format!("rule `{rule}` finds"),
            [..] => "these rules find".to_owned(),
        };
        let message = format!("this exception lets pass all that {of}");
        let hint = "write what the value looks like, or say in `match` where it may stand";
        self.complaints.warning(written.span(), message, hint);
    }

    fn rules(&mut self, raw: &RawException) -> Vec<RuleIndex> {
        let mut rules = Vec::new();
        for (word, span) in words_of(&raw.rule) {
            match self.rules.iter().position(|rule| *rule.id == *word) {
                Some(at) if matches!(self.rules[at].action, Action::Redact(_)) => {
                    rules.push(RuleIndex::new(at));
                }
                Some(at) => {
                    let message = format!(
                        "rule `{word}` finds nothing: its action is `{}`",
                        self.rules[at].action_name.name()
                    );
                    self.complaints.error(span, message, "exceptions are for what redact rules find");
                }
                // What is wrong with it has been said.
                None if self.declared.contains(word) => {}
                None => {
                    let known: Vec<&str> = self.rules.iter().map(|rule| &*rule.id).collect();
                    let hint = match known.is_empty() {
                        true => "mend the rules first".to_owned(),
                        false => hint_for(word, &known),
                    };
                    self.complaints.error(span, format!("no rule is called `{word}`"), hint);
                }
            }
        }
        rules
    }

    fn allowed(&mut self, raw: &RawException) -> Allowed {
        let pattern = raw.pattern.as_ref().and_then(|pattern| {
            let whole = format!(r"\A(?:{})\z", pattern.get_ref());
            let build = |pattern: &str| RegexBuilder::new(pattern).size_limit(REGEX_SIZE).build();
            // By itself first: `)(` is sound in the brackets.
            let built = build(pattern.get_ref()).and_then(|_| build(&whole));
            let hint = "the syntax is that of Rust's `regex`; it must match the whole of a finding";
            compiled(pattern, built, hint, &mut self.complaints)
        });
        Allowed {
            values: self.words("value", &raw.value, |_| true, VALUE),
            pattern,
            fingerprints: self.words("finding", &raw.finding, is_fingerprint, FINDING),
        }
    }

    fn words(
        &mut self,
        field: &str,
        value: &Option<Spanned<OneOrMany>>,
        fits: impl Fn(&str) -> bool,
        hint: &str,
    ) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for (word, span) in words_of(value) {
            match !word.is_empty() && fits(word) {
                true => _ = all.insert(word.to_owned()),
                false => self.complaints.error(span, format!("this is no `{field}`"), hint),
            }
        }
        all
    }

    /// The last day, or that there is none. The outer `None`: something is wrong.
    fn until(&mut self, raw: &RawException) -> Option<Option<Day>> {
        let until = raw.until.as_ref()?;
        match until.get_ref() {
            toml::Value::String(word) if word == NEVER => Some(None),
            toml::Value::Datetime(when) if when.time.is_none() && when.offset.is_none() => {
                when.date.and_then(Day::of_date).map(Some)
            }
            other => {
                let word = other.as_str().unwrap_or_default();
                let hint = match word.parse::<toml::value::Datetime>() {
                    Ok(day) if day.time.is_none() => format!("a day has no quotes: `until = {word}`"),
                    Ok(_) | Err(_) => UNTIL.to_owned(),
                };
                self.complaints.error(until.span(), "this is no day", hint);
                None
            }
        }
    }
}

impl RawException {
    /// Returns what it says, with stars for what looks like a secret.
    pub(crate) fn says_starred(&self) -> toml::Table {
        let mut says = self.says.clone();
        if let Some(toml::Value::Datetime(day)) = self.until.as_ref().map(Spanned::get_ref) {
            // A day without quotes is no value of JSON.
            says.insert("until".to_owned(), day.to_string().into());
        }
        says.iter_mut().filter(|(key, _)| *key == "value").for_each(|(_, value)| star(value));
        says
    }
}

/// Puts stars in the place of what looks like a secret, in a text or a list of texts.
fn star(value: &mut toml::Value) {
    match value {
        toml::Value::String(text) => *text = starred(text).into_owned(),
        toml::Value::Array(items) => items.iter_mut().for_each(star),
        _ => {}
    }
}

/// Whether a pattern allows the empty text, or texts that have nothing in common.
fn allows_all(pattern: &Regex) -> bool {
    const UNLIKE: [&str; 3] = ["k7f3q2xw", "4111 1111 1111 1111", "ann@example.org"];
    pattern.is_match("") || UNLIKE.iter().all(|text| pattern.is_match(text))
}

/// Whether a text looks like a token: a label, a low line and sixteen letters and digits.
fn is_fingerprint(text: &str) -> bool {
    let Some((label, rest)) = text.rsplit_once('_') else { return false };
    leafgate_detect::Label::new(label).is_ok()
        && rest.len() == 16
        && rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}
