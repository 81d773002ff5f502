//! Formats told apart by shape: what the recordings are, and what decides between two that look alike.

use leafgate_harness::recordings::{self, Recording};
use leafgate_tree::{Access, Document, Format, LeafKind, Limits};

fn shape(body: &str) -> Format {
    Document::detect(body.to_owned().into(), &Limits::default()).unwrap().format()
}

#[test]
fn recordings_are_what_their_routes_say() {
    for Recording { name, body, format } in recordings::recorded() {
        assert_eq!(Document::detect(body.into(), &Limits::default()).unwrap().format(), format, "{name}");
    }
}

#[test]
fn what_decides() {
    let user = r#"{"role":"user","content":"Hi"}"#;
    let bodies = |cases: &[(&str, Format)]| {
        for (body, format) in cases {
            let body = body.replace('@', user);
            assert_eq!(shape(&body), *format, "{body}");
        }
    };
    bodies(&[
        (r#"{"messages":[@]}"#, Format::OpenaiChat),
        (r#"{"model":"claude-x","messages":[@]}"#, Format::AnthropicMessages),
        (r#"{"model":"claude-x","messages":[@],"stream_options":{}}"#, Format::OpenaiChat),
        (r#"{"system":"Be brief","messages":[@]}"#, Format::AnthropicMessages),
        (r#"{"model":"claude-x","messages":[{"role":"system","content":"Be brief"},@]}"#, Format::OpenaiChat),
        (r#"{"messages":[@],"tools":[{"name":"f","input_schema":{}}]}"#, Format::AnthropicMessages),
        (r#"{"messages":[{"role":1,"content":[]}]}"#, Format::Raw),
        (r#"[{"role":1,"content":[]}]"#, Format::Raw),
        (r#"[{"type":1,"text":"Hi"}]"#, Format::Raw),
        (r#"{"model":"m","input":[@]}"#, Format::OpenaiResponses),
        (r#"{"model":"m","input":"Hi","instructions":"Be brief"}"#, Format::OpenaiResponses),
        (r#"{"model":"m","input":"Hi"}"#, Format::OpenaiResponses),
    ]);
    // Embeddings, completions and what nobody knows.
    bodies(&[
        (r#"{"input":"Hi"}"#, Format::Generic),
        (r#"{"model":"text-embedding-3-small","input":"Hi"}"#, Format::Generic),
        (r#"{"model":"m","input":"Hi","encoding_format":"float"}"#, Format::Generic),
        (r#"{"model":"m","input":["Hi","Ho"]}"#, Format::Generic),
        (r#"{"model":"m","prompt":"Hi"}"#, Format::Generic),
        ("[1,2]", Format::Generic),
        ("\"Hi\"", Format::Generic),
        ("{}", Format::Generic),
        (r#"{"requests":[],"responderUsername":"x"}"#, Format::VscodeChat),
    ]);
}

#[test]
fn what_two_apis_take_is_read_alike_in_both() {
    let body = r#"{"model":"m","max_tokens":9,"stream":true,"temperature":0.5,"metadata":{"user_id":"u"},"messages":[
        {"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"text","text":"Ho"}]},{"role":"user","content":"Go on"}]}"#;
    let leaves = |format| {
        let document = Document::parse(body.into(), format, &Limits::default()).unwrap();
        document.leaves().map(|leaf| (leaf.kind(), leaf.access(), leaf.role())).collect::<Vec<_>>()
    };
    assert_eq!(leaves(Format::OpenaiChat), leaves(Format::AnthropicMessages));
}

// S2-05, S2-14
#[test]
fn what_an_export_records_beside_its_texts_is_no_text() {
    let agent = r#"{"id":"github.copilot.workspace","name":"workspace","extensionId":{"value":"e"},"description":"d"}"#;
    let body = format!(
        r#"{{"requests":[{{"agent":{agent},"message":{{"text":"t","parts":[
            {{"kind":"text","text":"t","range":{{"start":0,"endExclusive":1}},"editorRange":{{"startColumn":1}}}},
            {{"kind":"agent","agent":{agent}}},
            {{"kind":"slash","slashCommand":{{"name":"fix","description":"d"}}}},
            {{"kind":"tool","toolName":"search"}}]}}}}]}}"#
    );
    let document = Document::parse(body.into(), Format::VscodeChat, &Limits::default()).unwrap();
    let kind = |pointer: &str| {
        let leaf = document.leaf(document.resolve(pointer).unwrap()).unwrap();
        (leaf.kind(), leaf.access())
    };
    let message = "/requests/0/message";
    for text in ["/text", "/parts/0/text"] {
        assert_eq!(kind(&format!("{message}{text}")), (LeafKind::Text, Access::Open), "{text}");
    }
    for number in ["range/start", "range/endExclusive", "editorRange/startColumn"] {
        let number = format!("{message}/parts/0/{number}");
        assert_eq!(kind(&number), (LeafKind::Metadata, Access::Open), "{number}");
    }
    for name in ["/parts/1/agent/id", "/parts/1/agent/name", "/parts/1/agent/extensionId/value"]
        .map(|name| format!("{message}{name}"))
        .into_iter()
        .chain(["/requests/0/agent/id", "/requests/0/agent/name"].map(str::to_owned))
        .chain(["/parts/2/slashCommand/name", "/parts/3/toolName"].map(|name| format!("{message}{name}")))
    {
        assert_eq!(kind(&name), (LeafKind::Metadata, Access::Protected), "{name}");
    }
    assert_ne!(kind(&format!("{message}/parts/1/agent/description")).0, LeafKind::Text);
}
