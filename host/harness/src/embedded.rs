//! A document inside strings is edited as if it stood alone.

use std::sync::Arc;

use leafgate_tree::{Author, Draft, EditError, Format, ValueType};
use leafgate_verify::walk::EMBEDDED_LEVELS;

use crate::bodies::{align, entries, parse};
use crate::input::Input;

/// Puts a document into strings, one to four deep, makes the same edit inside and outside, takes the strings off again, and compares.
pub fn embedded(input: &[u8]) {
    let mut input = Input::new(input);
    let Some(alone) = parse(input.body, Format::Generic) else { return };
    let text = std::str::from_utf8(input.body).expect("JSON is UTF-8");
    if !text.trim_start().starts_with(['{', '[']) {
        return;
    }
    let levels = 1 + input.choose(EMBEDDED_LEVELS);
    let body = wrap(text, levels);
    let Some(inside) = parse(body.as_bytes(), Format::Generic) else { return };
    let (alone, inside) = (Arc::new(alone), Arc::new(inside));
    let (entries_alone, entries_inside) = (entries(text.as_bytes()), entries(body.as_bytes()));
    let aligned_alone = align(&alone, &entries_alone);
    let aligned_inside = align(&inside, &entries_inside);
    if aligned_alone.is_empty() {
        return;
    }
    for _ in 0..4 {
        let &(value, at) = &aligned_alone[input.choose(aligned_alone.len())];
        let mut wanted = entries_alone[at].position.clone();
        wanted.level += levels;
        wanted.pointer.insert_str(0, &"/0".repeat(levels));
        // Beyond the caps there is nothing to compare: the value is part of a text there.
        let twin = aligned_inside.iter().find(|(_, at)| {
            let found = &entries_inside[*at].position;
            (&found.pointer, found.occurrence, found.level)
                == (&wanted.pointer, wanted.occurrence, wanted.level)
        });
        if let Some((twin, _)) = twin {
            let new =
                if value.value_type() == ValueType::Text { input.text() } else { input.scalar().to_owned() };
            let (mut one, mut other) = (Draft::new(Arc::clone(&alone)), Draft::new(Arc::clone(&inside)));
            let results =
                (one.set(value.id(), &new, &Author::Person), other.set(twin.id(), &new, &Author::Person));
            // Inside a string nothing is signed: what a format says of a place holds for the body alone.
            let fixed = [&results.0, &results.1].contains(&&Err(EditError::Frozen));
            assert!(fixed || results.0 == results.1, "{results:?}");
            if fixed {
                continue;
            }
            assert_eq!(
                unwrap(&other.render(), levels).as_bytes(),
                &one.render()[..],
                "edited {} to {new:?}",
                wanted.pointer
            );
        }
        if !input.more() {
            break;
        }
    }
}

/// Puts a text into a string, that string into an array as its only element, and that array into a string again.
fn wrap(text: &str, levels: usize) -> String {
    (0..levels).fold(text.to_owned(), |inner, _| {
        let escaped: String = inner.chars().map(escaped).collect();
        format!("[\"{escaped}\"]")
    })
}

fn escaped(character: char) -> String {
    match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        control if control < ' ' => format!("\\u{:04x}", u32::from(control)),
        other => other.to_string(),
    }
}

/// Takes the strings off again.
fn unwrap(body: &[u8], levels: usize) -> String {
    let body = std::str::from_utf8(body).expect("rendered bodies are UTF-8");
    (0..levels).fold(body.to_owned(), |outer, _| {
        let entries = entries(outer.as_bytes());
        entries.into_iter().next().map_or_else(String::new, |entry| entry.text)
    })
}
