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
use zeroize::Zeroizing;

use crate::args::{ConfigArgs, JsonArgs};
use crate::exit::Exit;
use crate::home;
use crate::print::{Printer, Style};
use crate::settings;

use self::kept::{Kept, KeptValue};
pub(crate) use self::now::{KnownNow, KnownWatch};
pub(crate) use self::source::KnownSource;
use self::source::{FileFate, ReadFile};

/// Most bytes of values that are given at once.
const MOST_INPUT: u64 = 1 << 20;

/// What fingerprints are made with.
const PURPOSE: &str = "known values";

#[derive(Subcommand)]
pub(crate) enum KnownCommand {
    /// Have values found wherever they stand: those of standard input, one a line
    Add(AddArgs),
    /// Count the values of each file, and list those that were added
    List(ListArgs),
    /// Have values that were added found no longer
    Remove(RemoveArgs),
    /// Name files of this folder that git ignores and that hold secrets
    Suggest(ListArgs),
}

#[derive(Args)]
pub(crate) struct AddArgs {
    /// What to call them in lists
    #[arg(long, value_name = "NAME", default_value = "")]
    name: String,
    /// Take all of the input as one value, of several lines
    #[arg(long)]
    whole: bool,
    #[command(flatten)]
    json: JsonArgs,
}

#[derive(Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    json: JsonArgs,
}

#[derive(Args)]
pub(crate) struct RemoveArgs {
    /// The values, as `known list` calls them: by their ids or by their name
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// All that were added
    #[arg(long, conflicts_with = "ids")]
    all: bool,
}

pub(crate) fn run(command: &KnownCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        KnownCommand::Add(args) => add(args, printer)?,
        KnownCommand::List(args) => list(args, printer)?,
        KnownCommand::Remove(args) => remove(args, printer)?,
        KnownCommand::Suggest(args) => suggest::run(args, printer)?,
    }
    printer.flush()?;
    Ok(Exit::Done)
}

/// Returns the values that are known to the user's own configuration, for commands that judge
/// without a gate.
pub(crate) fn of_user() -> anyhow::Result<Option<Arc<KnownValues>>> {
    // Tests of this crate read the machine's environment.
    if cfg!(test) {
        return Ok(None);
    }
    KnownSource::of(&user_settings(&ConfigArgs::default())?).values()
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
#[serde(rename_all = "camelCase")]
struct Added<'a> {
    id: String,
    name: &'a str,
    added: &'a str,
}

impl<'a> Added<'a> {
    fn of(kept: &'a KeptValue) -> Self {
        Added { id: kept.id(), name: &kept.name, added: &kept.added }
    }
}

fn add(args: &AddArgs, printer: &mut Printer) -> anyhow::Result<()> {
    if io::stdin().is_terminal() {
        printer.error_line("Write the values, one a line; Ctrl-D ends.");
    }
    let mut text = Zeroizing::new(String::new());
    io::stdin().lock().take(MOST_INPUT + 1).read_to_string(&mut text).context("cannot read the values")?;
    ensure!(text.len() as u64 <= MOST_INPUT, "the values have more than {MOST_INPUT} bytes together");
    let values = values_of(&text, args.whole, &key()?)?;
    ensure!(!values.is_empty(), "there is no value on standard input: write one a line");
    let today = today();
    let values: Vec<KeptValue> =
        values.into_iter().map(|value| KeptValue::new(value, &args.name, &today)).collect();
    let new = Kept::change(&home::data_folder()?, |kept| kept.add(&values))?;
    if args.json.json {
        printer.json(&values.iter().map(Added::of).collect::<Vec<_>>())?;
        return Ok(());
    }
    for value in &values {
        printer.line(&value.id())?;
    }
    let known_before = values.len() - new;
    let before = if known_before == 0 { String::new() } else { format!(", {known_before} known before") };
    printer.error_line(&format!("{new} added{before}; running gates find them within seconds"));
    Ok(())
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
struct Listed<'a> {
    files: &'a [ReadFile],
    /// `null` where no command is set.
    command: Option<usize>,
    added: Vec<Added<'a>>,
}

fn list(args: &ListArgs, printer: &mut Printer) -> anyhow::Result<()> {
    let source = KnownSource::of(&user_settings(&args.config)?);
    let key = key()?;
    let files = source.read_files(&key)?;
    let command = source.read_command(&key)?;
    let kept = Kept::read(&home::data_folder()?)?;
    if args.json.json {
        let added = kept.values().iter().map(Added::of).collect();
        let command = command.map(|values| values.len());
        return Ok(printer.json(&Listed { files: &files, command, added })?);
    }
    for file in &files {
        let said = match &file.fate {
            FileFate::Read { values: 1, .. } => "1 value".to_owned(),
            FileFate::Read { values, .. } => format!("{values} values"),
            FileFate::Absent => "matches no file".to_owned(),
        };
        let mut left = String::new();
        if let FileFate::Read { too_short, common, .. } = file.fate {
            if too_short > 0 {
                left += &format!(", and {too_short} too short to be looked for");
            }
            if common > 0 {
                left += &format!(
                    ", and {common} that any text holds, such as words (`leafgate known add` has one found all the same)"
                );
            }
        }
        printer.line(&format!("{}  {said}{left}", file.path))?;
    }
    if let Some(values) = command {
        printer.line(&format!("known.command  {} values", values.len()))?;
    }
    for value in kept.values() {
        printer.text(Style::Plain, &format!("{}  {}", value.id(), value.added))?;
        printer.line(&format!("  {}", value.name))?;
    }
    if files.is_empty() && kept.values().is_empty() {
        printer.error_line(
            "nothing is known: add values with `leafgate known add`, or name files in `known.files` of the \
             configuration (`leafgate known suggest` names some)",
        );
    }
    Ok(())
}

fn remove(args: &RemoveArgs, printer: &mut Printer) -> anyhow::Result<()> {
    let data = home::data_folder()?;
    let removed = Kept::change(&data, |kept| kept.remove(&args.ids, args.all))?;
    let removed = removed?;
    printer.error_line(&format!("{removed} removed"));
    Ok(())
}
