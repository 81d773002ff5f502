//! Every transition of a turn, and every one that is refused.

use std::time::Duration;

use leafgate_admin::{EditCommand, OnTimeout as Ends};

use crate::common::{Bench, answers, chat, destination, forwards, hold, hold_for, set};
use leafgate_desk::{
    Admission, CancelReason, ConnectionId, Decided, DeskError, DeskLimits, Destination, Digest, Dismissal,
    Effect, RequestKey, Room, State, TurnId,
};
use leafgate_policy::{Cause, Hold, HoldPlace, OnTimeout};

const MINUTE: Duration = Duration::from_secs(60);
const LINGER: Duration = Duration::from_secs(5);

#[test]
fn a_paused_request_waits_and_asks_to_be_woken() {
    let mut bench = Bench::new();
    let (admission, _, effects) = bench.arrive("s", "drop prod");
    assert_eq!(admission, Admission::Waiting(TurnId(1)));
    assert_eq!(bench.state(TurnId(1)), State::Waiting);
    assert!(matches!(effects[..], [Effect::Changed(TurnId(1))]), "{effects:?}");
    assert_eq!(bench.desk.next_deadline(), Some(bench.now.after(5 * MINUTE)));
}

#[test]
fn resumed_it_leaves_as_the_very_bytes_that_came() {
    let mut bench = Bench::new();
    let (turn, connection) = bench.waiting("drop prod");
    let source = bench.desk.turn(turn).unwrap().draft.document().source().clone();
    let effects = bench.resume(turn).unwrap();
    assert_eq!(forwards(&effects), [(turn, connection, String::from_utf8(source.to_vec()).unwrap())]);
    assert!(answers(&effects).is_empty());
    assert_eq!(bench.state(turn), State::Resumed);
    assert_eq!(bench.desk.summary(turn, bench.now).unwrap().ending.as_deref(), Some("user"));
}

// S0-10, S0-44
#[test]
fn what_is_over_takes_nothing_any_more() {
    for resumed in [true, false] {
        let mut bench = Bench::new();
        let (turn, connection) = bench.waiting("drop prod");
        let digest = bench.digest(turn);
        let revision = bench.desk.revise(turn, bench.now).unwrap();
        match resumed {
            true => bench.resume(turn).unwrap(),
            false => bench.desk.cancel(turn, CancelReason::User, bench.now).unwrap(),
        };
        let state = if resumed { State::Resumed } else { State::Cancelled };
        let over = DeskError::Over { turn, decided: Some(Decided { state, ending: "user".to_owned() }) };
        let revised = revision.make(&set("/messages/2/content", "x"));
        assert_eq!(bench.desk.accept(revised.unwrap(), bench.now).unwrap_err(), over);
        assert_eq!(bench.change(turn, EditCommand::Undo).unwrap_err(), over);
        assert_eq!(bench.desk.resume(turn, &digest, bench.now).unwrap_err(), over);
        assert_eq!(bench.desk.cancel(turn, CancelReason::User, bench.now).unwrap_err(), over);
        assert!(bench.lose(connection).is_empty());
        assert!(bench.pass(10 * MINUTE).is_empty());
    }
}

#[test]
fn what_never_was_is_unknown() {
    let mut bench = Bench::new();
    let (turn, _) = bench.waiting("drop prod");
    for turn in [TurnId(0), TurnId(turn.0 + 1)] {
        assert_eq!(bench.change(turn, EditCommand::Undo).unwrap_err(), DeskError::Unknown { turn });
        assert_eq!(bench.desk.summary(turn, bench.now).unwrap_err(), DeskError::Unknown { turn });
    }
}

#[test]
fn what_ended_long_ago_is_over_all_the_same() {
    let mut bench = Bench::with(DeskLimits { remembered: 1, ..DeskLimits::default() });
    for says in ["prod one", "prod two"] {
        let (turn, _) = bench.waiting(says);
        bench.resume(turn).unwrap();
    }
    assert_eq!(bench.desk.over().len(), 1);
    assert_eq!(
        bench.desk.summary(TurnId(1), bench.now).unwrap_err(),
        DeskError::Over { turn: TurnId(1), decided: None }
    );
}

// S0-55
#[test]
fn cancelled_it_answers_with_the_reasons_own_words() {
    let mut bench = Bench::new();
    for (reason, code, words) in [
        (CancelReason::User, "user", "canceled before sending"),
        (CancelReason::ClientGone, "clientGone", "its client disconnected"),
        (CancelReason::GateStopped, "gateStopped", "the gate is stopping"),
    ] {
        let (Admission::Waiting(turn), connection, _) = bench.arrive(code, "drop prod") else {
            panic!("not at the front")
        };
        let effects = bench.desk.cancel(turn, reason, bench.now).unwrap();
        assert_eq!(answers(&effects), [(connection, Dismissal::Cancelled(reason))]);
        assert!(Dismissal::Cancelled(reason).to_string().contains(words));
        assert_eq!(bench.desk.summary(turn, bench.now).unwrap().ending.as_deref(), Some(code));
        assert_eq!(bench.state(turn), State::Cancelled);
    }
}

#[test]
fn its_time_over_it_is_discarded_and_says_so() {
    let mut bench = Bench::new();
    let (turn, connection) = bench.waiting("drop prod");
    assert!(bench.pass(5 * MINUTE - Duration::from_millis(1)).is_empty());
    let effects = bench.pass(Duration::from_millis(1));
    assert_eq!(answers(&effects), [(connection, Dismissal::TimedOut { limit: 5 * MINUTE })]);
    assert!(forwards(&effects).is_empty());
    assert_eq!(bench.state(turn), State::TimedOut);
}

#[test]
fn its_time_over_it_leaves_where_all_rules_say_so() {
    let mut bench = Bench::new();
    let holds = vec![hold_for("a", 10, OnTimeout::Resume), hold_for("b", 20, OnTimeout::Resume)];
    let (_, connection, _) = bench.arrive_held("s", "drop prod", holds);
    assert!(bench.pass(Duration::from_secs(19)).is_empty());
    let effects = bench.pass(Duration::from_secs(1));
    assert_eq!(forwards(&effects).len(), 1);
    assert_eq!(forwards(&effects)[0].1, connection);
    assert_eq!(bench.desk.summary(TurnId(1), bench.now).unwrap().ending.as_deref(), Some("timeout"));
}

#[test]
fn its_time_over_it_does_not_leave_blocked_or_invalid() {
    let spoil: [fn(&mut Bench); 2] = [
        |bench| drop(bench.write(TurnId(1), "/messages/2/content", "forbidden").unwrap()),
        |bench| {
            for place in 1..3 {
                let section = crate::common::message_key(&bench.desk.turn(TurnId(1)).unwrap().draft, place);
                bench.change(TurnId(1), EditCommand::Delete { section }).unwrap();
            }
        },
    ];
    for spoil in spoil {
        let mut bench = Bench::new();
        bench.arrive_held("s", "drop prod", vec![hold_for("prod", 10, OnTimeout::Resume)]);
        spoil(&mut bench);
        let effects = bench.pass(Duration::from_mins(10));
        assert!(forwards(&effects).is_empty());
        assert!(matches!(answers(&effects)[..], [(_, Dismissal::TimedOut { .. })]));
    }
}

#[test]
fn a_person_who_comes_after_the_time_comes_too_late_even_if_the_clock_is_late_too() {
    let mut bench = Bench::new();
    let (turn, _) = bench.waiting("drop prod");
    bench.now = bench.now.after(5 * MINUTE);
    assert_eq!(bench.resume(turn).unwrap_err(), DeskError::Expired { turn });
    assert_eq!(bench.change(turn, EditCommand::Undo).unwrap_err(), DeskError::Expired { turn });
}

#[test]
fn the_same_request_joins_and_the_newest_connection_gets_the_answer() {
    let mut bench = Bench::new();
    let (turn, first) = bench.waiting("drop prod");
    let (admission, second, effects) = bench.arrive("s", "drop prod");
    assert_eq!(admission, Admission::Joined(turn));
    assert_eq!(answers(&effects), [(first, Dismissal::Replaced)]);
    assert_eq!(bench.desk.pending().len(), 1);
    assert!(bench.lose(first).is_empty(), "the older connection no longer matters");
    assert_eq!(forwards(&bench.resume(turn).unwrap())[0].1, second);
}

#[test]
fn the_same_request_joins_before_it_is_judged() {
    let mut bench = Bench::new();
    let (turn, first) = bench.waiting("drop prod");
    let received = Digest::of(&destination(), chat("drop prod").document().source());
    let key = RequestKey { session: "s".into(), received };
    let (joined, effects) = bench.desk.join(&key, ConnectionId(77), bench.now);
    assert_eq!((joined, answers(&effects)), (Some(turn), vec![(first, Dismissal::Replaced)]));
    let elsewhere = RequestKey { session: "t".into(), received };
    assert_eq!(bench.desk.join(&elsewhere, ConnectionId(78), bench.now).0, None);
}

#[test]
fn invariant_4_a_request_that_is_held_for_its_headers_too_does_not_join_one_that_shows_none() {
    let in_header = |at: &str| {
        let place = HoldPlace { what: "SECRET".into(), at: Some(at.into()), node: None, stands: true };
        Hold { places: vec![place], total: 1, cause: Cause::Unredactable, ..hold("secrets") }
    };
    let mut bench = Bench::new();
    let (turn, first) = bench.waiting("drop prod");
    let holds = vec![hold("prod"), in_header("header baggage")];
    let (admission, second, effects) = bench.arrive_held("s", "drop prod", holds.clone());
    let Admission::Queued(other) = admission else { panic!("{admission:?}") };
    assert!(answers(&effects).is_empty(), "the first one waits on");
    assert_eq!(forwards(&bench.resume(turn).unwrap())[0].1, first);

    assert_eq!(bench.arrive_held("s", "drop prod", holds.clone()).0, Admission::Joined(other));
    let elsewhere = vec![hold("prod"), in_header("header traceparent")];
    assert!(matches!(bench.arrive_held("s", "drop prod", elsewhere).0, Admission::Queued(_)));
    let unlisted = vec![hold("prod"), Hold { total: 2, ..holds[1].clone() }];
    assert!(matches!(bench.arrive_held("s", "drop prod", unlisted).0, Admission::Queued(_)));
    assert_ne!(first, second);
}

#[test]
fn invariant_4_another_method_or_option_is_another_request() {
    let mut bench = Bench::new();
    let (turn, first) = bench.waiting("drop prod");
    for (method, options) in [("DELETE", ""), ("POST", "anthropic-beta: files")] {
        let other = Destination { method: method.into(), options: options.into(), ..destination() };
        let received = Digest::of(&other, chat("drop prod").document().source());
        let key = RequestKey { session: "s".into(), received };
        assert_eq!(bench.desk.join(&key, ConnectionId(77), bench.now).0, None, "{method} {options}");
        let mut paused = bench.paused("s", chat("drop prod"), vec![hold("prod")]);
        paused.to = other;
        assert!(matches!(bench.desk.pause(paused, bench.now).0, Admission::Queued(_)), "{method} {options}");
    }
    assert_eq!(forwards(&bench.resume(turn).unwrap())[0].1, first, "the answer goes to the one that asked");
}

#[test]
fn an_edit_does_not_make_the_same_request_another_one() {
    let mut bench = Bench::new();
    let (turn, _) = bench.waiting("drop prod");
    bench.write(turn, "/messages/2/content", "leave prod").unwrap();
    assert_eq!(bench.arrive("s", "drop prod").0, Admission::Joined(turn));
    assert!(matches!(bench.arrive("s", "leave prod").0, Admission::Queued(_)));
}

#[test]
fn its_client_gone_it_lingers_and_is_then_discarded_in_silence() {
    let mut bench = Bench::new();
    let (turn, connection) = bench.waiting("drop prod");
    bench.lose(connection);
    assert_eq!(bench.state(turn), State::Disconnected);
    assert_eq!(bench.desk.next_deadline(), Some(bench.now.after(LINGER)));
    assert_eq!(bench.resume(turn).unwrap_err(), DeskError::Disconnected { turn });
    bench.write(turn, "/messages/2/content", "leave prod").unwrap();
    let effects = bench.pass(LINGER);
    assert!(answers(&effects).is_empty() && forwards(&effects).is_empty());
    assert_eq!(bench.desk.summary(turn, bench.now).unwrap().ending.as_deref(), Some("clientGone"));
}

#[test]
fn its_client_back_it_goes_on_as_edited() {
    let mut bench = Bench::new();
    let (turn, connection) = bench.waiting("drop prod");
    bench.write(turn, "/messages/2/content", "leave prod").unwrap();
    bench.lose(connection);
    bench.pass(LINGER - Duration::from_millis(1));
    let (admission, second, effects) = bench.arrive("s", "drop prod");
    assert_eq!(admission, Admission::Joined(turn));
    assert!(answers(&effects).is_empty(), "nobody is left to be answered");
    assert!(bench.desk.turn(turn).unwrap().is_edited());
    bench.pass(LINGER);
    let sent = forwards(&bench.resume(turn).unwrap());
    assert_eq!(sent[0].1, second);
    assert!(sent[0].2.contains("leave prod"));
}

#[test]
fn nobody_there_nothing_leaves_when_the_time_is_over() {
    let mut bench = Bench::new();
    let (_, connection, _) =
        bench.arrive_held("s", "drop prod", vec![hold_for("prod", 3, OnTimeout::Resume)]);
    bench.lose(connection);
    assert!(forwards(&bench.pass(Duration::from_secs(3))).is_empty());
    assert_eq!(bench.state(TurnId(1)), State::TimedOut);
}

// S0-62
#[test]
fn another_request_of_the_session_queues_and_those_of_others_do_not() {
    let mut bench = Bench::new();
    let (first, _) = bench.waiting("prod one");
    let (admission, _, _) = bench.arrive("s", "prod two");
    let second = TurnId(2);
    assert_eq!(admission, Admission::Queued(second));
    assert_eq!(bench.state(second), State::Queued);
    let refused = DeskError::Queued { turn: second, behind: first };
    assert_eq!(bench.resume(second).unwrap_err(), refused);
    assert_eq!(bench.change(second, EditCommand::Reset).unwrap_err(), refused);
    assert_eq!(bench.arrive("t", "prod two").0, Admission::Waiting(TurnId(3)));
}

#[test]
fn the_next_one_moves_up_with_its_whole_time() {
    let mut bench = Bench::new();
    let (first, _) = bench.waiting("prod one");
    bench.arrive("s", "prod two");
    let second = TurnId(2);
    let latest = bench.desk.turn(second).unwrap().expiry().at;
    assert_eq!(latest, bench.now.after(10 * MINUTE), "after the first one's time and its own");
    bench.pass(4 * MINUTE);
    bench.resume(first).unwrap();
    assert_eq!(bench.desk.next_deadline(), Some(bench.now.after(5 * MINUTE)));
    assert_eq!(bench.state(second), State::Waiting);
    assert_eq!(bench.desk.turn(second).unwrap().expiry().at, bench.now.after(5 * MINUTE));
    bench.resume(second).unwrap();
    assert_eq!(bench.desk.next_deadline(), None);
}

#[test]
fn a_queued_turn_can_be_cancelled_and_lost_where_it_stands() {
    let mut bench = Bench::new();
    let (first, _) = bench.waiting("prod one");
    let (_, second, _) = bench.arrive("s", "prod two");
    let (_, third, _) = bench.arrive("s", "prod three");
    bench.lose(second);
    let effects = bench.desk.cancel(TurnId(3), CancelReason::User, bench.now).unwrap();
    assert_eq!(answers(&effects), [(third, Dismissal::Cancelled(CancelReason::User))]);
    bench.pass(LINGER);
    assert_eq!(bench.state(TurnId(2)), State::Cancelled);
    assert_eq!(bench.state(first), State::Waiting);
}

#[test]
fn a_gate_that_stops_answers_everybody() {
    let mut bench = Bench::new();
    bench.waiting("prod one");
    bench.arrive("s", "prod two");
    bench.arrive("t", "prod one");
    let effects = bench.desk.close(bench.now);
    let told: Vec<_> = answers(&effects).into_iter().map(|(_, dismissal)| dismissal).collect();
    assert_eq!(told, [Dismissal::Cancelled(CancelReason::GateStopped); 3]);
    assert!(told[0].to_string().contains("the gate is stopping"), "{}", told[0]);
    assert_eq!((bench.desk.pending().len(), bench.desk.next_deadline()), (0, None));
}

#[test]
fn a_full_desk_refuses_with_the_limit_in_its_reason() {
    const MEMORY: usize = 100_000;
    let limits = DeskLimits { turns: 3, queued: 1, memory: MEMORY, ..DeskLimits::default() };
    let mut bench = Bench::with(limits);
    bench.waiting("prod one");
    bench.arrive("s", "prod two");
    let (admission, connection, effects) = bench.arrive("s", "prod three");
    assert_eq!(admission, Admission::Refused(Room::Queue { limit: 1 }));
    let [(to, dismissal)] = answers(&effects)[..] else { panic!("one answer: {effects:?}") };
    assert_eq!(to, connection);
    assert!(dismissal.to_string().contains("1 requests of this session queue for review"), "{dismissal}");

    let large = bench.arrive("t", &"prod ".repeat(MEMORY / 10)).0;
    assert_eq!(large, Admission::Refused(Room::Memory { limit: MEMORY }));
    bench.arrive("t", "prod");
    assert_eq!(bench.arrive("u", "prod").0, Admission::Refused(Room::Turns { limit: 3 }));
    assert!(matches!(bench.arrive("t", "prod").0, Admission::Joined(_)), "a retry needs no room");
}

#[test]
fn a_summary_names_the_turn_and_tells_nothing_of_its_text() {
    let mut bench = Bench::new();
    let (_, _, _) = bench.arrive("session-0123456789", "the prod plan");
    let turn = TurnId(1);
    bench.write(turn, "/messages/1/content", "my other plan").unwrap();
    let section = crate::common::message_key(&bench.desk.turn(turn).unwrap().draft, 2);
    bench.change(turn, EditCommand::Delete { section }).unwrap();
    let summary = bench.desk.summary(turn, bench.now).unwrap();
    assert_eq!(summary.label, "chat · test · …456789");
    assert_eq!(summary.model, "m-1");
    assert_eq!((summary.edits, summary.redactions), (2, 0));
    assert_eq!((summary.state, summary.left_ms, summary.on_timeout), (State::Waiting, 300_000, Ends::Cancel));
    let (line, debugged) = (format!("{summary:?}"), format!("{:?}", bench.desk.turn(turn).unwrap()));
    assert!(line.contains("prod asks for a person"), "{line}");
    for text in ["plan", "brief"] {
        assert!(!line.contains(text) && !debugged.contains(text), "{line} {debugged}");
    }
}

#[test]
fn a_request_that_no_rule_holds_still_has_a_deadline() {
    let mut bench = Bench::new();
    bench.arrive_held("s", "hello", Vec::new());
    assert_eq!(bench.desk.next_deadline(), Some(bench.now.after(5 * MINUTE)));
    assert_eq!(bench.desk.turn(TurnId(1)).unwrap().holds.list, []);
    assert_eq!(hold("x").timeout, None);
}
