//! `agents`: a team's file, checked, shown and exported, and a task for a team.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::{Args, Subcommand};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::Full;
use leafgate_agents::{Agent, Permission, Team};
use serde_json::{Value, json};

use crate::exchange;
use crate::options::GateArgs;
use crate::print::{Exit, Printer, Style, counted};
use crate::{runtime, team};

#[derive(Subcommand)]
pub(crate) enum AgentsCommand {
    /// Check a team's file and say everything that is wrong with it
    Check(FileArgs),
    /// Show the agents of a team's file, or one with its whole prompt
    Show {
        /// The team's file, or a policy folder with `agents.json` in it
        file: PathBuf,
        /// The agent; without it, all are listed
        name: Option<String>,
    },
    /// Write a team's file anew, with all defaults filled in
    Export(FileArgs),
    /// Give a task to the team of a running gate, and write its answer. The key of the provider
    /// is read from OPENAI_API_KEY
    Run(RunTaskArgs),
}

#[derive(Args)]
pub(crate) struct FileArgs {
    /// The team's file, as an editor's settings, or a policy folder with `agents.json` in it
    file: PathBuf,
}

#[derive(Args)]
pub(crate) struct RunTaskArgs {
    /// The task
    task: String,
    /// The agent to begin at; without it, the entry of the team
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The model that all agents ask; without it, that of the team's file
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    #[command(flatten)]
    gate: GateArgs,
}

pub(crate) fn run(command: &AgentsCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        AgentsCommand::Check(args) => check(&args.file, printer),
        AgentsCommand::Show { file, name } => show(file, name.as_deref(), printer),
        AgentsCommand::Export(args) => {
            let team = load(&args.file, printer)?;
            printer.json(&team.to_json())?;
            Ok(Exit::Done)
        }
        AgentsCommand::Run(args) => run_task(args, printer),
    }
}

/// Reads a team; warnings go to standard error.
fn load(file: &Path, printer: &mut Printer) -> anyhow::Result<Team> {
    let file = team::find(file).map_err(anyhow::Error::msg)?;
    let shown = file.display();
    match team::load(&file) {
        Ok((team, warnings)) => {
            for warning in warnings {
                printer.error_line(&format!("leafgate: {shown}, {warning}"));
            }
            Ok(team)
        }
        Err(problems) => bail!("{shown} is no team:\n{}", problems.join("\n")),
    }
}

fn check(file: &Path, printer: &mut Printer) -> anyhow::Result<Exit> {
    let team = load(file, printer)?;
    let entry = team.entry().map(|entry| entry.name.as_str());
    let count = team.agents.len();
    let begins = entry.map_or_else(|| "no entry".to_owned(), |entry| format!("entry {entry}"));
    printer.tell(
        &json!({ "agents": count, "entry": entry }),
        &format!("the team is sound: {}, {begins}", counted(count, "agent")),
    )
}

fn show(file: &Path, name: Option<&str>, printer: &mut Printer) -> anyhow::Result<Exit> {
    let team = load(file, printer)?;
    if let Some(name) = name {
        let agent = team.agent(name).with_context(|| {
            let names: Vec<&str> = team.agents.iter().map(|agent| agent.name.as_str()).collect();
            format!("there is no agent `{name}`; agents: {}", names.join(", "))
        })?;
        describe(&team, agent, printer)?;
        printer.line("")?;
        printer.line(&team.prompt(agent))?;
    } else {
        team.agents.iter().try_for_each(|agent| describe(&team, agent, printer))?;
    }
    Ok(Exit::Done)
}

fn describe(team: &Team, agent: &Agent, printer: &mut Printer) -> anyhow::Result<()> {
    let is_entry = team.entry().is_some_and(|entry| entry.name == agent.name);
    printer.text(Style::Strong, agent.name.as_str())?;
    printer.line(if is_entry { "  (entry)" } else { "" })?;
    printer.line(&format!("  {}", leafgate_agents::escaped(&agent.description)))?;
    let targets: Vec<String> = team.targets(agent).iter().map(|target| target.name.to_string()).collect();
    let delegates = if targets.is_empty() { "nobody".to_owned() } else { targets.join(", ") };
    printer.line(&format!("  delegates to {delegates}"))?;
    let tools = match &agent.tools {
        Permission::All => "all of the client's".to_owned(),
        Permission::None => "none of the client's".to_owned(),
        Permission::Specific(names) => names.iter().cloned().collect::<Vec<_>>().join(", "),
    };
    printer.line(&format!("  tools: {tools}"))?;
    Ok(())
}

fn run_task(args: &RunTaskArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let gate = args.gate.find()?;
    let address = runtime::address_of(&gate.listen)?;
    let path = match &args.agent {
        Some(name) => format!("/agents/{name}/v1/chat/completions"),
        None => "/agents/v1/chat/completions".to_owned(),
    };
    let mut body = json!({ "messages": [{ "role": "user", "content": args.task }] });
    if let Some(model) = &args.model {
        body["model"] = json!(model);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (status, answer) = runtime.block_on(ask(address, &path, body.to_string().into()))?;
    let said: Value = serde_json::from_slice(&answer).context("the gate answered with no JSON")?;
    if !(200..300).contains(&status) {
        let message = said["error"]["message"].as_str().unwrap_or("without a reason");
        bail!("the gate answered {status}: {message}");
    }
    printer.show(&said, |said, printer| {
        printer.line(said["choices"][0]["message"]["content"].as_str().unwrap_or_default())
    })
}

/// Asks with the key that OpenAI's own clients use, where there is one.
async fn ask(address: SocketAddr, path: &str, body: Bytes) -> anyhow::Result<(u16, Bytes)> {
    let mut request =
        Request::builder().method(Method::POST).uri(path).header(CONTENT_TYPE, "application/json");
    if let Ok(key) = std::env::var("OPENAI_API_KEY") {
        request = request.header(AUTHORIZATION, format!("Bearer {key}"));
    }
    let answer = exchange::whole(address, request.body(Full::new(body))?).await;
    let answer = answer.with_context(|| {
        format!("the gate at {address} does not answer: see whether `leafgate run` still runs")
    })?;
    Ok((answer.status().as_u16(), answer.into_body()))
}
