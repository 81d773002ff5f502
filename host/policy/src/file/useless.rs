//! Rules that are sound and do nothing, or not what their author can have meant: beside other rules, or
//! by what they say themselves.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use leafgate_diagnostic::Complaints;
use leafgate_tree::{LeafKind, Role};
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};
use toml::Spanned;

use super::raw::RawRule;
use crate::bits::Bits;
use crate::condition::{Left, Term};
use crate::rule::{Action, Decide, Edit, FilterTools, Mode, On, Pin, Rewrite, Rule};
use crate::selector::Field;

/// A pattern that compiles to more than this walks through a text slowly.
const SLOW_REGEX: usize = 1 << 18;

/// Places of counted repetitions behind `.*`, at most: what people count by hand is far below.
const MOST_COUNTED: usize = 200;

/// Rules that a rule is compared with, and exceptions that one is, at most: a policy of thousands loads as
/// fast.
pub(super) const MAX_COMPARED: usize = 256;

/// The rules so far that may leave later ones nothing to do.
#[derive(Default)]
pub(crate) struct Shadows<'r> {
    /// Those that leave nothing of what they act on.
    earlier: Vec<&'r Rule>,
    /// What each rule says, to find one that says the same.
    said: HashMap<String, &'r Rule>,
}

impl<'r> Shadows<'r> {
    /// Warns of a rule that does nothing beside the rules before it, or by itself.
    pub(crate) fn warn(&mut self, rule: &'r Rule, raw: &Spanned<RawRule>, complaints: &mut Complaints<'_>) {
        let header = raw.span();
        let raw = raw.get_ref();
        match self.shadow(rule) {
            Some((message, hint)) => {
                let place = raw.id.as_ref().map_or(header, Spanned::span);
                complaints.warning(place, message, hint);
            }
            None => {
                condition(rule, raw, complaints);
                action(rule, raw, complaints);
            }
        }
        let acts = rule.mode == Mode::Enforce;
        let leaves_nothing = matches!(rule.action, Action::Pin(_) | Action::Decide(Decide::Block));
        if acts && leaves_nothing && self.earlier.len() < MAX_COMPARED {
            self.earlier.push(rule);
        }
    }

    /// Why a rule has nothing left to do behind an earlier one, and what to do about it.
    fn shadow(&mut self, rule: &'r Rule) -> Option<(String, String)> {
        let says = (
            rule.on,
            &rule.selector,
            rule.when.as_ref().map(|when| &when.source),
            &rule.count,
            rule.mode,
            &rule.action,
        );
        let id = &rule.id;
        if let Some(first) = self.said.insert(format!("{says:?}"), rule) {
            let message = format!("rule `{id}` says what rule `{}` says", first.id);
            return Some((message, "leave one of them out".to_owned()));
        }
        let source = |rule: &Rule| rule.when.as_ref().map(|when| when.source.clone());
        let covers = |earlier: &&&Rule| {
            let when_it_does = earlier.when.is_none()
                || source(earlier) == source(rule) && earlier.on_error == rule.on_error;
            earlier.on == rule.on
                && earlier.count.is_none()
                && when_it_does
                && earlier.selector.covers(&rule.selector)
        };
        let covering = self.earlier.iter().filter(covers);
        covering.into_iter().find_map(|earlier| match (&earlier.action, &rule.action) {
            (
                Action::Pin(Pin::Received | Pin::To { .. } | Pin::FirstSeen(_)),
                Action::Pin(Pin::To { .. } | Pin::FirstSeen(_))
                | Action::Edit(Edit::Rewrite(_) | Edit::Delete { .. } | Edit::Transform(_)),
            ) => Some((
                format!("rule `{id}` can never act: rule `{}` pins all that it selects", earlier.id),
                format!("narrow `match` of `{}`, or leave `{id}` out", earlier.id),
            )),
            (Action::Decide(Decide::Block), Action::Decide(_)) => Some((
                format!("rule `{id}` can never act: rule `{}` blocks all that it is about", earlier.id),
                format!("narrow `match` of `{}`, or leave `{id}` out", earlier.id),
            )),
            _ => None,
        })
    }
}

/// A `when` that is never true, or always.
fn condition(rule: &Rule, raw: &RawRule, complaints: &mut Complaints<'_>) {
    let (Some(when), Some(written)) = (&rule.when, &raw.when) else { return };
    for pattern in &when.literals.patterns {
        warn_of_slow(pattern, written.span(), complaints);
    }
    let mut facts = BTreeMap::new();
    for term in when.terms() {
        let mend = |message: String| (message, "take it out, or mend it");
        let told = match term.constant() {
            Some(false) => Some(mend("`when` is never true".to_owned())),
            Some(true) => Some(mend("`true` adds nothing to `when`".to_owned())),
            None => contradiction(rule, term).map(mend).or_else(|| out_of_bounds(term, &mut facts)),
        };
        if let Some((message, hint)) = told {
            complaints.warning(complaints.inside(written, term.at.clone()), message, hint);
        }
    }
}

/// A term that leaves nothing of a fact beside those before it. `facts` is what these leave.
fn out_of_bounds(term: &Term, facts: &mut BTreeMap<String, Left>) -> Option<(String, &'static str)> {
    let (fact, left) = term.comparison()?;
    let before = facts.remove(&fact);
    let (why, hint) = match before {
        None => ("is never below 0", "take it out, or mend the number"),
        Some(_) => ("cannot be this and what stands before it", "take one of the two out, or say `||`"),
    };
    // All numbers here are counts.
    let both = match (before, &left) {
        (None, Left::Between(..)) => Left::Between(0, i128::MAX).and(left),
        (None, Left::Text(_)) => Some(left),
        (Some(before), _) => before.and(left),
    };
    let Some(both) = both else { return Some((format!("`when` is never true: `{fact}` {why}"), hint)) };
    facts.insert(fact, both);
    None
}

/// A term that asks for a leaf which `match` does not select.
fn contradiction(rule: &Rule, term: &Term) -> Option<String> {
    let (fact, Left::Text(word)) = term.comparison()? else { return None };
    let (place, of, wanted) = match fact.as_str() {
        "leaf.kind" => (LeafKind::from_name(&word)? as usize, rule.selector.kinds, Field::Kind),
        "leaf.role" => (Role::from_name(&word)? as usize, rule.selector.roles, Field::Role),
        _ => return None,
    };
    let selected = rule.selector.words(wanted).join(" or ");
    let field = &fact["leaf.".len()..];
    (!of.allows(Bits::of(place))).then(|| format!("no leaf fits: `match` selects the {field} {selected}"))
}

/// An action that changes nothing, or too much.
fn action(rule: &Rule, raw: &RawRule, complaints: &mut Complaints<'_>) {
    let text = |value: &Option<Spanned<String>>| value.as_ref().map(Spanned::span);
    let at_action = raw.action.as_ref().map(Spanned::span).unwrap_or_default();
    match &rule.action {
        Action::Edit(Edit::Rewrite(Rewrite::Prepend(new) | Rewrite::Append(new))) if new.is_empty() => {
            let place = text(&raw.prepend).or(text(&raw.append)).unwrap_or(at_action);
            complaints.warning(place, "an empty text changes nothing", "write what is to stand there");
        }
        Action::Edit(Edit::Rewrite(Rewrite::Replace { pattern, .. })) => {
            if let Some(written) = raw.replace.as_ref().and_then(|replace| replace.get_ref().pattern.as_ref())
            {
                let place = written.span();
                warn_of_slow(pattern.as_str(), place.clone(), complaints);
                warn_of_nothing(pattern, place, complaints);
            }
        }
        Action::Edit(Edit::FilterTools(FilterTools { keep, drop })) => {
            if drop.is_empty() && keep.iter().any(|glob| glob.to_string() == "*") {
                let place = raw.keep.as_ref().map_or(at_action, Spanned::span);
                complaints.warning(
                    place,
                    "`*` keeps every tool: nothing is filtered",
                    "name the tools that stay",
                );
            }
        }
        Action::Decide(Decide::Block) => {
            let acts = rule.mode == Mode::Enforce && rule.on == On::Request;
            let all = acts && rule.when.is_none() && rule.count.is_none() && rule.selector.is_everything();
            if all {
                complaints.warning(
                    at_action,
                    "this rule blocks every request",
                    "say in `match` or `when` which",
                );
            }
        }
        Action::Edit(_)
        | Action::Classify(_)
        | Action::Redact(_)
        | Action::Pin(_)
        | Action::Decide(Decide::Pause(_) | Decide::Route(_) | Decide::Tag(_)) => {}
    }
}

/// Warns of a pattern that matches between any two characters. At a beginning or an end, as `^` does, it
/// may be meant.
fn warn_of_nothing(pattern: &Regex, at: Range<usize>, complaints: &mut Complaints<'_>) {
    // Two characters that no pattern is about.
    if pattern.find_iter("\u{1}\u{1}").any(|found| found.is_empty() && found.start() == 1) {
        let message = "the pattern matches the empty text: `with` would stand between all characters";
        complaints.warning(at, message, "leave no way to match no character");
    }
}

/// Warns of a pattern that compiles to a large automaton.
pub(super) fn warn_of_slow(pattern: &str, at: Range<usize>, complaints: &mut Complaints<'_>) {
    if RegexBuilder::new(pattern).size_limit(SLOW_REGEX).build().is_err() {
        let hint = "count less: `\\w{1,500}` has five hundred states, `\\w+` has one";
        return complaints.warning(at, "this pattern is slow: it compiles to a large automaton", hint);
    }
    let counted = regex_syntax::parse(pattern).map_or(0, |hir| counted_behind_any(&hir));
    if counted > MOST_COUNTED {
        let hint = "leave `.*` at the beginning out, for a match may begin anywhere; or count less";
        let message = format!(
            "this pattern is slow: behind `.*` each character begins a count anew, with {counted} places to follow"
        );
        complaints.warning(at, message, hint);
    }
}

/// How many places of counted repetitions stand behind one that goes on without an end over almost
/// any character: each of them may be alive at each character of a text.
fn counted_behind_any(hir: &Hir) -> usize {
    let HirKind::Concat(parts) = hir.kind() else { return 0 };
    let goes_on = |part: &Hir| match part.kind() {
        HirKind::Repetition(repetition) => repetition.max.is_none() && is_almost_any(&repetition.sub),
        _ => false,
    };
    let Some(first) = parts.iter().position(goes_on) else { return 0 };
    parts[first + 1..].iter().map(counted).sum()
}

fn is_almost_any(hir: &Hir) -> bool {
    /// Characters that a class leaves out at most: `.` leaves out the end of a line.
    const LEFT_OUT: usize = 64;
    let HirKind::Class(Class::Unicode(class)) = hir.kind() else { return false };
    let mut outside = class.clone();
    outside.negate();
    outside.ranges().iter().map(|range| range.len()).sum::<usize>() <= LEFT_OUT
}

/// Places that counted repetitions spell out.
fn counted(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min) as usize;
            times.saturating_mul(counted(&repetition.sub).max(1))
        }
        HirKind::Capture(capture) => counted(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(counted).sum(),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => 0,
    }
}
