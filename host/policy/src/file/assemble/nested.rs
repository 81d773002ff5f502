//! The tables inside an `[[assemble]]` table.

use leafgate_assemble::{MapOf, ProfilePlugin, ProfilePrompt, ToolsOf};
use leafgate_diagnostic::Complaints;
use leafgate_glob::Glob;
use toml::Spanned;

use super::raw::{PromptName, RawDowngrade, RawMap, RawPrompt, RawRequestPlugin, RawTools};
use super::{check, path, said, text, words, words_of};
use crate::assembly::{Approval, Downgrade};

pub(super) fn prompt(raw: &RawPrompt, complaints: &mut Complaints<'_>) -> Option<ProfilePrompt> {
    match said(&raw.kind)? {
        PromptName::General => Some(ProfilePrompt::General),
        PromptName::Concise => Some(ProfilePrompt::Concise),
        PromptName::Agent => Some(ProfilePrompt::Agent),
        PromptName::File => path(raw.path.as_ref(), complaints).map(ProfilePrompt::File),
        PromptName::Literal => text(&raw.text).map(str::to_owned).map(ProfilePrompt::Literal),
    }
}

pub(super) fn map(raw: &RawMap, complaints: &mut Complaints<'_>) -> MapOf {
    let root = raw.root.as_ref().filter(|root| !root.get_ref().is_empty());
    if let Some(root) = root {
        check(root.get_ref(), root.span(), complaints);
    }
    MapOf {
        root: root.map(|root| root.get_ref().clone()).unwrap_or_default(),
        depth: said(&raw.depth).unwrap_or(3),
        entries: said(&raw.entries).unwrap_or(500),
    }
}

pub(super) fn plugins(
    raw: Option<&Spanned<Vec<Spanned<RawRequestPlugin>>>>,
    complaints: &mut Complaints<'_>,
) -> Vec<ProfilePlugin> {
    let mut plugins: Vec<ProfilePlugin> = Vec::new();
    for plugin in raw.map(Spanned::get_ref).into_iter().flatten() {
        let (span, plugin) = (plugin.span(), plugin.get_ref());
        let Some(id) = plugin.id.as_ref().map(|id| id.get_ref().clone()) else { continue };
        match plugins.iter().any(|known| known.id == id) {
            true => complaints.error(span, format!("plugin `{id}` is named twice"), "name it once"),
            false => plugins.push(ProfilePlugin { id, max_results: said(&plugin.max_results) }),
        }
    }
    plugins
}

pub(super) fn tools(raw: &RawTools) -> ToolsOf {
    ToolsOf {
        normalise: said(&raw.normalise).unwrap_or_default(),
        allow: raw.allow.is_some().then(|| words(&raw.allow)),
    }
}

/// What becomes of the tool calls of an answer; `None` where the profile does not say.
pub(super) fn approval(raw: &RawTools) -> Option<Approval> {
    let raw = raw.approve.as_ref()?.get_ref();
    Some(Approval {
        auto: words_of(&raw.auto).iter().map(|(name, _)| Glob::new(name)).collect(),
        rest: said(&raw.rest).unwrap_or_default(),
    })
}

pub(super) fn downgrade(raw: &RawDowngrade) -> Downgrade {
    let on = words_of(&raw.on);
    let names = |wanted: &str| on.iter().any(|(word, _)| *word == wanted);
    Downgrade {
        images: names("images"),
        tools: names("tools"),
        models: words(&raw.models),
        footnote: said(&raw.footnote).unwrap_or(true),
        otherwise: said(&raw.otherwise).unwrap_or_default(),
    }
}
