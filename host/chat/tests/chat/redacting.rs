//! What follows a redaction of an export: ranges, copies, encoded texts. All of it recorded, and
//! nothing else changed.

use std::sync::Arc;

use leafgate_chat::redact::copies::{Copies, KnownCopies};
use leafgate_chat::redact::encoded;
use leafgate_chat::redact::ranges::{AUTHOR, Ranges, StaleReason, follow};
use leafgate_tree::{Author, Document, Draft, Format, Limits, Redaction};
use serde_json::{Value, json};

use crate::support::{EXPORTS, draft, export, exports, parse, recorded_export};

const TOKEN: &str = "TOKEN_abcdefgh";

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Redacts every occurrence of a text in the leaf at a pointer.
fn redact(draft: &mut Draft, pointer: &str, value: &str) {
    let node = draft.document().resolve(pointer).unwrap();
    let text = draft.text(node).into_cow().into_owned();
    let redactions: Vec<_> = text
        .match_indices(value)
        .map(|(at, _)| Redaction::new(at..at + value.len(), "TOKEN", TOKEN))
        .collect();
    assert!(!redactions.is_empty());
    draft.redact(node, &redactions, &Author::rule("secrets")).unwrap();
}

fn rendered(draft: &Draft) -> Value {
    serde_json::from_slice(&draft.render()).unwrap()
}

/// A question of three parts, of which the second is a file, over two lines.
fn question() -> Value {
    let part = |text: Option<&str>, start: usize, end: usize, editor: [usize; 4]| {
        let [from, column, to, last] = editor;
        let mut part = json!({
            "range": { "start": start, "endExclusive": end },
            "editorRange": { "startLineNumber": from, "startColumn": column, "endLineNumber": to, "endColumn": last },
        });
        if let Some(text) = text {
            part["text"] = json!(text);
        }
        part
    };
    json!({ "responderUsername": "C", "requests": [{
        "message": {
            "text": "😀 hunter22\nin #file:a now",
            "parts": [
                part(Some("😀 hunter22\nin "), 0, 15, [1, 1, 2, 4]),
                part(None, 15, 22, [2, 4, 2, 11]),
                part(Some(" now"), 22, 26, [2, 11, 2, 15]),
            ],
        },
        "variableData": { "variables": [{ "kind": "file", "range": { "start": 15, "endExclusive": 22 } }, { "kind": "image" }] },
    }] })
}

// S2-05
#[test]
fn ranges_follow_a_text_that_a_rule_changed_as_recorded_edits() {
    let mut draft = draft(&question());
    redact(&mut draft, "/requests/0/message/text", "hunter22");
    redact(&mut draft, "/requests/0/message/parts/0/text", "hunter22");
    let ranges = follow(&mut draft).unwrap();
    assert!(ranges.stale.is_empty(), "{:?}", ranges.stale);
    let after = rendered(&draft);
    let message = &after["requests"][0]["message"];
    let grown = TOKEN.len() - "hunter22".len();
    let text: Vec<u16> = message["text"].as_str().unwrap().encode_utf16().collect();
    for (part, expected) in
        [(0, format!("😀 {TOKEN}\nin ")), (1, "#file:a".to_owned()), (2, " now".to_owned())]
    {
        let range = |key: &str| message["parts"][part]["range"][key].as_u64().unwrap() as usize;
        let said = String::from_utf16(&text[range("start")..range("endExclusive")]).unwrap();
        assert_eq!(said, expected);
    }
    let variable = &after["requests"][0]["variableData"]["variables"][0]["range"];
    assert_eq!(*variable, json!({ "start": 15 + grown, "endExclusive": 22 + grown }));
    // The second line has not changed, and neither have its columns.
    assert_eq!(
        message["parts"][2]["editorRange"],
        question()["requests"][0]["message"]["parts"][2]["editorRange"]
    );
    let edits: Vec<_> = draft.edits().map(|edit| edit.author.clone()).collect();
    assert_eq!(
        (edits.len(), ranges.edits),
        (7, 7),
        "one end, and two numbers each for two parts and a variable"
    );
    assert!(edits.iter().all(|author| *author == Author::rule(AUTHOR)));
}

#[test]
fn a_value_in_pieces_over_two_parts_is_told() {
    let mut draft = draft(&question());
    redact(&mut draft, "/requests/0/message/text", "a now");
    let ranges = follow(&mut draft).unwrap();
    assert!(
        ranges.stale.iter().any(|stale| stale.reason == StaleReason::TextsDiffer
            && stale.pointer == "/requests/0/message/parts/2")
    );
}

#[test]
fn ranges_that_were_wrong_before_or_overlap_are_told_and_left() {
    let mut wrong = question();
    wrong["requests"][0]["message"]["parts"][1]["range"]["start"] = json!(3);
    let mut draft = draft(&wrong);
    redact(&mut draft, "/requests/0/message/parts/0/text", "hunter22");
    let ranges = follow(&mut draft).unwrap();
    assert_eq!((ranges.edits, ranges.stale[0].reason), (0, StaleReason::Disorder));
}

#[test]
fn copies_of_a_redacted_value_go_with_it_wherever_they_stand() {
    let value = "pass-4711-word";
    let file = json!({
        "responderUsername": "C",
        "requests": [{
            "message": { "text": format!("PASSWORD={value}"), "parts": [] },
            "response": [{ "value": format!("It is {value}, {value}.") }, { "kind": "thinking", "value": [value] }],
            "arguments": json!({ "deep": json!({ "deeper": value }).to_string() }).to_string(),
            "authority": format!("dev-container+{}", hex(&format!("{{\"password\":\"{value}\"}}"))),
        }],
    });
    let document = Arc::new(export(&file));
    let mut draft = Draft::new(Arc::clone(&document));
    redact(&mut draft, "/requests/0/message/text", value);
    let hidden = encoded::encoded(&document);
    let mut known = KnownCopies::default();
    known.learn(&draft);
    let found = known.redact(&mut draft, &hidden);
    assert_eq!((found.leaves, found.stuck.len(), known.untraced()), (4, 0, 0));
    let after = String::from_utf8(draft.render().to_vec()).unwrap();
    assert!(!after.contains(value) && !after.contains(&hex(value)), "{after}");
    assert_eq!(after.matches(TOKEN).count(), 5);
    assert!(after.contains(&hex(&format!("{{\"password\":\"{TOKEN}\"}}"))));
}

#[test]
fn copies_that_cannot_be_redacted_are_told() {
    let value = "pass-4711-word";
    let file =
        json!({ "requests": [{ "message": value, value: 1, "requestId": value, "modelId": "other" }] });
    let mut draft = draft(&file);
    redact(&mut draft, "/requests/0/message", value);
    let mut known = KnownCopies::default();
    known.learn(&draft);
    let found = known.redact(&mut draft, &[]);
    let stuck: Vec<_> = found.stuck.iter().map(|&node| draft.document().pointer(node)).collect();
    assert_eq!(stuck, ["/requests/0/requestId", &format!("/requests/0/{value}")]);
}

/// The policy's part, played: a rule that knows one value.
fn redacting(shadow: &bytes::Bytes, value: &str) -> Draft {
    let document = Document::parse(shadow.clone(), Format::VscodeChat, &Limits::default()).unwrap();
    let mut draft = Draft::new(Arc::new(document));
    let document = Arc::clone(draft.document());
    for leaf in document.leaves() {
        if leaf.text().expose().contains(value) {
            redact(&mut draft, &document.pointer(leaf.id()), value);
        }
    }
    draft
}

/// An export in whose encoded texts a value is redacted, and how many shadows of it were looked at.
fn opened(document: &Arc<Document>) -> (Draft, usize) {
    let mut shadows = 0;
    let opened = encoded::redact(document, |shadow| {
        shadows += 1;
        Ok::<_, Box<dyn std::error::Error>>(redacting(&shadow, "hunter22"))
    });
    (opened.unwrap(), shadows)
}

#[test]
fn what_a_rule_redacts_in_an_encoded_text_is_encoded_again() {
    let config = |value: &str| json!({ "hostPath": "/srv/häuser", "settings": { "key": value } }).to_string();
    let authority = |value: &str| format!("dev-container+{}", hex(&config(value)));
    let external = |value: &str| {
        format!(
            "vscode-remote://dev-container%2B{}/workspaces/{}",
            hex(&config(value)),
            hex("a second text in digits")
        )
    };
    let file = |value: &str| json!({ "uri": { "authority": authority(value), "external": external(value), "path": "/a" } });
    let document = Arc::new(export(&file("hunter22")));
    assert_eq!(encoded::encoded(&document).len(), 3);
    let (draft, shadows) = opened(&document);
    assert_eq!(shadows, 2, "one for each encoded text of the leaf that has most");
    assert_eq!(draft.redactions().count(), 2);
    assert_eq!(rendered(&draft), file(TOKEN));
    assert!(draft.redactions().all(|record| record.author == Author::rule("secrets")));
}

#[test]
fn the_same_encoded_text_is_shown_once_and_replaced_wherever_it_stands() {
    let listing = |value: &str| format!("{} ", hex(&format!("the key is {value}"))).repeat(400);
    let file = |value: &str| json!({ "listing": listing(value) });
    let document = Arc::new(export(&file("hunter22")));
    assert_eq!(encoded::encoded(&document).len(), 400);
    let (draft, shadows) = opened(&document);
    assert_eq!(shadows, 1);
    assert_eq!(rendered(&draft), file(TOKEN));
}

#[test]
fn a_leaf_with_very_many_encoded_texts_is_refused() {
    let many: String = (0..100).map(|number| hex(&format!("the text of number {number}")) + " ").collect();
    let document = Arc::new(export(&json!({ "listing": many })));
    assert_eq!(encoded::encoded(&document).len(), 100);
    assert_eq!(opened(&document).1, 0);
}

#[test]
fn encoded_keys_are_shown_as_keys() {
    let key = format!("vscode-remote://dev-container%2B{}/a", hex("a text that stands in a key"));
    let shown = encoded::encoded_keys(&export(&json!({ "uris": { key: { "path": "/a" } } }))).unwrap();
    assert!(shown.contains(r#""a text that stands in a key":0"#), "{shown}");
    assert_eq!(encoded::encoded_keys(&export(&json!({ "uris": { "file:///a": 1 } }))), None);
}

#[test]
fn a_percent_sign_before_the_digits_and_their_case_stay() {
    let text = "a text with a hunter22 in it";
    let upper = |text: &str| hex(text).to_uppercase();
    let file = |text: &str| json!({ "lower": format!("x%2B{}/y", hex(text)), "upper": format!("[{}]", upper(text)) });
    let document = Arc::new(export(&file(text)));
    assert_eq!(rendered(&opened(&document).0), file(&text.replace("hunter22", TOKEN)));
}

#[test]
fn a_number_that_happens_to_spell_a_text_stays_a_number() {
    let document =
        Arc::new(parse(&format!("{{\"n\": {}}}", hex("aaaaaaaaaaaaaaaaaaaa")), Format::VscodeChat));
    assert_eq!(encoded::encoded(&document).len(), 0);
}

/// Counted in the recording: 55 authorities and addresses of a dev container.
#[test]
fn recorded_configurations_of_dev_containers_are_found() {
    for name in EXPORTS {
        let Some(text) = recorded_export(name) else { return };
        let hidden = encoded::encoded(&parse(&text, Format::VscodeChat));
        let paths = hidden.iter().filter(|one| one.text.contains("hostPath")).count();
        assert_eq!((name, paths), (name, if name == "p47-services" { ENCODED } else { 0 }));
        assert_eq!(hidden.len(), paths, "{name}: nothing else is taken for text");
    }
}

const ENCODED: usize = 55;

#[test]
fn an_untouched_export_stays_the_very_buffer() {
    for (name, text) in exports() {
        let document = Arc::new(parse(&text, Format::VscodeChat));
        let mut draft = Draft::new(Arc::clone(&document));
        let hidden = encoded::encoded(&document);
        let mut known = KnownCopies::default();
        known.learn(&draft);
        assert_eq!(known.redact(&mut draft, &hidden), Copies::default());
        assert_eq!(follow(&mut draft).unwrap(), Ranges::default());
        assert_eq!(draft.render().as_ptr(), document.source().as_ptr(), "{name}");
    }
}
