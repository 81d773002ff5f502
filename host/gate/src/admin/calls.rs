//! The calls: which path is which, and what each does.
//!
//! Nine fixed routes are one match; a router would be more to read than that.

use bytes::Bytes;
use http::{Method, Response, request};
use hyper::body::Incoming;
use leafgate_admin::{Cancel, EditCommand, ErrorCode, Pending, Resume};
use leafgate_desk::{CancelReason, Digest, TurnId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answer::{self, Failure};
use super::{auth, view};
use crate::body::{self, Bounds};
use crate::content::Content;
use crate::gate::Shared;
use crate::pending::Snapshot;

/// A call, its turn included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AdminCall {
    Status,
    Events,
    Pending,
    Turn(TurnId),
    Diff(TurnId),
    Payload(TurnId),
    Edit(TurnId),
    Resume(TurnId),
    Cancel(TurnId),
}

impl AdminCall {
    fn of(method: &Method, path: &str) -> Result<AdminCall, Failure> {
        let segments: Vec<_> = path.split('/').skip(1).collect();
        let call = match *segments.as_slice() {
            ["v1", "status"] => AdminCall::Status,
            ["v1", "events"] => AdminCall::Events,
            ["v1", "pending"] => AdminCall::Pending,
            ["v1", "pending", turn] => AdminCall::Turn(id(turn)?),
            ["v1", "pending", turn, "diff"] => AdminCall::Diff(id(turn)?),
            ["v1", "pending", turn, "payload"] => AdminCall::Payload(id(turn)?),
            ["v1", "pending", turn, "edit"] => AdminCall::Edit(id(turn)?),
            ["v1", "pending", turn, "resume"] => AdminCall::Resume(id(turn)?),
            ["v1", "pending", turn, "cancel"] => AdminCall::Cancel(id(turn)?),
            _ => {
                return Err(Failure::new(ErrorCode::NotFound, "the admin API has no such path"));
            }
        };
        let expected = if call.writes() { "POST" } else { "GET" };
        if method.as_str() == expected {
            return Ok(call);
        }
        let message = format!("this path is asked with {expected}");
        Err(Failure::new(ErrorCode::WrongMethod, message).allow(expected))
    }

    fn writes(self) -> bool {
        matches!(self, AdminCall::Edit(_) | AdminCall::Resume(_) | AdminCall::Cancel(_))
    }
}

/// A turn's id is its number, spelled in one way only.
fn id(text: &str) -> Result<TurnId, Failure> {
    let number = text.parse().ok().map(TurnId).filter(|id| id.to_string() == text);
    number.ok_or_else(|| {
        Failure::new(ErrorCode::NotFound, "there is no such turn: its id is a number")
            .hint("list the pending turns")
    })
}

pub(super) fn bounds(gate: &Shared) -> Bounds {
    Bounds { size: gate.limits.command, idle: gate.limits.idle, time: gate.limits.body_time }
}

/// Answers a call that passed the checks of [`auth`].
pub(super) async fn answer(
    gate: &Shared,
    parts: &request::Parts,
    body: &mut Incoming,
) -> Result<Response<Content>, Failure> {
    let call = AdminCall::of(&parts.method, parts.uri.path())?;
    let command = if call.writes() {
        auth::check_json(&parts.headers)?;
        body::read(body, bounds(gate)).await?
    } else {
        Bytes::new()
    };
    match call {
        AdminCall::Status => Ok(answer::json(&gate.status())),
        AdminCall::Events => Ok(answer::events(gate.hub.listen())),
        AdminCall::Pending => Ok(answer::json(&Pending { turns: gate.turns.list() })),
        AdminCall::Turn(turn) => show(gate, turn, |snapshot| view::turn(&snapshot)).await,
        AdminCall::Diff(turn) => show(gate, turn, |snapshot| view::diff(&snapshot.draft)).await,
        AdminCall::Payload(turn) => show(gate, turn, |snapshot| view::payload(&snapshot)).await,
        AdminCall::Edit(turn) => edit(gate, turn, read(&command)?).await,
        AdminCall::Resume(turn) => resume(gate, turn, &read(&command)?),
        AdminCall::Cancel(turn) => {
            let Cancel {} = read(&command)?;
            Ok(answer::json(&gate.turns.cancel(turn, CancelReason::User)?))
        }
    }
}

/// A view of a turn, made on the blocking pool: a request has megabytes, and other requests pass meanwhile.
async fn show<V: Serialize + Send + 'static>(
    gate: &Shared,
    turn: TurnId,
    view: impl FnOnce(Snapshot) -> V + Send + 'static,
) -> Result<Response<Content>, Failure> {
    let snapshot = gate.turns.snapshot(turn)?;
    Ok(gate.on_blocking_pool(move || answer::json(&view(snapshot))).await?)
}

/// Changes a turn: made aside and redacted there, then put in its place. The answer is the turn after it.
async fn edit(gate: &Shared, turn: TurnId, command: EditCommand) -> Result<Response<Content>, Failure> {
    let change = view::change(command, &*gate.turns.document(turn)?)?;
    let revision = gate.turns.revise(turn)?;
    let revised = gate.on_blocking_pool(move || revision.make(change)).await??;
    gate.turns.accept(revised)?;
    show(gate, turn, |snapshot| view::turn(&snapshot)).await
}

fn resume(gate: &Shared, turn: TurnId, command: &Resume) -> Result<Response<Content>, Failure> {
    let seen: Digest = command
        .digest
        .parse()
        .map_err(|error: leafgate_desk::BadDigest| Failure::new(ErrorCode::Malformed, error.to_string()))?;
    Ok(answer::json(&gate.turns.resume(turn, &seen)?))
}

/// Reads a command. The error says where it is wrong and not what stands there: that may be the text of a leaf.
fn read<C: DeserializeOwned>(command: &[u8]) -> Result<C, Failure> {
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
        Failure::new(ErrorCode::Malformed, format!("the body {what}{place}"))
    })
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    #[test]
    fn every_path_has_one_call_and_one_method() {
        let turn = TurnId(7);
        for (method, path, call) in [
            (Method::GET, "/v1/status", AdminCall::Status),
            (Method::GET, "/v1/events", AdminCall::Events),
            (Method::GET, "/v1/pending", AdminCall::Pending),
            (Method::GET, "/v1/pending/7", AdminCall::Turn(turn)),
            (Method::GET, "/v1/pending/7/diff", AdminCall::Diff(turn)),
            (Method::GET, "/v1/pending/7/payload", AdminCall::Payload(turn)),
            (Method::POST, "/v1/pending/7/edit", AdminCall::Edit(turn)),
            (Method::POST, "/v1/pending/7/resume", AdminCall::Resume(turn)),
            (Method::POST, "/v1/pending/7/cancel", AdminCall::Cancel(turn)),
        ] {
            assert_eq!(AdminCall::of(&method, path).unwrap(), call);
            let other = if method == Method::GET { Method::POST } else { Method::GET };
            for wrong in [other, Method::OPTIONS, Method::HEAD, Method::DELETE] {
                let failure = AdminCall::of(&wrong, path).unwrap_err();
                assert_eq!(failure.status(), StatusCode::METHOD_NOT_ALLOWED, "{wrong} {path}");
            }
        }
        let unknown = ["/", "/v1", "/v2/status", "/v1/status/", "//v1/status", "/v1/pending/7/"];
        let no_turns =
            ["/v1/pending/07", "/v1/pending/+7", "/v1/pending/x", "/v1/pending/99999999999999999999"];
        for path in unknown.into_iter().chain(no_turns) {
            assert_eq!(
                AdminCall::of(&Method::GET, path).unwrap_err().status(),
                StatusCode::NOT_FOUND,
                "{path}"
            );
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
