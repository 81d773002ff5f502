//! `status`: the state of a running gate, and why its newest policy does not serve.

use std::fmt::Write as _;

use leafgate_admin::shown_url;
use leafgate_admin::{
    Answers, ApiError, PluginStatus, QuarantineStatus, Ruled, RuntimeFile, SavedStatus, Status, StoreStatus,
};
use serde::Serialize;

use crate::admin::AdminClient;
use crate::args::GateArgs;
use crate::exit::Exit;
use crate::print::{Printer, Style};
use crate::vscode;

/// Asks the gate that is named, or each that runs. One that does not answer does not hide the
/// others.
pub(crate) fn run(args: &GateArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let gates = args.find_all()?;
    if let [gate] = &gates[..] {
        return one(gate, args.json, printer);
    }
    let asked = gates.iter().map(|gate| Ok((gate, AdminClient::new(gate)?.status().map(without_secrets))));
    let asked: Vec<_> = asked.collect::<anyhow::Result<_>>()?;
    if args.json {
        let reports: Vec<_> = asked.iter().map(|(gate, status)| GateReport::of(gate, status)).collect();
        printer.json(&reports)?;
    } else {
        for (place, (gate, status)) in asked.iter().enumerate() {
            if place > 0 {
                printer.line("")?;
            }
            match status {
                Ok(status) => print(gate, status, printer)?,
                Err(error) => printer.line(&format!("{}: {}", gate.listen, error.message))?,
            }
        }
    }
    printer.flush()?;
    Ok(if asked.iter().all(|(_, status)| status.is_ok()) { Exit::Done } else { Exit::Bad })
}

fn one(gate: &RuntimeFile, json: bool, printer: &mut Printer) -> anyhow::Result<Exit> {
    let status = match AdminClient::new(gate)?.status() {
        Ok(status) => without_secrets(status),
        Err(error) => return refused(&error, json, printer),
    };
    match json {
        true => printer.json(&status)?,
        false => print(gate, &status, printer)?,
    }
    printer.flush()?;
    Ok(Exit::Done)
}

/// A status ends up in tickets and chats, so it has no more of a URL than may be read there.
fn without_secrets(mut status: Status) -> Status {
    status.upstream = shown_url(&status.upstream);
    for upstream in &mut status.upstreams {
        upstream.url = shown_url(&upstream.url);
    }
    status
}

/// The output of `--json` for each of several gates.
#[derive(Serialize)]
#[serde(untagged)]
enum GateReport<'a> {
    Status(&'a Status),
    Failed { listen: &'a str, error: &'a ApiError },
}

impl<'a> GateReport<'a> {
    fn of(gate: &'a RuntimeFile, status: &'a Result<Status, ApiError>) -> Self {
        match status {
            Ok(status) => GateReport::Status(status),
            Err(error) => GateReport::Failed { listen: &gate.listen, error },
        }
    }
}

/// Returns why a plugin is not asked, and what to do about it.
pub(crate) fn quarantined(plugin: &PluginStatus, held: &QuarantineStatus) -> String {
    let PluginStatus { name, faults, .. } = plugin;
    let QuarantineStatus { last_fault, seconds, probe_in_seconds } = held;
    format!(
        "{name} in quarantine for {seconds} s after faults on {faults} different texts (the last: it {last_fault}), tried \
         again in {probe_in_seconds} s: `leafgate plugin release {name}` ends it"
    )
}

/// Says whose endpoints an upstream has, where those are more than the models' APIs have.
fn of_kind(kind: Option<&str>) -> String {
    kind.map(|kind| format!(" ({kind})")).unwrap_or_default()
}

/// Who can say that a turn may leave, or ask for the value of a token.
const APPROVAL: &str =
    "any program of this user can give it, an agent's shell too, unless `exec --only` started the agent";

fn print(gate: &RuntimeFile, status: &Status, printer: &mut Printer) -> anyhow::Result<()> {
    let Status {
        version,
        listen,
        upstream,
        upstream_kind,
        policy,
        pending,
        pending_memory,
        in_flight,
        requests,
        ..
    } = status;
    let mut row = |name: &str, text: String| {
        printer.text(Style::Faint, &format!("{name:10}"))?;
        printer.line(&text)
    };
    let kind = of_kind(upstream_kind.as_deref());
    row("gate", format!("{listen} before {upstream}{kind} (leafgate {version})"))?;
    if !status.enabled {
        row("OFF", format!("everything passes as it comes: {}", why_off(status)))?;
    }
    for upstream in &status.upstreams {
        let own = upstream.policy.as_ref().map(|own| format!(", policy {}", own.source)).unwrap_or_default();
        let kind = of_kind(upstream.kind.as_deref());
        row("upstream", format!("{} before {}{kind}{own}", upstream.prefix, upstream.url))?;
    }
    if gate.standing {
        row("stands", "the one that all programs of this user share: `leafgate stop` ends it".to_owned())?;
        let report = vscode::Report::of(&vscode::installed(None));
        row("vscode", report.map_or_else(|error| format!("{error:#}"), |report| report.summary()))?;
        row("not seen", vscode::NOT_SEEN.to_owned())?;
    }
    row("policy", format!("{}, generation {}", policy.source, policy.generation))?;
    row("loads", format!("{} done, {} refused", policy.loads, policy.failed_loads))?;
    if let Some(trial) = &policy.trial {
        let tried = format!("{} on {} of {} requests so far", trial.generation, trial.tried, trial.requests);
        row("trial", tried)?;
    }
    if !policy.changes.is_empty() {
        row("changed", policy.changes.join(", "))?;
    }
    if let Some(seconds) = policy.loading_seconds.filter(|&seconds| seconds > 0) {
        row(
            "loading",
            format!("what is on disk, for {seconds} s now; the generation above serves meanwhile"),
        )?;
    }
    for warning in &policy.warnings {
        row("warning", warning.clone())?;
    }
    row(
        "requests",
        format!(
            "{} forwarded, {} blocked, {} paused, {} cancelled, {} refused; {in_flight} in flight",
            requests.forwarded, requests.blocked, requests.paused, requests.cancelled, requests.refused
        ),
    )?;
    row("answers", answers(requests.answers))?;
    if !status.statuses.is_empty() {
        let counts = status.statuses.iter().map(|count| format!("{}: {}", count.status, count.answers));
        row("statuses", counts.collect::<Vec<_>>().join(", "))?;
    }
    if !status.rules.is_empty() {
        let counts = status.rules.iter().map(|count| format!("{}: {}", count.rule, count.requests));
        row("rules", format!("requests matched by {}", counts.collect::<Vec<_>>().join(", ")))?;
    }
    if let Some(ruled) = ruled(requests.ruled) {
        row("ruled", ruled)?;
    }
    let hint = if requests.faults == 0 { "" } else { ": the log says which rules could not run, and why" };
    row("faults", format!("{}{hint}", requests.faults))?;
    if requests.files_read > 0 {
        row(
            "files read",
            format!("{} PDF, office files and archives whose text was read", requests.files_read),
        )?;
    }
    if requests.unread > 0 {
        row("unread", format!("{} files that could not be looked into (`on-unread`)", requests.unread))?;
    }
    let hint = if *pending == 0 { "" } else { ": `leafgate review` shows them" };
    let mib = |bytes: usize| bytes.div_ceil(1 << 20);
    let (used, limit) = (mib(pending_memory.used), mib(pending_memory.limit));
    row("pending", format!("{pending}, {used} of {limit} MiB{hint}"))?;
    row("approval", APPROVAL.to_owned())?;
    if let Some(mode) = &status.mode {
        row("mode", format!("{}: {}", mode.label, mode.text))?;
        if let Some(saved) = &mode.saved {
            row("edits", saved_edits(saved))?;
        }
    }
    if let Some(store) = &status.store {
        row("log", log(store))?;
    }
    if !policy.pauses.is_empty() {
        row("pausing", format!("rules {}", policy.pauses.join(", ")))?;
    }
    if let Some(active) = &status.active {
        let follow = if status.follow { "the newest is followed" } else { "selected by hand" };
        row("active", format!("{} ({follow})", active.label))?;
    }
    if let Some(team) = &status.agents {
        let entry = team.entry.as_deref().unwrap_or("nobody");
        row("agents", format!("{} behind /agents/v1, beginning at {entry}", team.agents))?;
        for warning in &team.warnings {
            row("warning", warning.clone())?;
        }
    }
    for plugin in &policy.plugins {
        if let Some(held) = &plugin.quarantine {
            row("plugin", quarantined(plugin, held))?;
        }
    }
    if let Some(diagnostics) = &policy.refused {
        printer.line("")?;
        printer.text(Style::Removed, "The policy on disk does not serve; the generation above does.\n")?;
        printer.line(diagnostics.trim_end())?;
    }
    Ok(())
}

/// Returns why a gate that is switched off is, and what ends it.
pub(crate) fn why_off(status: &Status) -> String {
    match status.mode.as_ref().and_then(|mode| mode.off_seconds) {
        Some(left) => format!("switched off for {left} s more, `leafgate on` ends it"),
        None => "switched off (setting `enabled`)".to_owned(),
    }
}

/// Returns the banner of saved edits, and how many did not fit.
pub(crate) fn saved_edits(saved: &SavedStatus) -> String {
    let drifted = match saved.drifted {
        0 => String::new(),
        drifted => {
            format!("; {drifted} of {} did not fit the last turn: see `leafgate saved list`", saved.edits)
        }
    };
    format!("{}: {}{drifted}", saved.title, saved.subtitle)
}

/// Returns how the log is.
fn log(store: &StoreStatus) -> String {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let mut said = format!(
        "{} written, {} of {} MiB in {}",
        store.written,
        mib(store.bytes),
        mib(store.limit),
        store.path
    );
    if store.missed > 0 {
        let _ = write!(said, "; {} requests or parts of answers are not in it", store.missed);
    }
    if store.mismatches > 0 {
        let _ = write!(said, "; {} SENT OTHERWISE THAN SHOWN", store.mismatches);
    }
    if let Some(why) = &store.failing {
        let then = if store.required { "requests stop" } else { "requests go on" };
        let _ = write!(said, "; IT CANNOT BE WRITTEN, {then}: {why}");
    }
    said
}

/// Returns the upstream's answers. A class without answers is left out, but for the first.
fn answers(answers: Answers) -> String {
    let Answers { succeeded, redirected, client_errors, server_errors, none } = answers;
    let mut said = format!("{succeeded} succeeded (2xx)");
    for (count, what) in [
        (redirected, "redirected (3xx)"),
        (client_errors, "refused by the upstream (4xx)"),
        (server_errors, "failed there (5xx)"),
        (none, "not answered at all"),
    ] {
        if count > 0 {
            let _ = write!(said, ", {count} {what}");
        }
    }
    said
}

/// Returns what rules and people made of answers; `None` where no rule matched in one.
fn ruled(ruled: Ruled) -> Option<String> {
    let Ruled { passed, changed, held, approved, edited, partly_refused, refused, abandoned, blocked } =
        ruled;
    let counts = [
        (passed, "passed"),
        (changed, "changed"),
        (held, "held for a person"),
        (approved, "approved"),
        (edited, "edited"),
        (partly_refused, "partly refused"),
        (refused, "refused"),
        (abandoned, "left by their clients while a person was asked"),
        (blocked, "blocked"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let said: Vec<_> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    (!said.is_empty()).then(|| format!("answers: {}", said.join(", ")))
}

/// The output of `--json` if the gate refused a call or does not answer.
#[derive(Serialize)]
struct Refused<'a> {
    error: &'a ApiError,
}

/// Prints why a call failed: as JSON on standard output for programs, as text on standard error for
/// people.
pub(crate) fn refused(error: &ApiError, json: bool, printer: &mut Printer) -> anyhow::Result<Exit> {
    if json {
        printer.json(&Refused { error })?;
        printer.flush()?;
        return Ok(Exit::Bad);
    }
    let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    printer.error_line(&format!("leafgate: {}{hint}", error.message));
    Ok(Exit::Bad)
}
