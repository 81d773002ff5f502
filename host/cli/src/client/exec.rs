//! `exec`: starts a client behind a gate: the one of the user that all clients share, or one of its own.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, bail};
use leafgate_admin::shown_url;
use leafgate_config::{Layer, Settings};
use leafgate_gate::UpstreamTarget;

use super::bypass::Watch;
use super::choice::{self, ChosenGate, RunningGate};
use super::codex::{CodexLogin, PrivateHome};
use super::detour::DetourSearch;
use super::known::{CODEX, KnownClient, client, clients};
use super::{ClientOrigin, ClientWay, FURTHER, PROVIDERS, editor, own};
use crate::child::Program;
use crate::confine::{self, Confined, Confinement};
use crate::mode::unguarded;
use crate::options::{ExecArgs, policy_name};
use crate::print::{Exit, Printer};
use crate::{mode, runtime, settings};

/// The variables that name a proxy.
pub(crate) const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// The variables that name what a proxy is not asked for.
pub(crate) const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The addresses of gates.
const LOOPBACK: &str = "127.0.0.1,localhost";

pub(crate) fn run(args: &ExecArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let program = args.command.first().context("name a program to start")?;
    if let Some(edition) = editor::named(program) {
        return editor::run(args, edition, printer);
    }
    let mut flags = Layer::default();
    if let Some(policy) = &args.policy {
        flags.set_flag("--policy", "policy", &policy_name(policy)).map_err(anyhow::Error::msg)?;
    }
    let settings = settings::load(&args.config, flags)?;
    let running = RunningGate::find()?;
    let start = ClientStart::of(args, &settings, &running)?;
    let shared = choice::choose(&running, &start, printer)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the threads that serve requests")?;
    let exit = match shared {
        Some((gate, _behind)) => runtime.block_on(start.behind(&gate, printer)),
        None => runtime.block_on(own::serve(&start, printer)),
    };
    // A name that is still looked up keeps nobody waiting.
    runtime.shutdown_background();
    exit
}

/// A client that is to be started.
pub(super) struct ClientStart<'s> {
    pub(super) args: &'s ExecArgs,
    pub(super) settings: &'s Settings,
    /// `None` for any other program.
    known: Option<&'static KnownClient>,
    /// How it logs in to Codex's API, if it may.
    codex: Option<CodexLogin>,
    /// Where its requests would go. The first is what most of them are for.
    pub(super) origins: Vec<ClientOrigin>,
    confinement: Option<Confinement>,
}

impl<'s> ClientStart<'s> {
    fn of(args: &'s ExecArgs, settings: &'s Settings, running: &RunningGate) -> anyhow::Result<Self> {
        let name = Path::new(&args.command[0]).file_name().and_then(OsStr::to_str);
        let known = name.and_then(client);
        let codex = match known {
            Some(client) if client.name != CODEX => None,
            known => CodexLogin::find(running, known.is_some())?,
        };
        // In any other program every client may run.
        let all = || [&PROVIDERS[..], &FURTHER].concat();
        let mut origins = Vec::new();
        for provider in known.map_or_else(all, KnownClient::providers) {
            origins.extend(provider.origin(running, settings)?);
        }
        origins.extend(codex.iter().map(|login| login.origin.clone()));
        if let Some(upstream) = &args.upstream {
            // Read here: the parser of arguments would repeat it, and it may hold a password.
            let target: UpstreamTarget = upstream.parse().context("--upstream is wrong")?;
            for origin in &mut origins {
                origin.target = target.clone();
                origin.place = None;
            }
        }
        let confinement = args.only.then(confine::find).transpose()?;
        Ok(ClientStart { args, settings, known, codex, origins, confinement })
    }

    /// Returns the program, as it was named.
    pub(super) fn program(&self) -> Cow<'s, str> {
        self.args.command[0].to_string_lossy()
    }

    /// Starts the client behind a gate that serves, and waits for its end.
    pub(super) async fn behind(&self, gate: &ChosenGate, printer: &mut Printer) -> anyhow::Result<Exit> {
        let ClientStart { args, known, origins, .. } = self;
        let (variables, _home) = self.variables(gate)?;
        let search = DetourSearch {
            command: &args.command,
            clients: known.map_or(clients(), std::slice::from_ref),
            // Those that a client reads are its origin, whatever it is then started with.
            set: PROVIDERS
                .iter()
                .map(|provider| provider.variable)
                .chain(variables.iter().map(|(name, _)| *name))
                .collect(),
            allowed: &args.allow,
            gate: &gate.status.listen,
        };
        search.refuse()?;
        printer.error_line(&told(&self.program(), gate, origins));
        if let Some(mode) = gate.status.mode.as_ref().and_then(|mode| mode::at_start(mode.mode, true)) {
            printer.error_line(&mode);
        }
        let confined = self.confined(gate, printer)?;
        let command = confined.as_ref().map_or(&args.command, |confined| &confined.command);
        let watch = self.watch(gate)?;
        let program = Program::start(command, &variables)?;
        match confined {
            // Nothing passes by.
            Some(confined) => tokio::select! {
                exit = program.ended() => exit,
                never = confined.serve() => match never {},
            },
            None => {
                let pid = program.id();
                watch.until(program.ended(), pid, |line| printer.error_line(line)).await
            }
        }
    }

    /// Returns the command that nothing but the gate is in reach of, where that was asked for.
    fn confined(&self, gate: &ChosenGate, printer: &mut Printer) -> anyhow::Result<Option<Confined>> {
        let Some(way) = self.confinement else { return Ok(None) };
        let address = runtime::address_of(&gate.status.listen)?;
        if address.ip() != Ipv4Addr::LOCALHOST {
            bail!(
                "--only needs a gate at 127.0.0.1, and this one listens at {address}: name another with --gate"
            );
        }
        printer.error_line(&way.told(address));
        Confined::new(way, address, &self.args.command).map(Some)
    }

    fn variables(&self, gate: &ChosenGate) -> anyhow::Result<Variables> {
        let url = |name: &str| {
            let origin = self.origins.iter().find(|origin| origin.name == name)?;
            // A gate that a person named may lead there by no way. It refuses what then comes.
            let nowhere = || format!("{}/u/{name}{}", gate.status.listen, origin.path);
            Some(gate.way(origin).map_or_else(nowhere, |way| way.url))
        };
        let providers = PROVIDERS.iter().chain(&FURTHER);
        let named = providers.filter_map(|provider| Some((provider.variable, url(provider.name)?.into())));
        // Without a proxy as well: what a client reads later may name one.
        let mut variables: Vec<(&str, OsString)> = named.chain(past_proxies()).collect();
        let codex = self.codex.as_ref().and_then(|login| Some((login, url(login.origin.name)?)));
        let home = codex.map(|(login, base_url)| login.private_home(&base_url)).transpose()?;
        variables.extend(home.iter().map(|home| ("CODEX_HOME", home.folder.clone().into())));
        Ok((variables, home))
    }

    /// Returns what watches the program, which is not started yet.
    fn watch(&self, gate: &ChosenGate) -> anyhow::Result<Watch> {
        Ok(Watch {
            program: self.program().into_owned(),
            is_client: self.known.is_some_and(|client| client.asks_models),
            gate: runtime::address_of(&gate.status.listen)?,
            upstreams: self.asked().collect(),
        })
    }

    /// Returns where the program would ask by itself, as `host:port`.
    fn asked(&self) -> impl Iterator<Item = String> {
        let own = PROVIDERS.iter().map(|provider| provider.url.to_owned());
        let urls = self.origins.iter().map(|origin| origin.target.to_string()).chain(own);
        urls.filter_map(|url| {
            let url: http::Uri = url.parse().ok()?;
            let usual = if url.scheme_str() == Some("https") { 443 } else { 80 };
            Some(format!("{}:{}", url.host()?, url.port_u16().unwrap_or(usual)))
        })
    }
}

/// Returns what is said of the gate that a program is behind.
fn told(program: &str, gate: &ChosenGate, origins: &[ClientOrigin]) -> String {
    let status = &gate.status;
    let first = origins.iter().find_map(|origin| gate.way(origin));
    let way = first.unwrap_or_else(|| ClientWay::first(status, ""));
    let place = way.url.strip_suffix("/v1").unwrap_or(&way.url);
    let upstream = shown_url(way.upstream);
    match unguarded(status, way.policy) {
        Some(why) => format!(
            "leafgate: WARNING: {program} is behind {place}, which {why}: everything passes to {upstream} \
             as it comes, and no rule looks at it"
        ),
        None => format!(
            "leafgate: {program} is behind {place}, which looks with policy {} before {upstream}",
            way.policy
        ),
    }
}

/// What a client is started with, and the folder that it needs as long as it runs.
type Variables = (Vec<(&'static str, OsString)>, Option<PrivateHome>);

/// Returns whether the environment names a proxy, to which a client would send the gate's requests.
pub(super) fn is_behind_proxy() -> bool {
    PROXIES.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Returns the variables by which a client asks its proxy for nothing of the gate's: what it is not asked for
/// already, and that.
pub(super) fn past_proxies() -> [(&'static str, OsString); 2] {
    let given = NO_PROXY.iter().find_map(|name| std::env::var_os(name).filter(|value| !value.is_empty()));
    let mut all = given.unwrap_or_default();
    all.push(if all.is_empty() { "" } else { "," });
    all.push(LOOPBACK);
    NO_PROXY.map(|name| (name, all.clone()))
}

#[cfg(test)]
mod tests {
    use leafgate_admin::{PolicyStatus, Status};

    use super::*;

    #[test]
    fn a_gate_that_does_not_look_is_not_said_to_guard() {
        let gate = |enabled, policy: &str| ChosenGate {
            status: Status {
                listen: "http://127.0.0.1:4141".to_owned(),
                upstream: "https://api.openai.com".to_owned(),
                policy: PolicyStatus { source: policy.to_owned(), ..PolicyStatus::default() },
                enabled,
                ..Status::default()
            },
            by_name: true,
        };
        let origins = [ClientOrigin::of("openai", "https://api.openai.com/v1").unwrap()];
        let said = |enabled, policy| told("codex", &gate(enabled, policy), &origins);
        assert_eq!(
            said(true, "default"),
            "leafgate: codex is behind http://127.0.0.1:4141, which looks with policy default before https://api.openai.com"
        );
        for (enabled, policy, words) in
            [(false, "default", "switched off (setting `enabled`)"), (true, "none", "has no policy")]
        {
            let said = said(enabled, policy);
            assert!(
                said.contains("WARNING") && said.contains(words) && !said.contains("looks with"),
                "{said}"
            );
        }
    }
}
