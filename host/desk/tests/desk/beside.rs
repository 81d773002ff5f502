//! Side requests that repeat a turn's words: they wait with it, share its decision, and carry
//! nothing out that nobody looked at.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{ASKS_ALWAYS, Bench, Words, answers, chat, destination, draft, forwards, hold};
use leafgate_admin::EditCommand;
use leafgate_desk::{
    Admission, CancelReason, ConnectionId, DeskError, Destination, Dismissal, Effects, Paused, Repeats,
    State, TurnClass, TurnId,
};
use leafgate_policy::Hold;
use leafgate_tree::Draft;
use proptest::prelude::*;

const MINUTE: Duration = Duration::from_secs(60);
const EDITED: Dismissal = Dismissal::Cancelled(CancelReason::TurnEdited);

/// What a user said, and the turn that says it.
const WORDS: &str = "drop prod";

/// A side request, and where it stands in the bench.
struct Came {
    admission: Admission,
    connection: ConnectionId,
    effects: Effects,
}

fn title_of(words: &str) -> Draft {
    asks("Name this chat", &format!("Please write a title for:\n\n{words}"))
}

fn asks(system: &str, user: &str) -> Draft {
    let system = serde_json::json!({ "role": "system", "content": system });
    let user = serde_json::json!({ "role": "user", "content": user });
    draft(&serde_json::json!({ "model": "small", "messages": [system, user] }).to_string())
}

impl Bench {
    fn side_held(&mut self, draft: Draft, to: Destination, holds: Vec<Hold>, reviewer: u32) -> Came {
        let reviewer = Arc::new(Words { generation: reviewer });
        let repeats = Repeats::of(&draft, &to, &holds, &*reviewer, &self.desk.leads());
        let paused = Paused { to, class: TurnClass::Side, reviewer, ..self.paused("side", draft, holds) };
        let connection = paused.connection;
        let arrival = leafgate_desk::Arrival::from(paused).repeating(repeats);
        let (admission, effects) = self.desk.pause(arrival, self.now);
        Came { admission, connection, effects }
    }

    fn side(&mut self, draft: Draft) -> Came {
        self.side_held(draft, destination(), vec![hold("prod")], 1)
    }

    /// A side request that stands beside a turn.
    fn beside(&mut self, lead: TurnId, draft: Draft) -> (TurnId, ConnectionId) {
        let came = self.side(draft);
        assert_eq!(came.admission, Admission::Beside(lead));
        let newest = self.desk.pending().last().unwrap();
        assert_eq!(newest.with, Some(lead));
        (newest.id, came.connection)
    }

    /// What the gate does once a turn has come: side requests that came before are looked at again.
    fn bring_together(&mut self, turn: TurnId) -> Effects {
        let leads: Vec<_> = self.desk.leads().into_iter().filter(|lead| lead.turn == turn).collect();
        let alone: Vec<_> = self
            .desk
            .alone()
            .map(|side| {
                let holds: Vec<_> = side.holds.list.iter().map(|held| held.hold.clone()).collect();
                let repeats = Repeats::of(&side.draft, &side.to, &holds, &*side.reviewer, &leads);
                (side.id, repeats)
            })
            .collect();
        let mut effects = Effects::new();
        for (side, repeats) in alone {
            effects.extend(
                repeats.map(|repeats| self.desk.stand_beside(side, repeats, self.now)).unwrap_or_default(),
            );
        }
        effects
    }

    /// Turns that a person decides about.
    fn asked(&self) -> usize {
        self.desk.pending().filter(|turn| turn.with.is_none()).count()
    }
}

#[test]
fn a_title_waits_with_the_turn_whose_words_it_repeats_and_leaves_with_it_as_it_came() {
    let mut bench = Bench::new();
    let (turn, connection) = bench.waiting(WORDS);
    let (title, of_title) = bench.beside(turn, title_of(WORDS));
    let line = bench.desk.summary(turn, bench.now).unwrap();
    assert_eq!((bench.asked(), bench.desk.outlook().pending, line.beside), (1, 1, 1));
    assert_eq!(bench.desk.summary(title, bench.now).unwrap().with, Some(turn.to_string()));
    let body = bench.body(title);
    let effects = bench.resume(turn).unwrap();
    assert_eq!(forwards(&effects).iter().map(|sent| sent.1).collect::<Vec<_>>(), [connection, of_title]);
    assert_eq!(forwards(&effects)[1].2, body, "it has a body of its own");
    assert!(answers(&effects).is_empty());
    assert_eq!(bench.state(title), State::Resumed);
    assert_eq!(bench.desk.memory(), 0);
}

#[test]
fn it_is_decided_with_the_turn_and_never_by_itself() {
    let mut bench = Bench::new();
    let (turn, _) = bench.waiting(WORDS);
    let (title, of_title) = bench.beside(turn, title_of(WORDS));
    let refused = DeskError::Beside { turn: title, lead: turn };
    assert_eq!(bench.resume(title).unwrap_err(), refused);
    assert_eq!(bench.write(title, "/messages/1/content", "x").unwrap_err(), refused);
    // It may go before the turn does, by a person or with its client.
    assert_eq!(answers(&bench.cancel(title)), [(of_title, Dismissal::Cancelled(CancelReason::User))]);
    assert_eq!(bench.desk.summary(turn, bench.now).unwrap().beside, 0);
    assert_eq!(bench.state(turn), State::Waiting);
}

#[test]
fn a_turn_that_does_not_leave_takes_it_along() {
    for end in 0..4 {
        let mut bench = Bench::new();
        let (turn, connection) = bench.waiting(WORDS);
        let (_, of_title) = bench.beside(turn, title_of(WORDS));
        let (effects, reason) = match end {
            0 => (bench.cancel(turn), CancelReason::User),
            1 => (bench.desk.close(bench.now), CancelReason::GateStopped),
            2 => {
                bench.lose(connection);
                (bench.pass(MINUTE), CancelReason::ClientGone)
            }
            _ => {
                let effects = bench.pass(5 * MINUTE);
                let dismissal = Dismissal::TimedOut { limit: 5 * MINUTE };
                assert_eq!(answers(&effects), [(connection, dismissal), (of_title, dismissal)]);
                continue;
            }
        };
        let ended: Vec<_> = answers(&effects).into_iter().filter(|(to, _)| *to == of_title).collect();
        assert_eq!(ended, [(of_title, Dismissal::Cancelled(reason))], "{reason:?}");
        assert!(forwards(&effects).is_empty());
        assert_eq!(bench.desk.pending().len(), 0);
    }
}

#[test]
fn what_a_person_changed_does_not_leave_by_the_side() {
    let mut bench = Bench::new();
    let (turn, connection) = bench.waiting(WORDS);
    let (_, of_title) = bench.beside(turn, title_of(WORDS));
    bench.write(turn, "/messages/2/content", "hello").unwrap();
    // What comes while the turn is being edited has the words as they were.
    let (_, of_model) = bench.beside(turn, asks("Choose a model", WORDS));
    let effects = bench.resume(turn).unwrap();
    assert_eq!(forwards(&effects).iter().map(|sent| sent.1).collect::<Vec<_>>(), [connection]);
    assert_eq!(answers(&effects), [(of_title, EDITED), (of_model, EDITED)]);
    // Nor afterwards.
    assert_eq!(answers(&bench.side(asks("Again", WORDS)).effects).len(), 1);
    let mut bench = Bench::new();
    let (turn, _) = bench.waiting(WORDS);
    bench.beside(turn, title_of(WORDS));
    bench.write(turn, "/messages/2/content", "hello").unwrap();
    bench.change(turn, EditCommand::Undo).unwrap();
    assert_eq!(forwards(&bench.resume(turn).unwrap()).len(), 2, "nothing was changed in the end");
}

#[test]
fn its_own_client_may_leave_and_the_turn_waits_on() {
    let mut bench = Bench::new();
    let (turn, connection) = bench.waiting(WORDS);
    let (title, of_title) = bench.beside(turn, title_of(WORDS));
    bench.lose(of_title);
    assert_eq!(bench.state(title), State::Disconnected);
    bench.pass(MINUTE);
    assert_eq!((bench.state(title), bench.state(turn)), (State::Cancelled, State::Waiting));
    let (lost, of_lost) = bench.beside(turn, asks("Choose a model", WORDS));
    bench.lose(of_lost);
    let effects = bench.resume(turn).unwrap();
    assert_eq!(forwards(&effects).iter().map(|sent| sent.1).collect::<Vec<_>>(), [connection]);
    assert_eq!(bench.state(lost), State::Cancelled, "nobody would get the answer");
}

#[test]
fn what_came_first_is_asked_about_until_its_turn_comes() {
    let mut bench = Bench::new();
    let first = bench.side(title_of(WORDS));
    let Admission::Waiting(title) = first.admission else { panic!("{:?}", first.admission) };
    let again = bench.side(title_of(WORDS));
    assert_eq!(again.admission, Admission::Beside(title), "the same at once is asked about once");
    let (turn, _) = bench.waiting(WORDS);
    bench.bring_together(turn);
    assert_eq!((bench.asked(), bench.desk.summary(turn, bench.now).unwrap().beside), (1, 2));
    assert_eq!(forwards(&bench.resume(turn).unwrap()).len(), 3);
    // Somebody may have changed it by then.
    let mut bench = Bench::new();
    let Admission::Waiting(title) = bench.side(title_of(WORDS)).admission else { panic!() };
    bench.write(title, "/messages/0/content", "Call it X").unwrap();
    let (turn, _) = bench.waiting(WORDS);
    bench.bring_together(turn);
    assert_eq!(bench.asked(), 2);
}

#[test]
fn each_of_the_same_side_requests_gets_an_answer() {
    let mut bench = Bench::new();
    let first = bench.side(title_of(WORDS));
    let Admission::Waiting(title) = first.admission else { panic!("{:?}", first.admission) };
    let second = bench.side(title_of(WORDS));
    let third = bench.side(title_of(WORDS));
    bench.lose(first.connection);
    bench.pass(MINUTE);
    assert_eq!((bench.state(title), bench.asked()), (State::Cancelled, 1), "the next one is asked about");
    let next = bench.desk.pending().find(|turn| turn.with.is_none()).unwrap().id;
    let sent: Vec<_> = forwards(&bench.resume(next).unwrap()).iter().map(|sent| sent.1).collect();
    assert_eq!(sent, [second.connection, third.connection]);
}

/// What must not share a decision, and why.
#[test]
fn what_holds_more_than_the_turn_showed_is_asked_about_like_any_other() {
    let elsewhere = Destination { upstream: "other".into(), ..destination() };
    for (why, draft, to, holds) in [
        (
            "another finding beside the words",
            title_of("drop prod\nand the other prod"),
            destination(),
            "prod",
        ),
        ("one in another message", asks("prod is called x7", WORDS), destination(), "prod"),
        (
            "one in a key",
            self::draft(r#"{"prod": "", "messages": [{"role": "user", "content": "drop prod"}]}"#),
            destination(),
            "prod",
        ),
        ("words that are a part of a line", asks("", "I say drop prod"), destination(), "prod"),
        ("words that are a part of a word", asks("", "drop prods"), destination(), "prod"),
        ("a part of the words", asks("", "prod"), destination(), "prod"),
        ("other words", asks("", "drop production"), destination(), "prod"),
        ("another upstream", title_of(WORDS), elsewhere, "prod"),
        ("a rule that does not hold the turn", title_of(WORDS), destination(), "audit"),
        ("what holds the request and not its words", title_of(WORDS), destination(), "(profile)"),
    ] {
        let mut bench = Bench::new();
        let (turn, _) = bench.waiting(WORDS);
        let came = bench.side_held(draft, to, vec![hold(holds)], 1);
        assert!(matches!(came.admission, Admission::Waiting(_)), "{why}: {:?}", came.admission);
        assert_eq!(bench.asked(), 2, "{why}");
        assert_eq!(forwards(&bench.resume(turn).unwrap()).len(), 1, "{why}");
    }
}

#[test]
fn a_turn_that_only_a_mode_holds_decides_about_nothing_else() {
    let mut bench = Bench::new();
    bench.set_mode(leafgate_admin::TurnMode::InterceptAlways);
    bench.paused_by_mode("s", WORDS);
    assert!(matches!(bench.side(title_of(WORDS)).admission, Admission::Waiting(_)));
}

/// A rule that holds everything asks about what a client adds to the words too: once.
#[test]
fn what_a_client_adds_is_asked_about_once_and_then_known() {
    let mut bench = Bench::new();
    for round in 0..3 {
        let words = format!("drop prod {round}");
        let (turn, _) = bench.waiting(&words);
        let came = bench.side_held(title_of(&words), destination(), vec![hold("prod")], ASKS_ALWAYS);
        match (round, came.admission) {
            (0, Admission::Waiting(title)) => drop(bench.resume(title).unwrap()),
            (_, Admission::Beside(lead)) if round > 0 => assert_eq!(lead, turn),
            (_, admission) => panic!("{round}: {admission:?}"),
        }
        let other = asks("Name this chat, and prefix it with x", &words);
        let came = bench.side_held(other, destination(), vec![hold("prod")], ASKS_ALWAYS);
        assert!(matches!(came.admission, Admission::Waiting(_)), "{round}: it adds something else");
        drop(bench.desk.close(bench.now));
    }
    // What was edited, and what nobody let go, is not known.
    let mut bench = Bench::new();
    for round in 0..3 {
        let words = format!("drop prod {round}");
        bench.waiting(&words);
        let came = bench.side_held(title_of(&words), destination(), vec![hold("prod")], ASKS_ALWAYS);
        let Admission::Waiting(title) = came.admission else { panic!("{:?}", came.admission) };
        if round == 0 {
            bench.write(title, "/messages/0/content", "Call it X").unwrap();
            bench.resume(title).unwrap();
        }
        drop(bench.desk.close(bench.now));
    }
}

#[test]
fn what_comes_behind_a_turn_shares_what_was_decided_for_a_while() {
    let limit = leafgate_desk::DeskLimits::default().cancel_holds;
    let mut bench = Bench::new();
    let (turn, _) = bench.waiting(WORDS);
    bench.resume(turn).unwrap();
    let came = bench.side(title_of(WORDS));
    assert_eq!((came.admission, forwards(&came.effects).len()), (Admission::Decided, 1));
    assert!(matches!(bench.side(title_of("drop prod\nprod")).admission, Admission::Waiting(_)));
    bench.pass(limit);
    assert!(matches!(bench.side(title_of(WORDS)).admission, Admission::Waiting(_)), "that was long ago");

    let mut bench = Bench::new();
    let (turn, _) = bench.waiting(WORDS);
    bench.cancel(turn);
    let came = bench.side(title_of(WORDS));
    assert_eq!(answers(&came.effects), [(came.connection, Dismissal::Cancelled(CancelReason::User))]);

    // A deadline is no decision.
    let mut bench = Bench::new();
    bench.waiting(WORDS);
    bench.pass(5 * MINUTE);
    assert!(matches!(bench.side(title_of(WORDS)).admission, Admission::Waiting(_)));
}

#[test]
fn the_very_same_side_request_is_asked_about_once_for_a_while() {
    let limit = leafgate_desk::DeskLimits::default().cancel_holds;
    let mut bench = Bench::new();
    let Admission::Waiting(first) = bench.side(title_of(WORDS)).admission else { panic!() };
    bench.resume(first).unwrap();
    bench.pass(limit / 2);
    let again = bench.side(title_of(WORDS));
    assert_eq!((again.admission, forwards(&again.effects).len()), (Admission::Decided, 1));
    bench.pass(limit / 2);
    assert!(
        matches!(bench.side(title_of(WORDS)).admission, Admission::Waiting(_)),
        "asking does not prolong it"
    );
    // No turn of a person shares it.
    let mut bench = Bench::new();
    let Admission::Waiting(first) = bench.side(chat(WORDS)).admission else { panic!() };
    bench.resume(first).unwrap();
    assert!(matches!(bench.arrive("side", WORDS).0, Admission::Waiting(_)));
}

#[test]
fn a_count_of_the_turn_says_nothing_that_the_turn_does_not() {
    let of = |system: &str, more: &str| {
        draft(&format!(
            r#"{{"model": "m-1", "messages": [{{"role": "system", "content": "{system}"}}, {{"role": "user", "content": "Hi"}}, {{"role": "user", "content": "{WORDS}"}}]{more}}}"#
        ))
    };
    for (draft, shares) in
        [(of("Be brief", ""), true), (of("prod?", ""), false), (of("Be brief", r#", "x": "prod""#), false)]
    {
        let mut bench = Bench::new();
        let (turn, _) = bench.waiting(WORDS);
        let body = draft.render();
        let came = bench.side(draft);
        assert_eq!(came.admission == Admission::Beside(turn), shares, "{body:?}");
    }
}

#[test]
fn a_full_desk_refuses_what_would_stand_beside() {
    let mut bench = Bench::with(leafgate_desk::DeskLimits { turns: 1, ..Default::default() });
    bench.waiting(WORDS);
    assert!(matches!(bench.side(title_of(WORDS)).admission, Admission::Refused(_)));
}

/// What stands in a side request: words of the turn, what the rule looks for, anything.
const PIECES: [&str; 7] = ["drop prod", "prod", "\n", " ", "x", "drop", "\nprod\n"];

proptest! {
    /// Whatever a side request is made of: where it leaves by the decision about the turn, nothing is
    /// left of it without the turn's words that the rule would hold.
    #[test]
    fn nothing_leaves_by_the_side_that_a_rule_asks_about(
        system in proptest::collection::vec(0..PIECES.len(), 0..5),
        user in proptest::collection::vec(0..PIECES.len(), 0..6),
        first in any::<bool>(),
    ) {
        let text = |pieces: &[usize]| pieces.iter().map(|&at| PIECES[at]).collect::<String>();
        let (system, user) = (text(&system), text(&user));
        let mut bench = Bench::new();
        let turn = if first { None } else { Some(bench.waiting(WORDS).0) };
        let came = bench.side(asks(&system, &user));
        let turn = turn.unwrap_or_else(|| {
            let turn = bench.waiting(WORDS).0;
            bench.bring_together(turn);
            turn
        });
        let effects = bench.resume(turn).unwrap();
        if forwards(&effects).iter().any(|sent| sent.1 == came.connection) {
            let lines = |text: &str| text.split('\n').filter(|line| *line != WORDS).collect::<Vec<_>>().join("\n");
            prop_assert!(system.lines().chain(user.lines()).any(|line| line == WORDS));
            prop_assert!(!lines(&system).contains("prod") && !lines(&user).contains("prod"), "{system:?} {user:?}");
        }
    }
}
