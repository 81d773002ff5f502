//! `reveal`: the value of a token, asked of the gate that remembers it.

use std::io::IsTerminal as _;

use clap::Args;
use leafgate_admin::Reveal;

use crate::admin::caller;
use crate::options::GateArgs;
use crate::print::{Exit, Printer};

#[derive(Args)]
pub(crate) struct RevealArgs {
    /// The token, as in EMAIL_k7f3q2xw9mz4ab6c
    token: String,
    #[command(flatten)]
    gate: GateArgs,
}

pub(crate) fn run(args: &RevealArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let command = Reveal { token: args.token.trim().to_owned(), by: caller() };
    let revealed = args.gate.client()?.command("", &command)?;
    printer.show(&revealed, |revealed, printer| {
        let value = revealed.value.expose();
        // A terminal obeys what a value says. A program gets it as it is.
        match std::io::stdout().is_terminal() {
            true => printer.line(value)?,
            false => printer.bytes(value.as_bytes())?,
        }
        printer.error_line(&format!("leafgate: that {} was revealed is logged", revealed.token));
        anyhow::Ok(())
    })
}
