//! Who asked for the value of which token, a line each.

use leafgate_store::Log;

use super::WhichArgs;
use super::list::short;
use super::time::moment;
use crate::print::{Printer, Style};

#[derive(clap::Args)]
pub(crate) struct RevealsArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// How many of the newest
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

pub(super) fn run(log: &Log, args: &RevealsArgs, printer: &mut Printer) -> anyhow::Result<()> {
    let lines = log.reveals(&args.which.filter(), args.limit as usize)?;
    if args.which.json {
        return Ok(printer.json(&lines)?);
    }
    if lines.is_empty() {
        printer.error_line("nobody asked for a value");
    }
    for line in &lines {
        printer.text(Style::Faint, &format!("{}  ", moment(line.at)))?;
        printer.inline(Style::Plain, short(&line.session), 10)?;
        printer.inline(Style::Marked, &line.token, 36)?;
        printer.inline(Style::Plain, &format!("  {}", line.by), 0)?;
        printer.line("")?;
    }
    Ok(())
}
