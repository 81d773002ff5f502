//! `plugin run`: one plugin, one rule, one request.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::Context as _;
use leafgate_author::cases::told;
use leafgate_contract::{
    CheckedEdits, CheckedFindings, Description, DetectLeaf, Fault, Plugin, PluginLoader as _, PluginSource,
    Spent, TransformRequest, World,
};
use leafgate_policy::{Policy, PolicySource};
use leafgate_wasm::LogSink;
use serde_json::json;
use toml::Table;

use super::args::RunPluginArgs;
use super::source::{self, AuthorSource};
use crate::options::ConfigArgs;
use crate::print::{Exit, Printer, Row, Style};
use crate::request::{self, EarlierEdits, JudgedRequest};
use crate::{apply, policy};

/// The names under which the plugin and its rule appear in reports.
const NAME: &str = "tried";

pub(super) fn run(args: &RunPluginArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let source = AuthorSource::find(&args.plugin)?;
    let loader = policy::loader(Some(log_to_standard_error()))?;
    // Loaded before there is a rule file: what is wrong with it is no matter of that.
    let declared = PluginSource { name: NAME.to_owned(), ..source.declared(&args.config.json()?) };
    let plugin = loader.load(&declared).map_err(source::with_hint)?;
    let heard = Arc::new(HeardPlugin { plugin, said: Mutex::default() });
    let rules = rules(args, &source, heard.world())?;
    let folder = tempfile::tempdir().context("cannot make a folder for the rule")?;
    fs::write(folder.path().join("rules.toml"), rules).context("cannot write the rule")?;
    let policy = PolicySource::Folder(folder.path().to_owned());
    let loaded = |_: &PluginSource| Ok(Arc::clone(&heard) as Arc<dyn Plugin>);
    let policy = Policy::load_knowing(&policy, None, &loaded, SystemTime::now(), None)?;
    let judged = request::judge_by(&policy, &args.request, &ConfigArgs::default(), EarlierEdits::None)?;
    let said = std::mem::take(&mut *heard.said.lock().unwrap_or_else(PoisonError::into_inner));
    match printer.is_json {
        true => apply::print_json(&judged, printer)?,
        false => print(&judged, &heard.description().name, !said.is_empty(), printer)?,
    }
    judged.print_notes(printer);
    for said in said {
        printer.error_line(&format!("leafgate: the plugin {said}"));
    }
    apply::print_holds(&judged.evaluation.verdict, printer);
    Ok(apply::exit(&judged.evaluation.verdict))
}

/// The plugin, and the faults of its calls with its own words: its author reads them here.
#[derive(Debug)]
struct HeardPlugin {
    plugin: Arc<dyn Plugin>,
    said: Mutex<BTreeSet<String>>,
}

impl HeardPlugin {
    fn hear<T>(&self, answer: Result<T, Fault>) -> Result<T, Fault> {
        answer.inspect_err(|fault| {
            // It is asked in several phases, and fails in each.
            self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(told(fault));
        })
    }
}

impl Plugin for HeardPlugin {
    fn description(&self) -> &Description {
        self.plugin.description()
    }

    fn world(&self) -> World {
        self.plugin.world()
    }

    fn digest(&self) -> [u8; 32] {
        self.plugin.digest()
    }

    fn detect(&self, leaves: &[DetectLeaf<'_>], spent: &Spent) -> Result<CheckedFindings, Fault> {
        self.hear(self.plugin.detect(leaves, spent))
    }

    fn transform(&self, request: &TransformRequest<'_>, spent: &Spent) -> Result<CheckedEdits, Fault> {
        self.hear(self.plugin.transform(request, spent))
    }
}

/// Prints what would change, and what the plugin says to a reviewer.
fn print(judged: &JudgedRequest, name: &str, failed: bool, printer: &mut Printer) -> anyhow::Result<()> {
    let draft = &judged.evaluation.draft;
    if draft.is_dirty() {
        apply::print_diff(judged.shown(), printer)?;
    } else if !failed {
        printer.line(&format!("{name} changes nothing"))?;
    }
    // Its faults are told by themselves.
    for note in judged.evaluation.report.notes.iter().filter(|note| note.about != "failure") {
        let place = note.pointer.as_deref().unwrap_or("request");
        let said = format!("  {place}: {}", note.text);
        printer.rows(&[Row::of(note.about, Style::Edited).and(&said, Style::Plain)])?;
    }
    Ok(())
}

/// The one rule, as an operator would write it.
fn rules(args: &RunPluginArgs, source: &AuthorSource, world: World) -> anyhow::Result<String> {
    let matches: Table =
        source::read_toml(args.matches.as_deref().unwrap_or_default()).context("--match is no table")?;
    let file = source.file.to_str().context("the path of the plugin is not UTF-8")?;
    let (action, named, plugin) = match world {
        World::Detector => ("redact", "detect", format!("plugin:{NAME}")),
        World::Transformer => ("transform", "plugin", NAME.to_owned()),
    };
    // What the plugin does is shown, and nothing else.
    Ok(toml::to_string(&json!({
        "extends": "none",
        "plugins": { NAME: { "file": file, "config": args.config.table()? } },
        "rule": [{ "id": NAME, "match": matches, "action": action, named: plugin, "on_error": "block" }],
    }))?)
}

/// Prints what a plugin logs. Control characters in it are shown as visible text.
pub(super) fn log_to_standard_error() -> LogSink {
    Arc::new(|plugin, level, message| {
        Printer::for_terminal().error_line(&format!("{plugin}: {level}: {message}"));
    })
}
