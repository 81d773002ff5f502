//! Requests as they come.

use std::time::Duration;

use leafgate_store::Log;

use super::TailArgs;
use super::list;
use crate::exit::Exit;
use crate::print::Printer;

/// How often the log is looked at. Looking costs one read of its header.
const EVERY: Duration = Duration::from_millis(200);

/// Requests that are read at a time.
const PAGE: usize = 500;

/// Prints the last requests, and all that come, until the process is ended or nobody reads.
pub(super) fn run(log: &Log, args: &TailArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut last = log.newest()? - args.lines;
    let (mut version, mut table) = (None, list::table());
    loop {
        let found = log.data_version()?;
        if version.replace(found) != Some(found) {
            loop {
                let lines = log.after(last, PAGE)?;
                let Some(newest) = lines.last() else { break };
                last = newest.id;
                match printer.is_json() {
                    true => lines.iter().try_for_each(|line| printer.json_line(line))?,
                    false => printer.more(&mut table, lines.iter().map(list::row))?,
                }
            }
            printer.flush()?;
        }
        std::thread::sleep(EVERY);
    }
}
