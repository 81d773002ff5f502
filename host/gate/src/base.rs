//! What a base URL chooses besides the upstream: `/p/<profile>/v1/…` a profile of the policy,
//! `/agents/v1/…` and `/agents/<name>/v1/…` the team.
//!
//! Clients that can set nothing but a base URL choose with it. What stands behind the choice is the
//! request's path, as if nothing had been chosen: the upstream sees that one.

use std::sync::Arc;

use http::{StatusCode, Uri};
use leafgate_policy::{Assembly, Policy};

use crate::path::with_path;
use crate::target::UpstreamKind;
use leafgate_http::{Code, Refusal};

/// What a base URL chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum RequestBase {
    /// Nothing: the request itself decides.
    #[default]
    Plain,
    /// A profile, by its id.
    Profile(Arc<str>),
    /// The team, at its entry or at the agent of a name.
    Team(Option<Arc<str>>),
}

/// How base URLs of profiles begin.
const PROFILE: &str = "/p/";

/// How those of teams begin.
const TEAM: &str = "/agents";

impl RequestBase {
    /// Takes the choice out of a target at an upstream of this kind. What begins as a team's is Copilot's own there, whose agents
    /// are elsewhere.
    pub(crate) fn take(kind: UpstreamKind, uri: &mut Uri) -> RequestBase {
        let team = || team(uri.path()).filter(|_| kind == UpstreamKind::Models);
        let Some((base, rest)) = profile(uri.path()).or_else(team) else { return RequestBase::Plain };
        // A part of a target is one.
        let Some(rewritten) = with_path(uri, rest) else { return RequestBase::Plain };
        *uri = rewritten;
        base
    }

    /// The profile that is chosen. One that is not there is refused: the request would leave as
    /// something else than its client means.
    pub(crate) fn profile(&self, policy: &Policy) -> Result<Option<Arc<Assembly>>, Refusal> {
        let RequestBase::Profile(id) = self else { return Ok(None) };
        if let Some(assembly) = policy.assembly(id) {
            return Ok(Some(Arc::clone(assembly)));
        }
        let ids: Vec<&str> = policy.assemblies().iter().map(|assembly| &*assembly.id).collect();
        let there = match ids.is_empty() {
            true => "the policy has none: write an `[[assemble]]` table".to_owned(),
            false => format!("profiles are: {}", ids.join(", ")),
        };
        let message = format!("the base URL names a profile that is not there; {there}");
        Err(Refusal::new(StatusCode::NOT_FOUND, Code::Unsupported, message))
    }
}

/// A profile and the path behind it.
fn profile(path: &str) -> Option<(RequestBase, &str)> {
    let chosen = path.strip_prefix(PROFILE)?;
    let end = chosen.find('/')?;
    let (id, rest) = chosen.split_at(end);
    // Whatever else stands there is no id, and the path is nobody's.
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (!id.is_empty() && id.bytes().all(plain)).then(|| (RequestBase::Profile(id.into()), rest))
}

/// How the paths of APIs begin that a base URL of the team may lead to; teams do not speak all of them.
const VERSIONS: [&str; 4] = ["v1", "v1beta", "v1alpha", "v1beta1"];

/// The team and the path behind it. `/agents/v1/…` begins at the entry, and an agent called `v1` has
/// the path `/agents/v1/v1/…`.
fn team(path: &str) -> Option<(RequestBase, &str)> {
    let rest = path.strip_prefix(TEAM)?;
    let behind = rest.strip_prefix('/')?;
    let (name, behind_name) = behind.split_at(behind.find('/')?);
    let begins = |path: &str| VERSIONS.iter().any(|version| path.split('/').nth(1) == Some(version));
    if VERSIONS.contains(&name) && !(begins(behind_name) && behind_name[1..].contains('/')) {
        return Some((RequestBase::Team(None), rest));
    }
    let name = leafgate_agents::AgentName::new(name).ok()?;
    Some((RequestBase::Team(Some(name.as_str().into())), behind_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(target: &str) -> (RequestBase, String) {
        let mut uri: Uri = target.parse().unwrap();
        let base = RequestBase::take(UpstreamKind::Models, &mut uri);
        (base, uri.to_string())
    }

    #[test]
    fn a_profile_is_chosen_and_its_path_is_taken_away() {
        let vault = || RequestBase::Profile("vault".into());
        assert_eq!(taken("/p/vault/v1/messages?beta=true"), (vault(), "/v1/messages?beta=true".to_owned()));
        assert_eq!(taken("http://localhost:1/p/vault/v1"), (vault(), "http://localhost:1/v1".to_owned()));
        assert_eq!(taken("/p/vault/p/other/v1"), (vault(), "/p/other/v1".to_owned()));
    }

    #[test]
    fn a_team_is_chosen_at_its_entry_or_at_an_agent() {
        let at = |name: &str| RequestBase::Team(Some(name.into()));
        for (target, base, rest) in [
            ("/agents/v1/chat/completions", RequestBase::Team(None), "/v1/chat/completions"),
            ("/agents/reviewer/v1/messages?x=1", at("reviewer"), "/v1/messages?x=1"),
            ("/agents/v1/v1/responses", at("v1"), "/v1/responses"),
            (
                "/agents/v1beta/models/m:generateContent",
                RequestBase::Team(None),
                "/v1beta/models/m:generateContent",
            ),
            ("/agents/reviewer/v1beta/models/m:x", at("reviewer"), "/v1beta/models/m:x"),
            ("/agents/v1/v1", RequestBase::Team(None), "/v1/v1"),
        ] {
            assert_eq!(taken(target), (base, rest.to_owned()));
        }
        for target in
            ["/agents", "/agents/", "/agents/v1", "/agents//v1/x", "/agents/a.b/v1/x", "/agentsv1/x"]
        {
            assert_eq!(taken(target).0, RequestBase::Plain, "{target}");
        }
    }

    #[test]
    fn agents_of_copilot_are_no_team() {
        for (target, base) in [
            ("/agents/v1/jobs", RequestBase::Plain),
            ("/p/a/agents/v1/jobs", RequestBase::Profile("a".into())),
        ] {
            let mut uri: Uri = target.parse().unwrap();
            assert_eq!(RequestBase::take(UpstreamKind::Copilot, &mut uri), base);
            assert_eq!(uri.path(), "/agents/v1/jobs");
        }
    }

    #[test]
    fn what_is_no_choice_stays() {
        for target in ["/v1/p/vault/x", "/p/vault", "/p//v1", "/p/%2e%2e/v1", "/p/Vault/v1", "/p/../v1", "/"]
        {
            assert_eq!(taken(target), (RequestBase::Plain, target.to_owned()));
        }
    }
}
