//! The saved edits of a gate: which apply to a request, and where they are kept.
//!
//! Those of a conversation are kept here, and end with it. All others are kept by a [`SavedStore`],
//! which other gates of the installation use too: what it has is looked at anew for each request,
//! and what is in force for a request is one immutable list. A change is written first, is in
//! force then, and is acknowledged last.

mod store;
mod view;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use arc_swap::ArcSwap;
use leafgate_admin::{OnDrift, SavedScope, SetSaved};
use leafgate_policy::Hold;
use leafgate_saved::{Fit, GuardKey, SavedEdit, SavedEditOutcome, SavedFile, SavedId, ScopeEdits, apply};
use leafgate_tree::{Draft, display_mask};
use leafgate_vault::TokenKeys;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub use store::{PREVIEW_LIMITS, SavedFiles, SavedSettings, SavedStore};
pub use view::saved_views;

use crate::lock::lock;

/// Bytes of a replaced text that are remembered for a diff.
const REMEMBERED: usize = 16 * 1024;

/// Saved edits of which it is noted what became of them.
const NOTED: usize = 1024;

/// Returns the key of the guards of an installation's saved edits.
#[must_use]
pub fn guard_key(keys: &TokenKeys) -> GuardKey {
    GuardKey::derive(keys.hash("SAVED", "guards").as_bytes())
}

/// The saved edits of a gate.
pub(crate) struct Saved {
    pub(crate) key: GuardKey,
    /// Without one there are settings for this run, and edits of conversations alone.
    store: OnceLock<Box<dyn SavedStore>>,
    /// What the store had when it was last looked at.
    files: ArcSwap<SavedFiles>,
    /// Those of each conversation. Never empty ones.
    sessions: Mutex<HashMap<Arc<str>, Arc<ScopeEdits>>>,
    /// What became of each the last time.
    uses: Mutex<HashMap<(SavedScope, SavedId), EditUse>>,
    counts: Mutex<SavedCounts>,
    /// One change is made before the next one is. Whoever makes one looks at the store again behind it.
    pub(crate) changing: Mutex<()>,
}

/// How many saved edits of each scope were captured, cleared, or made in requests, and how those fitted.
pub(crate) type SavedCounts = BTreeMap<(SavedScope, &'static str), u64>;

/// What became of a saved edit in a request.
#[derive(Clone)]
struct EditUse {
    session: Arc<str>,
    fit: Fit,
    /// The replaced text, masked, where it is not too long.
    before: Option<Arc<str>>,
}

/// The saved edits for one request, whatever is changed meanwhile.
pub(crate) struct Applicable {
    session: Option<Arc<ScopeEdits>>,
    files: Arc<SavedFiles>,
}

impl Applicable {
    fn layers(&self) -> Vec<&ScopeEdits> {
        let own = self.session.as_deref();
        own.into_iter().chain(&self.files.layers).collect()
    }

    /// Makes them on a draft.
    pub(crate) fn make(&self, draft: &mut Draft) -> Vec<SavedEditOutcome> {
        apply(&self.layers(), draft)
    }
}

/// Returns what a person must decide because saved edits do not fit.
pub fn saved_holds(outcomes: &[SavedEditOutcome]) -> Vec<Hold> {
    let drifted = outcomes.iter().filter_map(|outcome| {
        let why = outcome.pauses()?.describe();
        Some(format!("saved edit {} ({}): {why}", outcome.id, outcome.scope))
    });
    let detail: Vec<_> = drifted.collect();
    if detail.is_empty() { Vec::new() } else { vec![Hold::drift(detail.join("; "))] }
}

impl Saved {
    pub(crate) fn new(keys: &TokenKeys) -> Saved {
        Saved {
            key: guard_key(keys),
            store: OnceLock::new(),
            files: ArcSwap::default(),
            sessions: Mutex::default(),
            uses: Mutex::default(),
            counts: Mutex::default(),
            changing: Mutex::default(),
        }
    }

    /// Keeps saved edits in a store. Only the first caller is heard.
    pub(crate) fn keep(&self, store: Box<dyn SavedStore>) {
        let _ = self.store.set(store);
        self.refresh();
    }

    /// Looks at the store anew. Returns whether it has edits.
    pub(crate) fn refresh(&self) -> bool {
        let Some(store) = self.store.get() else { return false };
        let files = store.read();
        let known = self.files.load();
        if !Arc::ptr_eq(&known, &files) {
            let told = files.problems.iter().filter(|problem| !known.problems.contains(problem));
            told.for_each(|problem| tracing::warn!(target: "leafgate::saved", "{problem}"));
            self.files.store(Arc::clone(&files));
        }
        files.layers.iter().any(|layer| !layer.edits.is_empty())
    }

    /// The saved edits for a request of a conversation; `None` where there are none.
    pub(crate) fn applicable(&self, session: &str) -> Option<Applicable> {
        let own = self.sessions().get(session).cloned();
        let applicable = Applicable { session: own, files: self.files.load_full() };
        applicable.layers().iter().any(|layer| !layer.edits.is_empty()).then_some(applicable)
    }

    /// Notes and logs what became of the saved edits of a request. Only a turn of a person tells
    /// that one does not fit: what a client asks beside it seldom holds the same.
    pub(crate) fn note(
        &self,
        session: &Arc<str>,
        outcomes: Vec<SavedEditOutcome>,
        draft: &Draft,
        is_main: bool,
    ) {
        let mut uses = lock(&self.uses);
        for SavedEditOutcome { id, scope, fit, .. } in outcomes {
            self.count(scope, fit.name(), 1);
            if let Fit::Drifted(drift) = &fit {
                if !is_main {
                    continue;
                }
                let (id, scope, why) = (id.as_str(), scope.name(), drift.describe());
                tracing::warn!(target: "leafgate::saved", id, scope, why, "a saved edit does not fit");
            }
            let known = uses.get(&(scope, id.clone())).and_then(|known| known.before.clone());
            let before = match fit {
                Fit::Made(node) if known.is_none() && draft.document().settable(node).is_some() => {
                    let text = draft.masked_original(node, display_mask);
                    (text.expose().len() <= REMEMBERED).then(|| text.expose().into())
                }
                _ => known,
            };
            let is_full = uses.len() >= NOTED && !uses.contains_key(&(scope, id.clone()));
            if !is_full {
                uses.insert((scope, id), EditUse { session: Arc::clone(session), fit, before });
            }
        }
    }

    /// Saves edits of a turn.
    ///
    /// # Errors
    /// Where there are too many, or where the store cannot keep them.
    pub(crate) fn put(&self, scope: SavedScope, session: &Arc<str>, edits: &[SavedEdit]) -> io::Result<()> {
        match scope {
            SavedScope::Session => {
                let mut sessions = self.sessions();
                let kept = sessions.get(session).map(|layer| layer.edits.clone()).unwrap_or_default();
                let mut file = SavedFile { edits: kept, ..SavedFile::default() };
                file.put(edits).map_err(io::Error::other)?;
                if !file.edits.is_empty() {
                    let layer = ScopeEdits { scope, key: self.key.clone(), edits: file.edits };
                    sessions.insert(Arc::clone(session), Arc::new(layer));
                }
            }
            SavedScope::Workspace | SavedScope::Project | SavedScope::Global => {
                let no_folder = "this gate has no folder for saved edits: save them for the session";
                self.store.get().ok_or_else(|| io::Error::other(no_folder))?.put(scope, edits)?
            }
        }
        self.count(scope, "captured", edits.len());
        // What was noted is of another edit of the same place.
        let mut uses = lock(&self.uses);
        edits.iter().for_each(|edit| drop(uses.remove(&(scope, edit.id.clone()))));
        tracing::info!(target: "leafgate::saved", scope = scope.name(), edits = edits.len(), "edits are saved");
        Ok(())
    }

    fn count(&self, scope: SavedScope, event: &'static str, more: usize) {
        *lock(&self.counts).entry((scope, event)).or_default() += more as u64;
    }

    pub(crate) fn counts(&self) -> SavedCounts {
        lock(&self.counts).clone()
    }

    /// Removes an edit wherever it is saved. Returns whether it was.
    pub(crate) fn remove(&self, id: &str) -> io::Result<bool> {
        let mut removed = self.store.get().map_or(Ok(false), |store| store.remove(id))?;
        self.sessions().retain(|_, layer| {
            let edits: Vec<_> = layer.edits.iter().filter(|edit| edit.id.as_str() != id).cloned().collect();
            removed |= edits.len() < layer.edits.len();
            if edits.len() < layer.edits.len() {
                *layer = Arc::new(ScopeEdits { edits, ..ScopeEdits::clone(layer) });
            }
            !layer.edits.is_empty()
        });
        if removed {
            lock(&self.uses).retain(|(_, known), _| known.as_str() != id);
            tracing::info!(target: "leafgate::saved", id, "a saved edit is removed");
        }
        Ok(removed)
    }

    /// Removes all edits of a scope.
    pub(crate) fn clear(&self, scope: SavedScope) -> io::Result<()> {
        match scope {
            SavedScope::Session => self.sessions().clear(),
            SavedScope::Workspace | SavedScope::Project | SavedScope::Global => {
                self.store.get().map_or(Ok(()), |store| store.clear(scope))?;
            }
        }
        self.count(scope, "cleared", 1);
        lock(&self.uses).retain(|(known, _), _| *known != scope);
        tracing::info!(target: "leafgate::saved", scope = scope.name(), "saved edits are removed");
        Ok(())
    }

    /// Changes how edits are saved: what nobody chose stays.
    pub(crate) fn set(&self, change: SetSaved) -> io::Result<()> {
        self.refresh();
        let now = self.settings();
        let settings = SavedSettings {
            scope: change.scope.unwrap_or(now.scope),
            preview_limit: change.preview_limit.unwrap_or(now.preview_limit),
            on_drift: change.on_drift.unwrap_or(now.on_drift),
        };
        match self.store.get() {
            Some(store) => store.set(settings)?,
            None => self.files.store(Arc::new(SavedFiles { settings, ..SavedFiles::default() })),
        }
        let SavedSettings { scope, preview_limit, on_drift } = settings;
        let (scope, on_drift) = (scope.name(), on_drift.name());
        tracing::info!(target: "leafgate::saved", scope, preview_limit, on_drift, "edits are saved so from now on");
        Ok(())
    }

    pub(crate) fn settings(&self) -> SavedSettings {
        self.files.load().settings
    }

    /// The conversations that have saved edits of their own.
    pub(crate) fn saved_in(&self) -> Vec<Arc<str>> {
        self.sessions().keys().cloned().collect()
    }

    /// Forgets what conversations saved that are gone.
    pub(crate) fn forget(&self, is_known: impl Fn(&str) -> bool) {
        self.sessions().retain(|session, _| is_known(session));
        lock(&self.uses).retain(|(scope, _), used| *scope != SavedScope::Session || is_known(&used.session));
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<ScopeEdits>>> {
        lock(&self.sessions)
    }
}

/// The time of day in whole seconds, as RFC 3339.
pub(crate) fn time_of_day() -> String {
    let now = OffsetDateTime::now_utc().replace_nanosecond(0).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    now.format(&Rfc3339).unwrap_or_else(|_| "1970-01-01T00:00:00Z".to_owned())
}

/// What the settings are where nobody has chosen.
impl Default for SavedSettings {
    fn default() -> Self {
        SavedSettings { scope: SavedScope::Session, preview_limit: 3, on_drift: OnDrift::Skip }
    }
}
