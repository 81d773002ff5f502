//! Client programs behind a gate: where each would send its requests, and what has it send them to
//! a gate instead.
//!
//! `exec` starts a program so, `env` prints the same for a shell. What a client would ignore, and so
//! send past the gate, is an error before it starts.

mod bypass;
mod child;
mod choice;
mod codex;
pub(crate) mod confine;
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

pub(crate) use self::choice::NO_POLICY;
use self::choice::Running;
use self::codex::CodexLogin;
use self::way::{Place, Way};

/// Where a client's requests would go without a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    /// What the upstream is called on a gate that has several.
    name: &'static str,
    target: UpstreamTarget,
    /// What the client's base URL has behind that, `/v1`.
    path: String,
    /// The base URL, where it names a place on a gate already.
    place: Option<Place>,
}

impl Origin {
    /// Reads a base URL. A version at its end belongs to the path that a client asks for.
    fn of(name: &'static str, url: &str) -> anyhow::Result<Origin> {
        let url = url.trim_end_matches('/');
        let (target, path) = match url.strip_suffix("/v1") {
            Some(target) => (target, "/v1"),
            None => (url, ""),
        };
        let target =
            target.parse().with_context(|| format!("{} cannot be the upstream of a gate", shown_url(url)))?;
        Ok(Origin { name, target, path: path.to_owned(), place: None })
    }

    /// Returns the same path of another upstream.
    fn to(self, upstream: &UpstreamTarget) -> Origin {
        Origin { target: upstream.clone(), place: None, ..self }
    }

    /// Returns the way through a gate to the same place, if the gate leads there.
    fn through<'g>(&self, gate: &'g Status) -> Option<Way<'g>> {
        if let Some(place) = self.place.as_ref().filter(|place| place.listen == gate.listen) {
            return place.way(gate);
        }
        let wanted = self.target.to_string();
        if gate.upstream == wanted {
            return Some(self.first(gate));
        }
        let named = gate.upstreams.iter().find(|upstream| upstream.url == wanted)?;
        Some(Way::named(gate, named, format!("{}{}{}", gate.listen, named.prefix, self.path)))
    }

    /// Returns the same for a gate that a person has named: its upstream is good for any API, unless
    /// it is that of another provider.
    fn at<'g>(&self, gate: &'g Status) -> Option<Way<'g>> {
        let leads_elsewhere = self.place.as_ref().is_some_and(|place| place.listen == gate.listen);
        let first = || Some(self.first(gate)).filter(|_| !leads_elsewhere && !is_provider(&gate.upstream));
        self.through(gate).or_else(first)
    }

    fn first<'g>(&self, gate: &'g Status) -> Way<'g> {
        Way::first(gate, format!("{}{}", gate.listen, self.path))
    }
}

/// An API with a variable of the environment that names its base URL.
struct Provider {
    name: &'static str,
    variable: &'static str,
    url: &'static str,
}

const ANTHROPIC: Provider =
    Provider { name: "anthropic", variable: "ANTHROPIC_BASE_URL", url: "https://api.anthropic.com" };

const OPENAI: Provider =
    Provider { name: "openai", variable: "OPENAI_BASE_URL", url: "https://api.openai.com/v1" };

const GEMINI: Provider = Provider {
    name: "gemini",
    variable: "GOOGLE_GEMINI_BASE_URL",
    url: "https://generativelanguage.googleapis.com",
};

/// Gemini where a person is logged in with Google, in a wrapper of its own.
const CODE_ASSIST: Provider = Provider {
    name: "code-assist",
    variable: "CODE_ASSIST_ENDPOINT",
    url: "https://cloudcode-pa.googleapis.com",
};

/// Copilot's models for Copilot CLI and the agents of editors. A plan may have another host, which the
/// settings name as the upstream `copilot`.
const COPILOT: Provider =
    Provider { name: "copilot", variable: "COPILOT_API_URL", url: "https://api.githubcopilot.com" };

const PROVIDERS: [Provider; 5] = [ANTHROPIC, OPENAI, GEMINI, CODE_ASSIST, COPILOT];

/// Where Copilot CLI asks with a key of the user's own, in the API that `COPILOT_PROVIDER_TYPE` names.
/// It has no URL of its own: where the variable is not set, nothing is asked so.
const COPILOT_OWN: Provider =
    Provider { name: "copilot-own", variable: "COPILOT_PROVIDER_BASE_URL", url: "" };

/// Where a host of GitHub's completes code beside Copilot's models: the same paths as there.
const COPILOT_PROXY: (&str, &str) = ("copilot-proxy", "https://copilot-proxy.githubusercontent.com");

/// Returns the upstreams that clients ask by themselves, by their names. The first is good for all
/// that name none.
pub(crate) fn usual_upstreams() -> Vec<(&'static str, &'static str)> {
    let providers = PROVIDERS.iter().map(|provider| (provider.name, provider.target()));
    providers.chain([codex::CHATGPT_UPSTREAM, COPILOT_PROXY]).collect()
}

/// Variables that name further endpoints, which programs ask only where they are set: what the
/// upstream is called, and the variable.
const FURTHER: [(&str, &str); 4] = [
    ("azure-openai", "AZURE_OPENAI_ENDPOINT"),
    ("azure-inference", "AZURE_INFERENCE_ENDPOINT"),
    ("foundry", "ANTHROPIC_FOUNDRY_BASE_URL"),
    ("openai-api-base", "OPENAI_API_BASE"),
];

impl Provider {
    /// Returns the URL of its upstream.
    fn target(&self) -> &'static str {
        self.url.strip_suffix("/v1").unwrap_or(self.url)
    }

    /// Returns the origin, where the environment names one.
    fn origin_if_set(&self, known: &Known<'_>) -> anyhow::Result<Option<Origin>> {
        let place = known.running.place(self.variable);
        let Some(url) = known.running.base_url(self.variable).or_else(|| place.as_ref().map(Place::url))
        else {
            return Ok(None);
        };
        let origin = Origin::of(self.name, &url).with_context(|| format!("{} is set", self.variable))?;
        Ok(Some(Origin { place, ..origin }))
    }

    /// Returns the origin that the environment names, or an upstream of the settings with the
    /// provider's name, or else the provider's own.
    fn origin(&self, known: &Known<'_>) -> anyhow::Result<Origin> {
        if let Some(url) = known.running.base_url(self.variable) {
            return Origin::of(self.name, &url).with_context(|| format!("{} is set", self.variable));
        }
        let own = Origin::of(self.name, self.url)?;
        if let Some(place) = known.running.place(self.variable) {
            return Ok(Origin { place: Some(place), ..own });
        }
        match known.settings.upstream(self.name).and_then(|upstream| upstream.text("url")) {
            Some(url) => Ok(own.to(&url.parse().with_context(|| format!("the upstream `{}`", self.name))?)),
            None => Ok(own),
        }
    }
}

/// Returns whether an upstream is a provider's own, which speaks one API alone.
fn is_provider(upstream: &str) -> bool {
    PROVIDERS.iter().any(|provider| {
        Origin::of(provider.name, provider.url).is_ok_and(|origin| origin.target.to_string() == upstream)
    })
}

/// Returns a variable that is set to a text.
fn text_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What is known when a client is to be started.
struct Known<'k> {
    running: &'k Running,
    settings: &'k Settings,
}

/// A client program, as far as `exec` knows it.
enum Client {
    Claude,
    Codex(CodexLogin),
    /// Copilot CLI.
    Copilot,
    Gemini,
    /// Any other: it gets what all clients need that might run in it.
    Other(Option<CodexLogin>),
}

impl Client {
    /// Tells a program by the name of its file.
    fn of(program: &OsStr, known: &Known<'_>) -> anyhow::Result<Client> {
        Ok(match Path::new(program).file_name().and_then(OsStr::to_str) {
            Some("claude") => Client::Claude,
            Some("codex") => Client::Codex(CodexLogin::find(known.running)?),
            Some("copilot") => Client::Copilot,
            Some("gemini") => Client::Gemini,
            _ => Client::Other(CodexLogin::find_if_any(known.running)?),
        })
    }

    /// Returns where its requests would go. The first is what most of them are for.
    fn origins(&self, known: &Known<'_>) -> anyhow::Result<Vec<Origin>> {
        match self {
            Client::Claude => Ok(vec![ANTHROPIC.origin(known)?]),
            Client::Codex(login) => Ok(vec![login.origin().clone()]),
            Client::Copilot => {
                let own = COPILOT_OWN.origin_if_set(known)?;
                Ok(own.into_iter().chain([COPILOT.origin(known)?]).collect())
            }
            Client::Gemini => Ok(vec![GEMINI.origin(known)?, CODE_ASSIST.origin(known)?]),
            Client::Other(login) => {
                let own = PROVIDERS.iter().map(|provider| provider.origin(known));
                let mut origins: Vec<_> = own.collect::<Result<_, _>>()?;
                for (name, variable) in FURTHER {
                    let url = known.running.base_url(variable);
                    let origin = url.map(|url| Origin::of(name, &url)).transpose();
                    origins.extend(origin.with_context(|| format!("{variable} is set"))?);
                }
                origins.extend(COPILOT_OWN.origin_if_set(known)?);
                origins.extend(login.iter().map(|login| login.origin().clone()));
                Ok(origins)
            }
        }
    }

    /// Returns whether it asks models and little else.
    fn asks_models(&self) -> bool {
        matches!(self, Client::Claude | Client::Codex(_))
    }

    /// Returns how it logs in to Codex's API, if it may.
    fn codex(&self) -> Option<&CodexLogin> {
        match self {
            Client::Claude | Client::Copilot | Client::Gemini => None,
            Client::Codex(login) => Some(login),
            Client::Other(login) => login.as_ref(),
        }
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
            let origin = Origin::of("x", url).unwrap();
            assert_eq!(origin.through(&gate).map(|way| way.url).as_deref(), through, "{url}");
        }
        let error = format!("{:#}", Origin::of("x", "https://user:word@a.example").unwrap_err());
        assert!(error.contains("user name or password") && !error.contains("word@"), "{error}");
    }
}
