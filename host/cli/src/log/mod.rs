//! `log`: what the gates of this user did, from the log that they write. It needs no gate.

pub(crate) mod cache;
mod list;
mod mark;
mod show;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use leafgate_admin::LogState;
use leafgate_config::Settings;
use leafgate_store::{
    ExportFormat, Filter, FoundRequest, Log, RedactionLine, RevealLine, Store, StoreConfig, StoreKeys,
};

use crate::admin::AdminClient;
use crate::home;
use crate::masking::masked;
use crate::moments::local;
use crate::options::one_of;
use crate::print::{Cell, Exit, Printer, Style, ascii_escapes, counted};
use crate::private;
use crate::runtime;

/// The folder of the log in the data folder.
pub(crate) const FOLDER: &str = "log";

/// How long a reader waits for a gate, which itself waits for less.
const WRITTEN: Duration = Duration::from_secs(3);

/// Reads the number of a request.
pub(crate) fn number(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "give the number of a request, as `leafgate log list` shows it".to_owned())
}

/// Returns the log that settings describe; `None` where none is wanted.
pub(crate) fn store_config(settings: &Settings) -> anyhow::Result<Option<StoreConfig>> {
    if settings.switch("store.enabled") == Some(false) {
        ensure!(
            settings.switch("store.required") != Some(true),
            "requests must be in the log before they leave (`store.required`, {}), and there is none \
             (`store.enabled`, {}): change one of them",
            settings.source("store.required"),
            settings.source("store.enabled")
        );
        return Ok(None);
    }
    let days = settings.number("store.days").unwrap_or_default();
    Ok(Some(StoreConfig {
        required: settings.switch("store.required") == Some(true),
        limit: settings.number("store.size").unwrap_or_default() as u64,
        age: Duration::from_secs(days as u64 * 24 * 3600),
        ..StoreConfig::new(folder()?)
    }))
}

/// Opens the log that a gate writes.
pub(crate) fn open_store(config: StoreConfig) -> anyhow::Result<Arc<Store>> {
    let store = Store::open(config, keys()?)
        .context("mend this, or go without a log by `--set store.enabled=false`")?;
    Ok(Arc::new(store))
}

/// Returns the folder of the log.
pub(crate) fn folder() -> anyhow::Result<PathBuf> {
    Ok(home::data_folder()?.join(FOLDER))
}

/// Opens the log for a reader, once the gates that run have written what they were told: who sees an answer finds
/// its request. It needs no gate, so one that cannot be asked is passed over.
pub(crate) fn open() -> anyhow::Result<Log> {
    let gates = runtime::folder().and_then(|folder| runtime::find_running(&folder)).unwrap_or_default();
    for gate in gates {
        if let Ok(client) = AdminClient::new(&gate) {
            let _ = client.within(WRITTEN).view::<LogState>("");
        }
    }
    Ok(Log::open(&folder()?)?)
}

/// Returns the keys of this installation's log.
pub(crate) fn keys() -> anyhow::Result<StoreKeys> {
    Ok(StoreKeys::derive(&home::installation()?, home::token_keys()?))
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    command: Option<LogCommand>,
    #[command(flatten)]
    which: WhichArgs,
}

/// Which requests are meant, and how they are written.
#[derive(Args)]
pub(crate) struct WhichArgs {
    /// Only what came in this last while: 90s, 15m, 1h, 7d, 2w
    #[arg(long, value_name = "TIME", value_parser = crate::moments::span)]
    since: Option<Duration>,
    /// Only this conversation, by its id or the beginning of it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

#[derive(Subcommand)]
pub(crate) enum LogCommand {
    /// List requests, the newest first
    List(ListArgs),
    /// Show a request: what was changed in it, what left, and its answer
    Show(ShowRequestArgs),
    /// Show what differs between two requests, or between one and the turn before it
    Diff(DiffArgs),
    /// Print requests as they come, until Ctrl-C
    Tail(TailArgs),
    /// Find the requests in which words were said first, and the answers that said them
    Search(SearchArgs),
    /// Say whether rules were right in a request, for `leafgate promote`
    Mark(mark::MarkArgs),
    /// Show who asked for the values of tokens (`leafgate reveal`)
    Reveals(RevealsArgs),
    /// Write requests to a file that other programs read
    Export(ExportArgs),
}

#[derive(Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    page: PageArgs,
}

/// A page of a list.
#[derive(Args)]
pub(crate) struct PageArgs {
    /// How many requests
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Only those before this request: the next page
    #[arg(long, value_name = "ID", value_parser = number)]
    before: Option<i64>,
}

#[derive(Args)]
pub(crate) struct ShowRequestArgs {
    /// The request, by its number in lists
    #[arg(value_parser = number)]
    id: i64,
    /// Write the body alone, as it stands in the log
    #[arg(long, conflicts_with = "json")]
    body: bool,
}

#[derive(Args)]
pub(crate) struct DiffArgs {
    /// A request; without it, the newest
    #[arg(value_parser = number)]
    id: Option<i64>,
    /// The later one; without it, the first one is it, beside the turn before it in its conversation
    #[arg(value_parser = number)]
    later: Option<i64>,
}

#[derive(Args)]
pub(crate) struct TailArgs {
    /// How many of the last requests to begin with
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = 0..=10_000)]
    lines: i64,
}

#[derive(Args)]
pub(crate) struct SearchArgs {
    /// The words, all of which must be there
    #[arg(required = true)]
    words: Vec<String>,
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// The file to write; - is standard output. Without it, chat.json for a chat, and standard
    /// output for all else
    file: Option<PathBuf>,
    /// The form of the file. A chat is one conversation: the newest, where none is named
    #[arg(long, value_name = "FORM", default_value = "jsonl",
        value_parser = one_of(ExportFormat::ALL, |format| (format.name(), format.label())))]
    format: ExportFormat,
    #[command(flatten)]
    which: WhichArgs,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
pub(crate) struct RevealsArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// How many of the newest
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

impl WhichArgs {
    fn filter(&self) -> Filter {
        filter(self.since, self.session.as_ref())
    }
}

/// Returns the requests since a while ago, of one conversation or of all.
pub(crate) fn filter(since: Option<Duration>, session: Option<&String>) -> Filter {
    let since = since.map(|span| {
        let since = SystemTime::now().checked_sub(span).unwrap_or(UNIX_EPOCH);
        let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    });
    Filter { since, session: session.cloned() }
}

pub(crate) fn run(args: &LogArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let log = open()?;
    match &args.command {
        None => summary(&log, &args.which, printer),
        Some(LogCommand::List(args)) => {
            let lines = log.list(&args.which.filter(), args.page.before, args.page.limit as usize)?;
            list::show(&lines, "no request in the log is meant by that", printer)
        }
        Some(LogCommand::Show(args)) => show::show(&log, args, printer),
        Some(LogCommand::Diff(args)) => show::diff(&log, args, printer),
        Some(LogCommand::Mark(args)) => mark::run(args, printer),
        Some(LogCommand::Reveals(args)) => reveals(&log, args, printer),
        Some(LogCommand::Export(args)) => export(&log, args, printer),
        Some(LogCommand::Tail(args)) => list::tail(&log, args, printer),
        Some(LogCommand::Search(args)) => search(&log, args, printer),
    }
}

/// Shows requests with the lines in which words were found.
fn search(log: &Log, args: &SearchArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut found = log.search(&args.words.join(" "), args.page.before, args.page.limit as usize)?;
    // What rules left in is not told here either.
    found.iter_mut().flat_map(|found| &mut found.found).for_each(|line| *line = masked(line));
    printer.show(&found, |found, printer| {
        printer.none(found.len(), "no request in the log says these words, and no answer");
        let row = |FoundRequest { request, found }: &FoundRequest| {
            [
                request.id.into(),
                Cell::new(Style::Dim, local(request.at)),
                list::short(&request.session).into(),
                request.agent.as_str().into(),
                found.as_deref().unwrap_or_default().into(),
            ]
        };
        printer.table(["id", "time", "session", "client", "found in"], found.iter().map(row))
    })
}

/// Shows who asked for the value of which token.
fn reveals(log: &Log, args: &RevealsArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let lines = log.reveals(&args.which.filter(), args.limit as usize)?;
    printer.show(&lines, |lines, printer| {
        printer.none(lines.len(), "nobody asked for a value");
        let row = |line: &RevealLine| {
            [
                Cell::new(Style::Dim, local(line.at)),
                list::short(&line.session).into(),
                Cell::new(Style::Edited, line.token.as_str()),
                line.by.as_str().into(),
            ]
        };
        printer.table(["time", "session", "token", "asked by"], lines.iter().map(row))
    })
}

/// Writes a file, or standard output.
fn export(log: &Log, args: &ExportArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut filter = args.which.filter();
    let is_chat = args.format == ExportFormat::Chat;
    if is_chat && filter.session.is_none() {
        filter.session = log.list(&filter, None, 1)?.pop().map(|newest| newest.session);
    }
    let file = args.file.clone().or_else(|| is_chat.then(|| PathBuf::from("chat.json")));
    let Some(file) = file.filter(|file| file.as_os_str() != "-") else {
        log.export(&filter, args.format, |json| printer.json_text(json))?;
        return Ok(Exit::Done);
    };
    let shown = file.display();
    // A file that is there is not emptied for a conversation that nobody had.
    ensure!(
        !log.list(&filter, None, 1)?.is_empty(),
        "no request in the log is meant by that, so {shown} is not written: `leafgate log list` shows what there is"
    );
    let mut out = std::io::BufWriter::new(private::export_to(&file, args.force)?);
    let count = log.export(&filter, args.format, |json| out.write_all(ascii_escapes(json).as_bytes()))?;
    out.flush().with_context(|| format!("cannot write {shown}"))?;
    printer.error_line(&format!("{} in {shown}", counted(count, "request")));
    Ok(Exit::Done)
}

/// Prints what was redacted: how often, what, by which detector and rule, and where.
fn summary(log: &Log, which: &WhichArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let filter = which.filter();
    let redactions = log.redactions(&filter)?;
    let (requests, stayed) = log.count(&filter)?;
    printer.show(&redactions, |redactions, printer| {
        let times: i64 = redactions.iter().map(|line| line.count).sum();
        let stayed = if stayed == 0 { String::new() } else { format!(", {stayed} of them did not leave") };
        printer.line(&format!("{requests} requests{stayed}; {times} redactions"))?;
        let row = |line: &RedactionLine| {
            [
                line.count.into(),
                line.requests.into(),
                Cell::new(Style::Redacted, line.label.as_str()),
                line.detector.as_deref().unwrap_or("-").into(),
                line.rule.as_str().into(),
                line.place.as_str().into(),
            ]
        };
        let heads = ["times", "requests", "label", "detector", "rule", "where"];
        printer.table(heads, redactions.iter().map(row))
    })
}
