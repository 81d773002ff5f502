//! `doctor`: whether clients really ask through a gate, whether gates reach their upstreams, and what
//! of a client's requests differs from one to the next, so that prompt caches break.
//!
//! A client is tried as it is set up, behind a gate of its own before `echo:`. No request
//! leaves the machine, nothing of what the client says is printed, and its own history keeps nothing of it.

mod history;
mod trial;

use anyhow::Context;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use http::Request;
use http_body_util::Full;
use leafgate_admin::Status;
use leafgate_admin::shown_url;
use leafgate_config::Settings;
use serde::Serialize;
use tokio::runtime::Runtime;

use self::history::ClientHistory;
use self::trial::{DoctorTrial, TrialFolder};
use crate::admin::AdminClient;
use crate::client::{ClientWay, KnownClient, clients};
use crate::mode::unguarded;
use crate::print::{Exit, Printer, Style};
use crate::stop::Stop;
use crate::{exchange, managed, runtime, settings, vscode};

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum FindingState {
    Good,
    /// Neither good nor bad.
    Note,
    Warning,
    Problem,
}

/// What was found about one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ClientFinding {
    /// A client, or a gate by its URL.
    about: String,
    state: FindingState,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl ClientFinding {
    fn new(about: &str, state: FindingState, text: impl Into<String>) -> ClientFinding {
        ClientFinding { about: about.to_owned(), state, text: text.into(), hint: None }
    }

    fn problem(about: &str, text: impl Into<String>) -> ClientFinding {
        ClientFinding::new(about, FindingState::Problem, text)
    }

    fn hint(self, hint: impl Into<String>) -> ClientFinding {
        ClientFinding { hint: Some(hint.into()), ..self }
    }
}

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// The client to try; without it, those that are installed
    #[arg(value_parser = PossibleValuesParser::new(clients().iter().map(|client| PossibleValue::new(client.name).help(client.title))))]
    pub(crate) client: Option<String>,
}

pub(crate) fn run(args: &DoctorArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let runtime = Runtime::new()?;
    let mut findings = gates(&runtime)?;
    findings.extend(found("settings", settings()));
    let stop = runtime.block_on(async { Stop::on_signals() })?;
    let is_asked = |client: &&KnownClient| args.client.as_ref().is_none_or(|asked| asked == client.name);
    for known in clients().iter().filter(is_asked) {
        findings.extend(client(known, args.client.is_some(), &runtime, &stop)?);
    }
    if args.client.is_none() {
        findings.extend(found("vscode", editors()));
    }
    printer.show(&findings, |findings, printer| {
        findings.iter().try_for_each(|finding| print(finding, printer))
    })?;
    let is_well = findings.iter().all(|finding| finding.state != FindingState::Problem);
    Ok(if is_well { Exit::Done } else { Exit::Unmet })
}

fn print(finding: &ClientFinding, printer: &mut Printer) -> anyhow::Result<()> {
    let (style, word) = match finding.state {
        FindingState::Good => (Style::Added, "good   "),
        FindingState::Note => (Style::Plain, "note   "),
        FindingState::Warning => (Style::Edited, "warning"),
        FindingState::Problem => (Style::Error, "problem"),
    };
    printer.text(style, word)?;
    printer.line(&format!(" {}: {}", finding.about, finding.text))?;
    if let Some(hint) = &finding.hint {
        printer.line(&format!("        {hint}"))?;
    }
    Ok(())
}

/// Looks at every gate that runs, and has it ask each of its upstreams.
fn gates(runtime: &Runtime) -> anyhow::Result<Vec<ClientFinding>> {
    let running = runtime::find_running(&runtime::folder()?)?;
    let mut findings = Vec::new();
    if running.is_empty() {
        findings.push(
            ClientFinding::new("gates", FindingState::Note, "none runs")
                .hint("`leafgate exec` starts it for a client, `leafgate start` one that stays"),
        );
    }
    for gate in running {
        match AdminClient::new(&gate)?.status() {
            Err(error) => findings.push(ClientFinding::problem(&gate.listen, error.message)),
            Ok(status) => {
                findings.extend(off(&status));
                findings.extend(runtime.block_on(upstreams(&status)));
            }
        }
    }
    Ok(findings)
}

/// Says of a gate that it looks at nothing.
fn off(status: &Status) -> Option<ClientFinding> {
    let text = "it is switched off: everything passes as it comes, and no rule looks at it";
    let finding = ClientFinding::new(&status.listen, FindingState::Warning, text);
    let hint = match status.mode.as_ref().and_then(|mode| mode.off_seconds) {
        Some(_) => "`leafgate on` has the policy look again",
        None => "set `enabled = true`, and start the gate anew",
    };
    (!status.enabled).then(|| finding.hint(hint))
}

async fn upstreams(status: &Status) -> Vec<ClientFinding> {
    let mut findings = Vec::new();
    for ClientWay { url: at, upstream, policy, .. } in ClientWay::all(status, "") {
        let upstream = &shown_url(upstream);
        findings.push(match unreachable(&at).await {
            Ok(Some(message)) => {
                let gate = format!("this gate cannot reach its upstream {upstream}: ");
                let why = message.strip_prefix(&gate).unwrap_or(&message);
                ClientFinding::problem(&at, format!("it cannot reach {upstream}: {why}"))
                    .hint("start what should answer there, or set its URL: `leafgate config show` says where that stands")
            }
            Ok(None) => reached(&at, upstream, policy, status),
            Err(error) => ClientFinding::problem(&at, format!("it does not answer: {error}")),
        });
    }
    findings
}

/// Returns why a gate cannot reach its upstream, in its own words; `None` where it can.
async fn unreachable(at: &str) -> anyhow::Result<Option<String>> {
    let url: http::Uri = format!("{at}/v1/models").parse()?;
    let address = url.authority().context("it is no http URL")?.as_str().parse()?;
    let answer = exchange::whole(address, Request::get(url.path()).body(Full::default())?).await?;
    let error =
        serde_json::from_slice::<serde_json::Value>(answer.body()).unwrap_or_default()["error"].take();
    let is_unreachable = answer.status().is_server_error() && error["code"] == "leafgate_upstream";
    Ok(is_unreachable.then(|| error["message"].as_str().unwrap_or("it does not say why").to_owned()))
}

/// Only what a policy looks at is good.
fn reached(at: &str, upstream: &str, policy: &str, status: &Status) -> ClientFinding {
    let (state, looks) = match unguarded(status, policy) {
        Some(why) => (FindingState::Note, format!("; it {why}: everything passes")),
        None => (FindingState::Good, format!(", policy {policy}")),
    };
    ClientFinding::new(at, state, format!("it reaches {upstream}{looks}"))
}

/// What cannot be looked at is a problem.
fn found(about: &str, looked: anyhow::Result<Option<ClientFinding>>) -> Option<ClientFinding> {
    looked.unwrap_or_else(|error| Some(ClientFinding::problem(about, format!("{error:#}"))))
}

/// Says that gates which start now would look at nothing. That of a trial is switched on.
fn settings() -> anyhow::Result<Option<ClientFinding>> {
    let settings = settings::of_user()?;
    let is_off = settings.switch("enabled") == Some(false);
    let text = format!("gates that start now are switched off ({})", settings.source("enabled"));
    let finding = ClientFinding::new("settings", FindingState::Warning, text).hint("set `enabled = true`");
    Ok(is_off.then_some(finding))
}

/// Says where the settings of editors lead. A window is not opened for it.
fn editors() -> anyhow::Result<Option<ClientFinding>> {
    let folders = vscode::installed(None);
    if folders.is_empty() {
        return Ok(None);
    }
    let report = vscode::EditorReport::of(&folders)?;
    let beyond: Vec<&str> = report.beyond().collect();
    let state = match (report.problem(), beyond.is_empty()) {
        (Some(_), _) => FindingState::Note,
        (None, true) => FindingState::Good,
        (None, false) => FindingState::Warning,
    };
    let finding = ClientFinding::new("vscode", state, report.summary());
    Ok(Some(if beyond.is_empty() { finding } else { finding.hint(beyond.join("; ")) }))
}

/// Tries a client.
fn client(
    known: &KnownClient,
    was_named: bool,
    runtime: &Runtime,
    stop: &Stop,
) -> anyhow::Result<Vec<ClientFinding>> {
    let name = known.name;
    let Some(version) = trial::version(known) else {
        let state = if was_named { FindingState::Problem } else { FindingState::Note };
        let finding = ClientFinding::new(name, state, "it is not installed");
        return Ok(vec![match was_named {
            true => finding.hint(format!("install `{name}`, or put it on the PATH")),
            false => finding,
        }]);
    };
    if let Some(key) = hindrance() {
        let text = format!(
            "{version} is not tried: the operator of this machine enforces `{key} = false`, so no log would say what it asks"
        );
        return Ok(vec![ClientFinding::new(name, FindingState::Note, text)]);
    }
    let mut folder = TrialFolder::make(stop)?;
    let mut run = |question| {
        let history = ClientHistory::of(known);
        let trial = runtime.block_on(folder.run(known, question));
        history.forget(question);
        trial
    };
    let trials = [run(trial::QUESTIONS[0])?, run(trial::QUESTIONS[1])?];
    let mut findings = vec![arrived(name, &version, &trials[0])];
    if let [Some(one), Some(other)] = trials.each_ref().map(DoctorTrial::prompt) {
        findings.push(steadiness(name, one, other));
    }
    Ok(findings)
}

/// Returns the setting of a trial that the operator of the machine enforces otherwise.
fn hindrance() -> Option<&'static str> {
    // What cannot be used of the operator's is told with the settings.
    let managed = managed::find().ok()??;
    let settings = Settings::of([managed.settings]);
    let is_off = |key: &&str| managed.policy.is_enforced && settings.switch(key) == Some(false);
    trial::SWITCHED_ON.into_iter().find(is_off)
}

fn arrived(name: &str, version: &str, trial: &DoctorTrial) -> ClientFinding {
    match (trial.prompt(), trial.refusal()) {
        (Some(_), _) => {
            let text = format!("{version} asks through the gate: {}", trial.paths());
            ClientFinding::new(name, FindingState::Good, text)
        }
        (None, Some(refusal)) => ClientFinding::problem(name, refusal),
        (None, None) => ClientFinding::problem(
            name,
            format!(
                "{version} was started behind a gate, and asked no model through it ({})",
                trial.ending()
            ),
        )
        .hint(format!("see whether `{name}` is logged in, and answers by itself")),
    }
}

/// What a client sends in each request anew breaks the caches of those who compare all bytes.
fn steadiness(name: &str, one: &[u8], other: &[u8]) -> ClientFinding {
    let changing = trial::changing(one, other);
    if changing.is_empty() {
        let (state, end) = match [one, other].into_iter().any(trial::is_masked) {
            true => (FindingState::Note, ", but for values that the log masks, which are not compared"),
            false => (FindingState::Good, ": caches hold"),
        };
        return ClientFinding::new(name, state, format!("two runs begin with the same prompt{end}"));
    }
    let text = format!("differs from run to run within the prompt: {}", changing.join(", "));
    let finding = ClientFinding::new(name, FindingState::Warning, text);
    if trial::has_billing_line(one) {
        return finding.hint(
            "Claude Code's billing header stands in the system prompt. Anthropic's API leaves it out of its cache; behind another endpoint a rule may pin that text",
        );
    }
    finding.hint("providers that cache by prefix read everything behind it anew; a rule with `action = \"pin\"` keeps it as it was first")
}

#[cfg(test)]
mod tests {
    use leafgate_admin::ModeView;

    use super::*;

    #[test]
    fn only_a_policy_that_looks_is_good() {
        let at = "http://127.0.0.1:1/u/a";
        let status = |enabled| Status { enabled, ..Status::default() };
        let found = |policy, is_on| reached(at, "https://a.example", policy, &status(is_on));
        assert_eq!(found("own", true).state, FindingState::Good);
        assert!(found("own", true).text.ends_with("policy own"));
        assert_eq!(found("none", true).state, FindingState::Note);
        let off = found("own", false);
        assert_eq!(off.state, FindingState::Note);
        assert!(!off.text.contains("own"), "{}", off.text);
        let status = status(false);
        assert!(super::off(&status).unwrap().text.contains("switched off"));
        let mode = |off_seconds| Some(ModeView { off_seconds, ..ModeView::default() });
        for (seconds, hint) in [(Some(9), "leafgate on"), (None, "enabled = true")] {
            let said = super::off(&Status { mode: mode(seconds), ..status.clone() }).unwrap();
            assert!(said.hint.as_ref().is_some_and(|said| said.contains(hint)), "{said:?}");
        }
        assert_eq!(super::off(&Status { enabled: true, ..status }), None);
    }

    #[test]
    fn what_changes_in_a_prompt_is_named_by_its_place_alone() {
        let body = |line: &str, id: &str| {
            serde_json::json!({
                "model": "m",
                "system": [{ "type": "text", "text": line }, { "type": "text", "text": "the same" }],
                "messages": [{ "role": "user", "content": "hello" }],
                "metadata": { "user_id": id },
            })
            .to_string()
        };
        let [one, other] =
            ["1", "2"].map(|run| body(&format!("x-anthropic-billing-header: cch={run}quoted"), run));
        let found = steadiness("claude", one.as_bytes(), other.as_bytes());
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.text.ends_with("/system/0/text") && !found.text.contains("quoted"), "{}", found.text);
        assert!(found.hint.unwrap().contains("billing header"));
        let found = |line, [one, other]: [&str; 2]| {
            steadiness("claude", body(line, one).as_bytes(), body(line, other).as_bytes())
        };
        assert_eq!(found("steady", ["1", "‹USER›"]).state, FindingState::Good);
        let masked = found("from ‹IP›", ["1", "2"]);
        assert_eq!(masked.state, FindingState::Note);
        assert!(masked.text.ends_with("which are not compared"), "{}", masked.text);
    }
}
