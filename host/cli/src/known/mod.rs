//! `known`: the values that this person named as secret. Fingerprints of them are kept, and nothing
//! of the values themselves is written, printed or logged.

mod files;
mod kept;
mod now;
mod source;
mod suggest;

use std::io::{self, IsTerminal, Read};
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use leafgate_config::Layer;
use leafgate_detect::{KnownKey, KnownValue, KnownValues};
use serde::Serialize;
use serde_json::json;
use zeroize::Zeroizing;

use crate::home;
use crate::options::ConfigArgs;
use crate::print::{Cell, Exit, Printer};
use crate::settings;

use self::kept::{AddedValues, KeptValue};
pub(crate) use self::now::{KnownNow, KnownWatch};
pub(crate) use self::source::KnownSource;
use self::source::ReadFile;

/// Most bytes of values that are given at once.
const MOST_INPUT: u64 = 1 << 20;

/// What fingerprints are made with.
const PURPOSE: &str = "known values";

#[derive(Subcommand)]
pub(crate) enum KnownCommand {
    /// Have values found wherever they stand: those of standard input, one a line
    Add(AddKnownArgs),
    /// Count the values of each file, and list those that were added
    List(ConfigArgs),
    /// Have values that were added found no longer
    Remove(RemoveKnownArgs),
    /// Name files that hold secrets: those of this folder that git ignores, and `.env` files that it does not
    Suggest(ConfigArgs),
}

#[derive(Args)]
pub(crate) struct AddKnownArgs {
    /// What to call them in lists
    #[arg(long, value_name = "NAME", default_value = "")]
    name: String,
    /// Take all of the input as one value, of several lines
    #[arg(long)]
    whole: bool,
}

#[derive(Args)]
pub(crate) struct RemoveKnownArgs {
    /// The values, as `known list` calls them: by their ids or by their name
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// All that were added, once you said yes
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Ask nothing
    #[arg(long, requires = "all")]
    yes: bool,
}

pub(crate) fn run(command: &KnownCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        KnownCommand::Add(args) => add(args, printer),
        KnownCommand::List(config) => list(config, printer),
        KnownCommand::Remove(args) => remove(args, printer),
        KnownCommand::Suggest(config) => suggest::run(config, printer),
    }
}

/// Returns the values that are known to the user's own configuration, for commands that judge
/// without a gate.
pub(crate) fn of_user() -> anyhow::Result<Option<Arc<KnownValues>>> {
    // Tests of this crate read the machine's environment.
    if cfg!(test) {
        return Ok(None);
    }
    Ok(KnownNow::open(KnownSource::of(&user_settings(&ConfigArgs::default())?))?.values())
}

fn user_settings(args: &ConfigArgs) -> anyhow::Result<leafgate_config::Settings> {
    settings::load(args, Layer::default())
}

/// Returns the key of this installation under which values are known.
fn key() -> anyhow::Result<KnownKey> {
    Ok(KnownKey::new(&Zeroizing::new(home::installation()?.secret_for(PURPOSE))))
}

/// One added value in the output of `--json`.
#[derive(Serialize)]
struct AddedValue<'a> {
    id: String,
    name: &'a str,
    added: &'a str,
}

impl<'a> AddedValue<'a> {
    fn of(kept: &'a KeptValue) -> Self {
        AddedValue { id: kept.known.id(), name: &kept.name, added: &kept.added }
    }
}

fn add(args: &AddKnownArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    if io::stdin().is_terminal() {
        printer.error_line("Write the values, one a line; Ctrl-D ends.");
    }
    let mut text = Zeroizing::new(String::new());
    io::stdin().lock().take(MOST_INPUT + 1).read_to_string(&mut text).context("cannot read the values")?;
    ensure!(text.len() as u64 <= MOST_INPUT, "the values have more than {MOST_INPUT} bytes together");
    let values = values_of(&text, args.whole, &key()?)?;
    ensure!(!values.is_empty(), "there is no value on standard input: write one a line");
    let today = today();
    let kept = |known| KeptValue { name: args.name.clone(), added: today.clone(), known };
    let values: Vec<KeptValue> = values.into_iter().map(kept).collect();
    let new = AddedValues::change(&home::data_folder()?, |kept| kept.add(&values))?;
    printer.show(&values.iter().map(AddedValue::of).collect::<Vec<_>>(), |values, printer| {
        values.iter().try_for_each(|value| printer.line(&value.id))?;
        let before = match values.len() - new {
            0 => String::new(),
            known => format!(", {known} known before"),
        };
        printer.error_line(&format!("{new} added{before}; running gates find them within seconds"));
        io::Result::Ok(())
    })
}

/// Reads values: one a line, or a block of a key. One that cannot be looked for refuses all: its
/// owner would think that it is.
fn values_of(text: &str, whole: bool, key: &KnownKey) -> anyhow::Result<Vec<KnownValue>> {
    let text = text.trim_end_matches(['\n', '\r']);
    if whole || text.contains("-----BEGIN") {
        let value = key.value(text).context("the value cannot be looked for")?;
        return Ok(vec![value]);
    }
    let lines = text.lines().map(|line| line.trim_end_matches('\r')).zip(1..);
    let values = lines.filter(|(line, _)| !line.trim().is_empty());
    values
        .map(|(line, number)| key.value(line).with_context(|| format!("line {number} cannot be looked for")))
        .collect()
}

fn today() -> String {
    time::OffsetDateTime::now_utc().date().to_string()
}

/// The output of `list --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KnownList<'a> {
    files: &'a [ReadFile],
    /// `null` where no command is set.
    command: Option<usize>,
    added: Vec<AddedValue<'a>>,
}

fn list(config: &ConfigArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let source = KnownSource::of(&user_settings(config)?);
    let key = key()?;
    let files = source.read_files(&key)?;
    let command = source.read_command(&key)?.map(|values| values.len());
    let kept = AddedValues::of(&home::data_folder()?)?;
    let listed =
        KnownList { files: &files, command, added: kept.values.iter().map(AddedValue::of).collect() };
    printer.show(&listed, |KnownList { files, command, added }, printer| {
        let of_file = |file: &ReadFile| {
            let (values, rest) = file.fate.told();
            [values, format!("{}{rest}", file.path).into()]
        };
        let of_command = command.map(|values| [values.into(), "known.command".into()]);
        printer.table(["values", "source"], files.iter().map(of_file).chain(of_command))?;
        let of_value = |value: &AddedValue<'_>| [value.id.as_str(), value.added, value.name].map(Cell::from);
        printer.table(["value", "added", "name"], added.iter().map(of_value))?;
        printer.none(
            files.len() + added.len(),
            "nothing is known: add values with `leafgate known add`, or name files in `known.files` of the \
             configuration (`leafgate known suggest` names some)",
        );
        io::Result::Ok(())
    })
}

fn remove(args: &RemoveKnownArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    if args.all {
        let count = AddedValues::of(&home::data_folder()?)?.values.len();
        printer.ask_for_yes(&format!("Remove all {count} values that were added?"), args.yes)?;
    }
    let removed = AddedValues::change(&home::data_folder()?, |kept| kept.remove(&args.ids, args.all))??;
    printer.tell(&json!({ "removed": removed }), &format!("{removed} removed"))
}
