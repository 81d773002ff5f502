//! Reading a request's body as a whole, within bounds.
//!
//! Bytes are only ever gathered, never decoded piecewise: a chunk may end inside a character.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body::Body;
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::refusal::{Code, Refusal};

/// Bounds on one request body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes, as they come over the wire.
    pub(crate) size: usize,
    /// How long the client may be silent within its body.
    pub(crate) idle: Duration,
}

/// What is set aside before the first byte is there, whatever length the client declares.
const FIRST_BUFFER: usize = 256 * 1024;

/// A refused body is read this many times its bound before the connection is given up.
const DRAIN_FACTOR: usize = 4;

/// Reads a body to its end. Trailers are dropped: an intermediary may (RFC 9110, 6.5.1), and no rule looks at them.
pub(crate) async fn read<B>(body: &mut B, bounds: Bounds) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    let too_large = || {
        Refusal::too_large(format!(
            "the request body is larger than {} bytes, the most this gate reads; send less, or raise the limit",
            bounds.size
        ))
    };
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if declared > bounds.size {
        return Err(too_large());
    }
    let mut bytes = BytesMut::with_capacity(declared.min(FIRST_BUFFER));
    while let Some(frame) = timeout(bounds.idle, body.frame()).await.map_err(|_| stalled(bounds.idle))? {
        let frame =
            frame.map_err(|_| Refusal::malformed("the request body broke off or was framed wrongly"))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > bounds.size {
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

/// Reads and forgets what is left of a refused body, so that a client that is still sending gets to read the refusal.
///
/// Gives up, and so closes the connection, where the rest is long or does not come.
pub(crate) async fn drain<B>(mut body: B, bounds: Bounds)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut left = bounds.size.saturating_mul(DRAIN_FACTOR);
    while let Ok(Some(Ok(frame))) = timeout(bounds.idle, body.frame()).await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

fn stalled(idle: Duration) -> Refusal {
    Refusal::new(
        StatusCode::REQUEST_TIMEOUT,
        Code::Stalled,
        format!("nothing of the request body came for {} s", idle.as_secs()),
    )
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;

    const BOUNDS: Bounds = Bounds { size: 8, idle: Duration::from_secs(5) };

    fn chunks(chunks: &'static [&'static [u8]]) -> impl Body<Data = Bytes, Error = std::io::Error> + Unpin {
        StreamBody::new(stream::iter(chunks.iter().map(|chunk| Ok(Frame::data(Bytes::from_static(chunk))))))
    }

    #[tokio::test]
    async fn the_bound_is_the_largest_body_that_passes() {
        let whole = read(&mut chunks(&[b"1234", b"", b"5678"]), BOUNDS).await.unwrap();
        assert_eq!(whole, "12345678");
        let refused = read(&mut chunks(&[b"1234", b"56789"]), BOUNDS).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn a_declared_length_over_the_bound_is_refused_unread() {
        let mut body = http_body_util::Full::new(Bytes::from_static(b"123456789"));
        let refused = read(&mut body, BOUNDS).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(!body.is_end_stream(), "nothing was read");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_not_waited_for_without_end() {
        let mut body = StreamBody::new(stream::pending::<Result<Frame<Bytes>, std::io::Error>>());
        let refused = read(&mut body, BOUNDS).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::REQUEST_TIMEOUT);
        drain(body, BOUNDS).await;
    }
}
