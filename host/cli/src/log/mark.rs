//! `log mark`: what a person says of a rule's match.

use clap::{Args, ValueEnum};
use leafgate_store::mark;

use super::folder;
use crate::masking::masked;
use crate::print::Printer;

#[derive(Args)]
pub(crate) struct MarkArgs {
    /// The request, by its number in lists
    #[arg(value_parser = super::number)]
    id: i64,
    /// Whether the rules were right to match
    #[arg(value_enum)]
    was: Was,
    /// The rule that is meant; without it all that matched
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Was {
    /// They found what they are for
    Right,
    /// It was a false alarm
    Wrong,
}

pub(super) fn run(args: &MarkArgs, printer: &mut Printer) -> anyhow::Result<()> {
    let is_right = matches!(args.was, Was::Right);
    let marked = mark(&folder()?, args.id, args.rule.as_deref(), is_right);
    // What is no rule's id may be anything that was pasted.
    let marked =
        marked.map_err(|error| anyhow::anyhow!(masked(&format!("{:#}", anyhow::Error::from(error)))))?;
    let was = if is_right { "right" } else { "wrong" };
    Ok(printer.line(&format!("request {}: {was}: {}", args.id, marked.join(", ")))?)
}
