//! The screen: what it looks like after a script of keys, run through the same loop as in a
//! terminal.

use std::time::Duration;

use leafgate_admin::{
    EditCommand, ErrorCode, Event, HoldPlace, NoteView, ShownText, State, SubagentVerdict, TurnMode,
    TurnSummary,
};
use leafgate_review::screen::{ScreenEvent, farewell};
use proptest::prelude::*;

use crate::player::Player;
use crate::support::{AGENT, CONTACT, FakeDesk, SECRET, error, hostile_body, subagent};

const OTHER: &str = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#;

fn set(pointer: &str, text: &str) -> EditCommand {
    EditCommand::Set { pointer: pointer.to_owned(), text: ShownText::new(text) }
}

#[test]
fn a_list_of_turns() {
    insta::assert_snapshot!(Player::new(&[AGENT, OTHER]).keys("down").screen());
    insta::assert_snapshot!("an_empty_list", Player::new(&[]).screen());
}

// S0-65
#[test]
fn why_it_waits() {
    insta::assert_snapshot!(Player::new(&[AGENT]).screen());
    insta::assert_snapshot!("why_it_waits_wide", Player::sized(&[AGENT], 120, 40).screen());
}

#[test]
fn a_section_as_a_tree_of_leaves() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("home jjj enter jjj").screen());
    insta::assert_snapshot!(
        "a_tool_result",
        Player::sized(&[AGENT], 120, 40).keys("home jjjjjjjj enter end").screen()
    );
}

#[test]
fn a_leaf_in_full() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("home jjjjjjjj enter end enter").screen());
}

/// A message with an address that may be released, and a password that may not.
fn with_contact() -> String {
    let text = format!("Write to {CONTACT} with {SECRET}, then to {CONTACT}");
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]}}"#)
}

#[test]
fn a_redaction_is_released_after_a_question_that_names_its_rule() {
    let body = with_contact();
    let player = || Player::new(&[&body]).keys("end enter end enter");
    insta::assert_snapshot!(player().keys("R").screen());
    let mut nothing = player().keys("R n");
    assert!(nothing.screen().contains("Nothing was released.") && nothing.edits() == 0);
    let mut refused = player().keys("R tab");
    insta::assert_snapshot!("a_redaction_that_its_rule_keeps", refused.screen());
    let mut refused = player().keys("R tab y");
    assert!(refused.screen().contains("Not released: rule secrets keeps the value"));
    assert_eq!(refused.edits(), 0);
    let mut released = player().keys("R tab tab y");
    insta::assert_snapshot!("a_released_redaction", released.screen());
    assert_eq!(released.edits(), 1);
    assert!(player().keys("R y u").screen().contains("EMAIL_m2c4"));
    let mut both = player().keys("R y R y R");
    assert!(both.screen().contains("Not releasable: ‹PASSWORD"), "the password is left");
}

#[test]
fn a_redaction_is_excepted_with_a_reason_and_an_end() {
    let body = with_contact();
    let player = || Player::new(&[&body]).keys("end enter end enter");
    insta::assert_snapshot!("why_a_redaction_is_excepted", player().keys("a 'Our_own").screen());
    insta::assert_snapshot!("until_when_a_redaction_is_excepted", player().keys("a 'Our_own enter").screen());
    let mut excepted = player().keys("a 'Our_own enter enter");
    insta::assert_snapshot!("an_excepted_redaction", excepted.screen());
    assert_eq!(
        (excepted.desk.0.borrow().excepted.clone(), excepted.edits()),
        (vec!["Our own".to_owned()], 0)
    );

    let mut other = player().keys("a tab 'Fixed enter ^u 'never enter");
    let shown = other.screen();
    assert!(shown.contains("Rule secrets lets this PASSWORD pass, but rule others redacts it"), "{shown}");
    for left in ["a esc", "a 'why ^c", "a 'why enter esc", "a enter esc"] {
        let mut left_out = player().keys(left);
        assert!(left_out.screen().contains("Nothing was excepted."), "{left}");
        assert!(left_out.desk.0.borrow().excepted.is_empty(), "{left}");
    }
    let mut nothing = Player::new(&[AGENT]).keys("end enter end a");
    assert!(nothing.screen().contains("Nothing is redacted in this leaf."));
}

#[test]
fn why_a_redaction_is_excepted_survives_a_refusal_and_not_a_change_of_the_turn() {
    let body = with_contact();
    let player = || Player::new(&[&body]).keys("end enter end enter");
    let mut refused = player().keys("a 'Ours enter ^u 'soon enter");
    assert!(refused.screen().contains("this is no end of an exception"));
    let mut mended = player().keys("a 'Ours enter ^u 'soon enter x enter enter");
    assert!(mended.screen().contains("In later ones rule contacts lets this EMAIL"));
    assert_eq!(mended.desk.0.borrow().excepted, ["Ours"]);

    let turn = FakeDesk::with(&[&body]).pending().unwrap().remove(0);
    let meddled =
        player().keys("a 'Ours").meddle(|desk| desk.turns[0].edit(&set("/messages/0/content", "x")).unwrap());
    let mut changed = meddled.happens(ScreenEvent::Gate(Event::Changed { turn }));
    assert!(changed.screen().contains("The turn changed while you were asked."));
    assert!(changed.desk.0.borrow().excepted.is_empty());
}

#[test]
fn a_leaf_without_redactions_has_nothing_to_release() {
    let mut player = Player::new(&[AGENT]).keys("end enter end R");
    assert!(player.screen().contains("Nothing is redacted in this leaf."));
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
    let mut player = Player::new(&[AGENT]).keys("home j enter e ^u 'warm enter");
    insta::assert_snapshot!(player.screen());
    assert_eq!(player.edits(), 0);
}

#[test]
fn what_was_typed_survives_the_end_of_its_turn() {
    let gone = FakeDesk::with(&[AGENT]).pending().unwrap().remove(0);
    let resolved = Event::Resolved { turn: TurnSummary { state: State::TimedOut, ..gone } };
    let script = Player::new(&[AGENT]).keys("end enter end e 'Typed").happens(ScreenEvent::Gate(resolved));
    let other = Event::Paused { turn: FakeDesk::with(&[OTHER]).pending().unwrap().remove(0) };
    let mut player = script.happens(ScreenEvent::Gate(other)).keys("enter");
    insta::assert_snapshot!(player.screen());
}

#[test]
fn typed_text_is_discarded_only_after_a_question() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("end enter end e 'more esc x").screen());
    let mut player = Player::new(&[AGENT]).keys("end enter end e 'more esc y");
    assert!(player.screen().contains("What was typed is discarded."));
}

// S0-42
#[test]
fn a_deleted_section_says_so() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("home jjjjjjjj d").screen());
    let mut player = Player::new(&[AGENT]).keys("home jjjjjjjj d u");
    assert!(!player.screen().contains("[deleted"));
    let mut player = Player::new(&[AGENT]).keys("home jjjjjjjj d u U r");
    // It stands as it came: nothing of the deletion is left to be told.
    assert!(!player.screen().contains("by person]") && player.screen().contains("0 edits"));
}

// S0-79
#[test]
fn a_diff_follows_edits() {
    let edits = "end enter end e ^u 'Look_again alt-enter 'Be_brief enter esc D";
    insta::assert_snapshot!(Player::new(&[AGENT]).keys(edits).screen());
    let mut player = Player::new(&[AGENT]).keys(edits).keys("u");
    assert!(!player.screen().contains("Look again"));
}

/// Holds the second message of the user too.
fn two_causes(desk: &mut FakeDesk) {
    let place = HoldPlace {
        what: "asks for an explanation".to_owned(),
        at: Some("/messages/4/content".to_owned()),
        stands: true,
    };
    desk.turns[0].summary.holds[0].places.push(place);
    desk.turns[0].notes.push(NoteView {
        rule: "short-results".to_owned(),
        plugin: "trim".to_owned(),
        about: "note".to_owned(),
        pointer: Some("/messages/3/content".to_owned()),
        text: ShownText::new("40 rows, ‹EMAIL›"),
    });
}

fn selected(screen: &str) -> &str {
    screen.lines().find(|line| line.starts_with('▸')).unwrap_or_default()
}

#[test]
fn the_cursor_starts_at_the_place_that_paused_and_goes_from_cause_to_cause() {
    let open = || Player::new(&[AGENT, OTHER]).meddle(two_causes).keys("enter");
    assert!(selected(&open().screen()).starts_with("▸ Tool result"));
    let mut player = open().keys("tab");
    let shown = player.screen();
    assert!(selected(&shown).starts_with("▸ User  Now explain"), "{shown}");
    assert!(shown.contains("2 of 2: production: asks for an explanation"), "{shown}");
    assert!(selected(&open().keys("tab tab").screen()).starts_with("▸ Tool result"));
    assert!(selected(&open().keys("backtab").screen()).starts_with("▸ User  Now explain"));
    // From a section to the leaf of the next cause, and from elsewhere back to the last one.
    assert!(selected(&open().keys("enter tab").screen()).contains("content: Now explain it."));
    assert!(selected(&open().keys("tab home tab").screen()).starts_with("▸ User  Now explain"));
}

#[test]
fn why_it_waits_in_full_with_what_plugins_say() {
    let mut player = Player::new(&[AGENT, OTHER]).meddle(two_causes).keys("enter w");
    insta::assert_snapshot!(player.screen());
}

#[test]
fn what_a_person_pins_comes_first_and_can_be_reordered() {
    let mut player = Player::new(&[AGENT]).keys("end p home jjjj p");
    insta::assert_snapshot!(player.screen());
    let first = |screen: String| {
        let page = screen.lines().skip_while(|line| !line.starts_with('─')).nth(1).unwrap().to_owned();
        page.trim_start_matches(['▸', ' ']).to_owned()
    };
    let up = Player::new(&[AGENT]).keys("end p end p K").screen();
    assert!(first(up.clone()).starts_with("Tool result"), "{up}");
    assert!(selected(&up).starts_with("▸ Tool result"), "the cursor stays with it");
    assert!(first(Player::new(&[AGENT]).keys("end p p").screen()).starts_with("model"), "unpinned");
    assert!(Player::new(&[AGENT]).keys("end K").screen().contains("Only pinned sections are moved"));
    assert_eq!(Player::new(&[AGENT]).keys("end p").edits(), 0, "a pin is no edit");
}

#[test]
fn a_message_is_put_in_before_the_selected_one() {
    let mut player = Player::new(&[AGENT]).keys("end i 'Mind_the_gap");
    insta::assert_snapshot!(player.screen());
    let mut player = Player::new(&[AGENT]).keys("end i 'Mind_the_gap enter");
    player.screen();
    let body = player.desk.0.borrow().turns[0].draft.render();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(body.find("Mind the gap").unwrap() < body.find("Now explain it.").unwrap(), "{body}");
    let behind = Player::new(&[AGENT]).keys("end i 'Mind_the_gap enter").screen();
    assert!(!behind.contains("by person]"), "nothing of the message behind it is edited: {behind}");
    let mut player = Player::new(&[AGENT]).keys("home i");
    assert!(player.screen().contains("Choose a message first"), "an option is none");
}

#[test]
fn edits_are_saved_for_the_later_turns_that_a_person_chooses() {
    let edited = "end enter end e '! enter";
    insta::assert_snapshot!(Player::new(&[AGENT]).keys(edited).keys("v").screen());
    for (letter, scope) in [("s", "Session"), ("w", "Workspace"), ("g", "Global")] {
        let mut player = Player::new(&[AGENT]).keys(edited).keys("v").keys(letter);
        let shown = player.screen();
        assert!(shown.contains(&format!("1 edit saved: {scope}.")), "{shown}");
    }
    let no = Player::new(&[AGENT]).keys(edited).keys("v y esc").screen();
    assert!(no.contains("Nothing was saved."), "y is no scope: {no}");
    let mut player = Player::new(&[AGENT]).keys(edited).keys("esc home jjjjjjjj d v s");
    let shown = player.screen();
    assert!(shown.contains("! 1 edit saved: Session. Left out: messages[3]: a rule changes"), "{shown}");
    let none = Player::new(&[AGENT]).keys("v").screen();
    assert!(none.contains("No edit of yours stands in this turn"), "{none}");
    let undone = Player::new(&[AGENT]).keys(edited).keys("u v").screen();
    assert!(undone.contains("No edit of yours stands in this turn"), "{undone}");
    assert!(Player::new(&[]).keys("v").screen().contains("No turn is open"));
}

#[test]
fn a_turn_that_is_captured_says_what_was_saved_once_it_left() {
    let captures = |desk: &mut FakeDesk| desk.turns[0].summary.mode = Some(TurnMode::AutoOverride);
    let mut player = Player::new(&[AGENT, OTHER]).meddle(captures).keys("enter end enter end e '! enter s y");
    let shown = player.screen();
    assert!(shown.contains("sent. 1 edit saved: Session."), "{shown}");
}

#[test]
fn the_next_turn_is_captured_where_edits_are_applied() {
    let off = Player::new(&[]).keys("C").screen();
    assert!(off.contains("no saved edits are applied: choose the mode autoOverride first"), "{off}");
    insta::assert_snapshot!(Player::new(&[]).keys("m jjj enter esc C").screen());
    let turn = Player::new(&[AGENT]).keys("m jjj enter esc").screen();
    assert!(turn.contains("Auto-apply saved edits · Capturing next turn"), "{turn}");
}

// S0-96
#[test]
fn what_agents_asked_is_listed_and_follows() {
    let two = |desk: &mut FakeDesk| {
        desk.subagents.requests =
            vec![subagent(2, SubagentVerdict::Held), subagent(1, SubagentVerdict::Sent)];
        (desk.subagents.seen, desk.subagents.trimmed) = (12, 10);
    };
    insta::assert_snapshot!(Player::new(&[AGENT]).meddle(two).keys("A").screen());
    let mut player = Player::new(&[]).keys("A").meddle(two);
    let asked = Event::Subagent { request: subagent(2, SubagentVerdict::Held) };
    player = player.happens(ScreenEvent::Gate(asked));
    assert!(player.screen().contains("held by a rule, 2 redactions"));
    assert!(Player::new(&[]).keys("A").screen().contains("No agent that another one started has asked yet."));
}

// S0-106
#[test]
fn metadata_is_shown_and_without_a_turn_it_is_said_what_to_do() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("end d M").screen());
    let idle = "Live Request Editor idle — send a chat request to populate metadata.";
    assert!(Player::new(&[]).keys("M").screen().contains(idle));
    let mut player = Player::new(&[AGENT]).keys("M c y");
    let shown = player.screen();
    assert!(shown.contains(idle), "the turn is over: {shown}");
    // Fields follow the turn.
    let undone = Player::new(&[OTHER]).keys("end d M u").screen();
    assert!(undone.lines().any(|line| line.starts_with("dirty") && line.ends_with(" no")), "{undone}");
}

// S1-08
#[test]
fn an_edit_of_a_deleted_section_puts_it_back() {
    let mut player = Player::new(&[AGENT]).keys("end d enter end e");
    let asks = player.screen();
    assert!(asks.contains("(deleted: an edit puts it back)"), "{asks}");
    let mut player = Player::new(&[AGENT]).keys("end d enter end e '! enter esc");
    let shown = player.screen();
    assert!(!shown.contains("[deleted") && shown.contains("Now explain it.!"), "{shown}");
}

#[test]
fn the_raw_body_follows_edits() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("P").screen());
    let mut player = Player::new(&[AGENT]).keys("end d P u");
    assert!(player.screen().contains("Now explain it."));
}

#[test]
fn modes_are_shown_and_chosen() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("m jj").screen());
    let mut player = Player::new(&[AGENT]).keys("m jj enter esc");
    assert!(player.screen().contains("Mode: Pause & review every turn"));
    let mut player = Player::new(&[]).keys("o");
    assert!(player.screen().contains("Pause next turn. Only rules pause."));
    assert_eq!(player.desk.0.borrow().mode, TurnMode::InterceptOnce);
}

#[test]
fn conversations_are_listed_selected_and_followed() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("S").screen());
    let mut player = Player::new(&[AGENT]).keys("S j enter");
    let shown = player.screen();
    assert!(shown.contains("…3f2a (it stays the active one)"), "{shown}");
    assert!(player.keys("f").screen().contains("follow on"));
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
        .happens(ScreenEvent::Gate(changed))
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
    let mut player = Player::new(&[AGENT]).keys("s").happens(ScreenEvent::Resize(60, 12)).keys("y s y c y");
    player.screen();
    let desk = player.desk.0.borrow();
    assert!(desk.resumed.is_empty());
    assert_eq!(desk.cancelled, ["t1"]);
}

// S0-124
#[test]
fn hostile_text_is_shown_as_numbers() {
    let body = hostile_body();
    insta::assert_snapshot!(Player::new(&[&body]).screen());
    insta::assert_snapshot!(
        "hostile_text_in_the_editor",
        Player::new(&[&body]).keys("home j enter j e").screen()
    );
    insta::assert_snapshot!(
        "hostile_text_in_full",
        Player::new(&[&body]).keys("home j enter j enter").screen()
    );
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
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("home j enter E").screen());
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

// S0-61
#[test]
fn a_turn_that_arrives_rings_and_opens_on_an_empty_list() {
    let arrived = FakeDesk::with(&[AGENT]).pending().unwrap().remove(0);
    let mut player = Player::new(&[])
        .meddle(|desk| desk.turns = FakeDesk::with(&[AGENT]).turns)
        .happens(ScreenEvent::Gate(Event::Paused { turn: arrived }));
    assert!(player.screen().contains("Paused by production"));
    assert_eq!(player.paper.bells, 1);
}

#[test]
fn time_passes_and_failures_are_told() {
    let mut player = Player::new(&[AGENT])
        .happens(ScreenEvent::Tick(Duration::from_secs(60)))
        .meddle(|desk| {
            desk.fail_next =
                Some(error(ErrorCode::Unreachable, "the gate does not answer", Some("is it running?")))
        })
        .keys("D");
    let shown = player.screen();
    assert!(
        shown.contains("3:47 left") && shown.contains("✗ the gate does not answer: is it running?"),
        "{shown}"
    );
}

// S0-59
#[test]
fn leaving_decides_nothing() {
    let mut player = Player::new(&[AGENT, OTHER]).keys("enter q");
    let waiting = player.leave();
    assert_eq!(waiting, 2);
    assert_eq!(farewell(waiting).unwrap(), "2 turns keep waiting until their time is up.");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever keys are pressed, nothing is decided without a yes, and no control sequence reaches
    /// a cell.
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
