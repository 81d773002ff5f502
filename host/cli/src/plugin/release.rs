//! `plugin release`: has a running gate ask a plugin again.

use leafgate_admin::Release;

use super::args::ReleaseArgs;
use crate::exit::Exit;
use crate::print::Printer;

pub(super) fn run(args: &ReleaseArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let released = args.gate.client()?.command(&args.plugin, &Release {})?;
    printer.show(&released, |released, printer| {
        let is = match released.was_quarantined {
            true => "is asked again, and its faults are forgotten",
            false => "is in no quarantine",
        };
        printer.line(&format!("{} {is}", args.plugin))
    })
}
