//! A client's connection that may not leave an answer unread for ever.
//!
//! What is written to a client that reads nothing stays here, and so does the slot of its
//! connection. Time runs only while something waits to be written, and begins anew with every byte
//! that the client takes.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Instant, Sleep, sleep};

/// A connection whose writes fail once its peer has read nothing for too long.
pub(crate) struct WithoutStall<T> {
    stream: T,
    limit: Duration,
    /// There from the first write that had to wait.
    timer: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl<T> WithoutStall<T> {
    pub(crate) fn new(stream: T, limit: Duration) -> Self {
        WithoutStall { stream, limit, timer: None, waiting: false }
    }

    /// Takes note of how a write went, and fails one that has waited for too long.
    fn watch<R>(&mut self, context: &mut Context<'_>, wrote: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if wrote.is_ready() {
            self.waiting = false;
            return wrote;
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(Duration::ZERO)));
        if !self.waiting {
            self.waiting = true;
            timer.as_mut().reset(Instant::now() + self.limit);
        }
        std::task::ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: Read + Unpin> Read for WithoutStall<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for WithoutStall<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.watch(context, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use hyper_util::rt::TokioIo;
    use tokio::io::AsyncReadExt;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    async fn write(stream: &mut WithoutStall<TokioIo<tokio::io::DuplexStream>>) -> io::Result<usize> {
        poll_fn(|context| Pin::new(&mut *stream).poll_write(context, &[0; 16])).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_given_up_and_one_that_reads_slowly_is_not() {
        let (ours, mut theirs) = tokio::io::duplex(16);
        let mut ours = WithoutStall::new(TokioIo::new(ours), LIMIT);
        assert_eq!(write(&mut ours).await.unwrap(), 16);
        let reading = tokio::spawn(async move {
            for _ in 0..3 {
                tokio::time::sleep(LIMIT - Duration::from_secs(1)).await;
                theirs.read_exact(&mut [0; 16]).await.unwrap();
            }
            theirs
        });
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(write(&mut ours).await.unwrap(), 16);
        }
        let _theirs = reading.await.unwrap();
        assert_eq!(write(&mut ours).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), 3 * (LIMIT - Duration::from_secs(1)) + LIMIT);
    }
}
