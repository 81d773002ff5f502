//! The published events of a gate: server-sent events, read by a thread and passed on as values.

use std::sync::mpsc::{self, Receiver, Sender};

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use leafgate_admin::{ApiError, Event, RuntimeFile};
use leafgate_answer::{Field, Lines, Piece, field};

use super::http::{AdminEndpoint, waiting_runtime};

/// An event of a gate, or the error that ended its events.
pub(crate) type EventResult = Result<Event, ApiError>;

/// Receives all events after this call has returned, so that a list that is asked for next misses
/// nothing; of turns those of one alone, where it is named. An error is the last item.
pub(crate) fn listen(gate: &RuntimeFile, only: Option<String>) -> anyhow::Result<Receiver<EventResult>> {
    let endpoint = AdminEndpoint::new(gate)?;
    let runtime = waiting_runtime()?;
    let (sender, events) = mpsc::channel();
    let answer = runtime.block_on(endpoint.call(Method::GET, "/v1/events", None))?;
    std::thread::Builder::new().name("gate-events".to_owned()).spawn(move || {
        runtime.block_on(follow(&endpoint, answer.into_body(), only.as_deref(), &sender));
    })?;
    Ok(events)
}

/// Passes events on until the stream ends or the receiver is gone.
async fn follow(
    endpoint: &AdminEndpoint,
    mut stream: Incoming,
    only: Option<&str>,
    events: &Sender<EventResult>,
) {
    let mut lines = Lines::new(MAX_LINE);
    let ended = loop {
        match stream.frame().await {
            Some(Ok(frame)) => {
                let Ok(data) = frame.into_data() else { continue };
                let mut wanted = decoded(&mut lines, data).into_iter().filter(|event| is_about(event, only));
                if wanted.any(|event| events.send(Ok(event)).is_err()) {
                    return;
                }
            }
            Some(Err(error)) => break endpoint.unreachable(error),
            None => break endpoint.unreachable("it ended its events"),
        }
    };
    // An error means that there is no receiver any more.
    let _ = events.send(Err(ended));
}

/// Returns whether an event is about this turn, or about none.
fn is_about(event: &Event, only: Option<&str>) -> bool {
    match event {
        Event::Paused { turn } | Event::Changed { turn } | Event::Resolved { turn } => {
            only.is_none_or(|only| turn.id == only)
        }
        Event::Mode { .. }
        | Event::Sessions { .. }
        | Event::Subagent { .. }
        | Event::Agent { .. }
        | Event::Policy { .. } => true,
    }
}

/// Longest line of an event that this version knows.
const MAX_LINE: usize = 1024 * 1024;

/// Decodes the next bytes of a stream, cut anywhere. Comments and unknown events are ignored.
fn decoded(lines: &mut Lines, bytes: Bytes) -> Vec<Event> {
    let mut events = Vec::new();
    for piece in lines.push(bytes) {
        // The gate writes an event's data on one line.
        if let Piece::Line(line) = &piece
            && let Field::Data(json) = field(line)
        {
            events.extend(serde_json::from_slice(json).ok());
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use leafgate_admin::PolicyStatus;

    use super::*;

    fn event(loads: u64) -> Event {
        let (source, generation) = ("none".to_owned(), "é".to_owned());
        Event::Policy { policy: PolicyStatus { source, generation, loads, ..PolicyStatus::default() } }
    }

    #[test]
    fn events_survive_every_cut() {
        let frame =
            |loads| format!("event: policy\ndata: {}\n\n", serde_json::to_string(&event(loads)).unwrap());
        let stream =
            format!(": heartbeat\n\n{}event: new\ndata: {{\"event\":\"new\"}}\n\n{}", frame(1), frame(2));
        for cut in 0..=stream.len() {
            let mut lines = Lines::new(MAX_LINE);
            let stream = Bytes::from(stream.clone());
            let mut events = decoded(&mut lines, stream.slice(..cut));
            events.extend(decoded(&mut lines, stream.slice(cut..)));
            assert_eq!(events, [event(1), event(2)], "cut at {cut}");
        }
    }
}
