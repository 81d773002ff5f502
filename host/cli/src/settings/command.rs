//! `config show`.

use leafgate_config::{Layer, Shown};

use crate::masking;
use crate::options::ConfigArgs;
use crate::print::{Exit, Printer, Style};

/// Prints every setting with the place that it comes from.
pub(crate) fn run(config: &ConfigArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let settings = super::load(config, Layer::default())?;
    let mut shown: Vec<Shown> = settings.shown().collect();
    for setting in &mut shown {
        if let (true, Some(value)) = (setting.is_free, &mut setting.value) {
            *value = masking::masked(value);
        }
    }
    printer.show(&shown, |shown, printer| {
        let width = shown.iter().map(|setting| setting.key.len()).max().unwrap_or_default();
        shown.iter().try_for_each(|Shown { key, value, source, .. }| {
            let value = value.as_deref().unwrap_or("(not set)");
            printer.text(Style::Plain, &format!("{key:width$} = {value}"))?;
            printer.text(Style::Dim, &format!("  # {source}\n"))
        })
    })?;
    let wrong = super::problems(&settings);
    for error in &wrong {
        printer.error_line(&masking::masked(&format!("leafgate: {error:#}")));
    }
    Ok(if wrong.is_empty() { Exit::Done } else { Exit::Bad })
}
