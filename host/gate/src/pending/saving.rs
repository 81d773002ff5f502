//! Saved edits of the turns here: what applies to a request, and what is captured of a turn.

use std::io;

use leafgate_admin::{CapturedEdits, OnDrift, SavedList, SavedScope, ShownText, TurnMode};
use leafgate_desk::TurnId;
use leafgate_policy::{Evaluation, On};
use leafgate_saved::{Capture, CaptureStamp, Captured, GuardKey, SavedFile};

use super::{Snapshot, Turns};
use crate::lock::lock;
use crate::saved::{Applicable, Saved, SavedStore, time_of_day};

/// Bytes of the key of a file that is shared.
const EXPORT_KEY: usize = 16;

impl Snapshot {
    /// The edits of a person that stand in the turn, made saved edits: by an evaluation of the same
    /// request by the turn's own generation, in which they are made where saved edits are.
    fn captured(&self, key: &GuardKey, stamp: &CaptureStamp) -> Captured {
        let mut capture = Capture::of(&self.draft);
        // What was written into an answer fits no request.
        if capture.is_empty() || self.guard.on != On::Request {
            return Captured::default();
        }
        let Evaluation { draft, .. } = self.guard.evaluate_with_saved(&self.draft, |fresh| {
            capture.make(fresh, key, stamp);
            Vec::new()
        });
        capture.finish(&draft)
    }
}

impl Turns {
    /// Keeps saved edits in a store.
    pub(crate) fn keep_saved(&self, store: Box<dyn SavedStore>) {
        self.saved.keep(store);
        self.look_at_saved();
    }

    /// Looks at what is kept, which other gates may have changed, and tells the desk.
    pub(crate) fn look_at_saved(&self) {
        let saved = self.saved.refresh();
        self.event(|desk, _| desk.save(saved));
    }

    /// The saved edits for a request, if the mode applies any.
    pub(crate) fn saved_for(&self, session: &str) -> Option<Applicable> {
        if !self.lock().desk.applies_saved() {
            return None;
        }
        self.look_at_saved();
        self.saved.applicable(session)
    }

    /// The turn, if it waits because its edits are to be saved.
    pub(crate) fn capturing(&self, turn: TurnId) -> Option<Snapshot> {
        let by_mode = |turn: &Snapshot| turn.summary.mode == Some(TurnMode::AutoOverride);
        self.snapshot(turn).ok().filter(by_mode)
    }

    /// Saves the edits of a turn. Evaluates a request and waits for the disk.
    pub(crate) fn capture(
        &self,
        case: &Snapshot,
        scope: Option<SavedScope>,
        on_drift: Option<OnDrift>,
    ) -> CapturedEdits {
        let settings = self.saved.settings();
        let scope = scope.unwrap_or(settings.scope);
        let on_drift = on_drift.unwrap_or(settings.on_drift);
        let stamp = CaptureStamp { on_drift, updated_at: time_of_day() };
        let Captured { edits, left_out } = case.captured(&self.saved.key, &stamp);
        let answer = CapturedEdits { scope, left_out, ..CapturedEdits::default() };
        if edits.is_empty() {
            return answer;
        }
        match self.change_saved(|saved| saved.put(scope, &case.guard.session, &edits)) {
            Ok(()) => CapturedEdits { edits: Saved::shown(scope, &case.guard.session, &edits), ..answer },
            Err(error) => CapturedEdits { not_saved: Some(error.to_string()), ..answer },
        }
    }

    /// Makes a file of the edits of a turn, for a project: with a key of its own, since those who
    /// share it have not the key of this installation. Evaluates a request.
    pub(crate) fn export(&self, case: &Snapshot, on_drift: Option<OnDrift>) -> io::Result<CapturedEdits> {
        let on_drift = on_drift.unwrap_or(self.saved.settings().on_drift);
        let mut key = [0; EXPORT_KEY];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        let key = base16ct::lower::encode_string(&key);
        let stamp = CaptureStamp { on_drift, updated_at: time_of_day() };
        let Captured { edits, left_out } = case.captured(&GuardKey::derive(key.as_bytes()), &stamp);
        let shown = Saved::shown(SavedScope::Project, &case.guard.session, &edits);
        let mut file = SavedFile { key: Some(key), ..SavedFile::default() };
        file.put(&edits).map_err(io::Error::other)?;
        Ok(CapturedEdits {
            scope: SavedScope::Project,
            edits: shown,
            left_out,
            file: (!edits.is_empty()).then(|| ShownText::new(file.spell())),
            not_saved: None,
        })
    }

    /// All saved edits, as they are kept now.
    pub(crate) fn saved_list(&self) -> SavedList {
        self.look_at_saved();
        let outlook = self.lock().desk.outlook();
        self.saved.list(outlook.auto, outlook.active.as_deref())
    }

    /// Removes the saved edits of a scope, and captures anew where edits are applied.
    pub(crate) fn clear_saved(&self, scope: Option<SavedScope>) -> io::Result<()> {
        let scope = scope.unwrap_or_else(|| self.saved.settings().scope);
        self.change_saved(|saved| saved.clear(scope))?;
        // Where no edits are applied, there is nothing to capture for.
        let _ = self.event(|desk, _| desk.capture());
        Ok(())
    }

    /// Changes what is saved, one change before the next one. Tells the desk which conversations have saved edits then,
    /// and listeners that something changed.
    pub(crate) fn change_saved<R>(&self, change: impl FnOnce(&Saved) -> io::Result<R>) -> io::Result<R> {
        let _order = lock(&self.saved.changing);
        let done = change(&self.saved)?;
        let (saved, own) = (self.saved.refresh(), self.saved.saved_in());
        self.event(|desk, _| {
            desk.save(saved);
            desk.save_in(&own);
        });
        self.publish_mode(&self.lock().desk);
        Ok(done)
    }
}
