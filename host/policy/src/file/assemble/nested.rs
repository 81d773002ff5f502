//! The tables inside an `[[assemble]]` table.

use leafgate_assemble::{MapOf, ProfilePlugin, ProfilePrompt, ToolsOf};
use leafgate_diagnostic::Complaints;
use leafgate_glob::Glob;
use toml::Spanned;

use super::raw::{PROMPTS, RawDowngrade, RawMap, RawPrompt, RawRequestPlugin, RawTools};
use super::{check, number, path, text, words};
use crate::assembly::{Approval, Downgrade, Otherwise, Rest};

const DOWNGRADES: &[&str] = &["images", "tools"];

/// Deeper maps and longer ones say nothing that a model could use.
const MOST_DEPTH: u64 = 16;
const MOST_ENTRIES: u64 = 10_000;

pub(super) fn prompt(raw: &Spanned<RawPrompt>, complaints: &mut Complaints<'_>) -> Option<ProfilePrompt> {
    let (span, raw) = (raw.span(), raw.get_ref());
    let Some(kind) = &raw.kind else {
        let hint = format!("one of: {}", PROMPTS.join(", "));
        complaints.error(span, "a prompt without `type`", hint);
        return None;
    };
    let find = |word: &str| PROMPTS.iter().copied().find(|known| *known == word);
    let kind_word = complaints.word("prompt.type", kind, PROMPTS, find)?;
    for (field, belongs, value) in [("path", "file", &raw.path), ("text", "literal", &raw.text)] {
        match value {
            Some(value) if kind_word != belongs => {
                let message = format!("`{field}` means nothing to a prompt of type `{kind_word}`");
                complaints.error(value.span(), message, format!("`{field}` belongs to `{belongs}`"));
            }
            None if kind_word == belongs => {
                let message = format!("a prompt of type `{belongs}` without `{field}`");
                complaints.error(kind.span(), message, format!("`{field} = \"…\"`"));
            }
            _ => {}
        }
    }
    match kind_word {
        "general" => Some(ProfilePrompt::General),
        "concise" => Some(ProfilePrompt::Concise),
        "agent" => Some(ProfilePrompt::Agent),
        "file" => path(raw.path.as_ref(), complaints).map(ProfilePrompt::File),
        _ => text(raw.text.as_ref(), "text", complaints).map(ProfilePrompt::Literal),
    }
}

pub(super) fn map(raw: &Spanned<RawMap>, complaints: &mut Complaints<'_>) -> Option<MapOf> {
    let raw = raw.get_ref();
    let root = raw.root.as_ref().filter(|root| !root.get_ref().is_empty());
    if let Some(root) = root {
        check(root.get_ref(), root.span(), complaints);
    }
    let depth = number(raw.depth.as_ref(), "map.depth", MOST_DEPTH, complaints).unwrap_or(3);
    let entries = number(raw.entries.as_ref(), "map.entries", MOST_ENTRIES, complaints).unwrap_or(500);
    Some(MapOf {
        root: root.map(|root| root.get_ref().clone()).unwrap_or_default(),
        depth: usize::try_from(depth).ok()?,
        entries: usize::try_from(entries).ok()?,
    })
}

pub(super) fn plugins(
    raw: Option<&Spanned<Vec<Spanned<RawRequestPlugin>>>>,
    complaints: &mut Complaints<'_>,
) -> Vec<ProfilePlugin> {
    let mut plugins: Vec<ProfilePlugin> = Vec::new();
    for plugin in raw.map(Spanned::get_ref).into_iter().flatten() {
        let (span, plugin) = (plugin.span(), plugin.get_ref());
        let max_results = number(plugin.max_results.as_ref(), "max_results", 1000, complaints);
        match text(plugin.id.as_ref(), "id", complaints) {
            Some(id) if plugins.iter().any(|known| known.id == id) => {
                complaints.error(span, format!("plugin `{id}` is named twice"), "name it once");
            }
            Some(id) => plugins.push(ProfilePlugin { id, max_results }),
            None => complaints.error(span, "a plugin without `id`", "`id = \"web-search\"`"),
        }
    }
    plugins
}

pub(super) fn tools(raw: &Spanned<RawTools>) -> ToolsOf {
    let raw = raw.get_ref();
    ToolsOf {
        normalise: raw.normalise.as_ref().is_some_and(|normalise| *normalise.get_ref()),
        allow: raw.allow.as_ref().map(words),
    }
}

/// What becomes of the tool calls of an answer; `None` where the profile does not say.
pub(super) fn approval(raw: &Spanned<RawTools>, complaints: &mut Complaints<'_>) -> Option<Approval> {
    let raw = raw.get_ref().approve.as_ref()?.get_ref();
    let rest = raw.rest.as_ref();
    let rest = rest.and_then(|word| complaints.word("approve.rest", word, Rest::NAMES, Rest::from_name));
    let auto = raw.auto.as_ref().map(words).unwrap_or_default();
    Some(Approval { auto: auto.iter().map(|name| Glob::new(name)).collect(), rest: rest.unwrap_or_default() })
}

pub(super) fn downgrade(raw: &Spanned<RawDowngrade>, complaints: &mut Complaints<'_>) -> Downgrade {
    let raw = raw.get_ref();
    let mut downgrade = Downgrade {
        models: raw.models.as_ref().map(words).unwrap_or_default(),
        footnote: raw.footnote.as_ref().is_none_or(|footnote| *footnote.get_ref()),
        ..Downgrade::default()
    };
    for (word, span) in raw.on.iter().flat_map(|on| on.get_ref().words(on.span())) {
        match word {
            "images" => downgrade.images = true,
            "tools" => downgrade.tools = true,
            _ => {
                let word = Spanned::new(span, word.to_owned());
                complaints.word("downgrade.on", &word, DOWNGRADES, |_| None::<()>);
            }
        }
    }
    if let Some(word) = &raw.otherwise {
        let read = complaints.word("downgrade.else", word, Otherwise::NAMES, Otherwise::from_name);
        downgrade.otherwise = read.unwrap_or_default();
    }
    downgrade
}
