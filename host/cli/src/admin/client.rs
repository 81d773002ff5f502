//! The calls of the admin API, blocking, for the prompt and the commands.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use leafgate_admin::{
    AdminCall, AdminCommand, AdminView, ApiError, ErrorCode, Except, Pending, RuntimeFile, SavedList,
    SessionList, Status, Subagents, TurnSummary, read_answer,
};
use leafgate_review::{AdminApi, ApiCall};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::log;

use super::http::{AdminEndpoint, waiting_runtime};

/// Longest time of a call. An edit redacts a body of megabytes, its plugins included.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Characters of a user's name in the log.
const MOST_NAME: usize = 40;

/// A client of one gate.
pub(crate) struct AdminClient {
    endpoint: AdminEndpoint,
    runtime: Runtime,
    /// The one turn that the prompt lists.
    only: Option<String>,
    /// Longest time of a call.
    patience: Duration,
}

impl AdminClient {
    /// Creates a client of the gate that wrote this file. It makes no call yet.
    pub(crate) fn new(gate: &RuntimeFile) -> anyhow::Result<Self> {
        let (endpoint, runtime) = (AdminEndpoint::new(gate)?, waiting_runtime()?);
        Ok(AdminClient { endpoint, runtime, only: None, patience: TIMEOUT })
    }

    /// Leaves all turns but one out of what waits, if there is one.
    pub(crate) fn only(self, turn: Option<String>) -> Self {
        AdminClient { only: turn, ..self }
    }

    /// Gives calls so long and no longer.
    pub(crate) fn within(self, patience: Duration) -> Self {
        AdminClient { patience, ..self }
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
        self.call(C::CALL, id, Some(spelled(command).into()))
    }

    /// Removes a saved edit.
    pub(crate) fn remove_saved(&self, id: &str) -> Result<SavedList, ApiError> {
        self.call(AdminCall::RemoveSaved, id, None)
    }

    /// Closes a conversation.
    pub(crate) fn close(&self, session: &str) -> Result<SessionList, ApiError> {
        self.call(AdminCall::Dispose, session, None)
    }

    /// Returns the turns that wait, oldest first.
    pub(crate) fn pending(&self) -> Result<Vec<TurnSummary>, ApiError> {
        let Pending { mut turns } = self.view("")?;
        turns.retain(|turn| self.only.as_ref().is_none_or(|only| turn.id == *only));
        Ok(turns)
    }

    /// Returns what agents asked, with the numbers that this has in the log, where one is kept.
    pub(crate) fn subagents(&self) -> Result<Subagents, ApiError> {
        let mut listed: Subagents = self.view("")?;
        if let Ok(log) = log::open() {
            for request in &mut listed.requests {
                request.logged = log.came_at(&request.session, request.at).ok().flatten();
            }
        }
        Ok(listed)
    }

    fn call<A: DeserializeOwned>(
        &self,
        call: AdminCall,
        id: &str,
        body: Option<Bytes>,
    ) -> Result<A, ApiError> {
        read_answer(&self.answer(call, id, body)?)
    }

    /// Returns the JSON that a call is answered with.
    fn answer(&self, call: AdminCall, id: &str, body: Option<Bytes>) -> Result<Bytes, ApiError> {
        let path = call.path_of(id).ok_or_else(|| no_id(call))?;
        let method: Method = call.method.parse().expect("every call has a method of HTTP");
        let exchange = async {
            let answer = self.endpoint.call(method, &path, body).await?;
            let answer = answer.into_body().collect().await;
            answer.map(|answer| answer.to_bytes()).map_err(|cause| self.endpoint.unreachable(cause))
        };
        let in_time = async { timeout(self.patience, exchange).await };
        let late = |_| {
            self.endpoint.unreachable(format_args!("nothing came for {} seconds", self.patience.as_secs()))
        };
        self.runtime.block_on(in_time).map_err(late)?
    }
}

impl AdminApi for AdminClient {
    fn make(&mut self, ApiCall { call, id, body }: &ApiCall) -> Result<Vec<u8>, ApiError> {
        Ok(match (call, body.clone()) {
            // The gate knows neither the one turn that is asked for nor the numbers in the log.
            (AdminCall::Pending, _) => spelled(&Pending { turns: self.pending()? }),
            (AdminCall::Subagents, _) => spelled(&self.subagents()?),
            (AdminCall::Except, Some(body)) => {
                let except: Except = serde_json::from_value(body).expect("they are the prompt's own words");
                let body = spelled(&Except { by: caller(), ..except });
                self.answer(*call, id, Some(body.into()))?.into()
            }
            (_, body) => self.answer(*call, id, body.map(|body| spelled(&body).into()))?.into(),
        })
    }
}

fn spelled(words: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(words).expect("the words of the admin API always serialise")
}

/// Why a call is not made: its id could mean another path, and no gate gives such a one.
fn no_id(call: AdminCall) -> ApiError {
    let (of, lists) = match call.path.split('/').nth(2) {
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
