//! Requests to test on: generated JSON.

use std::sync::Arc;

use leafgate_tree::{Document, Draft, Format, Limits};
use proptest::prelude::*;

/// Reads a body as an OpenAI chat request.
pub(crate) fn chat(body: &str) -> Draft {
    parse(body.as_bytes(), Format::OpenaiChat)
}

/// Reads a body.
pub(crate) fn parse(body: &[u8], format: Format) -> Draft {
    Draft::new(Arc::new(
        Document::parse(body.to_vec().into(), format, &Limits::default()).expect("a JSON body"),
    ))
}

/// Any JSON text, in spellings that no serialiser would choose: odd spaces, escapes, numbers, duplicate keys, documents in strings.
pub(crate) fn any_json() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        prop_oneof![Just("0"), Just("-0.0"), Just("1e5"), Just("1.50"), Just("12345678901234567890.5E-3")]
            .prop_map(str::to_owned),
        any_string(),
    ];
    scalar.prop_recursive(5, 60, 6, |inner| {
        let space = prop_oneof![Just(""), Just(" "), Just("\n  "), Just("\t\r\n")];
        let array =
            (proptest::collection::vec(inner.clone(), 0..6), space.clone()).prop_map(|(items, space)| {
                format!("[{space}{}{space}]", items.join(&format!("{space},{space}")))
            });
        let key = prop_oneof![
            Just("\"role\"".to_owned()),
            Just("\"content\"".to_owned()),
            Just("\"a.b/c~\"".to_owned()),
            any_string()
        ];
        let object =
            (proptest::collection::vec((key, inner.clone()), 0..6), space).prop_map(|(members, space)| {
                let members: Vec<_> =
                    members.iter().map(|(key, value)| format!("{key}{space}:{value}")).collect();
                format!("{{{}{space}}}", members.join(&format!(",{space}")))
            });
        let embedded = inner.prop_map(|text| serde_json::to_string(&text).expect("a string"));
        prop_oneof![array, object, embedded]
    })
}

/// A JSON string in any spelling.
pub(crate) fn any_string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-zA-Z0-9 .,:/@{}\\[\\]_-]{1,12}".prop_map(|text| text),
        1 => Just("\\n".to_owned()),
        1 => Just("\\\"".to_owned()),
        1 => Just("\\\\".to_owned()),
        1 => Just("\\/".to_owned()),
        1 => Just("\\u0041".to_owned()),
        1 => Just("\\u00e9".to_owned()),
        1 => Just("\\ud83d\\ude00".to_owned()),
        1 => Just("\\udeaa".to_owned()),
        1 => Just("\\u0000".to_owned()),
        1 => Just("\u{2028}é😀".to_owned()),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}
