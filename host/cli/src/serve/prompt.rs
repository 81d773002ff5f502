//! The approval prompt in the gate's own terminal.

use leafgate_admin::RuntimeFile;
use tokio::task::JoinHandle;

use crate::print::Printer;
use crate::review;
use crate::stop::Stop;

/// A prompt on a thread of its own. It asks the gate over the admin API, like a prompt in another
/// terminal.
pub(super) struct ServePrompt(JoinHandle<()>);

impl ServePrompt {
    /// Takes the terminal. The gate goes on running when the prompt ends.
    pub(super) fn show(gate: &RuntimeFile, stop: &Stop) -> ServePrompt {
        let (gate, stop) = (gate.clone(), stop.flag());
        ServePrompt(tokio::task::spawn_blocking(move || {
            let shown = review::on_screen(&gate, None, &stop);
            let mut printer = Printer::for_terminal();
            match shown {
                Err(error) => {
                    printer.error_line(&format!("leafgate: the prompt ended, the gate goes on: {error:#}"))
                }
                Ok(_) if stop.load(std::sync::atomic::Ordering::Relaxed) => {}
                Ok(waiting) => printer.error_line(&left(waiting)),
            }
        }))
    }

    /// Ready once the terminal is given back.
    pub(super) async fn closed(self) {
        // A panic has been reported where it happened, and the terminal restored.
        let _ = self.0.await;
    }
}

/// Returns the message for a person who leaves the prompt.
fn left(waiting: usize) -> String {
    let waiting =
        leafgate_review::screen::farewell(waiting).map(|text| format!("{text} ")).unwrap_or_default();
    format!("{waiting}The gate goes on: `leafgate review` shows the prompt again, Ctrl-C stops the gate.")
}
