//! The calls of the admin API, blocking, for the prompt and the commands.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use leafgate_admin::{
    ApiError, ArmCapture, Cancel, CaptureTurn, CapturedEdits, ClearSaved, Diff, EditCommand, EditableRequest,
    ErrorCode, Except, Excepted, Follow, ModeView, Payload, Pending, Pins, Release, Released, Resume,
    Resumed, Reveal, Revealed, RuntimeFile, SavedDiff, SavedEditView, SavedList, SavedScope, Select,
    SessionList, SetMode, SetSaved, Status, Subagents, SwitchOff, TurnMode, TurnSummary, TurnView,
};
use leafgate_review::{AdminApi, ExceptionDraft, TurnMetadata};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::reveal::caller;

use super::http::{Endpoint, unexpected, waiting_runtime};

/// Longest time of a call. An edit redacts a body of megabytes, its plugins included.
const TIMEOUT: Duration = Duration::from_secs(60);

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
        self.get("/v1/status")
    }

    /// Returns a turn with its whole request.
    pub(crate) fn request(&self, turn: &str) -> Result<EditableRequest, ApiError> {
        self.get(&path(turn, "/request")?)
    }

    /// Closes a conversation.
    pub(crate) fn close(&self, session: &str) -> Result<SessionList, ApiError> {
        self.call(Method::DELETE, &format!("/v1/sessions/{session}"), None)
    }

    /// All saved edits.
    pub(crate) fn saved(&self) -> Result<SavedList, ApiError> {
        self.get("/v1/saved")
    }

    /// Chooses how edits are saved.
    pub(crate) fn set_saved(&self, command: &SetSaved) -> Result<SavedList, ApiError> {
        self.send(Method::PUT, "/v1/saved", command)
    }

    /// Has the next turn pause, so that its edits are saved.
    pub(crate) fn arm_capture(&self) -> Result<SavedList, ApiError> {
        self.post("/v1/saved/capture", &ArmCapture {})
    }

    /// Removes all saved edits of a scope.
    pub(crate) fn clear_saved(&self, command: &ClearSaved) -> Result<SavedList, ApiError> {
        self.post("/v1/saved/clear", command)
    }

    /// Returns a saved edit.
    pub(crate) fn saved_edit(&self, id: &str) -> Result<SavedEditView, ApiError> {
        self.get(&saved_path(id, "")?)
    }

    /// Returns what a saved edit replaced the last time.
    pub(crate) fn saved_diff(&self, id: &str) -> Result<SavedDiff, ApiError> {
        self.get(&saved_path(id, "/diff")?)
    }

    /// Removes a saved edit.
    pub(crate) fn remove_saved(&self, id: &str) -> Result<SavedList, ApiError> {
        self.call(Method::DELETE, &saved_path(id, "")?, None)
    }

    /// Ends the quarantine of a plugin. Its name is kebab-case, or there is no such plugin.
    pub(crate) fn release_plugin(&self, name: &str) -> Result<Released, ApiError> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || !name.bytes().all(fits) {
            return Err(ApiError {
                code: ErrorCode::NotFound,
                message: "that is not the name of a plugin".to_owned(),
                hint: Some("`leafgate status` names those in quarantine".to_owned()),
            });
        }
        self.post(&format!("/v1/plugins/{name}/release"), &Release {})
    }

    /// Asks for the value of a token.
    pub(crate) fn reveal(&self, command: &Reveal) -> Result<Revealed, ApiError> {
        self.post("/v1/reveal", command)
    }

    /// Saves the edits of a turn.
    pub(crate) fn capture(&self, turn: &str, command: &CaptureTurn) -> Result<CapturedEdits, ApiError> {
        self.post(&path(turn, "/capture")?, command)
    }

    fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, ApiError> {
        self.call(Method::GET, path, None)
    }

    fn post<A: DeserializeOwned>(&self, path: &str, command: &impl Serialize) -> Result<A, ApiError> {
        self.send(Method::POST, path, command)
    }

    fn send<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        command: &impl Serialize,
    ) -> Result<A, ApiError> {
        let body = serde_json::to_vec(command).expect("the words of the admin API always serialise");
        self.call(method, path, Some(body.into()))
    }

    fn call<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<A, ApiError> {
        let exchange = async {
            let answer = self.endpoint.call(method, path, body).await?;
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

    /// Has everything pass as it comes for a while, or the policy serve again.
    pub(crate) fn switch_off(&mut self, command: SwitchOff) -> Result<ModeView, ApiError> {
        self.send(Method::PUT, "/v1/off", &command)
    }
}

impl AdminApi for AdminClient {
    fn pending(&mut self) -> Result<Vec<TurnSummary>, ApiError> {
        let Pending { mut turns } = self.get("/v1/pending")?;
        turns.retain(|turn| self.only.as_ref().is_none_or(|only| turn.id == *only));
        Ok(turns)
    }

    fn turn(&mut self, id: &str) -> Result<TurnView, ApiError> {
        self.get(&path(id, "")?)
    }

    fn diff(&mut self, id: &str) -> Result<Diff, ApiError> {
        self.get(&path(id, "/diff")?)
    }

    fn edit(&mut self, id: &str, command: EditCommand) -> Result<TurnView, ApiError> {
        self.post(&path(id, "/edit")?, &command)
    }

    fn except(&mut self, id: &str, exception: ExceptionDraft) -> Result<Excepted, ApiError> {
        let ExceptionDraft { redaction, reason, until } = exception;
        let command = Except { redaction, reason, by: caller(), until: Some(until) };
        self.post(&path(id, "/except")?, &command)
    }

    fn resume(&mut self, id: &str, digest: &str) -> Result<Resumed, ApiError> {
        self.post(&path(id, "/resume")?, &Resume { digest: digest.to_owned() })
    }

    fn cancel(&mut self, id: &str) -> Result<TurnSummary, ApiError> {
        self.post(&path(id, "/cancel")?, &Cancel {})
    }

    fn payload(&mut self, id: &str) -> Result<Payload, ApiError> {
        self.get(&path(id, "/payload")?)
    }

    fn metadata(&mut self, id: &str) -> Result<TurnMetadata, ApiError> {
        self.request(id).map(TurnMetadata::from)
    }

    fn save(&mut self, id: &str, scope: SavedScope) -> Result<CapturedEdits, ApiError> {
        self.capture(id, &CaptureTurn { scope: Some(scope), ..CaptureTurn::default() })
    }

    fn capture_next(&mut self) -> Result<SavedList, ApiError> {
        self.arm_capture()
    }

    fn subagents(&mut self) -> Result<Subagents, ApiError> {
        self.get("/v1/subagents")
    }

    fn pin(&mut self, id: &str, sections: Vec<String>) -> Result<TurnView, ApiError> {
        self.send(Method::PUT, &path(id, "/pins")?, &Pins { sections })
    }

    fn mode(&mut self) -> Result<ModeView, ApiError> {
        self.get("/v1/mode")
    }

    fn set_mode(&mut self, mode: TurnMode) -> Result<ModeView, ApiError> {
        self.send(Method::PUT, "/v1/mode", &SetMode { mode })
    }

    fn sessions(&mut self) -> Result<SessionList, ApiError> {
        self.get("/v1/sessions")
    }

    fn select(&mut self, session: &str) -> Result<SessionList, ApiError> {
        self.post(&format!("/v1/sessions/{session}/select"), &Select {})
    }

    fn follow(&mut self, follow: bool) -> Result<SessionList, ApiError> {
        self.send(Method::PUT, "/v1/sessions", &Follow { follow })
    }
}

/// Returns the path of a saved edit. An id that could mean another path is refused.
fn saved_path(id: &str, call: &str) -> Result<String, ApiError> {
    if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
        return Ok(format!("/v1/saved/{id}{call}"));
    }
    Err(ApiError {
        code: ErrorCode::NotFound,
        message: "that is not the id of a saved edit".to_owned(),
        hint: Some("`leafgate saved list` shows the ids".to_owned()),
    })
}

/// Returns the path of a turn. An id that could mean another path is refused.
fn path(id: &str, call: &str) -> Result<String, ApiError> {
    if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(format!("/v1/pending/{id}{call}"));
    }
    Err(ApiError {
        code: ErrorCode::NotFound,
        message: "that is not the id of a turn".to_owned(),
        hint: Some("`leafgate pending list` shows the ids".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_leads_to_no_other_path() {
        assert_eq!(path("12", "/diff").unwrap(), "/v1/pending/12/diff");
        for id in ["", "..", "1/resume", "1?x", "1 2", "%31", "é"] {
            assert_eq!(path(id, "").unwrap_err().code, ErrorCode::NotFound, "{id}");
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
