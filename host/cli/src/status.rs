//! `status`: the state of a running gate, and why its newest policy does not serve.

use std::fmt::Write as _;

use leafgate_admin::shown_url;
use leafgate_admin::{
    Answers, ApiError, PluginStatus, QuarantineStatus, Ruled, RuntimeFile, Status, StoreStatus,
};
use leafgate_record::AnswerOutcome;
use serde::Serialize;

use crate::admin::AdminClient;
use crate::mode::{saved_edits, why_off};
use crate::options::GateArgs;
use crate::print::{Exit, Printer, Style};
use crate::vscode;

/// Asks the gate that is named, or each that runs. One that does not answer does not hide the
/// others.
pub(crate) fn run(args: &GateArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let gates = args.find_all()?;
    if let [gate] = &gates[..] {
        let status = without_secrets(AdminClient::new(gate)?.status()?);
        return printer.show(&status, |status, printer| print(gate, status, printer));
    }
    let asked = gates.iter().map(|gate| Ok((gate, AdminClient::new(gate)?.status().map(without_secrets))));
    let asked: Vec<_> = asked.collect::<anyhow::Result<_>>()?;
    let reports = asked.iter().map(|(gate, status)| match status {
        Ok(status) => GateReport::Status(status),
        Err(error) => GateReport::Failed { listen: &gate.listen, error },
    });
    printer.show(&reports.collect::<Vec<_>>(), |_, printer| {
        for (place, (gate, status)) in asked.iter().enumerate() {
            if place > 0 {
                printer.line("")?;
            }
            match status {
                Ok(status) => print(gate, status, printer)?,
                Err(error) => printer.line(&format!("{}: {}", gate.listen, error.message))?,
            }
        }
        anyhow::Ok(())
    })?;
    Ok(if asked.iter().all(|(_, status)| status.is_ok()) { Exit::Done } else { Exit::Bad })
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

/// What is said of a gate, under a name for each.
type Facts = Vec<(&'static str, String)>;

fn print(gate: &RuntimeFile, status: &Status, printer: &mut Printer) -> anyhow::Result<()> {
    let parts = [of_gate(gate, status), of_policy(status), of_requests(status), of_people(status)];
    printer.facts(&parts.concat())?;
    if let Some(diagnostics) = &status.policy.refused {
        printer.line("")?;
        printer.text(Style::Error, "The policy on disk does not serve; the generation above does.\n")?;
        printer.line(diagnostics.trim_end())?;
    }
    Ok(())
}

/// Returns where it stands, and before what.
fn of_gate(gate: &RuntimeFile, status: &Status) -> Facts {
    let Status { version, listen, upstream, upstream_kind, .. } = status;
    let kind = of_kind(upstream_kind.as_deref());
    let mut facts = vec![("gate", format!("{listen} before {upstream}{kind} (leafgate {version})"))];
    if !status.enabled {
        facts.push(("OFF", format!("everything passes as it comes: {}", why_off(status))));
    }
    for upstream in &status.upstreams {
        let own = upstream.policy.as_ref().map(|own| format!(", policy {}", own.source)).unwrap_or_default();
        let kind = of_kind(upstream.kind.as_deref());
        facts.push(("upstream", format!("{} before {}{kind}{own}", upstream.prefix, upstream.url)));
    }
    if gate.standing {
        let report = vscode::EditorReport::of(&vscode::installed(None));
        let report = report.map_or_else(|error| format!("{error:#}"), |report| report.summary());
        facts.extend([
            ("stands", "the one that all programs of this user share: `leafgate stop` ends it".to_owned()),
            ("vscode", report),
            ("not seen", vscode::NOT_SEEN.to_owned()),
        ]);
    }
    facts
}

/// Returns what it looks with.
fn of_policy(status: &Status) -> Facts {
    let policy = &status.policy;
    let mut facts = vec![
        ("policy", format!("{}, generation {}", policy.source, policy.generation)),
        ("loads", format!("{} done, {} refused", policy.loads, policy.failed_loads)),
    ];
    if let Some(trial) = &policy.trial {
        let tried = format!("{} on {} of {} requests so far", trial.generation, trial.tried, trial.requests);
        facts.push(("trial", tried));
    }
    if !policy.changes.is_empty() {
        facts.push(("changed", policy.changes.join(", ")));
    }
    if let Some(seconds) = policy.loading_seconds.filter(|&seconds| seconds > 0) {
        let loading = format!("what is on disk, for {seconds} s now; the generation above serves meanwhile");
        facts.push(("loading", loading));
    }
    facts.extend(policy.warnings.iter().map(|warning| ("warning", warning.clone())));
    facts
}

/// Returns what came of requests.
fn of_requests(status: &Status) -> Facts {
    let (requests, in_flight) = (&status.requests, status.in_flight);
    let mut facts = vec![
        (
            "requests",
            format!(
                "{} forwarded, {} blocked, {} paused, {} cancelled, {} refused; {in_flight} in flight",
                requests.forwarded, requests.blocked, requests.paused, requests.cancelled, requests.refused
            ),
        ),
        ("answers", answers(requests.answers)),
    ];
    if !status.statuses.is_empty() {
        let counts = status.statuses.iter().map(|count| format!("{}: {}", count.status, count.answers));
        facts.push(("statuses", counts.collect::<Vec<_>>().join(", ")));
    }
    if !status.rules.is_empty() {
        let counts = status.rules.iter().map(|count| format!("{}: {}", count.rule, count.requests));
        facts.push(("rules", format!("requests matched by {}", counts.collect::<Vec<_>>().join(", "))));
    }
    facts.extend(ruled(requests.ruled).map(|ruled| ("ruled", ruled)));
    let hint = if requests.faults == 0 { "" } else { ": the log says which rules could not run, and why" };
    facts.push(("faults", format!("{}{hint}", requests.faults)));
    let read = (requests.files_read, "whose text was read");
    let unread = (requests.unread, "that could not be looked into (`on-unread`)");
    for (count, what) in [read, unread].into_iter().filter(|(count, _)| *count > 0) {
        facts.push(("files", format!("{count} PDF, office files and archives {what}")));
    }
    facts
}

/// Returns what waits for people, what they chose, and what is kept.
fn of_people(status: &Status) -> Facts {
    let (policy, pending) = (&status.policy, status.pending);
    let hint = if pending == 0 { "" } else { ": `leafgate review` shows them" };
    let mib = |bytes: usize| bytes.div_ceil(1 << 20);
    let (used, limit) = (mib(status.pending_memory.used), mib(status.pending_memory.limit));
    let mut facts = vec![
        ("pending", format!("{pending}, {used} of {limit} MiB{hint}")),
        ("approval", APPROVAL.to_owned()),
    ];
    if let Some(mode) = &status.mode {
        let paused = if pending > 0 { " (request paused)" } else { "" };
        facts.push(("mode", format!("{}{paused}: {}", mode.label, mode.text)));
        facts.extend(mode.saved.as_ref().map(|saved| ("edits", saved_edits(saved))));
    }
    facts.extend(status.store.as_ref().map(|store| ("log", log(store))));
    if !policy.pauses.is_empty() {
        facts.push(("pausing", format!("rules {}", policy.pauses.join(", "))));
    }
    if let Some(active) = &status.active {
        let follow = if status.follow { "the newest is followed" } else { "selected by hand" };
        facts.push(("active", format!("{} ({follow})", active.label)));
    }
    if let Some(team) = &status.agents {
        let entry = team.entry.as_deref().unwrap_or("nobody");
        facts.push(("agents", format!("{} behind /agents/v1, beginning at {entry}", team.agents)));
        facts.extend(team.warnings.iter().map(|warning| ("warning", warning.clone())));
    }
    let held = policy.plugins.iter().filter_map(|plugin| Some((plugin, plugin.quarantine.as_ref()?)));
    facts.extend(held.map(|(plugin, held)| ("plugin", quarantined(plugin, held))));
    facts
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
fn ruled(mut ruled: Ruled) -> Option<String> {
    let counts = AnswerOutcome::ALL.iter().map(|outcome| (*outcome.count(&mut ruled), outcome.label()));
    let said: Vec<_> =
        counts.filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    (!said.is_empty()).then(|| format!("answers: {}", said.join(", ")))
}
