//! Serving HTTP/1.1 on a loopback listener: accepts, gives each connection a task, and ends in good order.
//!
//! Both listeners of a gate are served by it, each within bounds of its own, so that clients cannot shut the admin API out. It knows
//! nothing of what is answered.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::connections::{CLOSING, Connections, Slot};
use crate::content::{self, Content};
use crate::in_place::InPlace;
use crate::listener::Listener;
use crate::stall::WithoutStall;
use crate::throttle::Throttle;

/// How long accepting rests after it failed, which it does when file descriptors run out: an immediate retry would spin.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// Bytes of a connection that are read ahead, and so what a head may have: as much as large providers
/// take. One of twice as many is refused, since hyper looks behind each read. By itself it sets three
/// times as much aside, for each connection that sends a body.
const READ_AHEAD: usize = 128 * 1024;

/// How often a line is logged about connections that cannot be served at once.
const LOG_PERIOD: Duration = Duration::from_secs(60);

/// How long a server waits, and for what.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the header of a request, and for the next request of a connection.
    pub idle: Duration,
    /// For a client to read on in its answer.
    pub unread: Duration,
    /// For requests in flight, after it was told to stop.
    pub grace: Duration,
}

/// Serves until `shutdown` is ready, then lets the requests in flight end, for a while. Holds at most `limit` connections.
pub async fn serve<A, F>(
    listener: Listener,
    limit: usize,
    timeouts: Timeouts,
    shutdown: impl Future<Output = ()>,
    answer: A,
) where
    A: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Content>> + Send + 'static,
{
    let connections = Connections::new(limit);
    let (stop, stopping) = watch::channel(false);
    let mut shutdown = pin!(shutdown);
    let local = listener.address();
    let log = ServerLog::new(limit);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &connections, &log) => accepted,
            () = &mut shutdown => break,
        };
        let Some((stream, slot)) = accepted else { continue };
        let served = serve_connection(stream, slot, local, timeouts, answer.clone(), stopping.clone());
        tokio::spawn(InPlace::new(Box::pin(served)));
    }
    drop(listener);
    let _ = stop.send(true);
    let _ = timeout(timeouts.grace, connections.all_closed()).await;
}

/// Takes the next connection, and a slot for it.
async fn accept(
    listener: &Listener,
    connections: &Connections,
    log: &ServerLog,
) -> Option<(TcpStream, Slot)> {
    let stream = match listener.accept().await {
        Ok(stream) => stream,
        Err(error) => {
            log.failed(&error);
            sleep(ACCEPT_REST).await;
            return None;
        }
    };
    let slot = match connections.free() {
        Some(slot) => slot,
        None => {
            log.full();
            connections.next().await
        }
    };
    Some((stream, slot))
}

/// Serves one connection: what fails there, fails there alone.
async fn serve_connection<A, F>(
    stream: TcpStream,
    slot: Slot,
    local: SocketAddr,
    timeouts: Timeouts,
    answer: A,
    mut stopping: watch::Receiver<bool>,
) where
    A: Fn(Request<Incoming>, SocketAddr) -> F + Send + 'static,
    F: Future<Output = Response<Content>> + Send + 'static,
{
    let _ = stream.set_nodelay(true);
    let connection = Arc::clone(&slot.connection);
    let service = service_fn(move |request| {
        let busy = connection.begin();
        let answer = answer(request, local);
        async move { Ok::<_, std::convert::Infallible>(answer.await.map(|body| content::with(body, busy))) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.idle)
        .max_buf_size(READ_AHEAD)
        .serve_connection(WithoutStall::new(TokioIo::new(stream), timeouts.unread), service)
        // What is upgraded goes on beside this task.
        .with_upgrades();
    let mut connection = pin!(connection);
    let mut closing = pin!(sleep(Duration::MAX));
    let (mut stopped, mut gives_way) = (false, false);
    loop {
        tokio::select! {
            // The order makes sure that a connection is looked at as it is: a request is only taken by the last branch.
            biased;
            _ = stopping.wait_for(|stop| *stop), if !stopped => {
                stopped = true;
                connection.as_mut().graceful_shutdown();
            }
            () = slot.asked_to_close(), if !gives_way => {
                if slot.is_idle() {
                    gives_way = true;
                    connection.as_mut().graceful_shutdown();
                    closing.set(sleep(CLOSING));
                }
            }
            () = closing.as_mut(), if gives_way && slot.is_idle() => return,
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(target: "leafgate::listener", cause = cause(&error), "a connection broke off");
                }
                return;
            }
        }
    }
}

/// What is logged about connections, a line in a while.
struct ServerLog {
    limit: usize,
    failures: Throttle,
    waits: Throttle,
}

impl ServerLog {
    fn new(limit: usize) -> Self {
        ServerLog { limit, failures: Throttle::new(LOG_PERIOD), waits: Throttle::new(LOG_PERIOD) }
    }

    fn failed(&self, error: &std::io::Error) {
        if let Some(times) = self.failures.pass() {
            tracing::warn!(target: "leafgate::listener", %error, times, "connections cannot be accepted");
        }
    }

    fn full(&self) {
        if let Some(times) = self.waits.pass() {
            tracing::warn!(
                target: "leafgate::listener",
                limit = self.limit,
                times,
                "all connections are in use (limit `connections`): idle ones are closed for new ones"
            );
        }
    }
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
