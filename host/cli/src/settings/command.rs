//! `config show` and `schema config`.

use leafgate_config::{Layer, Shown};
use serde::Serialize;

use crate::args::ConfigShowArgs;
use crate::exit::Exit;
use crate::masking;
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
pub(crate) fn run(args: &ConfigShowArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let settings = super::load(&args.config, Layer::default())?;
    let mut shown: Vec<Shown> = settings.shown().collect();
    for setting in &mut shown {
        if let (true, Some(value)) = (setting.is_free, &mut setting.value) {
            *value = masking::masked(value);
        }
    }
    if args.json.json {
        let all = shown.iter().map(|setting| ShownSetting {
            key: &setting.key,
            value: setting.value.as_deref(),
            source: setting.source.to_string(),
        });
        printer.json(&all.collect::<Vec<_>>())?;
    } else {
        let width = shown.iter().map(|setting| setting.key.len()).max().unwrap_or_default();
        for setting in &shown {
            let value = setting.value.as_deref().unwrap_or("(not set)");
            printer.text(Style::Plain, &format!("{:width$} = {value}", setting.key))?;
            printer.text(Style::Faint, &format!("  # {}\n", setting.source))?;
        }
    }
    printer.flush()?;
    let wrong = super::problems(&settings);
    for error in &wrong {
        printer.error_line(&masking::masked(&format!("leafgate: {error:#}")));
    }
    Ok(if wrong.is_empty() { Exit::Done } else { Exit::Bad })
}

/// Writes the JSON Schema of the configuration file.
pub(crate) fn schema(printer: &mut Printer) -> anyhow::Result<Exit> {
    printer.json(&leafgate_config::schema::schema())?;
    printer.flush()?;
    Ok(Exit::Done)
}
