//! Client programs behind a gate: where each would send its requests, and what has it send them to
//! a gate instead.
//!
//! `exec` starts a program so, `env` prints the same for a shell. What a client would ignore, and so
//! send past the gate, is an error before it starts.

mod bypass;
mod choice;
mod codex;
mod detour;
mod editor;
pub(crate) mod env;
pub(crate) mod exec;
mod known;
mod own;
mod way;

use anyhow::Context;
use leafgate_admin::Status;
use leafgate_admin::shown_url;
use leafgate_config::Settings;
use leafgate_gate::UpstreamTarget;

use self::choice::{NamedUrl, RunningGate};
pub(crate) use self::known::{KnownClient, clients};
pub(crate) use self::way::ClientWay;
use self::way::GatePlace;
use crate::providers::{COPILOT, FURTHER, OPENAI, PROVIDERS, Provider};

/// Where a client's requests would go without a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClientOrigin {
    /// What the upstream is called on a gate that has several.
    name: &'static str,
    target: UpstreamTarget,
    /// What the client's base URL has behind that, `/v1`.
    path: String,
    /// The base URL, where it names a place on a gate already.
    place: Option<GatePlace>,
}

impl ClientOrigin {
    /// Reads a base URL. A version at its end belongs to the path that a client asks for.
    fn of(name: &'static str, url: &str) -> anyhow::Result<ClientOrigin> {
        let url = url.trim_end_matches('/');
        let (target, path) = match url.strip_suffix("/v1") {
            Some(target) => (target, "/v1"),
            None => (url, ""),
        };
        let target =
            target.parse().with_context(|| format!("{} cannot be the upstream of a gate", shown_url(url)))?;
        Ok(ClientOrigin { name, target, path: path.to_owned(), place: None })
    }

    /// Returns the way through a gate to the same place, if the gate leads there.
    fn through<'g>(&self, gate: &'g Status) -> Option<ClientWay<'g>> {
        if let Some(place) = self.place.as_ref().filter(|place| place.listen == gate.listen) {
            return place.way(gate);
        }
        let wanted = self.target.to_string();
        ClientWay::all(gate, &self.path).find(|way| way.upstream == wanted)
    }

    /// Returns the same for a gate that a person has named: its upstream is good for any API, unless
    /// it is that of another provider.
    fn at<'g>(&self, gate: &'g Status) -> Option<ClientWay<'g>> {
        let leads_elsewhere = self.place.as_ref().is_some_and(|place| place.listen == gate.listen);
        let speaks_any = !leads_elsewhere && !is_provider(&gate.upstream);
        self.through(gate).or_else(|| speaks_any.then(|| ClientWay::first(gate, &self.path)))
    }
}

impl Provider {
    /// Returns the origin that the environment names, or an upstream of the settings with the
    /// provider's name, or else the provider's own; `None` where there is none.
    fn origin(&self, running: &RunningGate, settings: &Settings) -> anyhow::Result<Option<ClientOrigin>> {
        let Provider { name, variable, url } = *self;
        let NamedUrl { elsewhere, place } = running.named(variable);
        if let Some(url) = elsewhere {
            return ClientOrigin::of(name, &url).with_context(|| format!("{variable} is set")).map(Some);
        }
        let own = match (url, &place) {
            ("", None) => return Ok(None),
            ("", Some(place)) => ClientOrigin::of(name, &place.url())?,
            (url, _) => ClientOrigin::of(name, url)?,
        };
        let named = settings.upstream(name).and_then(|upstream| upstream.text("url").map(str::to_owned));
        let target = match named.filter(|_| place.is_none()) {
            Some(url) => url.parse().with_context(|| format!("the upstream `{name}`"))?,
            None => own.target,
        };
        Ok(Some(ClientOrigin { target, place, ..own }))
    }
}

/// Returns whether an upstream is a provider's own, which speaks one API alone.
fn is_provider(upstream: &str) -> bool {
    PROVIDERS.iter().any(|provider| {
        ClientOrigin::of(provider.name, provider.url)
            .is_ok_and(|origin| origin.target.to_string() == upstream)
    })
}

/// Returns a variable that is set to a text.
fn text_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use leafgate_admin::UpstreamStatus;

    use super::*;

    #[test]
    fn a_base_url_leads_through_the_gate_that_has_its_upstream() {
        let named = |name: &str, url: &str| UpstreamStatus {
            name: name.to_owned(),
            url: url.to_owned(),
            prefix: format!("/u/{name}"),
            ..UpstreamStatus::default()
        };
        let gate = Status {
            listen: "http://127.0.0.1:4141".to_owned(),
            upstream: "https://api.anthropic.com".to_owned(),
            upstreams: vec![named("a", "https://a.example/api"), named("openai", "https://api.openai.com")],
            ..Status::default()
        };
        for (url, through) in [
            ("https://api.anthropic.com/", Some("http://127.0.0.1:4141")),
            ("https://api.anthropic.com/v1", Some("http://127.0.0.1:4141/v1")),
            ("https://api.openai.com/v1/", Some("http://127.0.0.1:4141/u/openai/v1")),
            ("https://a.example/api", Some("http://127.0.0.1:4141/u/a")),
            ("https://a.example", None),
            ("http://api.anthropic.com", None),
        ] {
            let origin = ClientOrigin::of("x", url).unwrap();
            assert_eq!(origin.through(&gate).map(|way| way.url).as_deref(), through, "{url}");
        }
        let error = format!("{:#}", ClientOrigin::of("x", "https://user:word@a.example").unwrap_err());
        assert!(error.contains("user name or password") && !error.contains("word@"), "{error}");
    }
}
