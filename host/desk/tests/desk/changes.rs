//! A person's changes of a turn: redacted before they count, judged again, undone exactly, sent
//! only as seen.

use crate::common::{Bench, SECRET, TOKEN, answers, forwards, hold, leaf, message_key, set};
use leafgate_admin::{EditCommand, HoldState, ShownText};
use leafgate_desk::{DeskError, DeskLimits, Effect, State, TurnId};
use leafgate_tree::{Author, EditError, Redaction, ReleaseTerms, SectionId};

const SAID: &str = "/messages/2/content";
const TURN: TurnId = TurnId(1);

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.waiting("drop prod");
    bench
}

/// Rules that hold the turn, and how each stands.
fn holds(bench: &Bench) -> Vec<(String, HoldState)> {
    let turn = bench.desk.turn(TURN).unwrap();
    turn.holds.list.iter().map(|held| (held.hold.rule.to_string(), held.state)).collect()
}

// S0-01, S0-55
#[test]
fn an_edit_is_what_leaves() {
    let mut bench = bench();
    bench.write(TURN, SAID, "leave prod").unwrap();
    assert!(bench.desk.turn(TURN).unwrap().is_edited());
    let shown = bench.body(TURN);
    let sent = forwards(&bench.resume(TURN).unwrap());
    assert_eq!(sent[0].2, shown);
    assert!(shown.contains("leave prod") && !shown.contains("drop prod"));
}

// S0-36
#[test]
fn invariant_11_undo_gives_back_the_very_bytes_and_redo_the_edit() {
    let mut bench = bench();
    let (before, digest) = (bench.body(TURN), bench.digest(TURN));
    bench.write(TURN, SAID, "leave prod").unwrap();
    let (edited, edited_digest) = (bench.body(TURN), bench.digest(TURN));
    bench.change(TURN, EditCommand::Undo).unwrap();
    assert_eq!((bench.body(TURN), bench.digest(TURN)), (before, digest));
    assert_eq!(bench.state(TURN), State::Waiting);
    bench.change(TURN, EditCommand::Redo).unwrap();
    assert_eq!((bench.body(TURN), bench.digest(TURN)), (edited, edited_digest));
}

#[test]
fn what_a_person_puts_in_is_redacted_before_it_is_shown() {
    let mut bench = bench();
    let before = bench.body(TURN);
    let before_it = message_key(&bench.desk.turn(TURN).unwrap().draft, 1);
    let text = ShownText::new(format!("Mind {SECRET}"));
    bench.change(TURN, EditCommand::Insert { before: before_it, text }).unwrap();
    let shown = bench.body(TURN);
    assert!(shown.contains(&format!("Mind {TOKEN}")) && !shown.contains(SECRET), "{shown}");
    bench.change(TURN, EditCommand::Undo).unwrap();
    assert_eq!(bench.body(TURN), before);
    bench.change(TURN, EditCommand::Redo).unwrap();
    assert_eq!(bench.body(TURN), shown, "redo brings the redacted text back");
    assert_eq!(forwards(&bench.resume(TURN).unwrap())[0].2, shown);
}

// S0-07, S0-40, S0-41, S1-09
#[test]
fn delete_restore_and_reset() {
    let mut bench = bench();
    let before = bench.body(TURN);
    let section = message_key(&bench.desk.turn(TURN).unwrap().draft, 1);
    bench.change(TURN, EditCommand::Delete { section: section.clone() }).unwrap();
    let deleted = bench.body(TURN);
    assert!(!deleted.contains(r#""Hi""#));
    bench.change(TURN, EditCommand::Restore { section }).unwrap();
    assert_eq!(bench.body(TURN), before);
    bench.change(TURN, EditCommand::Undo).unwrap();
    assert_eq!(bench.body(TURN), deleted);
    bench.change(TURN, EditCommand::Reset).unwrap();
    assert_eq!(bench.body(TURN), before);
}

// S1-08
#[test]
fn an_edit_of_a_deleted_section_puts_it_back() {
    let mut bench = bench();
    let before = bench.body(TURN);
    let section = message_key(&bench.desk.turn(TURN).unwrap().draft, 2);
    bench.change(TURN, EditCommand::Delete { section }).unwrap();
    let deleted = bench.body(TURN);
    bench.write(TURN, SAID, &format!("leave prod, {SECRET}")).unwrap();
    assert_eq!(bench.body(TURN), before.replace("drop prod", &format!("leave prod, {TOKEN}")));
    bench.change(TURN, EditCommand::Undo).unwrap();
    assert_eq!(bench.body(TURN), before, "the edit is undone first");
    bench.change(TURN, EditCommand::Undo).unwrap();
    assert_eq!(bench.body(TURN), deleted);
    // The same text puts it back too: that is what the person wants to leave.
    bench.write(TURN, SAID, "drop prod").unwrap();
    assert_eq!(bench.body(TURN), before);
}

#[test]
fn a_secret_that_an_edit_brings_in_is_redacted_before_it_is_shown() {
    let mut bench = bench();
    bench.write(TURN, SAID, &format!("prod with {SECRET} in it")).unwrap();
    let turn = bench.desk.turn(TURN).unwrap();
    assert!(bench.body(TURN).contains(&format!("prod with {TOKEN} in it")));
    assert_eq!((turn.summary(bench.now).edits, turn.summary(bench.now).redactions), (1, 1));
}

#[test]
fn a_release_is_an_edit_of_the_turn_and_what_a_rule_keeps_is_refused() {
    let mut draft = crate::common::chat("prod of xyzzy and plugh");
    let said = leaf(&draft, SAID);
    let terms = ReleaseTerms::Releasable(draft.new_finding());
    let word = Redaction { terms, ..Redaction::new(8..13, "WORD", TOKEN) };
    let both = [word, Redaction::new(18..23, "SECRET", TOKEN)];
    draft.redact(said, &both, &Author::rule("words")).unwrap();
    let mut bench = Bench::new();
    let paused = bench.paused("s", draft, vec![hold("prod")]);
    let (admission, _) = bench.desk.pause(paused, bench.now);
    assert!(matches!(admission, leafgate_desk::Admission::Waiting(TURN)), "{admission:?}");
    let (before, digest) = (bench.body(TURN), bench.digest(TURN));
    let refused = bench.change(TURN, EditCommand::Release { redaction: 1 }).unwrap_err();
    assert_eq!(refused, DeskError::Edit(EditError::NotReleasable { by: Author::rule("words") }));
    assert_eq!(bench.digest(TURN), digest);
    bench.change(TURN, EditCommand::Release { redaction: 0 }).unwrap();
    let released = bench.body(TURN);
    assert!(released.contains(&format!("prod of xyzzy and {TOKEN}")), "{released}");
    let summary = bench.desk.turn(TURN).unwrap().summary(bench.now);
    assert_eq!((summary.edits, summary.redactions), (1, 1));
    // The second of two reviewers is told, whichever of the two things he wants.
    let second = bench.change(TURN, EditCommand::Release { redaction: 0 }).unwrap_err();
    assert_eq!(second, DeskError::Edit(EditError::NotRedacted));
    assert!(matches!(bench.desk.resume(TURN, &digest, bench.now), Err(DeskError::Stale { .. })));
    bench.change(TURN, EditCommand::Undo).unwrap();
    assert_eq!((bench.body(TURN), bench.digest(TURN)), (before, digest));
    bench.change(TURN, EditCommand::Redo).unwrap();
    assert_eq!(forwards(&bench.resume(TURN).unwrap())[0].2, released, "shown is sent");
}

#[test]
fn no_undo_and_no_redo_brings_a_redacted_value_back() {
    let mut bench = bench();
    for text in [format!("prod {SECRET} one"), "prod two".to_owned(), format!("prod {SECRET}{SECRET} three")]
    {
        bench.write(TURN, SAID, &text).unwrap();
    }
    let changes = [
        EditCommand::Undo,
        EditCommand::Undo,
        EditCommand::Undo,
        EditCommand::Redo,
        EditCommand::Redo,
        EditCommand::Redo,
        EditCommand::Reset,
        EditCommand::Undo,
    ];
    for change in changes {
        bench.change(TURN, change.clone()).unwrap();
        assert!(!bench.body(TURN).contains(SECRET), "after {change:?}");
        let turn = bench.desk.turn(TURN).unwrap();
        assert!(!format!("{:?}", turn.draft.redactions().collect::<Vec<_>>()).contains(SECRET));
    }
    assert!(bench.body(TURN).contains(&format!("prod {TOKEN}{TOKEN} three")));
}

#[test]
fn a_secret_where_nothing_can_be_redacted_is_not_let_in() {
    let mut bench = bench();
    let before = (bench.body(TURN), bench.desk.turn(TURN).unwrap().version);
    let refused = bench.write(TURN, "/messages/2/role", SECRET).unwrap_err();
    assert!(matches!(&refused, DeskError::Unredactable(hold) if &*hold.rule == "secrets"), "{refused}");
    assert!(!format!("{refused} {refused:?}").contains(SECRET));
    assert_eq!((bench.body(TURN), bench.desk.turn(TURN).unwrap().version), before);
    assert_eq!(bench.change(TURN, EditCommand::Undo).unwrap_err(), DeskError::Nothing("undo"));
}

// S0-10, S0-62
#[test]
fn a_resume_of_something_else_than_what_was_seen_is_stale() {
    let mut bench = bench();
    let seen = bench.digest(TURN);
    bench.write(TURN, SAID, "leave prod").unwrap();
    let now = bench.digest(TURN);
    assert_eq!(
        bench.desk.resume(TURN, &seen, bench.now).unwrap_err(),
        DeskError::Stale { turn: TURN, shown: now }
    );
    assert!(bench.desk.turn(TURN).unwrap().is_edited());
    bench.change(TURN, EditCommand::Undo).unwrap();
    assert!(bench.desk.resume(TURN, &seen, bench.now).is_ok(), "the very bytes that were seen");
}

#[test]
fn an_edit_that_a_rule_blocks_is_kept_and_cannot_leave() {
    let mut bench = bench();
    bench.write(TURN, SAID, "forbidden").unwrap();
    let refused = bench.resume(TURN).unwrap_err();
    assert_eq!(refused, DeskError::Blocked(Box::new(hold("forbidden"))));
    assert_eq!(bench.desk.turn(TURN).unwrap().holds.block, Some(hold("forbidden")));
    let shown = bench.desk.summary(TURN, bench.now).unwrap().holds;
    assert!(shown.last().is_some_and(|hold| hold.blocks && hold.rule == "forbidden"), "{shown:?}");
    bench.change(TURN, EditCommand::Undo).unwrap();
    assert_eq!(forwards(&bench.resume(TURN).unwrap()).len(), 1);
}

#[test]
fn an_edit_that_brings_another_pause_joins_it_to_the_list() {
    let mut bench = bench();
    bench.write(TURN, SAID, "drop prod and the audit log").unwrap();
    assert_eq!(holds(&bench), [("prod".to_owned(), HoldState::Open), ("audit".to_owned(), HoldState::Open)]);
    bench.write(TURN, SAID, "the audit log").unwrap();
    assert_eq!(holds(&bench)[0].1, HoldState::Lapsed);
    bench.resume(TURN).unwrap();
    let states = bench.desk.summary(TURN, bench.now).unwrap().holds.into_iter().map(|held| held.state);
    assert_eq!(states.collect::<Vec<_>>(), [HoldState::Lapsed, HoldState::Answered]);
}

// S0-122
#[test]
fn a_request_that_its_api_would_refuse_is_not_resumed_and_reset_mends_it() {
    let mut bench = bench();
    for place in 1..3 {
        let section = message_key(&bench.desk.turn(TURN).unwrap().draft, place);
        bench.change(TURN, EditCommand::Delete { section }).unwrap();
    }
    let refused = bench.resume(TURN).unwrap_err();
    assert!(matches!(refused, DeskError::Invalid(_)));
    assert!(refused.to_string().contains("reset"), "{refused}");
    assert!(std::error::Error::source(&refused).is_none(), "its cause is said once");
    bench.change(TURN, EditCommand::Reset).unwrap();
    assert_eq!(forwards(&bench.resume(TURN).unwrap()).len(), 1);
}

#[test]
fn of_two_changes_at_once_the_second_is_a_conflict() {
    let mut bench = bench();
    let slow = bench.desk.revise(TURN, bench.now).unwrap();
    bench.write(TURN, SAID, "leave prod").unwrap();
    let body = bench.body(TURN);
    let slow = slow.make(&set(SAID, "keep prod")).unwrap();
    assert_eq!(bench.desk.accept(slow, bench.now).unwrap_err(), DeskError::Conflict { turn: TURN });
    assert_eq!(bench.body(TURN), body);
}

// S0-34
#[test]
fn a_change_that_changes_nothing_is_no_event() {
    let mut bench = bench();
    let version = bench.desk.turn(TURN).unwrap().version;
    assert!(bench.write(TURN, SAID, "drop prod").unwrap().is_empty());
    assert_eq!(bench.desk.turn(TURN).unwrap().version, version);
    for (change, word) in
        [(EditCommand::Undo, "undo"), (EditCommand::Redo, "redo"), (EditCommand::Reset, "reset")]
    {
        assert_eq!(bench.change(TURN, change).unwrap_err(), DeskError::Nothing(word));
    }
}

#[test]
fn places_of_another_request_are_refused() {
    let mut bench = bench();
    let section = "user-9".to_owned();
    for change in
        [EditCommand::Delete { section: section.clone() }, EditCommand::Restore { section: section.clone() }]
    {
        assert_eq!(bench.change(TURN, change).unwrap_err(), DeskError::NoSuchPlace);
    }
    let none = bench.write(TURN, "/messages/9/content", "x").unwrap_err();
    assert_eq!(none, DeskError::Place(leafgate_tree::ResolveError::NotFound));
    assert_eq!(bench.write(TURN, "/messages/2", "x").unwrap_err(), DeskError::Edit(EditError::NotALeaf));
}

#[test]
fn a_turn_keeps_its_generation() {
    let mut bench = bench();
    let generation = std::sync::Arc::clone(&bench.desk.turn(TURN).unwrap().reviewer);
    let mut retry = bench.paused("s", crate::common::chat("drop prod"), vec![hold("prod")]);
    retry.reviewer = std::sync::Arc::new(crate::common::Words { generation: 2 });
    let (_, effects) = bench.desk.pause(retry, bench.now);
    assert_eq!(answers(&effects).len(), 1);
    bench.write(TURN, SAID, "leave prod").unwrap();
    assert!(std::sync::Arc::ptr_eq(&bench.desk.turn(TURN).unwrap().reviewer, &generation));
    assert_eq!(generation.generation, 1);
}

#[test]
fn what_a_change_says_stands_in_no_debug_output() {
    let mut bench = bench();
    let change = set(SAID, SECRET);
    assert!(!format!("{change:?}").contains(SECRET));
    let effects = bench.resume(TURN).unwrap();
    assert!(!format!("{effects:?}").contains("drop prod"));
}

#[test]
fn what_edits_add_counts_and_is_bounded_and_taking_back_never_is() {
    const MEMORY: usize = 200_000;
    let mut bench = Bench::with(DeskLimits { memory: MEMORY, ..DeskLimits::default() });
    bench.waiting("drop prod");
    let before = bench.desk.memory();
    let large = "prod ".repeat(MEMORY / 20);
    bench.write(TURN, SAID, &large).unwrap();
    assert!(bench.desk.memory() >= before + 2 * large.len(), "the edit and the body that would leave");
    assert!(matches!(bench.arrive("t", &large).0, leafgate_desk::Admission::Refused(_)));
    let mut refused = None;
    for number in 0..10 {
        refused = bench.write(TURN, SAID, &format!("{number} {large}")).err().or(refused);
    }
    assert_eq!(refused, Some(DeskError::NoRoom { turn: TURN, limit: MEMORY }));
    assert!(bench.desk.memory() <= MEMORY);
    bench.change(TURN, EditCommand::Undo).unwrap();
    bench.change(TURN, EditCommand::Reset).unwrap();
    assert!(bench.desk.memory() <= MEMORY);
}

#[test]
fn turns_of_two_megabytes_stay_within_the_bound_whatever_their_index_takes() {
    /// A little below what a document may have, in 2 MB.
    const MOST_VALUES: usize = 999_000;
    let limits = DeskLimits::default();
    let mut bench = Bench::with(limits);
    let digits = format!(
        r#"{{"messages": [{{"role": "user", "content": "prod"}}], "x": [{}1]}}"#,
        "1,".repeat(MOST_VALUES)
    );
    let digits = leafgate_tree::Document::parse(
        digits.into(),
        leafgate_tree::Format::OpenaiChat,
        &leafgate_tree::Limits::default(),
    );
    let digits = std::sync::Arc::new(digits.unwrap());
    let one = digits.memory();
    assert!(one > 20 * digits.source().len(), "an index of single digits is much larger than its body");
    let mut admitted = 0;
    for session in 0..limits.turns {
        let draft = leafgate_tree::Draft::new(std::sync::Arc::clone(&digits));
        let paused = bench.paused(&session.to_string(), draft, vec![hold("prod")]);
        admitted += usize::from(!matches!(
            bench.desk.pause(paused, bench.now).0,
            leafgate_desk::Admission::Refused(_)
        ));
        assert!(bench.desk.memory() <= limits.memory);
    }
    assert!(
        admitted < limits.turns && (admitted + 1) * (one + 2 * digits.source().len()) > limits.memory,
        "{admitted}"
    );
}

#[test]
fn looking_at_a_turn_and_changing_it_copy_nothing_of_it() {
    let bench = bench();
    let draft = std::sync::Arc::clone(&bench.desk.turn(TURN).unwrap().draft);
    let shared = std::sync::Arc::strong_count(&draft);
    let revision = bench.desk.revise(TURN, bench.now).unwrap();
    assert_eq!(std::sync::Arc::strong_count(&draft), shared + 1);
    drop(revision);
}

// S0-47, S0-48
#[test]
fn a_pin_changes_what_people_see_first_and_nothing_that_leaves() {
    let mut bench = bench();
    let section = |bench: &Bench, at: usize| {
        let document = bench.desk.turn(TURN).unwrap().draft.document().clone();
        let outermost = |id: &SectionId| document.section(*id).parent.is_none();
        (0..document.sections().len()).map(SectionId::from_index).filter(outermost).nth(at).unwrap()
    };
    let (first, second) = (section(&bench, 0), section(&bench, 1));
    let digest = bench.desk.turn(TURN).unwrap().digest();
    let changed = bench.desk.arrange(TURN, &[second, first, second]).unwrap();
    assert!(matches!(changed.as_slice(), [Effect::Changed(TURN)]));
    assert_eq!(bench.desk.turn(TURN).unwrap().pins, [second, first]);
    assert!(bench.desk.arrange(TURN, &[second, first]).unwrap().is_empty(), "nothing is published twice");
    bench.write(TURN, SAID, "leave prod").unwrap();
    assert_eq!(bench.desk.turn(TURN).unwrap().pins, [second, first], "an edit keeps it");
    bench.desk.arrange(TURN, &[]).unwrap();
    assert!(bench.desk.turn(TURN).unwrap().pins.is_empty());
    bench.change(TURN, EditCommand::Undo).unwrap();
    assert_eq!(bench.desk.turn(TURN).unwrap().digest(), digest);
    let none = bench.desk.arrange(TURN, &[SectionId::from_index(9_999)]);
    assert!(matches!(none, Err(DeskError::NoSuchPlace)));
    assert!(bench.desk.arrange(TurnId(7), &[first]).is_err());
}
