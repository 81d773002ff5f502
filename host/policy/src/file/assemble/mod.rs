//! `[[assemble]]` tables to [`Assembly`]s.

mod nested;
pub(crate) mod raw;

use leafgate_diagnostic::keys::Table;
use leafgate_diagnostic::{Complaints, OneOrMany};
use std::ops::Range;
use std::path::{Path, PathBuf};

use leafgate_assemble::{AgentMode, Profile, check_path};
use serde_json::{Map, Value};
use toml::Spanned;

use self::raw::RawAssemble;
use super::matches;
use super::raw::{RawMatch, said, text, words_of};
use crate::assembly::Assembly;
use crate::request::OfRequest;

/// Bytes of one file, where the profile does not say. Notes have kilobytes, pictures megabytes.
const MAX_FILE: u64 = 8 << 20;

/// How a document is named in `context`.
const DOCUMENT: &str = "doc:";

/// Compiles one table; `None` where something is wrong with it, which has been reported.
pub(crate) fn compile(
    raw: &Spanned<RawAssemble>,
    folder: &Path,
    complaints: &mut Complaints<'_>,
) -> Option<Assembly> {
    let before = complaints.diagnostics.errors();
    let (header, raw) = (raw.span(), raw.get_ref());
    let id = raw.id.as_ref().and_then(|id| complaints.kebab(id, "my-vault"));
    let request = raw.matches.as_ref().map(|table| request(table, complaints));
    let origin = complaints.origin(&header);
    let root = root(raw, folder, header, complaints);
    let defaults = Profile::default();
    let profile = Profile {
        model: text(&raw.model).map(str::to_owned),
        agent_mode: raw.agent_mode.as_ref().map_or(defaults.agent_mode, |mode| agent_mode(mode.get_ref())),
        prompt: raw.prompt.as_ref().and_then(|prompt| nested::prompt(prompt.get_ref(), complaints)),
        fallback_prompt: text(&raw.fallback_prompt).map_or(defaults.fallback_prompt, str::to_owned),
        agent_prompt: path(raw.agent_prompt.as_ref(), complaints),
        tools_hint: path(raw.tools_hint.as_ref(), complaints),
        context: context(raw, complaints),
        map: raw.map.as_ref().map(|map| nested::map(map.get_ref(), complaints)),
        plugins: nested::plugins(raw.plugins.as_ref(), complaints),
        options: options(raw.options.as_ref(), complaints),
        drop: drop(raw, complaints).unwrap_or(defaults.drop),
        tools: raw.tools.as_ref().map(|tools| nested::tools(tools.get_ref())).unwrap_or_default(),
        continuation: said(&raw.continuation).unwrap_or(defaults.continuation),
        max_context: said(&raw.max_context).unwrap_or(defaults.max_context),
        max_files: said(&raw.max_files).unwrap_or(defaults.max_files),
    };
    let downgrade = raw.downgrade.as_ref().map(|downgrade| nested::downgrade(downgrade.get_ref()));
    let assembly = Assembly {
        approval: raw.tools.as_ref().and_then(|tools| nested::approval(tools.get_ref())),
        id: id?.into(),
        origin,
        says: raw.says.clone(),
        request,
        profile,
        root: root?,
        max_file: said(&raw.max_file).unwrap_or(MAX_FILE),
        downgrade: downgrade.unwrap_or_default(),
        replay_stream: said(&raw.replay_stream).unwrap_or_default(),
    };
    warn_of_missing(&assembly, raw, complaints);
    (complaints.diagnostics.errors() == before).then_some(assembly)
}

/// Which requests it is for. A profile makes a whole request, so nothing in it can choose.
fn request(table: &Spanned<RawMatch>, complaints: &mut Complaints<'_>) -> OfRequest {
    let raw = table.get_ref();
    for field in ["kind", "role", "section", "tool", "path", "latest"] {
        let Some(span) = raw.place(field) else { continue };
        let message = format!("`{field}` chooses leaves, and a profile is for whole requests");
        let hint =
            "choose by model, format, agent, session, upstream, endpoint, stream, subagent, header or option";
        complaints.error(span, message, hint);
    }
    matches::compile(raw, complaints).request
}

/// The folder of its files: the policy folder, or one that is named from there.
fn root(
    raw: &RawAssemble,
    folder: &Path,
    header: Range<usize>,
    complaints: &mut Complaints<'_>,
) -> Option<PathBuf> {
    let (root, span) = match &raw.root {
        Some(root) => (folder.join(root.get_ref()), root.span()),
        None => (folder.to_owned(), header),
    };
    if root.is_dir() {
        return Some(root);
    }
    let hint = "name a folder that is there, from the policy folder or from `/`";
    complaints.error(span, "the folder of its files is not there", hint);
    None
}

fn agent_mode(mode: &toml::Value) -> AgentMode {
    match mode.as_bool() {
        Some(true) => AgentMode::On,
        Some(false) => AgentMode::Off,
        None => AgentMode::Client,
    }
}

/// A path below the root.
fn path(raw: Option<&Spanned<String>>, complaints: &mut Complaints<'_>) -> Option<String> {
    let raw = raw?;
    check(raw.get_ref(), raw.span(), complaints);
    Some(raw.get_ref().clone())
}

fn check(path: &str, span: Range<usize>, complaints: &mut Complaints<'_>) {
    if let Err(fault) = check_path(path) {
        complaints.error(span, format!("no file can be named `{path}`: {fault}"), "name it from `root` on");
    }
}

fn context(raw: &RawAssemble, complaints: &mut Complaints<'_>) -> Vec<String> {
    for (entry, span) in words_of(&raw.context) {
        match entry.strip_prefix(DOCUMENT) {
            Some("") => complaints.error(span, "a document without a name", "write `doc:` and its id"),
            Some(_) => {}
            None => check(entry, span, complaints),
        }
    }
    words(&raw.context)
}

fn words(raw: &Option<Spanned<OneOrMany>>) -> Vec<String> {
    words_of(raw).into_iter().map(|(word, _)| word.to_owned()).collect()
}

/// Members of messages that are left out.
fn drop(raw: &RawAssemble, complaints: &mut Complaints<'_>) -> Option<Vec<String>> {
    for (word, span) in words_of(&raw.drop) {
        let profile = Profile { drop: vec![word.to_owned()], ..Profile::default() };
        if let Err(error) = profile.check() {
            complaints.error(span, error.to_string(), "take it out of `drop`");
        }
    }
    raw.drop.is_some().then(|| words(&raw.drop))
}

fn options(raw: Option<&Spanned<Map<String, Value>>>, complaints: &mut Complaints<'_>) -> Map<String, Value> {
    let Some(raw) = raw else { return Map::new() };
    let profile = Profile { options: raw.get_ref().clone(), ..Profile::default() };
    if let Err(error) = profile.check() {
        complaints.error(raw.span(), error.to_string(), "take it out of `options`");
    }
    profile.options
}

/// Names what is not there now. Files come and go, so it is no error.
fn warn_of_missing(assembly: &Assembly, raw: &RawAssemble, complaints: &mut Complaints<'_>) {
    let prompt = raw.prompt.as_ref().and_then(|prompt| prompt.get_ref().path.as_ref());
    let named = [
        (prompt, "requests get `fallback_prompt` until it is there"),
        (raw.agent_prompt.as_ref(), "requests in agent mode are refused until it is there"),
        (raw.tools_hint.as_ref(), "requests with tools are refused until it is there"),
    ];
    let root = &assembly.root;
    let mut missing = |path: &str, span: Range<usize>, is_there: bool, kind: &str, what: &str| {
        if check_path(path).is_ok() && !is_there {
            complaints.warning(span, format!("there is no {kind} `{path}` below {}", root.display()), what);
        }
    };
    for (path, what) in named {
        let Some(path) = path else { continue };
        missing(path.get_ref(), path.span(), root.join(path.get_ref()).is_file(), "file", what);
    }
    let refused = "each request is refused until it is there";
    for (entry, span) in words_of(&raw.context) {
        if entry.starts_with(DOCUMENT) {
            continue;
        }
        // What a pattern begins with is a folder; that nothing in it fits may be meant.
        let fixed: Vec<&str> = entry.split('/').take_while(|part| !part.contains(['*', '?'])).collect();
        let folder = fixed.join("/");
        match folder == entry {
            true => missing(entry, span, root.join(entry).is_file(), "file", refused),
            false if folder.is_empty() => {}
            false => missing(&folder, span, root.join(&folder).is_dir(), "folder", refused),
        }
    }
    let map = raw.map.as_ref().and_then(|map| map.get_ref().root.as_ref());
    if let Some(map) = map.filter(|map| !map.get_ref().is_empty()) {
        missing(map.get_ref(), map.span(), root.join(map.get_ref()).is_dir(), "folder", refused);
    }
}
