//! A team that was read: agents, who may do what, and how a run of theirs is bounded.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::name::AgentName;
use crate::prompt::{DelegationTarget, section};
use crate::tools::DELEGATE_WORK;

/// A team, valid and immutable. A run keeps its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    /// All agents, in the order of the file. Without any, requests pass plainly.
    pub agents: Vec<Agent>,
    /// The agent that the file names; the first one where that is not there.
    pub(crate) entry: usize,
    /// What the file says about runs.
    pub settings: TeamSettings,
}

/// An agent. Its prompt is no text of a conversation, so `Debug` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its name, once in a team.
    pub name: AgentName,
    /// What it is told, without what is added about others.
    pub system_prompt: String,
    /// What people read about it.
    pub description: String,
    /// What other agents read about it.
    pub use_for: String,
    /// To whom it may delegate.
    pub delegation: Permission,
    /// Which of the client's tools it has. A list of tools is all that it may use, the gate's own among them: without
    /// `delegateWork` in it, it delegates to nobody.
    pub tools: Permission,
}

impl Agent {
    /// Whether its tools let it delegate. `none` is about the client's tools, and leaves it to whom it may delegate.
    pub fn has_delegation(&self) -> bool {
        match &self.tools {
            Permission::All | Permission::None => true,
            Permission::Specific(names) => names.contains(DELEGATE_WORK),
        }
    }
}

/// What is allowed of many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Every one.
    All,
    /// None.
    None,
    /// These.
    Specific(BTreeSet<String>),
}

impl Permission {
    /// Whether one is allowed.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        match self {
            Permission::All => true,
            Permission::None => false,
            Permission::Specific(names) => names.contains(name),
        }
    }
}

/// What a team's file says about its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamSettings {
    /// The model for clients that name none.
    pub default_model: Option<String>,
    /// How often work may be delegated on: an entry's delegate is at depth 1.
    pub max_depth: u32,
    /// Requests to a model for one agent's work.
    pub max_iterations: u32,
    /// How long delegated work may take. The time in which the client runs tools does not count.
    pub delegation_timeout: Duration,
    /// As what an agent's prompt is sent.
    pub system_as: SystemAs,
    /// Whether delegated work is shown while it happens.
    pub progress: bool,
}

leafgate_words::words! {
    /// As what an agent's prompt is sent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SystemAs {
        /// As the API's system prompt.
        System = "system",
        /// As the first message of a user.
        User = "user",
    }
    /// Its word in a file.
    pub fn as_str = 0;
}

impl Default for TeamSettings {
    fn default() -> Self {
        TeamSettings {
            default_model: None,
            max_depth: 5,
            max_iterations: 50,
            delegation_timeout: Duration::from_secs(300),
            system_as: SystemAs::System,
            progress: true,
        }
    }
}

impl Team {
    /// Returns the team of one agent that serves where none could be read.
    ///
    /// # Panics
    /// Never: the name is one.
    pub fn fallback() -> Team {
        let agent = Agent {
            name: AgentName::new("assistant").expect("a name"),
            system_prompt: "You are a helpful assistant.".to_owned(),
            description: "Serves while the team's file cannot be read".to_owned(),
            use_for: "Everything".to_owned(),
            delegation: Permission::All,
            tools: Permission::All,
        };
        Team { agents: vec![agent], entry: 0, settings: TeamSettings::default() }
    }

    /// Returns the agent that a conversation begins with; `None` in a team without agents.
    pub fn entry(&self) -> Option<&Agent> {
        self.agents.get(self.entry)
    }

    /// Returns an agent by its name.
    pub fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name.as_str() == name)
    }

    /// Returns to whom an agent can delegate: those that it may and that are there, but not itself,
    /// in the order of the file; to nobody, where its tools leave delegation out.
    pub fn targets(&self, of: &Agent) -> Vec<DelegationTarget> {
        let others = self.agents.iter().filter(|other| of.has_delegation() && other.name != of.name);
        others
            .filter(|other| of.delegation.allows(other.name.as_str()))
            .map(|other| DelegationTarget { name: other.name.clone(), use_for: other.use_for.clone() })
            .collect()
    }

    /// Returns the prompts with which requests of agents may begin as a user's words, with and without what is added about others; none
    /// where prompts are sent as the API's own.
    pub fn prompts_by_user(&self) -> Vec<String> {
        let agents = self.agents.iter().filter(|_| self.settings.system_as == SystemAs::User);
        agents.flat_map(|agent| [agent.system_prompt.clone(), self.prompt(agent)]).collect()
    }

    /// Returns an agent's prompt, with what is added about others.
    pub fn prompt(&self, of: &Agent) -> String {
        of.system_prompt.clone() + &section(&self.targets(of))
    }
}
