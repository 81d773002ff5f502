//! A gate before a recording upstream, and what tests ask of the pair.

use std::ffi::OsString;
use std::path::Path;

use leafgate_tests::gate::Gate;
use leafgate_tests::http::{Client, Message};
use leafgate_tests::sample;
use leafgate_tests::upstream::Upstream;
use tempfile::TempDir;

/// A running gate, one connection to it, and what is behind it.
pub(crate) struct Setup {
    pub(crate) gate: Gate,
    pub(crate) client: Client,
    pub(crate) upstream: Upstream,
}

impl Setup {
    /// A gate with a built-in policy, or that of a folder.
    pub(crate) fn with_policy(policy: &Path) -> Self {
        Setup::with_arguments(policy, &[])
    }

    /// A gate through which files pass that nobody can look into: some recorded requests have a PDF.
    pub(crate) fn of_recordings(policy: &Path) -> Self {
        Setup::with_arguments(policy, &["--set", "on-unread=pass"])
    }

    fn with_arguments(policy: &Path, more: &[&str]) -> Self {
        let upstream = Upstream::start().unwrap();
        let mut arguments: Vec<OsString> =
            vec!["--policy".into(), policy.into(), "--upstream".into(), upstream.url().into()];
        arguments.extend(more.iter().map(OsString::from));
        let gate = Gate::start(&arguments).unwrap();
        let client = gate.client().unwrap();
        Setup { gate, client, upstream }
    }

    /// Posts a chat that must pass, and returns what reached the upstream.
    pub(crate) fn passes(&mut self, body: &[u8]) -> Message {
        let answer = self.client.chat(body).unwrap();
        assert_eq!(answer.status(), 200, "{}", String::from_utf8_lossy(&answer.body));
        self.arrived()
    }

    /// The one request that reached the upstream since the last look.
    pub(crate) fn arrived(&self) -> Message {
        let mut received = self.upstream.take();
        assert_eq!(received.len(), 1, "one request in, one out");
        received.remove(0)
    }

    /// Checks that an answer is this refusal, that nothing reached the upstream, and that the gate still serves; returns the message.
    pub(crate) fn refused(&mut self, answer: &Message, status: u16, code: &str) -> String {
        assert_eq!(answer.status(), status, "{}", String::from_utf8_lossy(&answer.body));
        let (found, message) = answer.refusal().unwrap();
        assert_eq!(found, code, "{message}");
        assert_eq!(answer.header("x-should-retry"), Some("false"), "a client that tries again gets the same");
        assert!(self.upstream.take().is_empty(), "nothing leaves");
        self.still_serves();
        message
    }

    /// Checks that a good request passes on a new connection.
    pub(crate) fn still_serves(&mut self) {
        self.client = self.gate.client().unwrap();
        let good = sample::chat("Are you there?");
        assert_eq!(self.passes(&good).body, good);
    }
}

/// A policy folder with one rule file, whose rules are alone unless they say otherwise.
pub(crate) fn policy(rules: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    leafgate_harness::rules::write_alone(folder.path(), rules).unwrap();
    folder
}

/// Whether one text stands somewhere in bytes.
pub(crate) fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
