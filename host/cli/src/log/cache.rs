//! `cache`: what a provider could have read from its cache, and what broke it.

use clap::Args;
use leafgate_store::{CacheLine, Filter, Log};

use super::list::short;
use super::time::moment;
use crate::exit::Exit;
use crate::print::{Printer, Style};

#[derive(Args)]
pub(crate) struct CacheArgs {
    /// How many turns
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = 1..=10_000)]
    limit: i64,
    /// Only this conversation, by its id or the beginning of it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only turns that do not go on from the whole of the turn before
    #[arg(long)]
    broken: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &CacheArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let log = Log::open(&super::folder()?)?;
    let filter = Filter { session: args.session.clone(), ..Filter::default() };
    let mut lines = log.ledger(&filter, usize::try_from(args.limit).unwrap_or(1))?;
    lines.retain(|line| !args.broken || line.broken.is_some());
    if args.json {
        printer.json(&lines)?;
    } else {
        if lines.is_empty() {
            let of =
                if args.session.is_some() { "no turn of this conversation" } else { "no turn in the log" };
            printer.error_line(&format!("{of} has one before it that it could be compared with: `leafgate log list` shows what there is"));
        }
        lines.iter().try_for_each(|line| print(line, printer))?;
    }
    printer.flush()?;
    Ok(Exit::Done)
}

fn print(line: &CacheLine, printer: &mut Printer) -> anyhow::Result<()> {
    printer.text(Style::Faint, &format!("{:>6}  {}  ", line.id, moment(line.at)))?;
    printer.inline(Style::Plain, short(&line.session), 10)?;
    let share = line.common_bytes * 100 / line.before_bytes.max(1);
    printer.text(Style::Plain, &format!("{share:>3}% of {} repeated", line.before))?;
    if let (Some(cached), Some(input)) = (line.cached_tokens, line.input_tokens) {
        printer.text(Style::Plain, &format!(", {cached} of {input} tokens from the cache"))?;
    }
    match &line.broken {
        None => printer.text(Style::Added, "  unbroken")?,
        Some(broken) => {
            let lost = format!("  broken by {} at {}", broken.by, broken.path);
            printer.inline(Style::Removed, &lost, 0)?;
            printer
                .text(Style::Plain, &format!(", about {} tokens (estimate)", broken.lost_tokens_estimate))?;
        }
    }
    Ok(printer.line("")?)
}
