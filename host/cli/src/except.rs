//! `except add` and `baseline`: write exceptions into a policy folder.
//!
//! What is written is a file of rules like any other. It is put in its place whole, and taken back where
//! the policy does not load with it. A value that nobody may read is named by its token, which is keyed:
//! the file gives nothing away.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, Subcommand};
use leafgate_policy::{Context, Hold, Policy, PolicySource, Verdict, has_ended};
use leafgate_store::{Filter, Log};
use leafgate_tree::{Author, Format};
use leafgate_vault::Vault;

use crate::args::{PolicyArg, formats};
use crate::exit::Exit;
use crate::masking::masked;
use crate::print::Printer;
use crate::{home, log, policy, request};

/// Requests of the log that are read at a time.
const PAGE: usize = 200;

#[derive(Subcommand)]
pub(crate) enum ExceptCommand {
    /// Allow a value, a shape of values, or the value that a token stands for
    Add(AddArgs),
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
    #[arg(long, value_name = "FILE", default_value = "exceptions.toml")]
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
    /// The last day on which it is in force, as 2027-03-31, or `never`
    #[arg(long, value_name = "DATE|never")]
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
    #[arg(long, value_name = "TIME", value_parser = log::span, requires = "log")]
    since: Option<Duration>,
    /// The requests whose findings are allowed from now on
    #[arg(value_name = "REQUEST", required_unless_present = "log", conflicts_with = "log")]
    requests: Vec<PathBuf>,
}

pub(crate) fn run(command: &ExceptCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        ExceptCommand::Add(args) => add(args, printer),
    }
}

impl SaidArgs {
    /// Refuses a day that is over: what is written with it would be in force no moment.
    fn must_hold(&self) -> anyhow::Result<()> {
        if has_ended(&self.until, SystemTime::now()) == Some(true) {
            bail!(
                "`--until {}` is over: name the last day on which the exception is in force, or `never`",
                self.until
            );
        }
        Ok(())
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
    args.said.must_hold()?;
    if let Some(token) = &args.allowed.finding {
        must_be_ours(token)?;
    }
    let target = Target::new(&args.policy.source, &args.file)?;
    let AllowedArgs { value, pattern, finding } = &args.allowed;
    let (key, allowed) = [("value", value), ("pattern", pattern), ("finding", finding)]
        .into_iter()
        .find_map(|(key, given)| given.as_ref().map(|given| (key, given)))
        .context("give `--value`, `--pattern` or `--finding`")?;
    let table = exception(&args.rule, key, std::slice::from_ref(allowed), &args.said);
    let before = target.read()?;
    let text = match before.as_deref().map(str::trim_end) {
        None | Some("") => table.clone(),
        Some(before) => format!("{before}\n\n{table}"),
    };
    target.replace(before.as_deref(), &text)?;
    printer.line(&format!("{}:\n\n{}", target.path.display(), table.trim_end()))?;
    printer.flush()?;
    Ok(Exit::Done)
}

/// What is found in some requests is allowed from now on, so that a policy can begin to act on what is
/// new.
pub(crate) fn baseline(args: &BaselineArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    args.said.must_hold()?;
    let target = Target::new(&args.policy.source, &args.file)?;
    if target.read()?.is_some() {
        bail!("{} is there already: name another file, or remove it", target.path.display());
    }
    let loaded = policy::load(&args.policy.source)?;
    let mut found = Found::default();
    if args.log {
        found.look_at_log(&loaded, &log::since(args.since))?;
    }
    for file in &args.requests {
        found.look_at(&loaded, file, args.format)?;
    }
    if found.tokens.is_empty() {
        let nothing = if args.log {
            "no rule of this policy put a token into a request of the log: nothing is written"
        } else {
            "nothing is found in these requests that a token stands for: nothing is written"
        };
        printer.line(nothing)?;
    } else {
        let tables: Vec<String> = found
            .tokens
            .iter()
            .map(|(rule, tokens)| exception(std::slice::from_ref(rule), "finding", tokens, &args.said))
            .collect();
        target.replace(None, &tables.join("\n"))?;
        let count: usize = found.tokens.values().map(Vec::len).sum();
        printer.line(&format!("{}: allows {}", target.path.display(), counted(count, "value")))?;
    }
    printer.flush()?;
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

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// What is found in requests.
#[derive(Default)]
struct Found {
    /// By rule, each once.
    tokens: BTreeMap<String, Vec<String>>,
    without_token: usize,
    /// What holds them, by rule and place, each once.
    holds: BTreeSet<String>,
}

impl Found {
    fn look_at(&mut self, policy: &Policy, file: &Path, format: Option<Format>) -> anyhow::Result<()> {
        let body = request::body(Some(file))?;
        let (document, _) = request::document(&body, format)
            .with_context(|| format!("cannot use {} as a request", file.display()))?;
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
        let log = Log::open(&log::folder()?)?;
        let mut before = None;
        loop {
            let page = log.list(filter, before, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            before = Some(last.id);
            for line in page.iter().filter(|line| line.redactions > 0) {
                let view = log.show(line.id)?;
                let body = String::from_utf8_lossy(&view.body.0);
                let tokens: BTreeSet<&str> = keys.find(&body).into_iter().map(|at| &body[at]).collect();
                let found = view.edits.iter().filter(|edit| rules.contains(&*edit.rule));
                for edit in found {
                    let Some(label) = &edit.label else { continue };
                    for token in tokens.iter().filter(|token| is_labelled(token, label)) {
                        self.allow(&edit.rule, token);
                    }
                }
            }
        }
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

/// An `[[exception]]` as it stands in a file.
fn exception(rules: &[String], key: &str, allowed: &[String], said: &SaidArgs) -> String {
    let mut table = String::from("[[exception]]\n");
    let mut line = |key: &str, value: String| {
        // Writing to a string does not fail.
        let _ = writeln!(table, "{key} = {value}");
    };
    if !rules.is_empty() {
        line("rule", list(rules));
    }
    line(key, list(allowed));
    line("reason", quoted(&said.reason));
    line("by", quoted(&said.by));
    // A date of TOML has no quotes; whether it is one is for the policy to say.
    let is_date = said.until.starts_with(|first: char| first.is_ascii_digit());
    let plain = said.until.chars().all(|character| character.is_ascii_digit() || character == '-');
    line("until", if is_date && plain { said.until.clone() } else { quoted(&said.until) });
    table
}

fn list(words: &[String]) -> String {
    match words {
        [one] => quoted(one),
        words => {
            let lines: Vec<String> = words.iter().map(|word| format!("  {},\n", quoted(word))).collect();
            format!("[\n{}]", lines.concat())
        }
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The file of a policy folder that is written.
pub(crate) struct Target {
    source: PolicySource,
    path: PathBuf,
}

impl Target {
    pub(crate) fn new(source: &PolicySource, file: &Path) -> anyhow::Result<Target> {
        let PolicySource::Folder(folder) = source else {
            bail!("a built-in policy cannot be changed: name a policy folder with `--policy DIR`")
        };
        let is_rule_file = file.extension().is_some_and(|extension| extension == "toml");
        if !is_rule_file || file.components().count() != 1 || !leafgate_folder::is_inside(file) {
            bail!(
                "{} is no name of a rule file: rule files end in `.toml` and lie in the folder itself",
                file.display()
            );
        }
        policy::load(source).context("the policy must be sound before something is written into it")?;
        Ok(Target { source: source.clone(), path: folder.join(file) })
    }

    fn read(&self) -> anyhow::Result<Option<String>> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", self.path.display())),
        }
    }

    /// Puts a text into the place of the file, and what was there before back where the policy does not
    /// load with it.
    pub(crate) fn replace(&self, before: Option<&str>, text: &str) -> anyhow::Result<()> {
        let cannot = || format!("cannot write {}", self.path.display());
        self.write(text).with_context(cannot)?;
        let Err(error) = policy::load(&self.source) else { return Ok(()) };
        match before {
            Some(before) => self.write(before).with_context(cannot)?,
            None => fs::remove_file(&self.path).with_context(cannot)?,
        }
        Err(anyhow!("{error}\nnothing was written"))
    }

    /// Renamed into place: a gate that runs reads no half of it.
    fn write(&self, text: &str) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let draft = self.path.with_file_name(format!(".{name}.{}", std::process::id()));
        let written = fs::write(&draft, text).and_then(|()| fs::rename(&draft, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
    }
}
