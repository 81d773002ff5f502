//! A request as a gate tells recorders of it. The tests of `trace` are made of this file, too.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use leafgate_policy::Policy;
use leafgate_record::{RecordId, RecordedEdit, RequestRecord};

/// A chat that a rule redacted and that left.
pub(crate) fn record(id: u64, body: &Bytes, policy: Arc<Policy>) -> RequestRecord {
    RequestRecord {
        id: RecordId(id),
        at: SystemTime::now(),
        method: "POST".to_owned(),
        path: "/v1/chat/completions".to_owned(),
        upstream: "https://api.example".into(),
        upstream_name: None,
        api: "chat",
        answers: Some(leafgate_answer::Api::Chat),
        provider: "openai",
        agent: "curl".into(),
        class: "main",
        session: "SESSION_habcdef".into(),
        model: Some("m".to_owned()),
        policy,
        verdict: "forwarded",
        rules: vec!["secrets".to_owned()],
        held: None,
        edits: vec![RecordedEdit {
            kind: "redact".into(),
            path: "messages[3].content".to_owned(),
            rule: "secrets".to_owned(),
            label: Some("GITHUB".into()),
            detector: Some("secrets/github".to_owned()),
            length: Some(40),
        }]
        .into(),
        received: body.clone(),
        source: body.clone(),
        sent: Some(body.clone()),
        coded: false,
        approved: None,
        judging: Duration::from_micros(300),
        waiting: None,
    }
}
