//! What modes pause, and what becomes of it.

use std::time::Duration;

use crate::common::{Bench, Came, Fate, answers, chat, forwards, hold};
use leafgate_admin::{AutoState, EditCommand, TurnMode};
use leafgate_desk::{
    Admission, CancelReason, ConnectionId, DeskError, DeskLimits, Dismissal, Effect, Effects, Paused,
    Question, Room, State, TurnClass, TurnId,
};

const HOLDS: Duration = Duration::from_secs(30);

fn again(reason: CancelReason) -> Fate {
    Fate::Dismissed(Dismissal::CancelledBefore { reason, limit: HOLDS })
}

fn cancelled(to: ConnectionId, reason: CancelReason) -> Vec<(ConnectionId, Dismissal)> {
    vec![(to, Dismissal::Cancelled(reason))]
}

fn tells_of_mode(effects: &Effects) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::ModeChanged))
}

// S0-44, S0-50
#[test]
fn each_mode_pauses_what_it_says() {
    use TurnClass::{Main, Side, Subagent};
    for (mode, class, pauses) in [
        (TurnMode::Off, Main, [false, false]),
        (TurnMode::InterceptOnce, Main, [true, false]),
        (TurnMode::InterceptOnce, Subagent, [false, false]),
        (TurnMode::InterceptAlways, Main, [true, true]),
        (TurnMode::InterceptAlways, Subagent, [false, false]),
        (TurnMode::InterceptAlways, Side, [false, false]),
        (TurnMode::AutoOverride, Main, [true, true]),
        (TurnMode::AutoOverride, Side, [false, false]),
    ] {
        let mut bench = Bench::new();
        bench.set_mode(mode);
        let came = ["s", "t"].map(|session| bench.come(session, class, chat("Hi"), Vec::new()).fate);
        let waits = came.map(|fate| matches!(fate, Fate::Waits(_)));
        assert_eq!(waits, pauses, "{mode} {class}");
        assert!(came.iter().all(|fate| matches!(fate, Fate::Waits(_) | Fate::Sent)));
    }
}

#[test]
fn a_single_pause_gives_way_to_the_mode_before_it_and_tells_so() {
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::InterceptOnce);
    let (outlook, lasting) = (bench.desk.outlook(), TurnMode::Off);
    assert_eq!((outlook.mode, outlook.lasting), (TurnMode::InterceptOnce, lasting));
    let Came { fate, effects, .. } = bench.main("s", "Hi");
    assert!(matches!(fate, Fate::Waits(_)) && tells_of_mode(&effects));
    assert_eq!(bench.desk.outlook().mode, TurnMode::Off);
    assert_eq!(bench.main("t", "Hi").fate, Fate::Sent);
}

#[test]
fn a_blocked_request_uses_no_single_pause_up() {
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::InterceptOnce);
    let request = leafgate_desk::Request {
        session: "s".into(),
        class: TurnClass::Main,
        model: None,
        title: crate::common::title(),
    };
    let _ = bench.desk.receive(&request, bench.now);
    assert_eq!(bench.desk.outlook().mode, TurnMode::InterceptOnce);
}

// S0-44, S0-58
#[test]
fn turning_off_gives_up_what_modes_paused_and_leaves_what_rules_paused() {
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::InterceptAlways);
    let (_, first) = bench.paused_by_mode("s", "Hi");
    let (_, second) = bench.paused_by_mode("t", "Hi");
    let both = bench.come("u", TurnClass::Main, chat("prod"), vec![hold("prod")]);
    let Fate::Waits(ruled) = both.fate else { panic!("{both:?}") };
    let effects = bench.set_mode(TurnMode::Off);
    let answered = answers(&effects);
    assert_eq!(answered.len(), 2);
    for to in [first, second] {
        assert!(answered.contains(&(to, Dismissal::Cancelled(CancelReason::ModeDisabled))));
    }
    assert!(forwards(&effects).is_empty());
    assert_eq!(bench.state(ruled), State::Waiting);
    assert_eq!(bench.desk.turn(ruled).unwrap().mode, None);
    assert_eq!(
        CancelReason::ModeDisabled.message(),
        "Prompt Interception Mode was disabled. Pending request discarded."
    );
}

#[test]
fn an_edit_that_a_rule_asks_about_makes_it_the_rules_pause() {
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::InterceptAlways);
    let (turn, _) = bench.paused_by_mode("s", "Hi");
    bench.write(turn, "/messages/2/content", "prod").unwrap();
    bench.set_mode(TurnMode::Off);
    assert!(bench.desk.turn(turn).unwrap().is_edited());
}

#[test]
fn no_other_choice_gives_anything_up() {
    for (from, to) in [
        (TurnMode::InterceptAlways, TurnMode::InterceptOnce),
        (TurnMode::InterceptAlways, TurnMode::AutoOverride),
        (TurnMode::InterceptOnce, TurnMode::InterceptAlways),
        (TurnMode::AutoOverride, TurnMode::InterceptAlways),
    ] {
        let mut bench = Bench::new();
        bench.set_mode(from);
        let (turn, connection) = bench.paused_by_mode("s", "Hi");
        let effects = bench.set_mode(to);
        assert!(answers(&effects).is_empty() && tells_of_mode(&effects), "{from} to {to}");
        let by = bench.desk.turn(turn).unwrap().mode.map(|pause| pause.mode);
        assert_eq!(by, Some(if to == TurnMode::AutoOverride { to } else { from }), "what waits is captured");
        assert_eq!(forwards(&bench.resume(turn).unwrap())[0].1, connection);
    }
}

#[test]
fn turned_off_while_a_request_was_judged_it_ends_as_those_did_that_waited() {
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::InterceptAlways);
    let (asked, _) = bench.desk.ask("s", TurnClass::Main, None, bench.now);
    let leafgate_desk::Asked::Pause(pause) = asked else { panic!("{asked:?}") };
    bench.set_mode(TurnMode::Off);
    bench.set_mode(TurnMode::InterceptAlways);
    for (holds, admission) in [
        (vec![], Admission::Dismissed(Dismissal::Cancelled(CancelReason::ModeDisabled))),
        (vec![hold("prod")], Admission::Waiting(TurnId(1))),
    ] {
        let paused = Paused { mode: Some(pause), ..bench.paused("s", chat("Hi"), holds) };
        assert_eq!(bench.desk.pause(paused, bench.now).0, admission);
    }
}

// S0-67
#[test]
fn saved_edits_are_captured_then_applied_then_captured_anew() {
    let mut bench = Bench::new();
    assert_eq!(bench.desk.capture().unwrap_err(), DeskError::NoCapture);
    bench.set_mode(TurnMode::AutoOverride);
    assert_eq!(bench.desk.outlook().auto, Some(AutoState::Capturing));
    let (turn, _) = bench.paused_by_mode("s", "Hi");
    bench.resume(turn).unwrap();
    assert!(tells_of_mode(&bench.desk.save(true)));
    assert_eq!(bench.desk.outlook().auto, Some(AutoState::Applying));
    assert_eq!(bench.main("s", "And now?").fate, Fate::Sent);
    bench.set_mode(TurnMode::InterceptOnce);
    let (turn, _) = bench.paused_by_mode("s", "Once more?");
    bench.resume(turn).unwrap();
    assert_eq!(bench.desk.outlook().mode, TurnMode::AutoOverride);
    assert_eq!(bench.main("s", "And then?").fate, Fate::Sent);
    assert!(tells_of_mode(&bench.desk.capture().unwrap()));
    bench.paused_by_mode("s", "Next?");
    let _ = bench.desk.save(false);
    assert_eq!(bench.desk.outlook().auto, Some(AutoState::Capturing));
}

// S0-66
#[test]
fn what_one_conversation_saved_is_applied_to_it_alone_and_ends_with_it() {
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::AutoOverride);
    assert!(bench.desk.applies_saved());
    let (turn, _) = bench.paused_by_mode("s", "Hi");
    bench.resume(turn).unwrap();
    assert!(tells_of_mode(&bench.desk.save_in(&["s".into()])));
    assert_eq!(bench.main("s", "And now?").fate, Fate::Sent);
    assert_eq!(bench.desk.outlook().auto, Some(AutoState::Applying));
    let (other, _) = bench.paused_by_mode("t", "Hi");
    assert_eq!(bench.desk.outlook().auto, Some(AutoState::Capturing), "the newest is the active one");
    bench.resume(other).unwrap();
    drop(bench.desk.dispose("s", bench.now).unwrap());
    assert!(!bench.desk.knows("s"));
    bench.paused_by_mode("s", "Hi again");
}

#[test]
fn saved_edits_are_applied_under_a_single_pause_and_under_no_other_mode() {
    let mut bench = Bench::new();
    for (mode, applies) in [
        (TurnMode::AutoOverride, true),
        (TurnMode::InterceptOnce, true),
        (TurnMode::InterceptAlways, false),
        (TurnMode::InterceptOnce, false),
        (TurnMode::Off, false),
    ] {
        bench.set_mode(mode);
        assert_eq!(bench.desk.applies_saved(), applies, "{mode}");
    }
}

// S0-60, S0-89
#[test]
fn only_the_selected_conversation_is_paused_and_all_while_the_newest_is_followed() {
    let mut bench = Bench::new();
    for session in ["s", "t"] {
        bench.main(session, "Hi");
    }
    bench.set_mode(TurnMode::InterceptAlways);
    bench.desk.select("s").unwrap();
    assert_eq!(bench.main("t", "And?").fate, Fate::Sent);
    assert!(bench.desk.outlook().text.contains("of chat · test · …s pauses"));
    let (turn, _) = bench.paused_by_mode("s", "And?");
    bench.desk.select("t").unwrap();
    assert_eq!(bench.state(turn), State::Waiting, "looking elsewhere gives nothing up");
    let _ = bench.desk.follow(true);
    assert!(bench.desk.outlook().text.contains("of any conversation pauses"));
    bench.paused_by_mode("u", "Hi");
    assert_eq!(bench.desk.active().unwrap().label, "chat · test · …u");
}

// S0-57
#[test]
fn another_request_takes_the_place_of_a_modes_pause_and_queues_behind_a_rules() {
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::InterceptAlways);
    let (_, first) = bench.paused_by_mode("s", "one");
    let Came { fate, effects, .. } = bench.main("s", "two");
    let Fate::Waits(second) = fate else { panic!("{fate:?}") };
    assert_eq!(answers(&effects), cancelled(first, CancelReason::Superseded));
    assert_eq!(CancelReason::Superseded.message(), "Previous pending request was discarded before sending.");
    let third = bench.come("s", TurnClass::Main, chat("prod"), vec![hold("prod")]);
    let Fate::Waits(ruled) = third.fate else { panic!("{third:?}") };
    assert_eq!(bench.state(second), State::Cancelled, "a rule's pause takes it too");
    let (queued, _) = bench.paused_by_mode("s", "four");
    assert_eq!((bench.state(ruled), bench.state(queued)), (State::Waiting, State::Queued));
    let (newer, _) = bench.paused_by_mode("s", "five");
    assert_eq!((bench.state(queued), bench.state(newer)), (State::Cancelled, State::Queued));
    bench.resume(ruled).unwrap();
    assert_eq!(bench.state(newer), State::Waiting);
}

#[test]
fn what_takes_the_place_of_a_single_pause_waits_too() {
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::InterceptOnce);
    bench.paused_by_mode("s", "one");
    assert_eq!(bench.main("t", "Hi").fate, Fate::Sent);
    let (turn, _) = bench.paused_by_mode("s", "two");
    bench.resume(turn).unwrap();
    assert_eq!(bench.main("s", "three").fate, Fate::Sent);
}

// S0-57
#[test]
fn the_same_request_joins_a_modes_pause() {
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::InterceptAlways);
    let (turn, first) = bench.paused_by_mode("s", "Hi");
    let Came { fate, connection, effects } = bench.main("s", "Hi");
    assert_eq!(fate, Fate::Joined(turn));
    assert_eq!(answers(&effects), [(first, Dismissal::Replaced)]);
    assert_eq!(forwards(&bench.resume(turn).unwrap())[0].1, connection);
}

// S0-93
#[test]
fn agents_and_side_requests_never_wait_behind_a_persons_turn() {
    for class in [TurnClass::Subagent, TurnClass::Side] {
        let mut bench = Bench::new();
        let (main, _) = bench.waiting("prod");
        let turns: Vec<_> = ["prod a", "prod b"]
            .map(|says| match bench.come("s", class, chat(says), vec![hold("prod")]).fate {
                Fate::Waits(turn) => turn,
                other => panic!("{other:?}"),
            })
            .into();
        assert!(turns.iter().all(|&turn| bench.state(turn) == State::Waiting));
        assert_eq!(forwards(&bench.resume(turns[1]).unwrap()).len(), 1);
        assert_eq!(forwards(&bench.resume(main).unwrap()).len(), 1);
        assert_eq!(bench.state(turns[0]), State::Waiting);
    }
}

#[test]
fn a_cancel_holds_however_the_client_asks_again_and_for_its_time_only() {
    let plain = || chat("Hi");
    let streaming = || {
        let body = String::from_utf8(plain().render().to_vec()).unwrap();
        let body = body.replacen('{', r#"{"stream": true, "max_tokens": 9, "#, 1);
        crate::common::draft(&body)
    };
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::InterceptAlways);
    let Fate::Waits(turn) = bench.come("s", TurnClass::Main, streaming(), vec![]).fate else { panic!() };
    bench.cancel(turn);
    for draft in [streaming(), plain(), streaming()] {
        assert_eq!(bench.come("s", TurnClass::Main, draft, vec![]).fate, again(CancelReason::User));
    }
    bench.set_mode(TurnMode::Off);
    let ruled = bench.come("s", TurnClass::Main, plain(), vec![hold("prod")]);
    assert_eq!(ruled.fate, again(CancelReason::User), "whatever the mode, and whatever rules say");
    assert_eq!(bench.come("t", TurnClass::Main, plain(), vec![]).fate, Fate::Sent, "another conversation");
    assert_eq!(bench.main("s", "Ho").fate, Fate::Sent, "another question");
    let _ = bench.pass(HOLDS);
    assert_eq!(bench.come("s", TurnClass::Main, plain(), vec![]).fate, Fate::Sent);
}

#[test]
fn every_cancel_that_decides_holds_and_the_others_do_not() {
    for (reason, holds) in [
        (CancelReason::User, true),
        (CancelReason::ModeDisabled, true),
        (CancelReason::Superseded, true),
        (CancelReason::SessionDisposed, true),
        (CancelReason::ContextChanged, true),
        (CancelReason::ClientGone, false),
        (CancelReason::GateStopped, false),
    ] {
        let mut bench = Bench::new();
        let (turn, _) = bench.waiting("Hi");
        bench.desk.cancel(turn, reason, bench.now).unwrap();
        let expected = if holds { again(reason) } else { Fate::Sent };
        assert_eq!(bench.main("s", "Hi").fate, expected, "{reason:?}");
    }
}

#[test]
fn what_was_turned_off_or_superseded_is_not_sent_by_a_fallback() {
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::InterceptAlways);
    bench.paused_by_mode("s", "one");
    let (second, _) = bench.paused_by_mode("s", "two");
    assert_eq!(bench.main("s", "one").fate, again(CancelReason::Superseded));
    assert_eq!(bench.state(second), State::Waiting, "it does not take the newer one's place");
    bench.set_mode(TurnMode::Off);
    assert_eq!(bench.main("s", "two").fate, again(CancelReason::ModeDisabled));
    assert_eq!(bench.main("s", "three").fate, Fate::Sent);
}

#[test]
fn cancelled_while_the_same_was_being_judged_it_waits_no_more() {
    let mut bench = Bench::new();
    let (turn, _) = bench.waiting("prod");
    let question = Question::of(bench.desk.turn(turn).unwrap().draft.document(), None);
    bench.cancel(turn);
    assert!(bench.desk.has_cancelled("s", bench.now) && !bench.desk.has_cancelled("t", bench.now));
    let (admission, connection, effects) = bench.arrive("s", "prod");
    let dismissal = Dismissal::CancelledBefore { reason: CancelReason::User, limit: HOLDS };
    assert_eq!(admission, Admission::Dismissed(dismissal));
    assert_eq!(answers(&effects), [(connection, dismissal)]);
    assert_eq!(dismissal.code(), "user");
    assert!(dismissal.to_string().starts_with("Request canceled before sending."));
    let (asked, _) = bench.desk.ask("s", TurnClass::Main, Some(&question), bench.now);
    assert_eq!(asked, leafgate_desk::Asked::Dismissed(dismissal));
}

#[test]
fn the_same_question_in_another_manner_takes_its_own_place_and_is_sent_once_resumed() {
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::InterceptAlways);
    let (_, first) = bench.paused_by_mode("s", "Hi");
    let body = String::from_utf8(chat("Hi").render().to_vec()).unwrap();
    let other = bench.come("s", TurnClass::Main, crate::common::draft(&body.replacen('{', "{ ", 1)), vec![]);
    let Fate::Waits(turn) = other.fate else { panic!("{other:?}") };
    assert_eq!(answers(&other.effects), cancelled(first, CancelReason::Superseded));
    bench.resume(turn).unwrap();
    bench.set_mode(TurnMode::Off);
    assert_eq!(bench.main("s", "Hi").fate, Fate::Sent, "a question that was sent is not cancelled");
}

#[test]
fn one_question_takes_one_cancel_with_what_its_client_asks_beside_it() {
    let mut bench = Bench::new();
    let title = |bench: &mut Bench, says| bench.come("s", TurnClass::Side, chat(says), vec![hold("prod")]);
    let agent =
        |bench: &mut Bench| bench.come("s", TurnClass::Subagent, chat("prod, too"), vec![hold("prod")]);
    let (main, connection) = bench.waiting("prod");
    let beside = title(&mut bench, "prod?");
    let Fate::Waits(works) = agent(&mut bench).fate else { panic!() };
    let effects = bench.cancel(main);
    assert_eq!(
        answers(&effects),
        [(connection, CancelReason::User), (beside.connection, CancelReason::User)]
            .map(|(to, reason)| (to, Dismissal::Cancelled(reason)))
    );
    assert_eq!(title(&mut bench, "prod: a title").fate, again(CancelReason::User));
    assert_eq!(bench.state(works), State::Waiting);
    assert_eq!(bench.come("s", TurnClass::Side, chat("Hi"), vec![]).fate, Fate::Sent, "no rule holds it");
    let _ = bench.pass(HOLDS);
    assert!(matches!(title(&mut bench, "prod: a title").fate, Fate::Waits(_)));
}

// S0-119
#[test]
fn another_model_begins_the_conversation_anew() {
    let with = |model: &str| {
        let body = String::from_utf8(chat("prod").render().to_vec()).unwrap();
        crate::common::draft(&body.replace("m-1", model))
    };
    let mut bench = Bench::new();
    let first = bench.come("s", TurnClass::Main, with("m-1"), vec![hold("prod")]);
    let Fate::Waits(turn) = first.fate else { panic!() };
    let _ = bench.come("s", TurnClass::Side, with("small"), vec![]);
    let _ = bench.come("s", TurnClass::Subagent, with("small"), vec![]);
    assert_eq!(bench.state(turn), State::Waiting, "other classes have models of their own");
    let other = bench.come("s", TurnClass::Main, with("m-2"), vec![hold("prod")]);
    assert_eq!(answers(&other.effects), cancelled(first.connection, CancelReason::ContextChanged));
    assert!(matches!(other.fate, Fate::Waits(_)), "the same words to another model are another question");
    assert_eq!(bench.desk.summary(turn, bench.now).unwrap().ending.as_deref(), Some("contextChanged"));
}

// S0-117, S0-118
#[test]
fn a_closed_conversation_gives_up_all_that_waits_of_it() {
    let mut bench = Bench::new();
    let first = bench.come("s", TurnClass::Main, chat("prod"), vec![hold("prod")]);
    let second = bench.come("s", TurnClass::Subagent, chat("prod b"), vec![hold("prod")]);
    let Fate::Waits(other) = bench.come("t", TurnClass::Main, chat("prod"), vec![hold("prod")]).fate else {
        panic!()
    };
    let effects = bench.desk.dispose("s", bench.now).unwrap();
    let expected = [second.connection, first.connection]
        .map(|to| (to, Dismissal::Cancelled(CancelReason::SessionDisposed)));
    assert_eq!(answers(&effects), expected);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::SessionsChanged)));
    assert_eq!(bench.state(other), State::Waiting);
    assert_eq!(bench.desk.sessions(bench.now).map(|line| line.id).collect::<Vec<_>>(), ["t"]);
    assert_eq!(bench.desk.dispose("s", bench.now).unwrap_err(), DeskError::NoSuchSession);
    assert!(
        CancelReason::SessionDisposed.message().starts_with("Chat context changed (new session or model).")
    );
}

// S0-87, S0-117
#[test]
fn conversations_are_listed_by_main_requests_and_go_with_the_time() {
    let limits = DeskLimits { sessions: 2, ..DeskLimits::default() };
    let mut bench = Bench::with(limits);
    for (session, class) in [
        ("abcdefghij", TurnClass::Main),
        ("t", TurnClass::Main),
        ("u", TurnClass::Side),
        ("abcdefghij", TurnClass::Subagent),
    ] {
        bench.come(session, class, chat("Hi"), vec![]);
    }
    let listed = |bench: &Bench| {
        bench.desk.sessions(bench.now).map(|line| (line.label, line.active, line.pending)).collect::<Vec<_>>()
    };
    let line = |label: &str, active, pending| (label.to_owned(), active, pending);
    assert_eq!(listed(&bench), [line("chat · test · …t", true, 0), line("chat · test · …efghij", false, 0)]);
    bench.come("abcdefghij", TurnClass::Main, chat("prod"), vec![hold("prod")]);
    bench.main("t", "And?");
    bench.main("v", "Hi");
    assert_eq!(
        listed(&bench),
        [line("chat · test · …v", true, 0), line("chat · test · …efghij", false, 1)],
        "the oldest without a turn goes"
    );
    let _ = bench.pass(limits.session_ttl);
    let _ = bench.desk.elapse(bench.now);
    assert!(listed(&bench).is_empty());
    assert!(bench.desk.active().is_none());
}

#[test]
fn a_second_reviewer_is_told_which_decision_stands() {
    for (resumes, words) in [
        (true, "a person resumed it, and it was sent"),
        (false, "a person cancelled it, and nothing was sent"),
    ] {
        let mut bench = Bench::new();
        let (turn, _) = bench.waiting("prod");
        let digest = bench.digest(turn);
        if resumes {
            drop(bench.resume(turn).unwrap())
        } else {
            drop(bench.cancel(turn))
        }
        let late = [
            bench.desk.resume(turn, &digest, bench.now).unwrap_err(),
            bench.desk.cancel(turn, CancelReason::User, bench.now).unwrap_err(),
            bench.change(turn, EditCommand::Undo).unwrap_err(),
        ];
        for error in late {
            assert!(error.to_string().ends_with(words), "{error}");
        }
    }
}

#[test]
fn all_that_ended_at_once_can_be_asked_about_until_the_next_event() {
    let mut bench = Bench::with(DeskLimits { remembered: 2, ..DeskLimits::default() });
    bench.set_mode(TurnMode::InterceptAlways);
    for number in 0..1000 {
        bench.paused_by_mode(&format!("s{number}"), "Hi");
    }
    let effects = bench.set_mode(TurnMode::Off);
    assert_eq!(answers(&effects).len(), 1000);
    let told = effects.iter().filter_map(|effect| match effect {
        Effect::Changed(turn) => Some(bench.desk.summary(*turn, bench.now).unwrap().ending),
        _ => None,
    });
    assert!(told.clone().all(|ending| ending.as_deref() == Some("modeDisabled")));
    assert_eq!(told.count(), 1000);
    assert_eq!(bench.desk.memory(), 0);
    assert_eq!(bench.desk.next_deadline(), None);
    bench.main("t", "Hi");
    assert_eq!(bench.desk.over().len(), 2);
}

#[test]
fn a_queue_has_its_bound_and_other_classes_have_that_of_the_desk() {
    let mut bench = Bench::with(DeskLimits { queued: 1, ..DeskLimits::default() });
    let fate =
        |bench: &mut Bench, class, says: &str| bench.come("s", class, chat(says), vec![hold("prod")]).fate;
    for says in ["prod 1", "prod 2"] {
        assert!(matches!(fate(&mut bench, TurnClass::Main, says), Fate::Waits(_)));
    }
    let full = Fate::Dismissed(Dismissal::NoRoom(Room::Queue { limit: 1 }));
    assert_eq!(fate(&mut bench, TurnClass::Main, "prod 3"), full);
    for number in 4..20 {
        assert!(matches!(fate(&mut bench, TurnClass::Subagent, &format!("prod {number}")), Fate::Waits(_)));
    }
}

// S0-64
#[test]
fn every_outlook_says_what_will_pause() {
    let mut bench = Bench::new();
    let mut told = Vec::new();
    for &mode in TurnMode::ALL {
        bench.set_mode(mode);
        told.push(bench.desk.outlook().view.text);
    }
    let _ = bench.desk.save(true);
    told.push(bench.desk.outlook().view.text);
    assert_eq!(
        told,
        [
            "Turns are sent. Only rules pause.",
            "The next turn of any conversation pauses before sending, then: Send normally. Rules pause besides.",
            "Every turn of any conversation pauses before sending. Rules pause besides.",
            "The next turn of any conversation pauses, so that its edits can be saved. Rules pause besides.",
            "Saved edits are applied, and turns are sent. Only rules pause.",
        ]
    );
}

// S0-64
#[test]
fn what_is_told_of_the_next_turn_is_what_happens_to_it() {
    let mut bench = Bench::new();
    bench.set_mode(TurnMode::AutoOverride);
    let (turn, _) = bench.paused_by_mode("s", "Hi");
    bench.resume(turn).unwrap();
    drop(bench.desk.save_in(&["s".into()]));
    let told = bench.desk.outlook();
    assert!(told.pauses && told.text.contains("of a conversation that has saved none pauses"), "{told:?}");
    assert!(told.text.contains("Saved edits are applied in chat · test · …s, and its turns are sent."));
    assert_eq!(bench.main("s", "And now?").fate, Fate::Sent);
    bench.desk.select("s").unwrap();
    let told = bench.desk.outlook();
    assert!(!told.pauses && told.text.contains("turns are sent. Only rules pause."), "{told:?}");
    assert_eq!(bench.main("t", "Hi").fate, Fate::Sent);
    let _ = bench.desk.follow(true);
    bench.set_mode(TurnMode::InterceptOnce);
    assert_eq!(bench.desk.outlook().auto, Some(AutoState::Capturing), "t is the newest");
    assert!(bench.desk.outlook().text.contains("so that its edits can be saved"));
    let (turn, _) = bench.paused_by_mode("t", "Once");
    assert_eq!(bench.desk.turn(turn).unwrap().mode.unwrap().mode, TurnMode::AutoOverride, "it captures");
    assert_eq!(bench.desk.outlook().mode, TurnMode::AutoOverride);
}

#[test]
fn under_a_mode_no_rule_sends_by_time_what_nobody_looked_at() {
    for (mode, sent) in [(TurnMode::InterceptAlways, false), (TurnMode::Off, true)] {
        let mut bench = Bench::new();
        bench.set_mode(TurnMode::InterceptAlways);
        let holds = vec![crate::common::hold_for("prod", 10, leafgate_policy::OnTimeout::Resume)];
        let came = bench.come("s", TurnClass::Main, chat("prod"), holds);
        assert!(matches!(came.fate, Fate::Waits(_)));
        bench.set_mode(mode);
        let effects = bench.pass(Duration::from_secs(10));
        assert_eq!(!forwards(&effects).is_empty(), sent, "{mode}");
        assert_eq!(answers(&bench.pass(Duration::from_mins(5))).is_empty(), sent, "{mode}");
    }
}

// S0-111
#[test]
fn an_empty_desk_says_what_it_waits_for() {
    let mut bench = Bench::new();
    assert!(bench.desk.outlook().view.idle.unwrap().starts_with("Prompt interception is off"));
    bench.set_mode(TurnMode::InterceptAlways);
    assert!(bench.desk.outlook().view.idle.unwrap().starts_with("Waiting for chat request"));
    bench.paused_by_mode("s", "Hi");
    assert_eq!((bench.desk.outlook().view.idle, bench.desk.outlook().pending), (None, 1));
}
