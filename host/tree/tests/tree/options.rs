//! Members of the body: put in, replaced, left out with the tools, and the model.

use crate::common::{chat, parse};
use leafgate_harness::recordings;
use leafgate_tree::{Author, Document, Draft, EditError, Format, Limits, Origin, PutOption, Replay};
use serde_json::{Value, json};

const BODY: &str = r#"{ "model" : "a", "messages":[{"role":"user","content":"q"}], "n" : 1.0, "stop":["x"] , "tool_choice":"auto",
 "tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}], "parallel_tool_calls":true }"#;

fn rule() -> Author {
    Author::rule("options")
}

fn rendered(draft: &Draft) -> String {
    String::from_utf8(draft.render().to_vec()).unwrap()
}

fn value(draft: &Draft) -> Value {
    serde_json::from_str(&rendered(draft)).unwrap()
}

#[test]
fn an_absent_member_stands_behind_the_last_one() {
    let mut draft = chat(BODY);
    draft.put_option("temperature", &json!(0.2), &rule()).unwrap().unwrap();
    draft.put_option("metadata", &json!({ "team": "a\"b" }), &rule()).unwrap().unwrap();
    assert!(draft.is_dirty());
    let put = r#""parallel_tool_calls":true,"temperature":0.2,"metadata":{"team":"a\"b"} }"#;
    assert!(rendered(&draft).ends_with(put), "{}", rendered(&draft));
    assert_eq!(draft.put_option("temperature", &json!(0.2), &rule()), Ok(None), "it stands already");
    draft.put_option("temperature", &json!(0.5), &rule()).unwrap().unwrap();
    assert_eq!(value(&draft)["temperature"], json!(0.5));
    assert_eq!(rendered(&draft).matches("temperature").count(), 1);
    for _ in 0..3 {
        draft.undo().unwrap();
    }
    assert_eq!(rendered(&draft), BODY);
    draft.redo().unwrap();
    draft.redo().unwrap();
    draft.reset().unwrap();
    assert_eq!(rendered(&draft), BODY);
}

#[test]
fn an_object_without_members_gets_its_first() {
    let mut draft = parse(b"{ }", Format::Generic);
    draft.put_option("a", &json!(null), &rule()).unwrap().unwrap();
    draft.put_option("b", &json!("x"), &rule()).unwrap().unwrap();
    assert_eq!(rendered(&draft), r#"{"a":null,"b":"x" }"#);
    let mut list = parse(b"[1]", Format::Generic);
    assert!(matches!(list.put_option("a", &json!(1), &rule()), Err(EditError::NotInsertable(_))));
}

#[test]
fn what_stands_there_is_edited_where_its_type_stays_and_replaced_where_not() {
    let mut draft = chat(BODY);
    draft.put_option("n", &json!(2), &rule()).unwrap().unwrap();
    assert_eq!(rendered(&draft), BODY.replace("1.0", "2"));
    assert_eq!(draft.put_option("stop", &json!(["x"]), &rule()), Ok(None));
    draft.put_option("stop", &json!("y"), &rule()).unwrap().unwrap();
    assert_eq!(value(&draft)["stop"], "y");
    assert_eq!(rendered(&draft).matches("stop").count(), 1);
    draft.put_option("stop", &json!(["z"]), &rule()).unwrap().unwrap();
    assert_eq!(value(&draft)["stop"], json!(["z"]));
    // What the second edit took away is gone still, though its own value was replaced.
    assert_eq!((draft.standing_edits().len(), draft.options().count()), (3, 1));
    draft.undo().unwrap();
    draft.undo().unwrap();
    assert_eq!(rendered(&draft), BODY.replace("1.0", "2"));
}

const NESTED: &str = r#"{"model":"a","messages":[{"role":"user","content":"q"}], "text" : { "format": {"type":"text"},
 "verbosity" : "low" },"reasoning":{ },"note":"x","none":null,"reasoning.effort":"kept"}"#;

#[test]
fn a_dotted_key_sets_a_member_of_an_object_and_keeps_the_others() {
    let mut draft = chat(NESTED);
    draft.put_option("text.verbosity", &json!("high"), &rule()).unwrap().unwrap();
    assert_eq!(rendered(&draft), NESTED.replace("low", "high"));
    draft.put_option("text.verbosity", &json!(1), &rule()).unwrap().unwrap();
    draft.put_option("text.format.strict", &json!(true), &rule()).unwrap().unwrap();
    draft.put_option("reasoning.effort", &json!("high"), &rule()).unwrap().unwrap();
    draft.put_option("reasoning.summary", &json!("auto"), &rule()).unwrap().unwrap();
    draft.put_option("new.a.b", &json!(1), &rule()).unwrap().unwrap();
    draft.put_option("new.a.c", &json!(2), &rule()).unwrap().unwrap();
    draft.put_option("none.x", &json!(3), &rule()).unwrap().unwrap();
    let wanted = NESTED
        .replace(r#"{"type":"text"}"#, r#"{"type":"text","strict":true}"#)
        .replace(",\n \"verbosity\" : \"low\" }", r#","verbosity":1 }"#)
        .replace("{ }", r#"{"effort":"high","summary":"auto" }"#)
        .replace(r#""none":null,"#, "")
        .replace(r#""kept"}"#, r#""kept","new":{"a":{"b":1,"c":2}},"none":{"x":3}}"#);
    assert_eq!(rendered(&draft), wanted);
    assert_eq!(draft.put_option("reasoning.effort", &json!("high"), &rule()), Ok(None));
    assert_eq!(draft.put_option("new.a.b", &json!(1), &rule()), Ok(None));
    let pointers: Vec<String> = draft.options().map(PutOption::pointer).collect();
    assert_eq!(
        pointers,
        [
            "/text/verbosity",
            "/text/format/strict",
            "/reasoning/effort",
            "/reasoning/summary",
            "/new",
            "/none"
        ]
    );
    let reread = draft.reread(&Limits::default()).unwrap();
    for (pointer, within) in [("/reasoning/summary", "/reasoning"), ("/text/format/strict", "/text/format")] {
        let node = reread.document().resolve(pointer).unwrap();
        let received = draft.document().resolve(within).unwrap();
        assert_eq!(reread.origin(node), Origin::Within(received), "{pointer}");
    }
    let record: Vec<String> = draft
        .operations(str::to_owned)
        .iter()
        .map(|operation| serde_json::to_string(operation).unwrap())
        .collect();
    let mut again = chat(NESTED);
    let mut replay = Replay::parse(&record.join("\n")).unwrap();
    while replay.step(&mut again) {}
    assert!(replay.into_misfits().is_empty());
    assert_eq!(rendered(&again), rendered(&draft));
    while draft.undo().is_some() {}
    assert_eq!(rendered(&draft), NESTED);
}

#[test]
fn an_object_that_is_replaced_takes_along_what_was_put_into_it() {
    let mut draft = chat(NESTED);
    draft.put_option("text.format.strict", &json!(true), &rule()).unwrap().unwrap();
    assert!(draft.put_option("text.format", &json!({ "type": "text" }), &rule()).unwrap().is_some());
    assert_eq!(value(&draft)["text"], json!({ "format": { "type": "text" }, "verbosity": "low" }));
    assert_eq!(draft.options().count(), 1);
    draft.undo().unwrap();
    assert_eq!(value(&draft)["text"]["format"]["strict"], true);
    draft.put_option("text", &json!(1), &rule()).unwrap().unwrap();
    assert_eq!(value(&draft)["text"], 1);
    assert_eq!(
        draft.put_option("text.verbosity", &json!("x"), &rule()).unwrap_err().to_string(),
        EditError::NotInsertable("what stands on the way to the option is no object").to_string()
    );
}

#[test]
fn what_stands_on_the_way_to_an_option_must_be_one_object() {
    let twice = NESTED.replace(r#""note":"x""#, r#""reasoning":{}"#);
    for (body, key) in [(NESTED, "note.x"), (NESTED, "messages.x"), (twice.as_str(), "reasoning.effort")] {
        let mut draft = chat(body);
        let refused = draft.put_option(key, &json!("y"), &rule());
        assert!(matches!(refused, Err(EditError::NotInsertable(_))), "{key}: {refused:?}");
        assert_eq!(rendered(&draft), body);
    }
    let mut chosen = chat(&BODY.replace(r#""auto""#, r#"{"type":"function"}"#));
    assert_eq!(chosen.put_option("tool_choice.x", &json!(1), &rule()), Err(EditError::Protected));
    let mut gemini = parse(
        br#"{"systemInstruction":{"parts":[{"text":"a"}]},"contents":[{"parts":[{"text":"q"}]}]}"#,
        Format::Gemini,
    );
    let refused = gemini.put_option("systemInstruction.role", &json!("x"), &rule());
    assert!(matches!(refused, Err(EditError::NotInsertable(_))), "{refused:?}");
}

#[test]
fn members_that_mean_the_request_itself_are_refused() {
    let mut draft = chat(BODY);
    assert_eq!(draft.put_option("model", &json!("b"), &rule()), Err(EditError::Protected));
    assert_eq!(draft.put_option("messages", &json!([]), &rule()), Err(EditError::NotDeletable));
    assert_eq!(draft.put_option("tool_choice", &json!({}), &rule()), Err(EditError::Protected));
    let stop = draft.document().resolve("/stop/0").unwrap();
    draft.pin(stop, &Author::rule("pins"));
    assert!(matches!(draft.put_option("stop", &json!("y"), &rule()), Err(EditError::Pinned { .. })));
    assert_eq!(rendered(&draft), BODY);
}

#[test]
fn a_rule_may_name_another_model_and_a_pin_stops_it() {
    let mut draft = chat(BODY);
    draft.set_model("b-2", &rule()).unwrap().unwrap();
    assert_eq!(rendered(&draft), BODY.replace(r#""a""#, r#""b-2""#));
    assert_eq!(draft.set_model("b-2", &rule()), Ok(None));
    let model = draft.document().resolve("/model").unwrap();
    draft.pin(model, &Author::rule("pins"));
    assert!(matches!(draft.set_model("c", &rule()), Err(EditError::Pinned { .. })));
    let mut nameless = chat(r#"{"messages":[]}"#);
    assert_eq!(nameless.set_model("b", &rule()), Err(EditError::NotALeaf));
}

#[test]
fn the_list_of_tools_goes_with_what_means_nothing_without_it() {
    let mut draft = chat(BODY);
    let list = draft.document().tool_list().unwrap();
    draft.delete(list, &rule()).unwrap();
    let kept = r#"{ "model" : "a", "messages":[{"role":"user","content":"q"}], "n" : 1.0, "stop":["x"] }"#;
    assert_eq!(rendered(&draft), kept);
    draft.validate().unwrap();
    draft.put_option("n", &json!([1]), &rule()).unwrap().unwrap();
    assert_eq!(value(&draft)["n"], json!([1]));
    draft.undo();
    draft.restore(list, &Author::Person).unwrap();
    assert_eq!(rendered(&draft), BODY);
}

#[test]
fn calls_without_any_tool_are_held_where_the_api_refuses_them() {
    let body = json!({ "max_tokens": 1, "tools": [{ "name": "f", "input_schema": {} }], "messages": [
        { "role": "user", "content": "q" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "f", "input": {} }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1", "content": "r" }] },
    ] });
    let mut draft = parse(body.to_string().as_bytes(), Format::AnthropicMessages);
    let list = draft.document().tool_list().unwrap();
    draft.delete(list, &rule()).unwrap();
    assert!(draft.validate().unwrap_err().rule.contains("list of tools"));
}

#[test]
fn a_value_that_was_put_in_is_shown_and_recorded_and_made_again() {
    let mut draft = chat(BODY);
    draft.put_option("temperature", &json!(0.2), &rule()).unwrap();
    draft.put_option("stop", &json!("y"), &rule()).unwrap();
    draft.set_model("b", &rule()).unwrap();
    let changes = draft.changes(|label| label.to_owned());
    let shown = |put: &&PutOption| format!("{} {}", put.key(), put.json().expose());
    let options: Vec<String> = changes.options.iter().map(shown).collect();
    assert_eq!(options, ["temperature 0.2", "stop \"y\""]);
    assert!(!format!("{:?}", changes.options).contains("0.2"));
    let reread = draft.reread(&Limits::default()).unwrap();
    let put = reread.document().resolve("/temperature").unwrap();
    assert_eq!(reread.origin(put), Origin::Within(draft.document().root()));
    let kept = reread.document().resolve("/tools/1/function/name").unwrap();
    let received = draft.document().resolve("/tools/1/function/name").unwrap();
    assert_eq!(reread.origin(kept), Origin::Received(received));

    let record: Vec<String> = draft
        .operations(str::to_owned)
        .iter()
        .map(|operation| serde_json::to_string(operation).unwrap())
        .collect();
    let mut again = chat(BODY);
    let mut replay = Replay::parse(&record.join("\n")).unwrap();
    while replay.step(&mut again) {}
    assert!(replay.into_misfits().is_empty());
    assert_eq!(rendered(&again), rendered(&draft));
}

#[test]
fn invariant_11_undo_is_exact_for_options_of_every_recording() {
    for recording in recordings::all() {
        let document = Document::parse(recording.body.clone().into(), recording.format, &Limits::default());
        let mut draft = Draft::new(std::sync::Arc::new(document.unwrap()));
        let before = draft.render();
        let mut edits = 0;
        for (key, value) in [
            ("temperature", json!(0.25)),
            ("zzz", json!({ "a": [1] })),
            ("stream", json!("x")),
            ("text.zzz", json!(1)),
        ] {
            edits += usize::from(matches!(draft.put_option(key, &value, &rule()), Ok(Some(_))));
        }
        edits += usize::from(matches!(draft.set_model("zzz", &rule()), Ok(Some(_))));
        if let Some(list) = draft.document().tool_list() {
            draft.delete(list, &rule()).unwrap();
            edits += 1;
        }
        if edits == 0 {
            continue;
        }
        let after: Value = serde_json::from_slice(&draft.render()).unwrap();
        assert!(after.get("tools").is_none() || draft.document().tool_list().is_none(), "{}", recording.name);
        (0..edits).for_each(|_| _ = draft.undo().unwrap());
        assert_eq!(draft.render(), before, "{}", recording.name);
    }
}
