//! `plan`: what another policy would do with requests that were there, beside the one of today.

mod compare;
mod logged;
mod stand_ins;
mod tokens;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use leafgate_admin::PolicyStatus;
use leafgate_config::{Layer, Settings};
use leafgate_gate::AskedPath;
use leafgate_policy::{Policy, PolicySource};
use leafgate_tokenize::Counter;
use leafgate_tree::Format;
use leafgate_vault::TokenKeys;
use rayon::iter::{ParallelBridge as _, ParallelIterator as _};

use crate::admin::AdminClient;
use crate::options::{ConfigArgs, OWN_POLICY, formats, policy_source};
use crate::print::{Exit, Printer, Row, Style};
use crate::request::AskedRequest;
use crate::{home, log, moments, policy, request, runtime, settings};
use compare::{Plan, PlanCase, PlanChange, compared};
use logged::Logged;

/// The word for the log in the place of a file.
const LOG: &str = "log";

/// Requests that are named one by one for people.
const NAMED: usize = 20;

#[derive(Args)]
pub(crate) struct PlanArgs {
    /// The new rules: a folder, `default` or `none`
    #[arg(long = "policy", value_name = "NEW", value_parser = policy_source)]
    new: PolicySource,
    /// The rules of today, in the same words; without it, those of the gate that runs, or else those of
    /// the configuration
    #[arg(long, value_name = "OLD", value_parser = policy_source)]
    today: Option<PolicySource>,
    /// The requests: `log` for those that were logged, or files
    #[arg(long, value_name = "log|FILE", num_args = 1.., default_value = LOG)]
    against: Vec<PathBuf>,
    /// The format of the files; without it, of each the one whose shape it has
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<Format>,
    /// The path that the files are sent to: of it rules know the endpoint, and the format, the model
    /// and the stream where it names them
    #[arg(long, value_name = "PATH")]
    path: Option<AskedPath>,
    /// The profile that makes the requests of the files, as a base URL chooses it; without it, the first one
    /// that is for each
    #[arg(long, value_name = "ID")]
    profile: Option<String>,
    /// Of the log, only what came in this last while: 90s, 15m, 1h, 7d, 2w
    #[arg(long, value_name = "TIME", value_parser = moments::span)]
    since: Option<Duration>,
    /// Of the log, how many requests, the newest
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Both policies, and what tokens are made and counted with.
struct Policies {
    today: Policy,
    new: Policy,
    keys: TokenKeys,
    counter: Counter,
}

pub(crate) fn run(args: &PlanArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let settings = settings::load(&args.config, Layer::default())?;
    let (today, told) = today(args, &settings)?;
    let policies = Policies {
        today: policy::load(&today).context("the policy of today does not load")?,
        new: policy::load(&args.new).context("the new policy does not load")?,
        keys: home::token_keys()?,
        counter: Counter::new(settings::models(&settings)?),
    };
    let mut plan = Plan::new(&policies.today, &policies.new);
    plan.notes.extend(told.map(|serving| note(&serving, &policies.today)));
    judge_all(args, &policies, &mut plan)?;
    plan.close(&policies.new);
    printer.show(&plan, print)?;
    plan.unread.iter().for_each(|why| printer.error_line(&format!("leafgate: {why}")));
    Ok(match plan {
        Plan { unread, .. } if !unread.is_empty() => Exit::Bad,
        Plan { verdict_changes: 0, .. } => Exit::Done,
        Plan { .. } => Exit::Unmet,
    })
}

/// Says where the policy of today comes from, of which a running gate says this.
fn note(PolicyStatus { source, generation, .. }: &PolicyStatus, today: &Policy) -> String {
    match today.generation_name() == *generation {
        true => format!("Today's policy is the one that the running gate serves: {source}."),
        false => format!(
            "Today's policy is what lies in {source} now; the running gate serves another generation of it \
             ({generation})."
        ),
    }
}

/// The policy of today: the one that is named, that of the gate that runs, or that of the configuration.
fn today(args: &PlanArgs, settings: &Settings) -> anyhow::Result<(PolicySource, Option<PolicyStatus>)> {
    if let Some(today) = &args.today {
        return Ok((today.clone(), None));
    }
    let gates = runtime::folder().and_then(|folder| runtime::find_running(&folder)).unwrap_or_default();
    let statuses = gates.iter().filter_map(|gate| AdminClient::new(gate).ok()?.status().ok());
    let mut serving: Vec<PolicyStatus> = statuses.map(|status| status.policy).collect();
    serving.dedup_by(|one, other| one.source == other.source);
    let read = |text: &str| policy_source(text).map_err(anyhow::Error::msg);
    match serving.len() {
        0 => Ok((read(settings.text("policy").unwrap_or(OWN_POLICY))?, None)),
        1 => Ok((read(&serving[0].source)?, serving.pop())),
        _ => bail!("several gates run by different policies: say with `--today` which one is that of today"),
    }
}

/// A request to judge, or why it cannot be.
type PlanRead = Result<PlanCase, String>;

/// Judges requests on as many threads as there are cores: each reads the next one while others judge.
fn judge_all(args: &PlanArgs, policies: &Policies, plan: &mut Plan) -> anyhow::Result<()> {
    let (mut notes, mut logged) = (Vec::new(), Logged::new(&policies.keys, &policies.today));
    let is_log = |named: &&PathBuf| *named == Path::new(LOG);
    let files = args.against.iter().filter(|named| !is_log(named)).map(|file| {
        let read = from_file(file, args, &policies.keys);
        let (case, assumed) = read.map_err(|error| format!("{error:#}"))?;
        notes.extend(assumed.map(|assumed| format!("{}: {assumed}", case.name)));
        Ok(case)
    });
    let filter = log::filter(args.since, None);
    let of_log = args.against.iter().find(is_log);
    let of_log = of_log.map(|_| logged.newest(&filter, args.limit as usize)).transpose()?;
    let (has_log, shared) = (of_log.is_some(), Mutex::new(&mut *plan));
    let cases = files.chain(of_log.into_iter().flatten());
    cases.par_bridge().for_each(|read| judge(read, policies, &shared));
    plan.notes.extend(notes);
    plan.notes.extend(has_log.then(|| logged.notes()).into_iter().flatten());
    Ok(())
}

fn judge(read: PlanRead, policies: &Policies, plan: &Mutex<&mut Plan>) {
    let judged = read.and_then(|case| match compared(&case, policies) {
        Ok(compared) => Ok((case, compared)),
        Err(error) => Err(format!("{}: {error:#}", case.name)),
    });
    let Ok(mut plan) = plan.lock() else { return };
    match judged {
        Ok((case, compared)) => plan.add(case.number, case.name, compared),
        Err(why) => plan.unread.push(why),
    }
}

/// Reads a file as a request, and says which format was assumed where that is a guess.
fn from_file(file: &Path, args: &PlanArgs, keys: &TokenKeys) -> anyhow::Result<(PlanCase, Option<String>)> {
    let format = args.format.or_else(|| args.path.as_ref().and_then(AskedPath::format));
    let (document, why_raw) = request::read(Some(file), format)?;
    if let (Some(error), None) = (&why_raw, format) {
        return Err(request::no_json(Some(file), error));
    }
    let assumed = format.is_none().then(|| request::assumed(&document)).flatten();
    let asked = AskedRequest::new(args.path.as_ref(), &document, keys);
    let name = file.display().to_string();
    let profile = args.profile.clone();
    Ok((PlanCase { number: 0, name, document: document.into(), asked, profile }, assumed))
}

/// Prints what people want to know first, and the rest by name.
fn print(plan: &Plan, printer: &mut Printer) -> std::io::Result<()> {
    printer.line(&format!(
        "{} requests by today's policy ({}) and the new one ({}): {} would leave otherwise, {} with another verdict",
        plan.requests,
        plan.today,
        plan.new,
        plan.differing.len(),
        plan.verdict_changes
    ))?;
    let row = |change: &PlanChange| {
        let PlanChange { gained, lost, requests, by } = change;
        [(*gained).into(), (*lost).into(), (*requests).into(), by.rule.as_str().into(), by.what().into()]
    };
    printer.table(["gained", "lost", "requests", "rule", "what"], plan.changes.iter().map(row))?;
    for differs in plan.differing.iter().take(NAMED) {
        let verdict = match differs.today.kind == differs.new.kind {
            true => differs.today.to_string(),
            false => format!("{} → {}", differs.today, differs.new),
        };
        let [today, new] = [differs.bytes_today, differs.bytes_new].map(bytes);
        let rest = format!("  {verdict}  {today} → {new} bytes");
        printer.rows(&[Row::of(&differs.request, Style::Strong).and(&rest, Style::Plain)])?;
    }
    if let Some(more) = plan.differing.len().checked_sub(NAMED).filter(|more| *more > 0) {
        printer.line(&format!("and {more} more: --json names all"))?;
    }
    printer.line(&format!(
        "bytes that would leave: {} → {}; tokens of what differs: {}{} → {}",
        plan.bytes_today,
        plan.bytes_new,
        if plan.tokens.is_estimate { "about " } else { "" },
        plan.tokens.today,
        plan.tokens.new
    ))?;
    if !plan.never_match.is_empty() {
        printer.line(&format!(
            "rules of the new policy that match nothing here: {}",
            plan.never_match.join(", ")
        ))?;
    }
    for note in &plan.notes {
        printer.text(Style::Dim, &format!("{note}\n"))?;
    }
    Ok(())
}

fn bytes(bytes: Option<usize>) -> String {
    bytes.map_or_else(|| "no".to_owned(), |bytes| bytes.to_string())
}
