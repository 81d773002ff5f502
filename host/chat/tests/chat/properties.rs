//! Whatever a file holds: no panic, no text in a report, calls and results in pairs.

use std::collections::HashSet;
use std::sync::Arc;

use leafgate_api::Api;
use leafgate_chat::redact::copies::KnownCopies;
use leafgate_chat::redact::{encoded, ranges};
use leafgate_chat::{CONVERTED, check, conversation, messages, raw_json, to_wire};
use leafgate_tree::{Author, Draft, Format, Redaction};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{exports, parse, recording};

/// Reads a file in every way that there is.
fn use_in_every_way(file: &Value) {
    let document = parse(&file.to_string(), Format::VscodeChat);
    let mut told = conversation(&document);
    let count = told.texts_mut().count();
    let told = serde_json::to_value(&told).unwrap();
    assert!(count >= told["turns"].as_array().unwrap().len() * 2);
    let _ = check(&document);
    if let Ok(read) = messages(&document, None) {
        raw_json(&read.messages).pretty().parse::<Value>().unwrap();
        for &api in CONVERTED {
            let mut losses = read.losses.clone();
            let body: Value = to_wire(&read.messages, api, &mut losses).unwrap().pretty().parse().unwrap();
            if api == Api::Chat && file.get("requests").is_some() {
                assert_paired(&body);
            }
        }
    }
    let document = Arc::new(document);
    let opened = encoded::redact(&document, |shadow| {
        let shown = parse(std::str::from_utf8(&shadow).unwrap(), Format::VscodeChat);
        Ok::<_, Box<dyn std::error::Error>>(Draft::new(Arc::new(shown)))
    });
    assert!(!opened.unwrap().is_dirty());
}

/// Every call has one result right behind its message, and every result its call.
fn assert_paired(body: &Value) {
    let mut open: Vec<&Value> = Vec::new();
    let mut seen = HashSet::new();
    for message in body["messages"].as_array().unwrap() {
        if let Some(id) = message.get("tool_call_id") {
            assert_eq!(open.remove(0), id);
            continue;
        }
        assert!(open.is_empty(), "a call without its result");
        open = message["tool_calls"].as_array().into_iter().flatten().map(|call| &call["id"]).collect();
        assert!(open.iter().all(|id| seen.insert(id.to_string())), "an id stands twice");
    }
    assert!(open.is_empty());
}

/// Values with the keys that the readers look for.
fn any_value() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("text".to_owned()),
        Just("thinking".to_owned()),
        Just("toolInvocationSerialized".to_owned()),
        Just("inlineReference".to_owned()),
        Just("a".to_owned()),
        Just("c__vscode-1".to_owned()),
        Just("{\"a\":1}".to_owned()),
        Just("6162636465666768696a6b6c6d6e6f7071".to_owned()),
        any::<String>(),
    ];
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..6).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "role",
        "content",
        "type",
        "text",
        "imageUrl",
        "url",
        "value",
        "toolCalls",
        "toolCallId",
        "id",
        "function",
        "name",
        "arguments",
        "kind",
        "uri",
        "range",
        "start",
        "endExclusive",
        "edits",
        "thinking",
        "node",
        "children",
        "ctor",
        "c",
        "a",
        "c__vscode-1",
        "encrypted",
        "location",
        "path",
        "scheme",
        "authority",
        "documentData",
        "mediaType",
        "data",
    ]);
    scalar.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..7).prop_map(|members| Value::Object(
                members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

fn object(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop::collection::vec(any_value(), keys.len()).prop_map(|values| {
        Value::Object(keys.iter().map(|key| (*key).to_owned()).zip(values).collect::<Map<_, _>>())
    })
}

fn any_export() -> impl Strategy<Value = Value> {
    let keys: &[&str] =
        &["message", "response", "result", "variableData", "modelState", "timestamp", "agent", "isHidden"];
    let call = (prop::sample::select(vec!["c", "c__vscode-1", "c__vscode-2"]), any_value());
    let rounds = prop::collection::vec(prop::collection::vec(call, 0..3), 0..3);
    let request = (object(keys), rounds, any_value()).prop_map(|(mut request, rounds, result)| {
        let call = |(id, arguments)| json!({ "id": id, "name": "f", "arguments": arguments });
        let round = |calls: Vec<_>| {
            json!({ "response": "r", "toolCalls": calls.into_iter().map(call).collect::<Vec<_>>() })
        };
        let rounds: Vec<_> = rounds.into_iter().map(round).collect();
        if !request["result"].is_object() {
            let results = json!({ "c": { "content": [result] }, "c__vscode-1": { "content": [] } });
            request["result"] = json!({ "metadata": { "toolCallRounds": rounds, "toolCallResults": results } });
        }
        request
    });
    prop::collection::vec(prop_oneof![4 => request, 1 => any_value()], 0..4)
        .prop_map(|requests| json!({ "responderUsername": "C", "requests": requests }))
}

/// A file without one of its values; the number chooses which.
fn without(value: &Value, at: &mut usize) -> Option<Value> {
    match value {
        Value::Object(members) => {
            let mut kept = Map::new();
            let mut changed = false;
            for (key, member) in members {
                if *at == 0 && !changed {
                    changed = true;
                    *at = usize::MAX;
                    continue;
                }
                *at = at.saturating_sub(usize::from(*at != usize::MAX));
                let inner = if changed || *at == usize::MAX { None } else { without(member, at) };
                changed |= inner.is_some();
                kept.insert(key.clone(), inner.unwrap_or_else(|| member.clone()));
            }
            changed.then_some(Value::Object(kept))
        }
        Value::Array(elements) => {
            let mut kept = Vec::new();
            let mut changed = false;
            for element in elements {
                if *at == 0 && !changed {
                    changed = true;
                    *at = usize::MAX;
                    continue;
                }
                *at = at.saturating_sub(usize::from(*at != usize::MAX));
                let inner = if changed || *at == usize::MAX { None } else { without(element, at) };
                changed |= inner.is_some();
                kept.push(inner.unwrap_or_else(|| element.clone()));
            }
            changed.then_some(Value::Array(kept))
        }
        _ => None,
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.values().map(|member| 1 + size(member)).sum(),
        Value::Array(elements) => elements.iter().map(|element| 1 + size(element)).sum(),
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_makes_it_panic(file in prop_oneof![
        any_value(),
        any_export(),
        prop::collection::vec(any_value(), 0..4).prop_map(|messages| json!({ "messages": messages })),
        prop::collection::vec(any_value(), 0..4).prop_map(|logs| json!({ "prompts": [{ "logs": logs }] })),
    ]) {
        use_in_every_way(&file);
    }

    #[test]
    fn no_text_of_a_file_is_in_a_loss_or_an_error(file in any_value()) {
        let mark = "\u{1f512}";
        let marked = mark_texts(&file, mark);
        for file in [marked.clone(), json!([marked]), json!({ "messages": [marked] }), json!({ "requests": [marked] })] {
            match messages(&parse(&file.to_string(), Format::Generic), None) {
                Err(error) => {
                    let shown = format!("{error} {error:?}");
                    prop_assert!(!shown.contains(mark));
                }
                Ok(read) => {
                    for &api in CONVERTED {
                        let mut losses = read.losses.clone();
                        let body = to_wire(&read.messages, api, &mut losses).unwrap();
                        let shown = format!("{losses:?} {body:?}");
                        prop_assert!(!shown.contains(mark));
                    }
                }
            }
        }
    }

    #[test]
    fn redaction_of_any_leaf_keeps_the_rest(file in any_export(), which in any::<prop::sample::Index>()) {
        let document = Arc::new(parse(&file.to_string(), Format::VscodeChat));
        let hidden = encoded::encoded(&document);
        let mut draft = Draft::new(Arc::clone(&document));
        let leaves: Vec<_> = document.leaves().map(|leaf| leaf.id()).collect();
        let node = leaves[which.index(leaves.len())];
        let length = draft.text(node).expose().len();
        let whole = Redaction::new(0..length, "X", "X_4711_X");
        let is_redacted = draft.redact(node, &[whole], &Author::rule("r")).is_ok();
        let mut known = KnownCopies::default();
        known.learn(&draft);
        known.redact(&mut draft, &hidden);
        ranges::follow(&mut draft).unwrap();
        let after: Value = serde_json::from_slice(&draft.render()).unwrap();
        prop_assert_eq!(size(&after), size(&file));
        prop_assert!(is_redacted || draft.render() == *document.source());
    }
}

fn mark_texts(value: &Value, mark: &str) -> Value {
    match value {
        Value::String(text) => Value::from(format!("{mark}{text}")),
        Value::Array(elements) => elements.iter().map(|element| mark_texts(element, mark)).collect(),
        Value::Object(members) => Value::Object(
            members.iter().map(|(key, member)| (key.clone(), mark_texts(member, mark))).collect(),
        ),
        scalar => scalar.clone(),
    }
}

/// Every recording without one of its values; which one is spread evenly over the file.
#[test]
fn recordings_that_lack_any_part_are_read_all_the_same() {
    let mut files: Vec<_> = exports().into_iter().map(|(_, text)| text).collect();
    files.extend(recording("raw-chatmessage/spec.chatreplay.json"));
    for file in files {
        let file: Value = serde_json::from_str(&file).unwrap();
        let size = size(&file);
        for cut in (0..size).step_by((size / 20).max(1)) {
            let mut at = cut;
            let less = without(&file, &mut at).expect("a place inside the file");
            use_in_every_way(&less);
        }
    }
}
