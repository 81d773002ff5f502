//! The monitor of agents, from the desk's words into those of the admin API.

use leafgate_admin::{Event, SubagentView, Subagents};
use leafgate_desk::Desk;

use super::{TurnGuard, Turns};

impl Turns {
    /// The policy has judged a request of an agent.
    pub(crate) fn observe(&self, request: SubagentView) {
        self.event(|desk, _| ((), desk.observe(request)));
    }

    /// The latest requests of agents, newest first.
    pub(crate) fn subagents(&self) -> Subagents {
        let state = self.lock();
        let requests: Vec<_> = state.desk.subagents().cloned().collect();
        let seen = state.desk.subagents_seen();
        Subagents { trimmed: seen - requests.len() as u64, requests, seen }
    }

    pub(super) fn publish_subagent(&self, desk: &Desk<TurnGuard>) {
        if let Some(request) = desk.subagents().next() {
            self.hub.publish(|| Event::Subagent { request: request.clone() });
        }
    }
}
