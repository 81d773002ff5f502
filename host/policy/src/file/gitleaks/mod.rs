//! Rule files of gitleaks and betterleaks, read as detectors of the policy's own.
//!
//! What a rule says is taken over whole or not at all: a rule that could only be taken over in part
//! would guard something else than its author thinks, so it is refused at its line, and the table
//! that names the file may leave it out. A text of a request is like the standard input of those
//! scanners: it has no path and no commit, so what they allow by path or by commit allows nothing
//! here, and a rule for certain paths would never find anything, and is refused.
//!
//! `gitleaks:allow` in a text allows nothing: whoever writes the text would decide what leaves.

mod filter;
mod go_regex;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use leafgate_detect::{Confidence, DetectorId, Label};
use sha2::{Digest, Sha256};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Complaints;
use super::tables::Tables;
use super::useless::warn_of_slow;
use crate::bounded::Pattern;
use crate::diagnostic::bad_regex;
use crate::own::{OwnDetector, PACK};
use crate::sieve::{Companion, Filter, Order, Part, Seen, Sieve};

/// A pattern of these files is larger than those that people write by hand: their prefixes are long.
const REGEX_SIZE: usize = 10 << 20;

/// What all detectors of a file have in common.
pub(super) struct Common<'c> {
    /// The id of the table that names the file.
    pub(super) id: &'c str,
    pub(super) label: Label,
    pub(super) confidence: Confidence,
    /// Rules that are left out.
    pub(super) without: BTreeSet<&'c str>,
}

/// Reads a file; what is wrong with it is reported at its own lines.
pub(super) fn read(
    text: &str,
    common: &Common<'_>,
    complaints: &mut Complaints<'_>,
) -> Vec<Arc<OwnDetector>> {
    let mut tables = Tables { file: complaints.file, diagnostics: complaints.diagnostics };
    let Some(table) = tables.parse(text) else { return Vec::new() };
    let mut reader = Reader { common, complaints, digest: Sha256::digest(text).into() };
    let Some(file) = reader.file(&table) else { return Vec::new() };
    reader.detectors(file)
}

/// Returns whether a file has a rule of this name; a file that cannot be read says so itself.
pub(super) fn names_rule(text: &str, name: &str) -> bool {
    let Ok(table) = DeTable::parse(text) else { return true };
    let named = |rule: &Spanned<DeValue<'_>>| match rule.get_ref() {
        DeValue::Table(rule) => {
            keys(rule).get("id").is_some_and(|(_, id)| id.get_ref().as_str() == Some(name))
        }
        _ => false,
    };
    match keys(table.get_ref()).get("rules").map(|(_, rules)| rules.get_ref()) {
        Some(DeValue::Array(rules)) => rules.iter().any(named),
        _ => true,
    }
}

/// Keys by their names in small letters, as these scanners read them.
type Keys<'a, 't> = BTreeMap<String, (Range<usize>, &'a Spanned<DeValue<'t>>)>;

/// A file as read.
struct File<'a> {
    rules: Vec<Rule<'a>>,
    /// What is no finding, whatever the rule.
    filters: Vec<Arc<Filter>>,
    /// The same of some rules, with the place of their names.
    targeted: Vec<(Spanned<&'a str>, Arc<Filter>)>,
}

/// One rule as read.
struct Rule<'a> {
    id: Spanned<&'a str>,
    pattern: Pattern,
    keywords: Vec<String>,
    group: Option<usize>,
    filters: Vec<Arc<Filter>>,
    required: Vec<Required<'a>>,
    is_silent: bool,
}

struct Required<'a> {
    id: Spanned<&'a str>,
    lines: Option<usize>,
    columns: Option<usize>,
}

struct Reader<'r, 'c, 'd> {
    common: &'r Common<'c>,
    complaints: &'r mut Complaints<'d>,
    digest: [u8; 32],
}

const LEAVE_OUT: &str = "mend it, or leave the rule out: `without = [\"…\"]` beside `gitleaks`";

/// What these keys say is for people, or asks services about what was found.
const NOT_ASKED: [&str; 9] = [
    "title",
    "description",
    "tags",
    "minversion",
    "betterleaksminversion",
    "validate",
    "specificity",
    "severity",
    "references",
];

impl<'a> Reader<'_, '_, '_> {
    fn file(&mut self, table: &'a DeTable<'_>) -> Option<File<'a>> {
        let errors = self.complaints.diagnostics.errors();
        let mut file = File { rules: Vec::new(), filters: Vec::new(), targeted: Vec::new() };
        for (name, (at, value)) in keys(table) {
            match &*name {
                "rules" => {
                    for rule in self.tables(&name, value) {
                        file.rules.extend(self.rule(rule));
                    }
                }
                "allowlist" | "allowlists" => {
                    for list in self.tables(&name, value) {
                        self.global_allowlist(list, &mut file);
                    }
                }
                "filter" => file.filters.extend(self.filter(value)),
                "prefilter" => self.prefilter(value),
                "extend" => {
                    let hint =
                        "put the rules of that file into this one, or name it in a `[[detector]]` of its own";
                    self.complaints.error(at, "`extend` names rules that are not in this file", hint);
                }
                name if NOT_ASKED.contains(&name) => {}
                name => self.unknown(at, name, "a rule file of gitleaks or betterleaks"),
            }
        }
        if file.rules.is_empty() && self.complaints.diagnostics.errors() == errors {
            let hint = "gitleaks writes `[[rules]]` above each rule";
            self.complaints.error(0..0, "the file holds no rule", hint);
        }
        Some(file).filter(|_| self.complaints.diagnostics.errors() == errors)
    }

    fn unknown(&mut self, at: Range<usize>, name: &str, of: &str) {
        let written =
            self.complaints.diagnostics.file(self.complaints.file).text.get(at.clone()).unwrap_or(name);
        let message = format!("`{written}` is no key of {of} that can be taken over");
        self.complaints.error(at, message, LEAVE_OUT);
    }

    /// A table, or a list of them.
    fn tables(&mut self, name: &str, value: &'a Spanned<DeValue<'_>>) -> Vec<&'a Spanned<DeValue<'a>>> {
        let all: Vec<&Spanned<DeValue<'_>>> = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![value],
        };
        let are = all.iter().all(|item| matches!(item.get_ref(), DeValue::Table(_)));
        if !are {
            self.complaints.error(value.span(), format!("`{name}` must be tables"), format!("`[[{name}]]`"));
            return Vec::new();
        }
        all
    }

    fn rule(&mut self, value: &'a Spanned<DeValue<'_>>) -> Option<Rule<'a>> {
        let DeValue::Table(table) = value.get_ref() else { return None };
        let mut known = keys(table);
        let Some(id) = known.remove("id").and_then(|(_, id)| self.text("id", id)) else {
            self.complaints.error(value.span(), "a rule without `id`", "gitleaks needs one too");
            return None;
        };
        if self.common.without.contains(*id.get_ref()) {
            return None;
        }
        let header = id.span();
        let mut pattern = None;
        let mut rule = Rule {
            id,
            pattern: nothing(),
            keywords: Vec::new(),
            group: None,
            filters: Vec::new(),
            required: Vec::new(),
            is_silent: false,
        };
        let errors = self.complaints.diagnostics.errors();
        for (name, (at, value)) in known {
            match &*name {
                "regex" => pattern = self.pattern(value),
                "keywords" => {
                    rule.keywords =
                        self.texts(&name, value).into_iter().map(str::to_ascii_lowercase).collect()
                }
                "secretgroup" => rule.group = self.count(&name, value).filter(|&group| group > 0),
                "entropy" => rule.filters.extend(self.entropy(value)),
                "filter" => rule.filters.extend(self.filter(value)),
                "allowlist" | "allowlists" => {
                    for list in self.tables(&name, value) {
                        rule.filters.extend(self.allowlist(list).map(|(filter, _)| Arc::new(filter)));
                    }
                }
                "required" => {
                    for other in self.tables(&name, value) {
                        rule.required.extend(self.required(other));
                    }
                }
                "skipreport" => rule.is_silent = matches!(value.get_ref(), DeValue::Boolean(true)),
                "path" => {
                    let message = format!(
                        "rule `{}` is for certain paths, and a text in a request has none",
                        rule.id.get_ref()
                    );
                    self.complaints.error(at, message, LEAVE_OUT);
                }
                name if NOT_ASKED.contains(&name) => {}
                name => self.unknown(at, name, "a rule"),
            }
        }
        if self.complaints.diagnostics.errors() > errors {
            return None;
        }
        let Some(pattern) = pattern else {
            self.complaints.error(header, "a rule without `regex`", LEAVE_OUT);
            return None;
        };
        if let Some(group) = rule.group.filter(|&group| group >= pattern.captures_len()) {
            self.complaints.error(header, format!("its pattern has no group {group}"), LEAVE_OUT);
            return None;
        }
        Some(Rule { pattern, ..rule })
    }

    fn pattern(&mut self, value: &'a Spanned<DeValue<'_>>) -> Option<Pattern> {
        let source = self.text("regex", value)?;
        let translated = go_regex::translated(source.get_ref());
        match Pattern::new(&translated, REGEX_SIZE) {
            Ok(regex) if regex.is_match("") => {
                self.complaints.error(source.span(), "the pattern matches the empty text", LEAVE_OUT);
                None
            }
            Ok(regex) => {
                warn_of_slow(&translated, source.span(), self.complaints);
                Some(regex)
            }
            Err(error) => {
                self.complaints.error(source.span(), bad_regex(&error), LEAVE_OUT);
                None
            }
        }
    }

    /// Of the secret, and no more than so much.
    fn entropy(&mut self, value: &'a Spanned<DeValue<'_>>) -> Option<Arc<Filter>> {
        let bits = match value.get_ref() {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(number) => number.as_str().parse().ok(),
            _ => None,
        };
        let Some(bits) = bits else {
            self.complaints.error(value.span(), "`entropy` must be a number", LEAVE_OUT);
            return None;
        };
        (bits != 0.0).then(|| Arc::new(Filter::Entropy(Part::Secret, Order::AtMost, bits)))
    }

    fn filter(&mut self, value: &'a Spanned<DeValue<'_>>) -> Option<Arc<Filter>> {
        let text = self.text("filter", value)?;
        match filter::read(text.get_ref()) {
            Ok(filter) => Some(Arc::new(filter)),
            Err(bad) => {
                let at = bad.at..bad.at + 1;
                let hint = Some(LEAVE_OUT.to_owned());
                self.complaints.error_inside(text.span(), text.get_ref(), at, bad.message, hint);
                None
            }
        }
    }

    /// What is left out before anything is looked for: by path, so nothing here, unless it leaves out
    /// what has no path.
    fn prefilter(&mut self, value: &'a Spanned<DeValue<'_>>) {
        let Some(filter) = self.filter(value) else { return };
        if filter.holds(&Seen { secret: "", whole: "", line: "" }) {
            let hint = "mend the `prefilter`";
            self.complaints.error(value.span(), "this leaves out every text that has no path", hint);
        }
    }

    fn global_allowlist(&mut self, value: &'a Spanned<DeValue<'_>>, file: &mut File<'a>) {
        let Some((filter, targets)) = self.allowlist(value) else { return };
        let filter = Arc::new(filter);
        match targets.is_empty() {
            true => file.filters.push(filter),
            false => file.targeted.extend(targets.into_iter().map(|rule| (rule, Arc::clone(&filter)))),
        }
    }

    /// What is allowed, and the rules of which, where not of all.
    fn allowlist(&mut self, value: &'a Spanned<DeValue<'_>>) -> Option<(Filter, Vec<Spanned<&'a str>>)> {
        let DeValue::Table(table) = value.get_ref() else { return None };
        let mut known = keys(table);
        let errors = self.complaints.diagnostics.errors();
        let mut target = Part::Secret;
        if let Some((_, value)) = known.remove("regextarget") {
            target = match self.text("regexTarget", value).map(Spanned::into_inner) {
                Some("" | "secret") => Part::Secret,
                Some("match") => Part::Whole,
                Some("line") => Part::Line,
                _ => {
                    self.complaints.error(value.span(), "`regexTarget` is `match` or `line`", LEAVE_OUT);
                    return None;
                }
            };
        }
        let (mut all, mut must_all, mut targets) = (Vec::new(), false, Vec::new());
        for (name, (at, value)) in known {
            match &*name {
                "regexes" => {
                    let patterns = self.texts(&name, value);
                    match filter::any_of(&patterns, REGEX_SIZE) {
                        Ok(set) => {
                            all.push(Filter::Matches(std::mem::replace(&mut target, Part::Secret), set))
                        }
                        Err(error) => self.complaints.error(value.span(), bad_regex(&error), LEAVE_OUT),
                    }
                }
                "stopwords" => {
                    let words = self.texts(&name, value);
                    match filter::words(&words) {
                        Ok(words) => all.push(Filter::Contains(Part::Secret, Box::new(words))),
                        Err(error) => self.complaints.error(value.span(), error.to_string(), LEAVE_OUT),
                    }
                }
                // No text has one, so this never holds.
                "paths" | "commits" | "resources" => all.push(Filter::Any(Vec::new())),
                "targetrules" => targets = self.spanned_texts(&name, value),
                "condition" => {
                    let condition = self.text(&name, value).map(|word| word.get_ref().to_ascii_uppercase());
                    match condition.as_deref() {
                        Some("AND" | "&&") => must_all = true,
                        Some("" | "OR" | "||") => {}
                        _ => self.complaints.error(value.span(), "`condition` is `AND` or `OR`", LEAVE_OUT),
                    }
                }
                "description" => {}
                name => self.unknown(at, name, "an allow-list"),
            }
        }
        if all.is_empty() && self.complaints.diagnostics.errors() == errors {
            let hint = "write `regexes`, `stopwords`, `paths` or `commits`";
            self.complaints.error(value.span(), "this allow-list allows nothing", hint);
        }
        let filter = if must_all { Filter::All(all) } else { Filter::Any(all) };
        (self.complaints.diagnostics.errors() == errors).then_some((filter, targets))
    }

    fn required(&mut self, value: &'a Spanned<DeValue<'_>>) -> Option<Required<'a>> {
        let DeValue::Table(table) = value.get_ref() else { return None };
        let mut known = keys(table);
        let Some(id) = known.remove("id").and_then(|(_, id)| self.text("id", id)) else {
            self.complaints.error(value.span(), "`required` without the `id` of a rule", LEAVE_OUT);
            return None;
        };
        let mut required = Required { id, lines: None, columns: None };
        for (name, (at, value)) in known {
            match &*name {
                "withinlines" => required.lines = self.count(&name, value),
                "withincolumns" => required.columns = self.count(&name, value),
                name => self.unknown(at, name, "`required`"),
            }
        }
        Some(required)
    }

    fn text(&mut self, name: &str, value: &'a Spanned<DeValue<'_>>) -> Option<Spanned<&'a str>> {
        let DeValue::String(text) = value.get_ref() else {
            self.complaints.error(value.span(), format!("`{name}` must be a text"), LEAVE_OUT);
            return None;
        };
        Some(Spanned::new(value.span(), text.as_ref()))
    }

    fn texts(&mut self, name: &str, value: &'a Spanned<DeValue<'_>>) -> Vec<&'a str> {
        self.spanned_texts(name, value).into_iter().map(Spanned::into_inner).collect()
    }

    fn spanned_texts(&mut self, name: &str, value: &'a Spanned<DeValue<'_>>) -> Vec<Spanned<&'a str>> {
        let DeValue::Array(items) = value.get_ref() else {
            self.complaints.error(value.span(), format!("`{name}` must be a list of texts"), LEAVE_OUT);
            return Vec::new();
        };
        items.iter().filter_map(|item| self.text(name, item)).collect()
    }

    fn count(&mut self, name: &str, value: &'a Spanned<DeValue<'_>>) -> Option<usize> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse().ok(),
            _ => None,
        };
        if number.is_none() {
            self.complaints.error(value.span(), format!("`{name}` must be a whole number"), LEAVE_OUT);
        }
        number
    }

    /// Makes detectors of the rules: first those that need no other.
    fn detectors(&mut self, mut file: File<'a>) -> Vec<Arc<OwnDetector>> {
        for name in &self.common.without {
            let known =
                file.rules.iter().any(|rule| rule.required.iter().any(|other| other.id.get_ref() == name));
            if known {
                let message = format!("`{name}` is left out, and another rule needs it beside itself");
                self.complaints.error(0..0, message, "leave out the other rule too");
            }
        }
        self.target(&mut file);
        let mut made: BTreeMap<&str, Arc<OwnDetector>> = BTreeMap::new();
        let (needing, alone): (Vec<_>, Vec<_>) =
            file.rules.into_iter().partition(|rule| !rule.required.is_empty());
        let composite: BTreeSet<&str> = needing.iter().map(|rule| *rule.id.get_ref()).collect();
        for rule in alone.into_iter().chain(needing) {
            let id = rule.id.clone();
            let companions =
                rule.required.iter().filter_map(|other| self.companion(other, &made, &composite));
            let companions: Vec<Companion> = companions.collect();
            let Some(detector) = self.detector(rule, companions, &file.filters) else { continue };
            if made.insert(*id.get_ref(), detector).is_some() {
                let message = format!("rule `{}` is declared twice", id.get_ref());
                self.complaints.error(id.span(), message, "give one of them another id");
            }
        }
        made.into_values().collect()
    }

    /// Gives rules what is allowed of them by name.
    fn target(&mut self, file: &mut File<'a>) {
        for (name, filter) in &file.targeted {
            match file.rules.iter_mut().find(|rule| rule.id.get_ref() == name.get_ref()) {
                Some(rule) => rule.filters.push(Arc::clone(filter)),
                None if self.common.without.contains(*name.get_ref()) => {}
                None => {
                    let message = format!("there is no rule `{}`", name.get_ref());
                    self.complaints.error(name.span(), message, "take it out of `targetRules`");
                }
            }
        }
    }

    fn companion(
        &mut self,
        other: &Required<'_>,
        made: &BTreeMap<&str, Arc<OwnDetector>>,
        composite: &BTreeSet<&str>,
    ) -> Option<Companion> {
        let name = *other.id.get_ref();
        if composite.contains(name) {
            let message =
                format!("`{name}` itself needs another rule beside it, and such chains are not followed");
            self.complaints.error(other.id.span(), message, LEAVE_OUT);
            return None;
        }
        let Some(detector) = made.get(name) else {
            self.complaints.error(other.id.span(), format!("there is no rule `{name}`"), LEAVE_OUT);
            return None;
        };
        Some(Companion { detector: Arc::clone(detector), lines: other.lines, columns: other.columns })
    }

    fn detector(
        &mut self,
        rule: Rule<'_>,
        companions: Vec<Companion>,
        filters: &[Arc<Filter>],
    ) -> Option<Arc<OwnDetector>> {
        let name = format!("{PACK}/{}:{}", self.common.id, rule.id.get_ref());
        let Ok(id) = DetectorId::new(&name) else {
            let message = format!("`{}` cannot be a part of a detector's name", rule.id.get_ref());
            self.complaints.error(
                rule.id.span(),
                message,
                "use letters, digits, dashes, dots and underscores",
            );
            return None;
        };
        let filters = rule.filters.into_iter().chain(filters.iter().map(Arc::clone)).collect();
        let sieve =
            Sieve { group: rule.group, filters, companions, is_silent: rule.is_silent, digest: self.digest };
        Some(Arc::new(OwnDetector {
            id,
            label: self.common.label.clone(),
            confidence: self.common.confidence,
            pattern: Some(rule.pattern),
            keywords: rule.keywords,
            words: Vec::new(),
            any_case: true,
            keys: Vec::new(),
            luhn: false,
            sieve: Some(Box::new(sieve)),
        }))
    }
}

/// The keys of a table by their names in small letters.
fn keys<'a, 't>(table: &'a DeTable<'t>) -> Keys<'a, 't> {
    table.iter().map(|(key, value)| (key.get_ref().to_ascii_lowercase(), (key.span(), value))).collect()
}

/// Stands for a pattern until it is read.
fn nothing() -> Pattern {
    Pattern::new("[^\\s\\S]", REGEX_SIZE).expect("a class of no character is a pattern")
}
