//! `subagents`: what agents asked that others started, as a running gate saw it.

use leafgate_review::rows::subagent_rows;

use crate::exit::Exit;
use crate::options::GateArgs;
use crate::print::Printer;

/// Lists the latest requests of agents, newest first.
pub(crate) fn run(args: &GateArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let listed = args.client()?.subagents()?;
    printer.show(&listed, |listed, printer| printer.rows(&subagent_rows(listed, usize::MAX)))
}
