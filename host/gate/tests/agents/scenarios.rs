//! The seven scenarios of the document, in every API, whole and as a stream.

use serde_json::json;

use crate::agents::stage::*;
use crate::kit::{EMAIL, REDACT_EMAIL, email_token, policy};

fn result_texts(bodies: &[serde_json::Value]) -> String {
    bodies.iter().map(ToString::to_string).collect()
}

/// What the body of an agent's request has, and what it lacks: the agent, its turn, both.
type Sent = (&'static str, usize, &'static [&'static str], &'static [&'static str]);

/// Scripts of two agents, what the client hears in the end, and what models were asked. What the team's machine makes of each, its own
/// tests show.
fn scripts() -> [(Script, &'static str, Vec<Sent>); 4] {
    let offered = &["## Available Agents for Delegation", "- **reviewer**", "delegateWork", "read_file"];
    let asks = || delegates("reviewer", "Review it.");
    [
        ([("lead", vec![says("Four.")])].into(), "Four.", vec![("lead", 0, offered, &["reportOut"])]),
        (
            [("lead", vec![asks(), says("It is fine.")]), ("reviewer", vec![reports("Nothing wrong.")])]
                .into(),
            "It is fine.",
            vec![
                ("reviewer", 0, &["Review it.", "reportOut"], &["Go."]),
                ("lead", 1, &["Nothing wrong."], &[]),
            ],
        ),
        (
            [
                ("lead", vec![asks(), says("Done.")]),
                ("reviewer", vec![delegates("lead", "You do it."), reports("Did it.")]),
            ]
            .into(),
            "Done.",
            vec![("reviewer", 1, &["circular_delegation"], &[])],
        ),
        (
            [("lead", vec![asks(), says("Without a review.")]), ("reviewer", vec![])].into(),
            "Without a review.",
            vec![("lead", 1, &["agent_execution_error"], &[])],
        ),
    ]
}

// S4-27
#[tokio::test]
async fn each_scenario_goes_the_same_way_in_every_api() {
    for ((api, streams), (script, said, sent)) in every_way().flat_map(|way| scripts().map(|row| (way, row)))
    {
        let stage = Stage::new(&team(&[agent("lead"), agent("reviewer")]), script).await;
        let mut client = Conversation::new(api, streams, "Go.");
        assert_eq!(client.finish(&stage).await.content.expose(), said, "{api:?} {streams}");
        assert!(client.ran.is_empty(), "the client ran nothing");
        for (agent, turn, has, lacks) in sent {
            let body = stage.bodies_of(agent)[turn].to_string();
            assert!(has.iter().all(|word| body.contains(word)), "{api:?} {streams} {said}: {body}");
            assert!(!lacks.iter().any(|word| body.contains(word)), "{api:?} {streams} {said}: {body}");
        }
    }
}

// S4-27
#[tokio::test]
async fn a_client_runs_the_tool_of_an_agent_two_levels_down() {
    for (api, streams) in every_way() {
        let script = [
            ("lead", vec![delegates("reviewer", "Review."), says("Reviewed.")]),
            ("reviewer", vec![delegates("reader", "Read a."), reports("Read and reviewed.")]),
            ("reader", vec![reads("a"), reports("It says alpha.")]),
        ];
        let agents = [agent("lead"), agent("reviewer"), agent("reader")];
        let stage = Stage::new(&team(&agents), script.into()).await;
        let mut client = Conversation::new(api, streams, "Review a.").with_file("a", "alpha");
        assert_eq!(client.finish(&stage).await.content.expose(), "Reviewed.", "{api:?} {streams}");
        assert_eq!(client.ran.len(), 1, "{api:?} {streams}");
        assert_eq!(client.ran[0].0, "read_file");
        assert!(stage.bodies_of("reader")[1].to_string().contains("alpha"));
        let others = result_texts(&[stage.bodies_of("lead"), stage.bodies_of("reviewer")].concat());
        assert!(!others.contains("\"alpha\""), "the result is the reader's own");
        assert!(stage.bodies_of("reviewer")[1].to_string().contains("It says alpha."));
        // The id that the client saw is ours; the model sees its own again.
        let again = stage.bodies_of("reader")[1].to_string();
        assert!(again.contains("own_0") && !again.contains("lga_"), "{again}");
    }
}

/// The client ran them, and sends them again as what the entry called.
// S4-26
#[tokio::test]
async fn what_others_called_is_none_of_the_entrys_history() {
    for (api, streams) in every_way() {
        let mut asks = reads("own");
        asks.content = "I look.".into();
        let script = [
            ("lead", vec![asks, delegates("reader", "Read a."), says("It says so."), says("Again so.")]),
            ("reader", vec![reads("a"), reports("Alpha.")]),
        ];
        let mut lead = agent("lead");
        lead["toolPermissions"] = json!({ "type": "specific", "tools": ["delegateWork", "read_file"] });
        let stage = Stage::new(&team(&[lead, agent("reader")]), script.into()).await;
        let mut client =
            Conversation::new(api, streams, "Read.").with_file("a", "the-alpha").with_file("own", "the-own");
        client.finish(&stage).await;
        assert_eq!(client.ran.len(), 2);
        let sent = client.body.to_string();
        assert!(sent.contains("the-alpha") && sent.contains("the-own"), "the client has both: {sent}");
        client.say("Are you sure?");
        assert_eq!(client.finish(&stage).await.content.expose(), "Again so.");
        let last = stage.bodies_of("lead").pop().unwrap();
        let said = last.to_string();
        assert!(
            said.contains("the-own") && said.contains("I look.") && said.contains("Are you sure?"),
            "{said}"
        );
        assert!(!said.contains("the-alpha") && !said.contains("lgd_"), "{api:?} {streams}: {said}");
        let list = last.get("messages").or(last.get("input")).unwrap().as_array().unwrap();
        let is_empty = |message: &serde_json::Value| {
            message["content"] == json!([]) || message["tool_calls"] == json!([])
        };
        assert!(!list.iter().any(is_empty), "{api:?} {streams}: {said}");
    }
}

/// A gate that has forgotten the run begins a new one with what its user said.
// S4-26
#[tokio::test]
async fn results_that_nobody_waits_for_are_left_out_too() {
    for (api, streams) in every_way() {
        let mut asks = delegates("reader", "Read a.");
        asks.content = "I have it read.".into();
        let script = [("lead", vec![asks, says("Anew.")]), ("reader", vec![reads("a")])];
        let stage = Stage::new(&team(&[agent("lead"), agent("reader")]), script.into()).await;
        let mut client = Conversation::new(api, streams, "Read a.");
        let (_, reply, _) = client.send(&stage).await;
        let id = reply.unwrap().calls[0].id.expose().to_owned();
        client.results(&[(id, "the-alpha".to_owned())]);
        let mut later = Conversation::new(api, streams, "").keyed("another");
        later.body = client.body.clone();
        assert_eq!(later.finish(&stage).await.content.expose(), "Anew.", "{api:?} {streams}");
        let last = stage.bodies_of("lead").pop().unwrap();
        let list = last.get("messages").or(last.get("input")).unwrap().as_array().unwrap();
        assert_eq!(list.last().unwrap()["role"], "user", "{api:?} {streams}: {last}");
        assert!(!last.to_string().contains("the-alpha"), "{api:?} {streams}: {last}");
    }
}

// S4-05, S4-27
#[tokio::test]
async fn an_agent_has_the_tools_that_it_may_use() {
    crate::logs::record();
    for (api, streams) in every_way() {
        let mut reviewer = agent("reviewer");
        reviewer["toolPermissions"] = json!({ "type": "specific", "tools": ["read_file"] });
        reviewer["delegationPermissions"] = json!({ "type": "none" });
        let write = calls(&[("write_file", json!({ "path": "a" }))]);
        let script = [
            ("lead", vec![delegates("reviewer", "Review."), says("Done.")]),
            ("reviewer", vec![write, reports("I may not write.")]),
        ];
        let stage = Stage::new(&team(&[agent("lead"), reviewer]), script.into()).await;
        let mut client = Conversation::new(api, streams, "Go.");
        assert_eq!(client.finish(&stage).await.content.expose(), "Done.");
        assert!(client.ran.is_empty());
        let bodies = stage.bodies_of("reviewer");
        let tools = bodies[0]["tools"].to_string();
        assert!(tools.contains("read_file") && !tools.contains("write_file"), "{tools}");
        let logged = crate::logs::logged();
        let line = |kind: &str| {
            logged.lines().any(|line| line.contains(kind) && line.contains("tools=\"write_file\""))
        };
        assert!(line("kind=Withheld") && line("kind=Refused"), "{logged}");
        assert!(!tools.contains("delegateWork") && tools.contains("reportOut"), "{tools}");
        assert!(bodies[1].to_string().contains("tool_access_error"), "{}", bodies[1]);
    }
}

// S4-22, S4-27
#[tokio::test]
async fn another_configuration_serves_the_next_run_and_not_this_one() {
    for (api, streams) in every_way() {
        let script = [
            ("lead", vec![reads("a"), delegates("reviewer", "Review."), says("Done."), says("Alone.")]),
            ("reviewer", vec![reports("Reviewed.")]),
        ];
        let stage = Stage::new(&team(&[agent("lead"), agent("reviewer")]), script.into()).await;
        let mut client = Conversation::new(api, streams, "Go.").with_file("a", "alpha");
        let (_, reply, _) = client.send(&stage).await;
        let call = reply.unwrap().calls[0].clone();
        stage.slot.replace(&team(&[agent("lead")]));
        client.results(&[(call.id.expose().to_owned(), "alpha".to_owned())]);
        assert_eq!(client.finish(&stage).await.content.expose(), "Done.", "the run keeps its team");
        client.say("And now?");
        assert_eq!(client.finish(&stage).await.content.expose(), "Alone.");
        let last = stage.bodies_of("lead").pop().unwrap();
        assert!(!last["tools"].to_string().contains("delegateWork"), "{api:?} {streams}");
    }
}

// S4-22
#[tokio::test]
async fn another_policy_judges_the_next_run_and_not_this_one() {
    for (api, streams) in every_way() {
        let token = email_token();
        let script = [
            ("lead", vec![delegates("reader", "Read."), says(&format!("Ask {token}.")), says("Next.")]),
            ("reader", vec![reads("a"), reports("Read.")]),
        ];
        let stage = Stage::with(&team(&[agent("lead"), agent("reader")]), script.into(), REDACT_EMAIL).await;
        let mut client = Conversation::new(api, streams, "Whom?").with_file("a", EMAIL);
        let (_, reply, _) = client.send(&stage).await;
        let call = reply.unwrap().calls[0].clone();
        // The next generation redacts nothing.
        stage.gate.gate.policy_loaded(policy(""));
        client.results(&[(call.id.expose().to_owned(), EMAIL.to_owned())]);
        let said = client.finish(&stage).await;
        assert_eq!(said.content.expose(), format!("Ask {EMAIL}."), "{api:?} {streams}");
        let left = stage.bodies_of("reader").pop().unwrap().to_string();
        assert!(left.contains(&token) && !left.contains(EMAIL), "{api:?} {streams}: {left}");
        client.say("And now?");
        assert_eq!(client.finish(&stage).await.content.expose(), "Next.");
        let last = stage.bodies_of("lead").pop().unwrap().to_string();
        assert!(last.contains(EMAIL), "{api:?} {streams}: {last}");
    }
}

/// It was a user's words to every rule.
// S4-18
#[tokio::test]
async fn a_prompt_that_is_sent_as_a_users_words_is_a_system_prompt_to_rules() {
    let rules = "[[rule]]\nid = \"house\"\nmatch = { section = \"system\" }\naction = \"rewrite\"\n\
                 replace = { pattern = \"You \", with = \"Mind: You \" }\n";
    for (api, streams) in every_way() {
        let mut by_user = team(&[agent("lead"), agent("reviewer")]);
        by_user["leafgate"] = json!({ "systemAs": "user" });
        let script = [
            ("lead", vec![delegates("reviewer", "You must look."), says("Done.")]),
            ("reviewer", vec![reports("Reviewed.")]),
        ];
        let stage = Stage::with(&by_user, script.into(), rules).await;
        let mut client = Conversation::new(api, streams, "See that");
        assert_eq!(client.finish(&stage).await.content.expose(), "Done.", "{api:?} {streams}");
        for agent in ["lead", "reviewer"] {
            for body in stage.bodies_of(agent) {
                assert!(body.get("system").is_none() && body.get("instructions").is_none(), "{body}");
                let first = &body.get("messages").or(body.get("input")).unwrap()[0];
                let prompt = first.to_string().contains(&format!("Mind: You are {agent}"));
                assert!(first["role"] == "user" && prompt, "{api:?} {streams}: {body}");
            }
        }
        let sent = stage.bodies_of("reviewer")[0].to_string();
        assert!(sent.contains("\"You must look."), "what is asked of it is no prompt: {sent}");
    }
}
