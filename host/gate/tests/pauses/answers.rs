//! Answers that rules, profiles and people decide about, in every API, whole and as a stream.

use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use leafgate_admin::{EditCommand, Ruled, State};
use leafgate_answer::{Api, Finish, Reply as Words};
use serde_json::{Value, json};

use crate::logs;
use crate::pauses::answering::{
    ADDRESS, ASK, BUFFERED, everywhere, house, model, read, request, sent, told, tools,
};
use crate::pauses::house::{House, Reply, SOON, ask};

// S3-21
#[tokio::test]
async fn what_is_let_go_leaves_byte_for_byte() {
    let words =
        model("I run it", &[("run_sql", json!({ "q": "select 1" })), ("read_file", json!({ "path": "a" }))]);
    for (api, stream) in everywhere() {
        let house = house(ASK, api, stream, &words).await;
        let mut events = house.events().await;
        let client = house.send_raw(request(&house, api, stream));
        let turn = events.paused().await;
        assert_eq!((turn.holds[0].rule.as_str(), turn.holds[0].reason.as_str()), ("ask", "Runs something"));
        house.let_go(&turn.id).await;
        let answer = client.await.unwrap();
        assert_eq!(answer.text(), sent(api, stream, &words), "{api:?} {stream}");
    }
}

// S3-21
#[tokio::test]
async fn what_a_person_refuses_is_refused_in_the_models_words() {
    let words = model("I run it", &[("run_sql", json!({ "q": "drop table" }))]);
    for (api, stream) in everywhere() {
        let house = house(ASK, api, stream, &words).await;
        let mut events = house.events().await;
        let client = house.send_raw(request(&house, api, stream));
        let id = events.paused().await.id;
        assert_eq!(house.cancel(&id).await.unwrap().state, State::Cancelled);
        let said = read(api, stream, &client.await.unwrap());
        assert!(said.calls().is_empty(), "{api:?} {stream}");
        let text = said.reply.content.expose();
        assert!(text.starts_with("I run it"), "{api:?} {stream}: {text}");
        assert!(
            text.ends_with("[leafgate: The call of `run_sql` did not pass this gate: a person refused.]"),
            "{text}"
        );
        assert_eq!(said.reply.finish, Some(Finish::Stop), "{api:?} {stream}");
    }
    assert!(logs::logged().contains("answer=\"refused\""));
}

// S3-21
#[tokio::test]
async fn a_person_decides_about_each_call_by_itself() {
    let words = model(
        "I run them",
        &[
            ("run_sql", json!({ "q": "select 1" })),
            ("run_shell", json!({ "cmd": "rm" })),
            ("run_sql", json!({ "q": "drop table" })),
        ],
    );
    for (api, stream) in everywhere() {
        let house = house(ASK, api, stream, &words).await;
        let mut events = house.events().await;
        let client = house.send_raw(request(&house, api, stream));
        let id = events.paused().await.id;
        // The first passes as it is, the second is refused, the third has other arguments.
        let refused = EditCommand::Delete { section: "assistant-1".to_owned() };
        house.edit(&id, &refused).await.unwrap();
        house.write(&id, "/messages/2/tool_calls/0/function/arguments/q", "select 2").await.unwrap();
        house.let_go(&id).await;
        let said = read(api, stream, &client.await.unwrap());
        let calls = said.calls().to_vec();
        let calls: Vec<(&str, &str)> =
            calls.iter().map(|call| (call.name.expose(), call.arguments.expose())).collect();
        let left = [("run_sql", r#"{"q":"select 1"}"#), ("run_sql", r#"{"q":"select 2"}"#)];
        assert_eq!(calls, left, "{api:?} {stream}");
        let text = said.reply.content.expose();
        assert!(text.starts_with("I run them"), "{api:?} {stream}: {text}");
        assert!(
            text.contains("[leafgate: The call of `run_shell` did not pass this gate: a person refused.]"),
            "{api:?} {stream}: {text}"
        );
        assert_eq!(said.reply.finish, Some(Finish::Calls), "{api:?} {stream}");
        let ruled = Ruled { held: 1, partly_refused: 1, ..Ruled::default() };
        assert_eq!(house.gate.status().requests.ruled, ruled, "{api:?} {stream}");
    }
    assert!(logs::logged().contains("answer=\"partly-refused\""));
}

#[tokio::test]
async fn all_calls_are_refused_with_a_cancel_alone() {
    let words = model("", &[("run_sql", json!({})), ("run_shell", json!({}))]);
    let house = house(ASK, Api::Messages, false, &words).await;
    let mut events = house.events().await;
    let client = house.send_raw(request(&house, Api::Messages, false));
    let id = events.paused().await.id;
    for section in ["assistant-0", "assistant-1"] {
        house.edit(&id, &EditCommand::Delete { section: section.to_owned() }).await.unwrap();
    }
    let turn = house.turn(&id).await;
    assert!(turn.invalid.is_some_and(|why| why.contains("every message was deleted")));
    house.edit(&id, &EditCommand::Restore { section: "assistant-1".to_owned() }).await.unwrap();
    house.let_go(&id).await;
    let said = read(Api::Messages, false, &client.await.unwrap());
    let left = said.calls().to_vec();
    assert_eq!(left.iter().map(|call| call.name.expose()).collect::<Vec<_>>(), ["run_shell"]);
}

#[tokio::test]
async fn calls_of_other_tools_and_answers_without_calls_pass_as_they_came() {
    for words in [model("Done", &[]), model("", &[("read_file", json!({ "path": "a" }))])] {
        for (api, stream) in everywhere() {
            let house = house(ASK, api, stream, &words).await;
            let answer = house.send_raw(request(&house, api, stream)).await.unwrap();
            assert_eq!(answer.text(), sent(api, stream, &words), "{api:?} {stream}");
        }
    }
}

async fn frame(body: &mut Incoming) -> String {
    let frame = body.frame().await.expect("the stream goes on").unwrap();
    String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn text_passes_while_calls_wait_and_signs_of_life_follow() {
    let words = model("I run it", &[("run_sql", json!({ "q": "select 1" }))]);
    let reply = Reply::events(sent(Api::Chat, true, &words));
    let house = House::with(ASK, reply, |config| config.limits.keepalive = SOON).await;
    let mut body = ask(house.address, request(&house, Api::Chat, true)).await.into_body();
    let mut came = String::new();
    while !came.contains("I run it") {
        came += &frame(&mut body).await;
    }
    assert!(!came.contains("run_sql"), "{came}");
    while !came.ends_with(": keepalive\n\n") {
        came += &frame(&mut body).await;
    }
    let id = house.pending().await.remove(0).id;
    house.let_go(&id).await;
    while !came.contains("[DONE]") {
        came += &frame(&mut body).await;
    }
    assert_eq!(came.replace(": keepalive\n\n", ""), sent(Api::Chat, true, &words));
}

#[tokio::test]
async fn nobody_decides_and_the_calls_are_refused() {
    let words = model("", &[("run_sql", json!({ "q": "select 1" }))]);
    let reply = Reply::json(sent(Api::Messages, false, &words));
    let house = House::with(ASK, reply, |config| config.limits.desk.timeout = SOON).await;
    let rules = house.send_raw(request(&house, Api::Messages, false)).await.unwrap();
    let said = read(Api::Messages, false, &rules);
    assert!(said.reply.content.expose().contains("nobody decided within"), "{}", said.reply.content.expose());
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_calls_along() {
    let words = model("I run it", &[("run_sql", json!({ "q": "select 1" }))]);
    let reply = Reply::events(sent(Api::Chat, true, &words));
    let (house, mut events) =
        House::watched_with(ASK, reply, |config| config.limits.desk.linger = SOON).await;
    let body = ask(house.address, request(&house, Api::Chat, true)).await.into_body();
    let turn = events.paused().await;
    drop(body);
    let over = events.until(&turn.id, State::Cancelled).await;
    assert_eq!(over.holds[0].rule, "ask");
}

// S3-21
#[tokio::test]
async fn a_profile_says_which_calls_wait() {
    let profile = |rest: &str| {
        format!(
            "[[assemble]]\nid = 'vault'\nmatch = {{}}\nagent_mode = true\ntools = {{ approve = {{ auto = ['read_*'], rest = '{rest}' }} }}\n"
        )
    };
    let without = [Api::Gemini, Api::CodeAssist];
    for (api, stream) in everywhere().filter(|(api, _)| !without.contains(api)) {
        let reads = model("", &[("read_file", json!({ "path": "a" }))]);
        let free = house(&profile("ask"), api, stream, &reads).await;
        let answer = free.send_raw(request(&free, api, stream)).await.unwrap();
        assert_eq!(answer.text(), sent(api, stream, &reads), "{api:?} {stream}");

        let writes = model("", &[("write_file", json!({ "path": "a" }))]);
        let asks = house(&profile("ask"), api, stream, &writes).await;
        let mut events = asks.events().await;
        let client = asks.send_raw(request(&asks, api, stream));
        let turn = events.paused().await;
        assert_eq!(
            (turn.holds[0].rule.as_str(), turn.holds[0].reason.as_str()),
            ("(profile)", "Profile `vault` asks before a tool is run")
        );
        asks.let_go(&turn.id).await;
        assert_eq!(client.await.unwrap().text(), sent(api, stream, &writes));

        let blocks = house(&profile("block"), api, stream, &writes).await;
        let said = read(api, stream, &blocks.send_raw(request(&blocks, api, stream)).await.unwrap());
        assert!(
            said.reply.content.expose().contains("profile `vault` does not allow it"),
            "{api:?} {stream}"
        );
    }
}

#[tokio::test]
async fn texts_and_arguments_of_an_answer_are_redacted() {
    let words = model(&format!("Ask {ADDRESS}, please"), &[("send", json!({ "to": ADDRESS, "n": 1 }))]);
    for (api, stream) in everywhere() {
        let house = house(BUFFERED, api, stream, &words).await;
        let answer = house.send_raw(request(&house, api, stream)).await.unwrap();
        assert!(!answer.text().contains(ADDRESS), "{api:?} {stream}: {}", answer.text());
        let said = read(api, stream, &answer);
        assert_eq!(said.reply.content.expose(), "Ask [EMAIL], please", "{api:?} {stream}");
        let to: Value = serde_json::from_str(said.calls()[0].arguments.expose()).unwrap();
        assert_eq!(to, json!({ "to": "[EMAIL]", "n": 1 }), "{api:?} {stream}");
    }
}

#[tokio::test]
async fn an_answer_that_is_blocked_is_an_error_in_its_own_form() {
    let words = model("The launch codes are here", &[]);
    for (api, stream) in everywhere() {
        let house = house(BUFFERED, api, stream, &words).await;
        let answer = house.send_raw(request(&house, api, stream)).await.unwrap();
        assert_eq!(answer.status, if stream { 200 } else { 400 }, "{api:?} {stream}");
        let text = answer.text();
        assert!(text.contains("rule `never`: Nobody reads this"), "{api:?} {stream}: {text}");
        assert!(!text.contains("launch codes"), "{api:?} {stream}: {text}");
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_judged_does_not_pass() {
    for (kind, body) in [
        ("application/json", "{\"choices\": oops"),
        ("text/plain", "hello"),
        ("text/event-stream", "data: {\"choices\": oops}\n\n"),
    ] {
        let reply = Reply { status: 200, kind, body: Some(body.to_owned()) };
        let house = House::with(ASK, reply, |_| ()).await;
        let answer = house.send_raw(request(&house, Api::Chat, false)).await.unwrap();
        assert!(answer.text().contains("rules decide about the answer"), "{kind}: {}", answer.text());
        assert!(
            !answer.text().contains("oops") && !answer.text().contains("hello"),
            "{kind}: {}",
            answer.text()
        );
    }
}

const LOOKING: &str = r#"
[[rule]]
id = "addresses"
on = "response"
match = {}
detect = ["pii/email"]
action = "redact"
look_behind = 64

[[rule]]
id = "project"
on = "response"
match = { kind = "text" }
action = "rewrite"
replace = { pattern = "Project [A-Z][a-z]{2,20}", with = "the project" }
look_behind = 64
"#;

/// A stream whose texts come in pieces of so many characters.
fn in_pieces(api: Api, words: &Words, length: usize) -> String {
    const TEXTS: [&str; 4] =
        ["/choices/0/delta/content", "/delta/text", "/delta", "/candidates/0/content/parts/0/text"];
    let mut pieces = String::new();
    for event in sent(api, true, words).split_inclusive("\n\n") {
        let (head, data) = event.split_once("data: ").unwrap();
        let json = serde_json::from_str::<Value>(data).unwrap_or_default();
        let at = TEXTS.iter().find(|at| json.pointer(at).is_some_and(Value::is_string));
        let is_text = json["type"].as_str().is_none_or(|kind| !kind.contains("arguments"));
        let Some(at) = at.filter(|_| is_text) else {
            pieces += event;
            continue;
        };
        let text: Vec<char> = json.pointer(at).unwrap().as_str().unwrap().chars().collect();
        let last = text.chunks(length).count() - 1;
        for (number, piece) in text.chunks(length).enumerate() {
            let mut event = json.clone();
            *event.pointer_mut(at).unwrap() = piece.iter().collect::<String>().into();
            if let Some(candidate) = event.pointer_mut("/candidates/0").filter(|_| number < last) {
                candidate.as_object_mut().unwrap().remove("finishReason");
            }
            pieces += &format!("{head}data: {event}\n\n");
        }
    }
    pieces
}

#[tokio::test]
async fn a_stream_in_which_nothing_is_found_is_byte_for_byte_the_same() {
    let words = model(
        &"Plain words, and nothing else at all.\n".repeat(20),
        &[("read_file", json!({ "path": "a" }))],
    );
    for &api in Api::ALL {
        for length in [1, 7, 300] {
            let stream = in_pieces(api, &words, length);
            let answer = told(LOOKING, api, true, &stream).await;
            assert_eq!(answer.text(), stream, "{api:?} {length}");
        }
    }
}

#[tokio::test]
async fn what_is_found_in_a_stream_is_gone_however_it_is_cut() {
    let text = |address: &str, project: &str| {
        format!(
            "{}Write to {address} about {project}, {}\nAnd {address}",
            "so ".repeat(60),
            "and so on ".repeat(30)
        )
    };
    let words = model(&text(ADDRESS, "Project Aurora"), &[("send", json!({ "to": ADDRESS }))]);
    for &api in Api::ALL {
        for length in [1, 2, 5, 64, 1000] {
            let answer = told(LOOKING, api, true, &in_pieces(api, &words, length)).await;
            assert!(!answer.text().contains(ADDRESS), "{api:?} {length}: {}", answer.text());
            let said = read(api, true, &answer);
            assert_eq!(said.reply.content.expose(), text("[EMAIL]", "the project"), "{api:?} {length}");
            let calls = said.calls().to_vec();
            assert_eq!(calls[0].arguments.expose(), r#"{"to":"[EMAIL]"}"#, "{api:?} {length}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_clients_may_read_in_another_way_does_not_go_on() {
    let odd =
        "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"a\", \"content\": \"b\"}}]}\n\n";
    let answer = told(LOOKING, Api::Chat, true, odd).await;
    assert!(answer.text().contains("clients may read"), "{}", answer.text());
    assert!(!answer.text().contains("\"content\""), "{}", answer.text());
}

/// P-05: clients lower names, trim them and take prefixes off, and so run what no rule was about.
#[tokio::test]
async fn a_call_that_its_request_did_not_offer_is_of_every_tool_that_a_rule_blocks() {
    const NEVER: &str = r#"
[[rule]]
id = "never"
on = "tool-call"
match = { tool = "run_sql" }
action = "block"
reason = "No"
"#;
    for (called, passes) in [
        ("read_file", true),
        ("run_sql", false),
        ("Run_Sql", false),
        ("run_sql ", false),
        ("functions.run_sql", false),
        ("Read_File", false),
        ("other", false),
    ] {
        let words = model("", &[(called, json!({ "path": "a" }))]);
        for (api, stream) in everywhere() {
            let house = house(NEVER, api, stream, &words).await;
            let answer = house.send_raw(request(&house, api, stream)).await.unwrap();
            assert_eq!(answer.text() == sent(api, stream, &words), passes, "{api:?} {stream} {called}");
            let calls = read(api, stream, &answer).calls().to_vec();
            assert_eq!(calls.is_empty(), !passes, "{api:?} {stream} {called}");
        }
    }
    // A profile lets some tools be called: those that were offered.
    let profile = "[[assemble]]\nid = 'v'\nmatch = {}\nagent_mode = true\ntools = { approve = { auto = ['*'], rest = 'block' } }\n";
    for (called, passes) in [("read_file", true), ("Read_File", false)] {
        let words = model("", &[(called, json!({ "path": "a" }))]);
        let house = house(profile, Api::Chat, false, &words).await;
        let answer = house.send_raw(request(&house, Api::Chat, false)).await.unwrap();
        assert_eq!(answer.text() == sent(Api::Chat, false, &words), passes, "{called}");
    }
}

/// All calls were refused with the first one, and blamed on its rule.
// S3-21
#[tokio::test]
async fn a_refusal_hits_the_calls_that_it_is_about() {
    const NEVER: &str = r#"
[[rule]]
id = "no-shell"
on = "tool-call"
match = { tool = "run_shell" }
action = "block"
reason = "No shell"
"#;
    let profile = |rest: &str, rules: &str| {
        format!(
            "[[assemble]]\nid = 'vault'\nmatch = {{}}\nagent_mode = true\ntools = {{ approve = {{ auto = ['read_*', 'run_*'], rest = '{rest}' }} }}\n{rules}"
        )
    };
    let block = profile("block", "");
    let both = profile("block", NEVER);
    let shell = "[leafgate: The call of `run_shell` did not pass this gate: rule `no-shell`: No shell.]";
    let write =
        "[leafgate: The call of `write_file` did not pass this gate: profile `vault` does not allow it.]";
    let called = |names: &[&str]| {
        let calls: Vec<_> = names.iter().map(|name| (*name, json!({ "path": "a" }))).collect();
        model("I do it", &calls)
    };
    for (rules, names, left, said) in [
        (NEVER, &["run_shell", "read_file"][..], &["read_file"][..], &[shell][..]),
        (NEVER, &["read_file", "run_shell", "git"], &["read_file", "git"], &[shell]),
        (NEVER, &["run_shell", "run_shell"], &[], &["The calls of `run_shell`, `run_shell` did not pass"]),
        (&block, &["write_file", "read_file"], &["read_file"], &[write]),
        (&both, &["write_file", "read_file", "run_shell"], &["read_file"], &[shell, write]),
    ] {
        for (api, stream) in
            everywhere().filter(|(api, _)| rules == NEVER || *api != Api::Gemini && *api != Api::CodeAssist)
        {
            let house = house(rules, api, stream, &called(names)).await;
            let answer = house.send_raw(request(&house, api, stream)).await.unwrap();
            let read = read(api, stream, &answer);
            let calls: Vec<&str> = read.calls().iter().map(|call| call.name.expose()).collect();
            assert_eq!(calls, left, "{api:?} {stream} {names:?}");
            let text = read.reply.content.expose();
            assert!(said.iter().all(|said| text.contains(said)), "{api:?} {stream} {names:?}: {text}");
            assert_eq!(text.matches("[leafgate:").count(), said.len(), "{text}");
            let is_over = read.reply.finish == Some(Finish::Stop);
            assert_eq!(is_over, left.is_empty(), "{api:?} {stream} {names:?}");
            let ruled = house.gate.status().requests.ruled;
            let counts = (ruled.refused, ruled.partly_refused);
            assert_eq!(counts, (u64::from(left.is_empty()), u64::from(!left.is_empty())), "{names:?}");
        }
    }
}

/// What a rule refuses is not asked about, and what is asked about does not pass with it.
// S3-21
#[tokio::test]
async fn a_person_is_asked_about_what_no_rule_refuses() {
    let words =
        model("", &[("git", json!({ "command": "push --force" })), ("run_sql", json!({ "q": "select 1" }))]);
    for (api, stream) in everywhere() {
        let house = house(ASK, api, stream, &words).await;
        let mut events = house.events().await;
        let client = house.send_raw(request(&house, api, stream));
        let id = events.paused().await.id;
        let turn = house.turn(&id).await;
        assert!(!turn.sections.iter().any(|section| section.key == "assistant-1"), "{api:?} {stream}");
        house.let_go(&id).await;
        let said = read(api, stream, &client.await.unwrap());
        let calls: Vec<&str> = said.calls().iter().map(|call| call.name.expose()).collect();
        assert_eq!(calls, ["run_sql"], "{api:?} {stream}");
        let text = said.reply.content.expose();
        assert!(text.contains("`git` did not pass this gate: rule `no-force`: History stays"), "{text}");
        let ruled = Ruled { held: 1, partly_refused: 1, ..Ruled::default() };
        assert_eq!(house.gate.status().requests.ruled, ruled, "{api:?} {stream}");
    }
}

/// P-16: where the server keeps a conversation, its next request has results without their calls.
#[tokio::test]
async fn a_result_is_of_the_call_that_was_answered_before() {
    const NO_ROWS: &str = r#"
[[rule]]
id = "no-rows"
match = { tool = "run_sql", kind = "tool-result" }
action = "block"

[[rule]]
id = "no-sql"
on = "tool-call"
match = { tool = "write_file" }
action = "block"
"#;
    let result = |house: &House, response: &str, offers: bool, stream: bool| {
        let output = json!({ "type": "function_call_output", "call_id": "call_0", "output": "x" });
        let mut body = json!({ "model": "m-1", "previous_response_id": response, "input": [output] });
        body["stream"] = stream.into();
        if offers {
            body["tools"] = tools(Api::Responses);
        }
        let request = Request::post("/v1/responses").header("host", house.address.to_string());
        request.header("content-type", "application/json").body(Full::new(body.to_string().into())).unwrap()
    };
    for stream in [false, true] {
        for (called, passes) in [("run_sql", false), ("read_file", true)] {
            let words = model("", &[(called, json!({ "path": "a" }))]);
            let house = house(NO_ROWS, Api::Responses, stream, &words).await;
            let unknown = house.send_raw(result(&house, "answer_1", true, stream)).await.unwrap();
            assert_ne!(unknown.status, 200, "{called}: nobody has seen the call");
            house.send_raw(request(&house, Api::Responses, stream)).await.unwrap();
            let answer = house.send_raw(result(&house, "answer_1", true, stream)).await.unwrap();
            assert_eq!(answer.status == 200, passes, "{stream} {called}: {}", answer.text());
            // What was offered there is offered still.
            let answer = house.send_raw(result(&house, "answer_1", false, stream)).await.unwrap();
            assert_eq!(answer.text() == sent(Api::Responses, stream, &words), passes, "{stream} {called}");
        }
    }
}

/// Servers differ in which of several models they ask.
#[tokio::test]
async fn a_rule_about_answers_of_a_model_acts_wherever_the_request_names_it() {
    const OF_ONE: &str = r#"
[[rule]]
id = "no-files"
on = "tool-call"
match = { model = "m-2", tool = "write_file" }
action = "block"
"#;
    let called = model("", &[("write_file", json!({ "path": "a" }))]);
    let plain = json!({ "model": "m-1", "messages": [{ "role": "user", "content": "Do it" }],
        "tools": tools(Api::Chat) });
    let twice = plain.to_string().replacen("\"model\":\"m-1\"", "\"model\":\"m-1\",\"Model\":\"m-2\"", 1);
    let mut listed = plain.clone();
    listed["models"] = json!(["m-3", "m-2"]);
    for (body, passes) in [(plain.to_string(), true), (twice, false), (listed.to_string(), false)] {
        let house = house(OF_ONE, Api::Chat, false, &called).await;
        let request = Request::post("/v1/chat/completions").header("host", house.address.to_string());
        let request = request.header("content-type", "application/json");
        let answer = house.send_raw(request.body(Full::new(body.clone().into())).unwrap()).await.unwrap();
        assert_eq!(answer.text() == sent(Api::Chat, false, &called), passes, "{body}");
    }
}
