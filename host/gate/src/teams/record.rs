//! What operators see of runs: names of the team and numbers, and once a run has ended or waits,
//! what it came to, with all findings masked.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use leafgate_admin::{AgentsView, FrameState, FrameView, RawJson, RunState, RunView, TeamStatus};
use leafgate_agents::{Run, RunId};
use lru::LruCache;

use super::Teams;
use crate::lock::lock;

/// Runs that are remembered, those that are at work included.
const KEPT: NonZeroUsize = NonZeroUsize::new(64).expect("64 is not 0");

/// The latest runs.
pub(crate) struct Records(Mutex<LruCache<RunId, RunView>>);

impl Default for Records {
    fn default() -> Self {
        Records(Mutex::new(LruCache::new(KEPT)))
    }
}

impl Records {
    /// A run is at this point.
    pub(crate) fn at(&self, run: &Run, state: RunState, result: Option<RawJson>) {
        let mut kept = lock(&self.0);
        let began = kept.get(&run.id()).map_or_else(now, |view| view.at);
        kept.put(run.id(), view(run, began, state, result));
    }

    /// A run has ended without a word.
    pub(crate) fn ended(&self, run: RunId, state: RunState) {
        if let Some(view) = lock(&self.0).get_mut(&run) {
            view.state = state;
        }
    }

    fn list(&self) -> Vec<RunView> {
        lock(&self.0).iter().map(|(_, view)| RunView { result: None, ..view.clone() }).collect()
    }

    fn find(&self, id: &str) -> Option<RunView> {
        lock(&self.0).iter().find(|(_, view)| view.id == id).map(|(_, view)| view.clone())
    }
}

impl Teams {
    /// The team that serves, in a few words; `None` in a gate without one.
    pub(crate) fn status(&self) -> Option<TeamStatus> {
        let serving = self.team()?;
        Some(TeamStatus {
            entry: serving.team.entry().map(|entry| entry.name.to_string()),
            agents: serving.team.agents.len(),
            warnings: serving.warnings.to_vec(),
        })
    }

    /// The team and its latest runs.
    pub(crate) fn view(&self) -> AgentsView {
        drop(self.expire());
        let serving = self.team();
        let team = serving.as_ref().map(|serving| &serving.team);
        let entry = team.and_then(|team| team.entry()).map(|agent| agent.name.to_string());
        let agents = team.map(|team| team.agents.iter().map(|agent| agent.name.to_string()).collect());
        AgentsView {
            entry,
            agents: agents.unwrap_or_default(),
            warnings: serving.map(|serving| serving.warnings.to_vec()).unwrap_or_default(),
            runs: self.records.list(),
        }
    }

    /// A run in full.
    pub(crate) fn run(&self, id: &str) -> Option<RunView> {
        drop(self.expire());
        self.records.find(id)
    }
}

fn view(run: &Run, at: u64, state: RunState, result: Option<RawJson>) -> RunView {
    let frames = run.frames().iter().map(|frame| FrameView {
        agent: frame.agent.to_string(),
        chain: frame.chain.iter().map(ToString::to_string).collect(),
        parent: frame.parent().map(|parent| parent.0),
        state: match frame.state {
            leafgate_agents::FrameState::Queued => FrameState::Queued,
            leafgate_agents::FrameState::Asking(_) => FrameState::Asking,
            leafgate_agents::FrameState::Waiting => FrameState::Waiting,
            leafgate_agents::FrameState::Ended => FrameState::Ended,
        },
        iterations: frame.iterations,
    });
    RunView {
        id: run.id().to_string(),
        at,
        state,
        degraded: run.degraded().map(|degraded| degraded.as_str().to_owned()),
        frames: frames.collect(),
        result,
    }
}

/// The time of day, in milliseconds of Unix time.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
