//! The text of a PDF is read by a process of the gate's own program, judged, and leaves as it came.

use base64::Engine as _;
use leafgate_harness::packed::pdf;
use serde_json::json;

use crate::setup::{Setup, policy};

const RULES: &str = r#"
[[rule]]
id = "mail"
match = {}
detect = ["pii/email"]
action = "redact"
on_unredactable = "block"
"#;

fn with_pdf(text: &str) -> Vec<u8> {
    let file = base64::engine::general_purpose::STANDARD.encode(pdf(&["a page", text]));
    let part =
        json!({ "type": "file", "file": { "file_data": format!("data:application/pdf;base64,{file}") } });
    json!({ "model": "m", "messages": [{ "role": "user", "content": [part] }] }).to_string().into()
}

#[test]
fn a_value_in_a_pdf_does_not_leave() {
    let folder = policy(RULES);
    let mut setup = Setup::with_policy(folder.path());
    let clean = with_pdf("nothing to find");
    assert_eq!(setup.passes(&clean).body, clean);
    let answer = setup.client.chat(&with_pdf("write to jane.doe@mail.example.org")).unwrap();
    let said = setup.refused(&answer, 400, "leafgate_blocked");
    assert!(!said.contains("jane.doe"), "{said}");
    let log = setup.gate.wait_for_log(|log| log.contains("EMAIL in the text of a PDF")).unwrap();
    assert!(!log.contains("jane.doe"), "{log}");
}
