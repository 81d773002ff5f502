//! A model endpoint behind a gate. It is fixed when the gate starts, so the gate is no open relay; redirects are not followed.

mod connect;
mod idle;
mod reach;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use leafgate_admin::shown_url;
use tokio::time::timeout;

use self::connect::{Connector, Unreachable, chain};
use self::idle::WithoutSilence;
pub use self::reach::{Identity, Proxy, Reach, ReachError};
use crate::config::{GateLimits, UpstreamKind};
use crate::echo;
use crate::outgoing::{Outgoing, OutgoingBody};
use leafgate_http::content::{self, Content};
use leafgate_http::refusal::{Code, Refusal};

/// Where requests go: a URL, or `echo:`, the built-in endpoint that answers with the request it got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamTarget {
    /// The built-in endpoint for tests and trials; it needs no network and no key.
    Echo,
    /// An HTTP or HTTPS endpoint.
    Http(BaseUrl),
}

/// Scheme, authority and path prefix of an endpoint; the path of each request is appended to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    scheme: Scheme,
    authority: Authority,
    /// Without a slash at its end; empty for none.
    prefix: String,
}

/// A text that names no usable upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamTargetError {
    /// It does not parse.
    #[error("the upstream is no URL; write https://host, or echo: for the built-in one")]
    NoUrl,
    /// Something else than HTTP.
    #[error("the upstream must be an http:// or https:// URL, or echo:")]
    Scheme,
    /// Credentials in the URL would be sent nowhere and could be printed anywhere.
    #[error("the upstream must not hold a user name or password; clients send their own credentials")]
    Credentials,
    /// A query would have to be merged with that of each request.
    #[error("the upstream must not have a query")]
    Query,
    /// Every request would ask for `/v1/v1/...`.
    #[error(
        "the upstream must not end in /v1: the path of each request, which starts with /v1, is appended to it"
    )]
    Version,
}

impl UpstreamTarget {
    /// Returns whether requests to it reach the host of another one, in the same way; those to the built-in
    /// endpoint reach none.
    #[must_use]
    pub fn is_at_host_of(&self, other: &UpstreamTarget) -> bool {
        match (self, other) {
            (UpstreamTarget::Echo, _) => true,
            (UpstreamTarget::Http(one), UpstreamTarget::Http(other)) => {
                (&one.scheme, &one.authority) == (&other.scheme, &other.authority)
            }
            (UpstreamTarget::Http(_), UpstreamTarget::Echo) => false,
        }
    }
}

impl FromStr for UpstreamTarget {
    type Err = UpstreamTargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "echo:" {
            return Ok(UpstreamTarget::Echo);
        }
        let uri: Uri = text.parse().map_err(|_| UpstreamTargetError::NoUrl)?;
        let parts = uri.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(UpstreamTargetError::NoUrl);
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(UpstreamTargetError::Scheme);
        }
        if authority.as_str().contains('@') {
            return Err(UpstreamTargetError::Credentials);
        }
        let path = parts.path_and_query.unwrap_or_else(|| PathAndQuery::from_static("/"));
        if path.query().is_some() {
            return Err(UpstreamTargetError::Query);
        }
        let prefix = path.path().trim_end_matches('/');
        if prefix.ends_with("/v1") {
            return Err(UpstreamTargetError::Version);
        }
        Ok(UpstreamTarget::Http(BaseUrl { scheme, authority, prefix: prefix.to_owned() }))
    }
}

impl fmt::Display for UpstreamTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UpstreamTarget::Echo => f.write_str("echo:"),
            UpstreamTarget::Http(base) => write!(f, "{}://{}{}", base.scheme, base.authority, base.prefix),
        }
    }
}

/// The host of Copilot's completions, and the domain of all its other ones: one for each plan, each with a proxy.
const COPILOT_HOSTS: (&str, &str) = ("copilot-proxy.githubusercontent.com", ".githubcopilot.com");

impl UpstreamTarget {
    /// Returns whose endpoints are there, as its host tells.
    pub(crate) fn kind(&self) -> UpstreamKind {
        let UpstreamTarget::Http(base) = self else { return UpstreamKind::default() };
        let host = base.authority.host().trim_end_matches('.').to_ascii_lowercase();
        let (completions, domain) = COPILOT_HOSTS;
        match host == completions || host.ends_with(domain) {
            true => UpstreamKind::Copilot,
            false => UpstreamKind::Models,
        }
    }
}

impl BaseUrl {
    pub(crate) fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Returns whether it names this machine, which no proxy is asked for.
    fn is_loopback(&self) -> bool {
        let host = self.authority.host();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    }

    /// The URL of a request: its path and query stay byte for byte.
    fn join(&self, path_and_query: &str) -> Result<Uri, http::Error> {
        let path = format!("{}{path_and_query}", self.prefix);
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SendError {
    #[error("the request cannot be addressed to the upstream")]
    Address,
    #[error("{why}")]
    Connect {
        why: Unreachable,
        #[source]
        source: Error,
    },
    #[error("it sent no answer within {} s (limit `answer-head`)", limit.as_secs_f64())]
    Silent { limit: Duration },
    #[error("it broke off before it answered")]
    Broken(#[source] Error),
}

/// The upstream, ready to be asked.
pub(crate) struct Upstream {
    /// Its address, as people are told it.
    /// Its URL, as people are shown it.
    name: String,
    endpoint: Endpoint,
}

enum Endpoint {
    Echo,
    Http(Box<HttpUpstream>),
}

/// A client of one endpoint, with its pool of connections.
struct HttpUpstream {
    base: BaseUrl,
    client: Client<Connector, Either<Full<Bytes>, Incoming>>,
    answer_head: Duration,
    answer_idle: Duration,
}

impl Upstream {
    pub(crate) fn new(
        target: UpstreamTarget,
        reach: &Reach,
        limits: &GateLimits,
    ) -> Result<Self, ReachError> {
        let name = shown_url(&target.to_string());
        let endpoint = match target {
            UpstreamTarget::Echo => Endpoint::Echo,
            UpstreamTarget::Http(base) => Endpoint::Http(Box::new(HttpUpstream::new(base, reach, limits)?)),
        };
        Ok(Upstream { name, endpoint })
    }

    /// Returns whether a body may be sent while it comes.
    pub(crate) fn takes_streams(&self) -> bool {
        matches!(self.endpoint, Endpoint::Http(_))
    }

    /// Sends a request and returns the answer as soon as its header is there.
    pub(crate) async fn send(&self, outgoing: Outgoing) -> Result<Response<Content>, Refusal> {
        match &self.endpoint {
            Endpoint::Echo => Ok(echo::answer(&outgoing)),
            Endpoint::Http(upstream) => {
                upstream.send(outgoing).await.map_err(|error| self.unanswered(&error))
            }
        }
    }

    /// What the client reads names the upstream and the cause; what the network said is for the operator.
    fn unanswered(&self, error: &SendError) -> Refusal {
        let name = &self.name;
        let refusal = match error {
            SendError::Address | SendError::Connect { .. } => {
                Refusal::upstream(format!("this gate cannot reach its upstream {name}: {error}"))
            }
            SendError::Broken(_) => {
                Refusal::upstream(format!("this gate got no answer from its upstream {name}: {error}"))
            }
            SendError::Silent { .. } => Refusal::new(
                StatusCode::GATEWAY_TIMEOUT,
                Code::Upstream,
                format!("this gate got no answer from its upstream {name}: {error}"),
            ),
        };
        refusal.for_operator(chain(error))
    }
}

impl HttpUpstream {
    fn new(base: BaseUrl, reach: &Reach, limits: &GateLimits) -> Result<Self, ReachError> {
        let connector = Connector::new(&base, reach, limits.connect)?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            // An idle connection is a file as well; no more of them than clients could use.
            .pool_max_idle_per_host(limits.connections)
            .build(connector);
        let (answer_head, answer_idle) = (limits.answer_head, limits.answer_idle);
        Ok(HttpUpstream { base, client, answer_head, answer_idle })
    }

    async fn send(&self, outgoing: Outgoing) -> Result<Response<Content>, SendError> {
        let uri = self.base.join(&outgoing.path).map_err(|_| SendError::Address)?;
        // Kept until there is an answer: the body is in memory until then.
        let _reservation = outgoing.reservation;
        let mut request = Request::new(match outgoing.body {
            OutgoingBody::None => Either::Left(Full::default()),
            OutgoingBody::Whole(body) => Either::Left(Full::new(body)),
            OutgoingBody::Coming(body) => Either::Right(body),
        });
        *request.method_mut() = outgoing.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = outgoing.headers;
        let answer = timeout(self.answer_head, self.client.request(request)).await;
        let answer = answer.map_err(|_| SendError::Silent { limit: self.answer_head })?;
        let answer = answer.map_err(|error| match error.is_connect() {
            true => SendError::Connect { why: Unreachable::of(&error), source: error },
            false => SendError::Broken(error),
        })?;
        Ok(answer.map(|body| content::stream(WithoutSilence::new(body, self.answer_idle))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(upstream: &str, path: &str) -> String {
        let Ok(UpstreamTarget::Http(base)) = upstream.parse() else { panic!("{upstream} is a URL") };
        base.join(path).unwrap().to_string()
    }

    #[test]
    fn paths_are_appended_byte_for_byte() {
        assert_eq!(
            joined("https://api.example", "/v1/models?a=%7e&b"),
            "https://api.example/v1/models?a=%7e&b"
        );
        assert_eq!(joined("http://host:8080/api/", "/v1//x?"), "http://host:8080/api/v1//x?");
        assert_eq!("https://host/api/".parse::<UpstreamTarget>().unwrap().to_string(), "https://host/api");
        assert_eq!("echo:".parse::<UpstreamTarget>().unwrap(), UpstreamTarget::Echo);
    }

    #[test]
    fn a_host_tells_that_an_upstream_is_copilots() {
        for (url, kind) in [
            ("https://api.githubcopilot.com", UpstreamKind::Copilot),
            ("https://api.individual.githubcopilot.com", UpstreamKind::Copilot),
            ("https://API.Business.GitHubCopilot.com:443", UpstreamKind::Copilot),
            ("https://proxy.enterprise.githubcopilot.com", UpstreamKind::Copilot),
            ("https://copilot-proxy.githubusercontent.com", UpstreamKind::Copilot),
            ("https://githubcopilot.com.example", UpstreamKind::Models),
            ("https://notgithubcopilot.com", UpstreamKind::Models),
            ("https://raw.githubusercontent.com", UpstreamKind::Models),
            ("https://api.openai.com/api.githubcopilot.com", UpstreamKind::Models),
            ("echo:", UpstreamKind::Models),
        ] {
            assert_eq!(url.parse::<UpstreamTarget>().unwrap().kind(), kind, "{url}");
        }
    }

    #[test]
    fn what_is_no_upstream() {
        use UpstreamTargetError::{Credentials, NoUrl, Query, Scheme, Version};
        for (text, error) in [
            ("", NoUrl),
            ("api.example", NoUrl),
            ("/v1", NoUrl),
            ("ftp://host", Scheme),
            ("https://user:password@host", Credentials),
            ("https://host/?a=b", Query),
            ("https://host/v1/", Version),
        ] {
            assert_eq!(text.parse::<UpstreamTarget>(), Err(error), "{text}");
        }
    }
}
