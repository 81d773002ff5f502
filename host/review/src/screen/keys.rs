//! The effect of each key, by what has the focus: a question, the search line, the editor, or the
//! page.

use leafgate_admin::{EditCommand, SavedScope, TurnMode};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::view::{PageItem, PagePosition, PageView, find_leaf, find_section};
use super::{Screen, ScreenEffect, ScreenQuestion, TextEditor};
use crate::api::{ApiCall, TurnCall};
use crate::model::Level;
use crate::outline::left_out_by;

impl Screen {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<ScreenEffect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        if let Some(question) = self.question.clone() {
            return self.answer_question(question, key);
        }
        if self.is_small() {
            return self.key_when_small(key);
        }
        if self.search.is_some() {
            self.key_in_search(key);
            return Vec::new();
        }
        if self.excepting.is_some() {
            return self.key_in_exception(key);
        }
        if self.editing.is_some() {
            return self.key_in_editor(key);
        }
        self.key_on_page(key)
    }

    fn answer_question(&mut self, question: ScreenQuestion, key: KeyEvent) -> Vec<ScreenEffect> {
        if question == ScreenQuestion::Save
            && let KeyCode::Char(letter) = key.code
            && let Some(scope) = scope_of(letter).filter(|_| key.modifiers.is_empty())
        {
            self.question = None;
            return self.act(TurnCall::Save { scope });
        }
        if let ScreenQuestion::Release { pointer, at } = &question
            && let Some(step) = next_redaction(key)
        {
            self.ask_about_another(pointer.clone(), *at, step);
            return Vec::new();
        }
        let yes = match key.code {
            KeyCode::Char('c') if is_control(key) => false,
            KeyCode::Char(_) if is_control(key) || key.modifiers.contains(KeyModifiers::ALT) => {
                return Vec::new();
            }
            KeyCode::Char('y' | 'Y') if question != ScreenQuestion::Save => true,
            KeyCode::Char('n' | 'N') | KeyCode::Esc => false,
            // Any other key may have been meant for something else, so the question stays.
            _ => return Vec::new(),
        };
        self.question = None;
        match (yes, question) {
            (true, ScreenQuestion::Resume { digest }) => self.act(TurnCall::Resume { digest }),
            (true, ScreenQuestion::Cancel) => self.act(TurnCall::Cancel),
            (true, ScreenQuestion::Release { pointer, at }) => self.release(&pointer, at),
            (true, ScreenQuestion::Discard) => {
                self.editing = None;
                self.model.notify(Level::Done, "What was typed is discarded.");
                Vec::new()
            }
            (false, ScreenQuestion::Discard) | (true, ScreenQuestion::Save) => Vec::new(),
            (false, ScreenQuestion::Release { .. }) => {
                self.model.notify(Level::Done, "Nothing was released.");
                Vec::new()
            }
            (false, ScreenQuestion::Save) => {
                self.model.notify(Level::Done, "Nothing was saved.");
                Vec::new()
            }
            (false, _) => {
                self.model.notify(Level::Done, "Nothing was decided. The turn waits.");
                Vec::new()
            }
        }
    }

    /// On a terminal too small to show what would be sent, a turn can only be cancelled.
    fn key_when_small(&mut self, key: KeyEvent) -> Vec<ScreenEffect> {
        match key.code {
            KeyCode::Char('c') if is_control(key) => vec![ScreenEffect::Leave],
            KeyCode::Char('q') => vec![ScreenEffect::Leave],
            KeyCode::Char('c') => {
                self.ask_to_cancel();
                Vec::new()
            }
            _ => Vec::new(),
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
            _ => {
                edit_line(search, key);
            }
        }
    }

    fn key_in_editor(&mut self, key: KeyEvent) -> Vec<ScreenEffect> {
        let columns = usize::from(self.size.0);
        let Some(editing) = &mut self.editing else { return Vec::new() };
        let (control, alt) = (is_control(key), key.modifiers.contains(KeyModifiers::ALT));
        match key.code {
            KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => {
                editing.editor.insert("\n")
            }
            KeyCode::Char('j') if control => editing.editor.insert("\n"),
            KeyCode::Enter => return self.save(),
            KeyCode::Char('s') if control => return self.save(),
            KeyCode::Char('c') if control => self.leave_editor(),
            KeyCode::Esc => self.leave_editor(),
            KeyCode::Tab => editing.editor.insert("\t"),
            KeyCode::Up => editing.editor.rows_down(-1, columns),
            KeyCode::Down => editing.editor.rows_down(1, columns),
            KeyCode::PageUp => editing.editor.rows_down(-10, columns),
            KeyCode::PageDown => editing.editor.rows_down(10, columns),
            _ => edit_line(&mut editing.editor, key),
        }
        Vec::new()
    }

    fn leave_editor(&mut self) {
        if self.editing.as_ref().is_some_and(super::Editing::changed) {
            self.question = Some(ScreenQuestion::Discard);
        } else {
            self.editing = None;
        }
    }

    fn key_on_page(&mut self, key: KeyEvent) -> Vec<ScreenEffect> {
        let height = self.body().1 as isize;
        match key.code {
            KeyCode::Char('c') if is_control(key) => return vec![ScreenEffect::Leave],
            KeyCode::Char('r') if is_control(key) => return self.act(TurnCall::Edit(EditCommand::Redo)),
            KeyCode::Char('s') if is_control(key) => self.ask_to_resume(),
            KeyCode::Char(_) if is_control(key) => {}
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step(-height),
            KeyCode::PageDown | KeyCode::Char(' ') => self.step(height),
            KeyCode::Home | KeyCode::Char('g') => self.step(isize::MIN / 2),
            KeyCode::End | KeyCode::Char('G') => self.step(isize::MAX / 2),
            KeyCode::Enter | KeyCode::Right => return self.open(),
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => self.back(),
            KeyCode::Tab => self.next_cause(true),
            KeyCode::BackTab => self.next_cause(false),
            KeyCode::Char('/') => self.search = Some(TextEditor::default()),
            KeyCode::Char('n') => self.find(true, 1),
            KeyCode::Char('N') => self.find(false, 1),
            KeyCode::Char('?') => self.places.push(PagePosition::new(PageView::Help)),
            KeyCode::Char('L') => {
                self.leave_turn();
                return self.act(ApiCall::Pending);
            }
            KeyCode::Char('q') => return vec![ScreenEffect::Leave],
            KeyCode::Char(command) => return self.command(command),
            _ => {}
        }
        Vec::new()
    }

    /// Carries out a letter's command.
    fn command(&mut self, letter: char) -> Vec<ScreenEffect> {
        match letter {
            'e' | 'E' | 'R' | 'a' => match self.chosen_leaf() {
                Some(pointer) if letter == 'E' => return self.edit_outside(pointer),
                Some(pointer) if letter == 'e' => self.edit_here(pointer),
                Some(pointer) if letter == 'R' => self.ask_to_release(pointer),
                Some(pointer) => self.begin_exception(pointer),
                None => self.no_leaf(),
            },
            'd' | 'r' => match self.chosen_to_leave_out() {
                Some(section) if letter == 'd' => {
                    return self.act(TurnCall::Edit(EditCommand::Delete { section }));
                }
                Some(section) => return self.act(TurnCall::Edit(EditCommand::Restore { section })),
                None => self.model.notify(Level::Error, "Choose a section first."),
            },
            'i' => match self.chosen_place() {
                Some(section) => self.begin_message(section),
                None => self.model.notify(Level::Error, "Choose a message first: yours is put in before it."),
            },
            'p' | 'K' | 'J' => return self.pin(letter),
            'P' => return self.act(TurnCall::Payload),
            'M' => match self.model.turn() {
                Some(_) => return self.act(TurnCall::Metadata),
                None => self.go_to(PageView::Metadata),
            },
            'v' => self.ask_where_to_save(),
            'C' => return self.act(ApiCall::CaptureNext),
            'A' => {
                self.go_to(PageView::Agents);
                return self.act(ApiCall::Subagents);
            }
            'w' => self.show_why(),
            'm' => self.go_to(PageView::Modes),
            'o' => return self.act(ApiCall::SetMode { mode: TurnMode::InterceptOnce }),
            'S' => {
                self.go_to(PageView::Sessions);
                return self.act(ApiCall::Sessions);
            }
            'f' => return self.follow(),
            'u' => return self.act(TurnCall::Edit(EditCommand::Undo)),
            'U' => return self.act(TurnCall::Edit(EditCommand::Redo)),
            'X' => return self.act(TurnCall::Edit(EditCommand::Reset)),
            'D' => return self.act(TurnCall::Diff),
            's' => self.ask_to_resume(),
            'c' => self.ask_to_cancel(),
            _ => {}
        }
        Vec::new()
    }

    /// Has the newest conversation become the active one, or no more.
    fn follow(&mut self) -> Vec<ScreenEffect> {
        let follow = !self.model.sessions().follow;
        let text = match follow {
            true => "The newest conversation becomes the active one.",
            false => "The active conversation stays the active one: modes pause turns of it alone.",
        };
        let todo = self.act(ApiCall::Follow { follow });
        self.model.notify(Level::Done, text);
        todo
    }

    fn go_to(&mut self, view: PageView) {
        self.model.clear_notice();
        if self.place().view != view {
            self.places.push(PagePosition::new(view));
        }
    }

    fn show_why(&mut self) {
        match self.model.turn() {
            Some(_) => self.go_to(PageView::Why),
            None => self.model.notify(Level::Error, "No turn is open: Enter opens the selected one."),
        }
    }

    fn no_leaf(&mut self) {
        self.model.notify(Level::Error, "Choose a leaf first: Enter opens a section as its leaves.");
    }

    fn ask_to_resume(&mut self) {
        match self.model.turn() {
            Some(turn) => self.question = Some(ScreenQuestion::Resume { digest: turn.digest.clone() }),
            None => self.model.notify(Level::Error, "No turn is open: Enter opens the selected one."),
        }
    }

    fn ask_where_to_save(&mut self) {
        let is_by_person = |edit: &leafgate_admin::EditView| {
            edit.stands && edit.author == "person" && edit.kind != "release"
        };
        match self.model.turn() {
            Some(turn) if turn.edits.iter().any(is_by_person) => self.question = Some(ScreenQuestion::Save),
            Some(_) => {
                self.model.notify(Level::Error, "No edit of yours stands in this turn: edit it first.")
            }
            None => self.model.notify(Level::Error, "No turn is open: Enter opens the selected one."),
        }
    }

    fn ask_to_cancel(&mut self) {
        match self.model.turn() {
            Some(_) => self.question = Some(ScreenQuestion::Cancel),
            None => self.model.notify(Level::Error, "No turn is open: Enter opens the selected one."),
        }
    }

    fn step(&mut self, rows: isize) {
        self.model.clear_notice();
        let place = self.place_mut();
        place.at = place.at.saturating_add_signed(rows);
    }

    fn open(&mut self) -> Vec<ScreenEffect> {
        self.model.clear_notice();
        match (self.selected(), self.model.turn()) {
            (Some(PageItem::Turn(at)), _) => {
                let id = self.model.turns()[at].id.clone();
                return self.act(TurnCall::Show.on(&id));
            }
            (Some(PageItem::Mode(mode)), _) => return self.act(ApiCall::SetMode { mode }),
            (Some(PageItem::Session(at)), _) => {
                let session = self.model.sessions().sessions[at].id.clone();
                return self.act(ApiCall::Select { session });
            }
            (Some(PageItem::Section(at)), Some(turn)) => {
                let key = turn.sections[at].key.clone();
                self.places.push(PagePosition::new(PageView::Section(key)));
                self.go_to_leaf();
            }
            (Some(PageItem::Leaf(section, leaf)), Some(turn)) => {
                let pointer = turn.sections[section].leaves[leaf].pointer.clone();
                self.places.push(PagePosition::new(PageView::Leaf(pointer)));
            }
            _ => {}
        }
        Vec::new()
    }

    fn back(&mut self) {
        self.model.clear_notice();
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

    fn chosen_leaf(&self) -> Option<String> {
        match (&self.place().view, self.selected(), self.model.turn()) {
            (PageView::Leaf(pointer), ..) => Some(pointer.clone()),
            (_, Some(PageItem::Leaf(section, leaf)), Some(turn)) => {
                Some(turn.sections[section].leaves[leaf].pointer.clone())
            }
            _ => None,
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
        match (&self.place().view, self.selected()) {
            (PageView::Leaf(pointer), _) => {
                let key = &find_leaf(&self.model, pointer)?.0.key;
                find_section(self.model.turn()?, key)
            }
            (_, Some(PageItem::Leaf(at, _) | PageItem::Section(at))) => Some(at),
            _ => None,
        }
    }

    /// Goes to the next row with the searched text, `skip` rows on, round the end.
    fn find(&mut self, forward: bool, skip: usize) {
        if self.wanted.is_empty() {
            return;
        }
        let place = self.place();
        let hits: Vec<bool> = if place.view.is_text() {
            let rows = place.view.text(&self.model, self.body().0);
            rows.iter().map(|row| row.text().to_lowercase().contains(&self.wanted)).collect()
        } else {
            let items = place.view.items(&self.model);
            items.iter().map(|item| item.holds(&self.model, &self.wanted)).collect()
        };
        let (count, at) = (hits.len(), place.at);
        let mut ways = (0..count).map(|step| match forward {
            true => (at + skip + step) % count,
            false => (at + 2 * count - skip - step) % count,
        });
        match ways.find(|&row| hits[row]) {
            Some(row) => {
                self.model.clear_notice();
                self.place_mut().at = row;
            }
            None => self.model.notify(Level::Warning, format!("Not found here: {}", self.wanted)),
        }
    }
}

/// Handles the keys that an editor of one line and one of many have in common.
pub(super) fn edit_line(editor: &mut TextEditor, key: KeyEvent) {
    let (control, alt) = (is_control(key), key.modifiers.contains(KeyModifiers::ALT));
    match key.code {
        KeyCode::Left if control || alt => editor.word_left(),
        KeyCode::Right if control || alt => editor.word_right(),
        KeyCode::Char('b') if alt => editor.word_left(),
        KeyCode::Char('f') if alt => editor.word_right(),
        KeyCode::Char('d') if alt => editor.delete_word_behind(),
        KeyCode::Backspace if alt || control => editor.delete_word(),
        KeyCode::Char('w') if control => editor.delete_word(),
        KeyCode::Char('a') if control => editor.home(),
        KeyCode::Char('e') if control => editor.end(),
        KeyCode::Char('k') if control => editor.delete_to_end(),
        KeyCode::Char('u') if control => editor.delete_to_start(),
        KeyCode::Char('d') if control => editor.delete(),
        KeyCode::Char('h') if control => editor.backspace(),
        KeyCode::Left => editor.left(),
        KeyCode::Right => editor.right(),
        KeyCode::Home => editor.home(),
        KeyCode::End => editor.end(),
        KeyCode::Backspace => editor.backspace(),
        KeyCode::Delete => editor.delete(),
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
    match letter {
        's' => Some(SavedScope::Session),
        'w' => Some(SavedScope::Workspace),
        'g' => Some(SavedScope::Global),
        _ => None,
    }
}

pub(super) fn is_control(key: KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL)
}
