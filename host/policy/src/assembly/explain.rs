//! A profile in words.

use std::fmt;

use leafgate_assemble::{AgentMode, Continuation, MapOf, Profile, Prompt};
use serde::Serialize;

use super::{Approval, Assembly, Otherwise, Rest};

/// A profile in words: as text by `Display`, as JSON by `Serialize`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssemblyExplanation {
    /// Its id.
    pub id: String,
    /// File and line.
    pub origin: String,
    /// The base URL that chooses it.
    pub base_url: String,
    /// Which requests it is for besides; `None` for no others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// The folder of its files.
    pub root: String,
    /// What it does, one line each, in order.
    pub does: Vec<String>,
}

impl AssemblyExplanation {
    pub(crate) fn of(assembly: &Assembly) -> Self {
        let matches = assembly.request.as_ref().map(|request| {
            let mut fields: Vec<String> = Vec::new();
            request.describe(|name, words| {
                if !words.is_empty() {
                    fields.push(format!("{name} {}", words.join(" or ")));
                }
            });
            if fields.is_empty() { "every request".to_owned() } else { fields.join(", ") }
        });
        AssemblyExplanation {
            id: assembly.id.to_string(),
            origin: assembly.origin.clone(),
            base_url: format!("/p/{}", assembly.id),
            matches,
            root: assembly.root.display().to_string(),
            does: does(assembly),
        }
    }
}

fn does(assembly: &Assembly) -> Vec<String> {
    let profile = &assembly.profile;
    let mut does = vec![prompt(profile)];
    does.push(
        match profile.agent_mode {
            AgentMode::On => "sends tools, and calls with their results",
            AgentMode::Off => "sends texts alone: no tools, no calls, no results",
            AgentMode::Client => "sends tools and calls where `leafgate.agentMode` of the request says so",
        }
        .to_owned(),
    );
    if !profile.context.is_empty() {
        let when = match profile.continuation {
            Continuation::SkipContext => "not again while tools run",
            Continuation::Keep => "again while tools run",
        };
        does.push(format!(
            "puts {} before the latest message of the user, {when}",
            profile.context.join(", ")
        ));
    }
    if let Some(MapOf { root, depth, entries }) = &profile.map {
        let root = if root.is_empty() { "its folder" } else { root };
        does.push(format!("puts a map of {root} there, {depth} deep, with {entries} entries at most"));
    }
    if let Some(allow) = &profile.tools.allow {
        does.push(format!("leaves out tools that are none of {}", allow.join(", ")));
    }
    if profile.tools.normalise {
        does.push("marks all properties of tools as required, and leaves `strict` out".to_owned());
    }
    does.extend(profile.plugins.iter().map(|plugin| format!("asks for the plugin {}", plugin.id)));
    does.extend(profile.options.iter().map(|(key, value)| format!("sets {key} = {value}")));
    does.extend(profile.model.iter().map(|model| format!("asks the model {model}")));
    does.extend(assembly.approval.iter().map(approval));
    does.extend(downgrades(assembly));
    if assembly.replay_stream {
        does.push("gives an answer in one piece as a stream to a client that asked for one".to_owned());
    }
    does
}

fn prompt(profile: &Profile) -> String {
    let prompt = match &profile.prompt {
        None => "the client's own".to_owned(),
        Some(Prompt::General) => "a general one".to_owned(),
        Some(Prompt::Concise) => "one for brief answers".to_owned(),
        Some(Prompt::Agent) => "the agent's".to_owned(),
        Some(Prompt::File(path)) => format!("what {path} says"),
        Some(Prompt::Literal(_)) => "words of the profile".to_owned(),
    };
    let before = profile.agent_prompt.iter().map(|path| format!(", in agent mode {path} before it"));
    let behind = profile.tools_hint.iter().map(|path| format!(", with tools {path} behind it"));
    let around: String = before.chain(behind).collect();
    format!("one system prompt, first: {prompt}{around}")
}

fn approval(approval: &Approval) -> String {
    let rest = match approval.rest {
        Rest::Ask => "wait for a person",
        Rest::Block => "do not reach the client",
    };
    let auto: Vec<String> = approval.auto.iter().map(ToString::to_string).collect();
    match auto.is_empty() {
        true => format!("tool calls of its answers {rest}"),
        false => format!("tool calls of its answers {rest}, but for {}", auto.join(", ")),
    }
}

fn downgrades(assembly: &Assembly) -> Vec<String> {
    let downgrade = &assembly.downgrade;
    let mut does = Vec::new();
    for (what, on) in [("images", downgrade.images), ("tools", downgrade.tools)] {
        if on {
            does.push(format!("sends once more without {what} where the provider takes none"));
        }
    }
    if !downgrade.models.is_empty() {
        does.push(format!("asks {} where the model is not there", downgrade.models.join(", then ")));
    }
    if downgrade.otherwise == Otherwise::Pause {
        does.push("asks a person where the model is not there and no other is left".to_owned());
    }
    does
}

impl fmt::Display for AssemblyExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "   {} ({})", self.id, self.origin)?;
        match &self.matches {
            Some(matches) => writeln!(f, "      for {matches}, and what is sent to {}/…", self.base_url)?,
            None => writeln!(f, "      for what is sent to {}/…", self.base_url)?,
        }
        writeln!(f, "      files below {}", self.root)?;
        self.does.iter().try_for_each(|line| writeln!(f, "      {line}"))
    }
}
