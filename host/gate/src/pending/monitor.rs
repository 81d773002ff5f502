//! The monitor of agents.

use leafgate_admin::{SubagentView, Subagents};

use super::Turns;

impl Turns {
    /// The policy has judged a request of an agent.
    pub(crate) fn observe(&self, request: SubagentView) {
        self.event(|desk, _| ((), desk.observe(request)));
    }

    /// The latest requests of agents, newest first.
    pub(crate) fn subagents(&self) -> Subagents {
        self.lock().desk.subagents()
    }
}
