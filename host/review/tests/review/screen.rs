//! The screen: what it looks like after a script of keys, run through the same loop as in a
//! terminal.

use std::time::Duration;

use leafgate_admin::{
    EditCommand, ErrorCode, Event, HoldPlace, NoteView, SavedScope, ShownText, State, SubagentVerdict,
    TurnMode, TurnSummary,
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
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("home j enter j enter jjj").screen());
    insta::assert_snapshot!(
        "a_tool_result",
        Player::sized(&[AGENT], 120, 40).keys("home j enter jjj enter end").screen()
    );
}

#[test]
fn a_leaf_in_full() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("home j enter jjj enter end enter").screen());
}

/// A message with an address that may be released, and a password that may not.
fn with_contact() -> String {
    let text = format!("Write to {CONTACT} with {SECRET}, then to {CONTACT}");
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]}}"#)
}

#[test]
fn a_redaction_is_released_after_a_question_that_names_its_rule() {
    let body = with_contact();
    let player = || Player::new(&[&body]).keys("enter end enter");
    insta::assert_snapshot!(player().keys("R").screen());
    let mut nothing = player().keys("R n");
    assert!(nothing.screen().contains("Nothing was released.") && nothing.edits() == 0);
    let mut released = player().keys("R tab y");
    insta::assert_snapshot!("a_released_redaction", released.screen());
    assert_eq!(released.edits(), 1);
    assert!(player().keys("R y u").screen().contains("EMAIL_m2c4"));
    let mut both = player().keys("R y R y R");
    let shown = both.screen();
    assert!(shown.contains("Not releasable: rule secrets keeps the value"), "the password is left: {shown}");
    assert!(!shown.contains("R release"), "{shown}");
}

#[test]
fn a_redaction_is_excepted_with_a_reason_and_an_end() {
    let body = with_contact();
    let player = || Player::new(&[&body]).keys("enter end enter");
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
    let mut nothing = Player::new(&[AGENT]).keys("enter end a");
    assert!(nothing.screen().contains("Nothing is redacted here."));
}

#[test]
fn why_a_redaction_is_excepted_survives_a_refusal_and_not_a_change_of_the_turn() {
    let body = with_contact();
    let player = || Player::new(&[&body]).keys("enter end enter");
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
    let mut player = Player::new(&[AGENT]).keys("enter end R");
    assert!(player.screen().contains("Nothing is redacted here."));
}

#[test]
fn a_leaf_is_edited_inline() {
    let mut player = Player::new(&[AGENT]).keys("enter end e ^u 'First_line alt-enter 'second");
    insta::assert_snapshot!(player.screen());
    assert_eq!(player.edits(), 0);
}

#[test]
fn an_edit_bears_its_author() {
    let mut player = Player::new(&[AGENT]).keys("enter end e ^w 'differently. enter");
    insta::assert_snapshot!(player.screen());
    insta::assert_snapshot!(
        "an_edit_seen_from_the_turn",
        Player::new(&[AGENT]).keys("enter end e '! enter esc").screen()
    );
    assert_eq!(player.edits(), 1);
}

#[test]
fn what_was_typed_survives_a_refusal() {
    let mut player = Player::new(&[AGENT]).keys("end enter jj e ^u 'warm enter");
    insta::assert_snapshot!(player.screen());
    assert_eq!(player.edits(), 0);
}

#[test]
fn what_was_typed_survives_the_end_of_its_turn() {
    let gone = FakeDesk::with(&[AGENT]).pending().unwrap().remove(0);
    let resolved = Event::Resolved { turn: TurnSummary { state: State::TimedOut, ..gone } };
    let script = Player::new(&[AGENT]).keys("enter end e 'Typed").happens(ScreenEvent::Gate(resolved));
    let other = Event::Paused { turn: FakeDesk::with(&[OTHER]).pending().unwrap().remove(0) };
    let mut player = script.happens(ScreenEvent::Gate(other)).keys("enter");
    insta::assert_snapshot!(player.screen());
}

#[test]
fn typed_text_is_discarded_only_after_a_question() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("enter end e 'more esc x").screen());
    let mut player = Player::new(&[AGENT]).keys("enter end e 'more esc y");
    assert!(player.screen().contains("What was typed is discarded."));
}

// S0-42
#[test]
fn a_deleted_section_says_so() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("home j enter jjj d").screen());
    let mut player = Player::new(&[AGENT]).keys("home j enter jjj d u");
    assert!(!player.screen().contains("[deleted"));
    let leaves = Player::new(&[AGENT]).keys("home j enter jjj d enter").screen();
    assert!(!leaves.contains("[edited by"), "it is left out, and its texts are as they came: {leaves}");
    let mut player = Player::new(&[AGENT]).keys("home j enter jjj d u U r");
    // It stands as it came: nothing of the deletion is left to be told.
    assert!(!player.screen().contains("by person]") && player.screen().contains("0 edits"));
}

// S0-79
#[test]
fn a_diff_follows_edits() {
    let edits = "enter end e ^u 'Look_again alt-enter 'Be_brief enter esc D";
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
fn the_cursor_goes_from_cause_to_cause() {
    let open = || Player::new(&[AGENT, OTHER]).meddle(two_causes).keys("enter");
    assert!(selected(&open().screen()).starts_with("▸ User [why it waits]  Now explain"));
    let mut player = open().keys("home tab tab");
    let shown = player.screen();
    assert!(selected(&shown).starts_with("▸ User [why it waits]  Now explain"), "{shown}");
    assert!(shown.contains("2 of 2: production: asks for an explanation"), "{shown}");
    assert!(selected(&open().keys("tab").screen()).starts_with("▸   Tool result"));
    assert!(selected(&open().keys("tab backtab").screen()).starts_with("▸ User [why it waits]  Now explain"));
    // From a section to the leaf of the next cause, and from elsewhere back to the last one.
    assert!(selected(&open().keys("tab enter tab").screen()).contains("content: Now explain it."));
    assert!(selected(&open().keys("tab tab home tab").screen()).starts_with("▸ User [why"));
}

#[test]
fn why_it_waits_in_full_with_what_plugins_say() {
    let mut player = Player::new(&[AGENT, OTHER]).meddle(two_causes).keys("enter w");
    insta::assert_snapshot!(player.screen());
}

#[test]
fn what_a_person_pins_comes_first_and_can_be_reordered() {
    let mut player = Player::new(&[AGENT]).keys("p home jj enter jjj p");
    insta::assert_snapshot!(player.screen());
    let first = |screen: String| {
        let page = screen.lines().skip_while(|line| !line.starts_with('─')).nth(1).unwrap().to_owned();
        page.trim_start_matches(['▸', ' ']).to_owned()
    };
    let up = Player::new(&[AGENT]).keys("p home jj enter jjj p K").screen();
    assert!(first(up.clone()).starts_with("Tool result"), "{up}");
    assert!(selected(&up).starts_with("▸ Tool result"), "the cursor stays with it");
    assert!(first(Player::new(&[AGENT]).keys("p p").screen()).starts_with("System"), "unpinned");
    assert!(Player::new(&[AGENT]).keys("K").screen().contains("Only pinned sections are moved"));
    assert_eq!(Player::new(&[AGENT]).keys("p").edits(), 0, "a pin is no edit");
}

#[test]
fn a_message_is_put_in_before_the_selected_one() {
    let mut player = Player::new(&[AGENT]).keys("i 'Mind_the_gap");
    insta::assert_snapshot!(player.screen());
    let mut player = Player::new(&[AGENT]).keys("i 'Mind_the_gap enter");
    player.screen();
    let body = player.desk.0.borrow().turns[0].draft.render();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(body.find("Mind the gap").unwrap() < body.find("Now explain it.").unwrap(), "{body}");
    let behind = Player::new(&[AGENT]).keys("i 'Mind_the_gap enter").screen();
    assert!(!behind.contains("by person]"), "nothing of the message behind it is edited: {behind}");
    let mut player = Player::new(&[AGENT]).keys("end i");
    assert!(player.screen().contains("Choose a message first"), "an option is none");
}

#[test]
fn edits_are_saved_for_the_later_turns_that_a_person_chooses() {
    let edited = "enter end e '! enter";
    insta::assert_snapshot!(Player::new(&[AGENT]).keys(edited).keys("v").screen());
    for (letter, scope) in [("s", "Session"), ("w", "Workspace"), ("g", "Global")] {
        let mut player = Player::new(&[AGENT]).keys(edited).keys("v").keys(letter);
        let shown = player.screen();
        assert!(shown.contains(&format!("1 edit saved: {scope}.")), "{shown}");
    }
    let no = Player::new(&[AGENT]).keys(edited).keys("v y esc").screen();
    assert!(no.contains("Nothing was saved."), "y is no scope: {no}");
    let mut player = Player::new(&[AGENT]).keys(edited).keys("esc home j enter jjj d v s");
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
    let mut player = Player::new(&[AGENT, OTHER]).meddle(captures).keys("enter enter end e '! enter s y");
    let shown = player.screen();
    assert!(shown.contains("sent. 1 edit saved: Session."), "{shown}");
}

#[test]
fn the_next_turn_is_captured_where_edits_are_applied() {
    let off = Player::new(&[]).keys("C").screen();
    assert!(off.contains("no saved edits are applied: choose the mode autoOverride first"), "{off}");
    insta::assert_snapshot!(Player::new(&[]).keys("m jjj enter esc C").screen());
    let turn = Player::new(&[AGENT]).keys("m jjj enter esc").screen();
    assert!(turn.contains("Auto-apply saved edits: capturing"), "{turn}");
}

/// The number was told, and all sections were shown.
// S0-66, S0-71
#[test]
fn a_turn_that_is_captured_shows_its_first_sections_and_the_others_on_one_line() {
    let captures = |desk: &mut FakeDesk| {
        desk.mode = TurnMode::AutoOverride;
        desk.turns[0].summary.mode = Some(TurnMode::AutoOverride);
    };
    let body = agent_turn(2);
    let player = || Player::new(&[&body, OTHER]).meddle(captures).keys("m jjj enter esc enter");
    let shown = player().screen();
    let rows: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with('▸')).take(5).collect();
    assert!(rows[0].contains("System") && rows[1].contains("Question 0"), "{shown}");
    assert!(rows[4].trim_start().starts_with("+ Later messages: 7"), "{shown}");
    assert!(!player().keys("end up right").screen().contains("+ Later messages"), "it unfolds");
}

// S0-69, S0-70, S0-71, S0-134
#[test]
fn saved_edits_are_removed_scoped_and_bounded_in_the_prompt() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("V").screen());
    let then = |keys: &str| {
        let mut player = Player::new(&[AGENT]).keys("V").keys(keys);
        let shown = player.screen();
        let saved = player.desk.0.borrow().saved.clone();
        let ids: String = saved.edits.iter().map(|edit| edit.id.as_str()).collect();
        (shown, ids, saved.status.scope, saved.status.preview_limit)
    };
    let (shown, ids, ..) = then("d");
    assert!(shown.contains("It is removed") && ids == "2b", "{shown}");
    assert_eq!(then("down d").1, "1a");
    let (shown, ids, ..) = then("X");
    assert!(shown.contains("Remove all saved edits of Session?") && ids == "1a2b", "{shown}");
    assert_eq!((then("X n").1, then("X y").1), ("1a2b".to_owned(), "2b".to_owned()));
    assert_eq!(then("t").2, SavedScope::Workspace);
    assert_eq!((then("t t").2, then("t t t").2), (SavedScope::Global, SavedScope::Session));
    assert_eq!((then("+").3, then("-").3), (4, 2));
    let (shown, .., limit) = then("- - -");
    assert!(shown.contains("A capture shows 1 to 10 sections first.") && limit == 1, "{shown}");
    assert_eq!(then("+ + + + + + + + +").3, 10);
    assert!(then("d d d").0.contains("No edits are saved"));
}

// S0-96, S0-135
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
    assert!(player.screen().contains("held by a rule, request 42 in the log, 2 redactions"));
    let mut read = Player::new(&[AGENT]).meddle(two).keys("A E");
    read.screen();
    assert!(read.outside.1[0].contains("Then say what is wrong."), "all of it is there to be copied");
    assert!(Player::new(&[]).keys("A").screen().contains("No agent that another one started has asked yet."));
}

// S0-106
#[test]
fn metadata_is_shown_and_without_a_turn_it_is_said_what_to_do() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("d M").screen());
    let idle = "Live Request Editor idle — send a chat request to populate metadata.";
    assert!(Player::new(&[]).keys("M").screen().contains(idle));
    let mut player = Player::new(&[AGENT]).keys("M c y");
    let shown = player.screen();
    assert!(shown.contains(idle), "the turn is over: {shown}");
    // Fields follow the turn.
    let undone = Player::new(&[OTHER]).keys("d M u").screen();
    assert!(undone.lines().any(|line| line.starts_with("dirty") && line.ends_with(" no")), "{undone}");
}

// S1-08
#[test]
fn an_edit_of_a_deleted_section_puts_it_back() {
    let mut player = Player::new(&[AGENT]).keys("d enter end e");
    let asks = player.screen();
    assert!(asks.contains("(deleted: an edit puts it back)"), "{asks}");
    let mut player = Player::new(&[AGENT]).keys("d enter end e '! enter esc");
    let shown = player.screen();
    assert!(!shown.contains("[deleted") && shown.contains("Now explain it.!"), "{shown}");
}

#[test]
fn the_raw_body_follows_edits() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("P").screen());
    let mut player = Player::new(&[AGENT]).keys("d P u");
    assert!(player.screen().contains("Now explain it."));
}

#[test]
fn modes_are_shown_and_chosen() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("m jj").screen());
    let mut player = Player::new(&[AGENT]).keys("m jj enter esc");
    assert!(player.screen().contains("── Pause & review every turn ──"));
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
    assert!(player.keys("f").screen().contains("The newest conversation becomes the active one."));
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
fn after_a_resume_the_next_turn_opens_as_if_it_were_the_first() {
    let fresh = Player::new(&[OTHER]).screen();
    let next = Player::new(&[AGENT, OTHER]).keys("enter home j enter s y enter").screen();
    let below = |screen: &str| screen.lines().skip(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(below(&next), below(&fresh));
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
    insta::assert_snapshot!("hostile_text_in_the_editor", Player::new(&[&body]).keys("enter j e").screen());
    insta::assert_snapshot!("hostile_text_in_full", Player::new(&[&body]).keys("enter j enter").screen());
    insta::assert_snapshot!(
        "a_long_text_scrolled",
        Player::new(&[&body]).keys("enter end enter pgdn").screen()
    );
}

#[test]
fn a_secret_typed_in_is_never_shown_again() {
    let mut player = Player::new(&[AGENT]).keys("enter end e ^u 'use_").keys(&format!("'{SECRET} enter"));
    let shown = player.screen();
    assert!(shown.contains("‹PASSWORD_") && !shown.contains(SECRET), "{shown}");
}

#[test]
fn an_outside_editor_gets_the_terminal_and_its_last_newline_is_its_own() {
    let mut player = Player::new(&[AGENT]).keys("enter end E");
    assert!(player.screen().contains("content [edited by person]: from outside"));
    assert_eq!(player.paper.suspended, 1);
    let desk = player.desk.0.borrow();
    let rendered = desk.turns[0].draft.render();
    assert!(std::str::from_utf8(&rendered).unwrap().contains(r#""from outside""#));
}

#[test]
fn what_the_outside_editor_left_survives_a_refusal() {
    insta::assert_snapshot!(Player::new(&[AGENT]).keys("end enter jj E").screen());
}

#[test]
fn a_search_goes_round() {
    let mut player = Player::new(&[AGENT]).keys("/ 'DATABASE enter");
    let shown = player.screen();
    assert!(shown.contains("▸     Content #2"), "{shown}");
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
    // Of a gate that has ended nothing waits.
    let gone = error(ErrorCode::Unreachable, "the gate does not answer", None);
    assert_eq!(Player::new(&[AGENT, OTHER]).happens(ScreenEvent::Lost(gone)).keys("q").leave(), 0);
}

/// A turn of a coding agent: what its client adds stands beside the user's words, and a loop of tools
/// behind them. `loops` exchanges came before.
fn agent_turn(loops: usize) -> String {
    let exchange = |at: usize| {
        format!(
            r#"{{"role":"user","content":"Question {at}"}},
{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{at}","type":"function","function":{{"name":"run_sql","arguments":"{{}}"}}}}]}},
{{"role":"tool","tool_call_id":"c{at}","content":"row {at} for {CONTACT}"}},"#
        )
    };
    let earlier: String = (0..loops).map(exchange).collect();
    format!(
        r#"{{"model":"m","temperature":0.5,"messages":[{{"role":"system","content":"Be brief."}},{earlier}
{{"role":"user","content":[{{"type":"text","text":"<reminder>Files: none</reminder>"}},{{"type":"text","text":"Mail {CONTACT}"}}]}},
{{"role":"assistant","content":null,"tool_calls":[{{"id":"z","type":"function","function":{{"name":"run_sql","arguments":"{{}}"}}}}]}},
{{"role":"tool","tool_call_id":"z","content":"nothing"}}]}}"#
    )
}

// S0-49, S0-128, S0-132
#[test]
fn a_turn_opens_at_what_the_user_said_last_with_earlier_turns_on_one_line() {
    let body = agent_turn(30);
    let opened = Player::new(&[&body]).screen();
    insta::assert_snapshot!(opened);
    assert!(selected(&opened).contains("Content #2") && selected(&opened).contains("Mail"), "{opened}");
    let size = opened.lines().nth(2).unwrap();
    assert!(size.contains(" sections · came ") && size.contains(" ago"), "{size}");
    let rule = opened.lines().position(|line| line.starts_with('─')).unwrap();
    assert!(24 - (rule + 1) - 2 >= 18, "the page has less than 18 rows: {opened}");
    // Its parts fold to the message, the group unfolds to its messages, and a search finds them all.
    let folded = Player::new(&[&body]).keys("left").screen();
    assert!(selected(&folded).starts_with("▸ + User"), "{folded}");
    let unfolded = Player::new(&[&body]).keys("home j right j").screen();
    assert!(selected(&unfolded).starts_with("▸   User  Question 0"), "{unfolded}");
    let again = Player::new(&[&body]).keys("home j right j left").screen();
    assert!(selected(&again).starts_with("▸ + Earlier messages: 90"), "{again}");
    let found = Player::new(&[&body]).keys("/ 'row_17 enter").screen();
    assert!(selected(&found).contains("row 17"), "{found}");
}

// S0-28
#[test]
fn previews_are_words_and_calls_show_their_exact_arguments() {
    let shown = Player::new(&[&agent_turn(0)]).screen();
    assert!(!shown.contains("null"), "{shown}");
    assert!(shown.lines().any(|line| line.ends_with("Tool call · run_sql [read only]  {}")), "{shown}");
    for section in ["down down", "down down down"] {
        let opened = Player::new(&[&agent_turn(0)]).keys(section).keys("enter").screen();
        assert!(opened.contains("run_sql called with {}"), "{opened}");
    }
    let whole = Player::new(&[AGENT]).keys("tab enter home enter").screen();
    assert!(whole.contains(r#"run_sql called with {"query":"select * from users","limit":10}"#), "{whole}");
}

/// So few keys for each, text not counted.
#[test]
fn the_most_usual_things_take_few_keys() {
    let body = agent_turn(30);
    let edits = |player: &mut Player| (player.screen(), player.edits()).1;
    assert_eq!(edits(&mut Player::new(&[&body]).keys("e '!! enter")), 1, "2 keys: edit my last message");
    assert_eq!(edits(&mut Player::new(&[&body]).keys("e '!! enter u")), 0, "1 key: undo");
    assert!(Player::new(&[&body]).keys("w").screen().starts_with("Why it waits"), "1 key: why");
    let mut excepted = Player::new(&[&body]).keys("a 'Ours enter enter");
    excepted.screen();
    assert_eq!(excepted.desk.0.borrow().excepted, ["Ours"], "3 keys: except a value");
    let mut sent = Player::new(&[&body]).keys("s y");
    sent.screen();
    assert_eq!(sent.desk.0.borrow().resumed.len(), 1, "2 keys: send");
}

#[test]
fn keys_that_cannot_act_say_so_and_what_is_typed_then_does_nothing() {
    let typed = "'discuss_the_query_s_y_c_y_X_q";
    for (keys, why) in [
        ("end e", "Enter unfolds it: choose a section in it."),
        ("end a", "Enter unfolds it: choose a section in it."),
        ("home a", "Nothing is redacted here."),
        ("end i", "Choose a message first"),
        ("? e", "Choose a section first"),
        ("S e", "Choose a section first"),
    ] {
        let mut player = Player::new(&[&agent_turn(2)]).keys(keys).keys(typed);
        let shown = player.screen();
        assert!(shown.contains(why) && shown.contains("Esc goes on"), "{keys}: {shown}");
        let desk = player.desk.0.borrow();
        assert!(desk.resumed.is_empty() && desk.cancelled.is_empty() && player.edits() == 0, "{keys}");
    }
    let on = Player::new(&[&agent_turn(2)]).keys("end e 'ddd esc home jj d").screen();
    assert!(on.contains("User [deleted by person]"), "{on}");
    let small = Player::new(&[AGENT]).keys("e 'x").happens(ScreenEvent::Resize(60, 12)).keys("c y q");
    let mut small = small.happens(ScreenEvent::Resize(80, 24));
    assert!(small.screen().contains("Now explain it.x"), "what is typed unseen is nothing");
    assert!(small.desk.0.borrow().cancelled.is_empty());
    let pasted = Player::new(&[AGENT]).happens(ScreenEvent::Paste("sy".to_owned())).screen();
    assert!(pasted.contains("What you pasted was not used"), "{pasted}");
}

#[test]
fn what_cannot_be_done_is_neither_offered_nor_asked_about() {
    let kept = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{SECRET}"}}]}}"#);
    let mut player = Player::new(&[&kept]);
    let shown = player.screen();
    assert!(!shown.contains("R release") && shown.contains("a except"), "{shown}");
    let known = |desk: &mut FakeDesk| desk.not_exceptable = Some("you named this value as secret");
    let mut asked = Player::new(&[&kept]).meddle(known).keys("a 'sys");
    let shown = asked.screen();
    assert!(shown.contains("✗ you named this value as secret") && !shown.contains("Why may"), "{shown}");
    assert_eq!(asked.edits(), 0);
}

// S0-61
#[test]
fn a_turn_that_arrives_is_announced_on_every_page() {
    let arrived = || FakeDesk::with(&[AGENT, OTHER]).pending().unwrap().remove(1);
    for keys in ["m", "S", "A", "M", "?", "enter", "enter enter", "D", "P", "w", "e", "L"] {
        let mut player = Player::new(&[AGENT])
            .keys(keys)
            .keys(if keys == "e" { "'x" } else { "S f esc" })
            .happens(ScreenEvent::Gate(Event::Paused { turn: arrived() }));
        let shown = player.screen();
        assert!(shown.contains(&format!("waits: {}", arrived().label)), "{keys}: {shown}");
        assert!(shown.contains("1 more ──") || shown.contains("2 turns"), "{keys}: {shown}");
        assert_eq!(
            (player.paper.bells, player.paper.title.as_str()),
            (1, "(2) leafgate: 2 turns wait"),
            "{keys}"
        );
    }
}

// S0-90
#[test]
fn the_prompt_follows_the_newest_conversation_while_nothing_is_typed_or_edited() {
    let arrived = || Event::Paused { turn: FakeDesk::with(&[AGENT, OTHER]).pending().unwrap().remove(1) };
    let then = |keys: &str| {
        let player = Player::new(&[AGENT]).keys(keys);
        let player = player.meddle(|desk| desk.turns = FakeDesk::with(&[AGENT, OTHER]).turns);
        player.happens(ScreenEvent::Gate(arrived())).screen()
    };
    assert!(then("down").contains("▸ User  Hi"));
    for keys in ["e 'x", "s", "e 'x enter", "S f esc", "end e 'x"] {
        assert!(!then(keys).contains("User  Hi"), "{keys}");
    }
}

// S0-133
#[test]
fn the_body_opens_in_an_editor_to_be_read() {
    let mut player = Player::new(&[AGENT]).keys("P E");
    assert!(player.screen().contains("The body as a resume sends it"));
    assert_eq!((player.outside.1.len(), player.edits()), (1, 0));
    assert!(player.outside.1[0].contains("Now explain it."));
    let player =
        Player::new(&[AGENT]).keys("enter end e 'x enter P").meddle(|desk| desk.has_no_payload = true);
    let mut player = player.keys("u E");
    let shown = player.screen();
    assert!(shown.contains("✗ the gate does not answer"), "it says why there is no body: {shown}");
    assert_eq!((player.outside.1.len(), player.edits()), (0, 0));
}

#[test]
fn an_escape_that_a_key_follows_at_once_is_taken_although_terminals_spell_alt_so() {
    let shown = |keys: &str| Player::new(&[AGENT]).keys(keys).screen();
    let (turn, modes) = (shown("? esc"), "What happens to a turn that no rule holds");
    assert!(shown("? alt-m").contains(modes));
    assert_eq!(shown("? alt-m esc"), turn, "the page of keys was left");
    let mut asked = Player::new(&[AGENT]).keys("s alt-y");
    assert!(!asked.screen().contains("Send exactly what is shown?"), "no is said, and y says nothing");
    assert!(asked.desk.0.borrow().resumed.is_empty());
    // Where one types, Alt is Alt.
    let mut edited = Player::new(&[AGENT]).keys("enter end e alt-b 'x enter");
    assert!(edited.screen().contains("Now explain xit."));
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
                "alt-enter", "alt-b", "alt-y", "^u", "^w", "^s", "'x", "'\u{1b}", "'日", "y",
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
