//! The calls about saved edits. They wait for the disk, and a capture evaluates a request, so each
//! is done on the blocking pool, and to its end even where the caller goes away.

use std::io;
use std::sync::Arc;

use leafgate_admin::{ArmCapture, CaptureTurn, CapturedEdits, ClearSaved, ErrorCode, SavedScope, SetSaved};
use leafgate_desk::TurnId;

use super::answer::{self, Answered, CallFailure};
use crate::pending::{Snapshot, Turns};
use crate::saved::PREVIEW_LIMITS;
use crate::shared::Shared;

async fn blocking<R: Send + 'static>(
    gate: &Shared,
    work: impl FnOnce(&Turns) -> R + Send + 'static,
) -> Result<R, CallFailure> {
    let turns = Arc::clone(&gate.turns);
    let done = tokio::task::spawn_blocking(move || work(&turns)).await;
    done.map_err(|_| CallFailure::new(ErrorCode::Internal, "the gate failed at these saved edits"))
}

pub(super) async fn list(gate: &Shared) -> Answered {
    Ok(answer::json(&blocking(gate, Turns::saved_list).await?))
}

pub(super) async fn show(gate: &Shared, id: &str) -> Answered {
    let id = id.to_owned();
    let named = blocking(gate, move |turns| {
        turns.look_at_saved();
        turns.saved.named(&id)
    });
    Ok(answer::json(named.await?.first().ok_or_else(unknown)?))
}

pub(super) async fn diff(gate: &Shared, id: &str) -> Answered {
    let id = id.to_owned();
    let diff = blocking(gate, move |turns| {
        turns.look_at_saved();
        turns.saved.diff(&id)
    });
    Ok(answer::json(&diff.await?.ok_or_else(unknown)?))
}

pub(super) async fn remove(gate: &Shared, id: &str) -> Answered {
    let id = id.to_owned();
    let (removed, rest) =
        blocking(gate, move |turns| (turns.change_saved(|saved| saved.remove(&id)), turns.saved.named(&id)))
            .await?;
    let removed = removed.map_err(unkept)?;
    if rest.iter().any(|edit| edit.scope == SavedScope::Project) {
        let message = "this saved edit stands in the project's own file, which the gate never writes";
        return Err(CallFailure::new(ErrorCode::RefusedEdit, message)
            .hint("change the file, or run `leafgate trust --remove` for its folder"));
    }
    if removed { list(gate).await } else { Err(unknown()) }
}

pub(super) async fn arm(gate: &Shared, ArmCapture {}: ArmCapture) -> Answered {
    gate.turns.event(|desk, _| desk.capture())?;
    list(gate).await
}

pub(super) async fn clear(gate: &Shared, ClearSaved { scope }: ClearSaved) -> Answered {
    writable(scope)?;
    blocking(gate, move |turns| turns.clear_saved(scope)).await?.map_err(unkept)?;
    list(gate).await
}

pub(super) async fn set(gate: &Shared, command: SetSaved) -> Answered {
    writable(command.scope)?;
    if command.preview_limit.is_some_and(|limit| !PREVIEW_LIMITS.contains(&limit)) {
        let (least, most) = (PREVIEW_LIMITS.start(), PREVIEW_LIMITS.end());
        let message = format!("`previewLimit` is a number from {least} to {most}");
        return Err(CallFailure::new(ErrorCode::Malformed, message));
    }
    let set = move |turns: &Turns| turns.change_saved(|saved| saved.set(command));
    blocking(gate, set).await?.map_err(unkept)?;
    list(gate).await
}

/// Saves the edits of a turn that goes on waiting.
pub(super) async fn capture(gate: &Shared, turn: TurnId, command: CaptureTurn) -> Answered {
    writable(command.scope)?;
    let case = gate.turns.snapshot(turn)?;
    if command.export {
        return export(gate, case, command).await;
    }
    let CaptureTurn { scope, on_drift, .. } = command;
    let captured = blocking(gate, move |turns| turns.capture(&case, scope, on_drift)).await?;
    match captured.not_saved {
        Some(why) => Err(not_kept(&why)),
        None => shown(&captured),
    }
}

/// Answers with a file of the edits of a turn.
async fn export(gate: &Shared, case: Snapshot, command: CaptureTurn) -> Answered {
    if command.scope.is_some() {
        return Err(CallFailure::new(
            ErrorCode::Malformed,
            "an export is saved nowhere, so it takes no scope",
        ));
    }
    let exported = blocking(gate, move |turns| turns.export(&case, command.on_drift)).await?;
    shown(&exported.map_err(unkept)?)
}

fn shown(captured: &CapturedEdits) -> Answered {
    if captured.edits.is_empty() && captured.left_out.is_empty() {
        return Err(CallFailure::new(ErrorCode::Nothing, "no edit of a person stands in this turn")
            .hint("edit the turn first"));
    }
    Ok(answer::json(captured))
}

/// Saves the edits of a turn that has left.
pub(super) async fn captured(gate: &Shared, case: Snapshot) -> Result<CapturedEdits, CallFailure> {
    blocking(gate, move |turns| {
        let captured = turns.capture(&case, None, None);
        turns.event(|desk, _| desk.captured());
        captured
    })
    .await
}

fn writable(scope: Option<SavedScope>) -> Result<(), CallFailure> {
    match scope {
        Some(SavedScope::Project) => {
            let message = "the gate never writes the file of a project";
            Err(CallFailure::new(ErrorCode::RefusedEdit, message)
                .hint("save for the session, the workspace or globally"))
        }
        Some(SavedScope::Session | SavedScope::Workspace | SavedScope::Global) | None => Ok(()),
    }
}

fn unknown() -> CallFailure {
    CallFailure::new(ErrorCode::NotFound, "there is no such saved edit").hint("list the saved edits")
}

fn unkept(error: io::Error) -> CallFailure {
    not_kept(&error.to_string())
}

fn not_kept(why: &str) -> CallFailure {
    CallFailure::new(ErrorCode::Internal, format!("nothing was changed: {why}"))
}
