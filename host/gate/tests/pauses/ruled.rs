//! What becomes of answers is counted by the gate, and told to who records.

use leafgate_admin::{Ruled, Status};
use leafgate_answer::Api;
use leafgate_gate::GateConfig;
use leafgate_record::{AnswerOutcome, AnswerPart, RecordId};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::logs;
use crate::pauses::answering::{ADDRESS, ASK, BUFFERED, LIVE, everywhere, house, model, request};
use crate::pauses::house::{House, Reply, ask, read};
use crate::recorder::Kept;

/// What a person does with calls that wait.
enum Person {
    Nothing,
    LetsGo,
    Writes,
    Refuses,
}

/// What is told of an answer: outcomes, and the rules of the last.
type ToldOf = (Vec<AnswerOutcome>, Vec<String>);

async fn told(
    api: Api,
    stream: bool,
    rules: &str,
    says: &str,
    call: Option<Value>,
    person: Person,
) -> (ToldOf, Status) {
    let calls: Vec<(&str, Value)> = call.into_iter().map(|arguments| ("run_sql", arguments)).collect();
    let house = house(rules, api, stream, &model(says, &calls)).await;
    let kept = Kept::of(&house.gate);
    let mut events = house.events().await;
    let client = house.send_raw(request(&house, api, stream));
    if !matches!(person, Person::Nothing) {
        let id = events.paused().await.id;
        match person {
            Person::LetsGo => house.let_go(&id).await,
            Person::Refuses => drop(house.cancel(&id).await.unwrap()),
            _ => {
                let at = "/messages/0/tool_calls/0/function/arguments/q";
                house.write(&id, at, "select 1").await.unwrap();
                house.let_go(&id).await;
            }
        }
    }
    client.await.unwrap();
    let parts = kept.outcomes();
    assert!(parts.iter().all(|(id, ..)| *id == RecordId(1)), "{parts:?}");
    let rules = parts.last().map(|(.., rules)| rules.clone()).unwrap_or_default();
    ((parts.into_iter().map(|(_, outcome, _)| outcome).collect(), rules), house.gate.status())
}

// S0-16
#[tokio::test]
async fn what_becomes_of_an_answer_is_counted_and_told() {
    use AnswerOutcome::{Approved, Blocked, Changed, Edited, Held, Refused};
    let query = || Some(json!({ "q": "drop table" }));
    let force = || Some(json!({ "q": "", "command": "push --force" }));
    for (api, stream) in everywhere() {
        for (rules, says, call, person, outcomes, by) in [
            (ASK, "I run it", query(), Person::LetsGo, &[Held, Approved][..], "ask"),
            (ASK, "I run it", query(), Person::Writes, &[Held, Edited], "ask"),
            (ASK, "I run it", query(), Person::Refuses, &[Held, Refused], "ask"),
            (ASK, "I push", force(), Person::Nothing, &[Refused], "no-force"),
            (BUFFERED, ADDRESS, None, Person::Nothing, &[Changed], "addresses"),
            (BUFFERED, "The launch codes", None, Person::Nothing, &[Blocked], "never"),
            (BUFFERED, "Nothing to say", None, Person::Nothing, &[], ""),
            (ASK, "Done", None, Person::Nothing, &[], ""),
        ] {
            let ((told, rules), status) = told(api, stream, rules, says, call, person).await;
            assert_eq!(told, outcomes, "{api:?} {stream} {says}");
            assert_eq!(rules.contains(&by.to_owned()), !by.is_empty(), "{api:?} {stream} {says}: {rules:?}");
            let counted = |of| u64::from(outcomes.contains(&of));
            let ruled = Ruled {
                changed: counted(Changed),
                held: counted(Held),
                approved: counted(Approved),
                edited: counted(Edited),
                refused: counted(Refused),
                partly_refused: 0,
                abandoned: 0,
                blocked: counted(Blocked),
                passed: 0,
            };
            assert_eq!(status.requests.ruled, ruled, "{api:?} {stream} {says}");
            let hits =
                |rule: &str| status.rules.iter().find(|count| count.rule == rule).map(|count| count.requests);
            assert_eq!(
                hits(by),
                (!by.is_empty()).then_some(1),
                "{api:?} {stream} {says}: {:?}",
                status.rules
            );
        }
    }
}

#[tokio::test]
async fn texts_that_rules_change_while_they_come_are_told_with_what_becomes_of_the_calls_behind_them() {
    let rules = format!("{LIVE}{ASK}");
    let call = Some(json!({ "q": "select 1" }));
    let ((outcomes, by), status) = told(Api::Chat, true, &rules, ADDRESS, call, Person::LetsGo).await;
    assert_eq!(outcomes, [AnswerOutcome::Held, AnswerOutcome::Approved]);
    assert_eq!(by, ["addresses", "ask"]);
    let ((outcomes, by), _) = told(Api::Chat, true, &rules, ADDRESS, None, Person::Nothing).await;
    assert_eq!((&outcomes[..], &by[..]), (&[AnswerOutcome::Changed][..], &["addresses".to_owned()][..]));
    assert_eq!(status.requests.faults, 0);
}

#[tokio::test]
async fn a_client_that_leaves_while_a_person_is_asked_is_told_as_the_end_of_it() {
    for (api, stream) in everywhere() {
        let house = house(ASK, api, stream, &model("I run it", &[("run_sql", json!({ "q": "1" }))])).await;
        let kept = Kept::of(&house.gate);
        let mut events = house.events().await;
        let client = house.send_raw(request(&house, api, stream));
        events.paused().await;
        client.abort();
        let outcomes = [AnswerOutcome::Held, AnswerOutcome::Abandoned];
        kept.until(|kept| kept.outcomes().iter().map(|(_, outcome, _)| *outcome).eq(outcomes)).await;
        let ruled = Ruled { held: 1, abandoned: 1, ..Ruled::default() };
        assert_eq!(house.gate.status().requests.ruled, ruled, "{api:?} {stream}");
    }
    assert!(logs::logged().contains("answer=\"abandoned\""));
}

#[tokio::test]
async fn a_client_that_leaves_before_its_answer_begins_ends_it_for_who_records() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let to = format!("http://{}", silent.local_addr().unwrap());
    let house = House::with(ASK, Reply::echo(), |config| {
        config.upstream = GateConfig::new(to.parse().unwrap()).upstream;
    })
    .await;
    let kept = Kept::of(&house.gate);
    let client = house.send_raw(request(&house, Api::Chat, false));
    // The upstream has the request, and says nothing.
    let (asked, _) = silent.accept().await.unwrap();
    asked.readable().await.unwrap();
    client.abort();
    let broke_off = |part: &AnswerPart| matches!(part, AnswerPart::End { complete: false, .. });
    kept.until(|kept| kept.answers.lock().unwrap().iter().any(|(_, part)| broke_off(part))).await;
}

#[tokio::test]
async fn invariant_7_an_answer_that_cannot_be_judged_counts_as_blocked() {
    for (kind, body) in
        [("application/json", "{\"choices\": oops"), ("text/event-stream", "data: {oops}\n\n")]
    {
        let reply = Reply { status: 200, kind, body: Some(body.to_owned()) };
        let house = House::with(ASK, reply, |_| ()).await;
        house.send_raw(request(&house, Api::Chat, false)).await.unwrap();
        assert_eq!(house.gate.status().requests.ruled, Ruled { blocked: 1, ..Ruled::default() }, "{kind}");
    }
}

// S0-120
#[tokio::test]
async fn rules_about_answers_are_in_the_metrics() {
    let house = house(BUFFERED, Api::Chat, false, &model(ADDRESS, &[])).await;
    house.send_raw(request(&house, Api::Chat, false)).await.unwrap();
    let page = read(ask(house.admin, house.admin_request(http::Method::GET, "/metrics", None)).await).await;
    for line in [
        "leafgate_answers_ruled_total{outcome=\"changed\"} 1",
        "leafgate_answers_ruled_total{outcome=\"refused\"} 0",
        "leafgate_rule_hits_total{rule=\"addresses\"} 1",
        "leafgate_findings_total{detector=\"pii/email\"} 1",
    ] {
        assert!(page.text().lines().any(|written| written == line), "{line} in {}", page.text());
    }
}
