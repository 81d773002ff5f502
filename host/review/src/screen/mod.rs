//! The prompt as a screen: pages, a cursor, an editor and questions over the one state machine.
//!
//! [`Screen::update`] takes an event; what is to be done then waits in its model. [`draw`] shows a screen
//! on a frame. [`run`] is the loop that binds both to a [`crate::AdminApi`], a [`Surface`] and an
//! [`EventSource`]. Only the last three do I/O, and tests drive all of it without a terminal or a
//! clock.

mod draw;
mod editor;
mod except;
mod keys;
mod outside;
mod places;
mod release;
mod run;
mod saved;
mod terminal;
mod theme;
mod view;

pub use draw::draw;
pub use editor::TextEditor;
pub use outside::{EditorCommand, OutsideEditor};
pub use run::{EventSource, Surface, run};
pub use terminal::{TerminalEvents, TerminalSurface};
pub use theme::Theme;
pub use view::{PagePosition, PageView};

use std::io;
use std::time::Duration;

use leafgate_admin::{AdminCall, ApiError, EditCommand, Event, ShownText, TurnClass, TurnView};
use ratatui::crossterm::event::KeyEvent;

use self::except::Excepting;
use self::view::PageItem;
use crate::api::{ApiAnswer, ApiCall};
use crate::model::{Level, Model, ModelEffect};
use crate::rows;

/// Smallest terminal on which the screen can be used.
pub const SMALLEST: (u16, u16) = (80, 24);

/// An event. It has no `Debug`, because typed and pasted text may be anything.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum ScreenEvent {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// The terminal has so many columns and rows now.
    Resize(u16, u16),
    /// An event of the gate.
    Gate(Event),
    /// The gate's events ended.
    Lost(ApiError),
    /// This much time has passed.
    Tick(Duration),
    /// The gate's answer to a call.
    Answer(ApiAnswer),
    /// The outside editor was closed, with this text.
    Outside(io::Result<String>),
}

/// What becomes of a text that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TypingTarget {
    /// A leaf gets it.
    Leaf { pointer: String },
    /// It is put in as a message before a section.
    Before { section: String },
}

/// A text that is being typed.
#[derive(Clone, Debug)]
struct Editing {
    /// The turn that it is for: another one may be open by the time the text is saved.
    turn: String,
    target: TypingTarget,
    title: String,
    editor: TextEditor,
    /// The text before the editing.
    before: ShownText,
}

impl Editing {
    fn changed(&self) -> bool {
        self.editor.text() != self.before.expose()
    }
}

/// A question that waits for `y` or `n`, or for a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ScreenQuestion {
    Resume {
        digest: String,
    },
    Cancel,
    Discard,
    /// For which later turns edits are saved.
    Save,
    /// Whether all saved edits of the scope go.
    ClearSaved,
    /// Whether one of these redactions is released. Tab asks about the next one.
    Release {
        redactions: Vec<usize>,
        at: usize,
    },
}

impl ScreenQuestion {
    /// Whether it is about what is shown of a turn.
    fn is_of_turn(&self) -> bool {
        match self {
            ScreenQuestion::Resume { .. }
            | ScreenQuestion::Cancel
            | ScreenQuestion::Save
            | ScreenQuestion::Release { .. } => true,
            ScreenQuestion::Discard | ScreenQuestion::ClearSaved => false,
        }
    }
}

/// Everything that is shown.
#[derive(Debug)]
pub struct Screen {
    model: Model,
    places: Vec<PagePosition>,
    editing: Option<Editing>,
    /// The place because of which the turn waits that Tab showed last.
    cause: usize,
    /// The leaf whose text is in the outside editor, as it was handed over.
    outside: Option<Editing>,
    question: Option<ScreenQuestion>,
    /// The exception that is being typed.
    excepting: Option<Excepting>,
    /// Whether letters do nothing until a person has seen that nothing is being typed.
    is_deaf: bool,
    /// The search line while it is typed.
    search: Option<TextEditor>,
    /// The last searched text, in lower case.
    wanted: String,
    /// Whether the gate tells nothing any more.
    is_lost: bool,
    size: (u16, u16),
}

impl Screen {
    /// Creates a screen of so many columns and rows.
    pub fn new(columns: u16, rows: u16) -> Screen {
        let mut screen = Screen {
            model: Model::default(),
            places: vec![PagePosition::new(PageView::List)],
            editing: None,
            cause: 0,
            outside: None,
            question: None,
            excepting: None,
            is_deaf: false,
            search: None,
            wanted: String::new(),
            is_lost: false,
            size: (columns, rows),
        };
        for call in [AdminCall::Mode, AdminCall::Sessions, AdminCall::Pending] {
            screen.model.ask(call);
        }
        screen
    }

    /// Returns how many turns wait, as far as is known: none of a gate that has ended.
    pub fn waiting(&self) -> usize {
        if self.is_lost { 0 } else { self.model.turns.len() }
    }

    /// Takes one event. What is to be done then, the model says.
    pub fn update(&mut self, event: ScreenEvent) {
        match event {
            ScreenEvent::Key(key) => self.key(key),
            ScreenEvent::Paste(text) => self.paste(&text),
            ScreenEvent::Resize(columns, rows) => self.size = (columns, rows),
            ScreenEvent::Gate(event) => self.gate(event),
            ScreenEvent::Lost(error) => {
                self.is_lost = true;
                let why = error.message.trim_end_matches('.');
                self.refuse(&format!("{why}. What is shown may be old; L asks again."));
            }
            ScreenEvent::Tick(passed) => self.model.pass(passed),
            ScreenEvent::Answer(answer) => self.answered(&answer),
            ScreenEvent::Outside(text) => self.outside_closed(text),
        }
        self.settle();
    }

    fn act(&mut self, call: impl Into<ApiCall>) {
        self.model.act(call.into());
    }

    fn edit(&mut self, command: &EditCommand) {
        self.act(ApiCall::of(command));
    }

    fn leave(&mut self) {
        self.model.todo.push_back(ModelEffect::Leave);
    }

    /// Says why something is not done.
    fn refuse(&mut self, why: &str) {
        self.model.notify(Level::Error, why);
    }

    fn gate(&mut self, event: Event) {
        // A person who waits at an empty list wants to see the first turn that comes, and one who
        // follows the newest conversation wants to see that.
        let arrived = match &event {
            Event::Paused { turn } if turn.with.is_none() => {
                let follows = self.may_follow() && turn.class == TurnClass::Main;
                (self.is_idle() || follows).then(|| turn.id.clone())
            }
            _ => None,
        };
        self.model.on_event(event);
        if let Some(id) = arrived {
            self.model.ask(ApiCall::show(&id));
        }
    }

    /// Returns whether the newest conversation is followed, and the turn that is shown is only looked
    /// at: nothing of it was edited by the person, and nothing is typed or asked.
    fn may_follow(&self) -> bool {
        let is_busy = self.is_typing() || self.question.is_some() || self.outside.is_some();
        let edited = |turn: &TurnView| turn.edits.iter().any(|edit| edit.stands && edit.author == "person");
        self.model.sessions.follow
            && !is_busy
            && !self.place().view.needs_no_turn()
            && self.model.turn().is_some_and(|turn| !edited(turn))
    }

    /// Returns whether no turn is shown, and nothing typed.
    fn is_idle(&self) -> bool {
        self.model.turns.is_empty() && self.place().view == PageView::List && self.editing.is_none()
    }

    fn answered(&mut self, answer: &ApiAnswer) {
        let before = self.model.turn().map(|turn| turn.digest.clone());
        let view = self.place().view.clone();
        let chosen = self.chosen_section().filter(|_| view == PageView::Turn);
        let was_open = self.model.turn().map(|turn| turn.summary.id.clone());
        if let Err(error) = &answer.json
            && self.is_exceptable(error)
        {
            return;
        }
        self.model.answered(answer);
        if !self.model.has_failed {
            let is_other = self.model.turn().map(|turn| &turn.summary.id) != was_open.as_ref();
            self.show_answer(answer.call, is_other, &view);
        }
        if let Some(key) = chosen {
            self.stay_with(&key);
        }
        self.withdraw_question(before.as_deref());
        // What has failed would be asked for again, and fail again, without end.
        if !self.model.has_failed {
            self.follow_changes(&view);
        }
    }

    /// Goes on with what a call was answered with. `is_other`: another turn is open now.
    fn show_answer(&mut self, call: AdminCall, is_other: bool, view: &PageView) {
        let page = match call {
            AdminCall::Edit => return self.editing = None,
            AdminCall::Except => return self.excepting = None,
            AdminCall::Turn if is_other || self.place().view == PageView::List => return self.go_to_turn(),
            AdminCall::Pending => {
                if let ([only], [_]) = (self.model.turns.as_slice(), self.places.as_slice()) {
                    let show = ApiCall::show(&only.id);
                    self.model.ask(show);
                }
                return;
            }
            AdminCall::Diff => PageView::Diff,
            AdminCall::Payload => PageView::Payload,
            AdminCall::Request => PageView::Metadata,
            _ => return,
        };
        if page != *view {
            self.places.push(PagePosition::new(page));
        }
    }

    /// Asks anew for what is shown of a turn that has changed. The last notice stays: the person did
    /// not ask.
    fn follow_changes(&mut self, view: &PageView) {
        let call = match view {
            PageView::Diff if self.model.diff.is_none() => AdminCall::Diff,
            PageView::Payload if self.model.payload.is_none() => AdminCall::Payload,
            PageView::Metadata if self.model.metadata.is_none() => AdminCall::Request,
            _ => return,
        };
        if self.model.turn().is_some() {
            let notice = self.model.notice.take();
            self.act(call);
            self.model.notice = notice;
        }
    }

    /// Shows a turn that was opened, at what the user said last.
    fn go_to_turn(&mut self) {
        self.places.truncate(1);
        self.places.push(PagePosition::new(PageView::Turn));
        self.cause = 0;
        self.go_to_words();
    }

    /// Moves the cursor of a turn's page to a section, which may stand elsewhere by now.
    fn stay_with(&mut self, key: &str) {
        let Some(section) = self.model.turn().and_then(|turn| view::find_section(turn, key)) else { return };
        let row = self.model.outline.row_of(section);
        let place = self.place_mut();
        if let Some(row) = row.filter(|_| place.view == PageView::Turn) {
            place.at = row;
        }
    }

    /// Withdraws a question about a turn that is no longer shown.
    fn withdraw_question(&mut self, before: Option<&str>) {
        let now = self.model.turn().map(|turn| turn.digest.as_str());
        let asks = self.question.as_ref().is_some_and(ScreenQuestion::is_of_turn) || self.excepting.is_some();
        if asks && before != now {
            self.question = self.question.take().filter(|question| !question.is_of_turn());
            self.is_deaf |= self.excepting.take().is_some();
            self.model.notify(Level::Warning, "The turn changed while you were asked. Look again.");
        }
    }

    fn outside_closed(&mut self, text: io::Result<String>) {
        let editing = self.outside.take();
        let (mut editing, text) = match (editing, text) {
            (Some(editing), Ok(text)) => (editing, text),
            // It was opened to be read.
            (None, Ok(_)) => return,
            (editing, Err(error)) => {
                let here = if editing.is_some() { "; e edits here" } else { "" };
                return self.refuse(&format!("The editor failed: {error}. Nothing was changed{here}."));
            }
        };
        // Editors end a file with a newline whether or not the text had one.
        let text = match text.strip_suffix('\n') {
            Some(shorter) if !editing.before.expose().ends_with('\n') => shorter,
            _ => &text,
        };
        // Kept in the editor here until the gate has taken it, so that a refusal loses nothing.
        editing.editor = TextEditor::new(text);
        self.editing = Some(editing);
        self.save();
    }

    /// Sends the edited text to the gate. It stays in the editor until the gate has taken it.
    fn save(&mut self) {
        let Some(editing) = &self.editing else { return };
        if !editing.changed() {
            self.editing = None;
            return self.model.notify(Level::Done, "Nothing changed.");
        }
        if self.model.turn().is_none_or(|turn| turn.summary.id != editing.turn) {
            return self.refuse("The turn of this text is over. Copy what you need; Esc leaves the editor.");
        }
        let text = ShownText::new(editing.editor.text());
        self.edit(&match editing.target.clone() {
            TypingTarget::Leaf { pointer } => EditCommand::Set { pointer, text },
            TypingTarget::Before { section } => EditCommand::Insert { before: section, text },
        });
    }

    /// Begins to type a message that is put in before the one that a section belongs to.
    fn begin_message(&mut self, section: usize) {
        let Some(turn) = self.model.turn() else { return };
        let outermost = self.model.outline.outermost(section);
        let Some(before) = turn.sections.get(outermost).filter(|it| it.source_message_index.is_some()) else {
            return self.refuse_typing("Choose a message first: yours is put in before it.");
        };
        let title = format!("A message of the user, put in before {} ({})", before.label, before.path);
        self.editing = Some(Editing {
            turn: turn.summary.id.clone(),
            target: TypingTarget::Before { section: before.key.clone() },
            title,
            editor: TextEditor::default(),
            before: ShownText::new(""),
        });
        self.model.notice = None;
    }

    /// Begins to edit the text of what is chosen.
    ///
    /// # Errors
    /// Says why it cannot be edited.
    fn begin(&self) -> Result<Editing, &'static str> {
        let (section, leaf) = self.chosen_text()?;
        let turn = self.model.turn().map(|turn| turn.summary.id.clone()).unwrap_or_default();
        let put_back = if section.deleted { " (deleted: an edit puts it back)" } else { "" };
        Ok(Editing {
            turn,
            target: TypingTarget::Leaf { pointer: leaf.pointer.clone() },
            title: view::title(section, leaf) + put_back,
            editor: TextEditor::new(leaf.text.expose()),
            before: leaf.text.clone(),
        })
    }

    fn edit_here(&mut self) {
        match self.begin() {
            Err(why) => self.refuse_typing(why),
            Ok(editing) if editing.before.expose().len() > view::LEAF_BYTES => {
                self.refuse_typing("This leaf is too long to be edited here: E opens it in $EDITOR.");
            }
            Ok(editing) => {
                self.model.notice = None;
                self.editing = Some(editing);
            }
        }
    }

    /// Opens what is chosen in the outside editor: a body or what agents asked to be read, a text to be edited.
    fn edit_outside(&mut self) {
        let read = match &self.place().view {
            PageView::Payload => match &self.model.payload {
                Some(payload) => Some(payload.body.clone()),
                // It has not come, and why not is said.
                None => return,
            },
            PageView::Agents => self.model.subagents.as_ref().map(|listed| {
                let rows = rows::subagent_rows(listed, usize::MAX);
                ShownText::new(rows.iter().map(|row| row.text() + "\n").collect::<String>())
            }),
            _ => None,
        };
        let (text, may_edit) = match (read, self.begin()) {
            (Some(text), _) => (text, false),
            (None, Ok(editing)) => (self.outside.insert(editing).before.clone(), true),
            (None, Err(why)) => return self.refuse(why),
        };
        self.model.todo.push_back(ModelEffect::OpenOutside { text, may_edit });
    }

    fn paste(&mut self, text: &str) {
        // Terminals send pasted newlines as carriage returns.
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if let Some(search) = &mut self.search {
            search.insert(&text.replace('\n', " "));
        } else if let Some(excepting) = &mut self.excepting {
            excepting.line_mut().insert(&text.replace('\n', " "));
        } else if let Some(editing) = self.editing.as_mut().filter(|_| self.question.is_none()) {
            editing.editor.insert(&text);
        } else {
            self.model.notify(Level::Warning, "What you pasted was not used: e edits what is chosen.");
        }
    }

    /// Returns what the title of the terminal says.
    pub fn title(&self) -> String {
        match self.model.turns.len() {
            0 => "leafgate: nothing waits".to_owned(),
            1 => "(1) leafgate: a turn waits".to_owned(),
            more => format!("({more}) leafgate: {more} turns wait"),
        }
    }

    fn place(&self) -> &PagePosition {
        self.places.last().expect("the list is never left")
    }

    fn place_mut(&mut self) -> &mut PagePosition {
        self.places.last_mut().expect("the list is never left")
    }

    fn is_small(&self) -> bool {
        self.size.0 < SMALLEST.0 || self.size.1 < SMALLEST.1
    }

    /// Returns columns and rows of the page itself.
    fn body(&self) -> (usize, usize) {
        let others = self.head_rows().len() + 1 + draw::STATUS_ROWS + 1;
        (usize::from(self.size.0), usize::from(self.size.1).saturating_sub(others).max(1))
    }

    fn selected(&self) -> Option<PageItem> {
        let place = self.place();
        place.view.items(&self.model).get(place.at).copied()
    }

    /// Moves cursor and pages to existing rows.
    fn settle(&mut self) {
        if self.is_small()
            && matches!(self.question, Some(ScreenQuestion::Resume { .. } | ScreenQuestion::Release { .. }))
        {
            // The content that would be sent is no longer visible.
            self.question = None;
        }
        if self.model.turn().is_none() {
            self.places.retain(|place| place.view.needs_no_turn());
            self.question = self.question.take().filter(|question| !question.is_of_turn());
            self.is_deaf |= self.excepting.take().is_some();
        }
        let (columns, height) = self.body();
        let place = self.place();
        let (at, top) = match place.view.text(&self.model, columns) {
            Some(rows) => (place.at.min(rows.len().saturating_sub(height)), 0),
            None => {
                let at = place.at.min(place.view.items(&self.model).len().saturating_sub(1));
                (at, place.top.clamp((at + 1).saturating_sub(height), at))
            }
        };
        let place = self.place_mut();
        (place.at, place.top) = (at, top);
    }
}

/// Returns the message for a person who leaves while turns wait.
pub fn farewell(waiting: usize) -> Option<String> {
    match waiting {
        0 => None,
        1 => Some("1 turn keeps waiting until its time is up.".to_owned()),
        more => Some(format!("{more} turns keep waiting until their time is up.")),
    }
}
