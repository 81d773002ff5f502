//! The events that an item stands for.

use serde_json::{Value, json};

use super::words::{List, asked, lists, spoken};
use crate::json::{Object, elements, text};

pub(super) fn item_events(at: usize, item: &Object, events: &mut Vec<Value>) {
    let mut begun = item.clone();
    for list in lists(text(item, "type")) {
        begun.insert(list.member.to_owned(), json!([]));
    }
    if let Some(asked) = asked(item) {
        begun.insert(asked.arguments.to_owned(), "".into());
    }
    if begun.contains_key("status") {
        begun.insert("status".to_owned(), "in_progress".into());
    }
    events.push(json!({ "type": "response.output_item.added", "output_index": at, "item": begun }));
    let id = text(item, "id");
    for list in lists(text(item, "type")) {
        for (index, part) in elements(item, list.member).iter().enumerate() {
            let event = |kind: String, mut event: Value| {
                event["type"] = kind.into();
                event["item_id"] = id.into();
                event["output_index"] = at.into();
                event[list.index] = index.into();
                event
            };
            part_events(list, part, event, events);
        }
    }
    if let Some(asked) = asked(item) {
        let words = text(item, asked.arguments);
        let common = |kind: &str, key: &str| json!({ "type": format!("{}.{kind}", asked.event), "item_id": id, "output_index": at, key: words });
        events.push(common("delta", "delta"));
        let mut done = common("done", asked.arguments);
        done["name"] = text(item, "name").into();
        events.push(done);
    }
    events.push(json!({ "type": "response.output_item.done", "output_index": at, "item": item }));
}

fn part_events(list: &List, part: &Value, event: impl Fn(String, Value) -> Value, events: &mut Vec<Value>) {
    let mut begun = part.clone();
    let texts = part.as_object().and_then(|part| Some((spoken(part)?, part)));
    if let Some((spoken, _)) = texts {
        begun[spoken.key] = "".into();
        if begun.get("annotations").is_some() {
            begun["annotations"] = json!([]);
        }
    }
    events.push(event(format!("{}.added", list.part), json!({ "part": begun })));
    if let Some((spoken, part)) = texts {
        let words = text(part, spoken.key);
        let mut delta = json!({ "delta": words });
        let mut done = json!({ spoken.key: words });
        if spoken.part == "output_text" {
            delta["logprobs"] = json!([]);
            done["logprobs"] = part.get("logprobs").cloned().unwrap_or_else(|| json!([]));
        }
        events.push(event(format!("{}.delta", spoken.event), delta));
        for (at, annotation) in elements(part, "annotations").iter().enumerate() {
            let kind = "response.output_text.annotation.added".to_owned();
            events.push(event(kind, json!({ "annotation_index": at, "annotation": annotation })));
        }
        events.push(event(format!("{}.done", spoken.event), done));
    }
    events.push(event(format!("{}.done", list.part), json!({ "part": part })));
}
