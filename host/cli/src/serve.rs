//! `run`: the gate as a process, until it is told to stop.

use std::sync::Arc;

use anyhow::Context;
use leafgate_gate::{Gate, GateConfig, Listener};
use leafgate_policy::Policy;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::print::{self, Printer};
use crate::{home, policy};

pub(crate) fn run(args: &RunArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    start_log()?;
    let policy = Arc::new(policy::load(&args.policy.source)?);
    let keys = home::token_keys()?;
    let gate = Gate::new(GateConfig::new(args.upstream.clone()), keys, Arc::clone(&policy))?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the threads that serve requests")?;
    runtime.block_on(async {
        let listener = Listener::bind(args.listen).await?;
        let stop = stopped()?;
        announce(args, &listener, &policy, printer)?;
        gate.serve(listener, stop).await;
        Ok(Exit::Done)
    })
}

/// The first line of standard output is the URL and nothing else, for scripts that let the system choose the port.
fn announce(
    args: &RunArgs,
    listener: &Listener,
    policy: &Policy,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    printer.line(&format!("http://{}", listener.address()))?;
    printer.flush()?;
    printer.complain(&format!(
        "leafgate {}: {} before {}; Ctrl-C stops it",
        env!("CARGO_PKG_VERSION"),
        policy::summary(policy),
        args.upstream,
    ));
    Ok(())
}

/// One line a request on standard error. Only what our own crates log is asked for: a library's debug output was not written with the
/// clients' secrets in mind.
fn start_log() -> anyhow::Result<()> {
    let level = std::env::var("LEAFGATE_LOG").unwrap_or_else(|_| "info".to_owned());
    let level: tracing::level_filters::LevelFilter =
        level.parse().ok().context("LEAFGATE_LOG is none of off, error, warn, info, debug, trace")?;
    let filter = EnvFilter::new(format!("off,leafgate={level}"));
    let colours = print::may_colour(&std::io::stderr());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours).init();
    Ok(())
}

/// Ready at the first Ctrl-C or SIGTERM.
fn stopped() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
