//! The effect of each key, by what has the focus: a question, the search line, the editor, or the
//! page.

use std::ops::Range;

use leafgate_admin::{
    AdminCall, ArmCapture, AutoState, Cancel, CaptureTurn, ClearSaved, EditCommand, Follow, LeafView, Resume,
    SavedScope, SectionView, Select, SetMode, TurnMode, TurnView,
};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::editor::CursorStep;
use super::release::another;
use super::view::{PageItem, PagePosition, PageView, find_leaf};
use super::{Screen, ScreenQuestion, TextEditor};
use crate::api::ApiCall;
use crate::choice::{SCOPES, left_out_by, locked, text_in};
use crate::model::Level;

/// Why nothing can be done to a turn.
const NO_TURN: &str = "No turn is open: Enter opens the selected one.";

impl Screen {
    pub(super) fn key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        // A terminal spells Alt as an escape before the key, and so looks an Esc that a key follows at
        // once. Alt means something where one types, and nowhere else.
        let is_spelled =
            matches!(key.code, KeyCode::Char(_) | KeyCode::Enter | KeyCode::Tab | KeyCode::Backspace);
        if is_spelled && key.modifiers.contains(KeyModifiers::ALT) && !self.is_typing() {
            self.key(KeyCode::Esc.into());
            return self.key(KeyEvent { modifiers: key.modifiers - KeyModifiers::ALT, ..key });
        }
        if let Some(question) = self.question.clone() {
            self.answer_question(question, key);
        } else if self.is_small() {
            self.key_when_small(key);
        } else if self.is_deaf && !self.hears(key) {
        } else if self.search.is_some() {
            self.key_in_search(key);
        } else if self.excepting.is_some() {
            self.key_in_exception(key);
        } else if self.editing.is_some() {
            self.key_in_editor(key);
        } else {
            self.key_on_page(key);
        }
    }

    /// Whether a key is a part of a text, or of what a person believes to be one.
    pub(super) fn is_typing(&self) -> bool {
        let is_typed = self.editing.is_some() || self.excepting.is_some() || self.search.is_some();
        self.question.is_none() && (is_typed || self.is_deaf)
    }

    /// Takes a key while what is typed counts for nothing. Returns whether it is heard again: a letter
    /// may be part of a text that a person believes to be typing.
    fn hears(&mut self, key: KeyEvent) -> bool {
        match key.code {
            KeyCode::Char('c') if is_control(key) => true,
            KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Delete => false,
            KeyCode::Esc | KeyCode::Enter => {
                self.is_deaf = false;
                self.model.notice = None;
                false
            }
            _ => {
                self.is_deaf = false;
                true
            }
        }
    }

    /// Says why nothing can be typed now. What is typed all the same does nothing.
    pub(super) fn refuse_typing(&mut self, why: &str) {
        self.model.notify(Level::Error, why);
        self.is_deaf = true;
    }

    fn answer_question(&mut self, question: ScreenQuestion, key: KeyEvent) {
        if question == ScreenQuestion::Save
            && let KeyCode::Char(letter) = key.code
            && let Some(scope) = scope_of(letter).filter(|_| key.modifiers.is_empty())
        {
            self.question = None;
            let save = CaptureTurn { scope: Some(scope), ..CaptureTurn::default() };
            return self.act(ApiCall::of(&save));
        }
        if let Some(ScreenQuestion::Release { redactions, at }) = &mut self.question
            && let Some(step) = next_redaction(key)
        {
            *at = another(*at, step, redactions.len());
            return;
        }
        let yes = match key.code {
            KeyCode::Char('c') if is_control(key) => false,
            KeyCode::Char(_) if is_control(key) => return,
            KeyCode::Char('y' | 'Y') if question != ScreenQuestion::Save => true,
            KeyCode::Char('n' | 'N') | KeyCode::Esc => false,
            // Any other key may have been meant for something else, so the question stays.
            _ => return,
        };
        self.question = None;
        match (yes, question) {
            (true, ScreenQuestion::Resume { digest }) => self.act(ApiCall::of(&Resume { digest })),
            (true, ScreenQuestion::Cancel) => self.act(ApiCall::of(&Cancel {})),
            (true, ScreenQuestion::ClearSaved) => {
                self.act_saying(ApiCall::of(&ClearSaved::default()), "All of them are removed.");
            }
            (true, ScreenQuestion::Release { redactions, at }) => {
                self.edit(&EditCommand::Release { redaction: redactions[at] });
            }
            (true, ScreenQuestion::Discard) => {
                self.editing = None;
                self.model.notify(Level::Done, "What was typed is discarded.");
            }
            (false, ScreenQuestion::Discard | ScreenQuestion::ClearSaved) | (true, ScreenQuestion::Save) => {}
            (false, ScreenQuestion::Release { .. }) => {
                self.model.notify(Level::Done, "Nothing was released.");
            }
            (false, ScreenQuestion::Save) => self.model.notify(Level::Done, "Nothing was saved."),
            (false, _) => self.model.notify(Level::Done, "Nothing was decided. The turn waits."),
        }
    }

    /// On a terminal too small to show what would be sent, a turn can only be cancelled.
    fn key_when_small(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Char('c') if is_control(key) => self.leave(),
            // They belong to a text that does not show.
            KeyCode::Char(_) if self.is_typing() => {}
            KeyCode::Char('q') => self.leave(),
            KeyCode::Char('c') => self.ask_about_turn(|_| ScreenQuestion::Cancel),
            _ => {}
        }
    }

    fn key_in_search(&mut self, key: KeyEvent) {
        let Some(search) = &mut self.search else { return };
        match key.code {
            KeyCode::Esc => self.search = None,
            KeyCode::Enter => {
                self.wanted = search.text().to_lowercase();
                self.search = None;
                self.find(true, 0);
            }
            _ => edit_line(search, key),
        }
    }

    fn key_in_editor(&mut self, key: KeyEvent) {
        let columns = usize::from(self.size.0);
        let Some(editing) = &mut self.editing else { return };
        let (control, alt) = (is_control(key), key.modifiers.contains(KeyModifiers::ALT));
        match key.code {
            KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => {
                editing.editor.insert("\n")
            }
            KeyCode::Char('j') if control => editing.editor.insert("\n"),
            KeyCode::Enter => self.save(),
            KeyCode::Char('s') if control => self.save(),
            KeyCode::Char('c') if control => self.leave_editor(),
            KeyCode::Esc => self.leave_editor(),
            KeyCode::Tab => editing.editor.insert("\t"),
            KeyCode::Up => editing.editor.rows_down(-1, columns),
            KeyCode::Down => editing.editor.rows_down(1, columns),
            KeyCode::PageUp => editing.editor.rows_down(-10, columns),
            KeyCode::PageDown => editing.editor.rows_down(10, columns),
            _ => edit_line(&mut editing.editor, key),
        }
    }

    fn leave_editor(&mut self) {
        if self.editing.as_ref().is_some_and(super::Editing::changed) {
            self.question = Some(ScreenQuestion::Discard);
        } else {
            self.editing = None;
        }
    }

    fn key_on_page(&mut self, key: KeyEvent) {
        let height = self.body().1 as isize;
        match key.code {
            KeyCode::Char('c') if is_control(key) => self.leave(),
            KeyCode::Char('r') if is_control(key) => self.edit(&EditCommand::Redo),
            KeyCode::Char('s') if is_control(key) => self.ask_to_resume(),
            KeyCode::Char(_) if is_control(key) => {}
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step(-height),
            KeyCode::PageDown | KeyCode::Char(' ') => self.step(height),
            KeyCode::Home | KeyCode::Char('g') => self.step(isize::MIN / 2),
            KeyCode::End | KeyCode::Char('G') => self.step(isize::MAX / 2),
            KeyCode::Right if self.fold(false) => {}
            KeyCode::Left if self.fold(true) => {}
            KeyCode::Enter | KeyCode::Right => self.open(),
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => self.back(),
            KeyCode::Tab => self.next_cause(true),
            KeyCode::BackTab => self.next_cause(false),
            KeyCode::Char('/') => self.search = Some(TextEditor::default()),
            KeyCode::Char('n') => self.find(true, 1),
            KeyCode::Char('N') => self.find(false, 1),
            KeyCode::Char('?') => self.places.push(PagePosition::new(PageView::Help)),
            KeyCode::Char('q') => self.leave(),
            KeyCode::Char(command) => self.command(command),
            _ => {}
        }
    }

    /// Carries out a letter's command.
    fn command(&mut self, letter: char) {
        match letter {
            _ if self.place().view == PageView::Saved && "dXt+-".contains(letter) => {
                self.command_on_saved(letter);
            }
            'L' => {
                self.leave_turn();
                self.act(AdminCall::Pending);
            }
            'V' => self.ask_for(PageView::Saved, AdminCall::Saved),
            'A' => self.ask_for(PageView::Agents, AdminCall::Subagents),
            'S' => self.ask_for(PageView::Sessions, AdminCall::Sessions),
            'e' => self.edit_here(),
            'E' => self.edit_outside(),
            'R' => self.ask_to_release(),
            'a' => self.begin_exception(),
            'd' | 'r' => match self.chosen_to_leave_out() {
                Some(section) if letter == 'd' => self.edit(&EditCommand::Delete { section }),
                Some(section) => self.edit(&EditCommand::Restore { section }),
                None => self.refuse("Choose a section first."),
            },
            'i' => match self.chosen_place() {
                Some(section) => self.begin_message(section),
                None => self.refuse_typing("Choose a message first: yours is put in before it."),
            },
            'p' | 'K' | 'J' => self.pin(letter),
            'P' => self.act(AdminCall::Payload),
            'M' if self.model.turn().is_some() => self.act(AdminCall::Request),
            'M' => self.go_to(PageView::Metadata),
            'v' => self.ask_where_to_save(),
            'C' => self.act(ApiCall::of(&ArmCapture {})),
            'w' => self.show_why(),
            'm' => self.go_to(PageView::Modes),
            'o' if self.is_capturing() => {
                let text = "The next turn waits already, and what you edit in it is saved.";
                self.model.notify(Level::Done, text);
            }
            'o' => self.act(ApiCall::of(&SetMode { mode: TurnMode::InterceptOnce })),
            'f' => self.follow(),
            'u' => self.edit(&EditCommand::Undo),
            'U' => self.edit(&EditCommand::Redo),
            'X' => self.edit(&EditCommand::Reset),
            'D' => self.act(AdminCall::Diff),
            's' => self.ask_to_resume(),
            'c' => self.ask_about_turn(|_| ScreenQuestion::Cancel),
            _ => {}
        }
    }

    /// Has the newest conversation become the active one, or no more.
    fn follow(&mut self) {
        let follow = !self.model.sessions.follow;
        let text = match follow {
            true => "The newest conversation becomes the active one.",
            false => "The active conversation stays the active one: modes pause turns of it alone.",
        };
        self.act_saying(ApiCall::of(&Follow { follow }), text);
    }

    /// Goes to a page, and asks for what it shows.
    fn ask_for(&mut self, view: PageView, call: AdminCall) {
        self.go_to(view);
        self.act(call);
    }

    fn go_to(&mut self, view: PageView) {
        self.model.notice = None;
        if self.place().view != view {
            self.places.push(PagePosition::new(view));
        }
    }

    fn show_why(&mut self) {
        match self.model.turn() {
            Some(_) => self.go_to(PageView::Why),
            None => self.refuse(NO_TURN),
        }
    }

    /// Returns whether the next turn waits, so that its edits are saved.
    pub(super) fn is_capturing(&self) -> bool {
        self.model.mode.as_ref().is_some_and(|mode| mode.auto == Some(AutoState::Capturing))
    }

    fn ask_about_turn(&mut self, question: impl FnOnce(&TurnView) -> ScreenQuestion) {
        match self.model.turn() {
            Some(turn) => self.question = Some(question(turn)),
            None => self.refuse(NO_TURN),
        }
    }

    fn ask_to_resume(&mut self) {
        self.ask_about_turn(|turn| ScreenQuestion::Resume { digest: turn.digest.clone() });
    }

    fn ask_where_to_save(&mut self) {
        let is_by_person = |edit: &leafgate_admin::EditView| {
            edit.stands && edit.author == "person" && edit.kind != "release"
        };
        match self.model.turn() {
            Some(turn) if !turn.edits.iter().any(is_by_person) => {
                self.refuse("No edit of yours stands in this turn: edit it first.");
            }
            _ => self.ask_about_turn(|_| ScreenQuestion::Save),
        }
    }

    fn step(&mut self, rows: isize) {
        self.model.notice = None;
        let place = self.place_mut();
        place.at = place.at.saturating_add_signed(rows);
    }

    fn open(&mut self) {
        self.model.notice = None;
        match (self.selected(), self.model.turn()) {
            (Some(PageItem::Turn(at)), _) => {
                let id = self.model.turns[at].id.clone();
                self.act(ApiCall::show(&id));
            }
            (Some(PageItem::Mode(mode)), _) => self.act(ApiCall::of(&SetMode { mode })),
            (Some(PageItem::Session(at)), _) => {
                let session = self.model.sessions.sessions[at].id.clone();
                self.act(ApiCall::of(&Select {}).on(&session));
            }
            (Some(PageItem::Group(at)), _) => {
                let name = self.model.outline.groups[at].name;
                self.model.toggle(name);
            }
            (Some(PageItem::Call(at)), Some(turn)) => {
                self.places.push(PagePosition::new(PageView::Call(turn.sections[at].key.clone())));
            }
            (Some(PageItem::Section(at)), Some(turn)) => {
                self.places.push(PagePosition::new(PageView::Section(turn.sections[at].key.clone())));
                self.go_to_leaf();
            }
            (Some(PageItem::Leaf(section, leaf)), Some(turn)) => {
                let pointer = turn.sections[section].leaves[leaf].pointer.clone();
                self.places.push(PagePosition::new(PageView::Leaf(pointer)));
            }
            _ => {}
        }
    }

    fn back(&mut self) {
        self.model.notice = None;
        if self.places.len() > 1 {
            self.places.pop();
        }
        if self.place().view == PageView::List {
            self.leave_turn();
        }
    }

    fn leave_turn(&mut self) {
        self.places.truncate(1);
        self.model.close();
    }

    /// Returns what is chosen: a leaf with the place of its section, or a section with all that is inside it,
    /// or a call alone.
    pub(super) fn chosen(&self) -> Option<(Range<usize>, Option<&LeafView>)> {
        let turn = self.model.turn()?;
        Some(match (&self.place().view, self.selected()) {
            (PageView::Leaf(pointer), _) => {
                let (at, leaf) = find_leaf(turn, pointer)?;
                (at..at + 1, Some(leaf))
            }
            (_, Some(PageItem::Leaf(at, leaf))) => {
                (at..at + 1, Some(turn.sections.get(at)?.leaves.get(leaf)?))
            }
            (_, Some(PageItem::Section(at))) => {
                (at..self.model.outline.entry(at).map_or(at + 1, |entry| entry.end), None)
            }
            (_, Some(PageItem::Call(at))) => (at..at + 1, None),
            _ => return None,
        })
    }

    /// Returns the text that an edit of what is chosen is about, with its section.
    ///
    /// # Errors
    /// Says why nothing can be edited there.
    pub(super) fn chosen_text(&self) -> Result<(&SectionView, &LeafView), &'static str> {
        let turn = self.model.turn().ok_or(NO_TURN)?;
        match self.chosen() {
            Some((section, Some(leaf))) => {
                locked(leaf).map_or(Ok((&turn.sections[section.start], leaf)), Err)
            }
            Some((sections, None)) => text_in(turn, sections),
            None if matches!(self.selected(), Some(PageItem::Group(_))) => {
                Err("Enter unfolds it: choose a section in it.")
            }
            None => Err("Choose a section first: Esc goes back."),
        }
    }

    pub(super) fn chosen_section(&self) -> Option<String> {
        let at = self.chosen_place()?;
        self.model.turn()?.sections.get(at).map(|section| section.key.clone())
    }

    /// Returns the key of what the selected section is left out by.
    fn chosen_to_leave_out(&self) -> Option<String> {
        left_out_by(self.model.turn()?, self.chosen_place()?).map(str::to_owned)
    }

    /// Returns the place of the selected section, or of the one that the leaf belongs to.
    pub(super) fn chosen_place(&self) -> Option<usize> {
        self.chosen().map(|(sections, _)| sections.start)
    }

    /// Goes to the next row with the searched text, `skip` rows on, round the end. On the page of a
    /// turn what is folded is searched too.
    fn find(&mut self, forward: bool, skip: usize) {
        if self.wanted.is_empty() {
            return;
        }
        let place = self.place();
        let order = if place.view == PageView::Turn { self.model.outline.order() } else { Vec::new() };
        let text = place.view.text(&self.model, self.body().0);
        let (hits, at): (Vec<bool>, usize) = if let Some(rows) = text {
            (rows.iter().map(|row| row.text().to_lowercase().contains(&self.wanted)).collect(), place.at)
        } else {
            let items = match place.view {
                PageView::Turn => order.iter().copied().map(PageItem::Section).collect(),
                _ => place.view.items(&self.model),
            };
            let at = match self.selected() {
                Some(PageItem::Group(at)) => Some(self.model.outline.groups[at].sections[0]),
                _ => self.chosen_place(),
            };
            let at = order.iter().position(|&section| Some(section) == at).unwrap_or(place.at);
            (items.iter().map(|item| item.holds(&self.model, &self.wanted)).collect(), at)
        };
        let count = hits.len();
        let mut ways = (0..count).map(|step| match forward {
            true => (at + skip + step) % count,
            false => (at + 2 * count - skip - step) % count,
        });
        match (ways.find(|&row| hits[row]), order.as_slice()) {
            (Some(row), []) => self.place_mut().at = row,
            (Some(row), order) => self.go_to_row_of(order[row]),
            (None, _) => {
                return self.model.notify(Level::Warning, format!("Not found here: {}", self.wanted));
            }
        }
        self.model.notice = None;
    }
}

/// Handles the keys that an editor of one line and one of many have in common.
pub(super) fn edit_line(editor: &mut TextEditor, key: KeyEvent) {
    let (control, alt) = (is_control(key), key.modifiers.contains(KeyModifiers::ALT));
    match key.code {
        KeyCode::Left if control || alt => editor.go(CursorStep::WordLeft),
        KeyCode::Right if control || alt => editor.go(CursorStep::WordRight),
        KeyCode::Char('b') if alt => editor.go(CursorStep::WordLeft),
        KeyCode::Char('f') if alt => editor.go(CursorStep::WordRight),
        KeyCode::Char('d') if alt => editor.delete(CursorStep::WordRight),
        KeyCode::Backspace if alt || control => editor.delete(CursorStep::WordLeft),
        KeyCode::Char('w') if control => editor.delete(CursorStep::WordLeft),
        KeyCode::Char('a') if control => editor.go(CursorStep::LineStart),
        KeyCode::Char('e') if control => editor.go(CursorStep::LineEnd),
        KeyCode::Char('k') if control => editor.delete_to_end(),
        KeyCode::Char('u') if control => editor.delete(CursorStep::LineStart),
        KeyCode::Char('d') if control => editor.delete(CursorStep::Right),
        KeyCode::Char('h') if control => editor.delete(CursorStep::Left),
        KeyCode::Left => editor.go(CursorStep::Left),
        KeyCode::Right => editor.go(CursorStep::Right),
        KeyCode::Home => editor.go(CursorStep::LineStart),
        KeyCode::End => editor.go(CursorStep::LineEnd),
        KeyCode::Backspace => editor.delete(CursorStep::Left),
        KeyCode::Delete => editor.delete(CursorStep::Right),
        KeyCode::Char(c) if !control && !alt => editor.insert(c.encode_utf8(&mut [0; 4])),
        _ => {}
    }
}

/// Returns how far a key goes from one redaction to another.
pub(super) fn next_redaction(key: KeyEvent) -> Option<isize> {
    match key.code {
        KeyCode::Tab | KeyCode::Right | KeyCode::Down => Some(1),
        KeyCode::BackTab | KeyCode::Left | KeyCode::Up => Some(-1),
        _ => None,
    }
}

/// Returns for which later turns a letter has edits saved.
fn scope_of(letter: char) -> Option<SavedScope> {
    SCOPES.into_iter().find(|scope| scope.name().starts_with(letter))
}

pub(super) fn is_control(key: KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL)
}
