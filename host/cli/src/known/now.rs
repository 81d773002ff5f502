//! The values that a running gate knows: read at its start, and again whenever a source changes.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use leafgate_detect::{KnownValue, KnownValues};

use super::key;
use super::source::{KnownSource, Stamps};

/// What is known now. Policies that load share it.
pub(crate) struct KnownNow {
    source: KnownSource,
    state: Mutex<KnownState>,
}

#[derive(Default)]
struct KnownState {
    stamp: Stamps,
    /// All that files and the command have ever given: a value that was replaced on disk still
    /// stands in the history of a conversation.
    seen: BTreeMap<[u8; 16], KnownValue>,
    values: Option<Arc<KnownValues>>,
    /// Counts changes.
    version: u64,
}

/// A thread that looks at the sources. Dropping it ends the thread.
pub(crate) struct KnownWatch {
    /// The thread ends once this is dropped. Nobody waits for it: a command may take a minute.
    _stop: Sender<()>,
}

impl KnownNow {
    /// Reads all sources.
    ///
    /// # Errors
    /// A source that cannot be read: its values would leave unseen.
    pub(crate) fn open(source: KnownSource) -> anyhow::Result<Arc<KnownNow>> {
        let now = KnownNow { source, state: Mutex::default() };
        now.read(&mut now.state(), now.source.stamp())?;
        Ok(Arc::new(now))
    }

    /// Returns the values, where there are any.
    pub(crate) fn values(&self) -> Option<Arc<KnownValues>> {
        self.state().values.clone()
    }

    /// Reads the sources again where they have changed. Returns the number of the present values.
    /// Sources that cannot be read change nothing: what is known stays known.
    fn refresh(&self) -> u64 {
        let mut state = self.state();
        let stamp = self.source.stamp();
        if stamp != state.stamp
            && let Err(error) = self.read(&mut state, stamp.clone())
        {
            // Said once, until it changes again.
            state.stamp = stamp;
            tracing::warn!(target: "leafgate::known", "the known values stay as they are: {error:#}");
        }
        state.version
    }

    fn read(&self, state: &mut KnownState, stamp: Stamps) -> anyhow::Result<()> {
        let mut values = None;
        if !state.seen.is_empty() || !self.source.is_empty()? {
            let key = key()?;
            for value in self.source.outside(&key)? {
                state.seen.insert(value.whole, value);
            }
            let added = self.source.added()?;
            let all = KnownValues::new(key, state.seen.values().chain(&added));
            values = (!all.is_empty()).then(|| Arc::new(all));
        }
        let digest = |values: &Option<Arc<KnownValues>>| values.as_ref().map(|values| values.digest());
        state.version += u64::from(digest(&values) != digest(&state.values));
        (state.stamp, state.values) = (stamp, values);
        Ok(())
    }

    /// Calls `changed` after each change, until the watch is dropped.
    pub(crate) fn watch(
        self: &Arc<Self>,
        every: Duration,
        changed: impl Fn() + Send + 'static,
    ) -> anyhow::Result<KnownWatch> {
        let now = Arc::clone(self);
        let (stop, stopped) = mpsc::channel();
        let mut known = now.state().version;
        let look = move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let version = now.refresh();
                if version != known {
                    known = version;
                    changed();
                }
            }
        };
        let thread = std::thread::Builder::new().name("known-values".to_owned()).spawn(look);
        thread.context("cannot start the thread that looks at the known values")?;
        Ok(KnownWatch { _stop: stop })
    }

    fn state(&self) -> MutexGuard<'_, KnownState> {
        // Each change is whole before the lock is given back.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
