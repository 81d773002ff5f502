//! Houses whose upstream answers in any API, and what their clients read.

use http::Request;
use http_body_util::Full;
use leafgate_answer::{
    Answer as Said, AnswerLimits, Api, Call, CallKind, Finish, Head, Reader, Reply as Words, answer_events,
    write_answer,
};
use serde_json::{Value, json};

use crate::pauses::house::{Answer, House, LONG, Reply};

/// Asks a person before anything is run, and never runs what forces.
pub(crate) const ASK: &str = r#"
[[rule]]
id = "ask"
on = "tool-call"
match = { tool = "run_*" }
action = "pause"
reason = "Runs something"

[[rule]]
id = "no-force"
on = "tool-call"
match = { kind = "tool-arguments", path = "**.command" }
when = 'leaf.text.contains("--force")'
action = "block"
reason = "History stays"
"#;

/// Looks at the texts of whole answers.
pub(crate) const BUFFERED: &str = r#"
[[rule]]
id = "addresses"
on = "response"
match = {}
detect = ["pii/email"]
action = "redact"
stream = "buffer"

[[rule]]
id = "never"
on = "response"
match = {}
when = 'leaf.text.contains("launch codes")'
action = "block"
reason = "Nobody reads this"
stream = "buffer"
"#;

pub(crate) const ADDRESS: &str = "someone@answers-mail.net";

/// What a model says and calls.
pub(crate) fn model(says: &str, calls: &[(&str, Value)]) -> Words {
    let call = |(at, (name, arguments)): (usize, &(&str, Value))| Call {
        id: format!("call_{at}").as_str().into(),
        name: (*name).into(),
        arguments: arguments.to_string().into(),
        kind: CallKind::Function,
    };
    Words {
        content: says.into(),
        calls: calls.iter().enumerate().map(call).collect(),
        finish: Some(if calls.is_empty() { Finish::Stop } else { Finish::Calls }),
        ..Words::default()
    }
}

/// Takes addresses out of texts while they come.
pub(crate) const LIVE: &str = "[[rule]]\nid = \"addresses\"\non = \"response\"\nmatch = {}\ndetect = [\"pii/email\"]\naction = \"redact\"\n";

/// What an upstream sends.
pub(crate) fn sent(api: Api, stream: bool, words: &Words) -> String {
    let head = Head { id: "answer_1".into(), model: "m-1".into(), ..Head::default() };
    let whole = write_answer(api, words, &head);
    match stream {
        true => answer_events(api, &whole, false).unwrap().iter().map(ToString::to_string).collect(),
        false => whole.to_string(),
    }
}

/// A house whose upstream answers everything with these words.
pub(crate) async fn house(rules: &str, api: Api, stream: bool, words: &Words) -> House {
    house_of(rules, stream, sent(api, stream, words)).await
}

async fn house_of(rules: &str, stream: bool, sent: String) -> House {
    let reply = if stream { Reply::events(sent) } else { Reply::json(sent) };
    House::with(rules, reply, |config| config.limits.keepalive = LONG).await
}

/// What a client is answered whose upstream sends this.
pub(crate) async fn told(rules: &str, api: Api, stream: bool, sent: &str) -> Answer {
    let house = house_of(rules, stream, sent.to_owned()).await;
    house.send_raw(request(&house, api, stream)).await.unwrap()
}

/// The tools that questions offer, as an API spells them.
pub(crate) fn tools(api: Api) -> Value {
    let named = ["run_sql", "run_shell", "read_file", "write_file", "git"].map(|name| match api {
        Api::Chat => json!({ "type": "function", "function": { "name": name } }),
        Api::Responses => json!({ "type": "function", "name": name }),
        Api::Messages => json!({ "name": name, "input_schema": { "type": "object" } }),
        Api::Gemini | Api::CodeAssist => json!({ "name": name }),
    });
    match api {
        Api::Chat | Api::Responses | Api::Messages => json!(named),
        Api::Gemini | Api::CodeAssist => json!([{ "functionDeclarations": named }]),
    }
}

/// A question in the words of an API.
pub(crate) fn request(house: &House, api: Api, stream: bool) -> Request<Full<bytes::Bytes>> {
    let user = json!([{ "role": "user", "content": "Do it" }]);
    let (path, mut body) = match api {
        Api::Chat => ("/v1/chat/completions", json!({ "model": "m-1", "messages": user, "stream": stream })),
        Api::Responses => ("/v1/responses", json!({ "model": "m-1", "input": "Do it", "stream": stream })),
        Api::Messages => {
            ("/v1/messages", json!({ "model": "m-1", "max_tokens": 9, "messages": user, "stream": stream }))
        }
        Api::Gemini => (
            if stream {
                "/v1beta/models/m-1:streamGenerateContent?alt=sse"
            } else {
                "/v1beta/models/m-1:generateContent"
            },
            json!({ "contents": [{ "role": "user", "parts": [{ "text": "Do it" }] }] }),
        ),
        Api::CodeAssist => (
            if stream { "/v1internal:streamGenerateContent?alt=sse" } else { "/v1internal:generateContent" },
            json!({ "model": "m-1", "project": "p", "request": {
                "contents": [{ "role": "user", "parts": [{ "text": "Do it" }] }],
            }}),
        ),
    };
    match api {
        Api::Chat | Api::Responses | Api::Messages | Api::Gemini => body["tools"] = tools(api),
        Api::CodeAssist => body["request"]["tools"] = tools(api),
    }
    let request = Request::post(path).header("host", house.address.to_string());
    request.header("content-type", "application/json").body(Full::new(body.to_string().into())).unwrap()
}

/// Reads what a client was answered.
pub(crate) fn read(api: Api, stream: bool, answer: &Answer) -> Said {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let limits = AnswerLimits::default();
    let mut reader = if stream { Reader::stream(api, limits) } else { Reader::whole(api, limits) };
    reader.push(&answer.body).unwrap();
    reader.finish().unwrap()
}

/// Every API, with whole answers and with streams.
pub(crate) fn everywhere() -> impl Iterator<Item = (Api, bool)> {
    Api::ALL.iter().flat_map(|&api| [(api, false), (api, true)])
}
