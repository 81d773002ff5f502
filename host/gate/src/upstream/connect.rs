//! Connecting to the upstream: name, proxy, TCP and TLS within one timeout, and in words why it failed.

use std::error::Error;
use std::fmt::Write as _;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use super::BaseUrl;
use crate::reach::{Reach, ReachError};

type BoxError = Box<dyn Error + Send + Sync>;
type Pending<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// Why the upstream cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreachable {
    #[error("the proxy on the way to it cannot be reached, or refuses (setting `proxy`)")]
    Proxy,
    #[error("no address is known for its host name")]
    UnknownHost,
    #[error("nothing listens on its port")]
    Refused,
    #[error(
        "no TLS connection could be made: its certificate does not fit (setting `ca`), it wants another of ours, or it speaks no TLS"
    )]
    Tls,
    #[error("no connection could be made within {} s (limit `connect`)", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("the connection failed")]
    Other,
}

impl Unreachable {
    /// Tells from the chain of causes.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Self {
        let found = causes(error).find_map(|cause| {
            if let Some(KnownCause(why, _)) = cause.downcast_ref() {
                return Some(*why);
            }
            if cause.is::<rustls::Error>() {
                return Some(Unreachable::Tls);
            }
            let refused = cause.downcast_ref().map(io::Error::kind) == Some(io::ErrorKind::ConnectionRefused);
            refused.then_some(Unreachable::Refused)
        });
        found.unwrap_or(Unreachable::Other)
    }
}

/// Returns an error and its causes, from the outermost on.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| cause_of(*error))
}

fn cause_of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    // What an I/O error was made of is itself no source of it, only its source is.
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source())
}

/// Returns the words of an error and of its causes, each once.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut words = String::new();
    for cause in causes(error) {
        let cause = cause.to_string();
        // Some errors quote a cause.
        if !words.contains(&cause) {
            let _ = write!(words, "{}{cause}", if words.is_empty() { "" } else { ": " });
        }
    }
    words
}

/// How long a connection is silent before it is asked whether it still lives. Network address
/// translation forgets it after a minute or more.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A service that is a function: how a name is looked up, or a place reached.
pub(super) struct Way<Q, R>(Arc<dyn Fn(Q) -> Pending<R> + Send + Sync>);

/// Connects within one timeout.
pub(super) type Connector = Way<Uri, MaybeHttpsStream<TokioIo<TcpStream>>>;

impl<Q: 'static, R: 'static> Way<Q, R> {
    fn new<F>(way: impl Fn(Q) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<R, BoxError>> + Send + 'static,
    {
        Way(Arc::new(move |to| Box::pin(way(to))))
    }
}

impl<Q, R> Clone for Way<Q, R> {
    fn clone(&self) -> Self {
        Way(Arc::clone(&self.0))
    }
}

impl<Q, R> Service<Q> for Way<Q, R> {
    type Response = R;
    type Error = BoxError;
    type Future = Pending<R>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Q) -> Self::Future {
        (self.0)(to)
    }
}

/// Returns the way to an upstream, within one timeout. A proxy is asked for a tunnel, whatever the scheme: so it sees no request.
pub(super) fn connector(base: &BaseUrl, reach: &Reach, limit: Duration) -> Result<Connector, ReachError> {
    let tls = reach.tls(base.is_https())?;
    // The system's resolver, with an error of its own type, so that nobody must tell by words.
    let resolver = Way::new(|name: Name| async {
        let addresses =
            GaiResolver::new().call(name).await.map_err(|error| known(Unreachable::UnknownHost, error))?;
        Ok(addresses.collect::<Vec<_>>().into_iter())
    });
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    // Divided among the addresses of a name, so that one that is silent leaves time for the next.
    tcp.set_connect_timeout(Some(limit));
    // An idle connection must not be forgotten by what stands on the way, nor a dead one kept.
    tcp.set_keepalive(Some(KEEPALIVE));
    let way = match reach.proxy_to(base)? {
        None => Way::new(move |to: Uri| {
            let connecting = tcp.clone().call(to);
            async move { connecting.await.map_err(Into::into) }
        }),
        Some(proxy) => {
            let mut tunnel = Tunnel::new(proxy.uri().clone(), tcp);
            if let Some(authorization) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(authorization.clone());
            }
            Way::new(move |to| {
                let connecting = tunnel.clone().call(to);
                async move { connecting.await.map_err(|error| known(Unreachable::Proxy, error)) }
            })
        }
    };
    let https =
        HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(way);
    Ok(Way::new(move |to| {
        let connecting = https.clone().call(to);
        async move {
            timeout(limit, connecting).await.map_err(|_| KnownCause(Unreachable::TimedOut(limit), None))?
        }
    }))
}

/// An error that says by itself why the upstream cannot be reached.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct KnownCause(Unreachable, #[source] Option<BoxError>);

fn known(why: Unreachable, source: impl Into<BoxError>) -> BoxError {
    KnownCause(why, Some(source.into())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] BoxError);

    #[test]
    fn a_cause_is_found_wherever_it_stands_in_the_chain() {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let timed_out = Unreachable::TimedOut(Duration::from_secs(3));
        for (error, kind) in [
            (BoxError::from(refused()), Unreachable::Refused),
            (Box::new(Outer(refused().into())), Unreachable::Refused),
            (Box::new(Outer(io::Error::other(rustls::Error::DecryptError).into())), Unreachable::Tls),
            (known(Unreachable::UnknownHost, refused()), Unreachable::UnknownHost),
            (Box::new(Outer(known(Unreachable::Proxy, refused()))), Unreachable::Proxy),
            (Box::new(Outer(KnownCause(timed_out, None).into())), timed_out),
            ("else".into(), Unreachable::Other),
        ] {
            assert_eq!(Unreachable::of(&*error), kind, "{error:?}");
        }
    }

    #[test]
    fn a_chain_says_everything_once() {
        let again = known(Unreachable::UnknownHost, "try again");
        let error = Outer(Outer(io::Error::other(again).into()).into());
        assert_eq!(chain(&error), "outer: no address is known for its host name: try again");
    }
}
