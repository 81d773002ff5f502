//! Exceptions: from a redaction in a turn, and those that stand in the policy folders.
//!
//! In a turn the person names the redaction, and the gate alone knows the value: what is written is the
//! value's token, which is keyed. The folder is the policy's own, whatever the caller says.

use std::cell::RefCell;
use std::time::SystemTime;

use leafgate_admin::{AddException, ErrorCode, Except, Excepted, ExceptedFinding, ExceptionList};
use leafgate_desk::TurnId;
use leafgate_policy::{Allows, NewException, Policy, last_day};
use leafgate_tree::RedactionRecord;
use leafgate_vault::Vault;

use super::answer::{self, Answered, CallFailure};
use super::reveal::{check_name, foreign_token};
use crate::except::{NotExcepted, PolicyFiles};
use crate::pending::Snapshot;
use crate::session::Recalled;
use crate::shared::Shared;

/// How long an exception is in force where nobody says so: long enough to mend a rule.
const UNTIL: &str = "30d";

/// Characters of a reason. It is one line of a file.
const MOST_REASON: usize = 200;

pub(super) async fn except(gate: &Shared, turn: TurnId, command: Except) -> Answered {
    check_name(&command.by)?;
    let snapshot = gate.turns.snapshot(turn)?;
    let lane = snapshot.guard.lane.clone();
    let own = lane.filter(|name| gate.upstreams.by_name(name).is_some_and(|lane| lane.own.is_some()));
    let write = move |files: &dyn PolicyFiles| write(files, &snapshot, own.as_deref(), &command);
    let excepted = with_files(gate, write).await?;
    let Excepted { file, rule, label, until, .. } = &excepted;
    tracing::info!(target: "leafgate::policy", file, rule, label, until, "a person wrote an exception");
    Ok(answer::json(&excepted))
}

/// Lists those that stand in the files.
pub(super) async fn list(gate: &Shared) -> Answered {
    let exceptions = |files: &dyn PolicyFiles| files.exceptions().map_err(|error| not_written(&error));
    Ok(answer::json(&ExceptionList { exceptions: with_files(gate, exceptions).await? }))
}

/// Writes one that somebody has thought of, and lists all.
pub(super) async fn add(gate: &Shared, command: AddException) -> Answered {
    let AddException { upstream, rules, allows, reason, by, until } = command;
    check_name(&by)?;
    let policy = match &upstream {
        None => gate.policy.load(),
        Some(name) => {
            let own = gate.upstreams.by_name(name).and_then(|lane| Some(lane.own.as_ref()?.load()));
            own.ok_or_else(|| {
                CallFailure::new(ErrorCode::NotFound, "no upstream of this name has its own policy")
            })?
        }
    };
    let exception = NewException {
        rules,
        allowed: allowed(gate, &policy, allows)?,
        reason: checked_reason(&reason, &policy, &gate.unnamed_vault())?,
        by,
        until: last_day_of(until.as_deref())?,
    };
    let write = move |files: &dyn PolicyFiles| files.except(upstream.as_deref(), &exception, None);
    let file = with_files(gate, move |files| write(files).map_err(|error| not_written(&error))).await?;
    tracing::info!(target: "leafgate::policy", file, "a person wrote an exception");
    list(gate).await
}

/// Takes one out of its file, and lists the others.
pub(super) async fn remove(gate: &Shared, id: &str) -> Answered {
    let name = id.to_owned();
    with_files(gate, move |files| files.remove(&name).map_err(|error| not_written(&error))).await?;
    tracing::info!(target: "leafgate::policy", id, "a person removed an exception");
    list(gate).await
}

/// Does something with the policy folders, and to its end, even where the caller goes away.
async fn with_files<R: Send + 'static>(
    gate: &Shared,
    work: impl FnOnce(&dyn PolicyFiles) -> Result<R, CallFailure> + Send + 'static,
) -> Result<R, CallFailure> {
    let Some(files) = gate.policy_files.get().cloned() else {
        return Err(refused("this gate was given no policy folder that it may write into"));
    };
    let done = tokio::task::spawn_blocking(move || work(&*files)).await;
    done.map_err(|_| CallFailure::new(ErrorCode::Internal, "the gate failed at this exception"))?
}

/// Returns what may leave. A value that somebody named as secret may not, by whatever name.
fn allowed(gate: &Shared, policy: &Policy, allows: ExceptedFinding) -> Result<Allows, CallFailure> {
    match allows {
        ExceptedFinding::Value(value) if policy.is_known(&value) => Err(known()),
        ExceptedFinding::Value(value) => Ok(Allows::Values(vec![value])),
        ExceptedFinding::Pattern(pattern) => Ok(Allows::Pattern(pattern)),
        ExceptedFinding::Token(token) => match gate.sessions.recall(&token) {
            Recalled::Unknown => Err(foreign_token()),
            Recalled::Value { value, .. } if policy.is_known(&value) => Err(known()),
            _ => Ok(Allows::Findings(vec![token])),
        },
    }
}

fn known() -> CallFailure {
    refused("you named this value as secret, and an exception would let it leave")
        .hint("`leafgate known` takes it back")
}

fn last_day_of(until: Option<&str>) -> Result<String, CallFailure> {
    last_day(until.unwrap_or(UNTIL), SystemTime::now())
        .map_err(|error| CallFailure::new(ErrorCode::Malformed, error.to_string()))
}

fn write(
    files: &dyn PolicyFiles,
    snapshot: &Snapshot,
    upstream: Option<&str>,
    command: &Except,
) -> Result<Excepted, CallFailure> {
    let (draft, guard) = (&snapshot.draft, &snapshot.guard);
    let none = || {
        CallFailure::new(ErrorCode::NotFound, "there is no such redaction in this turn")
            .hint("`redaction` of a redacted stretch is its number")
    };
    let made = draft.redaction(command.redaction).ok_or_else(none)?;
    let Some(rule) = made.author.of_rule() else {
        return Err(refused("no rule made this redaction"));
    };
    let Some(value) = draft.received_value(made) else {
        return Err(refused("it was made in a text that was written, so no value was received here"));
    };
    if guard.policy.is_known(value.expose()) {
        return Err(known());
    }
    let still = RefCell::new(None);
    let works = |policy: &Policy| {
        let after = guard.evaluate_by(policy, draft);
        let again = after.draft.redactions().find(|again| takes_away(again, made));
        *still.borrow_mut() = again.map(|again| again.author.clone());
        again.is_none_or(|again| again.author != made.author)
    };
    // A person is told what stands in the way before they say why and until when.
    files.check(upstream, &works).map_err(|error| not_written(&error))?;
    let until = last_day_of(command.until.as_deref())?;
    let reason = checked_reason(&command.reason, &guard.policy, &guard.vault)?;
    let token = guard.vault.keys().token(&made.label, value.expose()).as_str().to_owned();
    let exception = NewException {
        rules: vec![rule.to_string()],
        allowed: Allows::Findings(vec![token]),
        reason,
        by: command.by.clone(),
        until: until.clone(),
    };
    let file = files.except(upstream, &exception, Some(&works)).map_err(|error| not_written(&error))?;
    Ok(Excepted {
        file,
        rule: rule.to_string(),
        label: made.label.to_string(),
        until,
        still: still.into_inner().map(|author| author.to_string()),
    })
}

/// Whether a redaction takes away anything of what another one did.
fn takes_away(again: &RedactionRecord, made: &RedactionRecord) -> bool {
    let (Some(again_at), Some(at)) = (&again.received, &made.received) else { return false };
    again.node == made.node && again_at.start < at.end && at.start < again_at.end
}

/// Returns the reason as it is written. A person may type the very value: a text in which a rule finds
/// something is written nowhere.
fn checked_reason(typed: &str, policy: &Policy, vault: &Vault) -> Result<String, CallFailure> {
    let typed = typed.trim();
    let fits = (1..=MOST_REASON).contains(&typed.chars().count()) && !typed.chars().any(char::is_control);
    if !fits {
        let message = "`reason` is no line that a file can hold";
        return Err(CallFailure::new(ErrorCode::Malformed, message)
            .hint(format!("say in 1 to {MOST_REASON} characters why the value may leave")));
    }
    if policy.masked_text(typed, vault).is_none_or(|masked| masked != typed) {
        return Err(refused("a rule finds something in the reason, which would be written into a file")
            .hint("say why without the value"));
    }
    Ok(typed.to_owned())
}

fn refused(message: &str) -> CallFailure {
    CallFailure::new(ErrorCode::NotExceptable, message)
}

fn not_written(error: &NotExcepted) -> CallFailure {
    match error {
        NotExcepted::BuiltIn | NotExcepted::Already | NotExcepted::Idle => refused(&error.to_string()),
        NotExcepted::Unknown => CallFailure::new(ErrorCode::NotFound, error.to_string()),
        NotExcepted::Failed(_) => CallFailure::new(ErrorCode::NotExceptable, error.to_string())
            .hint("`leafgate check` says what is wrong with the policy on disk"),
    }
}
