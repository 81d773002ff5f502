//! Who asked for the value of which token, a line each.

use leafgate_store::{Log, RevealLine};

use super::WhichArgs;
use super::list::short;
use crate::exit::Exit;
use crate::moments::local;
use crate::print::{Printer, Style};
use crate::table::Cell;

#[derive(clap::Args)]
pub(crate) struct RevealsArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// How many of the newest
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

pub(super) fn run(log: &Log, args: &RevealsArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let lines = log.reveals(&args.which.filter(), args.limit as usize)?;
    printer.show(&lines, |lines, printer| {
        printer.none(lines.len(), "nobody asked for a value");
        let row = |line: &RevealLine| {
            [
                Cell::new(Style::Dim, local(line.at)),
                short(&line.session).into(),
                Cell::new(Style::Edited, line.token.as_str()),
                line.by.as_str().into(),
            ]
        };
        printer.table(["time", "session", "token", "asked by"], lines.iter().map(row))
    })
}
