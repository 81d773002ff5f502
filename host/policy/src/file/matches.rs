//! `match = { … }` to a [`Selector`].

use std::ops::Range;

use leafgate_tree::{Format, LeafKind, Role, SectionKind};
use toml::Spanned;

use super::Complaints;
use super::raw::{OneOrMany, RawMatch};
use crate::agents::AGENTS;
use crate::diagnostic::hint_for;
use crate::glob::Glob;
use crate::pattern::PathPattern;
use crate::selector::{Bits, Selector};

/// Longest name that a glob may match: longer ones are no names.
const MAX_GLOB: usize = 200;

/// Compiles a `match` table; reports every word that nothing here knows.
pub(crate) fn compile(raw: &RawMatch, complaints: &mut Complaints<'_>) -> Selector {
    Selector {
        kinds: bits(&raw.kind, "kind", LeafKind::ALL, |kind| kind.name(), complaints),
        roles: bits(&raw.role, "role", Role::ALL, |role| role.name(), complaints),
        sections: bits(&raw.section, "section", SectionKind::ALL, |section| section.name(), complaints),
        formats: bits(&raw.format, "format", Format::ALL, |format| format.name(), complaints),
        tools: globs(&raw.tool, "tool", complaints),
        models: globs(&raw.model, "model", complaints),
        agents: agents(&raw.agent, complaints),
        sessions: globs(&raw.session, "session", complaints),
        paths: paths(&raw.path, complaints),
    }
}

type Words<'r> = Vec<(&'r str, Range<usize>)>;

/// The words of a field; an empty list would match nothing, and is reported.
fn words<'r>(raw: &'r Option<Spanned<OneOrMany>>, field: &str, complaints: &mut Complaints<'_>) -> Words<'r> {
    let Some(value) = raw else { return Vec::new() };
    let words = value.get_ref().words(value.span());
    if words.is_empty() {
        let hint = format!("leave `{field}` out to match any");
        complaints.error(value.span(), format!("an empty list for `{field}` matches nothing"), hint);
    }
    words
}

fn bits<T: Copy>(
    raw: &Option<Spanned<OneOrMany>>,
    field: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
    complaints: &mut Complaints<'_>,
) -> Bits {
    let known: Vec<&str> = all.iter().map(|&value| name(value)).collect();
    let mut bits = Bits::default();
    for (word, span) in words(raw, field, complaints) {
        match known.iter().position(|name| *name == word) {
            // The place in `ALL` is the value's number: the enums are declared in that order and
            // have no gaps.
            Some(place) => bits.insert(place),
            None => {
                complaints.error(span, format!("`{word}` is no value of `{field}`"), hint_for(word, &known))
            }
        }
    }
    bits
}

fn globs(raw: &Option<Spanned<OneOrMany>>, field: &str, complaints: &mut Complaints<'_>) -> Vec<Glob> {
    let mut globs = Vec::new();
    for (word, span) in words(raw, field, complaints) {
        if (1..=MAX_GLOB).contains(&word.len()) {
            globs.push(Glob::new(word));
        } else {
            let hint = "write a name; `*` stands for any characters";
            complaints.error(span, format!("no name can match this `{field}`"), hint);
        }
    }
    globs
}

/// Globs over the names of clients; one that matches none of them would never apply.
fn agents(raw: &Option<Spanned<OneOrMany>>, complaints: &mut Complaints<'_>) -> Vec<Glob> {
    for (word, span) in words(raw, "agent", complaints) {
        let glob = Glob::new(word);
        if !AGENTS.iter().any(|name| glob.matches(name)) {
            complaints.error(span, format!("no client is called `{word}`"), hint_for(word, AGENTS));
        }
    }
    globs(raw, "agent", complaints)
}

fn paths(raw: &Option<Spanned<OneOrMany>>, complaints: &mut Complaints<'_>) -> Vec<PathPattern> {
    let mut paths = Vec::new();
    for (word, span) in words(raw, "path", complaints) {
        match PathPattern::parse(word) {
            Ok(path) => paths.push(path),
            Err(error) => {
                let message = format!("bad path pattern: {}", error.message);
                complaints.error_inside(span, word, error.at, message, Some(error.hint.to_owned()));
            }
        }
    }
    paths
}
