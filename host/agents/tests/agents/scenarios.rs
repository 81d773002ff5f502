//! The seven scenarios of the document, and what belongs to them: a model scripted by the name of
//! the agent.

use crate::common::*;
use leafgate_agents::{
    AgentEventKind, Degraded, ErrorKind, FrameState, Message, Run, RunError, RunLimits, Runs, RunsLimits,
    SystemAs, Tick, Why,
};
use leafgate_answer::Reply;
use serde_json::json;

fn kinds(stage: &Stage) -> Vec<ErrorKind> {
    stage.happened.iter().filter_map(|what| what.error.as_ref()).map(|error| error.kind).collect()
}

// S4-13
#[test]
fn a_simple_task_needs_no_delegation() {
    let script = vec![(
        "coordinator",
        vec![calls(&[("read_file", json!({ "path": "a" }))]).into(), says("It is a.").into()],
    )];
    let mut stage = Stage::new(&three(), script);
    stage.answer(0);
    assert_eq!(stage.given.len(), 1);
    stage.client(|_| "text of a".to_owned());
    stage.answer(0);
    let result = stage.run.result();
    assert!(result.completed && stage.finished == 1 && stage.run.is_over());
    assert_eq!(result.final_response.expose(), "It is a.");
    let results: Vec<_> = result.tool_invocations().map(|(_, outcome)| outcome.text.expose()).collect();
    assert_eq!(results, ["text of a"]);
    assert_eq!(stage.run.frames().len(), 1);
}

// S4-17
#[test]
fn a_result_has_the_documents_members() {
    let script =
        vec![("coordinator", vec![calls(&[("run", json!({ "x": 1 }))]).into(), says("Done.").into()])];
    let mut stage = Stage::new(&three(), script);
    stage.play_out();
    let json = stage.run.result().to_json(Tick::from_secs(1_000));
    assert_eq!(json["finalResponse"], "Done.");
    assert_eq!(json["completed"], true);
    let invocation =
        json!({ "toolName": "run", "parameters": "{\"x\":1}", "result": "ok", "timestamp": 1_001_020 });
    assert_eq!(json["toolInvocations"], json!([invocation]));
    assert_eq!(json["conversationHistory"].as_array().map(Vec::len), Some(4));
}

// S4-19
#[test]
fn every_frame_asks_the_clients_model_or_the_teams() {
    let team = team("a", &[agent("a", all(), all())], json!({ "defaultModel": "model-of-the-team" }));
    let start = |model: Option<&str>| {
        let opening = leafgate_agents::Opening { model: model.map(str::to_owned), ..opening() };
        Run::start(team.clone(), None, opening, key("session"), RunLimits::default(), Tick::default())
            .unwrap()
            .0
    };
    assert_eq!(start(Some("model-of-the-client")).model(), Some("model-of-the-client"));
    assert_eq!(start(None).model(), Some("model-of-the-team"));
    assert_eq!(start(None).frames()[0].agent.as_str(), "a");
    let named =
        Run::start(team.clone(), Some("nobody"), opening(), key("s"), RunLimits::default(), Tick::default());
    assert_eq!(named.err(), Some(RunError::NoAgent));
}

// S4-09
#[test]
fn work_is_delegated_to_one_and_its_report_is_the_result() {
    let script = vec![
        (
            "coordinator",
            vec![calls(&[delegates("reviewer", "Review a.rs")]).into(), says("All is well.").into()],
        ),
        ("reviewer", vec![calls(&[reports("No faults.")]).into()]),
    ];
    let mut stage = Stage::new(&three(), script);
    stage.answer(0);
    let reviewer = &stage.run.frames()[1];
    assert_eq!(reviewer.agent.as_str(), "reviewer");
    assert_eq!(reviewer.parent(), Some(stage.run.frames()[0].id));
    assert_eq!(reviewer.messages[0].words().unwrap(), "Review a.rs\n\nReport expectations: What you found");
    stage.play_out();
    assert_eq!(stage.results(0), ["No faults."]);
    assert_eq!(stage.final_response(), "All is well.");
    assert_eq!(stage.run.result_of(&stage.run.frames()[1]).final_response.expose(), "No faults.");
    assert_eq!(stage.answers, 0);
}

// S4-12
#[test]
fn work_goes_down_a_chain_and_comes_back() {
    let script = vec![
        ("coordinator", vec![calls(&[delegates("reviewer", "one")]).into(), says("end").into()]),
        ("reviewer", vec![calls(&[delegates("researcher", "two")]).into(), calls(&[reports("B")]).into()]),
        ("researcher", vec![calls(&[("read_file", json!({}))]).into(), calls(&[reports("A")]).into()]),
    ];
    let mut stage = Stage::new(&three(), script);
    stage.answer(0);
    stage.answer(0);
    let chain: Vec<_> = stage.run.frames()[2].chain.iter().map(|name| name.as_str()).collect();
    assert_eq!(chain, ["coordinator", "reviewer", "researcher"]);
    let [entry, between, frame] = stage.run.frames() else { panic!("{:?}", stage.run) };
    assert_eq!((frame.agent.as_str(), frame.depth(), frame.parent()), ("researcher", 2, Some(between.id)));
    let targets: Vec<_> = frame.targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(targets, ["coordinator", "reviewer"]);
    let team = stage.run.team();
    assert_eq!(frame.prompt, team.prompt(team.agent("researcher").unwrap()));
    assert_eq!(frame.tools, opening().tools);
    assert!(frame.reports() && !entry.reports() && entry.parent().is_none());
    assert_eq!(frame.messages.len(), 1);
    assert_eq!(frame.messages[0].words().unwrap(), "two\n\nReport expectations: What you found");
    let ids: std::collections::BTreeSet<_> = stage.run.frames().iter().map(|frame| frame.id).collect();
    assert_eq!(ids.len(), 3, "each has a conversation of its own");
    stage.answer(0);
    // The client runs a tool for an agent two levels down.
    assert_eq!(stage.given[0].frame, stage.run.frames()[2].id);
    stage.play_out();
    assert_eq!(
        (stage.results(2), stage.results(1), stage.results(0)),
        (
            vec!["ok".to_owned(), "The report was taken.".to_owned()],
            vec!["A".to_owned(), "The report was taken.".to_owned()],
            vec!["B".to_owned()],
        )
    );
}

// S4-11
#[test]
fn nobody_delegates_to_one_who_waits_for_him() {
    let script = vec![
        ("coordinator", vec![calls(&[delegates("reviewer", "one"), delegates("coordinator", "me")]).into()]),
        ("reviewer", vec![calls(&[delegates("coordinator", "back")]).into(), calls(&[reports("B")]).into()]),
    ];
    let mut stage = Stage::new(&three(), script);
    stage.play_out();
    assert_eq!(kinds(&stage), [ErrorKind::CircularDelegation; 2]);
    assert!(
        stage.results(1)[0].starts_with("circular_delegation: `coordinator` waits for this work already")
    );
    assert_eq!(stage.run.frames().len(), 2);
    assert!(stage.run.result().completed);
}

// S4-20
#[test]
fn the_failure_of_an_agent_is_its_delegators_result() {
    let script = vec![
        ("coordinator", vec![calls(&[delegates("reviewer", "x")]).into(), says("Without a review.").into()]),
        ("reviewer", vec![calls(&[("run", json!({}))]).into(), Next::Fail]),
    ];
    let mut stage = Stage::new(&three(), script);
    stage.play_out();
    assert_eq!(kinds(&stage), [ErrorKind::AgentExecution]);
    assert!(stage.results(0)[0].starts_with("agent_execution_error: `reviewer` did not finish"));
    assert_eq!(stage.final_response(), "Without a review.");
    assert!(stage.run.result().completed && !stage.run.result_of(&stage.run.frames()[1]).completed);
}

// S4-05, S4-10
#[test]
fn an_agent_has_the_tools_that_it_may_use() {
    let agents = [
        agent("lead", only("agents", &["reader", "gone"]), none()),
        agent("reader", none(), only("tools", &["read_file", "delegateWork", "reportOut"])),
    ];
    let team = team("lead", &agents, json!({}));
    let script = vec![
        (
            "lead",
            vec![calls(&[("read_file", json!({})), delegates("gone", "x"), delegates("reader", "x")]).into()],
        ),
        (
            "reader",
            vec![
                calls(&[("write_file", json!({})), delegates("lead", "x"), ("read_file", json!({}))]).into(),
            ],
        ),
    ];
    let mut stage = Stage::new(&team, script);
    assert!(stage.run.frames()[0].tools.is_empty());
    assert_eq!((stage.happened[0].kind, stage.happened[0].tools.len()), (AgentEventKind::Withheld, 3));
    stage.answer(0);
    let reader = &stage.run.frames()[1];
    assert_eq!(reader.tools.iter().map(|tool| &**tool).collect::<Vec<_>>(), ["read_file"]);
    assert!(reader.targets.is_empty() && reader.reports(), "reportOut is there whatever the permissions say");
    assert_eq!(reader.prompt, "You are reader.");
    stage.answer(0);
    assert_eq!(stage.given.iter().map(|call| call.name.expose()).collect::<Vec<_>>(), ["read_file"]);
    let expected =
        [ErrorKind::ToolAccess, ErrorKind::Delegation, ErrorKind::ToolAccess, ErrorKind::Delegation];
    assert_eq!(kinds(&stage), expected);
}

// S4-22
#[test]
fn another_configuration_serves_the_next_run_and_not_this_one() {
    let mut serving = three();
    let script = || vec![("coordinator", vec![calls(&[delegates("reviewer", "x")]).into()])];
    let mut running = Stage::new(&serving, script());
    serving = team("coordinator", &[agent("coordinator", all(), all())], json!({ "systemAs": "user" }));
    running.answer(0);
    assert_eq!(running.run.frames()[1].agent.as_str(), "reviewer");
    let mut next = Stage::new(&serving, script());
    next.answer(0);
    assert_eq!(next.run.team().settings.system_as, SystemAs::User);
    assert_eq!((next.run.frames().len(), kinds(&next)), (1, vec![ErrorKind::Delegation]));
}

// S4-26
#[test]
fn delegations_of_one_answer_run_side_by_side_and_their_results_stand_in_call_order() {
    let both = calls(&[delegates("reviewer", "a"), ("read_file", json!({})), delegates("researcher", "b")]);
    let script = vec![
        ("coordinator", vec![both.into()]),
        ("reviewer", vec![calls(&[reports("from the reviewer")]).into()]),
        (
            "researcher",
            vec![calls(&[("run", json!({}))]).into(), calls(&[reports("from the researcher")]).into()],
        ),
    ];
    let mut stage = Stage::new(&three(), script);
    stage.answer(0);
    assert_eq!(stage.asked.len(), 2);
    assert!(stage.given.is_empty(), "the client waits while models are asked");
    stage.answer(1);
    stage.answer(0);
    assert_eq!(stage.given.len(), 2, "calls of all frames come in one answer");
    stage.client(|call| format!("{} for {}", call.name.expose(), call.frame.0));
    assert_eq!(stage.asked.len(), 1);
    stage.answer(0);
    assert_eq!(stage.results(0), ["from the reviewer", "read_file for 0", "from the researcher"]);
}

// S4-15
#[test]
fn what_comes_behind_report_out_is_not_run_and_what_came_before_is() {
    let last = calls(&[("write_file", json!({})), reports("done"), ("run", json!({})), reports("again")]);
    let script = vec![
        ("coordinator", vec![calls(&[delegates("reviewer", "a")]).into()]),
        ("reviewer", vec![last.into()]),
    ];
    let mut stage = Stage::new(&three(), script);
    stage.answer(0);
    stage.answer(0);
    assert_eq!(stage.given.iter().map(|call| call.name.expose()).collect::<Vec<_>>(), ["write_file"]);
    stage.client(|_| "written".to_owned());
    assert_eq!(stage.results(0), ["done"]);
    let not_run = "Not run: reportOut came before it.";
    assert_eq!(stage.results(1), ["written", "The report was taken.", not_run, not_run]);
    assert_eq!(stage.run.frames()[1].state, FrameState::Ended);
    let result = stage.run.result_of(&stage.run.frames()[1]);
    let ran: Vec<_> = result.tool_invocations().map(|(call, _)| call.name.expose()).collect();
    assert_eq!(ran, ["write_file", "reportOut"]);
}

// S4-06
#[test]
fn which_tools_an_agent_has_is_looked_up_once() {
    let twice = calls(&[delegates("reviewer", "a"), delegates("reviewer", "b")]);
    let mut stage = Stage::new(&three(), vec![("coordinator", vec![twice.into()])]);
    stage.answer(0);
    let [_, one, other] = stage.run.frames() else { panic!("{} frames", stage.run.frames().len()) };
    assert!(std::sync::Arc::ptr_eq(&one.tools, &other.tools));
}

// S4-14
#[test]
fn a_delegated_agent_that_only_talks_is_reminded() {
    let script = vec![
        ("coordinator", vec![calls(&[delegates("reviewer", "a")]).into()]),
        ("reviewer", vec![says("Looks good.").into(), calls(&[reports("fine")]).into()]),
    ];
    let mut stage = Stage::new(&three(), script);
    stage.answer(0);
    stage.answer(0);
    let last = stage.run.frames()[1].messages.last().unwrap();
    assert_eq!(last, &Message::Nudge);
    assert_eq!(last.words().unwrap(), "Please complete your task and call reportOut with your findings.");
    stage.play_out();
    assert_eq!(stage.results(0), ["fine"]);
}

#[test]
fn a_wrong_report_does_not_end_the_work() {
    let wrong = calls(&[("reportOut", json!({ "text": 1 }))]);
    let script = vec![
        ("coordinator", vec![calls(&[delegates("reviewer", "a")]).into()]),
        ("reviewer", vec![wrong.into(), calls(&[reports("fine")]).into()]),
    ];
    let mut stage = Stage::new(&three(), script);
    stage.play_out();
    assert_eq!(kinds(&stage), [ErrorKind::Delegation]);
    assert_eq!(stage.results(0), ["fine"]);
}

#[test]
fn arguments_that_are_no_object_are_not_run() {
    let mut broken = calls(&[("run", json!({}))]);
    broken.calls[0].arguments = "{\"command\": \"rm".into();
    let mut stage = Stage::new(&three(), vec![("coordinator", vec![broken.into()])]);
    stage.answer(0);
    assert!(stage.given.is_empty());
    assert_eq!(kinds(&stage), [ErrorKind::ToolAccess]);
}

// S4-21
#[test]
fn an_entry_that_fails_at_once_becomes_plain_chat() {
    let mut stage = Stage::new(&three(), vec![("coordinator", vec![Next::Fail])]);
    stage.answer(0);
    assert_eq!((stage.finished, stage.run.degraded()), (1, Some(Degraded::DirectChat)));
    assert!(stage.aborted.is_empty(), "the request that failed is not in flight any more");
    let script = vec![("coordinator", vec![calls(&[("run", json!({}))]).into(), Next::Fail])];
    let mut later = Stage::new(&three(), script);
    later.play_out();
    assert_eq!((later.finished, later.run.degraded(), later.run.result().completed), (1, None, false));
}

/// Nobody else's request would fare better, and a refusal is not gone around.
// S4-21
#[test]
fn an_entry_that_is_refused_is_not_replaced() {
    for why in [Why::Refused, Why::Policy, Why::BrokeOff] {
        let mut stage = Stage::new(&three(), vec![]);
        let (request, _) = stage.asked.pop_front().unwrap();
        let now = stage.tick();
        let effects = stage.run.failed(request, why, now).unwrap();
        stage.take(effects);
        assert_eq!((stage.finished, stage.run.degraded()), (1, None), "{why:?}");
    }
}

/// A name that nobody offers is the model's text.
// S4-05, S4-07
#[test]
fn what_is_refused_or_withheld_is_told_by_the_name_that_the_client_gave_it() {
    let agents = [agent("lead", all(), only("tools", &["read_file"])), agent("other", all(), all())];
    let asked = calls(&[("write_file", json!({})), ("secret words", json!({})), delegates("other", "x")]);
    let mut stage = Stage::new(&team("lead", &agents, json!({})), vec![("lead", vec![asked.into()])]);
    let withheld = stage.happened.iter().flat_map(|what| &what.tools);
    assert_eq!(withheld.map(|name| &**name).collect::<Vec<_>>(), ["write_file", "run"]);
    stage.answer(0);
    let refused = stage.happened.iter().filter(|what| what.kind == AgentEventKind::Refused);
    let refused = refused.map(|what| what.error.as_ref().unwrap().tool.as_deref());
    assert_eq!(refused.collect::<Vec<_>>(), [Some("write_file"), None, Some("delegateWork")]);
    assert_eq!(stage.run.frames().len(), 1, "a list of tools without delegateWork delegates nothing");
}

#[test]
fn an_entry_whose_tools_are_refused_goes_on_alone() {
    let mut stage = Stage::new(&three(), vec![("coordinator", vec![Next::RefuseTools, Next::RefuseTools])]);
    assert!(stage.run.frames()[0].prompt.contains("delegateWork"));
    stage.answer(0);
    assert_eq!(stage.run.degraded(), Some(Degraded::SingleAgent));
    assert_eq!(stage.run.frames()[0].prompt, "You are coordinator.");
    assert!(stage.run.frames()[0].targets.is_empty());
    stage.answer(0);
    assert_eq!(stage.finished, 1);
}

#[test]
fn caps_end_a_loop_without_completing_it() {
    let team = team(
        "lead",
        &[agent("lead", all(), all()), agent("other", all(), all())],
        json!({ "maxIterations": 3 }),
    );
    let again = || Next::from(calls(&[("run", json!({}))]));
    let mut stage = Stage::new(&team, vec![("lead", (0..9).map(|_| again()).collect())]);
    stage.play_out();
    assert_eq!((stage.run.frames()[0].iterations, stage.run.result().completed), (3, false));
    let script = vec![
        ("lead", vec![calls(&[delegates("other", "x")]).into()]),
        ("other", (0..9).map(|_| again()).collect()),
    ];
    let mut stage = Stage::new(&team, script);
    stage.play_out();
    assert_eq!(stage.results(0), ["agent_execution_error: `other` did not report within 3 requests."]);
    assert!(stage.run.result().completed);
}

#[test]
fn a_run_that_has_made_its_requests_ends_with_what_it_has() {
    let limits = RunLimits { requests: 2, ..RunLimits::default() };
    let both = calls(&[delegates("reviewer", "a"), delegates("researcher", "b")]);
    let script =
        vec![("coordinator", vec![both.into()]), ("reviewer", vec![calls(&[reports("in time")]).into()])];
    let mut stage = Stage::limited(&three(), script, limits);
    stage.play_out();
    let none_left = "agent_execution_error: `researcher` did not finish: this run has made its 2 requests.";
    assert_eq!(stage.results(0), ["in time", none_left]);
    assert_eq!((stage.finished, stage.run.result().completed), (1, false));
}

#[test]
fn calls_of_one_answer_are_bounded() {
    let limits = RunLimits { calls: 2, ..RunLimits::default() };
    let many: Vec<_> = (0..50).map(|_| ("run", json!({}))).collect();
    let mut stage = Stage::limited(&three(), vec![("coordinator", vec![calls(&many).into()])], limits);
    stage.answer(0);
    assert_eq!((stage.given.len(), kinds(&stage)), (2, vec![ErrorKind::ToolAccess]));
    stage.play_out();
    assert_eq!(stage.results(0).len(), 50);
}

#[test]
fn depth_is_bounded() {
    let agents = ["a", "b", "c"].map(|name| agent(name, all(), none()));
    let team = team("a", &agents, json!({ "maxDepth": 1 }));
    let script = vec![
        ("a", vec![calls(&[delegates("b", "x")]).into()]),
        ("b", vec![calls(&[delegates("c", "x")]).into(), calls(&[reports("r")]).into()]),
    ];
    let mut stage = Stage::new(&team, script);
    stage.play_out();
    assert_eq!((stage.run.frames().len(), kinds(&stage)), (2, vec![ErrorKind::Delegation]));
}

#[test]
fn work_that_takes_too_long_is_given_up_with_all_below() {
    let settings = json!({ "delegationTimeoutMs": 5000 });
    let agents = ["a", "b", "c"].map(|name| agent(name, all(), none()));
    let script = vec![
        ("a", vec![calls(&[delegates("b", "x")]).into()]),
        ("b", vec![calls(&[delegates("c", "x")]).into()]),
    ];
    let mut stage = Stage::new(&team("a", &agents, settings), script);
    stage.answer(0);
    stage.answer(0);
    let (request, _) = stage.asked[0].clone();
    let deadline = stage.run.deadline().unwrap();
    let early = stage.run.elapse(deadline - Tick::from_millis(1));
    stage.take(early);
    assert!(stage.aborted.is_empty());
    let effects = stage.run.elapse(deadline);
    stage.take(effects);
    assert_eq!(stage.aborted, [request]);
    assert_eq!(stage.results(0), ["agent_execution_error: `b` did not report within 5 seconds."]);
    assert_eq!(stage.results(1), ["Not finished: the work was given up."]);
    stage.play_out();
    assert!(stage.run.result().completed);
}

#[test]
fn the_time_of_the_client_does_not_count() {
    let settings = json!({ "delegationTimeoutMs": 5000 });
    let script = vec![
        ("a", vec![calls(&[delegates("b", "x")]).into()]),
        ("b", vec![calls(&[("run", json!({}))]).into(), calls(&[reports("r")]).into()]),
    ];
    let agents = ["a", "b"].map(|name| agent(name, all(), all()));
    let mut stage = Stage::new(&team("a", &agents, settings), script);
    stage.answer(0);
    let first = stage.run.deadline().unwrap();
    stage.answer(0);
    assert_eq!(stage.run.deadline(), None);
    stage.now += 60_000;
    let now = stage.tick();
    assert!(stage.run.elapse(now).is_empty(), "the client has the turn");
    stage.client(|_| "ok".to_owned());
    assert!(stage.run.deadline().unwrap() - first >= Tick::from_secs(60));
    stage.play_out();
    assert_eq!(stage.results(0), ["r"]);
}

#[test]
fn copied_ids_reach_no_frame() {
    let script = || vec![("coordinator", vec![calls(&[("run", json!({}))]).into()])];
    let mut stage = Stage::new(&three(), script());
    stage.answer(0);
    let copied = stage.given[0].id.expose().to_owned();
    let result =
        |id: &str| leafgate_agents::ClientResult { id: id.to_owned(), text: "x".into(), is_error: false };

    let start = |session: &str| {
        let limits = RunLimits::default();
        Run::start(three(), None, opening(), key(session), limits, Tick::default()).unwrap()
    };
    let (mut other, effects) = start("another session");
    let leafgate_agents::RunEffect::Ask { request, .. } = effects.last().unwrap() else {
        panic!("{effects:?}")
    };
    let turn = leafgate_agents::ModelTurn { reply: calls(&[("run", json!({}))]), turn: [].into() };
    other.replied(*request, turn, Tick::default()).unwrap();
    assert_eq!(other.answered(vec![result(&copied)], None, Tick::default()), Err(RunError::NotGiven));

    let mut runs = Runs::new(RunsLimits::default());
    runs.keep(stage.run, (), Tick::default());
    assert!(runs.take(&key("another session"), [copied.as_str()], Tick::default()).is_none());
    let (mut run, ()) = runs.take(&key("session"), ["call_1", copied.as_str()], Tick::default()).unwrap();
    assert!(run.answered(vec![result(&copied), result(&copied)], None, Tick::default()).is_ok());
    assert_eq!(run.answered(vec![result(&copied)], None, Tick::default()), Err(RunError::NotGiven));
    check(&run, RunLimits::default());
}

#[test]
fn a_call_without_a_result_is_answered_and_what_the_client_said_follows() {
    let script = vec![("coordinator", vec![calls(&[("run", json!({})), ("read_file", json!({}))]).into()])];
    let mut stage = Stage::new(&three(), script);
    stage.answer(0);
    let result = leafgate_agents::ClientResult {
        id: stage.given[1].id.expose().to_owned(),
        text: "b".into(),
        is_error: false,
    };
    let now = stage.tick();
    let effects = stage.run.answered(vec![result], Some("Hurry.".into()), now).unwrap();
    stage.given.clear();
    stage.take(effects);
    assert_eq!(stage.results(0), ["tool_access_error: The client gave no result for this call.", "b"]);
    assert_eq!(stage.run.frames()[0].messages.last().unwrap().words().unwrap(), "Hurry.");
}

#[test]
fn what_the_client_says_beside_results_counts_once() {
    let bytes = |words: Option<&str>| {
        let script = vec![("coordinator", vec![calls(&[("run", json!({}))]).into()])];
        let mut stage = Stage::new(&three(), script);
        stage.answer(0);
        let result = leafgate_agents::ClientResult {
            id: stage.given[0].id.expose().to_owned(),
            text: "b".into(),
            is_error: false,
        };
        let now = stage.tick();
        let _ = stage.run.answered(vec![result], words.map(Into::into), now).unwrap();
        stage.run.bytes()
    };
    assert_eq!(bytes(Some("Hurry.")), bytes(None) + "Hurry.".len());
}

#[test]
fn runs_that_wait_are_bounded() {
    let run = |id: u64| {
        let opening = leafgate_agents::Opening { id: leafgate_agents::RunId(id), ..opening() };
        Run::start(three(), None, opening, key("session"), RunLimits::default(), Tick::default()).unwrap().0
    };
    let ids = |runs: Vec<Run>| runs.iter().map(|run| run.id().0).collect::<Vec<_>>();
    let mut runs =
        Runs::new(RunsLimits { runs: 2, bytes: 1 << 20, wait: std::time::Duration::from_millis(100) });
    assert!(runs.keep(run(1), (), Tick::from_millis(0)).is_empty());
    assert!(runs.keep(run(2), (), Tick::from_millis(1)).is_empty());
    assert_eq!(ids(runs.keep(run(3), (), Tick::from_millis(2))), [1]);
    assert_eq!(ids(runs.expire(Tick::from_millis(101))), [2]);
    let one = run(9).bytes();
    let mut small = Runs::new(RunsLimits { runs: 9, bytes: one, wait: std::time::Duration::from_secs(1) });
    small.keep(run(1), (), Tick::default());
    assert_eq!(ids(small.keep(run(2), (), Tick::default())), [1]);
    assert_eq!(small.bytes(), one);
}

#[test]
fn neither_debug_nor_events_show_a_conversation() {
    let secret = "hunter-of-the-north";
    let delegated =
        calls(&[delegates("reviewer", secret), delegates(secret, secret), (secret, json!({ "x": secret }))]);
    let script = vec![("coordinator", vec![Reply { content: secret.into(), ..delegated }.into()])];
    let mut stage = Stage::new(&three(), script);
    stage.answer(0);
    assert!(!format!("{:?} {:?}", stage.run, stage.happened).contains(secret));
}
