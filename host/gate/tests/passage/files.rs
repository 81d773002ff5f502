//! Packed files in requests: their text is judged, wherever they stand, and nothing in them is touched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leafgate_extract::{Extract, Extraction, FileBounds, extract};
use leafgate_gate::{FirstUpstream, GateConfig, OnUnread};
use leafgate_harness::packed::{docx, pdf, pdf_with, zip};
use serde_json::{Value, json};

use crate::kit::{EMAIL, Running, Upstream, chat, gate_of, once, post, says};
use crate::passage::upstreams::upload;

const RULES: &str = r#"
[[rule]]
id = "mail"
match = {}
detect = ["pii/email"]
action = "redact"
on_unredactable = "block"
"#;

/// Reads in this process, and counts.
#[derive(Debug, Default)]
struct InPlace(AtomicUsize);

impl Extract for InPlace {
    fn extract(&self, file: &[u8]) -> std::io::Result<Extraction> {
        self.0.fetch_add(1, SeqCst);
        Ok(extract(file, &FileBounds::default()))
    }
}

async fn gate(rules: &str, upstream: &Upstream, on_unread: OnUnread) -> (Running, Arc<InPlace>) {
    let mut config = GateConfig::new(upstream.url().parse().unwrap());
    let FirstUpstream::Own(own) = &mut config.upstream else { panic!("it has no name") };
    own.on_unread = on_unread;
    let reader = Arc::new(InPlace::default());
    config.extract = Some(Arc::clone(&reader) as _);
    (gate_of(config, rules).await, reader)
}

/// The places of JSON in which clients send files, and some in which they do not.
fn places(file: &[u8]) -> Vec<(&'static str, Value)> {
    let plain = STANDARD.encode(file);
    let url = format!("data:application/pdf;base64,{plain}");
    let user = |content: Value| json!({ "model": "m", "messages": [{ "role": "user", "content": content }] });
    let input = |item: Value| json!({ "model": "m", "input": [item] });
    let message = |part: Value| input(json!({ "role": "user", "content": [part] }));
    let arguments = json!({ "file": plain }).to_string();
    let call =
        json!([{ "id": "c", "type": "function", "function": { "name": "f", "arguments": arguments } }]);
    let (chat, messages, responses) = ("/v1/chat/completions", "/v1/messages", "/v1/responses");
    vec![
        (chat, user(json!([{ "type": "file", "file": { "file_data": url } }]))),
        (chat, user(json!([{ "type": "image_url", "image_url": { "url": url } }]))),
        (chat, user(json!(plain))),
        (chat, user(json!([{ "type": "text", "text": url }]))),
        (
            chat,
            json!({ "model": "m", "messages": [{ "role": "assistant", "content": null, "tool_calls": call }] }),
        ),
        (chat, json!({ "model": "m", "messages": [], "attachment": plain })),
        (
            messages,
            user(
                json!([{ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": plain } }]),
            ),
        ),
        (
            messages,
            user(
                json!([{ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": plain } }]),
            ),
        ),
        (messages, user(json!([{ "type": "tool_result", "tool_use_id": "t", "content": url }]))),
        (
            messages,
            user(json!([{ "type": "tool_result", "tool_use_id": "t", "content": [
            { "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": plain } }
        ] }])),
        ),
        (responses, message(json!({ "type": "input_file", "filename": "a.pdf", "file_data": url }))),
        (responses, input(json!({ "type": "function_call_output", "call_id": "c", "output": plain }))),
        (
            "/v1beta/models/m:generateContent",
            json!({ "contents": [{ "role": "user", "parts": [{ "inlineData": { "mimeType": "application/pdf", "data": plain } }] }] }),
        ),
        ("/v1/embeddings", json!({ "model": "m", "input": plain })),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_document_has_one_verdict_wherever_it_stands() {
    let hidden = format!("write to {EMAIL}");
    let (a, b) = hidden.split_at(12);
    for (guilty, clean) in [
        (pdf(&["page one", &hidden]), pdf(&["page one"])),
        (docx(&[a, b]), docx(&["nothing"])),
        (zip(&[("mail.txt", hidden.as_bytes())]), zip(&[("mail.txt", b"nothing")])),
    ] {
        let upstream = Upstream::silent().await;
        let (gate, reader) = gate(RULES, &upstream, OnUnread::Block).await;
        let mut asked = 0;
        for (path, body) in places(&guilty) {
            let answer = once(&gate, post(path, body.to_string())).await;
            assert_eq!(answer.status, 400, "{path} {body}");
            assert!(answer.text().contains("blocked by this gate: rule `mail`"), "{path}: {}", answer.text());
            assert!(!answer.text().contains(EMAIL), "{}", answer.text());
            asked += 1;
        }
        let answer = once(&gate, upload("/v1/files", "a", &guilty)).await;
        assert_eq!((answer.status, &*answer.error().0), (400, "leafgate_blocked"), "the upload");
        assert_eq!(upstream.seen().len(), 0, "nothing of it left");
        for (path, body) in places(&clean) {
            let body = body.to_string();
            let answer = once(&gate, post(path, body.clone())).await;
            assert_eq!(answer.status, 200, "{path} {body}: {}", answer.text());
            assert_eq!(upstream.seen().pop().unwrap().body, body, "{path}");
        }
        assert_eq!(once(&gate, upload("/v1/files", "a", &clean)).await.status, 200);
        let counted = gate.gate.status().requests;
        assert_eq!((counted.files_read, counted.unread), (2 * (asked + 1), 0));
        assert_eq!(reader.0.load(SeqCst), 2, "each is read once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_unread_in_a_document_is_told_and_blocks_or_passes() {
    let picture =
        "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8";
    let scanned = pdf_with(
        &["BT /F1 12 Tf (words) Tj ET", "/I1 Do"],
        "/XObject << /I1 4 0 R >>",
        &[leafgate_harness::packed::stream(picture, b"x")],
    );
    let (path, body) = places(&scanned).remove(0);
    let upstream = Upstream::silent().await;
    let (blocks, _) = gate(RULES, &upstream, OnUnread::Block).await;
    let answer = once(&blocks, post(path, body.to_string())).await;
    assert_eq!(answer.status, 415);
    let said = answer.error().1;
    assert!(said.contains("is a PDF, of which page 2 shows something and has no text"), "{said}");
    let (passes, _) = gate(RULES, &upstream, OnUnread::Pass).await;
    assert_eq!(once(&passes, post(path, body.to_string())).await.status, 200);
    assert_eq!(upstream.seen().pop().unwrap().body, body.to_string());
    let counted = passes.gate.status().requests;
    assert_eq!((counted.files_read, counted.unread), (0, 1));
    // What was read of it is judged all the same.
    let also = pdf_with(&[&format!("BT /F1 12 Tf ({EMAIL}) Tj ET"), "0 0 9 9 re f"], "", &[]);
    let (path, body) = places(&also).remove(0);
    assert_eq!(once(&passes, post(path, body.to_string())).await.status, 400);
}

#[tokio::test]
async fn a_request_without_documents_and_a_policy_without_rules_ask_no_reader() {
    let upstream = Upstream::silent().await;
    let (gate_with_rules, reader) = gate(RULES, &upstream, OnUnread::Block).await;
    assert_eq!(once(&gate_with_rules, chat(says("a%PDF-1.7 and JVBERi0x"))).await.status, 200);
    assert_eq!(reader.0.load(SeqCst), 0);
    let (none, reader) = gate("", &upstream, OnUnread::Block).await;
    let (path, body) = places(&pdf(&[EMAIL])).remove(0);
    assert_eq!(once(&none, post(path, body.to_string())).await.status, 200);
    assert_eq!(reader.0.load(SeqCst), 0);
}
