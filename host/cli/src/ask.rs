//! A question before something goes that cannot be brought back.

use std::io::{self, IsTerminal};

use anyhow::bail;

use crate::print::{Printer, Style};

/// Asks for a yes, unless `--yes` was given.
///
/// # Errors
/// Nobody says yes: the answer is another one, or there is no terminal to ask at.
pub(crate) fn for_yes(question: &str, yes: bool, printer: &mut Printer) -> anyhow::Result<()> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        bail!("nothing was removed: nobody can be asked here, and `--yes` was not given");
    }
    printer.text(Style::Plain, &format!("{question} yes, no: "))?;
    printer.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => bail!("nothing was removed"),
    }
}
