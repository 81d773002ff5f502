//! Invariant 1, untouched is identical: a body that no rule changes leaves byte for byte as it came.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use leafgate_harness::recordings::{self, File};
use leafgate_tests::gate;

use crate::setup::{Setup, policy};

/// Rules that look at everything and change nothing: they find, pin, search and count.
const WITHOUT_EFFECT: &str = r#"
[[rule]]
id = "counts-findings"
match = {}
detect = ["secrets", "pii"]
action = "redact"
mode = "monitor"

[[rule]]
id = "pins-the-system-prompt"
match = { section = "system" }
action = "pin"

[[rule]]
id = "replaces-what-is-not-there"
match = { kind = "text" }
action = "rewrite"
replace = { pattern = "words that no recording holds, [0-9]+ of them", with = "others" }

[[rule]]
id = "would-block"
match = {}
action = "block"
mode = "monitor"

[[rule]]
id = "never-applies"
match = {}
when = 'leaf.text == "words that no recording holds"'
action = "block"
"#;

fn requests() -> Vec<File> {
    recordings::read("openai-chat", ".request.json")
}

#[test]
fn invariant_1_untouched_is_identical_through_http() {
    let recordings = requests();
    through_http(&recordings, &mut Setup::with_policy("none".as_ref()));
}

// S0-12
#[test]
fn invariant_1_untouched_is_identical_through_http_under_rules_that_change_nothing() {
    let recordings = requests();
    let folder = policy(WITHOUT_EFFECT);
    let mut setup = Setup::of_recordings(folder.path());
    through_http(&recordings, &mut setup);
    setup.gate.wait_for_log(|log| log.contains("would-block")).unwrap();
}

#[test]
fn invariant_1_untouched_is_identical_offline() {
    let folder = policy(WITHOUT_EFFECT);
    let rules = folder.path().to_string_lossy();
    for recording in requests() {
        for policy in ["none", &rules] {
            let path = recording.path.to_string_lossy();
            let output =
                gate::run(&["apply", "--policy", policy, "--format", "openai-chat", &path], b"").unwrap();
            assert!(
                output.status.success(),
                "{}: {}",
                recording.name,
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(output.stdout == recording.body, "{} changed under policy {policy}", recording.name);
        }
    }
}

fn through_http(recordings: &[File], setup: &mut Setup) {
    for recording in recordings {
        let packed = gzip(&recording.body);
        for (body, coding) in [(&recording.body, None), (&packed, Some("gzip"))] {
            let mut headers = vec![("authorization", "Bearer of-the-client")];
            headers.extend(coding.map(|coding| ("content-encoding", coding)));
            let answer = setup.client.post("/v1/chat/completions?beta=true", &headers, body).unwrap();
            assert_eq!(answer.status(), 200, "{}: {}", recording.name, String::from_utf8_lossy(&answer.body));
            let left = setup.arrived();
            assert!(left.body == *body, "{} changed on its way, sent as {coding:?}", recording.name);
            assert_eq!(left.target(), "/v1/chat/completions?beta=true");
            assert_eq!(left.header("authorization"), Some("Bearer of-the-client"));
            assert_eq!(left.header("content-encoding"), coding);
            assert_eq!(left.header("content-length"), Some(body.len().to_string().as_str()));
        }
    }
}

pub(crate) fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}
