//! The admin API as the prompt uses it: calls as values, so that the model can ask without I/O, and a
//! test can answer anything.

use leafgate_admin::{AdminCall, AdminCommand, ApiError};
use serde_json::Value;

/// The pending turns of a running gate. Calls block.
pub trait AdminApi {
    /// Makes a call, and returns the JSON that it is answered with. Who answers for an exception is
    /// known here alone.
    ///
    /// # Errors
    /// The error that the gate answered, or that it could not be reached. Nothing was changed then.
    fn make(&mut self, call: &ApiCall) -> Result<Vec<u8>, ApiError>;
}

/// One call to the gate. `Debug` shows no body, in which texts stand.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
pub struct ApiCall {
    /// Which.
    pub call: AdminCall,
    /// The id in its path, where that has one; empty for that of the open turn.
    pub id: String,
    /// Its body, where it has one.
    #[debug(skip)]
    pub body: Option<Value>,
}

/// What a call came to. `Debug` shows no text.
#[derive(derive_more::Debug)]
pub struct ApiAnswer {
    /// The call.
    pub call: AdminCall,
    /// The JSON that answers it, or why it failed.
    #[debug("{}", if json.is_ok() { "answered" } else { "failed" })]
    pub json: Result<Vec<u8>, ApiError>,
}

impl From<AdminCall> for ApiCall {
    /// A call without a body.
    fn from(call: AdminCall) -> Self {
        ApiCall { call, id: String::new(), body: None }
    }
}

impl ApiCall {
    /// Returns the call that takes this as its body.
    ///
    /// # Panics
    /// Never: the words of the admin API are always JSON.
    pub fn of<C: AdminCommand>(command: &C) -> ApiCall {
        let body = serde_json::to_value(command).expect("the words of the admin API always serialise");
        ApiCall { body: Some(body), ..C::CALL.into() }
    }

    /// Returns the call that shows a turn.
    pub(crate) fn show(id: &str) -> ApiCall {
        ApiCall::from(AdminCall::Turn).on(id)
    }

    /// Whether it is about a turn and does not say which.
    pub(crate) fn names_no_turn(&self) -> bool {
        self.id.is_empty() && self.call.path.starts_with("/v1/pending/")
    }

    /// Returns the call about what has this id.
    #[must_use]
    pub fn on(self, id: &str) -> ApiCall {
        ApiCall { id: id.to_owned(), ..self }
    }

    /// Makes the call.
    pub fn run(&self, desk: &mut dyn AdminApi) -> ApiAnswer {
        ApiAnswer { call: self.call, json: desk.make(self) }
    }
}
