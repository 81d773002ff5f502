//! Tests of a policy's own that are about answers, whole and as streams, of every API.

use leafgate_answer::{Api, Call, CallKind, Finish, Head, Reply, answer_events, write_answer};
use leafgate_trials::{Grade, RuleTests};
use serde_json::{Value, json};

use super::outcomes::{Tried, grades, test, update};

const RULES: &str = r#"
[[rule]]
id = "mail"
on = "response"
match = {}
detect = ["pii/email"]
action = "redact"
look_behind = 64

[[rule]]
id = "never"
on = "response"
match = { kind = "text" }
when = 'leaf.text.contains("launch codes")'
action = "block"
stream = "buffer"

[[rule]]
id = "ask"
on = "tool-call"
match = { tool = "write_*" }
action = "pause"

[[rule]]
id = "no-force"
on = "tool-call"
match = { kind = "tool-arguments", path = "**.command" }
when = 'leaf.text.contains("--force")'
action = "block"

[[rule]]
id = "polite"
match = { role = "user" }
action = "rewrite"
append = " Please."
"#;

fn answer(api: Api, says: &str, calls: &[(&str, Value)]) -> Value {
    let call = |(at, (name, arguments)): (usize, &(&str, Value))| Call {
        id: format!("c{at}").as_str().into(),
        name: (*name).into(),
        arguments: arguments.to_string().into(),
        kind: CallKind::Function,
    };
    let reply = Reply {
        content: says.into(),
        calls: calls.iter().enumerate().map(call).collect(),
        finish: Some(if calls.is_empty() { Finish::Stop } else { Finish::Calls }),
        ..Reply::default()
    };
    write_answer(api, &reply, &Head { id: "a".into(), model: "m".into(), created: 1 })
}

fn stream(api: Api, whole: &Value) -> String {
    answer_events(api, whole, false).unwrap().iter().map(ToString::to_string).collect()
}

/// A test of an answer that is written as a text.
fn of(name: &str, answer: &str, rest: &str) -> String {
    test(name, &format!("answer = {}\n{rest}", toml_text(answer)))
}

fn toml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

const REDACTED: &str = "edits = [{ at = 'messages[0].content', by = 'mail', text = 'Ask ‹EMAIL›.' }]";

#[test]
fn every_api_is_read_whole_and_as_a_stream() {
    for &api in Api::ALL {
        let redacts = answer(api, "Ask ann@example.org.", &[]);
        let asks = answer(api, "", &[("write_file", json!({ "path": "a" }))]);
        let refused = answer(api, "I push.", &[("bash", json!({ "command": "git push --force" }))]);
        let blocked = answer(api, "Here are the launch codes.", &[]);
        let calm = answer(api, "Hello.", &[("read_file", json!({ "path": "a" }))]);
        for streams in [false, true] {
            let spelled = |whole: &Value| if streams { stream(api, whole) } else { whole.to_string() };
            let tests = [
                of("redacted", &spelled(&redacts), REDACTED),
                of("waits", &spelled(&asks), "verdict = 'pause'\nheld_by = 'ask'"),
                of("refused", &spelled(&refused), "verdict = 'block'\nheld_by = 'no-force'"),
                of("blocked", &spelled(&blocked), "verdict = 'block'\nheld_by = 'never'"),
                of("calm", &spelled(&calm), "edits = []\nbytes = 'received'"),
                of("alone", &spelled(&asks), "rules = 'mail'\nedits = []"),
                of("noisy", &spelled(&asks), "verdict = 'forward'"),
                of("missing", &spelled(&calm), "verdict = 'pause'"),
            ];
            let mut expected = [Grade::Right; 8];
            (expected[6], expected[7]) = (Grade::Noisy, Grade::Missing);
            assert_eq!(grades(RULES, &tests.concat()), expected, "{api:?} {streams}");
        }
    }
}

#[test]
fn the_bytes_are_those_that_would_reach_the_client() {
    for &api in Api::ALL {
        let (came, left) = (answer(api, "Ask ann@example.org.", &[]), answer(api, "Ask [EMAIL].", &[]));
        for streams in [false, true] {
            let tried = Tried::new(
                RULES,
                &test("bytes", &format!("answer_file = 'a.json'\nstream = {streams}\nbytes = 'b.txt'")),
            );
            let spelled = |whole: &Value| if streams { stream(api, whole) } else { whole.to_string() };
            std::fs::write(tried.tests().join("a.json"), came.to_string()).unwrap();
            std::fs::write(tried.tests().join("b.txt"), spelled(&left)).unwrap();
            let outcome = tried.outcomes().remove(0);
            assert_eq!(outcome.grade, Grade::Right, "{api:?} {streams}: {:?}", outcome.differences);
        }
    }
}

/// What a rule asks about a stream is true of one.
#[test]
fn a_test_says_whether_an_answer_streams() {
    let rules = "[[rule]]\nid = 'whole'\non = 'tool-call'\nmatch = { stream = false, model = 'm' }\naction = 'block'\n";
    let whole = answer(Api::Chat, "", &[("f", json!({}))]);
    let tests = [
        of("whole", &whole.to_string(), "verdict = 'block'"),
        of("stream", &stream(Api::Chat, &whole), "verdict = 'forward'"),
        of("stands for a stream", &whole.to_string(), "stream = true\nverdict = 'forward'"),
        of("another model", &whole.to_string(), "model = 'n'\nverdict = 'forward'"),
    ];
    assert_eq!(grades(rules, &tests.concat()), [Grade::Right; 4]);
}

#[test]
fn an_update_writes_what_became_of_an_answer() {
    let whole = answer(Api::Messages, "Ask ann@example.org.", &[("write_file", json!({}))]);
    let tried = Tried::new(RULES, &of("later", &whole.to_string(), "verdict = 'forward'"));
    assert_eq!(tried.outcomes()[0].grade, Grade::Noisy);
    let written = update(&tried);
    assert!(written.contains("verdict = \"pause\"\nheld_by = \"ask\"\n"), "{written}");
    assert!(written.contains("by = \"mail\", text = \"Ask ‹EMAIL›.\""), "{written}");
    assert_eq!(tried.outcomes()[0].grade, Grade::Right);
}

#[test]
fn an_answer_that_cannot_be_read_is_refused_with_a_place() {
    let chat = answer(Api::Chat, "Hi", &[]);
    let error = r#"{"error":{"message":"overloaded","type":"server_error"}}"#;
    for (given, rest, why) in [
        ("{}", "", "no API answers like this"),
        ("oops", "", "no API answers like this"),
        (error, "format = 'openai-chat'", "it is an error"),
        (&*chat.to_string(), "format = 'gemini'", "no API answers like this"),
        (&*chat.to_string(), "format = 'raw'", "answers of this format are not read"),
        (&*stream(Api::Chat, &chat), "stream = false", "it is an event stream"),
        (&*chat.to_string(), "header = { a = 'b' }", "`header` means nothing for an answer"),
        (&*chat.to_string(), "text = 'Hi'", "a test has one request or one answer"),
    ] {
        let refused = Tried::new(RULES, &of("odd", given, &format!("{rest}\nverdict = 'block'"))).refused();
        assert!(refused.contains(why) && refused.contains("all.toml"), "{why}: {refused}");
    }
    let gone = Tried::new(RULES, &test("gone", "answer_file = 'no.sse'\nverdict = 'block'")).refused();
    assert!(gone.contains("`no.sse` is not there"), "{gone}");
}

#[test]
fn no_text_of_an_answer_is_in_debug_output() {
    let tried =
        Tried::new(RULES, &of("quiet", &answer(Api::Chat, "Say nothing", &[]).to_string(), "edits = []"));
    let tests = RuleTests::read(&tried.tests(), &tried.policy).unwrap();
    assert!(!format!("{tests:?}").contains("nothing"));
}
