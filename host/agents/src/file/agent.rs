//! One agent of a file.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::members::{FileMembers, TeamText};
use super::templates::AgentTemplates;
use super::{Notes, shown};
use crate::name::AgentName;
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
pub(super) fn read<'t>(
    text: &TeamText<'t>,
    value: &'t RawValue,
    at: &str,
    names: &mut BTreeSet<AgentName>,
    templates: &AgentTemplates<'t>,
    notes: &mut Notes,
) -> Option<Agent> {
    let line = text.line(value);
    let Some(members) = text.members(value) else {
        notes.wrong(line, at, "an object with an agent is expected");
        return None;
    };
    for key in members.unknown(&KNOWN) {
        notes.warn(line, at, format!("`{}` has no meaning here", shown(key)));
    }
    for key in KNOWN.into_iter().filter(|key| members.is_twice(key)) {
        notes.wrong(line, format!("{at}/{key}"), "the member is here twice: keep one");
    }
    let mut of = Of { text, members: &members, template: None, line, at, notes };
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
struct Of<'a, 't> {
    text: &'a TeamText<'t>,
    members: &'a FileMembers<'t>,
    template: Option<&'a FileMembers<'t>>,
    line: usize,
    at: &'a str,
    notes: &'a mut Notes,
}

impl<'a, 't> Of<'a, 't> {
    /// The template that the agent names.
    fn template(&mut self, templates: &'a AgentTemplates<'t>) -> Option<&'a FileMembers<'t>> {
        let value = self.members.get("template")?;
        let template = self.text.string(value).and_then(|name| templates.get(&name));
        if template.is_none() {
            let what = format!("no template has this name: `leafgate.templates` has {}", templates.names());
            self.wrong(value, "template", what);
        }
        template
    }

    fn member(&mut self, key: &str) -> Option<&'t RawValue> {
        let value = self.members.get(key).or_else(|| self.template?.get(key));
        if value.is_none() {
            self.notes.wrong(self.line, self.at, format!("`{key}` is missing"));
        }
        value
    }

    fn wrong(&mut self, value: &RawValue, key: &str, what: impl Into<String>) {
        self.notes.wrong(self.text.line(value), format!("{}/{key}", self.at), what);
    }

    fn name(&mut self) -> Option<AgentName> {
        let value = self.member("name")?;
        let name = self.text.string(value).and_then(|name| AgentName::new(&name).ok());
        if name.is_none() {
            self.wrong(value, "name", crate::name::BadAgentName.to_string());
        }
        name
    }

    /// A name is taken by an agent that cannot be read, too.
    fn refuse_taken(&mut self, name: Option<&AgentName>, names: &mut BTreeSet<AgentName>) {
        if let Some(name) = name
            && !names.insert(name.clone())
        {
            let what = format!("the name `{name}` is taken: each agent needs its own");
            self.notes.wrong(self.line, format!("{}/name", self.at), what);
        }
    }

    fn string(&mut self, key: &str, most: usize) -> Option<String> {
        let value = self.member(key)?;
        let Some(text) = self.text.string(value) else {
            self.wrong(value, key, "a text is expected");
            return None;
        };
        let length = text.chars().count();
        if length > most {
            self.wrong(value, key, format!("the text has {length} characters: at most {most} are taken"));
            return None;
        }
        if most == MAX_LINE && length > LONG_LINE {
            let what = format!("the text has {length} characters: models read {LONG_LINE} or fewer better");
            self.notes.warn(self.text.line(value), format!("{}/{key}", self.at), what);
        }
        if key == "systemPrompt" && text.trim().is_empty() {
            self.wrong(value, key, "the prompt is empty: say what the agent is to do");
            return None;
        }
        Some(text)
    }

    fn permission(&mut self, key: &str, list: &str) -> Option<Permission> {
        let value = self.member(key)?;
        let expected = format!(
            "expected {{\"type\": \"all\"}}, {{\"type\": \"none\"}} or {{\"type\": \"specific\", \"{list}\": [...]}}"
        );
        let permission = self.text.members(value).and_then(|members| {
            let kind = self.text.string(members.get("type")?)?;
            // A list that does not count would be a permission that nobody meant.
            let names = members.get(list);
            let known = ["type", list];
            if members.unknown(&known).next().is_some() || known.iter().any(|key| members.is_twice(key)) {
                return None;
            }
            match (kind.as_str(), names) {
                ("all", None) => Some(Permission::All),
                ("none", None) => Some(Permission::None),
                ("specific", Some(names)) => {
                    let names = self.text.elements(names)?;
                    if names.len() > MAX_NAMES {
                        return None;
                    }
                    let names = names.into_iter().map(|name| self.text.string(name));
                    names.collect::<Option<_>>().map(Permission::Specific)
                }
                _ => None,
            }
        });
        if permission.is_none() {
            self.wrong(value, key, expected);
        }
        permission
    }
}
