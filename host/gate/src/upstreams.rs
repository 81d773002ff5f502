//! The upstreams of a gate: the first one, which serves every path, and those that a path names,
//! `/u/<name>/…`.
//!
//! All are fixed when the gate starts. What stands behind the name is what is routed, searched,
//! shown and sent: the name itself never leaves.

use std::sync::Arc;

use http::{Response, StatusCode, request};
use leafgate_admin::UpstreamStatus;
use leafgate_policy::Policy;
use leafgate_record::{NAMED_UPSTREAMS, chosen_upstream};

use crate::apis::echo;
use crate::config::{FirstUpstream, GateLimits, NamedUpstream, UpstreamConfig};
use crate::outgoing::Outgoing;
use crate::path::with_path;
use crate::reach::ReachError;
use crate::serving::ServingPolicy;
use crate::target::{UpstreamKind, UpstreamName};
use crate::upstream::Upstream;
use leafgate_http::{Code, Content, Refusal};

/// An upstream and how clients reach it.
#[derive(derive_more::Deref)]
pub(crate) struct Lane {
    /// `None` for one that no path names.
    name: Option<UpstreamName>,
    /// Its URL, as digests and status name it.
    pub(crate) address: Arc<str>,
    /// `None` for the built-in one.
    pub(crate) upstream: Option<Upstream>,
    /// The policy that judges its requests, where it is not the gate's.
    pub(crate) own: Option<ServingPolicy>,
    /// What else is its own.
    #[deref]
    config: UpstreamConfig,
}

impl Lane {
    pub(crate) fn new(
        name: Option<UpstreamName>,
        mut config: UpstreamConfig,
        limits: &GateLimits,
    ) -> Result<Self, ReachError> {
        Ok(Lane {
            name,
            address: config.target.to_string().into(),
            upstream: Upstream::new(&config.target, &config.reach, limits)?,
            // Its generations come and go.
            own: config.policy.take().map(|own| ServingPolicy::new(own.source, own.policy)),
            config,
        })
    }

    /// Sends a request and returns the answer as soon as its header is there.
    pub(crate) async fn send(&self, outgoing: Outgoing) -> Result<Response<Content>, Refusal> {
        match &self.upstream {
            Some(upstream) => upstream.send(outgoing).await,
            None => {
                Ok(echo::answer(&outgoing.method, &outgoing.path, &outgoing.headers, outgoing.body.whole()))
            }
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_ref().map(UpstreamName::as_str)
    }

    /// Returns what the status says of a named one.
    pub(crate) fn status(&self) -> UpstreamStatus {
        UpstreamStatus {
            name: self.name().unwrap_or_default().to_owned(),
            url: self.address.to_string(),
            prefix: self.prefix(),
            kind: self.shown_kind(),
            policy: self.own.as_ref().map(ServingPolicy::status),
        }
    }

    /// Returns the kind, as the status says it of whatever is more than models.
    pub(crate) fn shown_kind(&self) -> Option<String> {
        (self.kind != UpstreamKind::Models).then(|| self.kind.name().to_owned())
    }

    /// Returns whether a body of this path may be anything.
    pub(crate) fn is_raw(&self, path: &str) -> bool {
        self.raw.iter().any(|raw| raw.is(path))
    }

    /// Returns what clients put before a path.
    fn prefix(&self) -> String {
        self.name.as_ref().map(|name| format!("{NAMED_UPSTREAMS}{name}")).unwrap_or_default()
    }
}

/// All upstreams.
pub(crate) struct Upstreams {
    pub(crate) first: Arc<Lane>,
    pub(crate) named: Vec<Arc<Lane>>,
}

impl Upstreams {
    /// Of two with one name the first is reached.
    pub(crate) fn new(
        first: FirstUpstream,
        named: Vec<NamedUpstream>,
        limits: &GateLimits,
    ) -> Result<Self, ReachError> {
        let lane = |named: NamedUpstream| Lane::new(Some(named.name), named.upstream, limits).map(Arc::new);
        let named = named.into_iter().map(lane).collect::<Result<Vec<_>, _>>()?;
        let first = match first {
            FirstUpstream::Own(config) => Arc::new(Lane::new(None, *config, limits)?),
            FirstUpstream::Named(name) => {
                let lane = named.iter().find(|lane| lane.name() == Some(name.as_str()));
                lane.cloned().ok_or(ReachError::Name(name))?
            }
        };
        Ok(Upstreams { first, named })
    }

    /// Returns the upstream of this name.
    pub(crate) fn by_name(&self, name: &str) -> Option<&Arc<Lane>> {
        self.named.iter().find(|lane| lane.name() == Some(name))
    }

    /// Chooses the upstream of a request, and takes its name off the path. `/u/a/v1/x` asks `a`
    /// for `/v1/x`, and so does `/u/a` for `/`. Also returns what was taken off.
    pub(crate) fn choose(&self, parts: &mut request::Parts) -> Result<(Arc<Lane>, String), Refusal> {
        let (Some(name), path) = chosen_upstream(parts.uri.path()) else {
            return Ok((Arc::clone(&self.first), String::new()));
        };
        let lane = self.by_name(name).cloned().ok_or_else(|| self.unknown())?;
        let broken = || Refusal::malformed("the path behind the name of the upstream is none");
        parts.uri = with_path(&parts.uri, path).ok_or_else(broken)?;
        let prefix = lane.prefix();
        Ok((lane, prefix))
    }

    /// The name that was asked for is a client's text, and is not repeated.
    fn unknown(&self) -> Refusal {
        let message = format!("the path names an upstream that this gate does not have: {}", self.there());
        Refusal::new(StatusCode::NOT_FOUND, Code::Unsupported, message)
    }

    /// Returns an error where a rule routes to an upstream that is not there.
    pub(crate) fn check_routes(&self, policy: &Policy) -> Result<(), ReachError> {
        let unknown = policy.routes().find(|(to, ..)| self.by_name(to).is_none());
        let Some((to, rule, origin)) = unknown else { return Ok(()) };
        let (rule, origin, to) = (rule.to_string(), origin.to_owned(), to.to_string());
        Err(ReachError::Route { rule, origin, to, there: self.there() })
    }

    /// Says which upstreams have names.
    pub(crate) fn there(&self) -> String {
        let names: Vec<_> = self.named.iter().filter_map(|lane| lane.name()).collect();
        match &names[..] {
            [] => "this gate has none".to_owned(),
            names => format!("this gate has {}", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::target::UpstreamTarget;

    fn echo() -> UpstreamConfig {
        UpstreamConfig::new(UpstreamTarget::Echo)
    }

    fn upstreams() -> Upstreams {
        let named = ["a", "b-2"].map(|name| NamedUpstream { name: name.parse().unwrap(), upstream: echo() });
        Upstreams::new(FirstUpstream::Own(Box::new(echo())), named.into(), &GateLimits::default()).unwrap()
    }

    fn chosen(uri: &str) -> Result<(Option<String>, String), String> {
        let mut parts = Request::get(uri).body(()).unwrap().into_parts().0;
        let (lane, prefix) = upstreams().choose(&mut parts).map_err(|refusal| refusal.message.to_owned())?;
        assert_eq!(prefix, lane.prefix());
        Ok((lane.name().map(str::to_owned), parts.uri.to_string()))
    }

    #[test]
    fn the_name_is_taken_off_and_nothing_else_changes() {
        for (uri, name, rest) in [
            ("/v1/x?a=%7e", None, "/v1/x?a=%7e"),
            ("/u", None, "/u"),
            ("/v1/u/a/x", None, "/v1/u/a/x"),
            ("/u/a/v1/x?a=%7e&b", Some("a"), "/v1/x?a=%7e&b"),
            ("/u/b-2//v1/%2e", Some("b-2"), "//v1/%2e"),
            ("/u/a", Some("a"), "/"),
            ("/u/a?q", Some("a"), "/?q"),
            ("http://127.0.0.1:1/u/a/x", Some("a"), "http://127.0.0.1:1/x"),
        ] {
            assert_eq!(chosen(uri), Ok((name.map(str::to_owned), rest.to_owned())), "{uri}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_there_are() {
        for uri in ["/u/", "/u//v1/x", "/u/secret/v1/x", "/u/%61/v1/x", "/u/A/v1/x", "/u/a%2fv1"] {
            let message = chosen(uri).unwrap_err();
            assert!(message.ends_with("this gate has a, b-2") && !message.contains("secret"), "{message}");
        }
    }
}
