//! `plugin release`: has a running gate ask a plugin again.

use super::args::ReleaseArgs;
use crate::admin::AdminClient;
use crate::exit::Exit;
use crate::print::Printer;
use crate::status::refused;

pub(super) fn run(args: &ReleaseArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let json = args.gate.json;
    let released = match AdminClient::new(&args.gate.find()?)?.release_plugin(&args.plugin) {
        Ok(released) => released,
        Err(error) => return refused(&error, json, printer),
    };
    match (json, released.was_quarantined) {
        (true, _) => printer.json(&released)?,
        (false, true) => {
            printer.line(&format!("{} is asked again, and its faults are forgotten", args.plugin))?
        }
        (false, false) => printer.line(&format!("{} is in no quarantine", args.plugin))?,
    }
    printer.flush()?;
    Ok(Exit::Done)
}
