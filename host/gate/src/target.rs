//! Where requests go: the address of an upstream, its name, and whose endpoints it has.

use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use leafgate_words::words;

words! {
    /// Whose endpoints an upstream has, which decides what some paths are.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum UpstreamKind {
        /// Those of the models' APIs alone.
        #[default]
        Models = "models",
        /// GitHub Copilot's as well.
        Copilot = "copilot",
    }
    /// Returns the word for it in settings and in the status.
    pub fn name = 0;
}

/// Where requests go: a URL, or `echo:`, the built-in endpoint that answers with the request it got.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub enum UpstreamTarget {
    /// The built-in endpoint for tests and trials; it needs no network and no key.
    #[display("echo:")]
    Echo,
    /// An HTTP or HTTPS endpoint.
    #[display("{}://{}{}", _0.scheme, _0.authority, _0.prefix)]
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
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.authority.host();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    }

    /// The URL of a request: its path and query stay byte for byte.
    pub(crate) fn join(&self, path_and_query: &str) -> Result<Uri, http::Error> {
        let path = format!("{}{path_and_query}", self.prefix);
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
    }
}

/// Longest name. It stands in every path of its clients.
const LONGEST: usize = 40;

/// The name of an upstream: lower-case letters, digits and hyphens, so that it means the same in a
/// path, in TOML and in a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{_0}")]
pub struct UpstreamName(Box<str>);

/// A text that cannot name an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of an upstream has 1 to {LONGEST} lower-case letters, digits and hyphens, and begins with a letter"
)]
pub struct UpstreamNameError;

impl FromStr for UpstreamName {
    type Err = UpstreamNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        if !begins || text.len() > LONGEST || !text.bytes().all(fits) {
            return Err(UpstreamNameError);
        }
        Ok(UpstreamName(text.into()))
    }
}

impl UpstreamName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
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

    #[test]
    fn what_names_an_upstream() {
        for name in ["a", "openai", "b-2"] {
            assert_eq!(name.parse::<UpstreamName>().unwrap().as_str(), name);
        }
        for text in ["", "A", "-a", "2", "a/b", "a.b", "é", &"a".repeat(LONGEST + 1)] {
            assert_eq!(text.parse::<UpstreamName>(), Err(UpstreamNameError), "{text}");
        }
    }
}
