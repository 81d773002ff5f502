//! A person excepts a redaction through the admin API: by the token of the value, in the gate's own
//! policy, and in later requests.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use http::Method;
use leafgate_admin::{ApiError, ErrorCode, Excepted, ExceptionList, ExceptionView, RedactedSpan};
use leafgate_contract::NoPlugins;
use leafgate_gate::{NotExcepted, PolicyFiles};
use leafgate_policy::{NewException, Policy, PolicySource, WrittenException, written_exceptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::logs;
use crate::pauses::house::{Answer, CANARY, House, RULES, Reply, chat, keys};

/// What leaves in the end, so that no canary does.
const EMAIL: &str = "jo.excepted@mail.example.org";

/// A folder of one file, into which exceptions are written as the command line does it.
struct Folder {
    path: PathBuf,
    /// What is written is lost, so that it changes nothing.
    loses: bool,
    /// The upstreams that were named.
    asked: Arc<Mutex<Vec<Option<String>>>>,
}

impl PolicyFiles for Folder {
    fn except(
        &self,
        upstream: Option<&str>,
        exception: &NewException,
        works: Option<&dyn Fn(&Policy) -> bool>,
    ) -> Result<String, NotExcepted> {
        self.asked.lock().unwrap().push(upstream.map(str::to_owned));
        let file = self.path.join("exceptions.toml");
        std::fs::write(&file, if self.loses { String::new() } else { exception.table() }).unwrap();
        match works.is_none_or(|works| works(&load(&self.path))) {
            true => Ok("exceptions.toml".to_owned()),
            false => {
                std::fs::remove_file(&file).unwrap();
                Err(NotExcepted::Idle)
            }
        }
    }

    fn check(&self, _: Option<&str>, works: &dyn Fn(&Policy) -> bool) -> Result<(), NotExcepted> {
        if works(&load(&self.path)) { Err(NotExcepted::Already) } else { Ok(()) }
    }

    fn remove(&self, id: &str) -> Result<(), NotExcepted> {
        let written = written_exceptions(&self.path, &keys("test")).unwrap();
        let one = written.iter().find(|one| one.id == id).ok_or(NotExcepted::Unknown)?;
        let text = std::fs::read_to_string(&one.path).unwrap();
        std::fs::write(&one.path, one.taken_out_of(&text).unwrap()).unwrap();
        Ok(())
    }

    fn exceptions(&self) -> Result<Vec<ExceptionView>, NotExcepted> {
        let view = |written: WrittenException| ExceptionView {
            id: written.id,
            upstream: None,
            origin: written.table.origin.clone(),
            rules: Vec::new(),
            table: written.table.to_string(),
            reason: written.table.says["reason"].to_string(),
            by: "ann".to_owned(),
            until: "never".to_owned(),
            ended: false,
        };
        Ok(written_exceptions(&self.path, &keys("test")).unwrap().into_iter().map(view).collect())
    }
}

fn load(folder: &Path) -> Policy {
    Policy::load_knowing(
        &PolicySource::Folder(folder.to_owned()),
        None,
        &NoPlugins,
        std::time::SystemTime::now(),
        None,
    )
    .unwrap()
}

/// A gate whose policy lies in a folder that it may write into.
async fn house(rules: &str) -> (House, TempDir, Arc<Mutex<Vec<Option<String>>>>) {
    house_that(rules, false).await
}

async fn house_that(rules: &str, loses: bool) -> (House, TempDir, Arc<Mutex<Vec<Option<String>>>>) {
    let house = House::with(rules, Reply::echo(), |_| {}).await;
    let folder = tempfile::tempdir().unwrap();
    leafgate_harness::rules::write_alone(folder.path(), rules).unwrap();
    let asked = Arc::<Mutex<Vec<_>>>::default();
    house.gate.write_exceptions(Folder { path: folder.path().to_owned(), loses, asked: Arc::clone(&asked) });
    (house, folder, asked)
}

async fn redacted(house: &House, turn: &str) -> Vec<RedactedSpan> {
    let turn = house.turn(turn).await;
    let mut leaves = turn.sections.into_iter().flat_map(|section| section.leaves);
    leaves.find(|leaf| leaf.pointer == "/messages/3/content").unwrap().redacted
}

fn command(redaction: usize) -> Value {
    json!({ "redaction": redaction, "reason": "our own address", "by": "ann (uid 7)" })
}

async fn except(house: &House, turn: &str, command: &Value) -> Answer {
    house.call(Method::POST, &format!("/v1/pending/{turn}/except"), Some(command)).await
}

fn refused(answer: &Answer) -> (u16, ErrorCode, String) {
    let error: ApiError = answer.json();
    (answer.status, error.code, error.message)
}

#[tokio::test]
async fn an_excepted_value_leaves_with_the_next_request_and_is_written_nowhere() {
    let (house, folder, asked) = house(RULES).await;
    let mut events = house.events().await;
    let body = chat(&format!("prod-db: {EMAIL}"));
    let (client, id) = house.holds(&mut events, &body).await;
    let before = house.turn(&id).await;
    let span = redacted(&house, &id).await.remove(0);

    let answer = except(&house, &id, &command(span.redaction.unwrap())).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let excepted: Excepted = answer.json();
    assert_eq!(
        (&*excepted.file, &*excepted.rule, &*excepted.label),
        ("exceptions.toml", "addresses", "EMAIL")
    );
    assert_eq!((excepted.until.len(), excepted.still), ("2027-03-31".len(), None));
    assert_eq!(*asked.lock().unwrap(), [None]);
    let written = std::fs::read_to_string(folder.path().join("exceptions.toml")).unwrap();
    assert!(
        written.contains("rule = \"addresses\"") && written.contains("by = \"ann (uid 7)\""),
        "{written}"
    );
    assert!(written.contains("finding = \"EMAIL_") && !written.contains(EMAIL), "{written}");

    // This turn keeps its policy, and leaves as it was shown.
    assert_eq!(house.turn(&id).await.digest, before.digest);
    house.let_go(&id).await;
    assert!(client.await.unwrap().text().contains(EMAIL), "its token is restored as ever");
    assert!(!String::from_utf8_lossy(&house.upstream.received()[0]).contains(EMAIL));

    house.gate.policy_loaded(Arc::new(load(folder.path())));
    let (again, next) = house.holds(&mut events, &body).await;
    house.let_go(&next).await;
    again.await.unwrap();
    assert!(String::from_utf8_lossy(&house.upstream.received()[1]).contains(EMAIL));
    assert!(!logs::logged().contains(EMAIL));
}

#[tokio::test]
async fn what_cannot_be_excepted_is_refused_with_a_sentence_and_nothing_is_written() {
    let (house, folder, asked) = house(RULES).await;
    let mut events = house.events().await;
    let (_client, id) = house.holds(&mut events, &chat(&format!("prod-db: {CANARY}"))).await;
    let number = redacted(&house, &id).await[0].redaction.unwrap();
    let with = |key: &str, value: Value| {
        let mut command = command(number);
        command[key] = value;
        command
    };
    for (wrong, code, says) in [
        (command(99), ErrorCode::NotFound, "no such redaction"),
        (with("reason", json!(" ")), ErrorCode::Malformed, "`reason` is no line"),
        (with("reason", json!("two\nlines")), ErrorCode::Malformed, "`reason` is no line"),
        (
            with("reason", json!(format!("it is {CANARY}"))),
            ErrorCode::NotExceptable,
            "finds something in the reason",
        ),
        (with("by", json!("")), ErrorCode::Malformed, "`by` is no name"),
        (with("until", json!("2020-02-29")), ErrorCode::Malformed, "that day is over"),
        (with("until", json!("soon")), ErrorCode::Malformed, "this is no end of an exception"),
        (with("file", json!("../elsewhere.toml")), ErrorCode::Malformed, "does not say what this call takes"),
    ] {
        let (_, was, message) = refused(&except(&house, &id, &wrong).await);
        assert!(was == code && message.contains(says), "{wrong}: {was:?}, {message}");
    }
    // What a person wrote was never received.
    house.write(&id, "/messages/1/content", CANARY).await.unwrap();
    let turn = house.turn(&id).await;
    let leaves = turn.sections.iter().flat_map(|section| &section.leaves);
    let written = leaves.filter(|leaf| leaf.pointer == "/messages/1/content").flat_map(|leaf| &leaf.redacted);
    for number in written.filter_map(|span| span.redaction) {
        let (_, code, message) = refused(&except(&house, &id, &command(number)).await);
        assert!(code == ErrorCode::NotExceptable && message.contains("no value was received"), "{message}");
    }
    assert!(asked.lock().unwrap().is_empty() && !folder.path().join("exceptions.toml").exists());

    let unable = House::start().await;
    let mut events = unable.events().await;
    let _client = unable.send(&chat(&format!("prod-db: {CANARY}")));
    let id = events.paused().await.id;
    let (status, code, message) = refused(&except(&unable, &id, &command(0)).await);
    assert_eq!((status, code), (422, ErrorCode::NotExceptable));
    assert!(message.contains("no policy folder"), "{message}");
    logs::assert_clean();
}

#[tokio::test]
async fn it_is_said_who_redacts_the_value_all_the_same() {
    let second = RULES.replacen(
        "[[rule]]",
        "[[rule]]\nid = \"all\"\nmatch = {}\ndetect = [\"pii\"]\naction = \"redact\"\n\n[[rule]]",
        1,
    );
    let (both, folder, _) = house(&second).await;
    let mut events = both.events().await;
    let _client = both.send(&chat(&format!("prod-db: {CANARY}")));
    let id = events.paused().await.id;
    let span = redacted(&both, &id).await.remove(0);
    assert_eq!(span.author.as_deref(), Some("rule all"));
    let excepted: Excepted = except(&both, &id, &command(span.redaction.unwrap())).await.json();
    assert_eq!((&*excepted.rule, excepted.still.as_deref()), ("all", Some("rule addresses")));
    assert!(folder.path().join("exceptions.toml").exists());
}

#[tokio::test]
async fn an_exception_that_changes_nothing_is_refused() {
    let (house, _folder, _) = house_that(RULES, true).await;
    let mut events = house.events().await;
    let (_client, id) = house.holds(&mut events, &chat(&format!("prod-db: {CANARY}"))).await;
    let number = redacted(&house, &id).await[0].redaction.unwrap();
    let (status, code, message) = refused(&except(&house, &id, &command(number)).await);
    assert_eq!((status, code), (422, ErrorCode::NotExceptable));
    assert!(message.contains("would redact it all the same"), "{message}");
}

#[tokio::test]
async fn exceptions_are_listed_and_written_without_a_turn() {
    let (house, folder, asked) = house(RULES).await;
    assert!(house.get::<ExceptionList>("/v1/exceptions").await.exceptions.is_empty());
    let said =
        json!({ "allows": { "value": EMAIL }, "rules": ["addresses"], "reason": "our own", "by": "ann" });
    let add = async |command: Value| house.call(Method::POST, "/v1/exceptions", Some(&command)).await;
    let with = |key: &str, value: Value| {
        let mut command = said.clone();
        command[key] = value;
        command
    };
    let known = keys("test").token("EMAIL", EMAIL).to_string();
    let altered = format!("{}{}", &known[..known.len() - 1], if known.ends_with('a') { 'b' } else { 'a' });
    for (wrong, code, says) in [
        (
            with("reason", json!(format!("it is {CANARY}"))),
            ErrorCode::NotExceptable,
            "finds something in the reason",
        ),
        (with("by", json!("é")), ErrorCode::Malformed, "`by` is no name"),
        (with("until", json!("2020-02-29")), ErrorCode::Malformed, "that day is over"),
        (with("upstream", json!("nowhere")), ErrorCode::NotFound, "no upstream of this name"),
        (with("allows", json!({ "token": altered })), ErrorCode::NotFound, "no token of this installation"),
        (
            with("allows", json!({ "anything": true })),
            ErrorCode::Malformed,
            "does not say what this call takes",
        ),
    ] {
        let (_, was, message) = refused(&add(wrong.clone()).await);
        assert!(was == code && message.contains(says), "{wrong}: {was:?}, {message}");
    }
    assert!(asked.lock().unwrap().is_empty());

    let written = add(said.clone()).await;
    assert_eq!(written.status, 200, "{}", written.text());
    let written: ExceptionList = written.json();
    assert_eq!(house.get::<ExceptionList>("/v1/exceptions").await, written);
    assert!(written.exceptions[0].table.contains(&format!("value = \"{EMAIL}\"")), "{written:?}");
    // From the next load on the value leaves.
    house.gate.policy_loaded(Arc::new(load(folder.path())));
    let mut events = house.events().await;
    let (client, id) = house.holds(&mut events, &chat(&format!("prod-db: {EMAIL}"))).await;
    house.let_go(&id).await;
    client.await.unwrap();
    assert!(String::from_utf8_lossy(&house.upstream.received()[0]).contains(EMAIL));
    // By its token, the file shows no value.
    let by_token: ExceptionList = add(with("allows", json!({ "token": known }))).await.json();
    assert!(by_token.exceptions[0].table.contains(&format!("finding = \"{known}\"")), "{by_token:?}");
    assert!(!logs::logged().contains(EMAIL));
}

#[tokio::test]
async fn an_exception_is_removed_by_its_id_once() {
    let (house, folder, _) = house(RULES).await;
    let value = json!({ "allows": { "value": EMAIL }, "reason": "our own", "by": "ann" });
    let written: ExceptionList = house.call(Method::POST, "/v1/exceptions", Some(&value)).await.json();
    let path = format!("/v1/exceptions/{}", written.exceptions[0].id);
    let left = house.call(Method::DELETE, &path, None).await;
    assert_eq!(left.status, 200, "{}", left.text());
    assert!(left.json::<ExceptionList>().exceptions.is_empty());
    assert!(!std::fs::read_to_string(folder.path().join("exceptions.toml")).unwrap().contains(EMAIL));
    let (status, code, message) = refused(&house.call(Method::DELETE, &path, None).await);
    assert_eq!((status, code), (404, ErrorCode::NotFound), "{message}");
}

#[tokio::test]
async fn what_stands_in_the_way_is_told_before_a_reason_is_asked_for() {
    let (house, folder, asked) = house(RULES).await;
    let mut events = house.events().await;
    let (_client, id) = house.holds(&mut events, &chat(&format!("prod-db: {CANARY}"))).await;
    let number = redacted(&house, &id).await[0].redaction.unwrap();
    let mut unsaid = command(number);
    unsaid["reason"] = json!("");
    let (status, code, message) = refused(&except(&house, &id, &unsaid).await);
    assert_eq!((status, code), (400, ErrorCode::Malformed), "{message}");
    assert!(asked.lock().unwrap().is_empty() && !folder.path().join("exceptions.toml").exists());
    assert_eq!(except(&house, &id, &command(number)).await.status, 200);
    let (status, code, message) = refused(&except(&house, &id, &unsaid).await);
    assert_eq!((status, code), (422, ErrorCode::NotExceptable), "{message}");
}
