//! What a call is answered with: JSON that nobody keeps, or an error in words.

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use leafgate_admin::{ApiError, ErrorCode};
use leafgate_desk::DeskError;
use leafgate_tree::EditError;
use serde::Serialize;

use leafgate_http::{Code, Content, Refusal, content};

/// A call that failed.
#[derive(Debug)]
pub(super) struct CallFailure {
    status: StatusCode,
    error: ApiError,
    allow: Option<HeaderValue>,
}

/// What a call comes to.
pub(super) type Answered = Result<Response<Content>, CallFailure>;

impl CallFailure {
    /// The message must hold no text of a leaf, and nothing that the caller sent.
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(code.status()).expect("every code has a status of HTTP");
        CallFailure { status, error: ApiError { code, message: message.into(), hint: None }, allow: None }
    }

    /// Says what to do about it.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.error.hint = Some(hint.into());
        self
    }

    /// Says which methods would have been right.
    pub(super) fn allow(mut self, methods: &str) -> Self {
        self.allow = HeaderValue::from_str(methods).ok();
        self
    }

    #[cfg(test)]
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn into_response(self) -> Response<Content> {
        let mut response = json(&self.error);
        *response.status_mut() = self.status;
        if let Some(methods) = self.allow {
            response.headers_mut().insert(ALLOW, methods);
        }
        response
    }
}

impl From<Refusal> for CallFailure {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.code {
            Code::Foreign => ErrorCode::ForeignOrigin,
            Code::TooLarge => ErrorCode::TooLarge,
            Code::Internal => ErrorCode::Internal,
            _ => ErrorCode::Malformed,
        };
        CallFailure { status: refusal.status, ..CallFailure::new(code, refusal.message) }
    }
}

/// What the desk says, in its own words: they name rules, turns and digests only.
impl From<DeskError> for CallFailure {
    fn from(error: DeskError) -> Self {
        let code = match &error {
            DeskError::Unknown { .. } | DeskError::NoSuchSession => ErrorCode::NotFound,
            DeskError::Over { .. } | DeskError::Expired { .. } => ErrorCode::Over,
            DeskError::Queued { .. } | DeskError::Beside { .. } => ErrorCode::Queued,
            DeskError::Disconnected { .. } => ErrorCode::Disconnected,
            DeskError::Stale { .. } => ErrorCode::Stale,
            DeskError::Conflict { .. } => ErrorCode::Conflict,
            DeskError::NoRoom { .. } => ErrorCode::Full,
            DeskError::Blocked(_) => ErrorCode::Blocked,
            DeskError::Invalid(_) => ErrorCode::Invalid,
            DeskError::Nothing(_) | DeskError::NoCapture => ErrorCode::Nothing,
            DeskError::NotReleasable(_)
            | DeskError::Edit(EditError::NotReleasable { .. } | EditError::NotReceived) => {
                ErrorCode::NotReleasable
            }
            DeskError::Edit(EditError::NotRedacted) => ErrorCode::Conflict,
            DeskError::Edit(EditError::NoSuchRedaction) => ErrorCode::NotFound,
            DeskError::Unredactable(_)
            | DeskError::Edit(_)
            | DeskError::Place(_)
            | DeskError::NoSuchPlace => ErrorCode::RefusedEdit,
        };
        let failure = CallFailure::new(code, error.to_string());
        match error {
            DeskError::NoSuchPlace => failure
                .hint("name one by the id that the turn shows; only those outside all others are pinned"),
            _ => failure,
        }
    }
}

/// An answer in JSON.
pub(super) fn json(answer: &impl Serialize) -> Response<Content> {
    let body = serde_json::to_vec(answer).expect("the words of the admin API always serialise");
    kept_by_nobody(content::full(Bytes::from(body)), "application/json")
}

/// An answer in events.
pub(super) fn events(body: Content) -> Response<Content> {
    kept_by_nobody(body, "text/event-stream")
}

/// What a browser that shows an answer may load for it, and where it may be shown: nothing, and nowhere within a page.
const NOTHING_LOADS: &str = "default-src 'none'; frame-ancestors 'none'";

/// No cache keeps it, no browser takes it for anything else, and no page may read it: there are no CORS headers.
pub(super) fn kept_by_nobody(body: Content, kind: &'static str) -> Response<Content> {
    let mut response = Response::new(body);
    let headers: [(HeaderName, &str); 4] = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, NOTHING_LOADS),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
