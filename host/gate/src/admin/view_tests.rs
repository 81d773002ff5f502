//! Whatever edits are made, in whatever order: what the view shows is what an independent parser reads from the bytes that would leave.

use std::collections::BTreeSet;
use std::sync::Arc;

use leafgate_admin::SectionView;
use leafgate_tree::{
    Author, Document, Draft, EditKind, Format, Limits, Redaction, ReleaseTerms, Role, SectionId,
};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::{history, sections};

const BODY: &str = r#"{"model":"m","temperature":0.5,"messages":[{"role":"system","content":"Be brief"},
{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two \"2\""}]},
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"run",
"arguments":"{\"command\":\"ls\",\"deep\":\"{\\\"path\\\":[\\\"a\\\",1]}\"}"}}]},
{"role":"tool","tool_call_id":"c1","content":"{\"rows\": [1, 2]}"},{"role":"user","content":"Go on"}]}"#;

const TEXTS: [&str; 6] =
    ["plain", "7", r#"{"command":"rm","more":[true,"x"]}"#, "[]", "", r#"{"a":"{\"b\":\"c\"}"}"#];

#[derive(Clone, Debug)]
enum Step {
    /// Any value, strings that spell documents included.
    Set(Index, Index),
    Delete(Index),
    Restore(Index),
    Insert(Index),
    Release(Index),
    Undo,
    Redo,
    Reset,
}

fn any_step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    prop_oneof![
        6 => (index(), index()).prop_map(|(node, text)| Step::Set(node, text)),
        2 => index().prop_map(Step::Delete),
        1 => index().prop_map(Step::Restore),
        2 => index().prop_map(Step::Insert),
        4 => index().prop_map(Step::Release),
        2 => Just(Step::Undo),
        1 => Just(Step::Redo),
        1 => Just(Step::Reset),
    ]
}

fn draft() -> Draft {
    let document = Document::parse(BODY.into(), Format::OpenaiChat, &Limits::default()).unwrap();
    Draft::new(Arc::new(document))
}

/// A deleted section and the one that took its place had one path.
#[test]
fn a_section_that_is_left_out_is_called_by_where_it_stood() {
    let mut draft = draft();
    let user = draft.document().messages().nth(1).unwrap();
    draft.delete(user, &Author::Person).unwrap();
    let paths: Vec<String> = sections(&draft, &[])
        .into_iter()
        .filter(|section| section.parent.is_none() && section.path.contains("essages["))
        .map(|section| section.path)
        .collect();
    assert_eq!(paths, ["messages[0]", "originalMessages[1]", "messages[1]", "messages[2]", "messages[3]"]);
}

/// The same with redactions: two that a person may release, one over two parts, one in an embedded document, and one for good.
fn redacted() -> Draft {
    let mut draft = draft();
    let rule = Author::rule("words");
    let mut redact = |pointer: &str, at: std::ops::Range<usize>, with: &str, terms: ReleaseTerms| {
        let node = draft.document().resolve(pointer).unwrap();
        let redaction = Redaction { terms, ..Redaction::new(at, "WORD", with) };
        draft.redact(node, &[redaction], &rule).unwrap();
        draft.new_finding()
    };
    let first = redact("/messages/0/content", 0..2, "WORD_1", ReleaseTerms::KEPT);
    let over = redact("/messages/4/content", 0..2, "WORD_2", ReleaseTerms::Releasable(first));
    redact("/messages/1/content/0/text", 1..3, "WORD_3", ReleaseTerms::Releasable(over));
    let inner = redact("/messages/1/content/1/text", 0..5, "", ReleaseTerms::Releasable(over));
    let path = "/messages/2/tool_calls/0/function/arguments/deep/path/0";
    redact(path, 0..1, "WORD_4", ReleaseTerms::Releasable(inner));
    draft
}

/// Makes a step; one that the draft refuses changes nothing.
fn take(draft: &mut Draft, step: &Step) {
    let document = Arc::clone(draft.document());
    let section = |index: &Index| SectionId::from_index(index.index(document.sections().len()));
    match step {
        Step::Set(node, text) => {
            let node = leafgate_tree::NodeId::from_index(node.index(document.node_count()));
            let _ = draft.set(node, TEXTS[text.index(TEXTS.len())], &Author::Person);
        }
        Step::Delete(index) => _ = draft.delete(section(index), &Author::Person),
        Step::Restore(index) => _ = draft.restore(section(index), &Author::Person),
        Step::Insert(index) => _ = draft.insert(section(index), Role::User, "put in", &Author::Person),
        Step::Release(index) => {
            let count = draft.redactions().count();
            if count > 0 {
                let _ = draft.release(index.index(count));
            }
        }
        Step::Undo => _ = draft.undo(),
        Step::Redo => _ = draft.redo(),
        Step::Reset => _ = draft.reset(),
    }
}

/// Every scalar of a body as `serde_json` reads it, by its path through embedded documents, but for those that are `shown` whole.
fn scalars(value: &Value, at: &str, shown: &dyn Fn(&str) -> bool, into: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                scalars(value, &format!("{at}/{key}"), shown, into);
            }
        }
        Value::Array(elements) => {
            for (index, value) in elements.iter().enumerate() {
                scalars(value, &format!("{at}/{index}"), shown, into);
            }
        }
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) if !shown(at) => {
                scalars(&inner, at, shown, into)
            }
            _ => into.push((at.to_owned(), text.clone())),
        },
        other => into.push((at.to_owned(), other.to_string())),
    }
}

/// What the view shows of each leaf that would leave, by its present pointer; and the messages that were put in.
fn shown(draft: &Draft, views: &[SectionView]) -> (Vec<(String, String)>, usize) {
    let kept = views.iter().filter(|section| !section.deleted);
    let mut put_in = 0;
    let mut leaves = Vec::new();
    for leaf in kept.flat_map(|section| &section.leaves) {
        if leaf.pointer.is_empty() || leaf.pointer.starts_with(SectionView::INSERTED) {
            put_in += 1;
            continue;
        }
        let node = draft.document().resolve(&leaf.pointer).unwrap();
        leaves.push((draft.pointer_now(node), leaf.text.expose().to_owned()));
    }
    (leaves, put_in)
}

proptest! {
    // S0-06, S0-35
    #[test]
    fn invariant_4_the_view_of_every_leaf_is_what_would_leave(
        steps in proptest::collection::vec(any_step(), 0..24),
        with_redactions in any::<bool>(),
    ) {
        let mut draft = if with_redactions { redacted() } else { draft() };
        for step in &steps {
            take(&mut draft, step);
            let body: Value = serde_json::from_slice(&draft.render()).unwrap();
            let views = sections(&draft, &[]);
            let (mut leaves, put_in) = shown(&draft, &views);
            let mut read = Vec::new();
            let whole = |at: &str| leaves.iter().any(|(pointer, _)| pointer == at);
            scalars(&body, "", &whole, &mut read);
            // A message that was put in has a role and a text, which no received leaf has.
            let mut new = 0;
            read.retain(|scalar| {
                let known = leaves.iter().any(|(pointer, _)| *pointer == scalar.0);
                new += usize::from(!known);
                known
            });
            prop_assert_eq!(new, 2 * put_in, "after {:?}", step);
            read.sort();
            leaves.sort();
            prop_assert_eq!(&leaves, &read, "after {:?}", step);
            let standing = draft.standing_edits().len();
            // Redactions have no version, and are told beside the edits.
            let told = history(&draft).into_iter().filter(|edit| edit.stands && edit.version > 0);
            prop_assert_eq!(told.count(), standing);
            if draft.render() == BODY {
                let written = draft.standing_edits().into_iter().filter(|edit| edit.kind != EditKind::Release);
                prop_assert_eq!(written.count(), 0, "nothing differs from what came");
            }
            // What was let go is marked where it stands, and what nobody may release never leaves.
            for leaf in views.iter().flat_map(|section| &section.leaves) {
                for span in &leaf.released {
                    prop_assert!(span.releasable && leaf.text.expose().get(span.start..span.end).is_some());
                }
            }
            if with_redactions {
                prop_assert!(!draft.render().windows(4).any(|bytes| bytes == b"Be b"), "after {:?}", step);
            }
        }
    }
}

// S0-35
#[test]
fn a_json_text_set_as_a_whole_is_shown_and_its_old_leaves_are_not() {
    let mut draft = draft();
    let arguments = "/messages/2/tool_calls/0/function/arguments";
    let node = draft.document().resolve(arguments).unwrap();
    draft.set(node, r#"{"command":"rm -rf"}"#, &Author::Person).unwrap();
    let views = sections(&draft, &[]);
    let leaves: Vec<_> = views.iter().flat_map(|section| &section.leaves).collect();
    let shown = leaves.iter().find(|leaf| leaf.pointer == arguments).unwrap();
    assert!(shown.changed && shown.text.expose() == r#"{"command":"rm -rf"}"#);
    assert!(!leaves.iter().any(|leaf| leaf.pointer.starts_with(&format!("{arguments}/"))));
    let inner = draft.document().resolve(&format!("{arguments}/command")).unwrap();
    assert_eq!(draft.set(inner, "ls", &Author::Person), Err(leafgate_tree::EditError::Covered));
}

// S0-37, S0-42
#[test]
fn after_undo_and_reset_no_edit_stands_and_after_a_deletion_paths_are_the_present_ones() {
    let mut draft = draft();
    let last = draft.document().resolve("/messages/4/content").unwrap();
    let message = |draft: &Draft, pointer: &str| {
        let node = draft.document().resolve(pointer).unwrap();
        let sections = draft.document().sections();
        SectionId::from_index(sections.iter().position(|section| section.node == node).unwrap())
    };
    draft.set(last, "Stop", &Author::Person).unwrap();
    let first = message(&draft, "/messages/1");
    draft.delete(first, &Author::Person).unwrap();
    let edits = history(&draft);
    assert!(edits.iter().all(|edit| edit.stands));
    assert_eq!((&*edits[0].path, &*edits[0].pointer), ("messages[3].content", "/messages/4/content"));
    let views = sections(&draft, &[]);
    let paths: BTreeSet<_> = views.iter().map(|section| &*section.path).collect();
    assert_eq!(paths.len(), views.len(), "each path names one section: {paths:?}");
    assert!(paths.contains("originalMessages[1]") && paths.contains("messages[1]"), "{paths:?}");
    draft.reset().unwrap();
    assert!(history(&draft).iter().all(|edit| !edit.stands));
    draft.undo().unwrap();
    assert_eq!(history(&draft).iter().filter(|edit| edit.stands).count(), 2);
}

#[test]
fn what_a_rule_pinned_is_shown_as_pinned_with_its_section() {
    let mut draft = draft();
    let node = draft.document().resolve("/messages/0/content").unwrap();
    draft.pin(node, &Author::rule("steady"));
    let views = sections(&draft, &[]);
    let pinned: Vec<_> =
        views.iter().filter(|section| section.pinned).map(|section| &*section.path).collect();
    assert_eq!(pinned, ["messages[0]"]);
    let leaves: Vec<_> =
        views.iter().flat_map(|section| &section.leaves).filter(|leaf| leaf.pinned).collect();
    assert_eq!(leaves.len(), 1);
}
