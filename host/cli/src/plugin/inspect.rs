//! `plugin inspect`: what a file is, imports and describes.

use leafgate_contract::{Description, LoadError, World};
use leafgate_wasm::{FileLayer, Inspection};
use serde::Serialize;
use serde_json::Value;

use super::args::InspectArgs;
use super::source;
use crate::exit::Exit;
use crate::policy;
use crate::print::{Printer, Style};

/// The output of `plugin inspect --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownPlugin<'a> {
    layer: &'static str,
    bytes: usize,
    sha256: String,
    contract: Option<&'a str>,
    world: Option<&'static str>,
    signed: Vec<String>,
    imports: &'a [String],
    exports: &'a [String],
    pub(super) loads: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    configured_each_call: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config_schema: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a Description>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
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
    pub(super) fn new(inspection: &'a Inspection) -> Self {
        let described = inspection.description.as_ref().ok();
        let mut shown = ShownPlugin {
            layer: match inspection.layer {
                Some(FileLayer::CoreModule) => "core module",
                Some(FileLayer::Component) => "component",
                None => "script",
            },
            bytes: inspection.size,
            sha256: base16ct::lower::encode_string(&inspection.digest),
            contract: inspection.contract.as_deref(),
            world: inspection.world.map(World::name),
            signed: match &inspection.signatures {
                Ok(verified) => verified.signed.iter().map(ToString::to_string).collect(),
                Err(_) => vec![],
            },
            imports: &inspection.imports,
            exports: &inspection.exports,
            loads: described.is_some(),
            configured_each_call: inspection.configured_each_call.as_deref(),
            config_schema: inspection.config_schema.as_deref().map(schema),
            description: described,
            refused: None,
            hint: None,
        };
        if let Err(error) = &inspection.description {
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
    let mut facts = Vec::new();
    if let Some(described) = &shown.description {
        printer.text(Style::Strong, &format!("{} {}\n", described.name, described.version))?;
        printer.line(&described.summary)?;
        facts.push(("labels", described.labels.join(", ")));
    }
    facts.extend([
        ("world", shown.world.unwrap_or("none").to_owned()),
        ("contract", shown.contract.unwrap_or("none").to_owned()),
        ("file", format!("{}, {} bytes", shown.layer, shown.bytes)),
        ("sha256", shown.sha256.clone()),
    ]);
    if !shown.signed.is_empty() {
        facts.push(("signed", list(&shown.signed)));
    }
    facts.extend([("imports", list(shown.imports)), ("exports", list(shown.exports))]);
    if shown.loads {
        let configured = match shown.configured_each_call {
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
