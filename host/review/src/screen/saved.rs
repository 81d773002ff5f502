//! The page of saved edits: they are removed, scoped and bounded where one edits.

use leafgate_admin::{AdminCall, SavedScope, SavedStatus, SetSaved};

use super::view::PageItem;
use super::{Screen, ScreenQuestion};
use crate::api::ApiCall;
use crate::model::Level;

/// How many sections a capture may show first.
const SECTIONS: std::ops::RangeInclusive<usize> = 1..=10;

impl Screen {
    /// Carries out a letter's command on that page.
    pub(super) fn command_on_saved(&mut self, letter: char) {
        let Some(list) = &self.model.saved else { return };
        let SavedStatus { scope, preview_limit, .. } = list.status;
        match (letter, self.selected()) {
            ('d', Some(PageItem::Saved(at))) => {
                let id = list.edits[at].id.clone();
                let remove = ApiCall::from(AdminCall::RemoveSaved).on(&id);
                self.act_saying(remove, "It is removed: later turns come without it.");
            }
            ('d', _) => self.refuse("No edits are saved."),
            ('X', _) if list.edits.is_empty() => self.refuse("No edits are saved."),
            ('X', _) => self.question = Some(ScreenQuestion::ClearSaved),
            ('t', _) => {
                self.act(ApiCall::of(&SetSaved { scope: Some(next(scope)), ..SetSaved::default() }));
            }
            (letter, _) => {
                let wanted = preview_limit.saturating_add_signed(if letter == '+' { 1 } else { -1 });
                match SECTIONS.contains(&wanted) {
                    true => self
                        .act(ApiCall::of(&SetSaved { preview_limit: Some(wanted), ..SetSaved::default() })),
                    false => self.refuse("A capture shows 1 to 10 sections first."),
                }
            }
        }
    }

    /// Asks the gate for something, and says that it was done unless the gate says otherwise.
    pub(super) fn act_saying(&mut self, call: ApiCall, done: &str) {
        self.act(call);
        self.model.notify(Level::Done, done);
    }
}

/// Returns the scope behind one, round the end. A project's own file is written by nobody here.
fn next(scope: SavedScope) -> SavedScope {
    match scope {
        SavedScope::Session => SavedScope::Workspace,
        SavedScope::Workspace | SavedScope::Project => SavedScope::Global,
        SavedScope::Global => SavedScope::Session,
    }
}
