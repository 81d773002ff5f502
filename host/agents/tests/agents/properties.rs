//! What holds of every run, whatever its models answer, its client does and its clock says.

use std::sync::Arc;

use crate::common::*;
use leafgate_agents::{FrameState, RunLimits, Team, Tick};
use leafgate_answer::{Finish, Reply};
use proptest::prelude::*;
use serde_json::{Value, json};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "nobody"];

fn any_permission(list: &'static str, names: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let some = prop::collection::vec(prop::sample::select(names), 0..4);
    prop_oneof![3 => Just(all()), 1 => Just(none()), 2 => some.prop_map(move |names| only(list, &names))]
}

fn any_team() -> impl Strategy<Value = Arc<Team>> {
    let permissions = (any_permission("agents", &NAMES), any_permission("tools", &TOOLS));
    (prop::collection::vec(permissions, 1..5), 1..6u32, 1..8u32).prop_map(
        |(permissions, depth, iterations)| {
            let agents: Vec<Value> = permissions
                .into_iter()
                .zip(NAMES)
                .map(|((delegation, tools), name)| agent(name, delegation, tools))
                .collect();
            let settings =
                json!({ "maxDepth": depth, "maxIterations": iterations, "delegationTimeoutMs": 1000 });
            team("a", &agents, settings)
        },
    )
}

fn any_call() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        5 => prop::sample::select(&NAMES[..]).prop_map(|name| delegates(name, "work")),
        3 => Just(reports("report")),
        2 => prop::sample::select(&TOOLS[..]).prop_map(|tool| (tool, json!({ "x": 1 }))),
        1 => Just(("reportOut", json!({}))),
        1 => Just(("delegateWork", json!([1]))),
        1 => Just(("run", json!("no object"))),
        1 => Just(("unheard-of", json!({}))),
    ]
}

fn any_reply() -> impl Strategy<Value = Reply> {
    let finish = prop::sample::select(&[Finish::Calls, Finish::Calls, Finish::Calls, Finish::Length][..]);
    prop_oneof![
        1 => Just(says("words")),
        8 => (prop::collection::vec(any_call(), 1..6), finish)
            .prop_map(|(list, finish)| Reply { finish: Some(finish), ..calls(&list) }),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Reply(usize, Reply),
    Fail(usize),
    RefuseTools(usize),
    /// The client answers; it leaves some calls without a result.
    Client(Vec<bool>),
    Elapse(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (any::<usize>(), any_reply()).prop_map(|(at, reply)| Step::Reply(at, reply)),
        1 => any::<usize>().prop_map(Step::Fail),
        1 => any::<usize>().prop_map(Step::RefuseTools),
        4 => prop::collection::vec(any::<bool>(), 8).prop_map(Step::Client),
        2 => (0..1500u64).prop_map(Step::Elapse),
    ]
}

fn take_step(stage: &mut Stage, step: Step) {
    let pick = |stage: &mut Stage, at: usize| (!stage.asked.is_empty()).then(|| at % stage.asked.len());
    match step {
        Step::Reply(at, reply) => {
            let Some(at) = pick(stage, at) else { return };
            let (request, _) = stage.asked.remove(at).unwrap();
            stage.give(request, reply.into());
        }
        Step::Fail(at) | Step::RefuseTools(at) => {
            let Some(at) = pick(stage, at) else { return };
            let (request, _) = stage.asked.remove(at).unwrap();
            let next = if matches!(step, Step::Fail(_)) { Next::Fail } else { Next::RefuseTools };
            stage.give(request, next);
        }
        Step::Client(answers) => {
            if stage.given.is_empty() {
                return;
            }
            let given = std::mem::take(&mut stage.given);
            let keep = |at: usize| at == 0 || answers.get(at).copied().unwrap_or(true);
            let results = given.iter().enumerate().filter(|(at, _)| keep(*at)).map(|(_, call)| {
                leafgate_agents::ClientResult {
                    id: call.id.expose().to_owned(),
                    text: "r".into(),
                    is_error: false,
                }
            });
            let now = stage.tick();
            let effects = stage.run.answered(results.collect(), None, now).unwrap();
            stage.take(effects);
        }
        Step::Elapse(by) => {
            stage.now += by;
            let now = stage.tick();
            let effects = stage.run.elapse(now);
            stage.take(effects);
        }
    }
}

const LIMITS: RunLimits = RunLimits { requests: 8, frames: 12, side_by_side: 3, calls: 4, bytes: 1 << 20 };

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

    // S4-24
    #[test]
    fn a_run_keeps_its_promises(team in any_team(), steps in prop::collection::vec(any_step(), 0..120)) {
        let mut stage = Stage::limited(&team, Vec::new(), LIMITS);
        for step in steps {
            if stage.run.is_over() {
                break;
            }
            take_step(&mut stage, step);
            check(&stage.run, LIMITS);
            let asking = stage.run.frames().iter().filter(|f| matches!(f.state, FrameState::Asking(_))).count();
            prop_assert_eq!(asking, stage.asked.len());
            prop_assert!(asking <= LIMITS.side_by_side as usize);
            // Somebody has the turn: a model, the client, or nobody any more.
            prop_assert!(stage.run.is_over() || !stage.asked.is_empty() || !stage.given.is_empty());
        }
        // Whatever is left ends within the caps.
        stage.play_out();
        prop_assert_eq!(stage.finished, 1);
        prop_assert!(stage.run.frames().iter().all(|frame| frame.state == FrameState::Ended));
        prop_assert!(stage.asked.is_empty());
        check(&stage.run, LIMITS);
        let now = stage.tick();
        prop_assert!(stage.run.elapse(now).is_empty());
    }

    #[test]
    fn bytes_end_a_run(size in 0..4000usize, most in 200..3000usize) {
        let limits = RunLimits { bytes: most, ..LIMITS };
        let mut stage = Stage::limited(&three(), Vec::new(), limits);
        for _ in 0..4 {
            if stage.run.is_over() {
                break;
            }
            if stage.given.is_empty() {
                let (request, _) = stage.asked.pop_front().unwrap();
                stage.give(request, calls(&[("run", json!({ "x": "y".repeat(size) }))]).into());
            } else {
                stage.client(|_| "ok".to_owned());
            }
        }
        prop_assert!(stage.run.is_over() || stage.run.bytes() <= most);
        check(&stage.run, limits);
    }

    #[test]
    fn time_alone_ends_delegated_work(at in 0..10_000u64) {
        let mut stage = Stage::new(&three(), vec![("coordinator", vec![calls(&[delegates("reviewer", "x")]).into()])]);
        stage.answer(0);
        let effects = stage.run.elapse(Tick::from_millis(at + 400_000));
        stage.take(effects);
        prop_assert_eq!(stage.aborted.len(), 1);
        prop_assert_eq!(stage.run.frames()[1].state, FrameState::Ended);
    }
}
