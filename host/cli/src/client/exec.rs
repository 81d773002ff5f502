//! `exec`: starts a client behind a gate: the one of the user that all clients share, or one of its own.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, bail};
use leafgate_admin::shown_url;
use leafgate_config::Layer;
use leafgate_gate::UpstreamTarget;

use super::bypass::{Noticed, Watch};
use super::choice::{self, ChosenGate, RunningGate, WantedGate};
use super::codex::PrivateHome;
use super::detour::DetourSearch;
use super::{ClientOrigin, ClientProgram, ClientWay, FURTHER, PROVIDERS, StartContext, editor, own};
use crate::child::{NotStarted, Program};
use crate::confine::{self, Confined, Confinement};
use crate::exit::Exit;
use crate::mode::why_off;
use crate::options::{ExecArgs, NO_POLICY, policy_name, policy_place};
use crate::print::Printer;
use crate::{mode, settings};

/// The variables that name what a proxy is not asked for.
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];

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
    let known = StartContext { running: &running, settings: &settings };
    let client = ClientProgram::of(program, &known)?;
    let origins = client.origins(&known)?;
    // Read here: the parser of arguments would repeat it, and it may hold a password.
    let upstream = args.upstream.as_deref().map(str::parse::<UpstreamTarget>);
    let upstream = upstream.transpose().context("--upstream is wrong")?;
    let origins = match &upstream {
        Some(upstream) => origins.into_iter().map(|origin| origin.to(upstream)).collect(),
        None => origins,
    };
    let policy = args.policy.as_ref().map(policy_place);
    let wanted = WantedGate {
        gate: args.gate.as_ref(),
        own: args.wants_own_gate(),
        policy: policy.as_deref(),
        origins: &origins,
        settings: &settings,
        program: &program.to_string_lossy(),
    };
    let confinement = args.only.then(confine::find).transpose()?;
    let start = ClientStart { args, client: &client, origins: &origins, confinement };
    let shared = choice::choose(&running, &wanted, printer)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the threads that serve requests")?;
    let exit = match shared {
        Some((gate, _behind)) => runtime.block_on(start.behind(&gate, printer)),
        None => runtime.block_on(own::serve(&start, &settings, printer)),
    };
    // A name that is still looked up keeps nobody waiting.
    runtime.shutdown_background();
    exit
}

/// What is to be started.
pub(super) struct ClientStart<'s> {
    pub(super) args: &'s ExecArgs,
    client: &'s ClientProgram,
    pub(super) origins: &'s [ClientOrigin],
    confinement: Option<Confinement>,
}

impl ClientStart<'_> {
    /// Starts the client behind a gate that serves, and waits for its end.
    pub(super) async fn behind(&self, gate: &ChosenGate, printer: &mut Printer) -> anyhow::Result<Exit> {
        let ClientStart { args, client, origins, .. } = self;
        let (variables, _home) = variables(client, origins, gate)?;
        let search = DetourSearch {
            command: &args.command,
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
        let program = args.command[0].to_string_lossy();
        printer.error_line(&told(&program, gate, origins));
        if let Some(mode) = gate.status.mode.as_ref().and_then(|mode| mode::at_start(mode.mode, true)) {
            printer.error_line(&mode);
        }
        let confined = self.confined(gate, printer)?;
        let command = confined.as_ref().map_or(&args.command, |confined| &confined.command);
        let watch = self.watch(gate)?;
        let program = match Program::start(command, &variables)? {
            Ok(program) => program,
            Err(NotStarted { why, exit }) => {
                printer.error_line(&format!("leafgate: {why}"));
                return Ok(exit);
            }
        };
        match confined {
            // Nothing passes by.
            Some(confined) => tokio::select! {
                exit = program.ended() => exit,
                never = confined.serve() => match never {},
            },
            None => watched(program, &watch, printer).await,
        }
    }

    /// Returns the command that nothing but the gate is in reach of, where that was asked for.
    fn confined(&self, gate: &ChosenGate, printer: &mut Printer) -> anyhow::Result<Option<Confined>> {
        let Some(way) = self.confinement else { return Ok(None) };
        let address = address(gate)?;
        if address.ip() != Ipv4Addr::LOCALHOST {
            bail!(
                "--only needs a gate at 127.0.0.1, and this one listens at {address}: name another with --gate"
            );
        }
        printer.error_line(&way.told(address));
        Confined::new(way, address, &self.args.command).map(Some)
    }

    /// Returns what watches the program, which is not started yet.
    fn watch(&self, gate: &ChosenGate) -> anyhow::Result<Watch> {
        Ok(Watch {
            program: self.args.command[0].to_string_lossy().into_owned(),
            is_client: self.client.kind.asks_models,
            gate: address(gate)?,
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

/// Waits for the end of a program, and says if it asks past the gate.
async fn watched(program: Program, watch: &Watch, printer: &mut Printer) -> anyhow::Result<Exit> {
    let (mut noticed, pid) = (Noticed::default(), program.id());
    let watching = async {
        if let Some(pid) = pid {
            watch.run(pid, &mut noticed, |line| printer.error_line(line)).await;
        }
        std::future::pending::<std::convert::Infallible>().await
    };
    let exit = tokio::select! {
        exit = program.ended() => exit,
        never = watching => match never {},
    };
    if let Some(line) = watch.told(&noticed) {
        printer.error_line(&line);
    }
    exit
}

/// Returns where a gate listens.
fn address(gate: &ChosenGate) -> anyhow::Result<SocketAddr> {
    let listen = &gate.status.listen;
    listen
        .strip_prefix("http://")
        .and_then(|text| text.parse().ok())
        .with_context(|| format!("the gate listens at {listen}"))
}

/// Returns what is said of the gate that a program is behind.
fn told(program: &str, gate: &ChosenGate, origins: &[ClientOrigin]) -> String {
    let status = &gate.status;
    let first = origins.iter().find_map(|origin| gate.way(origin));
    let way = first.unwrap_or_else(|| ClientWay::first(status, status.listen.clone()));
    let place = way.url.strip_suffix("/v1").unwrap_or(&way.url);
    let upstream = shown_url(way.upstream);
    match way.policy {
        _ if !status.enabled => format!(
            "leafgate: WARNING: {program} is behind {place}, which is {}: everything passes to {upstream} \
             as it comes, and no rule looks at it",
            why_off(status)
        ),
        NO_POLICY => format!(
            "leafgate: WARNING: {program} is behind {place}, which has no policy: everything passes to \
             {upstream} as it comes"
        ),
        policy => {
            format!(
                "leafgate: {program} is behind {place}, which looks with policy {policy} before {upstream}"
            )
        }
    }
}

/// What a client is started with, and the folder that it needs as long as it runs.
type Variables = (Vec<(&'static str, OsString)>, Option<PrivateHome>);

fn variables(
    client: &ClientProgram,
    origins: &[ClientOrigin],
    gate: &ChosenGate,
) -> anyhow::Result<Variables> {
    let mut variables: Vec<(&'static str, OsString)> = Vec::new();
    let url = |name: &str| {
        let origin = origins.iter().find(|origin| origin.name == name)?;
        // A gate that a person named may lead there by no way. It refuses what then comes.
        let nowhere = || format!("{}/u/{name}{}", gate.status.listen, origin.path);
        Some(gate.way(origin).map_or_else(nowhere, |way| way.url))
    };
    let providers = PROVIDERS.iter().chain(&FURTHER);
    variables.extend(providers.filter_map(|provider| Some((provider.variable, url(provider.name)?.into()))));
    let mut home = None;
    if let Some((login, base_url)) =
        client.codex.as_ref().and_then(|login| Some((login, url(login.origin().name)?)))
    {
        let made = login.private_home(&base_url)?;
        variables.push(("CODEX_HOME", made.folder().into()));
        home = Some(made);
    }
    // Without a proxy as well: what a client reads later may name one.
    variables.extend(past_proxies());
    Ok((variables, home))
}

/// Returns whether the environment names a proxy, to which a client would send the gate's requests.
pub(super) fn is_behind_proxy() -> bool {
    const PROXIES: [&str; 6] =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    PROXIES.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Returns the variables by which a client asks its proxy for nothing of the gate's.
pub(super) fn past_proxies() -> [(&'static str, OsString); 2] {
    NO_PROXY.map(|name| (name, no_proxy()))
}

/// Returns what proxies are not asked for.
fn no_proxy() -> OsString {
    let given = NO_PROXY.iter().find_map(|name| std::env::var_os(name).filter(|value| !value.is_empty()));
    match given {
        Some(mut given) => {
            given.push(",");
            given.push(LOOPBACK);
            given
        }
        None => LOOPBACK.into(),
    }
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
