//! `match = { … }` to a [`Selector`].

use std::ops::Range;

use leafgate_diagnostic::{Complaints, OneOrMany, WordMatch, hint_for};
use leafgate_glob::Glob;
use leafgate_tree::{Format, LeafKind, Role};
use toml::Spanned;

use super::notation;
use super::raw::{RawMatch, RawNamed, said, words_of};
use crate::agents::AGENTS;
use crate::bits::Bits;
use crate::endpoint::endpoint;
use crate::name_match::NameMatch;
use crate::pattern::PathPattern;
use crate::request::Reach;
use crate::request::{Named, OfRequest};
use crate::selector::{SECTION_WORDS, Selector};

/// Longest name that a glob may match: longer ones are no names.
const MAX_GLOB: usize = 200;

/// Compiles a `match` table; reports every word that nothing here knows.
pub(crate) fn compile(raw: &RawMatch, complaints: &mut Complaints<'_>) -> Selector {
    let [paths, not_paths] = paths(&raw.path, complaints);
    Selector {
        kinds: bits(&raw.kind, "kind", LeafKind::NAMES, complaints),
        roles: bits(&raw.role, "role", Role::NAMES, complaints),
        sections: bits(&raw.section, "section", SECTION_WORDS, complaints),
        tools: names(&raw.tool, "tool", complaints),
        paths,
        not_paths,
        latest: latest(raw, complaints),
        request: of_request(raw, complaints),
        reach: Reach::default(),
    }
}

fn of_request(raw: &RawMatch, complaints: &mut Complaints<'_>) -> OfRequest {
    OfRequest {
        formats: bits(&raw.format, "format", Format::NAMES, complaints),
        models: names(&raw.model, "model", complaints),
        agents: agents(&raw.agent, complaints),
        sessions: texts(&raw.session, "session", complaints),
        upstreams: texts(&raw.upstream, "upstream", complaints),
        endpoints: endpoints(&raw.endpoint, complaints),
        projects: texts(&raw.project, "project", complaints),
        stream: said(&raw.stream),
        subagent: said(&raw.subagent),
        headers: named(&raw.header, "header", header_name, complaints),
        options: named(&raw.option, "option", option_name, complaints),
    }
}

fn latest(raw: &RawMatch, complaints: &mut Complaints<'_>) -> bool {
    let Some(latest) = &raw.latest else { return false };
    if !*latest.get_ref() {
        let hint = "leave `latest` out to look at all messages";
        complaints.error(latest.span(), "`latest = false` selects nothing in particular", hint);
    }
    true
}

/// Paths of an API begin with a slash and have no query.
fn endpoints(raw: &RawField, complaints: &mut Complaints<'_>) -> NameMatch {
    let checks = |word: &str, span: Range<usize>, field: &str, complaints: &mut Complaints<'_>| {
        if !word.starts_with(['/', '*', '?']) {
            let meant = notation::of_text(word, field).map(|meant| meant.hint);
            let hint = meant.unwrap_or_else(|| format!("write the path that clients send to: `/{word}`"));
            complaints.error(span, format!("no path can match `{word}`: it begins with a slash"), hint);
        } else if let Some((path, _)) = word.split_once('?').filter(|(_, rest)| rest.contains('=')) {
            // Alone, `?` stands for any character.
            let hint = format!("write the path alone: `{path}`");
            complaints.error(span, format!("no path can match `{word}`: an endpoint has no query"), hint);
        } else if let path = endpoint(word)
            && path != word
        {
            let hint =
                format!("write `{path}`: rules know a path in one spelling, however a client writes it");
            complaints.error(span, format!("no path can match `{word}`"), hint);
        }
    };
    words(raw, "endpoint", complaints).names("endpoint", complaints, checks)
}

/// Compiles names with the values that each may have.
fn named(
    raw: &Option<Spanned<RawNamed>>,
    field: &str,
    name_of: impl Fn(&str) -> Result<String, String>,
    complaints: &mut Complaints<'_>,
) -> Vec<Named> {
    let mut all = Vec::new();
    for (name, value) in raw.iter().flat_map(Spanned::get_ref) {
        let values = texts(&Some(value.clone()), name, complaints);
        match name_of(name) {
            Ok(name) => all.push(Named { name, values }),
            Err(why) => {
                complaints.error(value.span(), format!("no rule can ask for the {field} `{name}`"), why)
            }
        }
    }
    all
}

/// The name of a header as the gate gives it.
fn header_name(name: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(plain) {
        return Err("names of headers are letters, digits and dashes".to_owned());
    }
    let name = name.to_ascii_lowercase();
    match HIDDEN_HEADERS.contains(&name.as_str()) {
        true => Err(format!("`{name}` carries a credential or ends at the gate: rules do not see it")),
        false => Ok(name),
    }
}

/// Headers that no gate shows to rules.
const HIDDEN_HEADERS: &[&str] = &[
    "authorization",
    "cookie",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "ocp-apim-subscription-key",
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
];

/// An option: the keys on the way to it, joined by dots.
pub(super) fn option_name(name: &str) -> Result<String, String> {
    match name.split('.').any(str::is_empty) {
        true => Err("write its key, or the keys on the way to it: `reasoning.effort`".to_owned()),
        false => Ok(name.to_owned()),
    }
}

/// A field of `match`, where it is written.
type RawField = Option<Spanned<WordMatch>>;

/// Words with their places.
type Words<'r> = Vec<(&'r str, Range<usize>)>;

/// What a field says: which words, which not, and how case counts.
#[derive(Default)]
struct FieldWords<'r> {
    any: Words<'r>,
    not: Words<'r>,
    ignore_case: Option<&'r Spanned<bool>>,
}

/// Reads a field; a list of no words would match nothing, and is reported.
fn words<'r>(raw: &'r RawField, field: &str, complaints: &mut Complaints<'_>) -> FieldWords<'r> {
    let Some(value) = raw else { return FieldWords::default() };
    let WordMatch { any, not, ignore_case } = value.get_ref();
    let is_empty = |words: &Option<Spanned<OneOrMany>>| words.is_some() && words_of(words).is_empty();
    if is_empty(any) || is_empty(not) || any.is_none() && not.is_none() {
        let hint = format!("leave `{field}` out to match any");
        complaints.error(value.span(), format!("an empty list for `{field}` matches nothing"), hint);
    }
    FieldWords { any: words_of(any), not: words_of(not), ignore_case: ignore_case.as_ref() }
}

impl<'r> FieldWords<'r> {
    /// Compiles globs over names, each of which `check` has a look at.
    fn names(
        &self,
        field: &str,
        complaints: &mut Complaints<'_>,
        check: impl Fn(&str, Range<usize>, &str, &mut Complaints<'_>),
    ) -> NameMatch {
        let mut compiled = |words: &Words<'r>| {
            words.iter().for_each(|(word, span)| check(word, span.clone(), field, complaints));
            globs_of(words, field, complaints)
        };
        let (any, not) = (compiled(&self.any), compiled(&self.not));
        if let (Some((_, span)), false, true) =
            (self.any.first(), not.is_empty(), leafgate_glob::cover(&not, &any))
        {
            let hint = "leave in `not` what is to be left out, and no more";
            complaints.warning(span.clone(), format!("no {field} fits: `not` leaves out all of `any`"), hint);
        }
        NameMatch { any, not, ignore_case: self.ignore_case.is_some_and(|ignore| *ignore.get_ref()) }
    }
}

/// Compiles words of an enumeration, of which `known` are the names.
fn bits(raw: &RawField, field: &str, known: &[&str], complaints: &mut Complaints<'_>) -> Bits {
    let words = words(raw, field, complaints);
    if let Some(ignore_case) = words.ignore_case {
        let hint = "leave `ignore-case` out: there is nothing but what this program names";
        complaints.error(ignore_case.span(), format!("the words of `{field}` have one spelling"), hint);
    }
    let compiled = |words: &Words<'_>| {
        let mut bits = Bits::default();
        // The place of a name is the value's number: the enums are declared in that order and have no gaps.
        words
            .iter()
            .filter_map(|(word, _)| known.iter().position(|name| name == word))
            .for_each(|at| bits.insert(at));
        bits
    };
    let (any, not) = (compiled(&words.any), compiled(&words.not));
    if let (Some((_, span)), true) = (words.any.first(), not.covers(any) && !not.is_empty()) {
        let hint = "leave in `not` what is to be left out, and no more";
        complaints.warning(span.clone(), format!("no {field} fits: `not` leaves out all of `any`"), hint);
    }
    any.but(not)
}

/// Globs over names of tools or models, with a warning of what is none.
fn names(raw: &RawField, field: &str, complaints: &mut Complaints<'_>) -> NameMatch {
    words(raw, field, complaints).names(field, complaints, notation::warn_of_name)
}

/// Globs over texts of which nobody knows what they hold.
fn texts(raw: &RawField, field: &str, complaints: &mut Complaints<'_>) -> NameMatch {
    words(raw, field, complaints).names(field, complaints, notation::warn_of_text)
}

/// Globs over names of tools, as a key outside of `match` has them.
pub(super) fn tools(
    raw: &Option<Spanned<OneOrMany>>,
    field: &'static str,
    complaints: &mut Complaints<'_>,
) -> Vec<Glob> {
    let words = words_of(raw);
    words.iter().for_each(|(word, span)| notation::warn_of_name(word, span.clone(), field, complaints));
    globs_of(&words, field, complaints)
}

pub(super) fn globs(
    raw: &Option<Spanned<OneOrMany>>,
    field: &str,
    complaints: &mut Complaints<'_>,
) -> Vec<Glob> {
    globs_of(&words_of(raw), field, complaints)
}

fn globs_of(words: &Words<'_>, field: &str, complaints: &mut Complaints<'_>) -> Vec<Glob> {
    let mut globs = Vec::new();
    for (word, span) in words {
        if (1..=MAX_GLOB).contains(&word.len()) {
            globs.push(Glob::new(word));
        } else {
            let hint = "write a name; `*` stands for any characters";
            complaints.error(span.clone(), format!("no name can match this `{field}`"), hint);
        }
    }
    globs
}

/// How the agents of a team are called: `agents/reviewer`.
const OF_TEAM: &str = "agents/";

/// Globs over the names of clients; one that matches none of them would never apply.
fn agents(raw: &RawField, complaints: &mut Complaints<'_>) -> NameMatch {
    let words = words(raw, "agent", complaints);
    let ignores_case = words.ignore_case.is_some_and(|ignore| *ignore.get_ref());
    let check = |word: &str, span: Range<usize>, field: &str, complaints: &mut Complaints<'_>| {
        let glob = Glob::new(word);
        let is_one = |name: &&str| glob.matches(name) || ignores_case && glob.matches_any_case(name);
        // Names of a team are its file's.
        if !word.starts_with(OF_TEAM) && !AGENTS.iter().any(is_one) {
            let meant = notation::of_text(word, field).map(|meant| meant.hint);
            let hint = meant.unwrap_or_else(|| hint_for(&word.to_lowercase(), AGENTS));
            complaints.error(span, format!("no client is called `{word}`"), hint);
        }
    };
    words.names("agent", complaints, check)
}

/// Compiles path patterns: those that select, and those that leave out.
fn paths(raw: &RawField, complaints: &mut Complaints<'_>) -> [Vec<PathPattern>; 2] {
    let words = words(raw, "path", complaints);
    let ignores_case = words.ignore_case.is_some_and(|ignore| *ignore.get_ref());
    [&words.any, &words.not].map(|words| {
        let mut paths = Vec::new();
        for (word, span) in words {
            if word.starts_with("$.") || word.starts_with("$[") {
                let hint = format!("a pattern begins at the body: `{}`", word[1..].trim_start_matches('.'));
                complaints.warning(span.clone(), "this is JSONPath, and no member is called `$`", hint);
            } else if word.starts_with('!') {
                notation::warn_of_text(word, span.clone(), "path", complaints);
            }
            match PathPattern::parse(word) {
                Ok(path) if ignores_case => paths.push(path.in_any_case()),
                Ok(path) => paths.push(path),
                Err(fault) => {
                    let at = complaints.inside(&Spanned::new(span.clone(), (*word).to_owned()), fault.at);
                    complaints.error(at, format!("bad path pattern: {}", fault.message), fault.hint);
                }
            }
        }
        paths
    })
}
