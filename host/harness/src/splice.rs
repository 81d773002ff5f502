//! An edit changes its own value and nothing else.

use std::sync::Arc;

use leafgate_tree::{Author, Document, Draft, EditError, Format, Leaf, ValueType};
use leafgate_verify::walk::PositionKind;

use crate::bodies::{Entry, align, behind, entries, parse};
use crate::input::Input;

/// Arbitrary edits, one value after another in a draft of its own: the bytes outside the value stay, the text is what was written,
/// and read again by the independent walk every other position has the text it had.
pub fn splice(input: &[u8]) {
    let mut input = Input::new(input);
    let Some(document) = parse(input.body, Format::Generic) else { return };
    let document = Arc::new(document);
    let entries = entries(input.body);
    let aligned = align(&document, &entries);
    if aligned.is_empty() {
        return;
    }
    for _ in 0..8 {
        let &(value, at) = &aligned[input.choose(aligned.len())];
        edit(&mut input, &document, value, &entries, at);
        if !input.more() {
            break;
        }
    }
}

fn edit(input: &mut Input<'_>, document: &Arc<Document>, value: Leaf<'_>, entries: &[Entry], at: usize) {
    let mut draft = Draft::new(Arc::clone(document));
    let node = value.id();
    let text = value.text().into_cow().into_owned();
    let edits = if value.value_type() == ValueType::Text {
        edits(input, &text)
    } else {
        vec![(0..text.len(), input.scalar().to_owned())]
    };
    let expected = spliced(&text, &edits);
    match draft.splice(node, edits, &Author::Person) {
        Ok(None) => assert_eq!(expected, text),
        Ok(Some(_)) => {}
        Err(EditError::Frozen | EditError::Opaque) => return,
        Err(error) => panic!("{error} at {}", document.pointer(node)),
    }
    assert_eq!(draft.text(node).expose(), expected);
    let rendered = draft.render();
    if expected == text {
        assert_eq!(rendered, document.source(), "an edit that changes nothing");
    }
    let (body, span) = (document.source(), document.body_span(node));
    let tail = body.len() - span.end;
    assert_eq!(&rendered[..span.start], &body[..span.start], "before the value");
    assert_eq!(&rendered[rendered.len() - tail..], &body[span.end..], "behind the value");
    read_again(&rendered, entries, at, &expected);
    draft.undo();
    assert_eq!(draft.render(), body, "undone");
}

/// Up to two replacements in a text, in order.
fn edits(input: &mut Input<'_>, text: &str) -> Vec<(std::ops::Range<usize>, String)> {
    let first = input.range(text);
    let rest = input.range(&text[first.end..]);
    let second = rest.start + first.end..rest.end + first.end;
    let mut edits = vec![(first, input.text())];
    if input.more() {
        edits.push((second, input.text()));
    }
    edits
}

fn spliced(text: &str, edits: &[(std::ops::Range<usize>, String)]) -> String {
    let mut new = String::new();
    let mut at = 0;
    for (range, with) in edits {
        new.push_str(&text[at..range.start]);
        new.push_str(with);
        at = range.end;
    }
    new + &text[at..]
}

/// Compares all positions but the edited one, whose own may be others now: a text may have become a document, or ceased to be one.
fn read_again(rendered: &[u8], before: &[Entry], at: usize, expected: &str) {
    let after = entries(rendered);
    let rest = before.len() - behind(before, at);
    assert!(after.len() > at + rest, "positions are gone");
    let same = |old: &[Entry], new: &[Entry]| {
        for (old, new) in old.iter().zip(new) {
            // Of keys that stand twice the occurrence counts those before: it moves where a document opened or closed.
            let place =
                |entry: &Entry| (entry.position.pointer.clone(), entry.position.what, entry.position.level);
            assert_eq!(place(old), place(new));
            // The strings around the value hold its new text.
            assert!(
                old.position.what == PositionKind::Document || old.text == new.text,
                "changed {}",
                old.position.pointer
            );
        }
    };
    same(&before[..at], &after[..at]);
    same(&before[before.len() - rest..], &after[after.len() - rest..]);
    assert_eq!(before[at].position.pointer, after[at].position.pointer);
    // Halves of a surrogate pair that meet where something between them went are one character now, as in any language whose strings
    // are UTF-16.
    let is_lone = |text: &str| text.contains(char::REPLACEMENT_CHARACTER);
    assert!(
        after[at].text == expected || is_lone(expected) && before[at].text != expected,
        "the edited text"
    );
}
