//! `config show`.

use leafgate_config::{Layer, Shown};
use serde::Serialize;

use crate::exit::Exit;
use crate::masking;
use crate::options::ConfigArgs;
use crate::print::{Printer, Style};

/// The output of `config show --json`.
#[derive(Serialize)]
struct ShownSetting<'s> {
    key: &'s str,
    /// As TOML.
    value: Option<&'s str>,
    source: String,
}

/// Prints every setting with the place that it comes from.
pub(crate) fn run(config: &ConfigArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let settings = super::load(config, Layer::default())?;
    let mut shown: Vec<Shown> = settings.shown().collect();
    for setting in &mut shown {
        if let (true, Some(value)) = (setting.is_free, &mut setting.value) {
            *value = masking::masked(value);
        }
    }
    let all = shown.iter().map(|setting| ShownSetting {
        key: &setting.key,
        value: setting.value.as_deref(),
        source: setting.source.to_string(),
    });
    printer.show(&all.collect::<Vec<_>>(), |all, printer| {
        let width = all.iter().map(|setting| setting.key.len()).max().unwrap_or_default();
        all.iter().try_for_each(|ShownSetting { key, value, source }| {
            printer.text(Style::Plain, &format!("{key:width$} = {}", value.unwrap_or("(not set)")))?;
            printer.text(Style::Dim, &format!("  # {source}\n"))
        })
    })?;
    let wrong = super::problems(&settings);
    for error in &wrong {
        printer.error_line(&masking::masked(&format!("leafgate: {error:#}")));
    }
    Ok(if wrong.is_empty() { Exit::Done } else { Exit::Bad })
}
