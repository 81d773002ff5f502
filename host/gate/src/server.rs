//! Serving HTTP/1.1 on a loopback listener: accepts, gives each connection a task, and ends in good order.
//!
//! Both listeners of a gate are served by it. It knows nothing of what is answered.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpStream;

use crate::content::Content;
use crate::listener::Listener;

/// How long accepting rests after it failed, which it does when file descriptors run out: an immediate retry would spin.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// How long a server waits, and for what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// For the header of a request.
    pub(crate) idle: Duration,
    /// For requests in flight, after it was told to stop.
    pub(crate) grace: Duration,
}

/// Serves until `shutdown` is ready, then lets the requests in flight end, for a while.
pub(crate) async fn serve<A, F>(
    listener: Listener,
    patience: Patience,
    shutdown: impl Future<Output = ()>,
    answer: A,
) where
    A: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Content>> + Send,
{
    let graceful = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);
    let local = listener.address();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        match accepted {
            Ok(stream) => converse(stream, local, patience.idle, answer.clone(), &graceful),
            Err(error) => {
                tracing::warn!(target: "leafgate::listener", %error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(patience.grace, graceful.shutdown()).await;
}

/// Serves one connection in a task of its own: what fails there, fails there alone.
fn converse<A, F>(
    stream: TcpStream,
    local: SocketAddr,
    idle: Duration,
    answer: A,
    graceful: &GracefulShutdown,
) where
    A: Fn(Request<Incoming>, SocketAddr) -> F + Send + 'static,
    F: Future<Output = Response<Content>> + Send,
{
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let answer = answer(request, local);
        async move { Ok::<_, std::convert::Infallible>(answer.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .serve_connection(TokioIo::new(stream), service);
    let watched = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = watched.await {
            tracing::debug!(target: "leafgate::listener", cause = cause(&error), "a connection broke off");
        }
    });
}

/// Names why a connection ended without its words, which may quote what a client sent.
fn cause(error: &hyper::Error) -> &'static str {
    match error {
        error if error.is_parse() => "not HTTP",
        error if error.is_timeout() => "too slow",
        error if error.is_incomplete_message() => "cut off",
        _ => "lost",
    }
}
