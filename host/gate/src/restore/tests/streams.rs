//! Streams: a token in pieces, what is held and when it leaves, and what is never touched.

use proptest::prelude::*;
use serde_json::json;

use super::speech::{chat, end, event, gemini, heard, more};
use super::*;

#[test]
fn a_token_in_pieces_comes_back() {
    let (_, token) = vault();
    let (left, right) = token.split_at(9);
    for api in APIS {
        let events = [more(api, 0, &format!("Write to {left}")), more(api, 0, &format!("{right}!"))];
        let out = through(restoring(api), &[events[0].as_bytes(), events[1].as_bytes()]);
        let out: Vec<_> = out.into_iter().map(|piece| String::from_utf8(piece).unwrap()).collect();
        assert_eq!(out, [more(api, 0, "Write to "), more(api, 0, &format!("{VALUE}!")), String::new()]);
    }
}

#[test]
fn what_is_held_leaves_before_its_text_ends() {
    let (_, token) = vault();
    let said = format!("to {}", &token[..9]);
    for api in APIS {
        let stream = more(api, 0, &said) + &more(api, 1, "other") + &end(api, 0, &said);
        let out = joined(restoring(api), &stream);
        assert!(out.starts_with(&more(api, 0, "to ")) && out.ends_with(&end(api, 0, &said)), "{out}");
        assert_eq!(heard(&out), heard(&stream));
    }
}

/// An added event looks like the one whose text it goes on with.
#[test]
fn what_is_added_has_the_form_of_its_api() {
    let (_, token) = vault();
    let cut = &token[..9];
    for api in APIS {
        let stream = more(api, 0, cut) + &more(api, 0, "");
        let out = joined(restoring(api), &stream);
        let added =
            out.strip_prefix(&(more(api, 0, "") + &more(api, 0, ""))).unwrap_or_else(|| panic!("{out}"));
        let read = |event: &str| {
            let (name, data) = event.trim_end().rsplit_once("data: ").unwrap();
            let mut data: serde_json::Value = serde_json::from_str(data).unwrap();
            data.as_object_mut().unwrap().remove("logprobs");
            (name.to_owned(), data)
        };
        assert_eq!(read(added), read(&more(api, 0, cut)));
    }
}

#[test]
fn what_is_held_leaves_before_the_end() {
    let (_, token) = vault();
    let cut = &token[..9];
    for (api, ends) in [
        ("chat", vec!["", "data: [DONE]\n\n", "event: done\nid: 7\ndata: [DONE]\n\n"]),
        ("responses", vec!["", "event: error\ndata: {\"type\": \"error\"}\n\n", "data: [DONE]\n\n"]),
        ("gemini-stream", vec!["", "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n"]),
        ("messages", vec!["", "event: message_delta\ndata: {\"type\": \"message_delta\"}\n\n"]),
    ] {
        for last in ends {
            let out = joined(restoring(api), &(more(api, 0, cut) + last));
            assert_eq!(heard(&out), heard(&more(api, 0, cut)), "{out}");
            assert!(out.ends_with(last), "{out}");
        }
    }
}

#[test]
fn what_is_held_when_a_stream_breaks_off_is_an_event_of_its_own() {
    let (_, token) = vault();
    let stream = chat(0, "content", &token[..9]);
    let out = joined(restoring("chat"), stream.trim_end());
    assert_eq!(heard(&out), heard(&stream), "{out}");
}

#[test]
fn text_and_finish_in_one_event_leave_together() {
    let (_, token) = vault();
    let chunk = |text: &str| {
        format!(
            r#"data: {{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#
        )
    };
    let cut = &token[..9];
    assert_eq!(joined(restoring("chat"), &chunk(cut)), chunk(cut));
    assert_eq!(joined(restoring("chat"), &chunk(&token)), chunk(&VALUE.replace('"', "\\\"")));
}

#[test]
fn each_repetition_is_restored() {
    let (_, token) = vault();
    let item = |text: &str| json!({ "type": "message", "content": [{ "type": "output_text", "text": text }, { "type": "refusal", "refusal": text }] });
    let stream = |text: &str| {
        let at = |part: usize, key: &str, value: serde_json::Value| json!({ "output_index": 0, "content_index": part, key: value });
        [
            event("response.output_text.done", at(0, "text", text.into())),
            event("response.content_part.done", at(0, "part", item(text)["content"][0].clone())),
            event("response.refusal.done", at(1, "refusal", text.into())),
            event("response.output_item.done", json!({ "output_index": 0, "item": item(text) })),
            event("response.completed", json!({ "response": { "id": "r", "output": [item(text)] } })),
        ]
        .concat()
    };
    assert_eq!(joined(restoring("responses"), &stream(&token)), stream(VALUE));
}

#[test]
fn reasoning_is_restored_unless_it_is_sealed() {
    let (_, token) = vault();
    let item = |text: &str, sealed: bool| {
        let mut item = json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": text }] });
        if sealed {
            item["encrypted_content"] = "gAAAA".into();
        }
        json!({ "output_index": 0, "item": item })
    };
    let stream = |text: &str, sealed: bool| {
        event("response.output_item.added", item("", sealed))
            + &event(
                "response.reasoning_summary_text.delta",
                json!({ "output_index": 0, "summary_index": 0, "delta": text }),
            )
            + &event(
                "response.reasoning_summary_text.done",
                json!({ "output_index": 0, "summary_index": 0, "text": text }),
            )
            + &event(
                "response.reasoning_summary_part.done",
                json!({ "output_index": 0, "summary_index": 0, "part": { "type": "summary_text", "text": text } }),
            )
            + &event(
                "response.reasoning_text.delta",
                json!({ "output_index": 0, "content_index": 0, "delta": text }),
            )
            + &event("response.output_item.done", item(text, sealed))
    };
    assert_eq!(joined(restoring("responses"), &stream(&token, false)), stream(VALUE, false));
    assert_eq!(joined(restoring("responses"), &stream(&token, true)), stream(&token, true));
}

/// The copy may come only behind the text.
#[test]
fn reasoning_stays_as_it_is_where_the_request_asks_for_a_sealed_copy() {
    let (_, token) = vault();
    let delta = event(
        "response.reasoning_summary_text.delta",
        json!({ "output_index": 0, "summary_index": 0, "delta": token }),
    );
    let asks = of_request("responses", r#"{"include": ["reasoning.encrypted_content"]}"#);
    assert_eq!(joined(asks, &delta), delta);
}

#[test]
fn tools_and_signed_thinking_keep_their_tokens() {
    let (_, token) = vault();
    let chat_call = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": 0, "function": { "arguments": token } }] } }] });
    let block =
        |delta: serde_json::Value| event("content_block_delta", json!({ "index": 0, "delta": delta }));
    for (api, stream) in [
        ("chat", format!("data: {chat_call}\n\n")),
        ("gemini-stream", gemini(0, &json!({ "functionCall": { "name": "sh", "args": { "text": token } } }))),
        ("gemini-stream", gemini(0, &json!({ "text": token, "thought": true, "thoughtSignature": "c2ln" }))),
        ("gemini-stream", gemini(0, &json!({ "text": token, "thoughtSignature": "c2ln" }))),
        ("messages", block(json!({ "type": "input_json_delta", "partial_json": token }))),
        ("messages", block(json!({ "type": "thinking_delta", "thinking": token }))),
        ("messages", block(json!({ "type": "signature_delta", "signature": token }))),
        (
            "messages",
            event(
                "content_block_start",
                json!({ "index": 0, "content_block": { "type": "tool_use", "text": token } }),
            ),
        ),
        (
            "responses",
            event("response.function_call_arguments.delta", json!({ "output_index": 0, "delta": token })),
        ),
        (
            "responses",
            event("response.function_call_arguments.done", json!({ "output_index": 0, "arguments": token })),
        ),
        (
            "responses",
            event("response.mcp_call_arguments.delta", json!({ "output_index": 0, "delta": token })),
        ),
        (
            "responses",
            event(
                "response.output_item.done",
                json!({ "output_index": 0, "item": { "type": "function_call", "arguments": token, "content": [{ "text": token }] } }),
            ),
        ),
        (
            "responses",
            event("response.created", json!({ "response": { "instructions": token, "output": [] } })),
        ),
    ] {
        assert_eq!(joined(restoring(api), &stream), stream);
    }
}

#[test]
fn what_holds_no_token_leaves_at_once_and_unchanged() {
    let lines: [&[u8]; 9] = [
        b": OPENROUTER PROCESSING\n\n",
        b"data: {\"choices\": [], \"prompt_filter_results\": []}\n\n",
        b"data: {\"choices\":[{\"index\":0, \"delta\":{\"content\":\"\\ud83d \\u0041\"}}]}\r\n\r\n",
        b"data: {\"choices\":[{\"delta\":{\"content\":\"single newline\"}}]}\n",
        b"data: {\"choices\":[{\"delta\":{\"content\":7}},{\"delta\":null},3]}\n",
        b"event: ping\ndata: {\"type\": \"ping\"}\n\n",
        b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\\u0041\"}  }\n\n",
        b"event: response.output_text.delta\ndata: {\"type\" : \"response.output_text.delta\",\"delta\":\"\\u0041\"}\n\n",
        b"data: {\"error\": {\"message\": \"overloaded\"}}\n\n",
    ];
    for api in APIS {
        let out = through(restoring(api), &lines);
        for (line, out) in lines.iter().zip(&out) {
            assert_eq!(String::from_utf8_lossy(out), String::from_utf8_lossy(line));
        }
        assert_eq!(out.concat(), lines.concat());
    }
}

#[test]
fn what_cannot_be_read_leaves_at_once_and_unchanged() {
    for api in APIS {
        for line in [&b"data: no json\n"[..], b"data:\xff\n\n", b"data: [1}\n", b"DATA: {}\n"] {
            let out = through(restoring(api), &[line, b"data: {}\n"]);
            assert_eq!(out, [line, b"data: {}\n", b""]);
        }
    }
}

/// Texts that hold tokens whole, cut and false, at two places.
fn said() -> impl Strategy<Value = Vec<(usize, String)>> {
    let (_, token) = vault();
    let text = prop_oneof![
        Just(token.clone()),
        Just(format!("{token} ")),
        (0..token.len()).prop_map(move |end| token[..end].to_owned()),
        Just("EMAIL_".to_owned()),
        "[ a-zé€\"\n]{0,8}",
    ];
    prop::collection::vec((0..2usize, text), 0..12)
}

proptest! {
    /// Cutting the texts into events, and the stream into chunks, anywhere, changes nothing of what
    /// a client hears.
    #[test]
    fn a_stream_restores_as_its_whole_text(
        api in prop::sample::select(APIS.to_vec()),
        said in said(),
        fragment in 1..12usize,
        cuts in prop::collection::vec(any::<usize>(), 0..20),
        crlf in any::<bool>(),
        ends in 0..3usize,
    ) {
        let (vault, _) = vault();
        let stream = spoken(api, &said, fragment, ends, |text| text.to_owned());
        let expected = spoken(api, &said, usize::MAX, ends, |text| restore(&vault, text));
        let (stream, expected) = if crlf { (stream.replace('\n', "\r\n"), expected) } else { (stream, expected) };
        let out = through(restoring(api), &cut(stream.as_bytes(), &cuts)).concat();
        prop_assert_eq!(heard(&String::from_utf8(out).unwrap()), heard(&expected));
    }

    /// Where no token stands, no byte of any stream changes, proper or not, and nothing but a
    /// beginning of a line is held.
    #[test]
    fn what_has_no_token_passes_byte_for_byte(
        api in prop::sample::select(APIS.to_vec()),
        stream in prop::collection::vec(any::<u8>(), 0..200),
        cuts in prop::collection::vec(any::<usize>(), 0..4),
    ) {
        prop_assert_eq!(through(restoring(api), &cut(&stream, &cuts)).concat(), stream);
    }
}

/// The events for texts: each place's in fragments, of the text as `told`; and, if told so, their
/// ends.
fn spoken(
    api: &str,
    said: &[(usize, String)],
    fragment: usize,
    ends: usize,
    told: impl Fn(&str) -> String,
) -> String {
    let whole = |place: usize| {
        let texts = said.iter().filter(|(at, _)| *at == place);
        told(&texts.map(|(_, text)| text.as_str()).collect::<String>())
    };
    let mut stream = String::new();
    if fragment == usize::MAX {
        (0..2).for_each(|place| stream.push_str(&more(api, place, &whole(place))));
    } else {
        let mut said = said.to_vec();
        // Only choices are spoken at the same time.
        if !matches!(api, "chat" | "gemini-stream") {
            said.sort_by_key(|(place, _)| *place);
        }
        for (place, text) in &said {
            let chars: Vec<char> = text.chars().collect();
            for fragment in chars.chunks(fragment) {
                stream.push_str(&more(api, *place, &String::from_iter(fragment)));
            }
        }
    }
    if ends > 0 {
        (0..2).for_each(|place| stream.push_str(&end(api, place, &whole(place))));
    }
    if ends > 1 {
        stream.push_str("data: [DONE]\n\n");
    }
    stream
}
