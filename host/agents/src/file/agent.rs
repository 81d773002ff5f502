//! One agent of a file.

use std::collections::BTreeSet;

use jsonc_parser::ast::Value;

use super::members::{FileMembers, string};
use super::templates::AgentTemplates;
use super::{Notes, shown};
use crate::name::{AgentName, BadAgentName};
use crate::team::{Agent, Permission};

/// Characters of a prompt.
const MAX_PROMPT: usize = 5_000;

/// Characters of a description or use: what is accepted, and what the document advises.
const MAX_LINE: usize = 500;
const LONG_LINE: usize = 200;

/// Names in a list of permissions.
const MAX_NAMES: usize = 500;

const KNOWN: [&str; 7] =
    ["name", "systemPrompt", "description", "useFor", "delegationPermissions", "toolPermissions", "template"];

/// Those that a template may have.
pub(super) const SHARED: [&str; 5] =
    ["systemPrompt", "description", "useFor", "delegationPermissions", "toolPermissions"];

/// Reads an agent, or notes all that is wrong with it. `names` are those of the agents before.
pub(super) fn read<'v>(
    value: &'v Value<'v>,
    at: &str,
    names: &mut BTreeSet<AgentName>,
    templates: &AgentTemplates<'v>,
    notes: &mut Notes,
) -> Option<Agent> {
    let Some(members) = FileMembers::of(value) else {
        return notes.wrong(value, at, "an object with an agent is expected");
    };
    for key in members.unknown(&KNOWN) {
        notes.warn(value, at, format!("`{}` has no meaning here", shown(key)));
    }
    for key in KNOWN.into_iter().filter(|key| members.is_twice(key)) {
        notes.wrong::<()>(value, format!("{at}/{key}"), "the member is here twice: keep one");
    }
    let mut of = Of { value, members, template: None, at, notes };
    of.template = of.template(templates);
    let name = of.name();
    of.refuse_taken(name.as_ref(), names);
    let system_prompt = of.string("systemPrompt", MAX_PROMPT);
    let description = of.string("description", MAX_LINE);
    let use_for = of.string("useFor", MAX_LINE);
    let delegation = of.permission("delegationPermissions", "agents");
    let tools = of.permission("toolPermissions", "tools");
    Some(Agent {
        name: name?,
        system_prompt: system_prompt?,
        description: description?,
        use_for: use_for?,
        delegation: delegation?,
        tools: tools?,
    })
}

/// The agent that is read.
struct Of<'a, 'v> {
    value: &'v Value<'v>,
    members: FileMembers<'v>,
    template: Option<FileMembers<'v>>,
    at: &'a str,
    notes: &'a mut Notes,
}

impl<'v> Of<'_, 'v> {
    /// The template that the agent names.
    fn template(&mut self, templates: &AgentTemplates<'v>) -> Option<FileMembers<'v>> {
        let value = self.members.get("template")?;
        string(value).and_then(|name| templates.get(name)).or_else(|| {
            let names = templates.names();
            self.wrong(
                value,
                "template",
                format!("no template has this name: `leafgate.templates` has {names}"),
            )
        })
    }

    fn member(&mut self, key: &str) -> Option<&'v Value<'v>> {
        let value = self.members.get(key).or_else(|| self.template?.get(key));
        value.or_else(|| self.notes.wrong(self.value, self.at, format!("`{key}` is missing")))
    }

    fn wrong<T>(&mut self, value: &Value<'_>, key: &str, what: impl Into<String>) -> Option<T> {
        self.notes.wrong(value, format!("{}/{key}", self.at), what)
    }

    fn name(&mut self) -> Option<AgentName> {
        let value = self.member("name")?;
        let name = string(value).and_then(|name| AgentName::new(name).ok());
        name.or_else(|| self.wrong(value, "name", BadAgentName.to_string()))
    }

    /// A name is taken by an agent that cannot be read, too.
    fn refuse_taken(&mut self, name: Option<&AgentName>, names: &mut BTreeSet<AgentName>) {
        if let Some(name) = name
            && !names.insert(name.clone())
        {
            let what = format!("the name `{name}` is taken: each agent needs its own");
            self.wrong::<()>(self.value, "name", what);
        }
    }

    fn string(&mut self, key: &str, most: usize) -> Option<String> {
        let value = self.member(key)?;
        let Some(text) = string(value) else { return self.wrong(value, key, "a text is expected") };
        let length = text.chars().count();
        if length > most {
            let what = format!("the text has {length} characters: at most {most} are taken");
            return self.wrong(value, key, what);
        }
        if most == MAX_LINE && length > LONG_LINE {
            let what = format!("the text has {length} characters: models read {LONG_LINE} or fewer better");
            self.notes.warn(value, format!("{}/{key}", self.at), what);
        }
        if key == "systemPrompt" && text.trim().is_empty() {
            return self.wrong(value, key, "the prompt is empty: say what the agent is to do");
        }
        Some(text.to_owned())
    }

    fn permission(&mut self, key: &str, list: &str) -> Option<Permission> {
        let value = self.member(key)?;
        permission(value, list).or_else(|| {
            let what = format!(
                "expected {{\"type\": \"all\"}}, {{\"type\": \"none\"}} or {{\"type\": \"specific\", \"{list}\": [...]}}"
            );
            self.wrong(value, key, what)
        })
    }
}

fn permission(value: &Value<'_>, list: &str) -> Option<Permission> {
    let members = FileMembers::of(value)?;
    // A list that does not count would be a permission that nobody meant.
    let known = ["type", list];
    if members.unknown(&known).next().is_some() || known.iter().any(|key| members.is_twice(key)) {
        return None;
    }
    match (string(members.get("type")?)?, members.get(list)) {
        ("all", None) => Some(Permission::All),
        ("none", None) => Some(Permission::None),
        ("specific", Some(names)) => {
            let names = &names.as_array()?.elements;
            let all = names.iter().map(|name| string(name).map(str::to_owned)).collect::<Option<_>>();
            all.filter(|_| names.len() <= MAX_NAMES).map(Permission::Specific)
        }
        _ => None,
    }
}
