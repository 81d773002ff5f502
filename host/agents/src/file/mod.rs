//! A team's file: JSON as an editor keeps it, in any of the forms that its document knows.
//!
//! Flat keys `copilotMultiAgent.entryAgent` and `copilotMultiAgent.agents`, the object
//! `copilotMultiAgent`, or `entryAgent` and `agents` alone; with comments, and among whatever else an
//! editor keeps. Beside it, `leafgate` says how runs are bounded, and what agents have in common.

mod agent;
mod jsonc;
mod members;
mod settings;
mod templates;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Value, json};

use crate::team::{Agent, Permission, SystemAs, Team};
use crate::tools::DELEGATE_WORK;
use members::{FileMembers, TeamText};
use templates::AgentTemplates;

/// The namespace in an editor's settings.
const SPACE: &str = "copilotMultiAgent";

/// Agents of a team.
const MAX_AGENTS: usize = 20;

/// What is wrong with a file, all of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FileError {
    /// At least one.
    pub problems: Vec<Problem>,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.problems.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// One thing in a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// An RFC 6901 pointer; empty for the whole file.
    pub pointer: String,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "line {}: {}", self.line, self.what),
            pointer => write!(f, "line {}, {pointer}: {}", self.line, self.what),
        }
    }
}

/// Something in a file that is not wrong, and hardly meant.
pub type Warning = Problem;

impl Team {
    /// Reads a team's file.
    ///
    /// # Errors
    /// [`FileError`] with everything that is wrong.
    pub fn read(file: &str) -> Result<(Team, Vec<Warning>), FileError> {
        let plain = jsonc::plain(file);
        let mut notes = Notes::default();
        let team = read(&TeamText::new(&plain), &mut notes);
        match team {
            Some(team) if notes.problems.is_empty() => Ok((team, notes.warnings)),
            _ => Err(FileError { problems: notes.problems }),
        }
    }

    /// Returns the file of a team, with flat keys. Read again it is the same team.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let settings = self.settings();
        json!({
            "copilotMultiAgent.entryAgent": self.entry().map(|agent| agent.name.as_str()).unwrap_or_default(),
            "copilotMultiAgent.agents": self.agents().iter().map(agent_json).collect::<Vec<_>>(),
            "leafgate": {
                "defaultModel": settings.default_model,
                "maxDepth": settings.max_depth,
                "maxIterations": settings.max_iterations,
                "delegationTimeoutMs": settings.delegation_timeout.as_millis() as u64,
                "systemAs": match settings.system_as { SystemAs::System => "system", SystemAs::User => "user" },
                "progress": settings.progress,
            },
        })
    }
}

fn agent_json(agent: &Agent) -> Value {
    json!({
        "name": agent.name.as_str(),
        "systemPrompt": agent.system_prompt,
        "description": agent.description,
        "useFor": agent.use_for,
        "delegationPermissions": permission_json(&agent.delegation, "agents"),
        "toolPermissions": permission_json(&agent.tools, "tools"),
    })
}

fn permission_json(permission: &Permission, list: &str) -> Value {
    match permission {
        Permission::All => json!({ "type": "all" }),
        Permission::None => json!({ "type": "none" }),
        Permission::Specific(names) => json!({ "type": "specific", list: names }),
    }
}

/// What was found while a file was read.
#[derive(Default)]
struct Notes {
    problems: Vec<Problem>,
    warnings: Vec<Warning>,
}

impl Notes {
    fn wrong(&mut self, line: usize, pointer: impl Into<String>, what: impl Into<String>) {
        self.problems.push(Problem { line, pointer: pointer.into(), what: what.into() });
    }

    fn warn(&mut self, line: usize, pointer: impl Into<String>, what: impl Into<String>) {
        self.warnings.push(Warning { line, pointer: pointer.into(), what: what.into() });
    }
}

/// Where a file has its two members.
struct TeamForm<'t> {
    members: FileMembers<'t>,
    entry: &'static str,
    agents: &'static str,
    /// Where `members` stand.
    at: &'static str,
}

fn read(text: &TeamText<'_>, notes: &mut Notes) -> Option<Team> {
    let root = match text.root() {
        Ok(root) => root,
        Err((line, what)) => {
            notes.wrong(line, "", what);
            return None;
        }
    };
    let beside = root.get("leafgate");
    let settings = beside.map(|value| settings::read(text, value, notes)).unwrap_or_default();
    let templates = beside.map(|value| AgentTemplates::read(text, value, notes)).unwrap_or_default();
    let form = form(text, root, notes)?;
    let agents = agents(text, &form, &templates, notes)?;
    let entry = entry(text, &form, &agents, notes);
    missing_targets(text, &form, &agents, notes);
    idle_targets(text, &form, &agents, notes);
    Some(Team { agents, entry, settings })
}

fn form<'t>(text: &TeamText<'t>, root: FileMembers<'t>, notes: &mut Notes) -> Option<TeamForm<'t>> {
    let (flat_entry, flat_agents) = ("copilotMultiAgent.entryAgent", "copilotMultiAgent.agents");
    let flat = root.get(flat_entry).or_else(|| root.get(flat_agents));
    let nested = root.get(SPACE);
    let bare = root.get("entryAgent").or_else(|| root.get("agents"));
    let found: Vec<_> = [flat, nested, bare].into_iter().flatten().collect();
    if found.len() > 1 {
        let what =
            "the team is here a second time: keep one of the flat keys, the object and the bare members";
        notes.wrong(text.line(found[1]), "", what);
        return None;
    }
    let Some(first) = found.first() else {
        let what = "no team is here: expected `copilotMultiAgent.agents`, an object `copilotMultiAgent`, or `agents`";
        notes.wrong(1, "", what);
        return None;
    };
    let form = match (flat, nested) {
        (Some(_), _) => TeamForm { members: root, entry: flat_entry, agents: flat_agents, at: "" },
        (None, Some(nested)) => {
            let Some(members) = text.members(nested) else {
                notes.wrong(text.line(nested), format!("/{SPACE}"), "an object is expected");
                return None;
            };
            for key in members.unknown(&["entryAgent", "agents"]) {
                notes.warn(
                    text.line(nested),
                    format!("/{SPACE}"),
                    format!("`{}` has no meaning here", shown(key)),
                );
            }
            TeamForm { members, entry: "entryAgent", agents: "agents", at: "/copilotMultiAgent" }
        }
        (None, None) => TeamForm { members: root, entry: "entryAgent", agents: "agents", at: "" },
    };
    for key in [form.entry, form.agents].into_iter().filter(|key| form.members.is_twice(key)) {
        notes.wrong(text.line(first), format!("{}/{key}", form.at), "the member is here twice: keep one");
    }
    Some(form)
}

fn agents<'t>(
    text: &TeamText<'t>,
    form: &TeamForm<'t>,
    templates: &AgentTemplates<'t>,
    notes: &mut Notes,
) -> Option<Vec<Agent>> {
    let at = format!("{}/{}", form.at, form.agents);
    let Some(value) = form.members.get(form.agents) else {
        notes.wrong(1, at, "the member is missing: it lists the agents");
        return None;
    };
    let Some(elements) = text.elements(value) else {
        notes.wrong(text.line(value), at, "a list of agents is expected");
        return None;
    };
    if elements.len() > MAX_AGENTS {
        let what = format!("a team has at most {MAX_AGENTS} agents, and here are {}", elements.len());
        notes.wrong(text.line(value), &at, what);
    }
    let mut names = BTreeSet::new();
    let mut agents = Vec::new();
    // One too many is said once, and a list without end is not read to its end.
    for (index, element) in elements.into_iter().enumerate().take(2 * MAX_AGENTS) {
        agents.extend(agent::read(text, element, &format!("{at}/{index}"), &mut names, templates, notes));
    }
    if agents.is_empty() && notes.problems.is_empty() {
        notes.warn(text.line(value), at, "the team has no agents: requests pass as they come");
    }
    Some(agents)
}

/// Finds the agent that conversations begin with; the first one where it is not there.
fn entry(text: &TeamText<'_>, form: &TeamForm<'_>, agents: &[Agent], notes: &mut Notes) -> usize {
    let at = format!("{}/{}", form.at, form.entry);
    let value = form.members.get(form.entry);
    let line = value.map_or(1, |value| text.line(value));
    let named = value.and_then(|value| text.string(value));
    if value.is_some() && named.is_none() {
        notes.wrong(line, &at, "the name of an agent is expected");
    }
    let found = named.and_then(|name| agents.iter().position(|agent| agent.name.as_str() == name));
    if let (None, Some(first)) = (found, agents.first()) {
        notes.warn(
            line,
            at,
            format!("no agent of this team is named here: `{}`, the first one, serves", first.name),
        );
    }
    found.unwrap_or(0)
}

/// Says who may delegate by its targets, and not by its tools.
fn idle_targets(text: &TeamText<'_>, form: &TeamForm<'_>, agents: &[Agent], notes: &mut Notes) {
    let line = form.members.get(form.agents).map_or(1, |value| text.line(value));
    for (index, agent) in agents.iter().enumerate() {
        let targets =
            |other: &Agent| other.name != agent.name && agent.delegation.allows(other.name.as_str());
        if !agent.has_delegation() && agents.iter().any(targets) {
            let at = format!("{}/{}/{index}/toolPermissions/tools", form.at, form.agents);
            let what = format!(
                "`{}` delegates to nobody, although its delegationPermissions let it: add `{DELEGATE_WORK}` to its tools",
                agent.name
            );
            notes.warn(line, at, what);
        }
    }
}

/// Lists of targets may name agents that are not there; they are left out.
fn missing_targets(text: &TeamText<'_>, form: &TeamForm<'_>, agents: &[Agent], notes: &mut Notes) {
    let line = form.members.get(form.agents).map_or(1, |value| text.line(value));
    for (index, agent) in agents.iter().enumerate() {
        let Permission::Specific(names) = &agent.delegation else { continue };
        let is_there = |name: &String| agents.iter().any(|other| other.name.as_str() == name);
        let missing: Vec<String> =
            names.iter().filter(|name| !is_there(name)).map(|name| shown(name)).collect();
        if !missing.is_empty() {
            let at = format!("{}/{}/{index}/delegationPermissions/agents", form.at, form.agents);
            notes.warn(
                line,
                at,
                format!("`{}` may delegate to `{}`: not in this team", agent.name, missing.join("`, `")),
            );
        }
    }
}

/// A key of a file, as a message may show it.
fn shown(key: &str) -> String {
    crate::prompt::escaped(key).chars().take(60).collect()
}
