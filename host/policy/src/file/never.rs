//! Rules that are sound and can never match or act: no request has what they ask for, or what they select is protected.
//!
//! What a format has says the tree itself: a smallest request that holds what a path names is read in
//! each format, and a place in a message of one is none in another.

use std::collections::BTreeSet;
use std::ops::Range;

use leafgate_diagnostic::{Complaints, WordMatch, words_of};
use leafgate_glob::Glob;
use leafgate_tree::{Access, Format, NodeId, Role};
use toml::Spanned;

use super::raw::{RawMatch, RawRule};
use crate::Policy;
use crate::agents::NAME_CONVERSATIONS;
use crate::bits::Bits;
use crate::condition::Condition;
use crate::pattern::{PathPattern, Step};
use crate::rule::{Action, Edit, On, Pin, Rule};

/// What the redact rules of a policy call what they find, and who finds it.
pub(crate) struct Labels {
    labels: BTreeSet<String>,
    detectors: BTreeSet<String>,
}

impl Labels {
    pub(crate) fn of(policy: &Policy) -> Self {
        let (mut labels, mut detectors) = (BTreeSet::new(), BTreeSet::new());
        for rule in &policy.rules {
            let Action::Redact(redact) = &rule.action else { continue };
            if let Some(engine) = redact.engine {
                for info in policy.engines[engine.get()].detectors() {
                    labels.insert(info.label.to_string());
                    detectors.insert(info.id.as_str().to_owned());
                }
            }
            for plugin in redact.plugins.iter().map(|plugin| &policy.plugins[plugin.get()]) {
                labels.extend(plugin.plugin.description().labels.iter().map(ToString::to_string));
                detectors.extend(plugin.detectors.iter().map(|id| id.as_str().to_owned()));
            }
        }
        Labels { labels, detectors }
    }
}

/// Warns of a rule that no request can match.
pub(crate) fn warn(rule: &Rule, raw: &RawRule, labels: &Labels, complaints: &mut Complaints<'_>) {
    if let Some(matches) = raw.matches.as_ref().map(Spanned::get_ref) {
        matches.path.iter().for_each(|written| idle(rule, written.span(), complaints));
        paths(rule, matches, complaints);
        latest(rule, matches, complaints);
    }
    first_seen(rule, raw, complaints);
    said_twice(rule, raw, complaints);
    if let (Some(condition), Some(when)) = (&rule.when, &raw.when) {
        unknown_labels(condition, when, labels, complaints);
    }
    if let (Some(count), Some(findings)) = (&rule.count, &raw.findings)
        && count.detectors.is_disjoint(&labels.detectors)
    {
        let hint = "a `redact` rule finds it: write one that names it in `detect`, with `mode = \"monitor\"` where all is to stay";
        complaints.warning(findings.span(), "no redact rule of this policy looks for any of these", hint);
    }
}

/// Warns of a rule that writes and whose paths select protected leaves only: which leaves are protected in the smallest
/// request of a format that holds what a path names, says the projection of that format.
fn idle(rule: &Rule, paths: Range<usize>, complaints: &mut Complaints<'_>) {
    let writes = matches!(
        rule.action,
        Action::Edit(Edit::Rewrite(_) | Edit::Transform(_)) | Action::Pin(Pin::To { .. } | Pin::FirstSeen(_))
    );
    if !writes || rule.selector.paths.is_empty() {
        return;
    }
    let formats = rule.selector.formats();
    let protected = |&format: &Format| rule.selector.paths.iter().all(|path| is_protected(path, format));
    let idle: Vec<&str> =
        formats.iter().copied().filter(|format| protected(format)).map(Format::name).collect();
    if idle.is_empty() {
        return;
    }
    let message = match idle.len() == formats.len() {
        true => format!("rule `{}` can never act: rules may not change what it selects", rule.id),
        false => format!(
            "rule `{}` does nothing in {}: rules may not change what it selects",
            rule.id,
            idle.join(", ")
        ),
    };
    let hint = "ids, roles, types, names and the model are protected: pause or block on them, or change them in the client";
    complaints.warning(paths, message, hint);
}

/// Returns true where the pattern selects something in a smallest request of this format, and may
/// change none of it.
fn is_protected(path: &PathPattern, format: Format) -> bool {
    let Some((document, selected)) = path.sampled(format) else { return false };
    let nodes = selected.into_iter().flatten();
    let mut access = nodes.filter_map(|at| document.leaf(NodeId::from_index(at))).map(|leaf| leaf.access());
    let some = access.next();
    some.is_some_and(|first| first != Access::Open) && access.all(|other| other != Access::Open)
}

/// Paths that lie in a message of other formats than those which the rule names; and of one format
/// alone, where the rule names none.
fn paths(rule: &Rule, matches: &RawMatch, complaints: &mut Complaints<'_>) {
    let Some(written) = &matches.path else { return };
    if rule.on != On::Request {
        return;
    }
    let named = rule.selector.formats();
    let mut known: BTreeSet<Format> = BTreeSet::new();
    let WordMatch { any, not, .. } = written.get_ref();
    for (path, (_, at)) in rule.selector.not_paths.iter().zip(words_of(not)) {
        misspelt(path, at, complaints);
    }
    for (path, (_, at)) in rule.selector.paths.iter().zip(words_of(any)) {
        let formats = path.formats();
        if formats.is_empty() {
            if misspelt(path, at, complaints) {
                continue;
            }
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

fn names(formats: impl Iterator<Item = Format>) -> String {
    formats.map(Format::name).collect::<Vec<_>>().join(" or ")
}

/// Warns of a path that is nowhere as it is written, and in a message as it was probably meant.
fn misspelt(path: &PathPattern, at: Range<usize>, complaints: &mut Complaints<'_>) -> bool {
    if !path.formats().is_empty() {
        return false;
    }
    let mended = [false, true].into_iter().filter_map(|lower| path.mended(lower));
    let Some(meant) = mended.into_iter().find(|mended| !mended.formats().is_empty()) else { return false };
    let hint = format!("write `{meant}`: items of a list stand in brackets, and case counts");
    complaints.warning(at, format!("no message has anything at `{path}`"), hint);
    true
}

/// What a leaf was first nobody knows without a conversation, or where the leaf is what that is known by.
fn first_seen(rule: &Rule, raw: &RawRule, complaints: &mut Complaints<'_>) {
    let (Action::Pin(Pin::FirstSeen(_)), Some(to)) = (&rule.action, &raw.to) else { return };
    let agents = &rule.selector.request.agents.any;
    let names = |glob: &Glob| glob.name().is_some_and(|name| NAME_CONVERSATIONS.contains(&name));
    let formats = rule.selector.formats();
    if formats.iter().all(|format| format.api().is_none()) {
        let message = format!(
            "a request in {} is of no conversation: nothing was there first",
            self::names(formats.into_iter())
        );
        complaints.warning(to.span(), message, "pin to a text");
    } else if rule.selector.latest {
        let hint = "leave `latest` out: what the user says is another text each time";
        complaints.warning(to.span(), "the latest message of the user was nothing else first", hint);
    } else if rule.selector.roles == Bits::of(Role::User as usize)
        && (agents.is_empty() || !agents.iter().all(names))
    {
        let message = "a client that does not name its conversations is known by the first words of its user: other \
                       words are another conversation to this rule";
        let hint =
            format!("choose clients that name them: `agent = [\"{}\"]`", NAME_CONVERSATIONS.join("\", \""));
        complaints.warning(to.span(), message, hint);
    }
}

/// A text that is pinned gets into every place, and a prompt may have several.
fn said_twice(rule: &Rule, raw: &RawRule, complaints: &mut Complaints<'_>) {
    let (Action::Pin(Pin::To { .. }), Some(to)) = (&rule.action, &raw.to) else { return };
    let paths = &rule.selector.paths;
    let any_item = |path: &PathPattern| path.steps.contains(&Step::AnyIndex);
    let in_format = |format: &Format| {
        let mut places = paths.iter().filter(|path| path.formats().contains(format));
        places.next().is_some_and(|path| any_item(path) || places.next().is_some())
    };
    if paths.is_empty() || rule.selector.formats().iter().any(in_format) {
        let message = "each place that the rule selects gets this text: a prompt in two parts says it twice";
        let hint = "name one place, such as `path = \"instructions\"`, and what the other ones are to say in rules of their own";
        complaints.warning(to.span(), message, hint);
    }
}

/// The latest message of the user is nobody else's.
fn latest(rule: &Rule, matches: &RawMatch, complaints: &mut Complaints<'_>) {
    let of_user = rule.selector.roles.allows(Bits::of(Role::User as usize));
    if let (true, false, Some(role)) = (rule.selector.latest, of_user, &matches.role) {
        let hint = "leave `role` or `latest` out: `latest` selects what the user said last";
        complaints.warning(role.span(), "no leaf fits: the latest message of the user is the user's", hint);
    }
}

/// Labels that no redact rule gives.
fn unknown_labels(
    condition: &Condition,
    when: &Spanned<String>,
    known: &Labels,
    complaints: &mut Complaints<'_>,
) {
    for (label, at) in condition.literals.labels.iter().filter(|(label, _)| !known.labels.contains(label)) {
        let known: Vec<&str> = known.labels.iter().map(String::as_str).collect();
        let hint = match known.is_empty() {
            true => "a `redact` rule finds it: write one that names its detector".to_owned(),
            false => leafgate_diagnostic::hint_for(label, &known),
        };
        let message = format!("no redact rule of this policy finds a `{label}`");
        let at = complaints.inside(when, at.clone());
        complaints.warning(at, message, hint);
    }
}
