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
mod own;
mod way;

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Context;
use leafgate_admin::Status;
use leafgate_admin::shown_url;
use leafgate_config::Settings;
use leafgate_gate::UpstreamTarget;

use self::choice::RunningGate;
use self::codex::CodexLogin;
use self::way::{ClientWay, GatePlace};
use crate::providers::{
    ANTHROPIC, CODE_ASSIST, COPILOT, COPILOT_OWN, FURTHER, GEMINI, OPENAI, PROVIDERS, Provider,
};

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

    /// Returns the same path of another upstream.
    fn to(self, upstream: &UpstreamTarget) -> ClientOrigin {
        ClientOrigin { target: upstream.clone(), place: None, ..self }
    }

    /// Returns the way through a gate to the same place, if the gate leads there.
    fn through<'g>(&self, gate: &'g Status) -> Option<ClientWay<'g>> {
        if let Some(place) = self.place.as_ref().filter(|place| place.listen == gate.listen) {
            return place.way(gate);
        }
        let wanted = self.target.to_string();
        if gate.upstream == wanted {
            return Some(self.first(gate));
        }
        let named = gate.upstreams.iter().find(|upstream| upstream.url == wanted)?;
        Some(ClientWay::named(gate, named, format!("{}{}{}", gate.listen, named.prefix, self.path)))
    }

    /// Returns the same for a gate that a person has named: its upstream is good for any API, unless
    /// it is that of another provider.
    fn at<'g>(&self, gate: &'g Status) -> Option<ClientWay<'g>> {
        let leads_elsewhere = self.place.as_ref().is_some_and(|place| place.listen == gate.listen);
        let first = || Some(self.first(gate)).filter(|_| !leads_elsewhere && !is_provider(&gate.upstream));
        self.through(gate).or_else(first)
    }

    fn first<'g>(&self, gate: &'g Status) -> ClientWay<'g> {
        ClientWay::first(gate, format!("{}{}", gate.listen, self.path))
    }
}

impl Provider {
    /// Returns the origin that the environment names, or an upstream of the settings with the
    /// provider's name, or else the provider's own; `None` where there is none.
    fn origin(&self, known: &StartContext<'_>) -> anyhow::Result<Option<ClientOrigin>> {
        let Provider { name, variable, url } = *self;
        if let Some(url) = known.running.base_url(variable) {
            return ClientOrigin::of(name, &url).with_context(|| format!("{variable} is set")).map(Some);
        }
        let place = known.running.place(variable);
        let own = match (url, &place) {
            ("", None) => return Ok(None),
            ("", Some(place)) => ClientOrigin::of(name, &place.url())?,
            (url, _) => ClientOrigin::of(name, url)?,
        };
        let named = known.settings.upstream(name).and_then(|upstream| upstream.text("url"));
        Ok(Some(match named.filter(|_| place.is_none()) {
            Some(url) => own.to(&url.parse().with_context(|| format!("the upstream `{name}`"))?),
            None => ClientOrigin { place, ..own },
        }))
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

/// What is known when a client is to be started.
struct StartContext<'k> {
    running: &'k RunningGate,
    settings: &'k Settings,
}

/// A client program that is known.
#[derive(Clone, Copy)]
pub(crate) struct KnownClient {
    /// The name of its file.
    pub(crate) name: &'static str,
    title: &'static str,
    /// What has it answer the question that follows, and end.
    pub(crate) once: &'static [&'static str],
    /// What it asks beside the API of Codex. The first is what most of its requests are for.
    providers: &'static [Provider],
    /// Whether it asks models and little else.
    asks_models: bool,
}

const CODEX: KnownClient = KnownClient {
    name: "codex",
    title: "Codex",
    once: &["exec", "--skip-git-repo-check", "--sandbox", "read-only"],
    providers: &[],
    asks_models: true,
};

/// Any other program: it gets what all clients need that might run in it.
const OTHER: KnownClient =
    KnownClient { name: "", title: "", once: &["-p"], providers: &PROVIDERS, asks_models: false };

pub(crate) const CLIENTS: &[KnownClient] = &[
    KnownClient { name: "claude", title: "Claude Code", providers: &[ANTHROPIC], asks_models: true, ..OTHER },
    CODEX,
    KnownClient { name: "copilot", title: "Copilot CLI", providers: &[COPILOT_OWN, COPILOT], ..OTHER },
    KnownClient { name: "gemini", title: "Gemini CLI", providers: &[GEMINI, CODE_ASSIST], ..OTHER },
];

impl KnownClient {
    /// Returns its name, and what people call it.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        (self.name, self.title)
    }
}

/// A client program, as far as `exec` knows it.
struct ClientProgram {
    kind: KnownClient,
    /// How it logs in to Codex's API, if it may.
    codex: Option<CodexLogin>,
}

impl ClientProgram {
    /// Tells a program by the name of its file.
    fn of(program: &OsStr, known: &StartContext<'_>) -> anyhow::Result<ClientProgram> {
        let name = Path::new(program).file_name().and_then(OsStr::to_str);
        let kind = CLIENTS.iter().copied().find(|client| Some(client.name) == name).unwrap_or(OTHER);
        let codex = match kind.name {
            "" => CodexLogin::find_if_any(known.running)?,
            name if name == CODEX.name => Some(CodexLogin::find(known.running)?),
            _ => None,
        };
        Ok(ClientProgram { kind, codex })
    }

    /// Returns where its requests would go. The first is what most of them are for.
    fn origins(&self, known: &StartContext<'_>) -> anyhow::Result<Vec<ClientOrigin>> {
        let further = FURTHER.iter().filter(|_| self.kind.name.is_empty());
        let own = self.kind.providers.iter().chain(further).filter_map(|one| one.origin(known).transpose());
        let codex = self.codex.iter().map(|login| Ok(login.origin().clone()));
        own.chain(codex).collect()
    }
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
