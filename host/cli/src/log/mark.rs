//! `log mark`: what a person says of a rule's match.

use clap::Args;
use leafgate_store::mark;
use serde_json::json;

use super::folder;
use crate::masking::masked;
use crate::options::one_of;
use crate::print::{Exit, Printer};

#[derive(Args)]
pub(crate) struct MarkArgs {
    /// The request, by its number in lists
    #[arg(value_parser = super::number)]
    id: i64,
    /// Whether the rules were right to match
    #[arg(value_name = "right|wrong", action = clap::ArgAction::Set, value_parser = one_of(&[true, false], was))]
    is_right: bool,
    /// The rule that is meant; without it all that matched
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
}

fn was(is_right: bool) -> (&'static str, &'static str) {
    match is_right {
        true => ("right", "They found what they are for"),
        false => ("wrong", "It was a false alarm"),
    }
}

pub(super) fn run(args: &MarkArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let marked = mark(&folder()?, args.id, args.rule.as_deref(), args.is_right);
    // What is no rule's id may be anything that was pasted.
    let rules =
        marked.map_err(|error| anyhow::anyhow!(masked(&format!("{:#}", anyhow::Error::from(error)))))?;
    let (id, (was, _)) = (args.id, was(args.is_right));
    let line = format!("request {id}: {was}: {}", rules.join(", "));
    printer.tell(&json!({ "request": id, "was": was, "rules": rules }), &line)
}
