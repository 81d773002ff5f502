//! Invariant 6, for what the gate logs: a line for each request, and never a header value or text of a body.

use std::io;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

use crate::support::{Client, EMAIL, REDACT_EMAIL, chat, gate, says};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Captured;

    fn make_writer(&'a self) -> Captured {
        self.clone()
    }
}

/// On one thread, with a subscriber of that thread alone: other tests of this binary log meanwhile.
#[tokio::test(flavor = "current_thread")]
async fn nothing_of_a_request_is_logged() {
    let captured = Captured::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(captured.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let gate = gate(REDACT_EMAIL, "echo:").await;
    let mut client = Client::connect(gate.address).await;
    let canary = "canary7391";
    let bodies = [
        says(&format!("{canary} {EMAIL}")),
        format!("{{\"{canary}\": \"{canary}\", \"stream\": true}}"),
        format!("{{\"{canary}\": {canary}}}"),
        canary.to_owned(),
    ];
    for body in bodies {
        for (header, value) in [
            ("authorization", "Bearer canary7391"),
            ("content-encoding", "canary7391"),
            ("origin", "http://canary7391"),
        ] {
            let mut request = chat(body.clone());
            request.headers_mut().insert(header, value.parse().unwrap());
            client.whole(request).await;
        }
    }
    let query =
        http::Request::get("/v1/models?key=canary7391").body(http_body_util::Full::default()).unwrap();
    client.whole(query).await;
    drop(client);
    let log = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
    assert!(log.matches("leafgate::request").count() >= 12, "one line a request: {log}");
    assert!(log.contains("rules=mail") && log.contains("path=/v1/chat/completions"), "{log}");
    assert!(!log.contains("canary") && !log.contains("jane.doe"), "{log}");
}
