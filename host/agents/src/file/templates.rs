//! What several agents of a file have in common: `leafgate.templates`. An agent with `template` has the members that it
//! does not have itself from there.

use jsonc_parser::ast::Value;

use super::members::FileMembers;
use super::{Notes, agent, shown};

/// The templates of a file, each by its name.
#[derive(Default)]
pub(super) struct AgentTemplates<'v>(Vec<(&'v str, FileMembers<'v>)>);

impl<'v> AgentTemplates<'v> {
    /// Reads the templates beside a team, or notes all that is wrong with them.
    pub(super) fn read(beside: &'v Value<'v>, notes: &mut Notes) -> Self {
        let mut templates = Vec::new();
        let Some(value) = FileMembers::of(beside).and_then(|members| members.get("templates")) else {
            return AgentTemplates(templates);
        };
        let Some(named) = FileMembers::of(value) else {
            let what = "an object is expected: a template under each name";
            notes.wrong::<()>(value, "/leafgate/templates", what);
            return AgentTemplates(templates);
        };
        for (name, value) in named.iter() {
            let at = format!("/leafgate/templates/{}", shown(name));
            let Some(members) = FileMembers::of(value) else {
                notes.wrong::<()>(value, at, "an object with members of agents is expected");
                continue;
            };
            for key in members.unknown(&agent::SHARED) {
                let shared = agent::SHARED.join(", ");
                let what = format!("`{}` is nothing that agents share: there are {shared}", shown(key));
                notes.wrong::<()>(value, &at, what);
            }
            for key in agent::SHARED.into_iter().filter(|key| members.is_twice(key)) {
                notes.wrong::<()>(value, format!("{at}/{key}"), "the member is here twice: keep one");
            }
            if named.is_twice(name) {
                notes.wrong::<()>(value, at, "the template is here twice: keep one");
            }
            templates.push((name, members));
        }
        AgentTemplates(templates)
    }

    /// Returns the template of a name.
    pub(super) fn get(&self, name: &str) -> Option<FileMembers<'v>> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, members)| *members)
    }

    /// The names of all, as a message may show them.
    pub(super) fn names(&self) -> String {
        match self.0.as_slice() {
            [] => "none".to_owned(),
            some => some.iter().map(|(name, _)| shown(name)).collect::<Vec<_>>().join(", "),
        }
    }
}
