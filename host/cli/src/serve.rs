//! `run`: the gate as a process, until it is stopped.
//!
//! Beside the gate run a watch that reloads its policy, the admin API that commands find through a
//! runtime file, and, with `--review`, the approval prompt in this terminal.

mod admin;
mod log;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod memory;
mod notified;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use futures_util::future::OptionFuture;
use leafgate_admin::shown_url;
use leafgate_admin::{Status, TurnMode};
use leafgate_config::Settings;
use leafgate_gate::{Gate, OwnPolicy, TeamSource as _, UpstreamName};
use leafgate_http::Listener;
use leafgate_policy::{LoadError, Policy};
use leafgate_record::{Both, Recorder};
use leafgate_store::Store;
use leafgate_trace::Tracer;
use leafgate_watch::Timing;

use self::admin::AdminListener;
use crate::except::PolicyFolders;
use crate::kept::{KeptMode, KeptRecord as _};
use crate::known::{KnownNow, KnownSource};
use crate::options::{RunArgs, policy_place};
use crate::print::{Exit, Printer};
use crate::reload::{PolicyWatch, Reload};
use crate::saved::SavedFolder;
use crate::settings::{GateSetup, LogTo};
use crate::stop::Stop;
use crate::team::TeamFile;
use crate::{home, managed, mode, notify, policy, review, settings, standing};

pub(crate) fn run(args: &RunArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    if args.review {
        review::require_terminal()?;
    }
    let settings = settings::load(&args.config, args.layer()?)?;
    let mut setup = if args.standing { standing::setup(&settings)? } else { settings::setup(&settings)? };
    if args.standing {
        standing::detach();
    }
    if args.review {
        setup.log = LogTo::File;
        ensure!(setup.admin_listen.is_some(), "the prompt asks the admin API, which the settings switch off");
    }
    let ready = |gate: &OpenGate, stop: &Stop| {
        if args.standing {
            standing::serves(&gate.status().listen, None)?;
            standing::end_when_idle(gate.gate(), stop.clone(), &settings)?;
        }
        Ok(())
    };
    until_stopped(setup, &settings, args.review, ready, printer)
}

/// Serves until a signal stops it. `ready` is called once it listens.
pub(crate) fn until_stopped(
    setup: GateSetup,
    settings: &Settings,
    review: bool,
    ready: impl FnOnce(&OpenGate, &Stop) -> anyhow::Result<()>,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    memory::give_back_large_blocks();
    let runtime = tokio::runtime::Runtime::new().context("cannot start the threads that serve requests")?;
    runtime.block_on(async {
        let stop = Stop::on_signals()?;
        let gate = OpenGate::open(setup, settings).await?;
        ready(&gate, &stop)?;
        gate.announce(printer)?;
        gate.tell_mode(printer);
        let admin = gate.admin.as_ref().map(|admin| &admin.file);
        let prompt = admin.filter(|_| review).map(|file| review::beside_gate(file, &stop));
        if let (Some(file), Some(command)) = (admin, settings.text("notify-command")) {
            notify::start(command.to_owned(), file.clone())
                .context("cannot start the thread that notifies")?;
        }
        notified::tell("READY=1");
        gate.serve(&stop).await;
        if let Some(prompt) = prompt {
            // A panic has been reported where it happened, and the terminal restored.
            let _ = prompt.await;
        }
        Ok(Exit::Done)
    })
}

/// A gate that listens, with all that runs beside it. A request that comes before it serves waits in
/// the system's queue.
pub(crate) struct OpenGate {
    gate: Gate,
    policy: Arc<Policy>,
    mode: TurnMode,
    listener: Listener,
    log_in_json: bool,
    admin: Option<AdminListener>,
    metrics: Option<Listener>,
    store: Option<Arc<Store>>,
    tracer: Option<Arc<Tracer>>,
    _watches: Vec<PolicyWatch>,
}

impl OpenGate {
    /// Loads the policy and listens.
    pub(crate) async fn open(mut setup: GateSetup, settings: &Settings) -> anyhow::Result<OpenGate> {
        if let Some(managed) = managed::find()? {
            managed.check_upstreams(&setup.config)?;
        }
        let log_in_json = settings.text("log-format") == Some("json");
        log::start(setup.log, settings.text("log").unwrap_or_default(), log_in_json)?;
        let known = KnownNow::open(KnownSource::of(settings))?;
        let requires_tests = settings.switch("require-tests") == Some(true);
        let reload = Reload::new(setup.policy.clone(), requires_tests, Some(Arc::clone(&known)))?;
        let policy = Arc::new(reload.load()?);
        setup.config.policy_source = reload.name();
        let folders = PolicyFolders::new(setup.policy.clone(), setup.upstream_policies.clone());
        let own = own_policies(&mut setup, &known, requires_tests)?;
        let gate = Gate::new(setup.config.clone(), home::token_keys()?, Arc::clone(&policy))?;
        let data = home::data_folder()?;
        let KeptMode { mode } = KeptMode::read(&data)?;
        gate.keep_mode(mode, move |mode| KeptMode { mode }.write(&data));
        gate.write_exceptions(folders);
        gate.keep_saved(SavedFolder::open(Path::new(settings.text("workspace").unwrap_or_default()))?);
        let agents = settings.text("agents").map(Path::new);
        if let Some(team) = TeamFile::find(agents, &setup.policy) {
            // What is wrong with it is said at once, and not with the first run.
            if team.team().is_none() && agents.is_some() {
                let warning =
                    "the file that `agents` names is not there: /agents/v1 serves nobody until it is";
                tracing::warn!(target: "leafgate::agents", "{warning}");
            }
            gate.serve_team(team);
        }
        let store = setup.keep.take().map(crate::log::open_store).transpose()?;
        let tracer = setup.traces.take().map(Tracer::start).transpose();
        let tracer = tracer.context("traces cannot be sent")?.map(Arc::new);
        let recorders =
            [store.clone().map(|log| log as Arc<dyn Recorder>), tracer.clone().map(|sent| sent as _)];
        if let Some(told) = recorders.into_iter().flatten().reduce(|one, other| Arc::new(Both(one, other))) {
            gate.record(told);
        }
        let listener = Listener::bind(setup.listen).await?;
        let metrics = OptionFuture::from(setup.metrics_listen.map(Listener::bind)).await;
        let metrics = metrics.transpose().context("`metrics.listen` cannot be served")?;
        let admin = AdminListener::open(&setup, &listener).await?;
        let mut _watches = Vec::new();
        for (of, reload) in std::iter::once((None, reload)).chain(own) {
            _watches.extend(watch(of, reload, &gate)?);
        }
        Ok(OpenGate { gate, policy, mode, listener, log_in_json, admin, metrics, store, tracer, _watches })
    }

    /// Returns how the gate is, with the address where it will serve.
    pub(crate) fn status(&self) -> Status {
        Status { listen: format!("http://{}", self.listener.address()), ..self.gate.status() }
    }

    /// Returns the gate itself.
    pub(crate) fn gate(&self) -> Gate {
        self.gate.clone()
    }

    /// Tells a person which turns will wait from the start on.
    pub(crate) fn tell_mode(&self, printer: &mut Printer) {
        if let Some(told) = mode::at_start(self.mode, self.admin.is_some()) {
            self.tell(&told, printer);
        }
    }

    /// Tells a person, or what reads the log where each of its lines is an object.
    fn tell(&self, line: &str, printer: &mut Printer) {
        if self.log_in_json {
            tracing::warn!(target: "leafgate::start", "{line}");
        } else {
            printer.error_line(line);
        }
    }

    /// Serves until the stop is requested.
    pub(crate) async fn serve(self, stop: &Stop) {
        let OpenGate { gate, listener, admin, metrics, store, tracer, _watches, .. } = self;
        let admin = OptionFuture::from(admin.map(|admin| admin.serve(&gate, stop.requested())));
        let metrics = metrics.map(|metrics| gate.serve_metrics(metrics, stop.requested()));
        tokio::join!(gate.serve(listener, stop.requested()), admin, OptionFuture::from(metrics));
        store.iter().for_each(|store| store.close());
        tracer.iter().for_each(|tracer| tracer.close());
    }

    /// Prints the URL as the first and only line of standard output, for scripts that let the system
    /// choose the port. All else goes to standard error.
    fn announce(&self, printer: &mut Printer) -> anyhow::Result<()> {
        printer.line(&format!("http://{}", self.listener.address()))?;
        printer.flush()?;
        let begun = format!(
            "leafgate {}: {} before {}; Ctrl-C stops it",
            env!("CARGO_PKG_VERSION"),
            policy::summary(&self.policy),
            shown_url(&self.gate.status().upstream),
        );
        self.tell(&begun, printer);
        if let Some(unprotected) = self.policy.unprotected() {
            self.tell(&format!("warning: {unprotected}"), printer);
        }
        for warning in self.policy.warnings() {
            self.tell(&warning.to_string(), printer);
        }
        Ok(())
    }
}

/// Loads the policies of upstreams that have their own.
fn own_policies(
    setup: &mut GateSetup,
    known: &Arc<KnownNow>,
    requires_tests: bool,
) -> anyhow::Result<Vec<(Option<UpstreamName>, Reload)>> {
    let mut loaded = Vec::new();
    for (name, source) in std::mem::take(&mut setup.upstream_policies) {
        let has_tests = requires_tests && source.folder().is_some();
        let reload = Reload::new(source, has_tests, Some(Arc::clone(known)))?;
        let policy =
            reload.load().with_context(|| format!("the policy of the upstream `{name}` is not used"))?;
        let named = setup.config.named.iter_mut().find(|named| named.name == name);
        if let Some(named) = named {
            named.upstream.policy = Some(OwnPolicy { source: reload.name(), policy: Arc::new(policy) });
        }
        loaded.push((Some(name), reload));
    }
    Ok(loaded)
}

/// Starts the watch that publishes each change of a policy to the gate: of its own, or of the one of a
/// named upstream.
fn watch(of: Option<UpstreamName>, reload: Reload, gate: &Gate) -> anyhow::Result<Option<PolicyWatch>> {
    let (publisher, source) = (gate.clone(), reload.loads().clone());
    // One of the user's own need not be there yet.
    let (is_own, is_there) = (of.is_none(), source.folder().is_some_and(Path::exists));
    let watch = reload.watch(Timing::default(), move |loaded: Result<Policy, LoadError>| {
        let loaded = loaded.map(Arc::new).map_err(|error| error.to_string());
        match (&of, loaded) {
            (Some(upstream), loaded) => publisher.upstream_policy(upstream, loaded),
            (None, Ok(policy)) => {
                publisher.policy_comes_from(policy_place(&source));
                publisher.policy_loaded(policy);
            }
            (None, Err(diagnostics)) => publisher.policy_refused(diagnostics),
        }
    })?;
    if let Some(watch) = watch.as_ref().filter(|_| is_own) {
        gate.watch_loads(watch.running());
        if let Err(error) = watch.events()
            && is_there
        {
            tracing::warn!(target: "leafgate::policy", "{error}");
        }
    }
    Ok(watch)
}
