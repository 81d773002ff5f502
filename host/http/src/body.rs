//! Reading a request's body as a whole, within bounds.
//!
//! Bytes are only ever gathered, never decoded piecewise: a chunk may end inside a character. A client that sends slowly holds memory
//! and a connection, so it must make progress, and be done after a while.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout};

use crate::budget::Reservation;
use crate::refusal::{Code, Refusal};

/// Bounds on one request body.
#[derive(Clone, Copy, Debug)]
pub struct BodyBounds {
    /// Bytes, as they come over the wire.
    pub size: usize,
    /// How long the client may take for each `PROGRESS` bytes of its body.
    pub idle: Duration,
    /// How long it may take for the whole body.
    pub time: Duration,
}

/// So many bytes must come, or the body must end, in each period of [`BodyBounds::idle`]. A tenth of what a bad line carries.
const PROGRESS: usize = 16 * 1024;

/// What is set aside before the first byte is there, whatever length the client declares.
const FIRST_BUFFER: usize = 256 * 1024;

/// How many times what has come is set aside for what a client says will come.
const TRUST: usize = 4;

/// A refused body is read this many times its bound before the connection is given up.
const DRAIN_FACTOR: usize = 4;

/// Reads a body to its end, covered by a reservation of its own size. Trailers are dropped: an intermediary may (RFC 9110, 6.5.1), and
/// no rule looks at them.
pub async fn read_within(
    body: &mut (impl Body<Data = Bytes> + Unpin),
    bounds: BodyBounds,
    reservation: &mut Reservation,
) -> Result<Bytes, Refusal> {
    let declared = declared(body, bounds)?;
    let mut pace = BodyPace::new(bounds);
    let mut bytes = Vec::with_capacity(declared.min(FIRST_BUFFER));
    reservation.cover(bytes.capacity())?;
    while let Some(frame) = pace.next(body).await? {
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > bounds.size {
            return Err(too_large(bounds));
        }
        make_room(&mut bytes, data.len(), declared);
        bytes.extend_from_slice(&data);
        reservation.cover(bytes.capacity())?;
    }
    Ok(bytes.into())
}

/// Returns the length that a body is declared to have, 0 where it is not known before its end.
fn declared(body: &impl Body, bounds: BodyBounds) -> Result<usize, Refusal> {
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if declared > bounds.size { Err(too_large(bounds)) } else { Ok(declared) }
}

fn too_large(bounds: BodyBounds) -> Refusal {
    Refusal::too_large(format!(
        "the request body is larger than {} bytes, the most that this gate reads (limit `body`); send less at a time",
        bounds.size
    ))
}

/// Makes room for `more` bytes, and where a body is as long as its client declares, for hardly any
/// too many.
fn make_room(bytes: &mut Vec<u8>, more: usize, declared: usize) {
    let needed = bytes.len() + more;
    if needed <= bytes.capacity() {
        return;
    }
    match needed <= declared {
        true => bytes.reserve_exact(needed.saturating_mul(TRUST).min(declared) - bytes.len()),
        // It comes in chunks, and nobody knows how many.
        false => bytes.reserve(more),
    }
}

/// The client went away, or framed its body so that nobody knows where it ends.
fn broken_off() -> Refusal {
    Refusal::malformed("the request body broke off or was framed wrongly")
}

/// Reads a small body that counts towards no budget.
pub async fn read(
    body: &mut (impl Body<Data = Bytes> + Unpin),
    bounds: BodyBounds,
) -> Result<Bytes, Refusal> {
    read_within(body, bounds, &mut Reservation::unbounded()).await
}

/// How fast a body comes.
struct BodyPace {
    bounds: BodyBounds,
    /// What is left of the time for the whole body.
    time: Duration,
    /// What is left of the present period, and what came in it.
    idle: Duration,
    came: usize,
}

impl BodyPace {
    fn new(bounds: BodyBounds) -> Self {
        let BodyBounds { time, idle, .. } = bounds;
        BodyPace { bounds, time, idle, came: 0 }
    }

    /// Returns the next frame of a body, `None` at its end. Waits for as long as the client may take.
    async fn next(
        &mut self,
        body: &mut (impl Body<Data = Bytes> + Unpin),
    ) -> Result<Option<Frame<Bytes>>, Refusal> {
        let began = Instant::now();
        let frame = timeout(self.idle.min(self.time), body.frame()).await.map_err(|_| self.too_slow())?;
        let waited = began.elapsed();
        (self.time, self.idle) = (self.time.saturating_sub(waited), self.idle.saturating_sub(waited));
        let frame = frame.transpose().map_err(|_| broken_off())?;
        self.came += frame.as_ref().and_then(Frame::data_ref).map_or(0, Bytes::len);
        if self.came >= PROGRESS {
            (self.came, self.idle) = (0, self.bounds.idle);
        }
        Ok(frame)
    }

    fn too_slow(&self) -> Refusal {
        let message = if self.time <= self.idle {
            let seconds = self.bounds.time.as_secs_f64();
            format!("the request body was not complete after {seconds} s (limit `body-time`)")
        } else {
            let seconds = self.bounds.idle.as_secs_f64();
            format!("less than {PROGRESS} bytes of the request body came within {seconds} s (limit `idle`)")
        };
        Refusal::new(StatusCode::REQUEST_TIMEOUT, Code::Stalled, message)
    }
}

/// Reads and forgets what is left of a refused body, so that a client that is still sending gets to read the refusal.
///
/// Gives up, and so closes the connection, where the rest is long or does not come.
pub async fn drain(mut body: impl Body<Data = Bytes> + Unpin, bounds: BodyBounds) {
    let mut left = bounds.size.saturating_mul(DRAIN_FACTOR);
    let mut pace = BodyPace::new(bounds);
    while let Ok(Some(frame)) = pace.next(&mut body).await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::StreamBody;

    use super::*;

    const BOUNDS: BodyBounds =
        BodyBounds { size: 8, idle: Duration::from_secs(5), time: Duration::from_secs(20) };

    fn chunks(chunks: &'static [&'static [u8]]) -> impl Body<Data = Bytes, Error = std::io::Error> + Unpin {
        StreamBody::new(stream::iter(chunks.iter().map(|chunk| Ok(Frame::data(Bytes::from_static(chunk))))))
    }

    #[tokio::test]
    async fn the_bound_is_the_largest_body_that_passes() {
        let whole = read(&mut chunks(&[b"1234", b"", b"5678"]), BOUNDS).await.unwrap();
        assert_eq!(whole, "12345678");
        let refused = read(&mut chunks(&[b"1234", b"56789"]), BOUNDS).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn a_declared_length_over_the_bound_is_refused_unread() {
        let mut body = http_body_util::Full::new(Bytes::from_static(b"123456789"));
        let refused = read(&mut body, BOUNDS).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(!body.is_end_stream(), "nothing was read");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_not_waited_for_without_end() {
        let mut body = StreamBody::new(stream::pending::<Result<Frame<Bytes>, std::io::Error>>());
        let refused = read(&mut body, BOUNDS).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::REQUEST_TIMEOUT);
        assert!(refused.message.contains("limit `idle`"), "{}", refused.message);
        drain(body, BOUNDS).await;
    }

    /// A chunk of so many bytes each second, for ever.
    fn trickle(bytes: usize) -> impl Body<Data = Bytes, Error = std::io::Error> + Unpin {
        StreamBody::new(Box::pin(stream::unfold((), move |()| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok(Frame::data(Bytes::from(vec![b' '; bytes]))), ()))
        })))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_trickles_is_not_waited_for_without_end() {
        let bounds = BodyBounds { size: usize::MAX, ..BOUNDS };
        for (bytes, seconds, limit) in [(1, 5, "limit `idle`"), (PROGRESS, 20, "limit `body-time`")] {
            let start = Instant::now();
            let refused = read(&mut trickle(bytes), bounds).await.unwrap_err();
            assert_eq!(start.elapsed().as_secs(), seconds);
            assert!(refused.message.contains(limit), "{}", refused.message);
            let start = Instant::now();
            drain(trickle(bytes), bounds).await;
            assert_eq!(start.elapsed().as_secs(), seconds);
        }
    }

    #[tokio::test]
    async fn a_body_that_does_not_fit_into_what_is_left_is_refused() {
        let budget = crate::budget::BodyBudget::new(8192);
        let (mut one, mut two) = (budget.reserve(), budget.reserve());
        let bounds = BodyBounds { size: usize::MAX, ..BOUNDS };
        let body = || http_body_util::Full::new(Bytes::from(vec![b' '; 5000]));
        read_within(&mut body(), bounds, &mut one).await.unwrap();
        let refused = read_within(&mut body(), bounds, &mut two).await.unwrap_err();
        assert_eq!(refused.code, Code::Busy);
        drop(one);
        read_within(&mut body(), bounds, &mut two).await.unwrap();
    }
}
