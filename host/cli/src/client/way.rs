//! The way of a client's requests through a gate: which upstream they reach, and whose policy looks.

use leafgate_admin::Status;
use leafgate_record::chosen_upstream;

/// Where requests go that are sent to a base URL of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientWay<'g> {
    /// The base URL.
    pub(crate) url: String,
    /// The upstream's name; `None` for the one that no path names.
    name: Option<&'g str>,
    /// The upstream behind it.
    pub(crate) upstream: &'g str,
    /// The policy that judges what goes there.
    pub(crate) policy: &'g str,
}

impl<'g> ClientWay<'g> {
    /// Returns the ways to all upstreams of a gate, by base URLs that end in this path: first to the one
    /// that no path names.
    pub(crate) fn all(gate: &'g Status, path: &str) -> impl Iterator<Item = ClientWay<'g>> {
        let named = gate.upstreams.iter().map(move |named| ClientWay {
            url: format!("{}{}{path}", gate.listen, named.prefix),
            name: Some(&named.name),
            upstream: &named.url,
            policy: &named.policy.as_ref().unwrap_or(&gate.policy).source,
        });
        std::iter::once(ClientWay::first(gate, path)).chain(named)
    }

    /// Returns the way to the upstream that no path names.
    pub(super) fn first(gate: &'g Status, path: &str) -> ClientWay<'g> {
        let url = format!("{}{path}", gate.listen);
        ClientWay { url, name: None, upstream: &gate.upstream, policy: &gate.policy.source }
    }
}

/// A place on a gate that a base URL names: an upstream (`/u/NAME`), a profile (`/p/NAME`), the team.
/// Who chose it would send elsewhere, with the keys for that, if only the gate were kept of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GatePlace {
    /// The gate's own URL.
    pub(super) listen: String,
    /// The path behind it.
    path: String,
}

impl GatePlace {
    /// Returns the place that a URL names on the gate; `None` for the gate itself.
    pub(super) fn of(listen: &str, url: &str) -> Option<GatePlace> {
        let path = url.strip_prefix(listen)?.trim_end_matches('/');
        let names_nothing = matches!(path, "" | "/v1");
        (!names_nothing).then(|| GatePlace { listen: listen.to_owned(), path: path.to_owned() })
    }

    /// Returns the whole URL.
    pub(super) fn url(&self) -> String {
        format!("{}{}", self.listen, self.path)
    }

    /// Returns the upstream that the path names.
    pub(super) fn name(&self) -> Option<&str> {
        chosen_upstream(&self.path).0
    }

    /// Returns the way there, if the gate has the upstream that the path names.
    pub(super) fn way<'g>(&self, gate: &'g Status) -> Option<ClientWay<'g>> {
        let way = ClientWay::all(gate, "").find(|way| way.name == self.name())?;
        Some(ClientWay { url: self.url(), ..way })
    }
}

#[cfg(test)]
mod tests {
    use leafgate_admin::{PolicyStatus, UpstreamStatus};

    use super::*;

    const GATE: &str = "http://127.0.0.1:4141";

    #[test]
    fn the_path_of_a_url_that_leads_to_a_gate_is_kept() {
        let policy = |source: &str| PolicyStatus { source: source.to_owned(), ..PolicyStatus::default() };
        let named = |name: &str, own| UpstreamStatus {
            name: name.to_owned(),
            url: format!("https://{name}.example"),
            prefix: format!("/u/{name}"),
            policy: own,
            ..UpstreamStatus::default()
        };
        let gate = Status {
            listen: GATE.to_owned(),
            upstream: "https://api.anthropic.com".to_owned(),
            upstreams: vec![named("other", None), named("loc", Some(policy("none")))],
            policy: policy("default"),
            ..Status::default()
        };
        let first = ("https://api.anthropic.com", "default");
        for (path, to) in [
            ("/u/other", Some(("https://other.example", "default"))),
            ("/u/other/v1", Some(("https://other.example", "default"))),
            ("/u/loc/p/vault", Some(("https://loc.example", "none"))),
            ("/p/vault", Some(first)),
            ("/agents/v1", Some(first)),
            ("/u/gone", None),
        ] {
            let place = GatePlace::of(GATE, &format!("{GATE}{path}/")).unwrap_or_else(|| panic!("{path}"));
            let way = place.way(&gate);
            assert_eq!(way.as_ref().map(|way| (way.upstream, way.policy)), to, "{path}");
            assert!(way.is_none_or(|way| way.url == format!("{GATE}{path}")), "{path}");
        }
        for url in ["", "/", "/v1", "/v1/"] {
            assert_eq!(GatePlace::of(GATE, &format!("{GATE}{url}")), None, "{url}");
        }
    }
}
