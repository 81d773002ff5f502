//! `run`: the gate as a process, until it is stopped.
//!
//! Beside the gate run a watch that reloads its policy, the admin API that commands find through a
//! runtime file, and, with `--review`, the approval prompt in this terminal.

mod admin;
mod log;
mod prompt;
mod stop;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use leafgate_admin::{Status, TurnMode};
use leafgate_gate::{Gate, GateConfig, Listener, TeamSource as _};
use leafgate_policy::{LoadError, Policy, PolicySource};
use leafgate_watch::Timing;

use self::admin::AdminListener;
pub(crate) use self::log::LogTo;
use self::prompt::Prompt;
pub(crate) use self::stop::Stop;
use crate::args::{RunArgs, WaitingArgs};
use crate::exit::Exit;
use crate::kept::KeptMode;
use crate::print::Printer;
use crate::reload::{PolicyWatch, Reload};
use crate::saved::SavedFolder;
use crate::team::TeamFile;
use crate::{home, mode, notify, policy, review};

pub(crate) fn run(args: &RunArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    if args.review {
        review::require_terminal()?;
    }
    let runtime = tokio::runtime::Runtime::new().context("cannot start the threads that serve requests")?;
    runtime.block_on(async {
        let stop = Stop::on_signals()?;
        let gate = OpenGate::open(GateSetup::of(args)).await?;
        gate.announce(printer)?;
        gate.tell_mode(printer);
        let admin = gate.admin.as_ref().map(AdminListener::file);
        let prompt = admin.filter(|_| args.review).map(|file| Prompt::show(file, &stop));
        if let (Some(file), Some(command)) = (admin, &args.notify_command) {
            notify::start(command.clone(), file.clone()).context("cannot start the thread that notifies")?;
        }
        gate.serve(&stop).await;
        if let Some(prompt) = prompt {
            prompt.closed().await;
        }
        Ok(Exit::Done)
    })
}

/// What a gate is started with.
pub(crate) struct GateSetup {
    /// Upstreams and limits.
    pub(crate) config: GateConfig,
    pub(crate) listen: SocketAddr,
    /// `None` serves no admin API.
    pub(crate) admin_listen: Option<SocketAddr>,
    pub(crate) policy: PolicySource,
    /// Whether a policy that fails its own tests is refused.
    pub(crate) requires_tests: bool,
    /// The folder whose saved edits are used.
    pub(crate) workspace: PathBuf,
    /// The file of the team; without it, that of the policy folder.
    pub(crate) agents: Option<PathBuf>,
    pub(crate) log: LogTo,
    /// The program that the gate is started for.
    pub(crate) client: Option<String>,
}

impl GateSetup {
    fn of(args: &RunArgs) -> GateSetup {
        let mut config = GateConfig::new(args.upstream.clone());
        config.answer_cancelled = args.answer_cancelled;
        apply_waiting(&args.waiting, &mut config);
        GateSetup {
            config,
            listen: args.listen,
            admin_listen: (!args.no_admin).then_some(args.admin_listen),
            policy: args.policy.source.clone(),
            requires_tests: args.require_tests,
            workspace: args.workspace.clone().unwrap_or_else(|| ".".into()),
            agents: args.agents.clone(),
            log: if args.review { LogTo::File } else { LogTo::Terminal },
            client: None,
        }
    }

    /// A gate for the present folder on ports that nobody uses.
    pub(crate) fn on_free_ports(config: GateConfig, policy: PolicySource) -> GateSetup {
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        GateSetup {
            config,
            listen: free,
            admin_listen: Some(free),
            policy,
            requires_tests: false,
            workspace: ".".into(),
            agents: None,
            log: LogTo::Terminal,
            client: None,
        }
    }
}

/// A gate that listens, with all that runs beside it. A request that comes before it serves waits in
/// the system's queue.
pub(crate) struct OpenGate {
    gate: Gate,
    policy: Arc<Policy>,
    mode: TurnMode,
    listener: Listener,
    address: SocketAddr,
    admin: Option<AdminListener>,
    _watch: Option<PolicyWatch>,
}

impl OpenGate {
    /// Loads the policy and listens.
    pub(crate) async fn open(mut setup: GateSetup) -> anyhow::Result<OpenGate> {
        log::start(setup.log)?;
        let mut reload = Reload::new(setup.policy.clone());
        if setup.requires_tests {
            reload = reload.requiring_tests()?;
        }
        let policy = Arc::new(reload.load()?);
        setup.config.policy_source = reload.name();
        let gate = Gate::new(setup.config.clone(), home::token_keys()?, Arc::clone(&policy))?;
        let kept = KeptMode::in_folder(home::data_folder()?);
        let mode = kept.read()?;
        gate.keep_mode(mode, move |mode| kept.write(mode));
        gate.keep_saved(SavedFolder::open(&setup.workspace)?);
        if let Some(team) = TeamFile::find(setup.agents.as_deref(), &setup.policy) {
            // What is wrong with it is said at once, and not with the first run.
            team.team();
            gate.serve_team(team);
        }
        let listener = Listener::bind(setup.listen).await?;
        let admin = AdminListener::open(&setup, &listener).await?;
        let _watch = watch(reload, &gate)?;
        let address = listener.address();
        Ok(OpenGate { gate, policy, mode, listener, address, admin, _watch })
    }

    /// Returns how the gate is, with the address where it will serve.
    pub(crate) fn status(&self) -> Status {
        Status { listen: format!("http://{}", self.address), ..self.gate.status() }
    }

    /// Tells a person which turns will wait from the start on.
    pub(crate) fn tell_mode(&self, printer: &mut Printer) {
        if let Some(told) = mode::at_start(self.mode, self.admin.is_some()) {
            printer.error_line(&told);
        }
    }

    /// Serves until the stop is requested.
    pub(crate) async fn serve(self, stop: &Stop) {
        let OpenGate { gate, listener, admin, _watch, .. } = self;
        let serving_admin = async {
            if let Some(admin) = admin {
                admin.serve(&gate, stop.requested()).await;
            }
        };
        tokio::join!(gate.serve(listener, stop.requested()), serving_admin);
    }

    /// Prints the URL as the first and only line of standard output, for scripts that let the system
    /// choose the port. All else goes to standard error.
    fn announce(&self, printer: &mut Printer) -> anyhow::Result<()> {
        printer.line(&format!("http://{}", self.address))?;
        printer.flush()?;
        printer.error_line(&format!(
            "leafgate {}: {} before {}; Ctrl-C stops it",
            env!("CARGO_PKG_VERSION"),
            policy::summary(&self.policy),
            self.gate.status().upstream,
        ));
        for warning in self.policy.warnings() {
            printer.error_line(&warning.to_string());
        }
        Ok(())
    }
}

/// Overrides the gate's defaults by the given times.
fn apply_waiting(args: &WaitingArgs, config: &mut GateConfig) {
    let limits = &mut config.limits;
    limits.silence = args.pause_silence.unwrap_or(limits.silence);
    limits.keepalive = args.pause_keepalive.unwrap_or(limits.keepalive);
}

/// Starts the watch that publishes each change of the policy folder to the gate.
fn watch(reload: Reload, gate: &Gate) -> anyhow::Result<Option<PolicyWatch>> {
    let publisher = gate.clone();
    let watch = reload.watch(Timing::default(), move |loaded: Result<Policy, LoadError>| match loaded {
        Ok(policy) => publisher.policy_loaded(Arc::new(policy)),
        Err(error) => publisher.policy_refused(error.to_string()),
    })?;
    if let Some(watch) = &watch {
        gate.watch_loads(watch.running());
        if let Err(error) = watch.events() {
            tracing::warn!(target: "leafgate::policy", "{error}");
        }
    }
    Ok(watch)
}
