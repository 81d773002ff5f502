//! `except add` and `baseline`: write exceptions into a policy folder.
//!
//! What is written is a file of rules like any other. It is put in its place whole, and taken back where
//! the policy does not load with it. A value that nobody may read is named by its token, which is keyed:
//! the file gives nothing away.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, Subcommand};
use leafgate_policy::{Context, Policy, PolicySource, Verdict};
use leafgate_tree::{Author, Format};
use leafgate_vault::Vault;

use crate::args::{PolicyArg, formats};
use crate::exit::Exit;
use crate::print::Printer;
use crate::{home, policy, request};

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
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<Format>,
    /// The requests whose findings are allowed from now on
    #[arg(value_name = "REQUEST", required = true)]
    requests: Vec<PathBuf>,
}

pub(crate) fn run(command: &ExceptCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        ExceptCommand::Add(args) => add(args, printer),
    }
}

fn add(args: &AddArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
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
    let target = Target::new(&args.policy.source, &args.file)?;
    if target.read()?.is_some() {
        bail!("{} is there already: name another file, or remove it", target.path.display());
    }
    let loaded = policy::load(&args.policy.source)?;
    let mut found = Found::default();
    for file in &args.requests {
        found.look_at(&loaded, file, args.format)?;
    }
    if found.tokens.is_empty() {
        printer.line("nothing is found in these requests that a token stands for: nothing is written")?;
    } else {
        let tables: Vec<String> = found
            .tokens
            .iter()
            .map(|(rule, tokens)| exception(std::slice::from_ref(rule), "finding", tokens, &args.said))
            .collect();
        target.replace(None, &tables.join("\n"))?;
        let count: usize = found.tokens.values().map(Vec::len).sum();
        let plural = if count == 1 { "" } else { "s" };
        printer.line(&format!("{}: allows {count} value{plural}", target.path.display()))?;
    }
    printer.flush()?;
    if found.without_token > 0 {
        printer.error_line(&format!(
            "leafgate: not allowed: {} findings of rules that put no token there (`with`), which nothing can name",
            found.without_token
        ));
    }
    if found.held > 0 {
        printer.error_line(&format!(
            "leafgate: not allowed: {} places that hold a request; allow them with `leafgate except add --value`",
            found.held
        ));
    }
    Ok(Exit::Done)
}

/// What is found in requests.
#[derive(Default)]
struct Found {
    /// By rule, each once.
    tokens: BTreeMap<String, Vec<String>>,
    without_token: usize,
    held: usize,
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
            if !vault.keys().verify(&made.replacement) {
                self.without_token += 1;
                continue;
            }
            let tokens = self.tokens.entry(id.to_string()).or_default();
            if !tokens.iter().any(|token| **token == *made.replacement) {
                tokens.push(made.replacement.to_string());
            }
        }
        self.held += match &evaluation.verdict {
            Verdict::Forward | Verdict::Route(_) => 0,
            Verdict::Pause(holds) => holds.iter().map(|hold| hold.total).sum(),
            Verdict::Block(hold) => hold.total,
        };
        Ok(())
    }
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
