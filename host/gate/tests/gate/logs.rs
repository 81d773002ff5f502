//! Everything that the gate logs while these tests run, at every level.

use std::io;
use std::sync::{Mutex, Once, PoisonError};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::pauses::house::{CANARY, House, chat};

static RECORD: Once = Once::new();
static LOGGED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Recorder;

impl io::Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Recorder {
    type Writer = Recorder;

    fn make_writer(&self) -> Recorder {
        Recorder
    }
}

/// Records from now on, for all tests of this process.
pub(crate) fn record() {
    RECORD.call_once(|| {
        let everything = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_ansi(false);
        let ours = Targets::new().with_target("leafgate", tracing::Level::TRACE);
        everything.with_writer(Recorder).finish().with(ours).init();
    });
}

/// What has been logged so far holds neither the canary nor a header's value.
pub(crate) fn assert_clean() {
    let logged = logged();
    for forbidden in [CANARY, "Bearer", "wanda"] {
        assert!(!logged.contains(forbidden), "the log holds {forbidden:?}");
    }
}

pub(crate) fn logged() -> String {
    String::from_utf8(LOGGED.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap()
}

/// Every other test checks its log too, when its gate is dropped; this one goes where text could slip out.
#[tokio::test]
async fn invariant_6_no_text_of_a_request_reaches_the_log() {
    let (house, mut events) = House::watched().await;
    let (client, id) = house.holds(&mut events, &chat(&format!("{CANARY} asks about prod-db"))).await;
    house.write(&id, "/messages/3/content", &format!("prod-db of {CANARY}, rm -rf")).await.unwrap();
    let refused = house.write(&id, &format!("/{CANARY}"), CANARY).await.unwrap_err();
    assert_eq!(refused.0, 422);
    let digest = house.turn(&id).await.digest;
    assert_eq!(house.resume(&id, &digest).await.unwrap_err().1.code, leafgate_admin::ErrorCode::Blocked);
    house.cancel(&id).await.unwrap();
    client.await.unwrap().refusal();
    house.gate.policy_refused("rules.toml:3: unknown action");
    let logged = logged();
    for expected in ["production", "leafgate_cancelled", "unknown action"] {
        assert!(logged.contains(expected), "{expected} is logged");
    }
}
