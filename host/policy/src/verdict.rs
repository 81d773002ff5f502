//! What an evaluation decides: forward, pause or block, and why.
//!
//! A [`Hold`] keeps two texts apart. `reason` is the rule's own words or a fixed sentence, and may be shown to a client. `detail` is
//! for the operator: pointers, faults, limits. Neither holds text of a leaf, nor anything that a plugin said.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::rule::OnTimeout;

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "type", content = "holds")]
pub enum Verdict {
    /// It leaves as the draft renders it.
    Forward,
    /// A person must decide, for each of these.
    Pause(Vec<Hold>),
    /// It is refused.
    Block(Hold),
}

/// Why a request does not simply leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// The rule that holds it; [`STRUCTURE`] where no single rule does.
    pub rule: Arc<str>,
    /// What kind of reason.
    pub cause: Cause,
    /// For the client and everybody: the rule's own words or a fixed sentence.
    pub reason: String,
    /// For the operator.
    pub detail: String,
    /// How long a pause waits; `None` leaves it to the gate.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "seconds")]
    pub timeout: Option<Duration>,
    /// What happens after that.
    pub on_timeout: OnTimeout,
}

/// The name that stands for a rule where all edits together make a request invalid. No rule can be called that.
pub const STRUCTURE: &str = "(structure)";

/// What kind of reason a [`Hold`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cause {
    /// A pause or block rule applies.
    Rule,
    /// A plugin asked for it.
    Plugin,
    /// A value that must be redacted stands where nothing can be replaced.
    Unredactable,
    /// A rule or its plugin could not run to its end.
    Error,
    /// Two values would have the same token.
    Collision,
    /// The API would refuse the request because of our edits.
    Invalid,
}

impl Cause {
    /// What a client reads where the rule has no words of its own.
    pub(crate) fn fixed_reason(self) -> &'static str {
        match self {
            Cause::Rule => "The request matches a rule of this gate's policy",
            Cause::Plugin => "A plugin of this gate's policy stopped the request",
            Cause::Unredactable => "The request holds a value that must be redacted and cannot be",
            Cause::Error => "A rule of this gate's policy could not run",
            Cause::Collision => "Two values of this session cannot be told apart after redaction",
            Cause::Invalid => "The request would be invalid after this gate's edits",
        }
    }
}

fn seconds<S: serde::Serializer>(timeout: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    timeout.map(|timeout| timeout.as_secs()).serialize(serializer)
}
