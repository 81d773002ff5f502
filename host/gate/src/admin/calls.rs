//! The calls: which path is which, and what each does.
//!
//! Some fixed routes are one match; a router would be more to read than that.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response, request};
use hyper::body::Incoming;
use leafgate_admin::{
    ArmCapture, Cancel, ClearSaved, EditCommand, ErrorCode, Follow, Pending, Pins, Release, Resume, Resumed,
    Select, SetMode, SwitchOff,
};
use leafgate_desk::{CancelReason, Digest, TurnId};
use leafgate_tokenize::Counter;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answer::{self, Failure};
use super::outline::{self, OutlineQuery};
use super::tokens::Counted;
use super::{auth, except, reveal, saved, view, whole};
use crate::body::{self, Bounds};
use crate::content::Content;
use crate::gate::Shared;
use crate::off::LONGEST;
use crate::pending::Snapshot;

/// A call, its turn or session included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AdminCall<'p> {
    Status,
    Events,
    Pending,
    Turn(TurnId),
    Request(TurnId),
    Outline(TurnId),
    Diff(TurnId),
    Payload(TurnId),
    Edit(TurnId),
    Pin(TurnId),
    Except(TurnId),
    Resume(TurnId),
    Cancel(TurnId),
    Preview(TurnId),
    Capture(TurnId),
    Mode,
    SetMode,
    SwitchOff,
    Sessions,
    Follow,
    Select(&'p str),
    Dispose(&'p str),
    Subagents,
    Agents,
    AgentRun(&'p str),
    Release(&'p str),
    Reveal,
    Saved,
    SetSaved,
    ArmCapture,
    ClearSaved,
    SavedEdit(&'p str),
    RemoveSaved(&'p str),
    SavedDiff(&'p str),
}

impl<'p> AdminCall<'p> {
    fn of(method: &Method, path: &'p str) -> Result<AdminCall<'p>, Failure> {
        let segments: Vec<_> = path.split('/').skip(1).collect();
        let call = match *segments.as_slice() {
            ["v1", "status"] => AdminCall::Status,
            ["v1", "events"] => AdminCall::Events,
            ["v1", "pending"] => AdminCall::Pending,
            ["v1", "pending", turn] => AdminCall::Turn(id(turn)?),
            ["v1", "pending", turn, "request"] => AdminCall::Request(id(turn)?),
            ["v1", "pending", turn, "outline"] => AdminCall::Outline(id(turn)?),
            ["v1", "pending", turn, "diff"] => AdminCall::Diff(id(turn)?),
            ["v1", "pending", turn, "payload"] => AdminCall::Payload(id(turn)?),
            ["v1", "pending", turn, "edit"] => AdminCall::Edit(id(turn)?),
            ["v1", "pending", turn, "pins"] => AdminCall::Pin(id(turn)?),
            ["v1", "pending", turn, "except"] => AdminCall::Except(id(turn)?),
            ["v1", "pending", turn, "resume"] => AdminCall::Resume(id(turn)?),
            ["v1", "pending", turn, "cancel"] => AdminCall::Cancel(id(turn)?),
            ["v1", "pending", turn, "capture"] if *method == Method::POST => AdminCall::Capture(id(turn)?),
            ["v1", "pending", turn, "capture"] => AdminCall::Preview(id(turn)?),
            ["v1", "saved"] if *method == Method::PUT => AdminCall::SetSaved,
            ["v1", "saved"] => AdminCall::Saved,
            ["v1", "saved", "capture"] if *method == Method::POST => AdminCall::ArmCapture,
            ["v1", "saved", "clear"] if *method == Method::POST => AdminCall::ClearSaved,
            ["v1", "saved", edit] if *method == Method::DELETE => AdminCall::RemoveSaved(edit),
            ["v1", "saved", edit] => AdminCall::SavedEdit(edit),
            ["v1", "saved", edit, "diff"] => AdminCall::SavedDiff(edit),
            ["v1", "mode"] if *method == Method::PUT => AdminCall::SetMode,
            ["v1", "mode"] => AdminCall::Mode,
            ["v1", "off"] => AdminCall::SwitchOff,
            ["v1", "sessions"] if *method == Method::PUT => AdminCall::Follow,
            ["v1", "sessions"] => AdminCall::Sessions,
            ["v1", "sessions", session] => AdminCall::Dispose(session),
            ["v1", "subagents"] => AdminCall::Subagents,
            ["v1", "agents"] => AdminCall::Agents,
            ["v1", "agents", "runs", run] => AdminCall::AgentRun(run),
            ["v1", "plugins", plugin, "release"] => AdminCall::Release(plugin),
            ["v1", "reveal"] => AdminCall::Reveal,
            ["v1", "sessions", session, "select"] => AdminCall::Select(session),
            _ => {
                return Err(Failure::new(ErrorCode::NotFound, "the admin API has no such path"));
            }
        };
        let expected = call.methods();
        if expected.split(", ").any(|expected| method.as_str() == expected) {
            return Ok(call);
        }
        let message = format!("this path is asked with {expected}");
        Err(Failure::new(ErrorCode::WrongMethod, message).allow(expected))
    }

    /// The methods of its path.
    fn methods(self) -> &'static str {
        match self {
            AdminCall::Status
            | AdminCall::Events
            | AdminCall::Pending
            | AdminCall::Turn(_)
            | AdminCall::Request(_)
            | AdminCall::Outline(_)
            | AdminCall::Diff(_)
            | AdminCall::Payload(_)
            | AdminCall::Subagents
            | AdminCall::Agents
            | AdminCall::AgentRun(_)
            | AdminCall::SavedDiff(_) => "GET",
            AdminCall::Pin(_) | AdminCall::SwitchOff => "PUT",
            AdminCall::Edit(_)
            | AdminCall::Except(_)
            | AdminCall::Resume(_)
            | AdminCall::Cancel(_)
            | AdminCall::Select(_)
            | AdminCall::Release(_)
            | AdminCall::Reveal
            | AdminCall::ArmCapture
            | AdminCall::ClearSaved => "POST",
            AdminCall::Preview(_) | AdminCall::Capture(_) => "GET, POST",
            AdminCall::Mode
            | AdminCall::SetMode
            | AdminCall::Sessions
            | AdminCall::Follow
            | AdminCall::Saved
            | AdminCall::SetSaved => "GET, PUT",
            AdminCall::SavedEdit(_) | AdminCall::RemoveSaved(_) => "GET, DELETE",
            AdminCall::Dispose(_) => "DELETE",
        }
    }

    /// Its name in metrics.
    fn name(self) -> &'static str {
        match self {
            AdminCall::Status => "status",
            AdminCall::Events => "events",
            AdminCall::Release(_) => "release_plugin",
            AdminCall::Reveal => "reveal",
            AdminCall::Pending => "pending",
            AdminCall::Turn(_) => "turn",
            AdminCall::Request(_) => "request",
            AdminCall::Outline(_) => "outline",
            AdminCall::Diff(_) => "diff",
            AdminCall::Payload(_) => "payload",
            AdminCall::Edit(_) => "edit",
            AdminCall::Pin(_) => "pin",
            AdminCall::Except(_) => "except",
            AdminCall::Resume(_) => "resume",
            AdminCall::Cancel(_) => "cancel",
            AdminCall::Preview(_) => "preview",
            AdminCall::Capture(_) => "capture",
            AdminCall::Mode => "mode",
            AdminCall::SetMode => "set_mode",
            AdminCall::SwitchOff => "switch_off",
            AdminCall::Sessions => "sessions",
            AdminCall::Follow => "follow",
            AdminCall::Select(_) => "select",
            AdminCall::Dispose(_) => "close_session",
            AdminCall::Subagents => "subagents",
            AdminCall::Agents => "agents",
            AdminCall::AgentRun(_) => "agent_run",
            AdminCall::Saved => "saved",
            AdminCall::SetSaved => "set_saved",
            AdminCall::ArmCapture => "arm_capture",
            AdminCall::ClearSaved => "clear_saved",
            AdminCall::SavedEdit(_) => "saved_edit",
            AdminCall::RemoveSaved(_) => "remove_saved",
            AdminCall::SavedDiff(_) => "saved_diff",
        }
    }

    /// Whether it has a body. No form of a web page can send one of JSON, nor DELETE.
    fn writes(self) -> bool {
        matches!(
            self,
            AdminCall::Edit(_)
                | AdminCall::Pin(_)
                | AdminCall::Except(_)
                | AdminCall::Resume(_)
                | AdminCall::Cancel(_)
                | AdminCall::SetMode
                | AdminCall::SwitchOff
                | AdminCall::Follow
                | AdminCall::Select(_)
                | AdminCall::Release(_)
                | AdminCall::Reveal
                | AdminCall::Capture(_)
                | AdminCall::SetSaved
                | AdminCall::ArmCapture
                | AdminCall::ClearSaved
        )
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
    let answered = carry_out(gate, call, parts, body).await?;
    gate.metrics.called(call.name());
    Ok(answered)
}

async fn carry_out(
    gate: &Shared,
    call: AdminCall<'_>,
    parts: &request::Parts,
    body: &mut Incoming,
) -> Result<Response<Content>, Failure> {
    // Nothing waits and nothing is kept where nothing is looked at.
    if !gate.enabled && !matches!(call, AdminCall::Status | AdminCall::Events) {
        let off = Failure::new(ErrorCode::NotFound, "this gate is switched off: it is a plain proxy");
        return Err(off.hint("set `enabled = true` in its configuration, and start it again"));
    }
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
        AdminCall::Turn(turn) => show_counted(gate, turn, |snapshot| view::turn(&snapshot)).await,
        AdminCall::Request(turn) => {
            let fields = gate.metadata_fields.clone();
            show_counted(gate, turn, |snapshot| whole::request(&snapshot, fields)).await
        }
        AdminCall::Outline(turn) => {
            let query = OutlineQuery::parse(parts.uri.query())?;
            let snapshot = gate.turns.snapshot(turn)?;
            let outline = move || outline::outline(&snapshot.shown(), snapshot.version, &query);
            Ok(answer::json(&gate.on_blocking_pool(outline).await??))
        }
        AdminCall::Diff(turn) => show(gate, turn, |snapshot| view::diff(&snapshot.shown())).await,
        AdminCall::Payload(turn) => show(gate, turn, |snapshot| view::payload(&snapshot)).await,
        AdminCall::Edit(turn) => edit(gate, turn, read(&command)?).await,
        AdminCall::Pin(turn) => pin(gate, turn, read(&command)?).await,
        AdminCall::Except(turn) => except::except(gate, turn, read(&command)?).await,
        AdminCall::Resume(turn) => resume(gate, turn, &read(&command)?).await,
        AdminCall::Cancel(turn) => {
            let Cancel {} = read(&command)?;
            Ok(answer::json(&gate.turns.cancel(turn, CancelReason::User)?))
        }
        AdminCall::Preview(turn) => {
            let first = gate.turns.preview_limit();
            show(gate, turn, move |snapshot| view::preview(&snapshot.shown(), first)).await
        }
        AdminCall::Capture(turn) => saved::capture(gate, turn, read(&command)?).await,
        AdminCall::Saved => saved::list(gate).await,
        AdminCall::SetSaved => saved::set(gate, read(&command)?).await,
        AdminCall::ArmCapture => {
            let ArmCapture {} = read(&command)?;
            gate.turns.arm_capture()?;
            saved::list(gate).await
        }
        AdminCall::ClearSaved => {
            let ClearSaved { scope } = read(&command)?;
            saved::clear(gate, scope).await
        }
        AdminCall::SavedEdit(edit) => saved::show(gate, edit).await,
        AdminCall::RemoveSaved(edit) => saved::remove(gate, edit).await,
        AdminCall::SavedDiff(edit) => saved::diff(gate, edit).await,
        AdminCall::Mode => Ok(answer::json(&gate.turns.mode())),
        AdminCall::SetMode => set_mode(gate, read(&command)?).await,
        AdminCall::SwitchOff => switch_off(gate, read(&command)?),
        AdminCall::Sessions => Ok(answer::json(&gate.turns.sessions())),
        AdminCall::Follow => {
            let Follow { follow } = read(&command)?;
            Ok(answer::json(&gate.turns.follow(follow)))
        }
        AdminCall::Select(session) => {
            let Select {} = read(&command)?;
            Ok(answer::json(&gate.turns.select(session)?))
        }
        AdminCall::Dispose(session) => Ok(answer::json(&gate.turns.dispose(session)?)),
        AdminCall::Subagents => Ok(answer::json(&gate.turns.subagents())),
        AdminCall::Agents => Ok(answer::json(&gate.teams.view())),
        AdminCall::AgentRun(run) => match gate.teams.run(run) {
            Some(run) => Ok(answer::json(&run)),
            None => Err(Failure::new(ErrorCode::NotFound, "there is no such run")
                .hint("list the runs: the latest 64 are remembered")),
        },
        AdminCall::Release(plugin) => {
            let Release {} = read(&command)?;
            match gate.release_plugin(plugin) {
                Some(released) => Ok(answer::json(&released)),
                None => Err(Failure::new(ErrorCode::NotFound, "no policy that serves has such a plugin")
                    .hint("`leafgate status` names them")),
            }
        }
        AdminCall::Reveal => reveal::reveal(gate, read(&command)?).await,
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

/// The same with the tokens counted, which costs more and takes no place from requests.
async fn show_counted<V: Counted + Serialize + Send + 'static>(
    gate: &Shared,
    turn: TurnId,
    view: impl FnOnce(Snapshot) -> V + Send + 'static,
) -> Result<Response<Content>, Failure> {
    let snapshot = gate.turns.snapshot(turn)?;
    let mut view = gate.on_blocking_pool(move || view(snapshot)).await?;
    let counted = move |counter: &Counter| {
        view.count(counter);
        answer::json(&view)
    };
    Ok(gate.counted(counted).await?)
}

/// Changes a turn: made aside and redacted there, then put in its place. The answer is the turn after it.
async fn edit(gate: &Shared, turn: TurnId, command: EditCommand) -> Result<Response<Content>, Failure> {
    let change = view::change(command, &*gate.turns.draft(turn)?)?;
    let revision = gate.turns.revise(turn)?;
    let revised = gate.on_blocking_pool(move || revision.make(change)).await??;
    gate.turns.accept(revised)?;
    show_counted(gate, turn, |snapshot| view::turn(&snapshot)).await
}

/// Pins sections for people. The answer is the turn after it.
async fn pin(gate: &Shared, turn: TurnId, pins: Pins) -> Result<Response<Content>, Failure> {
    let draft = gate.turns.draft(turn)?;
    let sections = gate.on_blocking_pool(move || view::arrangement(&pins, &draft)).await??;
    gate.turns.arrange(turn, &sections)?;
    show_counted(gate, turn, |snapshot| view::turn(&snapshot)).await
}

/// Lets a turn go. What waited to be captured is saved once it has left.
async fn resume(gate: &Shared, turn: TurnId, command: &Resume) -> Result<Response<Content>, Failure> {
    let seen: Digest = command
        .digest
        .parse()
        .map_err(|error: leafgate_desk::BadDigest| Failure::new(ErrorCode::Malformed, error.to_string()))?;
    let capturing = gate.turns.capturing(turn).filter(|case| case.digest == seen);
    let turn = gate.turns.resume(turn, &seen)?;
    let captured = match capturing {
        Some(case) => Some(saved::captured(gate, case).await?),
        None => None,
    };
    Ok(answer::json(&Resumed { turn, captured }))
}

/// Chooses a mode. Keeping it waits for the disk, so it is done on the blocking pool, and to its end
/// even where the caller goes away.
async fn set_mode(gate: &Shared, command: SetMode) -> Result<Response<Content>, Failure> {
    let turns = Arc::clone(&gate.turns);
    let chosen = tokio::task::spawn_blocking(move || turns.choose(command.mode)).await;
    let failed = |_| Failure::new(ErrorCode::Internal, "the gate failed at this choice of a mode");
    Ok(answer::json(&chosen.map_err(failed)?))
}

/// Has everything pass as it comes for a while, or the policy serve again.
fn switch_off(gate: &Shared, command: SwitchOff) -> Result<Response<Content>, Failure> {
    if command.seconds > 0 && !gate.may_be_off {
        let forbidden = Failure::new(ErrorCode::Forbidden, "this gate may not be switched off");
        return Err(forbidden.hint("its operator set `switch-off = false`"));
    }
    let time = Duration::from_secs(command.seconds.into());
    if time > LONGEST {
        return Err(Failure::new(ErrorCode::Malformed, "a gate is switched off for an hour at most"));
    }
    Ok(answer::json(&gate.turns.switch_off(time)))
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

    const TURN: TurnId = TurnId(7);

    const ROUTES: [(Method, &str, AdminCall<'static>); 27] = [
        (Method::GET, "/v1/status", AdminCall::Status),
        (Method::GET, "/v1/events", AdminCall::Events),
        (Method::GET, "/v1/pending", AdminCall::Pending),
        (Method::GET, "/v1/pending/7", AdminCall::Turn(TURN)),
        (Method::GET, "/v1/pending/7/request", AdminCall::Request(TURN)),
        (Method::GET, "/v1/pending/7/outline", AdminCall::Outline(TURN)),
        (Method::GET, "/v1/pending/7/diff", AdminCall::Diff(TURN)),
        (Method::GET, "/v1/pending/7/payload", AdminCall::Payload(TURN)),
        (Method::POST, "/v1/pending/7/edit", AdminCall::Edit(TURN)),
        (Method::PUT, "/v1/pending/7/pins", AdminCall::Pin(TURN)),
        (Method::POST, "/v1/pending/7/resume", AdminCall::Resume(TURN)),
        (Method::POST, "/v1/pending/7/cancel", AdminCall::Cancel(TURN)),
        (Method::GET, "/v1/mode", AdminCall::Mode),
        (Method::PUT, "/v1/mode", AdminCall::SetMode),
        (Method::GET, "/v1/sessions", AdminCall::Sessions),
        (Method::PUT, "/v1/sessions", AdminCall::Follow),
        (Method::POST, "/v1/sessions/S_1/select", AdminCall::Select("S_1")),
        (Method::DELETE, "/v1/sessions/S_1", AdminCall::Dispose("S_1")),
        (Method::GET, "/v1/subagents", AdminCall::Subagents),
        (Method::GET, "/v1/pending/7/capture", AdminCall::Preview(TURN)),
        (Method::POST, "/v1/pending/7/capture", AdminCall::Capture(TURN)),
        (Method::GET, "/v1/saved", AdminCall::Saved),
        (Method::PUT, "/v1/saved", AdminCall::SetSaved),
        (Method::GET, "/v1/saved/7", AdminCall::SavedEdit("7")),
        (Method::DELETE, "/v1/saved/7", AdminCall::RemoveSaved("7")),
        (Method::GET, "/v1/saved/7/diff", AdminCall::SavedDiff("7")),
        (Method::POST, "/v1/reveal", AdminCall::Reveal),
    ];

    // S0-63, S0-98
    #[test]
    fn every_path_has_one_call_and_one_method() {
        for (method, path, call) in ROUTES {
            assert_eq!(AdminCall::of(&method, path).unwrap(), call);
            let all = [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::HEAD];
            let right = call.methods();
            for wrong in all.into_iter().filter(|method| !right.split(", ").any(|right| method == right)) {
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
    fn the_schema_names_the_calls_that_are_served_and_no_others() {
        for call in leafgate_admin::schema::CALLS {
            let method = call.method.parse().unwrap();
            // An id of a turn is a number, and so may be that of a session.
            let path = call.path.replace("{id}", "7");
            assert!(AdminCall::of(&method, &path).is_ok(), "{method} {path}");
        }
        let named = |method: &Method, path: &str| {
            let mut calls = leafgate_admin::schema::CALLS.iter();
            let same = |call: &&leafgate_admin::schema::Call| {
                let path = path.replace("/7", "/{id}").replace("S_1", "{id}");
                call.method == method.as_str() && call.path == path
            };
            calls.any(|call| same(&call))
        };
        for (method, path, _) in ROUTES {
            assert!(named(&method, path), "{method} {path} has no line in the schema");
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
