//! What each call does. Which there are stands in [`AdminCall`].

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, request};
use hyper::body::Incoming;
use leafgate_admin::{
    AdminCall, Cancel, EditCommand, ErrorCode, Follow, LogState, MetadataFields, Pending, Pins, Release,
    Resume, Resumed, Select, SetMode, SwitchOff,
};
use leafgate_desk::{CancelReason, Digest, TurnId};
use leafgate_tokenize::Counter;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::answer::{self, Answered, CallFailure};
use super::outline::{self, OutlineQuery};
use super::tokens::{AskedModel, CountedView};
use super::{auth, except, reveal, saved, view, whole};
use crate::lock::lock;
use crate::off::LONGEST;
use crate::pending::Snapshot;
use crate::shared::Shared;
use leafgate_http::{BodyBounds, body};

/// How long a caller waits for the log at most: it reads what is there then.
const WRITTEN: Duration = Duration::from_secs(2);

/// Finds the call that a request makes, and the id in its path.
fn found<'p>(method: &Method, path: &'p str) -> Result<(AdminCall, &'p str), CallFailure> {
    let mut calls = AdminCall::of_path(path);
    if let Some(found) = calls.find(|(call, _)| method.as_str() == call.method) {
        return Ok(found);
    }
    let methods: Vec<_> = AdminCall::of_path(path).map(|(call, _)| call.method).collect();
    if methods.is_empty() {
        return Err(CallFailure::new(ErrorCode::NotFound, "the admin API has no such path"));
    }
    let expected = methods.join(", ");
    let message = format!("this path is asked with {expected}");
    Err(CallFailure::new(ErrorCode::WrongMethod, message).allow(&expected))
}

/// A turn's id is its number, spelled in one way only.
fn turn_id(text: &str) -> Result<TurnId, CallFailure> {
    let number = text.parse().ok().map(TurnId).filter(|id| id.to_string() == text);
    number.ok_or_else(|| {
        CallFailure::new(ErrorCode::NotFound, "there is no such turn: its id is a number")
            .hint("list the pending turns")
    })
}

pub(super) fn bounds(gate: &Shared) -> BodyBounds {
    BodyBounds { size: gate.limits.command, idle: gate.limits.idle, time: gate.limits.body_time }
}

/// Answers a call that passed the checks of [`auth`].
pub(super) async fn answer(gate: &Shared, parts: &request::Parts, body: &mut Incoming) -> Answered {
    let (call, id) = found(&parts.method, parts.uri.path())?;
    // Nothing waits and nothing is kept where nothing is looked at.
    if !gate.enabled && !matches!(call, AdminCall::Status | AdminCall::Events) {
        let off = CallFailure::new(ErrorCode::NotFound, "this gate is switched off: it is a plain proxy");
        return Err(off.hint("set `enabled = true` in its configuration, and start it again"));
    }
    let command = if call.takes_body() {
        auth::check_json(&parts.headers)?;
        body::read(body, bounds(gate)).await?
    } else {
        Bytes::new()
    };
    let answered = carry_out(gate, call, id, parts.uri.query(), &command).await?;
    gate.counters.called(call.name);
    Ok(answered)
}

/// Does what a call asks: one row for each.
async fn carry_out(
    gate: &Shared,
    call: AdminCall,
    id: &str,
    query: Option<&str>,
    command: &[u8],
) -> Answered {
    let turn = || turn_id(id);
    match call {
        AdminCall::Status => Ok(answer::json(&gate.status())),
        AdminCall::Events => Ok(answer::events(gate.hub.listen())),
        AdminCall::Pending => Ok(answer::json(&Pending { turns: gate.turns.list() })),
        AdminCall::Turn => show_counted(gate, turn()?, view::turn).await,
        AdminCall::Request => request(gate, turn()?).await,
        AdminCall::Outline => outline(gate, turn()?, query).await,
        AdminCall::Diff => show(gate, turn()?, |snapshot| view::request_diff(&snapshot.shown())).await,
        AdminCall::Payload => show(gate, turn()?, |snapshot| view::payload(&snapshot)).await,
        AdminCall::Edit => edit(gate, turn()?, read(command)?).await,
        AdminCall::Pin => pin(gate, turn()?, read(command)?).await,
        AdminCall::Preview => preview(gate, turn()?).await,
        AdminCall::Capture => saved::capture(gate, turn()?, read(command)?).await,
        AdminCall::Except => except::except(gate, turn()?, read(command)?).await,
        AdminCall::Resume => resume(gate, turn()?, &read(command)?).await,
        AdminCall::Cancel => cancel(gate, turn()?, read(command)?),
        AdminCall::Mode => Ok(answer::json(&gate.turns.mode())),
        AdminCall::SetMode => set_mode(gate, read(command)?).await,
        AdminCall::SwitchOff => switch_off(gate, read(command)?),
        AdminCall::Fields => {
            Ok(answer::json(&MetadataFields { fields: lock(&gate.metadata_fields).clone() }))
        }
        AdminCall::SetFields => set_fields(gate, read(command)?),
        AdminCall::Saved => saved::list(gate).await,
        AdminCall::SetSaved => saved::set(gate, read(command)?).await,
        AdminCall::ArmCapture => saved::arm(gate, read(command)?).await,
        AdminCall::ClearSaved => saved::clear(gate, read(command)?).await,
        AdminCall::SavedEdit => saved::show(gate, id).await,
        AdminCall::RemoveSaved => saved::remove(gate, id).await,
        AdminCall::SavedDiff => saved::diff(gate, id).await,
        AdminCall::Exceptions => except::list(gate).await,
        AdminCall::AddException => except::add(gate, read(command)?).await,
        AdminCall::RemoveException => except::remove(gate, id).await,
        AdminCall::Sessions => Ok(answer::json(&gate.turns.sessions())),
        AdminCall::Follow => follow(gate, read(command)?),
        AdminCall::Select => select(gate, id, read(command)?),
        AdminCall::Dispose => dispose(gate, id),
        AdminCall::Subagents => Ok(answer::json(&gate.turns.subagents())),
        AdminCall::Agents => Ok(answer::json(&gate.teams.view())),
        AdminCall::AgentRun => agent_run(gate, id),
        AdminCall::Release => release(gate, id, read(command)?),
        AdminCall::Log => Ok(answer::json(&log(gate).await)),
        AdminCall::Reveal => reveal::reveal(gate, read(command)?).await,
    }
}

/// A view of a turn, made on the blocking pool: a request has megabytes, and other requests pass meanwhile.
async fn show<V: Serialize + Send + 'static>(
    gate: &Shared,
    turn: TurnId,
    view: impl FnOnce(Snapshot) -> V + Send + 'static,
) -> Answered {
    let snapshot = gate.turns.snapshot(turn)?;
    Ok(gate.on_blocking_pool(move || answer::json(&view(snapshot))).await?)
}

/// The same with the tokens counted, which costs more and takes no place from requests.
async fn show_counted<V: CountedView + Serialize + Send + 'static>(
    gate: &Shared,
    turn: TurnId,
    view: impl FnOnce(&Snapshot) -> V + Send + 'static,
) -> Answered {
    let snapshot = gate.turns.snapshot(turn)?;
    let shown = move || (view(&snapshot), AskedModel::of(&snapshot));
    let (mut view, asked) = gate.on_blocking_pool(shown).await?;
    let counted = move |counter: &Counter| {
        view.count(&asked, counter);
        answer::json(&view)
    };
    Ok(gate.counted(counted).await?)
}

/// A turn with its whole request.
async fn request(gate: &Shared, turn: TurnId) -> Answered {
    let fields = lock(&gate.metadata_fields).clone();
    show_counted(gate, turn, |snapshot| whole::request(snapshot, fields)).await
}

/// A part of a turn's tree.
async fn outline(gate: &Shared, turn: TurnId, query: Option<&str>) -> Answered {
    let query = OutlineQuery::parse(query)?;
    let snapshot = gate.turns.snapshot(turn)?;
    let outline = move || outline::outline(&snapshot.shown(), snapshot.version, &query);
    Ok(answer::json(&gate.on_blocking_pool(outline).await??))
}

/// Changes a turn: made aside and redacted there, then put in its place. The answer is the turn after it.
async fn edit(gate: &Shared, turn: TurnId, command: EditCommand) -> Answered {
    let before = gate.turns.draft(turn)?;
    let revision = gate.turns.event(|desk, now| desk.revise(turn, now))?;
    let revised = gate.on_blocking_pool(move || revision.make(&command)).await??;
    gate.turns.event(|desk, now| desk.accept(revised, now))?;
    let typed = gate.turns.draft(turn)?;
    gate.counters.typed(typed.redactions().skip(before.redactions().count()));
    show_counted(gate, turn, view::turn).await
}

/// Pins sections for people. The answer is the turn after it.
async fn pin(gate: &Shared, turn: TurnId, pins: Pins) -> Answered {
    let draft = gate.turns.draft(turn)?;
    let sections = gate.on_blocking_pool(move || view::arrangement(&pins, &draft)).await??;
    gate.turns.event(|desk, _| desk.arrange(turn, &sections))?;
    show_counted(gate, turn, view::turn).await
}

/// What saving a turn's edits would save.
async fn preview(gate: &Shared, turn: TurnId) -> Answered {
    let first = gate.turns.saved.settings().preview_limit;
    show(gate, turn, move |snapshot| view::preview(&snapshot.shown(), first)).await
}

/// Lets a turn go. What waited to be captured is saved once it has left.
async fn resume(gate: &Shared, turn: TurnId, command: &Resume) -> Answered {
    let seen: Digest = command.digest.parse().map_err(|error: leafgate_desk::BadDigest| {
        CallFailure::new(ErrorCode::Malformed, error.to_string())
    })?;
    let capturing = gate.turns.capturing(turn).filter(|case| case.digest == seen);
    let turn = gate.turns.event(|desk, now| {
        desk.resume(turn, &seen, now)?;
        desk.summary(turn, now)
    })?;
    let captured = match capturing {
        Some(case) => Some(saved::captured(gate, case).await?),
        None => None,
    };
    Ok(answer::json(&Resumed { turn, captured }))
}

fn cancel(gate: &Shared, turn: TurnId, Cancel {}: Cancel) -> Answered {
    let cancelled = gate.turns.event(|desk, now| {
        desk.cancel(turn, CancelReason::User, now)?;
        desk.summary(turn, now)
    });
    Ok(answer::json(&cancelled?))
}

/// Chooses a mode. Keeping it waits for the disk, so it is done on the blocking pool, and to its end
/// even where the caller goes away.
async fn set_mode(gate: &Shared, command: SetMode) -> Answered {
    let turns = Arc::clone(&gate.turns);
    let chosen = tokio::task::spawn_blocking(move || turns.choose(command.mode)).await;
    let failed = |_| CallFailure::new(ErrorCode::Internal, "the gate failed at this choice of a mode");
    Ok(answer::json(&chosen.map_err(failed)?))
}

/// Chooses what is shown of requests beside what they say; their configuration says it when the gate begins.
fn set_fields(gate: &Shared, chosen: MetadataFields) -> Answered {
    lock(&gate.metadata_fields).clone_from(&chosen.fields);
    Ok(answer::json(&chosen))
}

/// Has everything pass as it comes for a while, or the policy serve again.
fn switch_off(gate: &Shared, command: SwitchOff) -> Answered {
    if command.seconds > 0 && !gate.may_be_off {
        let forbidden = CallFailure::new(ErrorCode::Forbidden, "this gate may not be switched off");
        return Err(forbidden.hint("its operator set `switch-off = false`"));
    }
    let time = Duration::from_secs(command.seconds.into());
    if time > LONGEST {
        return Err(CallFailure::new(ErrorCode::Malformed, "a gate is switched off for an hour at most"));
    }
    Ok(answer::json(&gate.turns.switch_off(time)))
}

fn follow(gate: &Shared, Follow { follow }: Follow) -> Answered {
    gate.turns.event(|desk, _| desk.follow(follow));
    Ok(answer::json(&gate.turns.sessions()))
}

fn select(gate: &Shared, id: &str, Select {}: Select) -> Answered {
    gate.turns.event(|desk, _| desk.select(id))?;
    Ok(answer::json(&gate.turns.sessions()))
}

fn dispose(gate: &Shared, id: &str) -> Answered {
    gate.turns.event(|desk, now| desk.dispose(id, now))?;
    Ok(answer::json(&gate.turns.sessions()))
}

fn agent_run(gate: &Shared, id: &str) -> Answered {
    let none = || {
        CallFailure::new(ErrorCode::NotFound, "there is no such run")
            .hint("list the runs: the latest 64 are remembered")
    };
    Ok(answer::json(&gate.teams.run(id).ok_or_else(none)?))
}

/// Ends the quarantine of a plugin.
fn release(gate: &Shared, id: &str, Release {}: Release) -> Answered {
    let none = || {
        CallFailure::new(ErrorCode::NotFound, "no policy that serves has such a plugin")
            .hint("`leafgate status` names them")
    };
    Ok(answer::json(&gate.release_plugin(id).ok_or_else(none)?))
}

/// Has the log write what it was told, and waits for that.
async fn log(gate: &Shared) -> LogState {
    let written = match gate.recorder.get().and_then(|recorder| recorder.flush()) {
        Some(written) => timeout(WRITTEN, written).await.is_ok_and(|written| written.is_ok()),
        None => false,
    };
    LogState { written }
}

/// Reads a command. The error says where it is wrong and not what stands there: that may be the text of a leaf.
fn read<C: DeserializeOwned>(command: &[u8]) -> Result<C, CallFailure> {
    serde_json::from_slice(command).map_err(|error| {
        let what = match error.classify() {
            serde_json::error::Category::Data => "does not say what this call takes",
            _ => "is not JSON",
        };
        // A command that is told apart by its tag is read in a second step, which knows no place.
        let place = match error.line() {
            0 => String::new(),
            line => format!(", at line {line}, column {}", error.column()),
        };
        CallFailure::new(ErrorCode::Malformed, format!("the body {what}{place}"))
    })
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    // S0-63, S0-98
    #[test]
    fn every_path_has_one_call_and_one_method() {
        for &call in AdminCall::ALL {
            let path = call.path.replace("{id}", "7");
            let id = if path == call.path { "" } else { "7" };
            assert_eq!(found(&call.method.parse().unwrap(), &path).unwrap(), (call, id));
            let right: Vec<_> = AdminCall::of_path(&path).map(|(call, _)| call.method).collect();
            let all = [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::HEAD];
            for wrong in all.into_iter().filter(|method| !right.contains(&method.as_str())) {
                let failure = found(&wrong, &path).unwrap_err();
                assert_eq!(failure.status(), StatusCode::METHOD_NOT_ALLOWED, "{wrong} {path}");
            }
        }
        for path in ["/", "/v1", "/v2/status", "/v1/status/", "//v1/status", "/v1/pending/7/"] {
            assert_eq!(found(&Method::GET, path).unwrap_err().status(), StatusCode::NOT_FOUND, "{path}");
        }
        for id in ["", "07", "+7", "x", "99999999999999999999"] {
            assert_eq!(turn_id(id).unwrap_err().status(), StatusCode::NOT_FOUND, "{id}");
        }
    }

    #[test]
    fn a_bad_command_is_not_quoted() {
        for (body, words) in [
            (r#"{"action": "set", "pointer": "/a", "text": "quoted", "quoted": 1}"#, "does not say what"),
            (r#"{"action": "quoted"}"#, "does not say what"),
            ("{\n quoted", "is not JSON, at line 2"),
        ] {
            let error = format!("{:?}", read::<EditCommand>(body.as_bytes()).unwrap_err());
            assert!(error.contains(words) && !error.contains("quoted"), "{error}");
        }
    }
}
