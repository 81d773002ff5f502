//! Which running gate a client may be put behind.

use std::sync::Arc;

use anyhow::bail;
use leafgate_admin::shown_url;
use leafgate_admin::{RuntimeFile, Status};

use super::bypass::{self, Counter};
use super::{Origin, PROVIDERS, Place, Way, text_variable};
use crate::admin::AdminClient;
use crate::runtime::{self, GateName};

/// The policy that lets everything pass.
pub(crate) const NO_POLICY: &str = "none";

/// The gates that run.
pub(super) struct Running(Vec<RuntimeFile>);

impl Running {
    /// Finds them. That none can be found is no reason to start none.
    pub(super) fn find() -> anyhow::Result<Running> {
        Ok(Running(runtime::find_all(&runtime::folder()?, None).unwrap_or_default()))
    }

    /// Returns the base URL that a variable names, where it leads elsewhere than to a gate.
    pub(super) fn base_url(&self, variable: &str) -> Option<String> {
        text_variable(variable).filter(|url| self.at(url).is_none())
    }

    /// Returns the place on a gate that a variable names.
    pub(super) fn place(&self, variable: &str) -> Option<Place> {
        let url = text_variable(variable)?;
        Place::of(&self.at(&url)?.listen, &url)
    }

    /// Returns the gate that the environment leads to already, as in a shell that `leafgate env` has
    /// set up.
    fn in_environment(&self) -> Option<&RuntimeFile> {
        let urls = PROVIDERS.iter().filter_map(|provider| text_variable(provider.variable));
        urls.filter_map(|url| self.at(&url)).next()
    }

    /// Returns the gate that a URL leads to.
    fn at(&self, url: &str) -> Option<&RuntimeFile> {
        let leads = |listen: &str| {
            url.strip_prefix(listen).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.0.iter().find(|gate| leads(&gate.listen))
    }
}

/// What the gate must be.
pub(super) struct Wanted<'w> {
    /// The gate that was named.
    pub(super) gate: Option<&'w GateName>,
    /// Whether an upstream was named: where the environment leads does not matter then.
    pub(super) elsewhere: bool,
    /// The policy that was named, as a status names it.
    pub(super) policy: Option<&'w str>,
    /// Where the client's requests must go.
    pub(super) origins: &'w [Origin],
}

/// A gate that serves, and whether a person has chosen it.
pub(super) struct Found {
    pub(super) status: Status,
    pub(super) by_name: bool,
    pub(super) counter: Counter,
}

impl Found {
    /// Returns the way through it to where a client asks, if it leads there.
    pub(super) fn way(&self, origin: &Origin) -> Option<Way<'_>> {
        if self.by_name { origin.at(&self.status) } else { origin.through(&self.status) }
    }

    /// Returns why it is not the one.
    fn misfit(&self, wanted: &Wanted<'_>) -> Option<String> {
        let ways: Vec<Way<'_>> = wanted.origins.iter().filter_map(|origin| self.way(origin)).collect();
        // Who names a gate knows what the program asks for.
        let fits = if self.by_name { !ways.is_empty() } else { ways.len() == wanted.origins.len() };
        if !fits {
            let place = wanted.origins.iter().find_map(|origin| origin.place.as_ref());
            if let Some(name) = place.filter(|place| place.listen == self.status.listen).and_then(Place::name)
            {
                let there: Vec<&str> = self.status.upstreams.iter().map(|one| one.name.as_str()).collect();
                let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
                return Some(format!(
                    "has no upstream `{name}`, which the environment names (it has {there})"
                ));
            }
            let to: Vec<_> =
                wanted.origins.iter().map(|origin| shown_url(&origin.target.to_string())).collect();
            return Some(format!("does not lead to {}", to.join(", ")));
        }
        if let Some(policy) = wanted.policy
            && let Some(way) = ways.iter().find(|way| way.policy != policy)
        {
            return Some(format!("has another policy, {}", way.policy));
        }
        // Who gets a gate without asking for one gets one that looks.
        let looks = |way: &Way<'_>| wanted.policy.is_some() || way.policy != NO_POLICY;
        match self.by_name {
            false if !self.status.enabled => Some("is switched off".to_owned()),
            false if !ways.iter().all(looks) => Some("has no policy".to_owned()),
            _ => None,
        }
    }
}

/// Returns a running gate that leads where the client's requests must go.
///
/// # Errors
/// When the gate that was named does not.
pub(super) fn find(running: &Running, wanted: &Wanted<'_>) -> anyhow::Result<Option<Found>> {
    let named = match wanted.gate {
        Some(_) => Some(runtime::find(&runtime::folder()?, wanted.gate)?),
        None => running.in_environment().filter(|_| !wanted.elsewhere).cloned(),
    };
    if let Some(gate) = named {
        let found = Found { status: ask(&gate)?, by_name: true, counter: counter(&gate) };
        if let Some(why) = found.misfit(wanted) {
            bail!(
                "the gate at {} {why}: name another one with --gate, or unset what leads to it",
                gate.listen
            );
        }
        return Ok(Some(found));
    }
    // Those of other clients end with them.
    let lasting = running.0.iter().filter(|gate| gate.client.is_none());
    let asked = lasting
        .filter_map(|gate| Some(Found { status: ask(gate).ok()?, by_name: false, counter: counter(gate) }));
    Ok(asked.into_iter().find(|found| found.misfit(wanted).is_none()))
}

/// Counts what comes by a gate of another process.
fn counter(gate: &RuntimeFile) -> Counter {
    let gate = gate.clone();
    Arc::new(move || ask(&gate).ok().as_ref().map(bypass::judged))
}

fn ask(gate: &RuntimeFile) -> anyhow::Result<Status> {
    AdminClient::new(gate)?.status().map_err(|error| anyhow::anyhow!(error.message))
}

#[cfg(test)]
mod tests {
    use leafgate_admin::{PolicyStatus, UpstreamStatus};

    use super::*;

    #[test]
    fn a_gate_is_reused_only_where_it_leads_there_and_looks() {
        let origins = [Origin::of("anthropic", "https://api.anthropic.com").unwrap()];
        let status = |upstream: &str, source: &str| Status {
            upstream: upstream.to_owned(),
            policy: PolicyStatus { source: source.to_owned(), ..PolicyStatus::default() },
            enabled: true,
            ..Status::default()
        };
        let why = |status: &Status, by_name, policy| {
            let found = Found { status: status.clone(), by_name, counter: Arc::new(|| None) };
            found.misfit(&Wanted { gate: None, elsewhere: false, policy, origins: &origins })
        };
        let here = |source| status("https://api.anthropic.com", source);
        let with_named = |policy: &str| Status {
            upstreams: vec![UpstreamStatus {
                name: "a".to_owned(),
                url: "https://api.anthropic.com".to_owned(),
                prefix: "/u/a".to_owned(),
                policy: Some(PolicyStatus { source: policy.to_owned(), ..PolicyStatus::default() }),
                ..UpstreamStatus::default()
            }],
            ..status("https://a.example", "default")
        };
        assert_eq!(why(&with_named("/p"), false, Some("/p")), None, "an upstream's own policy looks");
        assert_eq!(why(&here("default"), false, None), None);
        assert_eq!(why(&here("/p"), false, None), None);
        assert_eq!(why(&here("/p"), false, Some("/p")), None);
        assert_eq!(why(&here("none"), true, None), None, "it was asked for");
        assert_eq!(why(&here("none"), false, Some("none")), None);
        let off = Status { enabled: false, ..here("default") };
        assert_eq!(why(&off, true, None), None, "who named it is told");
        let own = status("http://127.0.0.1:8000", "default");
        assert_eq!(why(&own, true, None), None, "it may speak any API");
        for (status, by_name, policy) in [
            (here("none"), false, None),
            (here("/p"), false, Some("default")),
            (status("https://api.openai.com", "default"), false, None),
            (status("https://api.openai.com", "default"), true, None),
            (own, false, None),
            (off, false, None),
            (with_named("none"), false, None),
            (with_named("/p"), true, Some("default")),
        ] {
            assert!(why(&status, by_name, policy).is_some(), "{policy:?}");
        }
    }

    #[test]
    fn a_url_leads_to_a_gate_by_all_of_its_address() {
        let listen = "http://127.0.0.1:41".to_owned();
        let gate = RuntimeFile {
            pid: 1,
            admin: String::new(),
            token: String::new(),
            listen,
            client: None,
            standing: false,
        };
        let running = Running(vec![gate]);
        for (url, leads) in [
            ("http://127.0.0.1:41", true),
            ("http://127.0.0.1:41/v1", true),
            ("http://127.0.0.1:4141/v1", false),
            ("https://api.openai.com/v1", false),
            ("http://127.0.0.1:41/u/other/v1", true),
        ] {
            assert_eq!(running.at(url).is_some(), leads, "{url}");
        }
    }
}
