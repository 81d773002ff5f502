//! What a base URL of the team does not lead to.
//!
//! A client whose base URL names the team takes all that comes from there for the team's, and what
//! a provider keeps (files, answers, voices) is nothing that a team knows of. So what passes
//! without the team is a list, and everything else is refused.

use http::{Method, StatusCode};

use crate::base::RequestBase;
use crate::exchange::Exchange;
use leafgate_http::refusal::{Code, Refusal};

/// How the paths end of requests that no endpoint serves: for vectors of texts, which no agent is asked
/// for, and for many turns at once, which the team refuses in words of its own.
const BESIDE: [&str; 4] = [":embedContent", ":batchEmbedContents", "/batches", ":batchGenerateContent"];

impl Exchange {
    /// Refuses a request to the team's base URL that is neither for the team nor harmless without it.
    pub(crate) fn refuse_elsewhere(&self, base: &RequestBase) -> Result<(), Refusal> {
        match base {
            RequestBase::Team(_) if !self.passes_without_team() => {}
            RequestBase::Team(_) | RequestBase::Profile(_) | RequestBase::Plain => return Ok(()),
        }
        let message = format!(
            "a team answers chat completions, Responses and Messages, and knows nothing of {} {}: send that \
             without the team, to the same path without `/agents`",
            self.parts.method, self.path
        );
        Err(Refusal::new(StatusCode::NOT_FOUND, Code::Unsupported, message))
    }

    fn passes_without_team(&self) -> bool {
        let path = self.parts.uri.path();
        match self.parts.method {
            Method::GET | Method::HEAD => path.split('/').nth(2) == Some("models"),
            // What a team answers, and what it refuses in words of its own.
            Method::POST => self.api.format.is_some() || BESIDE.iter().any(|end| path.ends_with(end)),
            _ => false,
        }
    }
}
