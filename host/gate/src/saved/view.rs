//! Saved edits in the words of the admin API.

use std::sync::Arc;

use leafgate_admin::{
    AutoState, SavedAction, SavedDiff, SavedEditView, SavedList, SavedScope, SavedStatus, SavedUse, ShownText,
};
use leafgate_saved::{Fit, SavedEdit, ScopeEdits};

use super::{EditUse, Saved, SavedFiles};
use crate::lock::lock;

impl Saved {
    /// What a banner shows. `session` is the active conversation.
    pub(crate) fn status(&self, auto: Option<AutoState>, session: Option<&str>) -> SavedStatus {
        let files = self.files.load();
        let settings = files.settings;
        let own = session.and_then(|session| self.sessions().get(session).cloned());
        let layers = || own.as_deref().into_iter().chain(&files.layers);
        let edits = || layers().flat_map(|layer| layer.edits.iter().map(move |edit| (layer.scope, edit)));
        let uses = lock(&self.uses);
        let drifted = edits().filter(|(scope, edit)| {
            let used = uses.get(&(*scope, edit.id.clone()));
            used.is_some_and(|used| matches!(used.fit, Fit::Drifted(_)))
        });
        let drifted = drifted.count();
        let latest = edits().map(|(_, edit)| edit.updated_at.as_str()).max();
        let mut actions = Vec::new();
        if auto == Some(AutoState::Applying) {
            actions.extend([SavedAction::CaptureNewEdits, SavedAction::PauseNextTurn]);
        }
        if latest.is_some() {
            actions.push(SavedAction::RemoveSavedEdits);
        }
        actions.extend([SavedAction::WhereToSaveEdits, SavedAction::SectionsToCapture]);
        SavedStatus {
            title: format!("Auto-apply edits · {}", settings.scope.label()),
            subtitle: match (auto, latest) {
                (Some(AutoState::Applying), Some(latest)) => format!("Applying (saved {latest})"),
                (Some(AutoState::Applying), None) => "Applying".to_owned(),
                (Some(AutoState::Capturing), _) => {
                    format!("Capturing next turn · showing first {} sections", settings.preview_limit)
                }
                (None, _) => "Not applied: `leafgate mode autoOverride` applies them".to_owned(),
            },
            scope: settings.scope,
            preview_limit: settings.preview_limit,
            on_drift: settings.on_drift,
            actions,
            edits: edits().count(),
            drifted,
        }
    }

    /// All saved edits: those of conversations first, as they win.
    pub(crate) fn list(&self, auto: Option<AutoState>, session: Option<&str>) -> SavedList {
        let files = self.files.load();
        SavedList {
            auto,
            status: self.status(auto, session),
            workspace: files.workspace.clone(),
            edits: self.views(|_| true),
            problems: files.problems.clone(),
        }
    }

    /// The edits of this id, those that win first.
    pub(crate) fn named(&self, id: &str) -> Vec<SavedEditView> {
        self.views(|edit| edit.id.as_str() == id)
    }

    /// What an edit of this id replaced the last time.
    pub(crate) fn diff(&self, id: &str) -> Option<SavedDiff> {
        let edit = self.named(id).into_iter().next()?;
        let uses = lock(&self.uses);
        let used = uses.iter().find(|((scope, known), _)| known.as_str() == id && *scope == edit.scope);
        let before = used.and_then(|(_, used)| used.before.as_deref().map(ShownText::new));
        Some(SavedDiff { before, after: edit.text.clone(), edit })
    }

    fn views(&self, which: impl Fn(&SavedEdit) -> bool) -> Vec<SavedEditView> {
        let files = self.files.load();
        let mut sessions: Vec<_> =
            self.sessions().iter().map(|(session, layer)| (Arc::clone(session), Arc::clone(layer))).collect();
        sessions.sort_by(|one, other| one.0.cmp(&other.0));
        let uses = lock(&self.uses);
        let view = |session: Option<&Arc<str>>, layer: &ScopeEdits| -> Vec<SavedEditView> {
            let chosen = layer.edits.iter().filter(|edit| which(edit));
            chosen
                .map(|edit| view(edit, layer.scope, session, uses.get(&(layer.scope, edit.id.clone()))))
                .collect()
        };
        let own = sessions.iter().flat_map(|(session, layer)| view(Some(session), layer));
        own.chain(files.layers.iter().flat_map(|layer| view(None, layer))).collect()
    }

    /// Edits that were just saved.
    pub(crate) fn shown(scope: SavedScope, session: &Arc<str>, edits: &[SavedEdit]) -> Vec<SavedEditView> {
        let session = (scope == SavedScope::Session).then_some(session);
        edits.iter().map(|edit| view(edit, scope, session, None)).collect()
    }
}

/// Returns what a store has in the words of the admin API, those that win first.
pub fn saved_views(files: &SavedFiles) -> Vec<SavedEditView> {
    let layers = files.layers.iter();
    layers.flat_map(|layer| layer.edits.iter().map(|edit| view(edit, layer.scope, None, None))).collect()
}

fn view(
    edit: &SavedEdit,
    scope: SavedScope,
    session: Option<&Arc<str>>,
    used: Option<&EditUse>,
) -> SavedEditView {
    // A use in another conversation is nothing to this one.
    let used = used.filter(|used| session.is_none_or(|session| *session == used.session));
    SavedEditView {
        id: edit.id.to_string(),
        scope,
        session: session.map(ToString::to_string),
        action: edit.action.name().to_owned(),
        title: format!("Edited · {} · saved {}", scope.label(), edit.updated_at),
        format: edit.format.name().to_owned(),
        path: edit.path.clone(),
        pointer: edit.pointer.clone(),
        role: edit.speaker.unwrap_or(edit.role),
        section: edit.section,
        leaf: edit.leaf,
        replaces: edit.replaces.to_string(),
        on_drift: edit.on_drift,
        updated_at: edit.updated_at.clone(),
        text: edit.text.as_deref().map(ShownText::new),
        last: used.map(used_view),
    }
}

fn used_view(used: &EditUse) -> SavedUse {
    let why = used.fit.why();
    SavedUse {
        fits: why.is_none(),
        outcome: used.fit.name().to_owned(),
        why,
        session: used.session.to_string(),
    }
}
