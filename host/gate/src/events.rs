//! What happens, told to whoever listens: server-sent events of the admin API.
//!
//! All listeners share one bounded buffer. One that falls behind by more than that is let go with a last word: it connects again and
//! asks what is pending. Telling never waits and costs nothing while nobody listens.

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use leafgate_admin::Event;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::timeout;

use crate::lock::lock;
use leafgate_http::{Content, content};

/// Sent in every silence: a listener whose connection is dead finds out, and so do we.
const HEARTBEAT: &[u8] = b": heartbeat\n\n";

/// The last word to a listener that fell behind.
const BEHIND: &[u8] = b": you fell behind; connect again and list the pending turns\n\n";

/// Where events are told.
pub(crate) struct Hub {
    /// `None` once nothing will be told any more.
    sender: Mutex<Option<broadcast::Sender<Bytes>>>,
    heartbeat: Duration,
}

impl Hub {
    /// A hub that keeps up to `buffer` events for the slowest listener.
    pub(crate) fn new(buffer: usize, heartbeat: Duration) -> Self {
        Hub { sender: Mutex::new(Some(broadcast::Sender::new(buffer.max(1)))), heartbeat }
    }

    /// Tells an event, which is only made where somebody listens.
    pub(crate) fn publish(&self, event: impl FnOnce() -> Event) {
        let sender = lock(&self.sender);
        if let Some(sender) = sender.as_ref().filter(|sender| sender.receiver_count() > 0) {
            // Nobody listening any more is no fault.
            let _ = sender.send(frame(&event()));
        }
    }

    /// Everything that is told from now on, as the body of an answer.
    pub(crate) fn listen(&self) -> Content {
        let receiver = lock(&self.sender).as_ref().map(broadcast::Sender::subscribe);
        let heartbeat = self.heartbeat;
        content::unfold(receiver, move |receiver| async move {
            let mut receiver = receiver?;
            let (told, receiver) = match timeout(heartbeat, receiver.recv()).await {
                Ok(Ok(event)) => (event, Some(receiver)),
                Ok(Err(RecvError::Lagged(_))) => (Bytes::from_static(BEHIND), None),
                Ok(Err(RecvError::Closed)) => return None,
                Err(_) => (Bytes::from_static(HEARTBEAT), Some(receiver)),
            };
            Some((Ok(Frame::data(told)), receiver))
        })
    }

    /// Whether it was closed: the gate stops.
    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.sender).is_none()
    }

    /// Ends all listeners' streams, after what was told so far.
    pub(crate) fn close(&self) {
        lock(&self.sender).take();
    }
}

/// One event as it stands in the stream, by the name of its tag, which is the first member of its JSON.
fn frame(event: &Event) -> Bytes {
    let json = serde_json::to_string(event).expect("the words of the admin API always serialise");
    let name = json.split('"').nth(3).expect("an event begins with its tag");
    Bytes::from(format!("event: {name}\ndata: {json}\n\n"))
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use leafgate_admin::PolicyStatus;

    use super::*;

    fn policy(loads: u64) -> Event {
        let (source, generation) = ("none".to_owned(), "0".to_owned());
        Event::Policy { policy: PolicyStatus { source, generation, loads, ..PolicyStatus::default() } }
    }

    async fn next(body: &mut Content) -> Option<Bytes> {
        Some(body.frame().await?.unwrap().into_data().unwrap())
    }

    #[tokio::test]
    async fn what_is_told_arrives_in_order_under_the_name_of_its_tag() {
        let hub = Hub::new(4, Duration::from_secs(9));
        hub.publish(|| panic!("nobody listens"));
        let mut listener = hub.listen();
        hub.publish(|| policy(1));
        hub.publish(|| policy(2));
        hub.publish(|| Event::Sessions { active: None, follow: true });
        for loads in [1, 2] {
            let event = String::from_utf8(next(&mut listener).await.unwrap().to_vec()).unwrap();
            let json = event.strip_prefix("event: policy\ndata: ").unwrap();
            assert_eq!(serde_json::from_str::<Event>(json).unwrap(), policy(loads));
        }
        assert!(next(&mut listener).await.unwrap().starts_with(b"event: sessions\ndata: {"));
    }

    #[tokio::test]
    async fn a_listener_that_falls_behind_is_let_go() {
        let hub = Hub::new(2, Duration::from_secs(9));
        let mut slow = hub.listen();
        (0..3).for_each(|loads| hub.publish(|| policy(loads)));
        assert_eq!(next(&mut slow).await.unwrap(), BEHIND);
        assert_eq!(next(&mut slow).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silence_holds_heartbeats_and_a_closed_hub_ends_its_streams() {
        let hub = Hub::new(2, Duration::from_secs(9));
        let mut listener = hub.listen();
        assert_eq!(next(&mut listener).await.unwrap(), HEARTBEAT);
        hub.publish(|| policy(1));
        hub.close();
        assert!(next(&mut listener).await.unwrap().starts_with(b"event: policy\n"));
        assert_eq!(next(&mut listener).await, None);
        assert_eq!(next(&mut hub.listen()).await, None);
    }
}
