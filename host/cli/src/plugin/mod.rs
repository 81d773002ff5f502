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
mod release;
mod sign;
mod source;
mod test;
mod trial;

pub(crate) use args::PluginCommand;

use crate::exit::Exit;
use crate::print::Printer;

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
        PluginCommand::Release(args) => release::run(args, printer),
        PluginCommand::Key(args) => sign::key(args, printer),
        PluginCommand::Sign(args) => sign::sign(args, printer),
        PluginCommand::Verify(args) => sign::verify(args, printer),
    }
}
