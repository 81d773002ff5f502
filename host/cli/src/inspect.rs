//! Commands that need no request: plugin files, and the program's own documentation.

use clap::CommandFactory;
use clap_complete::Shell;
use leafgate_policy::plugin::World;
use leafgate_wasm::{Inspection, Layer};
use serde::Serialize;

use crate::args::{Cli, InspectArgs};
use crate::exit::Exit;
use crate::policy;
use crate::print::{Printer, Style};

/// The output of `plugin inspect --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownPlugin<'a> {
    layer: &'static str,
    bytes: usize,
    sha256: String,
    contract: Option<&'a str>,
    world: Option<&'static str>,
    imports: &'a [String],
    exports: &'a [String],
    loads: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    configured_each_call: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<ShownDescription<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

#[derive(Serialize)]
struct ShownDescription<'a> {
    name: &'a str,
    version: &'a str,
    summary: &'a str,
    labels: Vec<&'a str>,
}

pub(crate) fn plugin(args: &InspectArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let loader = policy::loader()?;
    let inspection = loader.inspect(&args.file).map_err(with_hint)?;
    let shown = ShownPlugin::new(&inspection);
    match args.json.json {
        true => printer.json(&shown)?,
        false => print_plugin(&shown, printer)?,
    }
    printer.flush()?;
    Ok(if shown.loads { Exit::Done } else { Exit::Bad })
}

fn with_hint(error: leafgate_policy::plugin::LoadError) -> anyhow::Error {
    match &error.hint {
        Some(hint) => anyhow::anyhow!("{error}; {hint}"),
        None => error.into(),
    }
}

impl<'a> ShownPlugin<'a> {
    fn new(inspection: &'a Inspection) -> Self {
        let (described, refused) = match &inspection.description {
            Ok(described) => (Some(described), None),
            Err(error) => (None, Some(error)),
        };
        ShownPlugin {
            layer: match inspection.layer {
                Layer::CoreModule => "core module",
                Layer::Component => "component",
            },
            bytes: inspection.size,
            sha256: base16ct::lower::encode_string(&inspection.digest),
            contract: inspection.contract.as_deref(),
            world: inspection.world.map(|world| match world {
                World::Detector => "detector",
                World::Transformer => "transformer",
            }),
            imports: &inspection.imports,
            exports: &inspection.exports,
            loads: described.is_some(),
            configured_each_call: inspection.configured_each_call.as_deref(),
            description: described.map(|described| ShownDescription {
                name: &described.name,
                version: &described.version,
                summary: &described.summary,
                labels: described.labels.iter().map(|label| &**label).collect(),
            }),
            refused: refused.map(ToString::to_string),
            hint: refused.and_then(|error| error.hint.as_deref()),
        }
    }
}

fn print_plugin(shown: &ShownPlugin<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    if let Some(described) = &shown.description {
        printer.text(Style::Heading, &format!("{} {}", described.name, described.version))?;
        printer.line(&format!("\n{}", described.summary))?;
        printer.line(&format!("labels    {}", described.labels.join(", ")))?;
    }
    printer.line(&format!("world     {}", shown.world.unwrap_or("none")))?;
    printer.line(&format!("contract  {}", shown.contract.unwrap_or("none")))?;
    printer.line(&format!("file      {}, {} bytes", shown.layer, shown.bytes))?;
    printer.line(&format!("sha256    {}", shown.sha256))?;
    printer.line(&format!("imports   {}", list(shown.imports)))?;
    printer.line(&format!("exports   {}", list(shown.exports)))?;
    if shown.loads {
        let configured = match shown.configured_each_call {
            None => "once, on load".to_owned(),
            Some(reason) => format!("for each call: {reason}"),
        };
        printer.line(&format!("configure {configured}"))?;
    }
    if let Some(refused) = &shown.refused {
        printer.text(Style::Removed, &format!("refused   {refused}\n"))?;
        if let Some(hint) = shown.hint {
            printer.line(&format!("          {hint}"))?;
        }
    }
    Ok(())
}

pub(crate) fn completions(shell: Shell, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "leafgate", &mut script);
    printer.bytes(&script)?;
    printer.flush()?;
    Ok(Exit::Done)
}

/// Writes the schema of the admin API.
pub(crate) fn admin_schema(printer: &mut Printer) -> anyhow::Result<Exit> {
    printer.json(&leafgate_admin::schema::schema())?;
    printer.flush()?;
    Ok(Exit::Done)
}

/// Writes one page for the program and all its subcommands.
pub(crate) fn man(printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let main = clap_mangen::Man::new(command.clone());
    main.render(&mut page)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        let man = clap_mangen::Man::new(subcommand.clone());
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    printer.bytes(&page)?;
    printer.flush()?;
    Ok(Exit::Done)
}
