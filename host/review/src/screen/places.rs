//! Ways through a turn that are not in the order of its request: from cause to cause, and with
//! pinned sections first.

use leafgate_admin::Pins;

use super::Screen;
use super::view::{PageItem, PagePosition, PageView};
use crate::api::ApiCall;
use crate::model::Level;

impl Screen {
    /// Pins the selected section to the top or unpins it, or moves it among those that are pinned.
    pub(super) fn pin(&mut self, letter: char) {
        let Some((turn, section)) = self.model.turn().zip(self.chosen_place()) else {
            return self.refuse("Choose a section first.");
        };
        let Some(chosen) = turn.sections.get(self.model.outline.outermost(section)) else { return };
        let mut pinned = turn.pinned.clone();
        let at = pinned.iter().position(|key| *key == chosen.key);
        match (letter, at) {
            ('p', Some(at)) if chosen.pinned_by.as_deref() == Some("person") => drop(pinned.remove(at)),
            ('p', Some(_)) => {
                let by = chosen.pinned_by.as_deref().unwrap_or("a rule");
                return self.refuse(&format!("It is pinned by {by}, and stays so."));
            }
            ('p', None) => pinned.push(chosen.key.clone()),
            ('K', Some(at)) if at > 0 => pinned.swap(at, at - 1),
            ('J', Some(at)) if at + 1 < pinned.len() => pinned.swap(at, at + 1),
            (_, Some(_)) => return,
            (_, None) => return self.refuse("Only pinned sections are moved: p pins this one."),
        }
        self.act(ApiCall::of(&Pins { sections: pinned }));
    }

    /// Goes to the next place because of which the turn waits, round the end.
    pub(super) fn next_cause(&mut self, forward: bool) {
        if self.model.turn().is_none() {
            return;
        }
        let count = self.model.outline.causes.len();
        if count == 0 {
            self.model.notify(Level::Done, "No place in the request holds it. w says why it waits.");
            return;
        }
        self.cause = match (forward, self.is_at_cause()) {
            (true, true) => (self.cause + 1) % count,
            (false, true) => (self.cause + count - 1) % count,
            (_, false) => self.cause % count,
        };
        self.go_to_cause();
        if let Some(place) = self.model.outline.causes.get(self.cause) {
            let text = format!("{} of {count}: {}", self.cause + 1, place.what);
            self.model.notify(Level::Done, text);
        }
    }

    /// Returns whether the cursor stands at the place that was shown last.
    fn is_at_cause(&self) -> bool {
        let Some(place) = self.model.outline.causes.get(self.cause) else { return false };
        match self.selected() {
            Some(PageItem::Section(at)) => at == place.section,
            Some(PageItem::Leaf(at, leaf)) => {
                at == place.section && place.leaf.is_none_or(|wanted| wanted == leaf)
            }
            _ => false,
        }
    }

    /// Moves the cursor of a turn's page to a section, and unfolds what is around it.
    pub(super) fn go_to_row_of(&mut self, section: usize) {
        self.model.unfold_to(section);
        if let Some(row) = self.model.outline.row_of(section) {
            self.place_mut().at = row;
        }
    }

    /// Moves the cursor of a turn's page to what the user said last; without any it stays.
    pub(super) fn go_to_words(&mut self) {
        if let Some(section) = self.model.outline.words
            && let Some(row) = self.model.outline.row_of(section)
        {
            self.place_mut().at = row;
        }
    }

    /// Folds or unfolds what is chosen on the page of a turn, or folds what is around it. Returns
    /// whether there was anything to do.
    pub(super) fn fold(&mut self, fold: bool) -> bool {
        let (Some(turn), Some(item)) = (self.model.turn(), self.selected()) else { return false };
        let outline = &self.model.outline;
        let (name, at) = match (&self.place().view, item) {
            (PageView::Turn, PageItem::Group(at)) if outline.groups[at].folded != fold => {
                (outline.groups[at].name.to_owned(), None)
            }
            (PageView::Turn, PageItem::Section(at)) => {
                let Some(entry) = outline.entry(at) else { return false };
                let inside = (entry.end > at + 1 && entry.folded != fold).then_some(at);
                let before = (0..at).rev();
                let around = before
                    .into_iter()
                    .find(|&outer| outline.entry(outer).is_some_and(|outer| outer.end > at));
                match (inside.or(around.filter(|_| fold)), entry.group) {
                    (Some(section), _) => (turn.sections[section].key.clone(), Some(section)),
                    (None, Some(group)) if fold => (outline.groups[group].name.to_owned(), Some(at)),
                    (None, _) => return false,
                }
            }
            _ => return false,
        };
        self.model.notice = None;
        self.model.toggle(&name);
        if let Some(row) = at.and_then(|at| self.model.outline.row_of(at)) {
            self.place_mut().at = row;
        }
        true
    }

    /// Shows the place of a cause: its section on the page of the turn, its leaf on that of a section.
    fn go_to_cause(&mut self) {
        let Some(place) = self.model.outline.causes.get(self.cause).cloned() else { return };
        let key =
            self.model.turn().and_then(|turn| turn.sections.get(place.section)).map(|it| it.key.clone());
        let in_section = matches!(self.place().view, PageView::Section(_) | PageView::Leaf(_));
        self.places.truncate(1);
        self.places.push(PagePosition::new(PageView::Turn));
        self.go_to_row_of(place.section);
        if let Some(key) = key.filter(|_| in_section) {
            self.places.push(PagePosition::new(PageView::Section(key)));
            self.go_to_leaf();
        }
    }

    /// Moves the cursor of a section's page to the leaf of the present cause, where it is there.
    pub(super) fn go_to_leaf(&mut self) {
        let cause = self.model.outline.causes.get(self.cause);
        let leaf = cause.and_then(|place| Some(PageItem::Leaf(place.section, place.leaf?)));
        let items = self.place().view.items(&self.model);
        if let Some(row) = leaf.and_then(|leaf| items.iter().position(|item| *item == leaf)) {
            self.place_mut().at = row;
        }
    }
}
