//! The team of a gate, its runs, and the turns that their work takes.
//!
//! - A run keeps the team and the generation that it began with.
//! - Work for runs takes turns, half as many as the gate judges requests at a time, on the async
//!   threads ([`pace`]) as on the blocking pool: a hundred runs are no reason for anybody else to wait.
//! - Runs that wait for their clients are kept in memory, within bounds, under a key that no other
//!   client can make.

mod pace;
mod record;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use leafgate_admin::RunState;
use leafgate_agents::{CallKey, ClientKey, Run, Runs, RunsLimits, Team, Tick};
use leafgate_policy::Policy;
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use self::pace::RunPace;
use self::record::Records;
pub(crate) use self::record::now;
use crate::lock::lock;
use leafgate_http::Refusal;

/// Where a gate's team comes from. It is asked at the start of each run.
pub trait TeamSource: Send + Sync {
    /// The team that serves now; `None` where there is none.
    fn team(&self) -> Option<ServingTeam>;
}

/// The team that serves, and what is wrong with newer files.
#[derive(Clone, Debug)]
pub struct ServingTeam {
    /// The team.
    pub team: Arc<Team>,
    /// What an operator should know, in a line each.
    pub warnings: Arc<[String]>,
}

/// The team of a gate, and its runs.
pub(crate) struct Teams {
    source: OnceLock<Box<dyn TeamSource>>,
    /// Made with the first run: most gates have no team.
    key: OnceLock<CallKey>,
    /// Runs count their time from here.
    start: Instant,
    /// The runs that wait for their clients, and what each began with.
    waiting: Mutex<Runs<Began>>,
    pub(crate) records: Records,
    /// How many pieces of work for runs may be judged, spelled or read at a time.
    turns: Semaphore,
    /// And how many runs may go on at a time.
    pub(crate) pace: RunPace,
}

/// What a run began with, and keeps.
#[derive(Clone)]
pub(crate) struct Began {
    /// The body of its client's first request.
    pub(crate) opening: Arc<Map<String, Value>>,
    pub(crate) policy: Arc<Policy>,
    /// How often its client was answered.
    pub(crate) answers: u32,
}

impl Teams {
    /// No runs yet. `judges` is how many requests the gate judges at a time.
    pub(crate) fn new(judges: usize) -> Self {
        let at_a_time = judges.div_ceil(2).max(1);
        Teams {
            source: OnceLock::new(),
            key: OnceLock::new(),
            start: Instant::now(),
            waiting: Mutex::new(Runs::new(RunsLimits::default())),
            records: Records::default(),
            turns: Semaphore::new(at_a_time),
            pace: RunPace::new(at_a_time),
        }
    }

    /// Waits for the turn of a piece of work: reading, spelling, judging. A team asks for hundreds
    /// of them at once, and without turns each request of others would queue behind all of them. Who
    /// holds a turn waits for no model, no client and no person.
    pub(crate) async fn turn(&self) -> SemaphorePermit<'_> {
        self.turns.acquire().await.expect("the semaphore is never closed")
    }

    /// The key of this gate's ids of calls.
    pub(crate) fn key(&self) -> Result<&CallKey, Refusal> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|_| Refusal::internal("the system gives no random bytes"))?;
        Ok(self.key.get_or_init(|| CallKey::from_bytes(key)))
    }

    /// Has a team serve. Only the first caller is heard.
    pub(crate) fn serve(&self, source: Box<dyn TeamSource>) {
        let _ = self.source.set(source);
    }

    /// The team that serves now; `None` in a gate without one.
    pub(crate) fn team(&self) -> Option<ServingTeam> {
        self.source.get()?.team()
    }

    pub(crate) fn now(&self) -> Tick {
        self.start.elapsed()
    }

    /// The moment of a tick, for a timer.
    pub(crate) fn at(&self, tick: Tick) -> Instant {
        self.start.checked_add(tick).unwrap_or(self.start)
    }

    /// Keeps a run until its client comes back.
    pub(crate) fn keep(&self, run: Run, began: Began) {
        let forgotten = lock(&self.waiting).keep(run, began, self.now());
        self.forget(&forgotten);
    }

    /// Gives back the run that some results are for, where this client has it.
    pub(crate) fn take<'i>(
        &self,
        key: &ClientKey,
        ids: impl IntoIterator<Item = &'i str>,
    ) -> Option<(Run, Began)> {
        self.expire().take(key, ids, self.now())
    }

    /// Forgets runs whose clients do not come back.
    fn expire(&self) -> MutexGuard<'_, Runs<Began>> {
        let mut waiting = lock(&self.waiting);
        self.forget(&waiting.expire(self.now()));
        waiting
    }

    fn forget(&self, runs: &[Run]) {
        runs.iter().for_each(|run| self.records.ended(run.id(), RunState::Forgotten));
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use leafgate_agents::{Opening, RunId, RunLimits};
    use leafgate_contract::NoPlugins;
    use leafgate_policy::PolicySource;

    use super::*;

    /// Nobody comes back for it, and no other run begins: who looks sees that it is over.
    #[tokio::test(start_paused = true)]
    async fn a_run_whose_client_does_not_come_back_does_not_wait_for_ever() {
        let teams = Teams::new(1);
        let agent = r#"{"name":"lead","systemPrompt":"p","description":"d","useFor":"u",
            "delegationPermissions":{"type":"all"},"toolPermissions":{"type":"all"}}"#;
        let (team, _) = Team::read(&format!(r#"{{"entryAgent":"lead","agents":[{agent}]}}"#)).unwrap();
        let opening =
            Opening { id: RunId(1), model: Some("m".to_owned()), tools: Vec::new().into(), bytes: 0 };
        let client = teams.key().unwrap().client(b"client");
        let (run, _) =
            Run::start(Arc::new(team), None, opening, client, RunLimits::default(), teams.now()).unwrap();
        teams.records.at(&run, RunState::Waiting, None);
        let policy = Arc::new(Policy::load(&PolicySource::None, &NoPlugins).unwrap());
        teams.keep(run, Began { opening: Arc::default(), policy, answers: 1 });
        let state = || teams.view().runs[0].state;
        let wait = RunsLimits::default().wait;
        tokio::time::advance(wait - Duration::from_secs(1)).await;
        assert_eq!(state(), RunState::Waiting);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(teams.run(&teams.view().runs[0].id).map(|run| run.state), Some(RunState::Forgotten));
        assert_eq!(state(), RunState::Forgotten);
        assert_eq!(lock(&teams.waiting).bytes(), 0);
    }

    /// However many runs there are, half as many pieces of their work are ready as the gate judges at
    /// a time: that is what any other request may wait behind.
    // S4-26
    #[test]
    fn work_for_runs_takes_turns() {
        let teams = Teams::new(4);
        let mut context = Context::from_waker(Waker::noop());
        let mut turns: Vec<_> = (0..100).map(|_| Box::pin(teams.turn())).collect();
        let mut taken: Vec<_> = turns
            .iter_mut()
            .filter_map(|turn| match turn.as_mut().poll(&mut context) {
                Poll::Ready(permit) => Some(permit),
                Poll::Pending => None,
            })
            .collect();
        assert_eq!(taken.len(), 2);
        assert!(taken.pop().is_some());
        let third = turns[2].as_mut().poll(&mut context);
        assert!(third.is_ready());
        assert!(turns[3].as_mut().poll(&mut context).is_pending());
        // One judge at a time is the least.
        assert!(pin!(Teams::new(1).turn()).poll(&mut context).is_ready());
    }
}
