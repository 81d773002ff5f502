//! A person at the screen: a script of keys run through the real loop, over a gate in memory and a
//! frame in memory.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use leafgate_admin::ApiError;
use leafgate_review::screen::{EventSource, OutsideEditor, Screen, ScreenEvent, Surface, Theme, draw, run};
use leafgate_review::{AdminApi, ApiCall};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Span;

use crate::support::FakeDesk;

/// One step of a script.
pub(crate) enum Step {
    Happens(Box<ScreenEvent>),
    /// Something is done behind the prompt's back.
    Meddle(Box<dyn FnOnce(&mut FakeDesk)>),
}

#[derive(Clone)]
pub(crate) struct Shared(pub(crate) Rc<RefCell<FakeDesk>>);

impl AdminApi for Shared {
    fn make(&mut self, call: &ApiCall) -> Result<Vec<u8>, ApiError> {
        self.0.borrow_mut().make(call)
    }
}

pub(crate) struct Script {
    steps: VecDeque<Step>,
    desk: Shared,
}

impl EventSource for Script {
    fn next(&mut self, _: Duration) -> io::Result<ScreenEvent> {
        loop {
            match self.steps.pop_front() {
                Some(Step::Happens(event)) => return Ok(*event),
                Some(Step::Meddle(meddle)) => meddle(&mut self.desk.0.borrow_mut()),
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}

pub(crate) struct Paper {
    terminal: Terminal<TestBackend>,
    shown: String,
    pub(crate) bells: usize,
    pub(crate) suspended: usize,
    pub(crate) title: String,
}

fn rows_of(buffer: &Buffer) -> String {
    let rows = buffer.content().chunks(usize::from(buffer.area.width)).map(|cells| {
        let mut row = String::new();
        let mut covered = 0;
        for cell in cells {
            if covered == 0 {
                row.push_str(cell.symbol());
            }
            covered = Span::raw(cell.symbol()).width().max(covered).saturating_sub(1);
        }
        row.trim_end().to_owned()
    });
    rows.collect::<Vec<_>>().join("\n")
}

impl Surface for Paper {
    fn size(&mut self) -> io::Result<(u16, u16)> {
        let area = self.terminal.backend().buffer().area;
        Ok((area.width, area.height))
    }
    fn draw(&mut self, screen: &Screen) -> io::Result<()> {
        let frame = self.terminal.draw(|frame| draw(screen, Theme::Plain, frame)).unwrap();
        for cell in frame.buffer.content() {
            assert!(!cell.symbol().contains(char::is_control), "a control character reached a cell");
        }
        // The frame, not the backend: the latter keeps old cells under the second half of a wide
        // character.
        self.shown = rows_of(frame.buffer);
        Ok(())
    }
    fn title(&mut self, title: &str) -> io::Result<()> {
        title.clone_into(&mut self.title);
        Ok(())
    }
    fn bell(&mut self) -> io::Result<()> {
        self.bells += 1;
        Ok(())
    }
    fn suspend(&mut self) -> io::Result<()> {
        self.suspended += 1;
        Ok(())
    }
    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An outside editor that replaces the text, and ends it with a newline as editors do.
pub(crate) struct Replace(&'static str, pub(crate) Vec<String>);

impl OutsideEditor for Replace {
    fn open(&mut self, text: &str, may_edit: bool) -> io::Result<String> {
        if may_edit {
            return Ok(format!("{}\n", self.0));
        }
        self.1.push(text.to_owned());
        Ok(text.to_owned())
    }
}

/// A prompt under test.
pub(crate) struct Player {
    pub(crate) desk: Shared,
    pub(crate) paper: Paper,
    steps: Vec<Step>,
    pub(crate) outside: Replace,
}

impl Player {
    pub(crate) fn new(bodies: &[&str]) -> Player {
        Player::sized(bodies, 80, 24)
    }

    pub(crate) fn sized(bodies: &[&str], columns: u16, rows: u16) -> Player {
        let terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        Player {
            desk: Shared(Rc::new(RefCell::new(FakeDesk::with(bodies)))),
            paper: Paper { terminal, shown: String::new(), bells: 0, suspended: 0, title: String::new() },
            steps: Vec::new(),
            outside: Replace("from outside", Vec::new()),
        }
    }

    /// Keys by name, `^x` with control, `alt-x` with Alt, `'text` as typed (`_` is a space).
    pub(crate) fn keys(mut self, script: &str) -> Player {
        for word in script.split_whitespace() {
            match word.strip_prefix('\'') {
                Some(text) => {
                    for c in text.replace('_', " ").chars() {
                        self = self.key(KeyCode::Char(c), KeyModifiers::NONE);
                    }
                }
                None => self = self.named(word),
            }
        }
        self
    }

    fn named(self, name: &str) -> Player {
        let none = KeyModifiers::NONE;
        match name {
            "enter" => self.key(KeyCode::Enter, none),
            "alt-enter" => self.key(KeyCode::Enter, KeyModifiers::ALT),
            "esc" => self.key(KeyCode::Esc, none),
            "down" => self.key(KeyCode::Down, none),
            "up" => self.key(KeyCode::Up, none),
            "home" => self.key(KeyCode::Home, none),
            "left" => self.key(KeyCode::Left, none),
            "right" => self.key(KeyCode::Right, none),
            "end" => self.key(KeyCode::End, none),
            "pgdn" => self.key(KeyCode::PageDown, none),
            "tab" => self.key(KeyCode::Tab, none),
            "backtab" => self.key(KeyCode::BackTab, KeyModifiers::SHIFT),
            name => match (name.strip_prefix('^'), name.strip_prefix("alt-")) {
                (Some(letter), _) => self.key(KeyCode::Char(letter.parse().unwrap()), KeyModifiers::CONTROL),
                (_, Some(letter)) => self.key(KeyCode::Char(letter.parse().unwrap()), KeyModifiers::ALT),
                _ => name.chars().fold(self, |player, c| player.key(KeyCode::Char(c), none)),
            },
        }
    }

    fn key(self, code: KeyCode, modifiers: KeyModifiers) -> Player {
        self.happens(ScreenEvent::Key(KeyEvent::new(code, modifiers)))
    }

    pub(crate) fn happens(mut self, event: ScreenEvent) -> Player {
        self.steps.push(Step::Happens(Box::new(event)));
        self
    }

    pub(crate) fn meddle(mut self, meddle: impl FnOnce(&mut FakeDesk) + 'static) -> Player {
        self.steps.push(Step::Meddle(Box::new(meddle)));
        self
    }

    /// Runs the script and returns what the screen shows at its end, with the cursor where there is
    /// one.
    pub(crate) fn screen(&mut self) -> String {
        let mut script = Script { steps: self.steps.drain(..).collect(), desk: self.desk.clone() };
        let ended = run(&mut self.desk, &mut script, &mut self.paper, &mut self.outside);
        assert_eq!(
            ended.unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof,
            "the prompt was left before the script ended"
        );
        let backend = self.paper.terminal.backend();
        let mut shown = self.paper.shown.clone();
        if backend.cursor_visible() {
            shown.push_str(&format!("\ncursor at {}", backend.cursor_position()));
        }
        shown
    }

    /// Runs a script that leaves the prompt; returns how many turns still wait.
    pub(crate) fn leave(&mut self) -> usize {
        let mut script = Script { steps: self.steps.drain(..).collect(), desk: self.desk.clone() };
        run(&mut self.desk, &mut script, &mut self.paper, &mut self.outside).unwrap()
    }

    /// Edits in force in the first turn.
    pub(crate) fn edits(&self) -> usize {
        self.desk.0.borrow().turns[0].draft.edits().count()
    }
}
