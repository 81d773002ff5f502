//! The prompt as a screen: pages, a cursor, an editor and questions over the one state machine.
//!
//! [`Screen::update`] takes what happened and gives what is to be done; [`draw`] shows a screen on a frame; [`run`] is the loop that
//! binds both to a [`crate::AdminApi`], a [`Surface`] and a source of [`Happenings`]. Only the last three do I/O, and tests drive all of it
//! without a terminal or a clock.

mod draw;
mod editor;
mod keys;
mod outside;
mod run;
mod terminal;
mod theme;
mod view;

pub use draw::draw;
pub use editor::Editor;
pub use outside::{EditorCommand, OutsideEditor};
pub use run::{Happenings, Surface, run};
pub use terminal::{TerminalHappenings, TerminalSurface};
pub use theme::Theme;
pub use view::{Place, View};

use std::io;
use std::time::Duration;

use leafgate_admin::{ApiError, EditCommand, Event, ShownText};
use leafgate_tree::Access;
use ratatui::crossterm::event::KeyEvent;

use self::view::Item;
use crate::api::{ApiAnswer, ApiCall};
use crate::model::{Action, Effect, Input, Level, Model};

/// Smallest terminal on which the screen is of use.
pub const SMALLEST: (u16, u16) = (80, 24);

/// Something that happened. No `Debug`: what is typed and pasted may be anything.
pub enum Happening {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// The terminal has so many columns and rows now.
    Resize(u16, u16),
    /// The gate told something.
    Gate(Event),
    /// The gate's events stopped coming.
    Lost(ApiError),
    /// This much time has passed.
    Tick(Duration),
    /// The gate answered a call.
    Answer(ApiAnswer),
    /// The editor outside was closed, with the text that it left.
    Outside(io::Result<String>),
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToDo {
    /// Make this call and hand its answer back.
    Ask(ApiCall),
    /// Ring.
    Bell,
    /// Open this text in the person's own editor.
    EditOutside(ShownText),
    /// End.
    Leave,
}

/// A leaf being edited.
#[derive(Clone, Debug)]
struct Editing {
    /// The turn that the leaf belongs to: another one may be open by the time the text is saved.
    turn: String,
    pointer: String,
    title: String,
    editor: Editor,
    /// The text that the editing began with.
    before: ShownText,
}

impl Editing {
    fn changed(&self) -> bool {
        self.editor.text() != self.before.expose()
    }
}

/// A question that waits for `y` or `n`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Question {
    Resume { digest: String },
    Cancel,
    Discard,
}

/// Everything that is shown.
#[derive(Debug)]
pub struct Screen {
    model: Model,
    places: Vec<Place>,
    editing: Option<Editing>,
    /// The leaf whose text is in the editor outside, as it was handed over.
    outside: Option<Editing>,
    question: Option<Question>,
    /// The search line while it is typed.
    search: Option<Editor>,
    /// What was searched for last, in lower case.
    wanted: String,
    size: (u16, u16),
}

impl Screen {
    /// A screen of so many columns and rows, and the first thing to do.
    #[must_use]
    pub fn new(columns: u16, rows: u16) -> (Screen, Vec<ToDo>) {
        let screen = Screen {
            model: Model::default(),
            places: vec![Place::new(View::List)],
            editing: None,
            outside: None,
            question: None,
            search: None,
            wanted: String::new(),
            size: (columns, rows),
        };
        (screen, vec![ToDo::Ask(ApiCall::Pending)])
    }

    /// What is known of the gate.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Takes in what happened.
    pub fn update(&mut self, happening: Happening) -> Vec<ToDo> {
        let todo = match happening {
            Happening::Key(key) => self.key(key),
            Happening::Paste(text) => {
                self.paste(&text);
                Vec::new()
            }
            Happening::Resize(columns, rows) => {
                self.size = (columns, rows);
                Vec::new()
            }
            Happening::Gate(event) => self.gate(event),
            Happening::Lost(error) => {
                let text = format!(
                    "{}. What is shown may be old; L asks again.",
                    error.message.trim_end_matches('.')
                );
                self.model.say(Level::Error, text);
                Vec::new()
            }
            Happening::Tick(passed) => self.input(Input::Tick(passed)),
            Happening::Answer(answer) => self.answered(answer),
            Happening::Outside(text) => self.outside_closed(text),
        };
        self.settle();
        todo
    }

    fn act(&mut self, action: Action) -> Vec<ToDo> {
        self.input(Input::Act(action))
    }

    fn input(&mut self, input: Input) -> Vec<ToDo> {
        let effects = self.model.update(input).into_iter();
        effects
            .map(|effect| match effect {
                Effect::Ask(call) => ToDo::Ask(call),
                Effect::Bell => ToDo::Bell,
            })
            .collect()
    }

    fn gate(&mut self, event: Event) -> Vec<ToDo> {
        // A person who waits at an empty list wants to see the first turn that comes.
        let arrived = match &event {
            Event::Paused { turn } if self.is_idle() => Some(turn.id.clone()),
            _ => None,
        };
        let mut todo = self.input(Input::Gate(event));
        todo.extend(arrived.map(|id| ToDo::Ask(ApiCall::Turn { id })));
        todo
    }

    /// Whether nothing is looked at, and nothing typed.
    fn is_idle(&self) -> bool {
        self.model.turns().is_empty() && self.place().view == View::List && self.editing.is_none()
    }

    fn answered(&mut self, answer: ApiAnswer) -> Vec<ToDo> {
        let before = self.model.turn().map(|turn| turn.digest.clone());
        let had_diff = self.place().view == View::Diff;
        let edited = matches!(answer, ApiAnswer::Edit(Ok(_)));
        let opened = matches!(answer, ApiAnswer::Turn(Ok(_)));
        let only_one = matches!(&answer, ApiAnswer::Pending(Ok(turns)) if turns.len() == 1);
        let diffed = matches!(answer, ApiAnswer::Diff(Ok(_)));
        let mut todo = self.input(Input::Answer(answer));
        if edited {
            self.editing = None;
        }
        if opened && self.place().view == View::List {
            self.places.push(Place::new(View::Turn));
        }
        if only_one && self.places.len() == 1 {
            let id = self.model.turns()[0].id.clone();
            todo.push(ToDo::Ask(ApiCall::Turn { id }));
        }
        if diffed && !had_diff {
            self.places.push(Place::new(View::Diff));
        }
        self.withdraw_question(before.as_deref());
        if had_diff && self.model.diff().is_none() && self.model.turn().is_some() {
            todo.extend(self.act_quietly(Action::Diff));
        }
        todo
    }

    /// Like [`Screen::act`], for what the person did not ask for: the last notice stays.
    fn act_quietly(&mut self, action: Action) -> Vec<ToDo> {
        let notice = self.model.notice().cloned();
        let todo = self.act(action);
        if let Some(notice) = notice {
            self.model.say(notice.level, notice.text);
        }
        todo
    }

    /// A question about what was shown is void once something else is.
    fn withdraw_question(&mut self, before: Option<&str>) {
        let now = self.model.turn().map(|turn| turn.digest.as_str());
        if matches!(self.question, Some(Question::Resume { .. } | Question::Cancel)) && before != now {
            self.question = None;
            self.model.say(Level::Warning, "The turn changed while you were asked. Look again.");
        }
    }

    fn outside_closed(&mut self, text: io::Result<String>) -> Vec<ToDo> {
        let Some(mut editing) = self.outside.take() else { return Vec::new() };
        let text = match text {
            Ok(text) => text,
            Err(error) => {
                self.model.say(
                    Level::Error,
                    format!("The editor failed: {error}. Nothing was changed; e edits here."),
                );
                return Vec::new();
            }
        };
        // Editors end a file with a newline whether or not the text had one.
        let text = match text.strip_suffix('\n') {
            Some(shorter) if !editing.before.expose().ends_with('\n') => shorter,
            _ => &text,
        };
        // Kept in the editor here until the gate has taken it, so that a refusal loses nothing.
        editing.editor = Editor::new(text);
        self.editing = Some(editing);
        self.save()
    }

    /// Sends what is being edited to the gate; it stays in the editor until it is taken.
    fn save(&mut self) -> Vec<ToDo> {
        let Some(editing) = &self.editing else { return Vec::new() };
        if !editing.changed() {
            self.editing = None;
            self.model.say(Level::Done, "Nothing changed.");
            return Vec::new();
        }
        if self.model.turn().is_none_or(|turn| turn.summary.id != editing.turn) {
            self.model.say(
                Level::Error,
                "The turn of this text is over. Copy what you need; Esc leaves the editor.",
            );
            return Vec::new();
        }
        let text = ShownText::new(editing.editor.text());
        self.act(Action::Edit(EditCommand::Set { pointer: editing.pointer.clone(), text }))
    }

    /// A leaf as something to edit; where nobody may, says why.
    fn begin(&mut self, pointer: String) -> Option<Editing> {
        let turn = self.model.turn()?.summary.id.clone();
        let (section, leaf) = view::find_leaf(&self.model, &pointer)?;
        let refusal = match leaf.access {
            Access::Frozen => Some("The API checks a signature over this leaf: nobody may change it."),
            Access::Opaque => Some("This leaf is media and cannot be edited as text."),
            _ if section.deleted => Some("The section is deleted: r restores it."),
            _ => None,
        };
        let (title, before) = (view::title(section, leaf), leaf.text.clone());
        match refusal {
            Some(text) => {
                self.model.say(Level::Error, text);
                None
            }
            None => Some(Editing { turn, pointer, title, editor: Editor::new(before.expose()), before }),
        }
    }

    fn edit_here(&mut self, pointer: String) {
        if let Some(editing) = self.begin(pointer) {
            if editing.before.expose().len() > view::LEAF_BYTES {
                self.model
                    .say(Level::Error, "This leaf is too long to be edited here: E opens it in $EDITOR.");
                return;
            }
            self.model.hush();
            self.editing = Some(editing);
        }
    }

    fn edit_outside(&mut self, pointer: String) -> Vec<ToDo> {
        let Some(editing) = self.begin(pointer) else { return Vec::new() };
        let text = editing.before.clone();
        self.outside = Some(editing);
        vec![ToDo::EditOutside(text)]
    }

    fn paste(&mut self, text: &str) {
        // Terminals send pasted newlines as carriage returns.
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if let Some(search) = &mut self.search {
            search.insert(&text.replace('\n', " "));
        } else if let Some(editing) = self.editing.as_mut().filter(|_| self.question.is_none()) {
            editing.editor.insert(&text);
        }
    }

    fn place(&self) -> &Place {
        self.places.last().expect("the list is never left")
    }

    fn place_mut(&mut self) -> &mut Place {
        self.places.last_mut().expect("the list is never left")
    }

    fn is_small(&self) -> bool {
        self.size.0 < SMALLEST.0 || self.size.1 < SMALLEST.1
    }

    /// Columns and rows for the page itself.
    fn body(&self) -> (usize, usize) {
        let others = self.head_rows().len() + 1 + draw::STATUS_ROWS + 1;
        (usize::from(self.size.0), usize::from(self.size.1).saturating_sub(others).max(1))
    }

    fn selected(&self) -> Option<Item> {
        let place = self.place();
        place.view.items(&self.model).get(place.at).copied()
    }

    /// Brings cursor and pages back to what there is.
    fn settle(&mut self) {
        if self.is_small() && matches!(self.question, Some(Question::Resume { .. })) {
            // What would be sent can no longer be seen.
            self.question = None;
        }
        if self.model.turn().is_none() {
            self.places.retain(|place| matches!(place.view, View::List | View::Help));
            if matches!(self.question, Some(Question::Resume { .. } | Question::Cancel)) {
                self.question = None;
            }
        }
        let (columns, height) = self.body();
        let place = self.place();
        let (at, top) = if place.view.is_text() {
            (place.at.min(place.view.text(&self.model, columns).len().saturating_sub(height)), 0)
        } else {
            let at = place.at.min(place.view.items(&self.model).len().saturating_sub(1));
            (at, place.top.clamp((at + 1).saturating_sub(height), at))
        };
        let place = self.place_mut();
        (place.at, place.top) = (at, top);
    }
}

/// What to tell a person who leaves while turns wait.
#[must_use]
pub fn farewell(waiting: usize) -> Option<String> {
    match waiting {
        0 => None,
        1 => Some("1 turn keeps waiting until its time is up.".to_owned()),
        more => Some(format!("{more} turns keep waiting until their time is up.")),
    }
}
