//! `match = { … }` to a [`Selector`].

use std::ops::Range;

use leafgate_diagnostic::{Complaints, OneOrMany, hint_for};
use leafgate_glob::Glob;
use leafgate_tree::{Format, LeafKind, Role, SectionKind};
use toml::Spanned;

use super::raw::{RawMatch, RawNamed};
use crate::agents::AGENTS;
use crate::bits::Bits;
use crate::endpoint::endpoint;
use crate::pattern::PathPattern;
use crate::request::Reach;
use crate::request::{Named, OfRequest};
use crate::selector::Selector;

/// Longest name that a glob may match: longer ones are no names.
const MAX_GLOB: usize = 200;

/// Compiles a `match` table; reports every word that nothing here knows.
pub(crate) fn compile(raw: &RawMatch, complaints: &mut Complaints<'_>) -> Selector {
    Selector {
        kinds: bits(&raw.kind, "kind", LeafKind::ALL, |kind| kind.name(), complaints),
        roles: bits(&raw.role, "role", Role::ALL, |role| role.name(), complaints),
        sections: bits(&raw.section, "section", SectionKind::ALL, |section| section.name(), complaints),
        tools: names(&raw.tool, "tool", complaints),
        paths: paths(&raw.path, complaints),
        latest: latest(raw, complaints),
        request: of_request(raw, complaints),
        reach: Reach::default(),
    }
}

fn of_request(raw: &RawMatch, complaints: &mut Complaints<'_>) -> OfRequest {
    let truth = |value: &Option<Spanned<bool>>| value.as_ref().map(|value| *value.get_ref());
    OfRequest {
        formats: bits(&raw.format, "format", Format::ALL, |format| format.name(), complaints),
        models: names(&raw.model, "model", complaints),
        agents: agents(&raw.agent, complaints),
        sessions: globs(&raw.session, "session", complaints),
        upstreams: globs(&raw.upstream, "upstream", complaints),
        endpoints: endpoints(&raw.endpoint, complaints),
        projects: globs(&raw.project, "project", complaints),
        stream: truth(&raw.stream),
        subagent: truth(&raw.subagent),
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
fn endpoints(raw: &Option<Spanned<OneOrMany>>, complaints: &mut Complaints<'_>) -> Vec<Glob> {
    for (word, span) in words(raw, "endpoint", complaints) {
        if !word.starts_with(['/', '*', '?']) {
            let hint = format!("write the path that clients send to: `/{word}`");
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
    }
    globs(raw, "endpoint", complaints)
}

/// Compiles names with the values that each may have.
fn named(
    raw: &Option<Spanned<RawNamed>>,
    field: &str,
    name_of: impl Fn(&str) -> Result<String, String>,
    complaints: &mut Complaints<'_>,
) -> Vec<Named> {
    let Some(table) = raw else { return Vec::new() };
    if table.get_ref().is_empty() {
        let hint = format!("leave `{field}` out to match any");
        complaints.error(table.span(), format!("an empty `{field}` matches nothing"), hint);
    }
    let mut all = Vec::new();
    for (name, words) in table.get_ref() {
        let values = globs(&Some(words.clone()), field, complaints);
        match name_of(name) {
            Ok(name) => all.push(Named { name, values }),
            Err(why) => {
                complaints.error(words.span(), format!("no rule can ask for the {field} `{name}`"), why)
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

/// Globs over names of tools or models. What has signs that no such name has is another notation, and
/// would match nothing.
pub(super) fn names(
    raw: &Option<Spanned<OneOrMany>>,
    field: &str,
    complaints: &mut Complaints<'_>,
) -> Vec<Glob> {
    let noun = if field == "model" { "model" } else { "tool" };
    for (word, span) in raw.iter().flat_map(|value| value.get_ref().words(value.span())) {
        if let Some((message, hint)) = notation(word, field, noun) {
            complaints.warning(span, format!("no {noun} is called `{word}`: {message}"), hint);
        }
    }
    globs(raw, field, complaints)
}

/// What a word is that is no glob over names, and what was probably meant.
fn notation(word: &str, field: &str, noun: &str) -> Option<(&'static str, String)> {
    const GLOB: &str = "a glob is for the whole of a name: `*` stands for any characters, `?` for one";
    let list = |separator: &str| {
        let words: Vec<String> = word.split(separator).map(|word| format!("\"{}\"", word.trim())).collect();
        format!("write a list: `{field} = [{}]`", words.join(", "))
    };
    let subject = if noun == "model" { "request.model" } else { "leaf.tool" };
    if let Some(other) = word.strip_prefix('!') {
        let when = match other.strip_suffix('*') {
            Some(begins) => format!("!{subject}.startsWith(\"{begins}\")"),
            None => format!("{subject} != \"{other}\""),
        };
        return Some(("a glob has no `not`", format!("ask for it in `when = '{when}'`")));
    }
    if let (Some((tool, _)), "tool") = (word.split_once('('), noun) {
        let hint = format!(
            "write `{field} = \"{tool}\"`, and ask for its arguments in `when = 'leaf.text.contains(\"…\")'`"
        );
        return Some(("it has the notation of a permission", hint));
    }
    let signs = ['^', '$', '\\', '[', ']', '(', ')', '{', '}'];
    match word {
        word if word.contains('|') => Some(("a glob has no `|`", list("|"))),
        word if word.contains(',') => Some(("it is several names", list(","))),
        word if word.contains(signs) || word.contains(".*") => {
            let anchored = word.starts_with('^') || word.ends_with('$');
            let name = word.trim_start_matches('^').trim_end_matches('$').replace(".*", "*");
            let open = |is_open: bool| if anchored && is_open { "*" } else { "" };
            let glob = [open(!word.starts_with('^')), &name, open(!word.ends_with('$'))].concat();
            let hint = match glob.contains(signs) {
                true => GLOB.to_owned(),
                false => format!("write `{glob}`: {GLOB}"),
            };
            Some(("it is a regular expression, and a glob is wanted", hint))
        }
        word if word.contains(char::is_whitespace) => Some(("names have no blanks", GLOB.to_owned())),
        _ => None,
    }
}

pub(super) fn globs(
    raw: &Option<Spanned<OneOrMany>>,
    field: &str,
    complaints: &mut Complaints<'_>,
) -> Vec<Glob> {
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

/// How the agents of a team are called: `agents/reviewer`.
const OF_TEAM: &str = "agents/";

/// Globs over the names of clients; one that matches none of them would never apply.
fn agents(raw: &Option<Spanned<OneOrMany>>, complaints: &mut Complaints<'_>) -> Vec<Glob> {
    for (word, span) in words(raw, "agent", complaints) {
        let glob = Glob::new(word);
        // Names of a team are its file's.
        if !word.starts_with(OF_TEAM) && !AGENTS.iter().any(|name| glob.matches(name)) {
            complaints.error(span, format!("no client is called `{word}`"), hint_for(word, AGENTS));
        }
    }
    globs(raw, "agent", complaints)
}

fn paths(raw: &Option<Spanned<OneOrMany>>, complaints: &mut Complaints<'_>) -> Vec<PathPattern> {
    let mut paths = Vec::new();
    for (word, span) in words(raw, "path", complaints) {
        if word.starts_with("$.") || word.starts_with("$[") {
            let hint = format!("a pattern begins at the body: `{}`", word[1..].trim_start_matches('.'));
            complaints.warning(span.clone(), "this is JSONPath, and no member is called `$`", hint);
        }
        match PathPattern::parse(word) {
            Ok(path) => paths.push(path),
            Err(error) => {
                let message = format!("bad path pattern: {}", error.message);
                let at = complaints.inside(span, word, error.at);
                complaints.error(at, message, error.hint);
            }
        }
    }
    paths
}
