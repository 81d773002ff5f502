//! The calls of the admin API, blocking, for the prompt and the commands.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use leafgate_admin::{
    AdminCall, AdminCommand, AdminView, ApiError, ArmCapture, Cancel, CaptureTurn, CapturedEdits, Diff,
    EditCommand, EditableRequest, ErrorCode, Except, Excepted, Follow, ModeView, Payload, Pending, Pins,
    Resume, Resumed, RuntimeFile, SavedList, SavedScope, Select, SessionList, SetMode, Status, Subagents,
    TurnMode, TurnSummary, TurnView,
};
use leafgate_review::{AdminApi, ExceptionDraft, TurnMetadata};
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::http::{Endpoint, unexpected, waiting_runtime};

/// Longest time of a call. An edit redacts a body of megabytes, its plugins included.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Characters of a user's name in the log.
const MOST_NAME: usize = 40;

/// A client of one gate.
pub(crate) struct AdminClient {
    endpoint: Endpoint,
    runtime: Runtime,
    /// The one turn that the prompt lists.
    only: Option<String>,
}

impl AdminClient {
    /// Creates a client of the gate that wrote this file. It makes no call yet.
    pub(crate) fn new(gate: &RuntimeFile) -> anyhow::Result<Self> {
        Ok(AdminClient { endpoint: Endpoint::new(gate)?, runtime: waiting_runtime()?, only: None })
    }

    /// Leaves all turns but one out of what waits, if there is one.
    pub(crate) fn only(self, turn: Option<String>) -> Self {
        AdminClient { only: turn, ..self }
    }

    /// Returns the state of the gate.
    pub(crate) fn status(&self) -> Result<Status, ApiError> {
        self.view("")
    }

    /// Returns what a call without a body shows; `id` counts where its path has one.
    pub(crate) fn view<V: AdminView>(&self, id: &str) -> Result<V, ApiError> {
        self.call(V::CALL, id, None)
    }

    /// Has the gate do something.
    pub(crate) fn command<C: AdminCommand>(&self, id: &str, command: &C) -> Result<C::Answer, ApiError> {
        let body = serde_json::to_vec(command).expect("the words of the admin API always serialise");
        self.call(C::CALL, id, Some(body.into()))
    }

    /// Removes a saved edit.
    pub(crate) fn remove_saved(&self, id: &str) -> Result<SavedList, ApiError> {
        self.call(AdminCall::RemoveSaved, id, None)
    }

    /// Closes a conversation.
    pub(crate) fn close(&self, session: &str) -> Result<SessionList, ApiError> {
        self.call(AdminCall::Dispose, session, None)
    }

    fn call<A: DeserializeOwned>(
        &self,
        call: AdminCall,
        id: &str,
        body: Option<Bytes>,
    ) -> Result<A, ApiError> {
        let path = call.path_of(id).ok_or_else(|| no_id(call))?;
        let method: Method = call.method().parse().expect("every call has a method of HTTP");
        let exchange = async {
            let answer = self.endpoint.call(method, &path, body).await?;
            let answer =
                answer.into_body().collect().await.map_err(|cause| self.endpoint.unreachable(cause))?;
            // The answer may hold text of a request: the error names the column and quotes nothing.
            serde_json::from_slice(&answer.to_bytes()).map_err(|error| {
                unexpected(format!("the gate's answer is not understood at column {}", error.column()))
            })
        };
        let in_time = async { timeout(TIMEOUT, exchange).await };
        let late =
            |_| self.endpoint.unreachable(format_args!("nothing came for {} seconds", TIMEOUT.as_secs()));
        self.runtime.block_on(in_time).map_err(late)?
    }
}

impl AdminApi for AdminClient {
    fn pending(&mut self) -> Result<Vec<TurnSummary>, ApiError> {
        let Pending { mut turns } = self.view("")?;
        turns.retain(|turn| self.only.as_ref().is_none_or(|only| turn.id == *only));
        Ok(turns)
    }

    fn turn(&mut self, id: &str) -> Result<TurnView, ApiError> {
        self.view(id)
    }

    fn diff(&mut self, id: &str) -> Result<Diff, ApiError> {
        self.view(id)
    }

    fn edit(&mut self, id: &str, command: EditCommand) -> Result<TurnView, ApiError> {
        self.command(id, &command)
    }

    fn except(&mut self, id: &str, exception: ExceptionDraft) -> Result<Excepted, ApiError> {
        let ExceptionDraft { redaction, reason, until } = exception;
        self.command(id, &Except { redaction, reason, by: caller(), until: Some(until) })
    }

    fn resume(&mut self, id: &str, digest: &str) -> Result<Resumed, ApiError> {
        self.command(id, &Resume { digest: digest.to_owned() })
    }

    fn cancel(&mut self, id: &str) -> Result<TurnSummary, ApiError> {
        self.command(id, &Cancel {})
    }

    fn payload(&mut self, id: &str) -> Result<Payload, ApiError> {
        self.view(id)
    }

    fn metadata(&mut self, id: &str) -> Result<TurnMetadata, ApiError> {
        self.view::<EditableRequest>(id).map(TurnMetadata::from)
    }

    fn save(&mut self, id: &str, scope: SavedScope) -> Result<CapturedEdits, ApiError> {
        self.command(id, &CaptureTurn { scope: Some(scope), ..CaptureTurn::default() })
    }

    fn capture_next(&mut self) -> Result<SavedList, ApiError> {
        self.command("", &ArmCapture {})
    }

    fn subagents(&mut self) -> Result<Subagents, ApiError> {
        self.view("")
    }

    fn pin(&mut self, id: &str, sections: Vec<String>) -> Result<TurnView, ApiError> {
        self.command(id, &Pins { sections })
    }

    fn mode(&mut self) -> Result<ModeView, ApiError> {
        self.view("")
    }

    fn set_mode(&mut self, mode: TurnMode) -> Result<ModeView, ApiError> {
        self.command("", &SetMode { mode })
    }

    fn sessions(&mut self) -> Result<SessionList, ApiError> {
        self.view("")
    }

    fn select(&mut self, session: &str) -> Result<SessionList, ApiError> {
        self.command(session, &Select {})
    }

    fn follow(&mut self, follow: bool) -> Result<SessionList, ApiError> {
        self.command("", &Follow { follow })
    }
}

/// Why a call is not made: its id could mean another path, and no gate gives such a one.
fn no_id(call: AdminCall) -> ApiError {
    let (of, lists) = match call.path().split('/').nth(2) {
        Some("saved") => ("a saved edit", "`leafgate saved list` shows the ids"),
        Some("plugins") => ("a plugin", "`leafgate status` names those in quarantine"),
        Some("sessions") => ("a conversation", "`leafgate sessions list` shows the ids"),
        _ => ("a turn", "`leafgate pending list` shows the ids"),
    };
    let message = format!("that is not the id of {of}");
    ApiError { code: ErrorCode::NotFound, message, hint: Some(lists.to_owned()) }
}

/// Returns who calls, for the log: the number of the user, which the system knows, and the name that
/// the environment has for it.
pub(crate) fn caller() -> String {
    let uid = rustix::process::getuid().as_raw();
    let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default();
    let name: String = name.chars().filter(char::is_ascii_graphic).take(MOST_NAME).collect();
    match name.is_empty() {
        true => format!("uid {uid}"),
        false => format!("{name} (uid {uid})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_leads_to_no_other_path() {
        assert_eq!(AdminCall::Diff.path_of("12").unwrap(), "/v1/pending/12/diff");
        for id in ["", "..", "1/resume", "1?x", "1 2", "%31", "é"] {
            assert_eq!(AdminCall::Turn.path_of(id), None, "{id}");
        }
    }

    #[test]
    fn a_gate_that_is_gone_says_so() {
        // A taken port that nothing listens on.
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let admin = format!("http://{}", socket.local_addr().unwrap());
        let gate = RuntimeFile {
            pid: 1,
            admin,
            token: "t".repeat(64),
            listen: String::new(),
            ..RuntimeFile::default()
        };
        let error = AdminClient::new(&gate).unwrap().status().unwrap_err();
        assert_eq!(error.code, ErrorCode::Unreachable);
        assert!(!error.message.contains("tttt"), "{}", error.message);
    }
}
