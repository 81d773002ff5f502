//! What several agents of a file have in common: `leafgate.templates`. An agent with `template` has the members that it
//! does not have itself from there.

use serde_json::value::RawValue;

use super::members::{FileMembers, TeamText};
use super::{Notes, agent, shown};

/// The templates of a file, each by its name.
#[derive(Default)]
pub(super) struct AgentTemplates<'t>(Vec<(String, FileMembers<'t>)>);

impl<'t> AgentTemplates<'t> {
    /// Reads the templates beside a team, or notes all that is wrong with them.
    pub(super) fn read(text: &TeamText<'t>, beside: &'t RawValue, notes: &mut Notes) -> Self {
        let Some(value) = text.members(beside).and_then(|members| members.get("templates")) else {
            return AgentTemplates::default();
        };
        let Some(named) = text.members(value) else {
            notes.wrong(
                text.line(value),
                "/leafgate/templates",
                "an object is expected: a template under each name",
            );
            return AgentTemplates::default();
        };
        let mut templates = Vec::new();
        for (name, value) in named.iter() {
            let (line, at) = (text.line(value), format!("/leafgate/templates/{}", shown(name)));
            let Some(members) = text.members(value) else {
                notes.wrong(line, at, "an object with members of agents is expected");
                continue;
            };
            for key in members.unknown(&agent::SHARED) {
                let what = format!(
                    "`{}` is nothing that agents share: there are {}",
                    shown(key),
                    agent::SHARED.join(", ")
                );
                notes.wrong(line, &at, what);
            }
            for key in agent::SHARED.into_iter().filter(|key| members.is_twice(key)) {
                notes.wrong(line, format!("{at}/{key}"), "the member is here twice: keep one");
            }
            if named.is_twice(name) {
                notes.wrong(line, at, "the template is here twice: keep one");
            }
            templates.push((name.to_owned(), members));
        }
        AgentTemplates(templates)
    }

    /// Returns the template of a name.
    pub(super) fn get(&self, name: &str) -> Option<&FileMembers<'t>> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, members)| members)
    }

    /// The names of all, as a message may show them.
    pub(super) fn names(&self) -> String {
        match self.0.as_slice() {
            [] => "none".to_owned(),
            some => some.iter().map(|(name, _)| shown(name)).collect::<Vec<_>>().join(", "),
        }
    }
}
