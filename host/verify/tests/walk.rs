//! The walk against an independent parser, on values of any form.

use leafgate_verify::walk::{self, PositionKind, Replacement};
use proptest::prelude::*;
use serde_json::Value;

fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(Value::from("[not a document")),
    ];
    scalar.prop_recursive(4, 40, 5, |inner| {
        let document = inner.clone().prop_map(|value| Value::from(value.to_string()));
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            document,
        ]
    })
}

/// Leaves and keys by recursion over what the parser made of the text.
fn count(value: &Value, level: usize) -> (usize, usize) {
    let sum = |inner: &mut dyn Iterator<Item = &Value>, keys: usize| {
        inner
            .map(|value| count(value, level))
            .fold((0, keys), |sum, (leaves, keys)| (sum.0 + leaves, sum.1 + keys))
    };
    match value {
        Value::Array(items) => sum(&mut items.iter(), 0),
        Value::Object(members) => sum(&mut members.values(), members.len()),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(inner @ (Value::Array(_) | Value::Object(_))) if level < walk::EMBEDDED_LEVELS => {
                count(&inner, level + 1)
            }
            _ => (1, 0),
        },
        _ => (1, 0),
    }
}

proptest! {
    #[test]
    fn the_walk_finds_what_a_parser_finds(value in any_value(), pretty: bool) {
        let body = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let positions = walk::positions(&body).unwrap();
        let leaves = positions.iter().filter(|position| position.what.is_leaf()).count();
        let keys = positions.iter().filter(|position| position.what == PositionKind::Key).count();
        prop_assert_eq!((leaves, keys), count(&value, 0));
        prop_assert_eq!(walk::rewrite(&body, &mut |_| None).unwrap(), body);
    }

    #[test]
    fn what_is_rewritten_everywhere_is_json_with_as_many_leaves(value in any_value(), new: String) {
        let body = value.to_string();
        let leaves = walk::positions(&body).unwrap().iter().filter(|position| position.what.is_leaf()).count();
        let text = format!("x{new}");
        let rewritten = walk::rewrite(&body, &mut |place| place.position.what.is_leaf().then(|| Replacement::Text(text.clone())));
        let rewritten: Value = serde_json::from_str(&rewritten.unwrap()).unwrap();
        prop_assert_eq!(count(&rewritten, 0).0, leaves);
    }

    #[test]
    fn the_walk_and_a_parser_agree_on_what_is_json(text in "[\\[\\]{}:,\"0-9.eE+\\-truefalsn \\\\u]{0,12}") {
        let ours = walk::positions(&text).is_ok();
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        prop_assert_eq!(ours, theirs.is_ok(), "{:?}", text);
    }
}
