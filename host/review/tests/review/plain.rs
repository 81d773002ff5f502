//! The line mode: transcripts, each a list of commands and everything that was printed.

use std::cell::RefCell;
use std::io::{self, BufRead, Read, Write};
use std::rc::Rc;

use leafgate_admin::{SavedScope, TurnMode};

use crate::support::{AGENT, CONTACT, FakeDesk, SECRET, hostile_body};

/// What a terminal would show: output, and input as it is read.
#[derive(Clone, Default)]
struct Tape(Rc<RefCell<Vec<u8>>>);

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Input that is echoed line by line.
struct Typed<'a>(&'a [u8], Tape);

impl Read for Typed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl BufRead for Typed<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.0)
    }

    fn consume(&mut self, count: usize) {
        let (read, rest) = self.0.split_at(count);
        self.1.0.borrow_mut().extend_from_slice(read);
        self.0 = rest;
    }
}

fn transcript(desk: &mut FakeDesk, commands: &str) -> String {
    let tape = Tape::default();
    let mut output = tape.clone();
    leafgate_review::plain::run(desk, &mut Typed(commands.as_bytes(), tape.clone()), &mut output, "> ")
        .unwrap();
    String::from_utf8(tape.0.take()).unwrap()
}

#[test]
fn a_turn_is_opened_edited_and_sent() {
    let mut desk = FakeDesk::with(&[AGENT]);
    let shown = transcript(
        &mut desk,
        "open 5\nopen 5.2\nedit 5.2\nLook at the logs first.\n..hidden\n.\nundo\nredo\ndelete 10\nrestore 10\ndiff\nresume\n",
    );
    insta::assert_snapshot!(shown);
    assert_eq!(desk.resumed.len(), 1);
}

// S0-59
#[test]
fn several_turns_are_listed_and_none_is_decided_by_leaving() {
    let mut desk = FakeDesk::with(&[AGENT, r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#]);
    insta::assert_snapshot!(transcript(&mut desk, "resume\nshow 3\nshow 2\nlist\nquit\n"));
    assert!(desk.resumed.is_empty() && desk.cancelled.is_empty());
}

// S0-66, S0-71
#[test]
fn a_turn_that_is_captured_shows_its_first_sections_line_by_line() {
    let mut desk = FakeDesk::with(&[AGENT]);
    assert!(!transcript(&mut desk, "").contains("Later messages"));
    desk.mode = TurnMode::AutoOverride;
    desk.turns[0].summary.mode = Some(TurnMode::AutoOverride);
    let shown = transcript(&mut desk, "");
    assert!(shown.lines().any(|line| line.starts_with("+ Later messages: ")), "{shown}");
}

// S0-69, S0-70, S0-71, S0-134
#[test]
fn saved_edits_are_removed_scoped_and_bounded_line_by_line() {
    let after = |commands: &str| {
        let mut desk = FakeDesk::with(&[AGENT]);
        let shown = transcript(&mut desk, commands);
        let ids: String = desk.saved.edits.iter().map(|edit| edit.id.as_str()).collect();
        (shown, ids, desk.saved.status.scope, desk.saved.status.preview_limit)
    };
    let (shown, ids, ..) = after("saved\nsaved remove 2\n");
    assert_eq!(ids, "1a");
    let listed = shown.split_once("> saved\n").unwrap().1;
    insta::assert_snapshot!(listed);
    assert_eq!(after("saved\nsaved clear\n").1, "2b");
    assert_eq!(after("saved scope workspace\n").2, SavedScope::Workspace);
    assert_eq!(after("saved sections 7\n").3, 7);
    // What was not printed has no number.
    let (shown, ids, ..) =
        after("saved remove 1\nsaved\nsaved remove 3\nsaved remove\nsaved frob\nsaved scope x\n");
    assert_eq!(
        (ids.as_str(), shown.matches("no saved edit has this number").count()),
        ("1a2b", 2),
        "{shown}"
    );
    assert_eq!(
        shown
            .matches("`saved` is typed otherwise. `saved`: the saved edits, numbered; saved remove N")
            .count(),
        3,
        "{shown}"
    );
}

#[test]
fn refusals_say_what_to_do() {
    let mut desk = FakeDesk::with(&[AGENT]);
    let shown = transcript(
        &mut desk,
        "frobnicate\nopen\nopen 99\nopen 2.9\nedit 4\ncancel\n.\nedit 2.1\nwarm\n.\nundo\ndelete 4\nresume now\nhelp\n",
    );
    insta::assert_snapshot!(shown);
    assert!(desk.cancelled.is_empty(), "text behind a malformed edit was taken for a command");
}

#[test]
fn only_what_was_printed_with_a_number_is_found() {
    for line in [
        "open 0",
        "open 3.0",
        "open 3.",
        "open x",
        "open -1",
        "open 1 2",
        "pin 5 x",
        "delete 3.2",
        "select 9",
    ] {
        let mut desk = FakeDesk::with(&[AGENT]);
        let shown = transcript(&mut desk, &format!("{line}\n"));
        assert_eq!(shown.matches("error: ").count(), 1, "{shown}");
        assert_eq!(desk.turns[0].draft.edits().count(), 0, "{line}");
    }
}

#[test]
fn what_is_chosen_by_a_word_is_chosen_by_a_known_one() {
    let mut desk = FakeDesk::with(&[AGENT]);
    let shown = transcript(
        &mut desk,
        "mode interceptOnce\nmode\nfollow off\nsave global\n   \nmode sometimes\nfollow\nsave project\nsave Session\n",
    );
    assert_eq!((desk.mode, desk.sessions.follow), (TurnMode::InterceptOnce, false));
    assert_eq!(shown.matches("error: ").count(), 4, "{shown}");
    assert!(
        shown.contains(
            "error: `mode` is typed otherwise. `mode [MODE]`: which turns wait although no rule asks: off"
        ),
        "{shown}"
    );
    assert!(
        shown.contains("error: `save` is typed otherwise. `save SCOPE`: save your edits for later turns"),
        "{shown}"
    );
}

#[test]
fn a_secret_typed_in_is_redacted_before_it_is_shown() {
    let mut desk = FakeDesk::with(&[AGENT]);
    let shown = transcript(&mut desk, &format!("edit 5.2\nuse {SECRET}\n.\ndiff\nundo\nredo\nopen 5.2\n"));
    assert_eq!(shown.matches(SECRET).count(), 1, "only the echo of what was typed holds it");
    insta::assert_snapshot!(shown);
}

#[test]
fn an_input_that_ends_inside_a_text_changes_nothing() {
    let mut desk = FakeDesk::with(&[AGENT]);
    let shown = transcript(&mut desk, "edit 5.2\nhalf a text\n");
    assert!(shown.contains("nothing was changed"), "{shown}");
    assert_eq!(desk.turns[0].draft.edits().count(), 0);
}

#[test]
fn hostile_text_is_printed_as_numbers() {
    let body = hostile_body();
    let shown = transcript(&mut FakeDesk::with(&[&body]), "open 2\nopen 2.2\ndiff\ncancel\n");
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n'));
    insta::assert_snapshot!(shown);
}

#[test]
fn a_redaction_is_excepted_by_its_number_with_an_end_and_a_reason() {
    let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{CONTACT}"}}]}}"#);
    let mut desk = FakeDesk::with(&[&body]);
    let shown = transcript(&mut desk, "except 0 2w our own address\nexcept 0 2w\nexcept x 2w why\n");
    assert!(shown.contains("rule contacts lets this EMAIL pass until 2w"), "{shown}");
    assert_eq!(
        shown
            .matches("`except` is typed otherwise. `except N T WHY`: let the value of redaction N leave")
            .count(),
        2,
        "{shown}"
    );
    assert_eq!(desk.excepted, ["our own address"]);
}

#[test]
fn a_redaction_is_released_by_its_number_where_its_rule_lets_a_person() {
    let body =
        format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{CONTACT} with {SECRET}"}}]}}"#);
    let mut desk = FakeDesk::with(&[&body]);
    let shown = transcript(&mut desk, "open 2.2\nrelease 1\nrelease 0\nopen 2.2\nundo\nopen 2.2\nrelease\n");
    for part in [
        "redaction 0: EMAIL, by rule contacts, which lets you release it",
        "redaction 1: PASSWORD, by rule secrets, which keeps it",
        "error: rule secrets keeps this value from leaving",
        "warning: Released: the value leaves with this request.",
        &format!("‹EMAIL released: {CONTACT}›"),
        "error: `release` is typed otherwise. `release N`: take redaction N back",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert_eq!(shown.matches("redaction 0: EMAIL").count(), 2, "before, and after the undo");
    assert!(!shown.contains(SECRET));
}
