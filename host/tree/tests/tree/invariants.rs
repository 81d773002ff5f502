//! What the tree promises, as properties over generated JSON and over recordings. Each test bears the name of its invariant.

use crate::common::{any_json, chat, parse};
use leafgate_harness::recordings::{self, Recording};
use leafgate_tree::{
    Access, Author, Document, Draft, EditError, Format, Limits, NodeId, Redaction, SectionId, ValueType,
};
use leafgate_verify::walk::{self, PositionKind};
use proptest::prelude::*;
use proptest::sample::Index;

const RULE: fn() -> Author = || Author::rule("test");

/// A body to test on: generated, or recorded.
fn any_body() -> impl Strategy<Value = (Vec<u8>, Format)> {
    let generated = any_json().prop_map(|body| (body.into_bytes(), Format::Generic));
    let recorded = proptest::sample::select(recordings::all()).prop_map(|one| (one.body, one.format));
    prop_oneof![generated, recorded]
}

fn strings(draft: &Draft) -> Vec<NodeId> {
    let leaves = draft.document().leaves();
    leaves
        .filter(|leaf| leaf.value_type() == ValueType::Text && leaf.access() == Access::Open)
        .map(|leaf| leaf.id())
        .collect()
}

/// What a strict parser makes of a body, if it reads it at all: lone surrogates and depth aside, the body must stay JSON.
fn reparse(body: &[u8]) -> Document {
    Document::parse(body.to_vec().into(), Format::Generic, &Limits::default())
        .expect("rendered bodies are JSON")
}

/// The pointer and text of every leaf.
fn texts(document: &Document) -> Vec<(String, String)> {
    document.leaves().map(|leaf| (document.pointer(leaf.id()), leaf.text().into_cow().into_owned())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    // S0-12, S1-06
    #[test]
    fn invariant_1_untouched_is_identical((body, format) in any_body()) {
        let draft = parse(&body, format);
        prop_assert!(!draft.is_dirty());
        let rendered = draft.render();
        prop_assert_eq!(&rendered[..], &body[..]);
        prop_assert_eq!(rendered.as_ptr(), draft.document().source().as_ptr(), "the buffer itself, not a copy");
    }

    // S0-03, S0-38
    #[test]
    fn invariant_2_one_leaf_one_change((body, format) in any_body(), which: Index, new in "\\PC{0,20}|[\"\\\\\n\u{0}é😀]{0,6}") {
        let mut draft = parse(&body, format);
        let leaves = strings(&draft);
        prop_assume!(!leaves.is_empty());
        let leaf = leaves[which.index(leaves.len())];
        let before = texts(draft.document());
        let pointer = draft.document().pointer(leaf);
        let changed = draft.set(leaf, &new, &Author::Person).unwrap().is_some();
        let rendered = draft.render();
        let old_text = draft.document().leaf(leaf).unwrap().text().into_cow().into_owned();
        prop_assert_eq!(changed, old_text != new);

        // Every byte outside the value (or the outermost string that its document lies in) is the same.
        let span = draft.document().body_span(leaf);
        prop_assert_eq!(&rendered[..span.start], &body[..span.start]);
        prop_assert_eq!(&rendered[rendered.len() - (body.len() - span.end)..], &body[span.end..]);

        // Read again, the same leaves stand at the same pointers, and only this one has another text. (A text that happens to spell a
        // document opens up; then its own leaves replace it. So does one for which there was no room before.)
        let after = texts(&reparse(&rendered));
        let ambiguous = draft.document().resolve(&pointer).is_err();
        let is_closed = |texts: &[(String, String)]| texts.iter().any(|(_, text)| is_document(text));
        if !looks_like_document(&new) && !ambiguous && !is_closed(&before) && !is_closed(&after) {
            let expected: Vec<_> = before.into_iter().map(|(at, text)| if at == pointer { (at, new.clone()) } else { (at, text) }).collect();
            prop_assert_eq!(after, expected);
        }
    }

    #[test]
    fn invariant_2_one_redaction_changes_its_span_alone((body, format) in any_body(), which: Index, from: Index, to: Index) {
        let mut draft = parse(&body, format);
        let leaves = strings(&draft);
        prop_assume!(!leaves.is_empty());
        let leaf = leaves[which.index(leaves.len())];
        let text = draft.text(leaf).expose().to_owned();
        let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let (a, b) = (boundaries[from.index(boundaries.len())], boundaries[to.index(boundaries.len())]);
        let at = a.min(b)..a.max(b);
        let redaction = Redaction::new(at.clone(), "X", "TOKEN");
        draft.redact(leaf, &[redaction], &RULE()).unwrap();
        let expected = format!("{}TOKEN{}", &text[..at.start], &text[at.end..]);
        let now = draft.text(leaf).into_cow().into_owned();
        prop_assert_eq!(&now, &expected);
        let rendered = draft.render();
        // What the token took the place of is one stretch of the body: its spelling decodes to the span, everything else stands.
        // A request may speak of a TOKEN itself, so each of them is tried.
        let removed = body.len() + 5 - rendered.len();
        let mut tokens = (0..rendered.len()).filter(|&at| rendered[at..].starts_with(b"TOKEN"));
        prop_assert!(tokens.any(|at| body[..at] == rendered[..at] && body[at + removed..] == rendered[at + 5..]));
        let after = reparse(&rendered);
        let pointer = draft.document().pointer(leaf);
        if let Ok(node) = after.resolve(&pointer)
            && let Some(leaf) = after.leaf(node)
        {
            let text = leaf.text();
            prop_assert_eq!(text.expose(), &expected);
        }
    }

    // S0-26
    #[test]
    fn invariant_3_every_scalar_and_key_is_seen_in_every_format((body, _) in any_body()) {
        let walked = walked(&body);
        for &format in Format::ALL {
            let draft = parse(&body, format);
            let document = draft.document();
            prop_assert!(document.leaves().all(|leaf| leaf.section().is_some()), "{}: a leaf of no section", format);
            // Beyond the caps a text stands for what it spells.
            if !document.leaves().any(|leaf| leaf.beyond_caps()) {
                prop_assert_eq!((document.leaves().count(), document.keys().count()), walked, "{}", format);
            }
        }
    }

    // S0-32, S0-33
    #[test]
    fn invariant_11_undo_is_exact((body, format) in any_body(), steps in proptest::collection::vec((any::<Index>(), 0..6u8, "[a-z]{0,8}"), 1..20)) {
        let mut draft = parse(&body, format);
        let leaves = strings(&draft);
        prop_assume!(!leaves.is_empty());
        let sections = draft.document().sections().len();
        // Bodies by the number of edits in force, for walking back; the last version seen, which must only grow.
        let mut history = vec![draft.render()];
        let mut last = 0;
        for (which, action, text) in steps {
            let leaf = leaves[which.index(leaves.len())];
            let version = match action {
                0 => { let v = draft.undo(); if v.is_some() { history.pop(); } v }
                1 if sections > 0 => draft.delete(SectionId::from_index(which.index(sections)), &Author::Person).ok(),
                2 if sections > 0 => draft.restore(SectionId::from_index(which.index(sections)), &Author::Person).ok(),
                3 => draft.reset(),
                _ => draft.set(leaf, &text, &Author::Person).ok().flatten(),
            };
            if let Some(version) = version {
                prop_assert!(version > last);
                last = version;
                if action != 0 { history.push(draft.render()); }
            }
            prop_assert_eq!(&draft.render(), history.last().unwrap());
        }
        let end = draft.render();
        let mut undone = 0;
        while draft.undo().is_some() {
            undone += 1;
            history.pop();
            prop_assert_eq!(&draft.render(), history.last().unwrap());
        }
        prop_assert_eq!(&draft.render()[..], &body[..]);
        prop_assert!(!draft.is_dirty());
        for _ in 0..undone { draft.redo(); }
        prop_assert_eq!(draft.render(), end);
    }

    // S0-42
    #[test]
    fn invariant_11_redactions_survive_undo_and_reset((body, format) in any_body(), which: Index, text in "[a-z ]{1,12}") {
        let mut draft = parse(&body, format);
        let leaves: Vec<_> = strings(&draft).into_iter().filter(|&leaf| !draft.text(leaf).expose().is_empty()).collect();
        prop_assume!(!leaves.is_empty());
        let leaf = leaves[which.index(leaves.len())];
        let length = draft.text(leaf).expose().len();
        draft.redact(leaf, &[Redaction::new(0..length, "X", "T")], &RULE()).unwrap();
        let redacted = draft.render();
        draft.set(leaf, &text, &Author::Person).unwrap();
        draft.undo();
        prop_assert_eq!(draft.render(), redacted.clone());
        draft.redo();
        draft.reset();
        prop_assert_eq!(draft.render(), redacted);
        let masked = draft.masked_original(leaf, |label| format!("<{label}>"));
        prop_assert_eq!(masked.expose(), "<X>");
    }

    #[test]
    fn invariant_10_pins_stop_rules_but_no_redaction((body, format) in any_body(), which: Index) {
        let mut draft = parse(&body, format);
        let leaves = strings(&draft);
        prop_assume!(!leaves.is_empty());
        let leaf = leaves[which.index(leaves.len())];
        draft.pin(draft.document().root(), &RULE());
        let refused = draft.set(leaf, "other", &Author::rule("later"));
        prop_assert_eq!(refused, Err(EditError::Pinned { by: RULE() }));
        prop_assert!(!draft.is_dirty());
        let length = draft.text(leaf).expose().len();
        draft.redact(leaf, &[Redaction::new(0..length, "X", "T")], &RULE()).unwrap();
        let now = draft.text(leaf);
        prop_assert_eq!(now.expose(), "T");
    }

    #[test]
    fn arbitrary_bytes_never_panic(body: Vec<u8>) {
        let source = bytes::Bytes::from(body.clone());
        let parsed = Document::parse(source.clone(), Format::OpenaiChat, &Limits::default()).is_ok();
        // What serde_json reads, this reads; the other way round lone surrogates and the byte order mark make the difference.
        if serde_json::from_slice::<serde_json::Value>(&body).is_ok() {
            prop_assert!(parsed);
        }
        let raw = Draft::new(std::sync::Arc::new(Document::raw(source)));
        prop_assert_eq!(&raw.render()[..], &body[..]);
    }

    #[test]
    fn accepts_what_serde_json_accepts(body in any_json()) {
        let ours = Document::parse(body.clone().into(), Format::Generic, &Limits::default()).is_ok();
        prop_assert!(ours);
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(&body) {
            let document = reparse(body.as_bytes());
            // Last wins there, every member counts here.
            prop_assert!(document.node_count() >= count(&value));
        }
        for cut in (1..body.len()).filter(|&cut| body.is_char_boundary(cut)) {
            let ours = Document::parse(body[..cut].to_owned().into(), Format::Generic, &Limits::default()).is_ok();
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&body[..cut]).is_ok();
            prop_assert_eq!(ours, theirs, "cut at {}", cut);
        }
    }
}

/// How many scalars and keys a walk that shares no code with the tree finds in a body.
fn walked(body: &[u8]) -> (usize, usize) {
    let (mut leaves, mut keys) = (0, 0);
    walk::rewrite(std::str::from_utf8(body).expect("JSON is UTF-8"), &mut |place| {
        leaves += usize::from(place.position.what.is_leaf());
        keys += usize::from(place.position.what == PositionKind::Key);
        None
    })
    .expect("a JSON body");
    (leaves, keys)
}

fn count(value: &serde_json::Value) -> usize {
    1 + match value {
        serde_json::Value::Array(items) => items.iter().map(count).sum(),
        serde_json::Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// Whether a leaf's text is a document that was not read as one: those of a body have a limit together.
fn is_document(text: &str) -> bool {
    looks_like_document(text) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn looks_like_document(text: &str) -> bool {
    matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'['))
}

// S0-38, S0-39, S1-13, S1-18
#[test]
fn invariant_2_every_editable_leaf_of_every_recording_edits_alone() {
    for Recording { name, body, format } in recordings::all() {
        let mut draft = parse(&body, format);
        let before = texts(draft.document());
        let leaves = strings(&draft);
        // Every leaf of a request; of exports with megabytes of them a sample, spread evenly.
        let step = (body.len() * leaves.len() / 6_000_000).max(1);
        for leaf in leaves.into_iter().step_by(step) {
            let pointer = draft.document().pointer(leaf);
            draft.set(leaf, "edited \"here\" \\ \n", &RULE()).unwrap();
            let after = texts(&reparse(&draft.render()));
            assert_eq!(before.len(), after.len(), "{name}");
            let different: Vec<_> =
                before.iter().zip(&after).filter(|(a, b)| a != b).map(|(a, _)| a.0.clone()).collect();
            assert_eq!(different, [pointer], "{name}");
            draft.undo();
            assert_eq!(draft.render(), &body[..], "{name}");
        }
    }
}

#[test]
fn invariant_12_deletions_leave_no_call_without_its_result_or_are_refused() {
    for Recording { name, body, format } in recordings::all() {
        let mut draft = parse(&body, format);
        for at in 0..draft.document().sections().len() {
            if draft.delete(SectionId::from_index(at), &Author::Person).is_ok() {
                let rendered = draft.render();
                assert!(reparse(&rendered).node_count() < draft.document().node_count(), "{name}");
                if draft.validate().is_ok() {
                    assert_eq!(dangling_calls(&rendered), dangling_calls(&body), "{name}, section {at}");
                }
                draft.undo();
                assert_eq!(draft.render(), &body[..], "{name}");
            }
        }
    }
}

/// Calls without results and results without calls, counted by a parser that shares nothing with the tree. Ids may repeat.
fn dangling_calls(body: &[u8]) -> usize {
    fn walk(value: &serde_json::Value, calls: &mut Vec<String>, results: &mut Vec<String>) {
        match value {
            serde_json::Value::Array(items) => items.iter().for_each(|item| walk(item, calls, results)),
            serde_json::Value::Object(members) => {
                let kind = members.get("type").and_then(|kind| kind.as_str()).unwrap_or_default();
                let id = |key: &str| members.get(key).map(ToString::to_string).unwrap_or_default();
                match kind {
                    "function" if members.get("function").is_some_and(|f| f.get("arguments").is_some()) => {
                        calls.push(id("id"))
                    }
                    "function_call" => calls.push(id("call_id")),
                    "tool_use" => calls.push(id("id")),
                    "function_call_output" => results.push(id("call_id")),
                    "tool_result" => results.push(id("tool_use_id")),
                    _ if members.get("role").is_some_and(|role| role == "tool") => {
                        results.push(id("tool_call_id"))
                    }
                    _ if members.get("role").is_some_and(|role| role == 3) => results.push(id("toolCallId")),
                    _ => {}
                }
                for (key, member) in members {
                    let named = || member.get("id").or(member.get("name")).map(ToString::to_string);
                    match &**key {
                        "functionCall" | "function_call" if member.get("args").is_some() => {
                            calls.extend(named())
                        }
                        "functionResponse" | "function_response" => results.extend(named()),
                        _ => {}
                    }
                }
                members.values().for_each(|member| walk(member, calls, results));
            }
            _ => {}
        }
    }
    let value: serde_json::Value = serde_json::from_slice(body).expect("a JSON body");
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    walk(&value, &mut calls, &mut results);
    let unpaired = results.iter().filter(|result| match calls.iter().position(|call| call == *result) {
        Some(at) => {
            calls.remove(at);
            false
        }
        None => true,
    });
    unpaired.count() + calls.len()
}

// S0-25, S1-09
#[test]
fn invariant_12_deleting_one_side_of_an_exchange_deletes_the_other() {
    let body = r#"{"messages":[{"role":"user","content":"a"},
        {"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"1","content":"x"}, {"role":"tool","tool_call_id":"2","content":"y"},
        {"role":"user","content":"b"}]}"#;
    let mut draft = chat(body);
    let result =
        draft.document().section_of(draft.document().resolve("/messages/3/content").unwrap()).unwrap();
    draft.delete(result, &RULE()).unwrap();
    let left: serde_json::Value = serde_json::from_slice(&draft.render()).unwrap();
    let left: Vec<_> =
        left["messages"].as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(left, ["a", "b"]);
    assert_eq!(draft.validate(), Ok(()));
    assert_eq!(
        draft.pointer_now(draft.document().resolve("/messages/4/content").unwrap()),
        "/messages/1/content"
    );
    let last = draft.document().resolve("/messages/4/content").unwrap();
    assert_eq!(draft.display_path_now(last), "messages[1].content");
    draft.restore(result, &RULE()).unwrap();
    assert_eq!(draft.display_path_now(last), "messages[4].content");
    assert_eq!(draft.render(), body);
}

#[test]
fn invariant_12_what_is_signed_or_encrypted_is_edited_by_nobody() {
    let mut frozen = 0;
    for Recording { name, body, format } in recordings::all() {
        let mut draft = parse(&body, format);
        let document = draft.document().clone();
        for leaf in document.leaves().filter(|leaf| leaf.access() == Access::Frozen) {
            frozen += 1;
            let redaction = Redaction::new(0..0, "X", "T");
            assert_eq!(draft.set(leaf.id(), "other", &Author::Person), Err(EditError::Frozen), "{name}");
            assert_eq!(draft.redact(leaf.id(), &[redaction], &RULE()), Err(EditError::Frozen), "{name}");
        }
        assert!(!draft.is_dirty(), "{name}");
    }
    assert!(frozen > 0, "the examples hold a signed thought");
}
