//! The screen: what it looks like after a script of keys, run through the same loop as in a terminal.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use leafgate_admin::{ApiError, Diff, EditCommand, Event, Shown, State, Turn, TurnSummary};
use leafgate_review::Desk;
use leafgate_review::screen::{Happening, Happenings, OutsideEditor, Screen, Surface, Theme, draw, run};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Span;

use crate::support::{AGENT, FakeDesk, SECRET, error, hostile_body};

/// One step of a script.
enum Step {
    Happens(Box<Happening>),
    /// Something is done behind the prompt's back.
    Meddle(Box<dyn FnOnce(&mut FakeDesk)>),
}

#[derive(Clone)]
struct Shared(Rc<RefCell<FakeDesk>>);

impl Desk for Shared {
    fn pending(&mut self) -> Result<Vec<TurnSummary>, ApiError> {
        self.0.borrow_mut().pending()
    }
    fn turn(&mut self, id: &str) -> Result<Turn, ApiError> {
        self.0.borrow_mut().turn(id)
    }
    fn diff(&mut self, id: &str) -> Result<Diff, ApiError> {
        self.0.borrow_mut().diff(id)
    }
    fn edit(&mut self, id: &str, command: EditCommand) -> Result<Turn, ApiError> {
        self.0.borrow_mut().edit(id, command)
    }
    fn resume(&mut self, id: &str, digest: &str) -> Result<TurnSummary, ApiError> {
        self.0.borrow_mut().resume(id, digest)
    }
    fn cancel(&mut self, id: &str) -> Result<TurnSummary, ApiError> {
        self.0.borrow_mut().cancel(id)
    }
}

struct Script {
    steps: VecDeque<Step>,
    desk: Shared,
}

impl Happenings for Script {
    fn next(&mut self, _: Duration) -> io::Result<Happening> {
        loop {
            match self.steps.pop_front() {
                Some(Step::Happens(happening)) => return Ok(*happening),
                Some(Step::Meddle(meddle)) => meddle(&mut self.desk.0.borrow_mut()),
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}

struct Paper {
    terminal: Terminal<TestBackend>,
    shown: String,
    bells: usize,
    suspended: usize,
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
        // The frame, not the backend: the latter keeps old cells under the second half of a wide character.
        self.shown = rows_of(frame.buffer);
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
struct Replace(&'static str);

impl OutsideEditor for Replace {
    fn edit(&mut self, _: &str) -> io::Result<String> {
        Ok(format!("{}\n", self.0))
    }
}

/// A prompt under test.
struct Player {
    desk: Shared,
    paper: Paper,
    steps: Vec<Step>,
    outside: Replace,
}

impl Player {
    fn new(bodies: &[&str]) -> Player {
        Player::sized(bodies, 80, 24)
    }

    fn sized(bodies: &[&str], columns: u16, rows: u16) -> Player {
        let terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        Player {
            desk: Shared(Rc::new(RefCell::new(FakeDesk::with(bodies)))),
            paper: Paper { terminal, shown: String::new(), bells: 0, suspended: 0 },
            steps: Vec::new(),
            outside: Replace("from outside"),
        }
    }

    /// Keys by name, `^x` with control, `'text` as typed (`_` is a space).
    fn keys(mut self, script: &str) -> Player {
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
            "end" => self.key(KeyCode::End, none),
            "pgdn" => self.key(KeyCode::PageDown, none),
            name => match name.strip_prefix('^') {
                Some(letter) => {
                    self.key(KeyCode::Char(letter.chars().next().unwrap()), KeyModifiers::CONTROL)
                }
                None => name.chars().fold(self, |player, c| player.key(KeyCode::Char(c), none)),
            },
        }
    }

    fn key(self, code: KeyCode, modifiers: KeyModifiers) -> Player {
        self.happens(Happening::Key(KeyEvent::new(code, modifiers)))
    }

    fn happens(mut self, happening: Happening) -> Player {
        self.steps.push(Step::Happens(Box::new(happening)));
        self
    }

    fn meddle(mut self, meddle: impl FnOnce(&mut FakeDesk) + 'static) -> Player {
        self.steps.push(Step::Meddle(Box::new(meddle)));
        self
    }

    /// Runs the script and returns what the screen shows at its end, with the cursor where there is one.
    fn screen(&mut self) -> String {
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

    fn edits(&self) -> usize {
        self.desk.0.borrow().turns[0].draft.edits().count()
    }
}

const OTHER: &str = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#;

fn set(pointer: &str, text: &str) -> EditCommand {
    EditCommand::Set { pointer: pointer.to_owned(), text: Shown::new(text) }
}

#[test]
fn a_list_of_turns() {
    insta::assert_snapshot!(Player::new(&[AGENT, OTHER]).keys("down").screen());
    insta::assert_snapshot!("an_empty_list", Player::new(&[]).screen());
}

#[test]
fn why_it_waits() {
    insta::assert_snapshot!(Player::new(&[AGENT]).screen());
    insta::assert_snapshot!("why_it_waits_wide", Player::sized(&[AGENT], 120, 40).screen());
}

#[test]
fn a_section_as_a_tree_of_leaves() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("jjj enter jjj").screen());
    insta::assert_snapshot!(
        "a_tool_result",
        Player::sized(&[AGENT], 120, 40).keys("jjjjjjjj enter end").screen()
    );
}

#[test]
fn a_leaf_in_full() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("jjjjjjjj enter end enter").screen());
}

#[test]
fn a_leaf_is_edited_inline() {
    let mut player = Player::new(&[AGENT]).keys("end enter end e ^u 'First_line alt-enter 'second");
    insta::assert_snapshot!(player.screen());
    assert_eq!(player.edits(), 0);
}

#[test]
fn an_edit_bears_its_author() {
    let mut player = Player::new(&[AGENT]).keys("end enter end e ^w 'differently. enter");
    insta::assert_snapshot!(player.screen());
    insta::assert_snapshot!(
        "an_edit_seen_from_the_turn",
        Player::new(&[AGENT]).keys("end enter end e '! enter esc").screen()
    );
    assert_eq!(player.edits(), 1);
}

#[test]
fn what_was_typed_survives_a_refusal() {
    let mut player = Player::new(&[AGENT]).keys("j enter e ^u 'warm enter");
    insta::assert_snapshot!(player.screen());
    assert_eq!(player.edits(), 0);
}

#[test]
fn what_was_typed_survives_the_end_of_its_turn() {
    let gone = FakeDesk::with(&[AGENT]).pending().unwrap().remove(0);
    let resolved = Event::Resolved { turn: TurnSummary { state: State::TimedOut, ..gone } };
    let script = Player::new(&[AGENT]).keys("end enter end e 'Typed").happens(Happening::Gate(resolved));
    let other = Event::Paused { turn: FakeDesk::with(&[OTHER]).pending().unwrap().remove(0) };
    let mut player = script.happens(Happening::Gate(other)).keys("enter");
    insta::assert_snapshot!(player.screen());
}

#[test]
fn typed_text_is_discarded_only_after_a_question() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("end enter end e 'more esc x").screen());
    let mut player = Player::new(&[AGENT]).keys("end enter end e 'more esc y");
    assert!(player.screen().contains("What was typed is discarded."));
}

#[test]
fn a_deleted_section_says_so() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("jjjjjjjj d").screen());
    let mut player = Player::new(&[AGENT]).keys("jjjjjjjj d u");
    assert!(!player.screen().contains("[deleted"));
    let mut player = Player::new(&[AGENT]).keys("jjjjjjjj d u U r");
    assert!(player.screen().contains("[restored by person]"));
}

#[test]
fn a_diff_follows_edits() {
    let edits = "end enter end e ^u 'Look_again alt-enter 'Be_brief enter esc D";
    insta::assert_snapshot!(Player::new(&[AGENT]).keys(edits).screen());
    let mut player = Player::new(&[AGENT]).keys(edits).keys("u");
    assert!(!player.screen().contains("Look again"));
}

#[test]
fn the_help_page() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("?").screen());
}

#[test]
fn a_resume_asks_and_sends_what_is_shown() {
    let mut player = Player::new(&[AGENT]).keys("^s");
    let digest = player.desk.0.borrow().turns[0].digest();
    insta::assert_snapshot!(player.screen());
    assert!(player.desk.0.borrow().resumed.is_empty());
    let mut player = Player::new(&[AGENT]).keys("s x y");
    insta::assert_snapshot!("after_a_resume", player.screen());
    assert_eq!(player.desk.0.borrow().resumed, [digest]);
}

#[test]
fn a_refused_question_decides_nothing() {
    let mut player = Player::new(&[AGENT]).keys("s ^y n c esc c ^c");
    assert!(player.screen().contains("Nothing was decided."));
    let desk = player.desk.0.borrow();
    assert!(desk.resumed.is_empty() && desk.cancelled.is_empty());
}

#[test]
fn a_cancel_asks() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("c").screen());
    let mut player = Player::new(&[AGENT]).keys("c y");
    assert!(player.screen().contains("cancelled, nothing was sent"));
    assert_eq!(player.desk.0.borrow().cancelled, ["t1"]);
}

#[test]
fn a_stale_resume_is_refused_and_shows_what_changed() {
    let mut player = Player::new(&[AGENT])
        .keys("s")
        .meddle(|desk| desk.turns[0].edit(&set("/messages/4/content", "Changed elsewhere.")).unwrap())
        .keys("y");
    insta::assert_snapshot!(player.screen());
    assert!(player.desk.0.borrow().resumed.is_empty());
}

#[test]
fn a_change_withdraws_the_question() {
    let mut other = FakeDesk::with(&[AGENT]);
    let changed = Event::Changed { turn: other.pending().unwrap().remove(0) };
    let mut player = Player::new(&[AGENT])
        .keys("s")
        .meddle(|desk| desk.turns[0].edit(&set("/messages/4/content", "Changed elsewhere.")).unwrap())
        .happens(Happening::Gate(changed))
        .keys("y");
    let shown = player.screen();
    assert!(
        shown.contains("changed while you were asked") && shown.contains("Changed elsewhere."),
        "{shown}"
    );
    assert!(player.desk.0.borrow().resumed.is_empty());
}

#[test]
fn a_small_terminal_can_only_cancel() {
    insta::assert_snapshot!(Player::sized(&[AGENT], 60, 12).keys("s c").screen());
    let mut player = Player::new(&[AGENT]).keys("s").happens(Happening::Resize(60, 12)).keys("y s y c y");
    player.screen();
    let desk = player.desk.0.borrow();
    assert!(desk.resumed.is_empty());
    assert_eq!(desk.cancelled, ["t1"]);
}

#[test]
fn hostile_text_is_shown_as_numbers() {
    let body = hostile_body();
    insta::assert_snapshot!(Player::new(&[&body]).screen());
    insta::assert_snapshot!("hostile_text_in_the_editor", Player::new(&[&body]).keys("j enter j e").screen());
    insta::assert_snapshot!("hostile_text_in_full", Player::new(&[&body]).keys("j enter j enter").screen());
    insta::assert_snapshot!(
        "a_long_text_scrolled",
        Player::new(&[&body]).keys("end enter end enter pgdn").screen()
    );
}

#[test]
fn a_secret_typed_in_is_never_shown_again() {
    let mut player = Player::new(&[AGENT]).keys("end enter end e ^u 'use_").keys(&format!("'{SECRET} enter"));
    let shown = player.screen();
    assert!(shown.contains("‹PASSWORD_") && !shown.contains(SECRET), "{shown}");
}

#[test]
fn an_outside_editor_gets_the_terminal_and_its_last_newline_is_its_own() {
    let mut player = Player::new(&[AGENT]).keys("end enter end E");
    assert!(player.screen().contains("content [edited by person]: from outside"));
    assert_eq!(player.paper.suspended, 1);
    let desk = player.desk.0.borrow();
    let rendered = desk.turns[0].draft.render();
    assert!(std::str::from_utf8(&rendered).unwrap().contains(r#""from outside""#));
}

#[test]
fn what_the_outside_editor_left_survives_a_refusal() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("j enter E").screen());
}

#[test]
fn a_search_goes_round() {
    let mut player = Player::new(&[AGENT]).keys("/ 'DATABASE enter");
    let shown = player.screen();
    assert!(shown.contains("▸   Content #2"), "{shown}");
    let mut player = Player::new(&[AGENT]).keys("/ 'nowhere enter");
    assert!(player.screen().contains("Not found here: nowhere"));
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("/ 'data").screen());
}

#[test]
fn a_turn_that_arrives_rings_and_opens_on_an_empty_list() {
    let arrived = FakeDesk::with(&[AGENT]).pending().unwrap().remove(0);
    let mut player = Player::new(&[])
        .meddle(|desk| desk.turns = FakeDesk::with(&[AGENT]).turns)
        .happens(Happening::Gate(Event::Paused { turn: arrived }));
    assert!(player.screen().contains("Paused by production"));
    assert_eq!(player.paper.bells, 1);
}

#[test]
fn time_passes_and_failures_are_told() {
    let mut player = Player::new(&[AGENT])
        .happens(Happening::Tick(Duration::from_secs(60)))
        .meddle(|desk| {
            desk.fail_next = Some(error("unreachable", "the gate does not answer", Some("is it running?")))
        })
        .keys("D");
    let shown = player.screen();
    assert!(
        shown.contains("3:47 left") && shown.contains("✗ the gate does not answer: is it running?"),
        "{shown}"
    );
}

#[test]
fn leaving_decides_nothing() {
    let mut player = Player::new(&[AGENT, OTHER]).keys("enter q");
    let mut script = Script { steps: player.steps.drain(..).collect(), desk: player.desk.clone() };
    let waiting = run(&mut player.desk, &mut script, &mut player.paper, &mut player.outside).unwrap();
    assert_eq!(waiting, 2);
    assert_eq!(
        leafgate_review::screen::farewell(waiting).unwrap(),
        "2 turns keep waiting until their time is up."
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is pressed, nothing is decided without a yes, and no text that a terminal obeys reaches a cell.
    #[test]
    fn keys_in_any_order_decide_nothing_without_a_yes(
        script in prop::collection::vec(
            prop::sample::select(vec![
                "j", "k", "enter", "esc", "e", "E", "d", "r", "u", "U", "X", "D", "s", "c", "/", "n", "N", "L", "?", "end", "pgdn",
                "alt-enter", "^u", "^w", "^s", "'x", "'\u{1b}", "'日", "y",
            ]),
            0..40,
        )
    ) {
        let hostile = hostile_body();
        let mut player = Player::new(&[AGENT, &hostile]).keys(&script.join(" "));
        player.screen();
        let desk = player.desk.0.borrow();
        let decided = desk.resumed.len() + desk.cancelled.len();
        prop_assert!(decided <= script.iter().filter(|&&key| key == "y").count());
        prop_assert_eq!(desk.turns.len() + decided, 2);
    }
}
