//! `plugin inspect`: what a file is, imports and describes.

use leafgate_contract::{Description, LoadError, World};
use leafgate_wasm::Inspection;
use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::args::InspectArgs;
use super::source;
use crate::policy;
use crate::print::{Exit, Printer, Style};

/// The output of `plugin inspect --json`.
#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownPlugin<'a> {
    #[serde(flatten)]
    file: &'a Inspection,
    pub(super) loads: bool,
    config_schema: Option<Value>,
    description: Option<&'a Description>,
    refused: Option<String>,
    hint: Option<&'a str>,
}

pub(super) fn run(args: &InspectArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let loader = policy::loader(None)?;
    let inspection = loader.inspect(&args.file).map_err(source::with_hint)?;
    let shown = ShownPlugin::new(&inspection);
    printer.show(&shown, print_plugin)?;
    Ok(if shown.loads { Exit::Done } else { Exit::Bad })
}

impl<'a> ShownPlugin<'a> {
    pub(super) fn new(file: &'a Inspection) -> Self {
        let description = file.description.as_ref().ok();
        let config_schema = description.and_then(|it| it.config_schema.as_deref()).map(schema);
        let loads = description.is_some();
        let mut shown = ShownPlugin { file, loads, config_schema, description, refused: None, hint: None };
        if let Err(error) = &file.description {
            shown.refuse(error);
        }
        shown
    }

    /// Says why it does not load.
    pub(super) fn refuse(&mut self, error: &'a LoadError) {
        (self.loads, self.refused, self.hint) = (false, Some(error.to_string()), source::hint(error));
    }
}

pub(super) fn print_plugin(shown: &ShownPlugin<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let (file, mut facts) = (shown.file, Vec::new());
    if let Some(described) = &shown.description {
        printer.text(Style::Strong, &format!("{} {}\n", described.name, described.version))?;
        printer.line(&described.summary)?;
        facts.push((
            "labels",
            described.labels.iter().map(|label| label.as_str()).collect::<Vec<_>>().join(", "),
        ));
    }
    facts.extend([
        ("world", file.world.map_or("none", World::name).to_owned()),
        ("contract", file.contract.as_deref().unwrap_or("none").to_owned()),
        ("file", format!("{}, {} bytes", file.layer, file.bytes)),
        ("sha256", file.sha256.clone()),
    ]);
    if !file.signed.is_empty() {
        facts.push(("signed", list(&file.signed)));
    }
    facts.extend([("imports", list(&file.imports)), ("exports", list(&file.exports))]);
    if shown.loads {
        let configured = match &file.configured_each_call {
            None => "once, on load".to_owned(),
            Some(reason) => format!("for each call: {reason}"),
        };
        facts.push(("configure", configured));
    }
    if let Some(schema) = &shown.config_schema {
        facts.push(("config", serde_json::to_string_pretty(schema)?));
    }
    if let Some(refused) = &shown.refused {
        let hint = shown.hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
        facts.push(("refused", format!("{refused}{hint}")));
    }
    Ok(printer.facts(&facts)?)
}

/// A plugin's schema, or its words where they are none.
fn schema(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
