//! The monitor of agents, from the desk's words into those of the admin API.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leafgate_admin::{Event, SubagentView, Subagents};
use leafgate_desk::{AgentLine, Desk, Tick};

use super::{TurnGuard, Turns};

impl Turns {
    /// The policy has judged a request of an agent.
    pub(crate) fn observe(&self, request: SubagentView) {
        self.event(|desk, now| ((), desk.observe(request, now)));
    }

    /// The latest requests of agents, newest first.
    pub(crate) fn subagents(&self) -> Subagents {
        let state = self.lock();
        let now = self.now();
        let requests: Vec<_> = state.desk.subagents().map(|line| view(line, now)).collect();
        let seen = state.desk.subagents_seen();
        Subagents { trimmed: seen - requests.len() as u64, requests, seen }
    }

    pub(super) fn publish_subagent(&self, desk: &Desk<TurnGuard>, now: Tick) {
        if let Some(line) = desk.subagents().next() {
            self.hub.publish(|| Event::Subagent { request: view(line, now) });
        }
    }
}

fn view(line: &AgentLine, now: Tick) -> SubagentView {
    SubagentView { at: epoch_millis(line.at.until(now)), ..line.view.clone() }
}

/// The desk counts from a start of its own; people read the time of day.
fn epoch_millis(ago: Duration) -> u64 {
    let at = SystemTime::now().checked_sub(ago).and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    u64::try_from(at.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
