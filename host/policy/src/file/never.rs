//! Rules that are sound and can never match: no request has what they ask for.
//!
//! What a format has says the tree itself: a smallest request that holds what a path names is read in
//! each format, and a place in a message of one is none in another.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use bytes::Bytes;
use leafgate_tree::{Document, Format, Limits, NodeType, Role};
use regex::Regex;
use toml::Spanned;

use super::Complaints;
use super::raw::{OneOrMany, RawMatch, RawRule};
use crate::Policy;
use crate::pattern::PathPattern;
use crate::rule::{Action, On, Rule};
use crate::selector::Bits;

/// What the redact rules of a policy call what they find.
pub(crate) struct Labels(BTreeSet<String>);

impl Labels {
    pub(crate) fn of(policy: &Policy) -> Self {
        let mut labels = BTreeSet::new();
        for rule in &policy.rules {
            let Action::Redact(redact) = &rule.action else { continue };
            if let Some(engine) = redact.engine {
                let infos = policy.engines[engine.get()].detectors();
                labels.extend(infos.map(|info| info.label.to_string()));
            }
            let plugins = redact.plugins.iter().map(|plugin| &policy.plugins[plugin.get()]);
            labels.extend(plugins.flat_map(|plugin| &plugin.labels).map(ToString::to_string));
        }
        Labels(labels)
    }
}

/// Warns of a rule that no request can match.
pub(crate) fn warn(rule: &Rule, raw: &RawRule, labels: &Labels, complaints: &mut Complaints<'_>) {
    if let Some(matches) = raw.matches.as_ref().map(Spanned::get_ref) {
        paths(rule, matches, complaints);
        latest(rule, matches, complaints);
    }
    if let Some(when) = &raw.when {
        bounds(when, complaints);
        unknown_labels(when, labels, complaints);
    }
}

/// Paths that lie in a message of other formats than those which the rule names; and of one format
/// alone, where the rule names none.
fn paths(rule: &Rule, matches: &RawMatch, complaints: &mut Complaints<'_>) {
    let Some(written) = &matches.path else { return };
    if rule.on != On::Request {
        return;
    }
    let named = rule.selector.formats();
    let places: Vec<Range<usize>> = place_of_words(written);
    let mut known: BTreeSet<Format> = BTreeSet::new();
    for (path, at) in rule.selector.paths.iter().zip(places) {
        let Some(formats) = formats_of(path) else { return };
        if formats.is_empty() {
            return;
        }
        if !formats.iter().any(|format| named.contains(format)) {
            let named = names(named.iter().copied());
            let message = format!("no request in {named} has a message at `{path}`");
            let hint = format!("it is a place in {}", names(formats.iter().copied()));
            complaints.warning(at, message, hint);
            return;
        }
        known.extend(formats);
    }
    let names_requests = !rule.selector.request.is_everything();
    if let (&[only], false) = (known.iter().copied().collect::<Vec<_>>().as_slice(), names_requests) {
        let message =
            format!("only requests in {} have messages there: all others pass this rule", only.name());
        let hint = format!(
            "say so with `format = \"{}\"`, or choose by `role`, `kind` or `latest`, which mean the same in every format",
            only.name()
        );
        complaints.warning(written.span(), message, hint);
    }
}

fn place_of_words(written: &Spanned<OneOrMany>) -> Vec<Range<usize>> {
    written.get_ref().words(written.span()).into_iter().map(|(_, at)| at).collect()
}

fn names(formats: impl Iterator<Item = Format>) -> String {
    formats.map(Format::name).collect::<Vec<_>>().join(" or ")
}

/// The formats in which a path lies in a message; `None` where it can be anywhere.
fn formats_of(path: &PathPattern) -> Option<Vec<Format>> {
    let body = Bytes::from(path.sample()?.to_string());
    let in_message = |format: &Format| {
        let Ok(document) = Document::parse(body.clone(), *format, &Limits::default()) else { return false };
        let named = path.select(&document);
        document.sections().iter().any(|section| {
            let inside = document.subtree(section.node);
            section.node_type == NodeType::Message
                && named.iter().any(|range| inside.contains(&range.start) || range.contains(&inside.start))
        })
    };
    Some(Format::ALL.iter().copied().filter(in_message).collect())
}

/// The latest message of the user is nobody else's.
fn latest(rule: &Rule, matches: &RawMatch, complaints: &mut Complaints<'_>) {
    let of_user = rule.selector.roles.allows(Bits::of(Role::User as usize));
    if let (true, false, Some(role)) = (rule.selector.latest, of_user, &matches.role) {
        let hint = "leave `role` or `latest` out: `latest` selects what the user said last";
        complaints.warning(role.span(), "no leaf fits: the latest message of the user is the user's", hint);
    }
}

/// A fact and what it is compared with, in either order.
static COMPARISON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"^(?:(?<fact>(?:leaf|request)\.[a-z]+(?:\.size\(\))?)\s*(?<then>[<>]=?|==)\s*(?<value>\d{1,18}|"[^"\\]*"|'[^'\\]*')|(?<first>\d{1,18})\s*(?<op>[<>]=?|==)\s*(?<second>(?:leaf|request)\.[a-z]+(?:\.size\(\))?))$"#,
    )
    .expect("it is a sound pattern")
});

/// What the terms so far leave of a fact.
enum Left {
    /// A number from here to there.
    Between(i128, i128),
    Text(String),
}

/// Terms that ask for two things of one fact that cannot be both.
fn bounds(when: &Spanned<String>, complaints: &mut Complaints<'_>) {
    let source = when.get_ref();
    let mut facts: BTreeMap<String, Left> = BTreeMap::new();
    for term in crate::condition::terms(source) {
        let Some((fact, left)) = comparison(term) else { continue };
        let before = facts.remove(&fact);
        let is_first = before.is_none();
        // All numbers here are counts.
        match before.unwrap_or(Left::of(&left)).and(left) {
            Some(both) => _ = facts.insert(fact, both),
            None => {
                let at = source.find(term).unwrap_or_default();
                let (why, hint) = match is_first {
                    true => ("is never below 0", "take it out, or mend the number"),
                    false => {
                        ("cannot be this and what stands before it", "take one of the two out, or say `||`")
                    }
                };
                let message = format!("`when` is never true: `{fact}` {why}");
                complaints.warning_inside(when.span(), source, at..at + term.len(), message, hint);
                return;
            }
        }
    }
}

impl Left {
    /// What a fact may be that is compared so, before anything is said of it.
    fn of(compared: &Left) -> Left {
        match compared {
            Left::Between(..) => Left::Between(0, i128::MAX),
            Left::Text(text) => Left::Text(text.clone()),
        }
    }

    fn and(self, other: Left) -> Option<Left> {
        match (self, other) {
            (Left::Between(low, high), Left::Between(from, to)) => {
                let (low, high) = (low.max(from), high.min(to));
                (low <= high).then_some(Left::Between(low, high))
            }
            (Left::Text(one), Left::Text(other)) => (one == other).then_some(Left::Text(one)),
            // Of two types: the types do not fit, which is told elsewhere.
            (one, _) => Some(one),
        }
    }
}

fn comparison(term: &str) -> Option<(String, Left)> {
    const ALL: (i128, i128) = (i128::MIN, i128::MAX);
    let parts = COMPARISON.captures(term)?;
    let part = |name: &str| parts.name(name).map(|part| part.as_str());
    let (fact, operator, value) = match part("fact") {
        Some(fact) => (fact, part("then")?, part("value")?),
        None => {
            let turned = match part("op")? {
                "<" => ">",
                "<=" => ">=",
                ">" => "<",
                ">=" => "<=",
                other => other,
            };
            (part("second")?, turned, part("first")?)
        }
    };
    let left = match (value.parse::<i128>(), operator) {
        (Ok(number), "<") => Left::Between(ALL.0, number - 1),
        (Ok(number), "<=") => Left::Between(ALL.0, number),
        (Ok(number), ">") => Left::Between(number + 1, ALL.1),
        (Ok(number), ">=") => Left::Between(number, ALL.1),
        (Ok(number), _) => Left::Between(number, number),
        (Err(_), "==") => Left::Text(value[1..value.len() - 1].to_owned()),
        (Err(_), _) => return None,
    };
    Some((fact.to_owned(), left))
}

static LABEL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\.label\s*==\s*["']([^"'\\]*)["']"#).expect("it is a sound pattern"));

/// Labels that no redact rule gives.
fn unknown_labels(when: &Spanned<String>, labels: &Labels, complaints: &mut Complaints<'_>) {
    let source = when.get_ref();
    for label in LABEL.captures_iter(source).filter_map(|found| found.get(1)) {
        if labels.0.contains(label.as_str()) {
            continue;
        }
        let known: Vec<&str> = labels.0.iter().map(String::as_str).collect();
        let hint = match known.is_empty() {
            true => "a `redact` rule finds it: write one that names its detector".to_owned(),
            false => crate::diagnostic::hint_for(label.as_str(), &known),
        };
        let message = format!("no redact rule of this policy finds a `{}`", label.as_str());
        complaints.warning_inside(when.span(), source, label.range(), message, hint);
    }
}
