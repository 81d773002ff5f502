//! A team's file: JSON as an editor keeps it, in any of the forms that its document knows.
//!
//! Flat keys `copilotMultiAgent.entryAgent` and `copilotMultiAgent.agents`, the object
//! `copilotMultiAgent`, or `entryAgent` and `agents` alone; with comments, and among whatever else an
//! editor keeps. Beside it, `leafgate` says how runs are bounded, and what agents have in common.

mod agent;
mod members;
mod settings;
mod templates;

use std::collections::BTreeSet;
use std::fmt;

use jsonc_parser::ast::Value;
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::json;

use crate::team::{Agent, Permission, Team};
use crate::tools::DELEGATE_WORK;
use members::{FileMembers, string};
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
        let text = file.strip_prefix('\u{feff}').unwrap_or(file);
        let ends = text.match_indices('\n').map(|(at, _)| at).collect();
        let mut notes = Notes { ends, problems: Vec::new(), warnings: Vec::new() };
        let collected = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
        let read = parse_to_ast(text, &collected, &as_vscode_writes());
        let team = match read.map(|read| read.value) {
            Ok(Some(root)) => team(&root, &mut notes),
            Ok(None) => notes.wrong(&START, "", "this is no JSON"),
            Err(error) => notes.wrong(
                &error.range(),
                "",
                format!("this is no JSON (column {})", error.column_display()),
            ),
        };
        match team {
            Some(team) if notes.problems.is_empty() => Ok((team, notes.warnings)),
            _ => Err(FileError { problems: notes.problems }),
        }
    }

    /// Returns the file of a team, with flat keys. Read again it is the same team.
    pub fn to_json(&self) -> serde_json::Value {
        let settings = &self.settings;
        json!({
            "copilotMultiAgent.entryAgent": self.entry().map(|agent| agent.name.as_str()).unwrap_or_default(),
            "copilotMultiAgent.agents": self.agents.iter().map(agent_json).collect::<Vec<_>>(),
            "leafgate": {
                "defaultModel": settings.default_model,
                "maxDepth": settings.max_depth,
                "maxIterations": settings.max_iterations,
                "delegationTimeoutMs": settings.delegation_timeout.as_millis() as u64,
                "systemAs": settings.system_as.as_str(),
                "progress": settings.progress,
            },
        })
    }
}

fn agent_json(agent: &Agent) -> serde_json::Value {
    json!({
        "name": agent.name.as_str(),
        "systemPrompt": agent.system_prompt,
        "description": agent.description,
        "useFor": agent.use_for,
        "delegationPermissions": permission_json(&agent.delegation, "agents"),
        "toolPermissions": permission_json(&agent.tools, "tools"),
    })
}

fn permission_json(permission: &Permission, list: &str) -> serde_json::Value {
    match permission {
        Permission::All => json!({ "type": "all" }),
        Permission::None => json!({ "type": "none" }),
        Permission::Specific(names) => json!({ "type": "specific", list: names }),
    }
}

/// Returns how VS Code's settings are read: JSON with comments and trailing commas. Control characters, line
/// breaks among them, may stand in texts as they are; nothing else is taken that JSON has not.
pub fn as_vscode_writes() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Where a file begins: the place of what is missing in it.
const START: Range = Range { start: 0, end: 0 };

/// What was found while a file was read.
struct Notes {
    /// Where the lines of the file end, so that none is counted again for each fault.
    ends: Vec<usize>,
    problems: Vec<Problem>,
    warnings: Vec<Warning>,
}

impl Notes {
    /// Notes what is wrong at a place, in whose stead nothing is read.
    fn wrong<T>(&mut self, place: &dyn Ranged, at: impl Into<String>, what: impl Into<String>) -> Option<T> {
        let problem = self.problem(place, at.into(), what.into());
        self.problems.push(problem);
        None
    }

    fn warn(&mut self, place: &dyn Ranged, at: impl Into<String>, what: impl Into<String>) {
        let warning = self.problem(place, at.into(), what.into());
        self.warnings.push(warning);
    }

    fn problem(&self, place: &dyn Ranged, pointer: String, what: String) -> Problem {
        let line = 1 + self.ends.partition_point(|&end| end < place.start());
        Problem { line, pointer, what }
    }
}

/// Where a file has its two members.
struct TeamForm<'v> {
    members: FileMembers<'v>,
    entry: &'static str,
    agents: &'static str,
    /// Where `members` stand.
    at: &'static str,
}

impl TeamForm<'_> {
    /// The list of agents, where it is there.
    fn list(&self) -> &dyn Ranged {
        self.members.get(self.agents).map_or(&START, |list| list)
    }
}

fn team(root: &Value<'_>, notes: &mut Notes) -> Option<Team> {
    let Some(members) = FileMembers::of(root) else { return notes.wrong(root, "", "an object is expected") };
    let beside = members.get("leafgate");
    let settings = beside.map(|value| settings::read(value, notes)).unwrap_or_default();
    let templates = beside.map(|value| AgentTemplates::read(value, notes)).unwrap_or_default();
    let form = form(members, notes)?;
    let agents = agents(&form, &templates, notes)?;
    let entry = entry(&form, &agents, notes);
    missing_targets(&form, &agents, notes);
    idle_targets(&form, &agents, notes);
    Some(Team { agents, entry, settings })
}

fn form<'v>(root: FileMembers<'v>, notes: &mut Notes) -> Option<TeamForm<'v>> {
    let (flat_entry, flat_agents) = ("copilotMultiAgent.entryAgent", "copilotMultiAgent.agents");
    let flat = root.get(flat_entry).or_else(|| root.get(flat_agents));
    let nested = root.get(SPACE);
    let bare = root.get("entryAgent").or_else(|| root.get("agents"));
    let found: Vec<_> = [flat, nested, bare].into_iter().flatten().collect();
    let first = match found[..] {
        [only] => only,
        [] => {
            let what = "no team is here: expected `copilotMultiAgent.agents`, an object `copilotMultiAgent`, or `agents`";
            return notes.wrong(&START, "", what);
        }
        [_, second, ..] => {
            let what =
                "the team is here a second time: keep one of the flat keys, the object and the bare members";
            return notes.wrong(second, "", what);
        }
    };
    let form = match (flat, nested) {
        (Some(_), _) => TeamForm { members: root, entry: flat_entry, agents: flat_agents, at: "" },
        (None, Some(nested)) => {
            let at = "/copilotMultiAgent";
            let Some(members) = FileMembers::of(nested) else {
                return notes.wrong(nested, at, "an object is expected");
            };
            for key in members.unknown(&["entryAgent", "agents"]) {
                notes.warn(nested, at, format!("`{}` has no meaning here", shown(key)));
            }
            TeamForm { members, entry: "entryAgent", agents: "agents", at }
        }
        (None, None) => TeamForm { members: root, entry: "entryAgent", agents: "agents", at: "" },
    };
    for key in [form.entry, form.agents].into_iter().filter(|key| form.members.is_twice(key)) {
        notes.wrong::<()>(first, format!("{}/{key}", form.at), "the member is here twice: keep one");
    }
    Some(form)
}

fn agents(form: &TeamForm<'_>, templates: &AgentTemplates<'_>, notes: &mut Notes) -> Option<Vec<Agent>> {
    let at = format!("{}/{}", form.at, form.agents);
    let Some(value) = form.members.get(form.agents) else {
        return notes.wrong(&START, at, "the member is missing: it lists the agents");
    };
    let Some(list) = value.as_array() else { return notes.wrong(value, at, "a list of agents is expected") };
    let count = list.elements.len();
    if count > MAX_AGENTS {
        let what = format!("a team has at most {MAX_AGENTS} agents, and here are {count}");
        notes.wrong::<()>(value, &at, what);
    }
    let mut names = BTreeSet::new();
    let mut agents = Vec::new();
    // One too many is said once, and a list without end is not read to its end.
    for (index, element) in list.elements.iter().enumerate().take(2 * MAX_AGENTS) {
        agents.extend(agent::read(element, &format!("{at}/{index}"), &mut names, templates, notes));
    }
    if agents.is_empty() && notes.problems.is_empty() {
        notes.warn(value, at, "the team has no agents: requests pass as they come");
    }
    Some(agents)
}

/// Finds the agent that conversations begin with; the first one where it is not there.
fn entry(form: &TeamForm<'_>, agents: &[Agent], notes: &mut Notes) -> usize {
    let at = format!("{}/{}", form.at, form.entry);
    let value = form.members.get(form.entry);
    let place: &dyn Ranged = value.map_or(&START, |value| value);
    let named = value.and_then(string);
    if value.is_some() && named.is_none() {
        notes.wrong::<()>(place, &at, "the name of an agent is expected");
    }
    let found = named.and_then(|name| agents.iter().position(|agent| agent.name.as_str() == name));
    if let (None, Some(first)) = (found, agents.first()) {
        let what = format!("no agent of this team is named here: `{}`, the first one, serves", first.name);
        notes.warn(place, at, what);
    }
    found.unwrap_or(0)
}

/// Says who may delegate by its targets, and not by its tools.
fn idle_targets(form: &TeamForm<'_>, agents: &[Agent], notes: &mut Notes) {
    for (index, agent) in agents.iter().enumerate() {
        let targets =
            |other: &Agent| other.name != agent.name && agent.delegation.allows(other.name.as_str());
        if !agent.has_delegation() && agents.iter().any(targets) {
            let at = format!("{}/{}/{index}/toolPermissions/tools", form.at, form.agents);
            let what = format!(
                "`{}` delegates to nobody, although its delegationPermissions let it: add `{DELEGATE_WORK}` to its tools",
                agent.name
            );
            notes.warn(form.list(), at, what);
        }
    }
}

/// Lists of targets may name agents that are not there; they are left out.
fn missing_targets(form: &TeamForm<'_>, agents: &[Agent], notes: &mut Notes) {
    for (index, agent) in agents.iter().enumerate() {
        let Permission::Specific(names) = &agent.delegation else { continue };
        let is_there = |name: &String| agents.iter().any(|other| other.name.as_str() == name);
        let missing: Vec<String> =
            names.iter().filter(|name| !is_there(name)).map(|name| shown(name)).collect();
        if !missing.is_empty() {
            let at = format!("{}/{}/{index}/delegationPermissions/agents", form.at, form.agents);
            let what =
                format!("`{}` may delegate to `{}`: not in this team", agent.name, missing.join("`, `"));
            notes.warn(form.list(), at, what);
        }
    }
}

/// A key of a file, as a message may show it.
fn shown(key: &str) -> String {
    crate::prompt::escaped(key).chars().take(60).collect()
}
