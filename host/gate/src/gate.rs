//! The gate itself: takes connections, and takes each request through guard, route, body, policy, upstream and answer.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::header::EXPECT;
use http::{Request, Response, request};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use leafgate_policy::Policy;
use leafgate_tree::Format;
use leafgate_vault::{TokenKeys, Vault};
use tokio::sync::Semaphore;

use crate::body::{self, Bounds};
use crate::coding::{self, Caps};
use crate::config::{GateConfig, GateLimits};
use crate::content::Content;
use crate::headers::{self, RequestChanges};
use crate::judge::{Case, Judged, Passed};
use crate::listener::Listener;
use crate::log::Entry;
use crate::refusal::Refusal;
use crate::route::Route;
use crate::session::Sessions;
use crate::upstream::{Outgoing, RootsError, SendError, Upstream};
use crate::{answer, guard};

/// Bodies above this are judged on the blocking pool: parsing and scanning 64 KB takes about as long as handing it over is worth.
const INLINE_BODY: usize = 64 * 1024;

/// How long accepting rests after it failed, which it does when file descriptors run out: an immediate retry would spin.
const ACCEPT_REST: std::time::Duration = std::time::Duration::from_millis(50);

/// A gate before one upstream.
#[derive(Clone)]
pub struct Gate(Arc<Shared>);

struct Shared {
    upstream: Upstream,
    policy: ArcSwap<Policy>,
    sessions: Arc<Sessions>,
    limits: GateLimits,
    judges: Arc<Semaphore>,
}

impl Gate {
    /// A gate that judges by `policy` and makes tokens with `keys`.
    ///
    /// # Errors
    /// When the upstream is https and this system's certificate store cannot be read.
    pub fn new(config: GateConfig, keys: TokenKeys, policy: Arc<Policy>) -> Result<Self, RootsError> {
        let limits = config.limits;
        Ok(Gate(Arc::new(Shared {
            upstream: Upstream::new(config.upstream, limits.connect)?,
            policy: ArcSwap::new(policy),
            sessions: Arc::new(Sessions::new(keys, limits.sessions)),
            judges: Arc::new(Semaphore::new(limits.judges.max(1))),
            limits,
        })))
    }

    /// Judges the requests that come from now on by another policy. Those in flight keep the one that they began with.
    pub fn replace_policy(&self, policy: Arc<Policy>) {
        self.0.policy.store(policy);
    }

    /// Serves until `shutdown` is ready, then lets the requests in flight end, for a while.
    pub async fn serve(&self, listener: Listener, shutdown: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut shutdown => break,
            };
            match accepted {
                Ok(stream) => self.0.clone().converse(stream, listener.address(), &graceful),
                Err(error) => {
                    tracing::warn!(target: "leafgate::listener", %error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_REST).await;
                }
            }
        }
        drop(listener);
        let _ = tokio::time::timeout(self.0.limits.grace, graceful.shutdown()).await;
    }
}

impl Shared {
    /// Serves one connection in a task of its own: what fails there, fails there alone.
    fn converse(
        self: Arc<Self>,
        stream: tokio::net::TcpStream,
        local: SocketAddr,
        graceful: &GracefulShutdown,
    ) {
        let _ = stream.set_nodelay(true);
        let idle = self.limits.idle;
        let service = service_fn(move |request| {
            let shared = self.clone();
            async move { Ok::<_, std::convert::Infallible>(shared.respond(request, local).await) }
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

    /// Answers one request, whatever happens.
    async fn respond(&self, request: Request<Incoming>, local: SocketAddr) -> Response<Content> {
        let (parts, mut body) = request.into_parts();
        let mut entry = Entry::new(&parts.method, parts.uri.path());
        let mut response = match self.pass(&parts, &mut body, local, &mut entry).await {
            Ok(response) => response,
            Err(refusal) => {
                // Who expects `100 Continue` has sent nothing yet, and reading on would ask for it.
                if !parts.headers.contains_key(EXPECT) && !body.is_end_stream() {
                    body::drain(body, self.bounds()).await;
                }
                entry.refused(refusal.code());
                refusal.into_response()
            }
        };
        entry.mark(response.headers_mut());
        let status = response.status();
        response.map(|body| entry.follow(status, body))
    }

    /// The way of a request, or the place where it ends.
    async fn pass(
        &self,
        parts: &request::Parts,
        body: &mut Incoming,
        local: SocketAddr,
        entry: &mut Entry,
    ) -> Result<Response<Content>, Refusal> {
        guard::check(parts, local)?;
        let passed = match Route::of(parts, !body.is_end_stream())? {
            Route::Pass => None,
            Route::Walk(format) => Some(self.walk(parts, body, format, entry).await?),
        };
        let (outgoing, vault) = outgoing(parts, passed);
        entry.sent(outgoing.body.as_ref().map_or(0, Bytes::len));
        let walked = outgoing.body.is_some();
        let response = self.upstream.send(outgoing).await.map_err(unreached)?;
        if walked {
            answer::refuse_redirect(response.status())?;
        }
        answer::prepare(response, vault, self.limits.answer).await
    }

    /// Reads a body and has it judged by the generation that is in force now.
    async fn walk(
        &self,
        parts: &request::Parts,
        body: &mut Incoming,
        format: Format,
        entry: &mut Entry,
    ) -> Result<Passed, Refusal> {
        let policy = self.policy.load_full();
        entry.generation(policy.generation_name());
        let codings = coding::codings(&parts.headers)?;
        let body = body::read(body, self.bounds()).await?;
        entry.received(body.len());
        let caps = Caps { size: self.limits.body, ratio: self.limits.ratio };
        let case = Case { body, codings, caps, format, policy, sessions: self.sessions.clone() };
        let Judged { outcome, tally } = self.judge(case).await?;
        entry.judged(tally);
        outcome
    }

    /// Judges here what is quickly judged, and elsewhere what would keep other requests waiting.
    async fn judge(&self, case: Case) -> Result<Judged, Refusal> {
        if case.body.len() <= INLINE_BODY && case.codings.is_empty() && !case.policy.has_plugins() {
            return Ok(case.judge());
        }
        let turn = self.judges.clone().acquire_owned().await.expect("the semaphore is never closed");
        let judged = tokio::task::spawn_blocking(move || {
            let judged = case.judge();
            drop(turn);
            judged
        });
        judged
            .await
            .map_err(|_| Refusal::internal("the policy could not be evaluated, so the request did not leave"))
    }

    fn bounds(&self) -> Bounds {
        Bounds { size: self.limits.body, idle: self.limits.idle }
    }
}

/// The request as it leaves, and the vault that its answer is restored from.
fn outgoing(parts: &request::Parts, passed: Option<Passed>) -> (Outgoing, Option<Vault>) {
    let (body, decoded, vault) = match passed {
        Some(Passed { body, decoded, vault }) => (Some(body), decoded, vault),
        None => (None, false, None),
    };
    let plain_answer = vault.as_ref().is_some_and(|vault| !vault.is_empty());
    let headers = headers::of_request(&parts.headers, RequestChanges { decoded, plain_answer });
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    (Outgoing { method: parts.method.clone(), path, headers, body }, vault)
}

/// What the network said goes to the log: the client cannot mend it.
fn unreached(error: SendError) -> Refusal {
    let source = std::error::Error::source(&error).map(ToString::to_string);
    tracing::warn!(target: "leafgate::upstream", cause = source.as_deref(), "{error}");
    Refusal::upstream(error.to_string())
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
