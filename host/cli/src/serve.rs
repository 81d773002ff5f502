//! `run`: the gate as a process, until it is stopped.
//!
//! Beside the gate run a watch that reloads its policy, the admin API that commands find through a
//! runtime file, and, with `--review`, the approval prompt in this terminal.

mod admin;
mod log;
mod prompt;
mod stop;

use std::sync::Arc;

use anyhow::Context;
use leafgate_gate::{Gate, GateConfig, Listener};
use leafgate_policy::{LoadError, Policy};
use leafgate_watch::Timing;

use self::admin::AdminListener;
use self::prompt::Prompt;
use self::stop::Stop;
use crate::args::{RunArgs, WaitingArgs};
use crate::exit::Exit;
use crate::kept::KeptMode;
use crate::print::Printer;
use crate::reload::{PolicyWatch, Reload};
use crate::saved::SavedFolder;
use crate::{home, mode, notify, policy, review};

pub(crate) fn run(args: &RunArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    if args.review {
        review::require_terminal()?;
    }
    log::start(args.review)?;
    let mut reload = Reload::new(args.policy.source.clone());
    if args.require_tests {
        reload = reload.requiring_tests()?;
    }
    let policy = Arc::new(reload.load()?);
    let mut config = GateConfig::new(args.upstream.clone());
    config.policy_source = reload.name();
    apply_waiting(&args.waiting, &mut config);
    let gate = Gate::new(config, home::token_keys()?, Arc::clone(&policy))?;
    let kept = KeptMode::in_folder(home::data_folder()?);
    let begin = kept.read()?;
    gate.keep_mode(begin, move |mode| kept.write(mode));
    gate.keep_saved(SavedFolder::open(args.workspace.as_deref().unwrap_or(".".as_ref()))?);
    let runtime = tokio::runtime::Runtime::new().context("cannot start the threads that serve requests")?;
    runtime.block_on(async {
        let stop = Stop::on_signals()?;
        let listener = Listener::bind(args.listen).await?;
        let admin = AdminListener::open(args, &listener).await?;
        announce(args, &listener, &policy, printer)?;
        if let Some(told) = mode::at_start(begin, !args.no_admin) {
            printer.error_line(&told);
        }
        let _watch = watch(reload, &gate)?;
        let prompt = admin.as_ref().filter(|_| args.review).map(|admin| Prompt::show(admin.file(), &stop));
        if let (Some(admin), Some(command)) = (&admin, &args.notify_command) {
            notify::start(command.clone(), admin.file().clone())
                .context("cannot start the thread that notifies")?;
        }
        let serving_admin = async {
            if let Some(admin) = admin {
                admin.serve(&gate, stop.requested()).await;
            }
        };
        tokio::join!(gate.serve(listener, stop.requested()), serving_admin);
        if let Some(prompt) = prompt {
            prompt.closed().await;
        }
        Ok(Exit::Done)
    })
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

/// Prints the URL as the first and only line of standard output, for scripts that let the system
/// choose the port. All else goes to standard error.
fn announce(
    args: &RunArgs,
    listener: &Listener,
    policy: &Policy,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    printer.line(&format!("http://{}", listener.address()))?;
    printer.flush()?;
    printer.error_line(&format!(
        "leafgate {}: {} before {}; Ctrl-C stops it",
        env!("CARGO_PKG_VERSION"),
        policy::summary(policy),
        args.upstream,
    ));
    for warning in policy.warnings() {
        printer.error_line(&warning.to_string());
    }
    Ok(())
}
