//! The page of saved edits: they are removed, scoped and bounded where one edits.

use leafgate_admin::{SavedScope, SavedStatus, SetSaved};

use super::view::PageItem;
use super::{Screen, ScreenEffect, ScreenQuestion};
use crate::api::ApiCall;
use crate::model::Level;

/// How many sections a capture may show first.
const SECTIONS: std::ops::RangeInclusive<usize> = 1..=10;

impl Screen {
    /// Carries out a letter's command on that page.
    pub(super) fn command_on_saved(&mut self, letter: char) -> Vec<ScreenEffect> {
        let Some(list) = self.model.saved() else { return Vec::new() };
        let status = list.status.clone();
        match letter {
            'd' => match self.selected() {
                Some(PageItem::Saved(at)) => {
                    let id = list.edits[at].id.clone();
                    self.act_saying(
                        ApiCall::RemoveSaved { id },
                        "It is removed: later turns come without it.",
                    )
                }
                _ => self.refuse("No edits are saved."),
            },
            'X' if list.edits.is_empty() => self.refuse("No edits are saved."),
            'X' => {
                self.question = Some(ScreenQuestion::ClearSaved);
                Vec::new()
            }
            't' => self.set_saved(SetSaved { scope: Some(next(status.scope)), ..SetSaved::default() }),
            letter => self.change_sections(&status, letter == '+'),
        }
    }

    fn change_sections(&mut self, status: &SavedStatus, more: bool) -> Vec<ScreenEffect> {
        let wanted = status.preview_limit.saturating_add_signed(if more { 1 } else { -1 });
        match SECTIONS.contains(&wanted) {
            true => self.set_saved(SetSaved { preview_limit: Some(wanted), ..SetSaved::default() }),
            false => self.refuse("A capture shows 1 to 10 sections first."),
        }
    }

    fn set_saved(&mut self, set: SetSaved) -> Vec<ScreenEffect> {
        self.act(ApiCall::SetSaved(set))
    }

    fn refuse(&mut self, why: &str) -> Vec<ScreenEffect> {
        self.model.notify(Level::Error, why);
        Vec::new()
    }

    /// Asks the gate for something, and says that it was done unless the gate says otherwise.
    pub(super) fn act_saying(&mut self, call: ApiCall, done: &str) -> Vec<ScreenEffect> {
        let todo = self.act(call);
        self.model.notify(Level::Done, done);
        todo
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
