//! `plugin`: begins, builds, looks at, checks, tries and measures plugins, in the sandbox and under
//! the limits of the gate.

mod args;
mod bench;
mod build;
mod check;
mod dev;
mod inspect;
mod new;
mod python;
mod sign;
mod source;
mod test;
mod trial;

use leafgate_admin::Release;

pub(crate) use self::args::PluginCommand;
use self::args::ReleaseArgs;
use crate::print::{Exit, Printer};

pub(crate) fn run(command: &PluginCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        PluginCommand::New(args) => new::run(args, printer),
        PluginCommand::Build(args) => build::run(args, printer),
        PluginCommand::Dev(args) => dev::run(args, printer),
        PluginCommand::Inspect(args) => inspect::run(args, printer),
        PluginCommand::Check(args) => check::run(args, printer),
        PluginCommand::Test(args) => test::run(args, printer),
        PluginCommand::Run(args) => trial::run(args, printer),
        PluginCommand::Bench(args) => bench::run(args, printer),
        PluginCommand::Release(args) => release(args, printer),
        PluginCommand::Key(args) => sign::key(args, printer),
        PluginCommand::Sign(args) => sign::sign(args, printer),
        PluginCommand::Verify(args) => sign::verify(args, printer),
    }
}

/// Has a running gate ask a plugin again.
fn release(args: &ReleaseArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let released = args.gate.client()?.command(&args.plugin, &Release {})?;
    printer.show(&released, |released, printer| {
        let is = match released.was_quarantined {
            true => "is asked again, and its faults are forgotten",
            false => "is in no quarantine",
        };
        printer.line(&format!("{} {is}", args.plugin))
    })
}
