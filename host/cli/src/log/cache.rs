//! `cache`: what a provider could have read from its cache, and what broke it.

use clap::Args;
use leafgate_store::{CacheLine, Filter};

use super::list::short;
use crate::moments::local;
use crate::print::{Cell, Exit, Printer, Style};

#[derive(Args)]
pub(crate) struct CacheArgs {
    /// How many turns
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Only this conversation, by its id or the beginning of it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only turns that do not go on from the whole of the turn before
    #[arg(long)]
    broken: bool,
}

pub(crate) fn run(args: &CacheArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let log = super::open()?;
    let filter = Filter { session: args.session.clone(), ..Filter::default() };
    let mut lines = log.ledger(&filter, args.limit as usize)?;
    lines.retain(|line| !args.broken || line.broken.is_some());
    let of = if args.session.is_some() { "no turn of this conversation" } else { "no turn in the log" };
    printer.show(&lines, |lines, printer| {
        printer.none(
            lines.len(),
            &format!("{of} has one before it that it could be compared with: `leafgate log list` shows what there is"),
        );
        let heads = ["request", "time", "session", "before", "repeated", "cached", "input", "how it goes on"];
        printer.table(heads, lines.iter().map(row))
    })
}

fn row(line: &CacheLine) -> [Cell; 8] {
    let tokens = |tokens: Option<i64>| tokens.map_or_else(|| Cell::number("-"), Cell::from);
    let goes_on = match &line.broken {
        None => Cell::new(Style::Added, "unbroken"),
        Some(broken) => Cell::new(
            Style::Error,
            format!(
                "broken by {} at {}, about {} tokens (estimate)",
                broken.by, broken.path, broken.lost_tokens_estimate
            ),
        ),
    };
    [
        line.id.into(),
        Cell::new(Style::Dim, local(line.at)),
        short(&line.session).into(),
        line.before.into(),
        Cell::number(format!("{}%", line.common_bytes * 100 / line.before_bytes.max(1))),
        tokens(line.cached_tokens),
        tokens(line.input_tokens),
        goes_on,
    ]
}
