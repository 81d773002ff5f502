//! `except` and `baseline`: the exceptions of a policy folder, and how they get there.
//!
//! What is written is a file of rules like any other. It is put in its place whole, and taken back where
//! the policy does not load with it. A value that nobody may read is named by its token, which is keyed:
//! the file gives nothing away.

mod file;
mod gate;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Error, bail, ensure};
use clap::{Args, Subcommand};
use leafgate_admin::ExceptionView;
use leafgate_policy::{
    Allows, Context, Hold, NewException, Policy, PolicySource, Verdict, WrittenException, has_ended,
    last_day, written_exceptions,
};
use leafgate_store::Filter;
use leafgate_tree::{Author, Format};
use leafgate_vault::Vault;
use serde_json::json;

pub(crate) use self::file::TargetFile;
pub(crate) use self::gate::PolicyFolders;
use self::gate::remove;
use crate::masking::masked;
use crate::options::{PolicyArg, formats};
use crate::print::{Exit, Printer, Style, counted};
use crate::{home, log, moments, policy, request};

/// The file that exceptions are written into one by one.
const FILE: &str = "exceptions.toml";

#[derive(Subcommand)]
pub(crate) enum ExceptCommand {
    /// Allow a value, a shape of values, or the value that a token stands for
    Add(AddArgs),
    /// List the exceptions that stand in the files, those too that have ended
    List(PolicyArg),
    /// Take an exception out of its file
    Remove(RemoveExceptionArgs),
}

#[derive(Args)]
pub(crate) struct RemoveExceptionArgs {
    #[command(flatten)]
    policy: PolicyArg,
    /// Its id, as `leafgate except list` shows it
    id: String,
}

#[derive(Args)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    policy: PolicyArg,
    /// The redact rule that it is about, more than one by repeating it; without it all
    #[arg(long, value_name = "ID")]
    rule: Vec<String>,
    #[command(flatten)]
    allowed: AllowedArgs,
    #[command(flatten)]
    said: SaidArgs,
    /// The file of the policy folder that it is written into
    #[arg(long, value_name = "FILE", default_value = FILE)]
    file: PathBuf,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct AllowedArgs {
    /// The whole of what is found
    #[arg(long, value_name = "TEXT")]
    value: Option<String>,
    /// A regular expression that matches the whole of it
    #[arg(long, value_name = "REGEX")]
    pattern: Option<String>,
    /// The token that stands for it, as the prompt and the diff show it: EMAIL_k7f3q2xw9mz4ab6c
    #[arg(long, value_name = "TOKEN")]
    finding: Option<String>,
}

/// What every exception says.
#[derive(Args)]
struct SaidArgs {
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Who answers for it
    #[arg(long, value_name = "NAME")]
    by: String,
    /// The last day on which it is in force, as 2027-03-31, how long from today, as 30d or 2w, or
    /// `never`
    #[arg(long, value_name = "DATE|TIME|never")]
    until: String,
}

#[derive(Args)]
pub(crate) struct BaselineArgs {
    #[command(flatten)]
    policy: PolicyArg,
    #[command(flatten)]
    said: SaidArgs,
    /// The file of the policy folder that is written; it must not be there yet
    #[arg(long, value_name = "FILE", default_value = "baseline.toml")]
    file: PathBuf,
    /// The format of the requests; without it, of each the one whose shape it has
    #[arg(long, value_name = "FORMAT", value_parser = formats(), conflicts_with = "log")]
    format: Option<Format>,
    /// Allow what rules of this policy redacted in the requests of the log
    #[arg(long)]
    log: bool,
    /// Only what came in this last while: 90s, 15m, 1h, 7d, 2w
    #[arg(long, value_name = "TIME", value_parser = moments::span, requires = "log")]
    since: Option<Duration>,
    /// The requests whose findings are allowed from now on
    #[arg(value_name = "REQUEST", required_unless_present = "log", conflicts_with = "log")]
    requests: Vec<PathBuf>,
}

pub(crate) fn run(command: &ExceptCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        ExceptCommand::Add(args) => add(args, printer),
        ExceptCommand::List(policy) => printer.show(&views_of(&policy.source, None)?, print_list),
        ExceptCommand::Remove(RemoveExceptionArgs { policy, id }) => {
            ensure!(
                remove(&policy.source, id)?,
                "no exception has this id: `leafgate except list` shows them"
            );
            printer.tell(&json!({ "removed": id }), &format!("{id} removed"))
        }
    }
}

impl SaidArgs {
    /// Returns the exception that allows something. Refuses a day that is over: what is written with it
    /// would be in force no moment.
    fn about(&self, rules: &[String], allowed: Allows) -> anyhow::Result<NewException> {
        Ok(NewException {
            rules: rules.to_vec(),
            allowed,
            reason: self.reason.clone(),
            by: self.by.clone(),
            until: self.end()?,
        })
    }

    fn end(&self) -> anyhow::Result<String> {
        last_day(&self.until, SystemTime::now()).with_context(|| format!("bad `--until {}`", self.until))
    }
}

/// Refuses what is no token that this installation made: it would stand for nothing, and the value that
/// was meant would not be allowed.
fn must_be_ours(token: &str) -> anyhow::Result<()> {
    if !home::token_keys()?.verify(token) {
        bail!(
            "`--finding {}` is no token of this installation: its label or its letters are not as they were \
             made; copy the whole word, label included, as in EMAIL_k7f3q2xw9mz4ab6c",
            masked(token)
        );
    }
    Ok(())
}

fn add(args: &AddArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let AllowedArgs { value, pattern, finding } = &args.allowed;
    if let Some(token) = finding {
        must_be_ours(token)?;
    }
    let allowed = match (value, pattern, finding) {
        (Some(value), ..) => Allows::Values(vec![value.clone()]),
        (None, Some(pattern), _) => Allows::Pattern(pattern.clone()),
        (None, None, Some(token)) => Allows::Findings(vec![token.clone()]),
        (None, None, None) => bail!("give `--value`, `--pattern` or `--finding`"),
    };
    let exception = args.said.about(&args.rule, allowed)?;
    let target = TargetFile::new(&args.policy.source, &args.file)?;
    target.add(&exception, &|_| true)?;
    let (file, table) = (target.path.display().to_string(), exception.table());
    let line = format!("{file}:\n\n{}", table.trim_end());
    printer.tell(&json!({ "file": file, "exception": table }), &line)
}

/// Returns the exceptions in the files of a policy, which may be that of a named upstream.
fn views_of(source: &PolicySource, upstream: Option<&str>) -> anyhow::Result<Vec<ExceptionView>> {
    let Some(folder) = source.folder() else { return Ok(Vec::new()) };
    let written = written_exceptions(folder, &home::token_keys()?).map_err(Error::msg)?;
    let now = SystemTime::now();
    let view = |WrittenException { id, table, .. }| {
        let text =
            |key: &str| table.says.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        let rules = match table.says.get("rule") {
            Some(toml::Value::Array(rules)) => rules.iter().filter_map(toml::Value::as_str).collect(),
            Some(rule) => rule.as_str().into_iter().collect(),
            None => Vec::new(),
        };
        ExceptionView {
            id,
            upstream: upstream.map(str::to_owned),
            origin: table.origin.clone(),
            rules: rules.into_iter().map(str::to_owned).collect(),
            reason: text("reason"),
            by: text("by"),
            ended: has_ended(&text("until"), now) == Some(true),
            until: text("until"),
            table: table.to_string(),
        }
    };
    Ok(written.into_iter().map(view).collect())
}

fn print_list(exceptions: &Vec<ExceptionView>, printer: &mut Printer) -> io::Result<()> {
    printer
        .none(exceptions.len(), "no file of this policy has an exception: `leafgate except add` writes one");
    for ExceptionView { id, table, ended, .. } in exceptions {
        printer.text(Style::Strong, &format!("# {id}"))?;
        printer.line(&format!("{}\n{}", if *ended { ", ended" } else { "" }, table.trim()))?;
    }
    Ok(())
}

/// What is found in some requests is allowed from now on, so that a policy can begin to act on what is
/// new.
pub(crate) fn baseline(args: &BaselineArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    args.said.end()?;
    let target = TargetFile::new(&args.policy.source, &args.file)?;
    if target.read()?.is_some() {
        bail!("{} is there already: name another file, or remove it", target.path.display());
    }
    let loaded = policy::load(&args.policy.source)?;
    let mut found = BaselineFindings::default();
    if args.log {
        found.look_at_log(&loaded, &log::filter(args.since, None))?;
    }
    for file in &args.requests {
        found.look_at(&loaded, file, args.format)?;
    }
    let file = target.path.display().to_string();
    let count: usize = found.tokens.values().map(Vec::len).sum();
    let line = if count == 0 {
        let nothing = if args.log {
            "no rule of this policy put a token into a request of the log: nothing is written"
        } else {
            "nothing is found in these requests that a token stands for: nothing is written"
        };
        nothing.to_owned()
    } else {
        let table = |(rule, tokens): (&String, &Vec<String>)| {
            let allowed = Allows::Findings(tokens.clone());
            Ok(args.said.about(std::slice::from_ref(rule), allowed)?.table())
        };
        let tables = found.tokens.iter().map(table).collect::<anyhow::Result<Vec<String>>>()?;
        target.replace(None, &tables.join("\n"), &|_| true)?;
        format!("{file}: allows {}", counted(count, "value"))
    };
    let BaselineFindings { without_token, holds, .. } = &found;
    let done = json!({ "file": file, "values": count, "withoutToken": without_token, "holds": holds });
    printer.tell(&done, &line)?;
    if found.without_token > 0 {
        printer.error_line(&format!(
            "leafgate: not allowed: {} of rules that put no token there (`with`), which nothing can name",
            counted(found.without_token, "finding")
        ));
    }
    for hold in &found.holds {
        printer.error_line(&format!("leafgate: not allowed: {hold}"));
    }
    if !found.holds.is_empty() {
        printer.error_line(
            "leafgate: exceptions are for what redact rules find: what holds a request stays held until its rule is \
             changed, or has `mode = \"monitor\"`",
        );
    }
    Ok(Exit::Done)
}

/// What is found in requests.
#[derive(Default)]
struct BaselineFindings {
    /// By rule, each once.
    tokens: BTreeMap<String, Vec<String>>,
    without_token: usize,
    /// What holds them, by rule and place, each once.
    holds: BTreeSet<String>,
}

impl BaselineFindings {
    fn look_at(&mut self, policy: &Policy, file: &Path, format: Option<Format>) -> anyhow::Result<()> {
        let (document, _) = request::read(Some(file), format)?;
        let vault = Vault::new(home::token_keys()?);
        let evaluation = policy.evaluate(document.into(), &Context::default(), &vault);
        for made in evaluation.draft.redactions() {
            let Author::Rule { id } = &made.author else { continue };
            if vault.keys().verify(&made.replacement) {
                self.allow(id, &made.replacement);
            } else {
                self.without_token += 1;
            }
        }
        let holds = match &evaluation.verdict {
            Verdict::Forward | Verdict::Route(_) => &[][..],
            Verdict::Pause(holds) => holds,
            Verdict::Block(hold) => std::slice::from_ref(hold),
        };
        for hold in holds {
            let Hold { rule, detail, .. } = hold;
            self.holds.insert(format!("rule `{rule}` holds {}: {detail}", file.display()));
        }
        Ok(())
    }

    /// Looks at what the log has. Values are not in it, but the tokens that stand for them are.
    fn look_at_log(&mut self, policy: &Policy, filter: &Filter) -> anyhow::Result<()> {
        let keys = home::token_keys()?;
        let rules: BTreeSet<&str> = policy.rules().map(|rule| &**rule).collect();
        let log = log::open()?;
        for line in log.newest_first(filter) {
            let line = line?;
            if line.redactions == 0 {
                continue;
            }
            let view = log.show(line.id)?;
            let body = String::from_utf8_lossy(&view.body.0);
            let tokens: BTreeSet<&str> = keys.find(&body).into_iter().map(|at| &body[at]).collect();
            for edit in view.edits.iter().filter(|edit| rules.contains(&*edit.rule)) {
                let Some(label) = &edit.label else { continue };
                for token in tokens.iter().filter(|token| is_labelled(token, label)) {
                    self.allow(&edit.rule, token);
                }
            }
        }
        Ok(())
    }

    fn allow(&mut self, rule: &str, token: &str) {
        let tokens = self.tokens.entry(rule.to_owned()).or_default();
        if !tokens.iter().any(|known| known == token) {
            tokens.push(token.to_owned());
        }
    }
}

/// Returns whether a token stands for a value of this label.
fn is_labelled(token: &str, label: &str) -> bool {
    token.rsplit_once('_').is_some_and(|(of_token, _)| of_token == label)
}
