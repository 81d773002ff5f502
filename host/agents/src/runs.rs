//! The runs that wait for their clients.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Tick;
use crate::mark::{ClientKey, RunId};
use crate::run::Run;

/// How many runs wait at most, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunsLimits {
    /// Runs.
    pub runs: usize,
    /// Bytes of all their conversations.
    pub bytes: usize,
    /// How long a run waits for its client. People take their time to allow a tool.
    pub wait: Duration,
}

impl Default for RunsLimits {
    fn default() -> Self {
        RunsLimits { runs: 512, bytes: 256 * 1024 * 1024, wait: Duration::from_secs(60 * 60) }
    }
}

/// The runs that wait for their clients, each with what its caller keeps beside it. A run that is at work is its
/// connection's.
#[derive(Debug, Default)]
pub struct Runs<B> {
    limits: RunsLimits,
    kept: BTreeMap<RunId, (Tick, Run, B)>,
    bytes: usize,
}

impl<B> Runs<B> {
    /// Keeps no run yet.
    pub fn new(limits: RunsLimits) -> Self {
        Runs { limits, kept: BTreeMap::new(), bytes: 0 }
    }

    /// Keeps a run until its client comes back. Returns the runs that are forgotten for it, those
    /// that waited longest first, and the run itself if it alone is too large.
    pub fn keep(&mut self, run: Run, beside: B, now: Tick) -> Vec<Run> {
        let mut forgotten = self.expire(now);
        self.bytes += run.bytes();
        self.kept.insert(run.id(), (now, run, beside));
        while self.kept.len() > self.limits.runs || self.bytes > self.limits.bytes {
            let Some(oldest) = self.oldest() else { break };
            forgotten.extend(self.remove(oldest).map(|(run, _)| run));
        }
        forgotten
    }

    /// Returns the run that results of calls are for, if the client of this key has it. Ids that
    /// this key did not make lead nowhere.
    pub fn take<'i>(
        &mut self,
        key: &ClientKey,
        ids: impl IntoIterator<Item = &'i str>,
        now: Tick,
    ) -> Option<(Run, B)> {
        self.expire(now);
        let mut runs = ids.into_iter().filter_map(|id| key.read(id)).map(|mark| mark.run);
        let run = runs.find(|run| self.kept.contains_key(run))?;
        self.remove(run)
    }

    /// Forgets runs whose clients do not come back, and returns them.
    pub fn expire(&mut self, now: Tick) -> Vec<Run> {
        let late = self.kept.iter().filter(|(_, (since, ..))| now.saturating_sub(*since) >= self.limits.wait);
        let late: Vec<RunId> = late.map(|(id, _)| *id).collect();
        late.into_iter().filter_map(|id| self.remove(id)).map(|(run, _)| run).collect()
    }

    /// Bytes of all their conversations.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn oldest(&self) -> Option<RunId> {
        self.kept.iter().min_by_key(|(id, (since, ..))| (*since, **id)).map(|(id, _)| *id)
    }

    fn remove(&mut self, id: RunId) -> Option<(Run, B)> {
        let (_, run, beside) = self.kept.remove(&id)?;
        self.bytes -= run.bytes();
        Some((run, beside))
    }
}
