//! The approval prompt in the gate's own terminal.

use leafgate_admin::RuntimeFile;
use tokio::task::JoinHandle;

use crate::print::Printer;
use crate::review;
use crate::stop::Stop;

/// Shows the prompt on a thread of its own, which ends once the terminal is given back. It asks the gate
/// over the admin API, like a prompt in another terminal; the gate goes on running when it ends.
pub(super) fn show(gate: &RuntimeFile, stop: &Stop) -> JoinHandle<()> {
    let (gate, stop) = (gate.clone(), stop.clone());
    tokio::task::spawn_blocking(move || {
        let mut printer = Printer::for_terminal();
        match review::on_screen(&gate, None, &stop) {
            Err(error) => {
                printer.error_line(&format!("leafgate: the prompt ended, the gate goes on: {error:#}"))
            }
            Ok(_) if stop.is_requested() => {}
            Ok(waiting) => printer.error_line(&left(waiting)),
        }
    })
}

/// Returns the message for a person who leaves the prompt.
fn left(waiting: usize) -> String {
    let waiting =
        leafgate_review::screen::farewell(waiting).map(|text| format!("{text} ")).unwrap_or_default();
    format!("{waiting}The gate goes on: `leafgate review` shows the prompt again, Ctrl-C stops the gate.")
}
