//! What a client sees while its run goes on: the entry's words as they are said, and the work of others.

use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use leafgate_answer::{AnswerLimits, Api, Finish, Head, LiveAnswer, Reader, Reply, StreamEvent};
use serde_json::{Value, json};

use crate::agents::stage::*;
use crate::kit::{Client, EMAIL, REDACT_EMAIL, SOON, Upstream, email_token, post};

/// A model that answers bit by bit.
fn model(api: Api) -> LiveAnswer {
    LiveAnswer::new(api, Head { id: "a".into(), model: "m".into(), created: 1 }, false)
}

fn bytes(events: &[StreamEvent]) -> String {
    events.iter().map(ToString::to_string).collect()
}

/// A team's answer that comes bit by bit.
struct Coming {
    body: Incoming,
    reader: Reader,
    text: String,
    content: String,
}

impl Coming {
    async fn of(stage: &Stage, api: Api) -> Coming {
        let client = Conversation::new(api, true, "Go.");
        let path = format!("/agents/v1{}", APIS.into_iter().find(|(of, _)| *of == api).unwrap().1);
        let answer =
            Client::connect(stage.gate.address).await.send(post(&path, client.body.to_string())).await;
        assert_eq!(answer.status(), 200);
        let reader = Reader::stream(api, AnswerLimits::default());
        Coming { body: answer.into_body(), reader, text: String::new(), content: String::new() }
    }

    /// Reads on until a text has been said; without one, to the end.
    async fn until(&mut self, said: Option<&str>) {
        while said.is_none_or(|said| !self.content.contains(said)) {
            let Some(frame) = self.body.frame().await else { break };
            let data = frame.unwrap().into_data().unwrap();
            self.text.push_str(std::str::from_utf8(&data).unwrap());
            let mut reply = Reply::default();
            self.reader.push(&data).unwrap().iter().for_each(|delta| reply.add(delta));
            self.content.push_str(reply.content.expose());
        }
        assert!(said.is_none_or(|said| self.content.contains(said)), "{}", self.text);
    }
}

// S4-13
#[tokio::test]
async fn the_entrys_words_come_as_they_are_said() {
    for (api, progress) in APIS.into_iter().flat_map(|(api, _)| [(api, true), (api, false)]) {
        let (upstream, mut begins) = Upstream::fed().await;
        let mut alone = team(&[agent("lead")]);
        alone["leafgate"] = json!({ "progress": progress });
        let stage = Stage::before(&alone, upstream).await;
        let mut client = Coming::of(&stage, api).await;
        let feed = begins.recv().await.unwrap();
        let mut says = model(api);
        feed.send(Ok(bytes(&says.say("Fi")).into())).unwrap();
        // The model has not said more, and says more only once this was read.
        client.until(Some("Fi")).await;
        feed.send(Ok(bytes(&says.say("ve.")).into())).unwrap();
        client.until(Some("Five.")).await;
        let last = Reply { finish: Some(Finish::Stop), ..Reply::default() };
        feed.send(Ok(bytes(&says.end(&last)).into())).unwrap();
        drop(feed);
        client.until(None).await;
        let read = client.reader.finish().unwrap();
        assert_eq!((read.reply.content.expose(), read.reply.finish), ("Five.", Some(Finish::Stop)));
        assert!(read.failure.is_none(), "{api:?}");
    }
}

#[tokio::test]
async fn signs_of_life_come_between_words() {
    let (upstream, mut begins) = Upstream::fed().await;
    let stage = Stage::before(&team(&[agent("lead")]), upstream).await;
    let mut client = Coming::of(&stage, Api::Chat).await;
    let feed = begins.recv().await.unwrap();
    feed.send(Ok(bytes(&model(Api::Chat).say("Fi")).into())).unwrap();
    client.until(Some("Fi")).await;
    let life = client.body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(life.starts_with(b":"), "{life:?}");
}

/// What was said cannot be taken back, so nothing is sent a second time.
// S4-21
#[tokio::test]
async fn words_that_break_off_end_in_an_error_and_not_in_a_second_answer() {
    // The connection is lost, or the stream only stops.
    for (api, is_lost) in APIS.into_iter().flat_map(|(api, _)| [(api, true), (api, false)]) {
        let (upstream, mut begins) = Upstream::fed().await;
        let stage = Stage::before(&team(&[agent("lead"), agent("reviewer")]), upstream).await;
        let mut client = Coming::of(&stage, api).await;
        let feed = begins.recv().await.unwrap();
        feed.send(Ok(bytes(&model(api).say("Fi")).into())).unwrap();
        client.until(Some("Fi")).await;
        if is_lost {
            feed.send(Err(std::io::Error::other("gone"))).unwrap();
        }
        drop(feed);
        client.until(None).await;
        assert!(
            client.text.contains("the model's answer broke off: ask again"),
            "{api:?} {is_lost}: {}",
            client.text
        );
        let read = client.reader.finish().unwrap();
        assert!(read.failure.is_some(), "{api:?} {is_lost}: {}", client.text);
        assert_eq!(stage.upstream.seen().len(), 1, "{api:?} {is_lost}");
    }
}

/// Not those of agents that work side by side, and not where nobody asked for a stream.
// S4-16
#[tokio::test]
async fn a_client_that_goes_away_leaves_no_call_of_any_agent_open() {
    for (api, streams) in every_way() {
        let (upstream, mut begins) = Upstream::fed().await;
        let agents = [agent("lead"), agent("reader"), agent("reviewer")];
        let stage = Arc::new(Stage::before(&team(&agents), upstream).await);
        let client = tokio::spawn({
            let stage = Arc::clone(&stage);
            async move { Conversation::new(api, streams, "Go.").finish(&stage).await }
        });
        let lead = begins.recv().await.unwrap();
        let work = |agent: &str| ("delegateWork", work_of(agent, "Look."));
        let both = calls(&[work("reader"), work("reviewer")]);
        lead.send(Ok(bytes(&model(api).end(&both)).into())).unwrap();
        drop(lead);
        let (one, other) = (begins.recv().await.unwrap(), begins.recv().await.unwrap());
        client.abort();
        for feed in [one, other] {
            let gone = tokio::time::timeout(SOON, feed.closed()).await;
            assert!(gone.is_ok(), "{api:?} {streams}: a call is still open");
        }
    }
}

// S4-16
#[tokio::test]
async fn a_client_that_goes_away_after_some_words_leaves_no_upstream_call_open() {
    for (api, _) in APIS {
        let (upstream, mut begins) = Upstream::fed().await;
        let stage = Stage::before(&team(&[agent("lead")]), upstream).await;
        let mut client = Coming::of(&stage, api).await;
        let feed = begins.recv().await.unwrap();
        feed.send(Ok(bytes(&model(api).say("Fi")).into())).unwrap();
        client.until(Some("Fi")).await;
        drop(client);
        // The upstream's side of the connection notices.
        feed.closed().await;
    }
}

fn asks_a_reviewer() -> Script {
    let mut asks = delegates("reviewer", "Review it.");
    asks.content = "I ask.".into();
    let mut sees = says("I see.");
    sees.calls = reports("Nothing wrong.").calls;
    sees.finish = Some(Finish::Calls);
    [("lead", vec![asks, says("It is fine."), says("Again fine.")]), ("reviewer", vec![sees])].into()
}

// S4-13
#[tokio::test]
async fn the_work_of_others_shows_as_reasoning_where_the_team_says_so() {
    let told = "[agents] lead asks reviewer: Review it.\n[agents] reviewer: I see.\n[agents] reviewer reports: Nothing wrong.\n";
    for ((api, streams), progress) in every_way().flat_map(|way| [(way, true), (way, false)]) {
        let mut of = team(&[agent("lead"), agent("reviewer")]);
        of["leafgate"] = json!({ "progress": progress });
        let stage = Stage::new(&of, asks_a_reviewer()).await;
        let mut client = Conversation::new(api, streams, "Review?");
        let said = client.finish(&stage).await;
        assert_eq!(said.content.expose(), "I ask.\n\nIt is fine.", "{api:?} {streams} {progress}");
        // A whole answer comes when there is nothing to wait for any more.
        let shown = if streams && progress { told } else { "" };
        assert_eq!(said.reasoning.expose(), shown, "{api:?} {streams} {progress}");
    }
}

/// A provider refuses reasoning that it has not signed, and a model would take it for its own.
// S4-13
#[tokio::test]
async fn what_was_told_about_work_is_left_out_of_what_a_client_sends_again() {
    for (api, _) in APIS {
        let stage = Stage::new(&team(&[agent("lead"), agent("reviewer")]), asks_a_reviewer()).await;
        let mut client = Conversation::new(api, true, "Review?");
        client.finish(&stage).await;
        assert!(client.body.to_string().contains("[agents] lead asks"), "the client has it: {}", client.body);
        client.say("And now?");
        assert_eq!(client.finish(&stage).await.content.expose(), "Again fine.");
        let last: Value = stage.bodies_of("lead").pop().unwrap();
        let last = last.to_string();
        assert!(
            last.contains("I ask.") && last.contains("It is fine.") && last.contains("And now?"),
            "{last}"
        );
        assert!(
            !last.contains("[agents]") && !last.contains("thinking") && !last.contains("\"reasoning\""),
            "{last}"
        );
    }
}

/// Who chooses the team as a model chooses another one in the middle of a conversation.
// S4-13
#[tokio::test]
async fn what_was_told_is_left_out_of_a_conversation_that_goes_on_without_the_team() {
    for (api, path) in APIS {
        let stage = Stage::new(&team(&[agent("lead"), agent("reviewer")]), asks_a_reviewer()).await;
        let mut client = Conversation::new(api, true, "Review?");
        client.finish(&stage).await;
        client.say("You are lead. And now?");
        let mut alone = Conversation::new(api, true, "").at(&format!("/v1{path}"));
        alone.body = client.body;
        assert!(alone.body.to_string().contains("[agents] lead asks"), "{api:?}: {}", alone.body);
        assert_eq!(alone.finish(&stage).await.content.expose(), "Again fine.", "{api:?}");
        let left = stage.bodies_of("lead").pop().unwrap();
        let said = left.to_string();
        assert!(said.contains("I ask.") && said.contains("And now?"), "{api:?}: {said}");
        assert!(!said.contains("[agents]") && !said.contains("thinking"), "{api:?}: {said}");
        assert!(!said.contains("\"reasoning\"") && left.get("tools").is_some(), "{api:?}: {said}");
        // What a user writes so is the user's.
        let own = "[agents] are what I call them.";
        let mut other = Conversation::new(api, true, own).at(&format!("/v1{path}"));
        other.say("You are reviewer.");
        let sent = other.body.to_string();
        other.send(&stage).await;
        let left = stage.upstream.seen().pop().unwrap().body;
        assert_eq!(left, sent, "{api:?}");
    }
}

/// The session has no value yet when the answer begins.
#[tokio::test]
async fn a_value_that_comes_up_while_words_are_shown_comes_back_in_them() {
    for (api, _) in APIS {
        let script = [
            (
                "lead",
                vec![delegates("reader", &format!("Ask {EMAIL}.")), says(&format!("Ask {}.", email_token()))],
            ),
            ("reader", vec![reports("Asked.")]),
        ];
        let stage = Stage::with(&team(&[agent("lead"), agent("reader")]), script.into(), REDACT_EMAIL).await;
        let said = Conversation::new(api, true, "Go.").finish(&stage).await;
        assert_eq!(said.content.expose(), format!("Ask {EMAIL}."), "{api:?}");
        assert!(stage.bodies_of("reader")[0].to_string().contains(&email_token()), "{api:?}");
    }
}

/// Words that rules decide about come when they are decided, in streams too.
#[tokio::test]
async fn words_that_rules_decide_about_wait_for_that() {
    let rules = "[[rule]]\nid = \"no-mail\"\non = \"response\"\nmatch = {}\ndetect = [\"pii/email\"]\naction = \"redact\"\nwith = \"mask\"\n";
    for (api, streams) in every_way() {
        let script = [("lead", vec![says(&format!("Ask {EMAIL}."))])];
        let stage = Stage::with(&team(&[agent("lead")]), script.into(), rules).await;
        let said = Conversation::new(api, streams, "Go.").finish(&stage).await;
        assert!(!said.content.expose().contains(EMAIL), "{api:?} {streams}: {}", said.content.expose());
        assert!(said.content.expose().starts_with("Ask "), "{api:?} {streams}: {}", said.content.expose());
    }
}
