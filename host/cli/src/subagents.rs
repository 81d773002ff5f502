//! `subagents`: what agents asked that others started, as a running gate saw it.

use leafgate_review::AdminApi;
use leafgate_review::rows::{RowStyle, subagent_rows};

use crate::admin::AdminClient;
use crate::args::GateArgs;
use crate::exit::Exit;
use crate::print::{Printer, Style};
use crate::status::refused;

/// Lists the latest requests of agents, newest first.
pub(crate) fn run(args: &GateArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut gate = AdminClient::new(&args.find()?)?;
    let listed = match gate.subagents() {
        Ok(listed) => listed,
        Err(error) => return refused(&error, args.json, printer),
    };
    if args.json {
        printer.json(&listed)?;
    } else {
        for row in subagent_rows(&listed) {
            match row.0.first().map(|piece| piece.style) {
                Some(RowStyle::Strong) => printer.text(Style::Heading, &row.text())?,
                _ => printer.line(&row.text())?,
            }
        }
    }
    printer.flush()?;
    Ok(Exit::Done)
}
