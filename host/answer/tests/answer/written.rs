//! One reply as every API spells it: whole, and as the stream that it stands for.

use leafgate_answer::{Api, Call, Finish, Head, Reply, Usage, answer_events, write_answer};

fn told(reply: &Reply) -> String {
    let head = Head { id: "a-1".into(), model: "m-1".into(), created: 1 };
    let api = |&api: &Api| {
        let written = write_answer(api, reply, &head);
        let events = answer_events(api, &written, reply.usage.is_some()).unwrap_or_default();
        let events: String = events.iter().map(ToString::to_string).collect();
        format!("{api:?}\n{}\n\n{}", written, events.trim_end())
    };
    Api::ALL.iter().map(api).collect::<Vec<_>>().join("\n\n")
}

// S3-16
#[test]
fn words_and_what_they_cost() {
    let usage = Usage { input: 10, cached: 4, output: 5, reasoning: 2, ..Usage::default() };
    insta::assert_snapshot!(told(&Reply {
        reasoning: "Let me see.".into(),
        content: "Hello \"you\".\n".into(),
        finish: Some(Finish::Stop),
        usage: Some(usage),
        ..Reply::default()
    }));
}

// S3-16, S3-17
#[test]
fn words_with_calls_behind_them() {
    let call = |id: &str, arguments: &str| Call {
        id: id.into(),
        name: "read_file".into(),
        arguments: arguments.into(),
        ..Call::default()
    };
    insta::assert_snapshot!(told(&Reply {
        content: "I read.".into(),
        calls: vec![call("c1", r#"{"path":"a.md"}"#), call("c2", "{}")],
        finish: Some(Finish::Calls),
        ..Reply::default()
    }));
}
