//! Strings that spell a document: what is shown of them is what leaves, whether they are set leaf by leaf or as a whole.

use crate::common::{any_json, chat, parse};
use leafgate_tree::{Author, Document, Draft, EditError, Format, Limits, NodeId, Redaction};
use proptest::prelude::*;
use proptest::sample::Index;

const BODY: &str = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"1","type":"function",
    "function":{"name":"f","arguments":"{\"path\":\"a.txt\",\"note\":\"{\\\"who\\\":\\\"ann\\\",\\\"n\\\":1}\"}"}}]},
    {"role":"tool","tool_call_id":"1","content":"42"}]}"#;
const ARGUMENTS: &str = "/messages/1/tool_calls/0/function/arguments";

fn node(draft: &Draft, pointer: &str) -> NodeId {
    draft.document().resolve(pointer).unwrap()
}

fn inner(draft: &Draft, path: &str) -> NodeId {
    node(draft, &format!("{ARGUMENTS}/{path}"))
}

fn redaction(at: std::ops::Range<usize>, label: &str, replacement: &str) -> Redaction {
    Redaction::new(at, label, replacement)
}

/// Where a leaf stands now, and what it says.
fn shown(draft: &Draft) -> Vec<(String, String)> {
    let stands = draft.leaves_now().filter(|&node| !draft.is_deleted(node));
    stands.map(|node| (draft.pointer_now(node), draft.text(node).expose().to_owned())).collect()
}

/// What is shown is what leaves, by a walk of the bytes that leave.
fn assert_shown_is_sent(draft: &Draft) {
    let sent = Document::parse(draft.render(), Format::Generic, &Limits::default()).unwrap();
    for (pointer, text) in shown(draft) {
        // A pointer that an object's double key makes ambiguous names no single text.
        let Ok(node) = sent.resolve(&pointer) else { continue };
        let value = sent.settable(node).unwrap_or_else(|| panic!("a container at {pointer}"));
        assert_eq!(value.text().expose(), text, "at {pointer}");
    }
}

#[test]
fn a_text_set_as_a_whole_stands_in_place_of_its_inner_leaves() {
    let mut draft = chat(BODY);
    let (whole, path) = (node(&draft, ARGUMENTS), inner(&draft, "path"));
    assert!(draft.leaves_now().any(|leaf| leaf == path) && draft.leaves_now().all(|leaf| leaf != whole));
    draft.set(whole, r#"{"path":"b.txt"}"#, &Author::Person).unwrap();
    assert!(draft.leaves_now().all(|leaf| leaf != path) && draft.leaves_now().any(|leaf| leaf == whole));
    assert!(draft.is_whole(whole) && draft.is_unwalked(whole));
    assert_eq!(draft.covered_by(path), Some(whole));
    assert_eq!(draft.covered_by(inner(&draft, "note/who")), Some(whole));
    let changed: Vec<_> = draft.changed_leaves().collect();
    assert_eq!(changed, [whole]);
    assert_shown_is_sent(&draft);

    let before = draft.render();
    for author in [Author::Person, Author::rule("r")] {
        assert_eq!(draft.set(path, "x", &author), Err(EditError::Covered));
    }
    assert_eq!(draft.redact(path, &[redaction(0..1, "X", "T")], &Author::rule("r")), Err(EditError::Covered));
    assert_eq!(draft.render(), before);

    draft.undo();
    assert_eq!(draft.covered_by(path), None);
    draft.set(path, "c.txt", &Author::Person).unwrap();
    assert!(draft.render().windows(5).any(|window| window == b"c.txt"));
}

#[test]
fn a_text_of_inner_leaves_says_what_they_say_now() {
    let mut draft = chat(BODY);
    let whole = node(&draft, ARGUMENTS);
    draft.set(inner(&draft, "note/who"), "bob \"B\"", &Author::Person).unwrap();
    draft.redact(inner(&draft, "path"), &[redaction(0..1, "FILE", "FILE_1")], &Author::rule("r")).unwrap();
    let text = r#"{"path":"FILE_1.txt","note":"{\"who\":\"bob \\\"B\\\"\",\"n\":1}"}"#;
    assert_eq!(draft.text(whole).expose(), text);
    assert_eq!(draft.redacted(whole).iter().map(|(at, _)| &text[at.clone()]).collect::<Vec<_>>(), ["FILE_1"]);
    assert_shown_is_sent(&draft);
    // One word of the whole is changed: the inner edits are in it, and stay when it is undone.
    let end = text.len();
    draft.splice(whole, vec![(end - 4..end - 3, "2".into())], &Author::Person).unwrap();
    assert_eq!(draft.text(whole).expose(), text.replace(":1}", ":2}"));
    assert_shown_is_sent(&draft);
    draft.undo();
    assert_eq!(draft.text(whole).expose(), text);
    draft.undo();
    assert!(draft.text(whole).expose().contains("ann"));
}

#[test]
fn what_was_redacted_in_an_inner_leaf_comes_back_by_no_view_of_the_whole() {
    let mut draft = chat(BODY);
    let whole = node(&draft, ARGUMENTS);
    draft
        .redact(inner(&draft, "note/who"), &[redaction(0..3, "NAME", "NAME_1")], &Author::rule("r"))
        .unwrap();
    let says = |text: &str| assert!(!text.contains("ann"), "{text}");
    draft.set(whole, r#"{"path":"b.txt"}"#, &Author::Person).unwrap();
    let mask = |label: &str| format!("<{label}>");
    let masked = draft.masked_original(whole, mask);
    assert!(masked.expose().contains("<NAME>"));
    says(masked.expose());
    let edit = draft.edits().next().unwrap();
    let (before, after) = draft.before_and_after(edit, mask).unwrap();
    says(before.expose());
    assert_eq!(after.expose(), r#"{"path":"b.txt"}"#);
    draft.undo();
    says(draft.text(whole).expose());
    // Redacting the whole keeps what inner redaction wrote.
    draft.redact(whole, &[redaction(1..7, "KEY", "k")], &Author::rule("r")).unwrap();
    says(draft.text(whole).expose());
    says(std::str::from_utf8(&draft.render()).unwrap());
}

#[test]
fn back_to_what_was_received_is_no_way_around_a_later_inner_edit() {
    let mut draft = chat(BODY);
    let whole = node(&draft, ARGUMENTS);
    let received = draft.text(whole).expose().to_owned();
    draft.set(inner(&draft, "path"), "x", &Author::Person).unwrap();
    draft.set(whole, &received, &Author::Person).unwrap();
    assert_eq!(draft.render(), BODY);
    assert_shown_is_sent(&draft);
    draft.undo();
    assert!(draft.text(whole).expose().contains(r#""path":"x""#));
}

#[test]
fn a_rule_writes_over_nothing_that_is_pinned_inside() {
    let mut draft = chat(BODY);
    let whole = node(&draft, ARGUMENTS);
    draft.pin(inner(&draft, "path"), &Author::rule("keep"));
    let refused = draft.set(whole, "{}", &Author::rule("other"));
    assert_eq!(refused, Err(EditError::Pinned { by: Author::rule("keep") }));
    assert!(draft.set(whole, "{}", &Author::Person).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// After any sequence of edits, what is shown for every leaf is what an independent reading of the bytes finds there.
    #[test]
    fn what_is_shown_of_every_leaf_is_what_leaves(
        body in any_json(),
        steps in proptest::collection::vec((0..7u8, any::<Index>(), "[a-z\"\\\\ é]{0,6}"), 1..12),
    ) {
        let outer = serde_json::json!({ "a": body, "b": [body, { "c": serde_json::json!([body, 1]).to_string() }] }).to_string();
        let mut draft = parse(outer.as_bytes(), Format::Generic);
        let document = draft.document().clone();
        let values: Vec<_> =
            (0..document.node_count()).map(NodeId::from_index).filter(|&node| document.settable(node).is_some()).collect();
        for (action, which, text) in steps {
            let value = values[which.index(values.len())];
            match action {
                0 => { draft.undo(); }
                1 => { draft.redo(); }
                2 => {
                    let length = draft.text(value).expose().len();
                    let _ = draft.redact(value, &[redaction(0..length, "X", "T")], &Author::rule("r"));
                }
                3 => { draft.reset(); }
                _ => { let _ = draft.set(value, &text, &Author::Person); }
            }
            assert_shown_is_sent(&draft);
        }
    }
}
