//! What an evaluation decides: forward, route, pause or block, and why.
//!
//! A [`Hold`] keeps two texts apart. `reason` is the rule's own words or a fixed sentence, and may
//! be shown to a client. `detail` is for the operator: pointers, faults, limits. Neither holds text
//! of a leaf, nor anything that a plugin said.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use leafgate_tree::NodeId;
use serde::Serialize;

use crate::rule::{OnTimeout, Urgency};

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves as the draft renders it.
    Forward,
    /// It must not go where it was sent to. Whether it may leave at all is decided anew, for the
    /// upstream that it goes to instead.
    Route(Route),
    /// A person must decide, for each of these.
    Pause(Vec<Hold>),
    /// It is refused.
    Block(Hold),
}

impl Verdict {
    /// Returns whether somebody or something keeps the request from leaving.
    pub fn holds(&self) -> bool {
        match self {
            Verdict::Forward | Verdict::Route(_) => false,
            Verdict::Pause(_) | Verdict::Block(_) => true,
        }
    }
}

impl Serialize for Verdict {
    /// `{"type": "pause", "holds": […]}`: the holds of a pause are a list, that of a block is one, and
    /// a route stands under its own name.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase", tag = "type")]
        enum Shown<'v> {
            Forward,
            Route { route: &'v Route },
            Pause { holds: &'v [Hold] },
            Block { holds: &'v Hold },
        }
        match self {
            Verdict::Forward => Shown::Forward,
            Verdict::Route(route) => Shown::Route { route },
            Verdict::Pause(holds) => Shown::Pause { holds },
            Verdict::Block(hold) => Shown::Block { holds: hold },
        }
        .serialize(serializer)
    }
}

/// Where a rule sends a request instead of where it was sent to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// The rule.
    pub rule: Arc<str>,
    /// The name of the upstream.
    pub to: Arc<str>,
    /// For the operator: what the rule was about.
    pub detail: String,
}

impl Route {
    /// Returns what holds a request that can go nowhere else any more: `why` is a sentence that a
    /// client may read.
    #[must_use]
    pub fn refused(self, why: &str) -> Hold {
        let reason = format!("it is for the upstream `{}`: {why}", self.to);
        Hold { detail: self.detail, ..Hold::new(self.rule, Cause::Rule, reason) }
    }
}

/// Why a request does not simply leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// The rule that holds it; [`STRUCTURE`] where no single rule does.
    pub rule: Arc<str>,
    /// How much that matters, where the rule says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Urgency>,
    /// What kind of reason.
    pub cause: Cause,
    /// For the client and everybody: the rule's own words or a fixed sentence.
    pub reason: String,
    /// For the operator: what is wrong at the first place, and how many more there are.
    pub detail: String,
    /// What is wrong where: the first [`MAX_PLACES`] places, in the order in which they were found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<HoldPlace>,
    /// How many places there are, those that are not listed included.
    #[serde(skip_serializing_if = "is_small")]
    pub total: usize,
    /// How long a pause waits; `None` leaves it to the gate.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "seconds")]
    pub timeout: Option<Duration>,
    /// What happens after that.
    pub on_timeout: OnTimeout,
}

/// How many places one hold lists.
pub const MAX_PLACES: usize = 64;

/// One place because of which a request is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HoldPlace {
    /// What is wrong there: `SECRET in base64`. Never text of a leaf.
    pub what: String,
    /// A pointer into the request as received, or the name of a part outside the body; `None` for
    /// the request as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The value in the body that `at` names.
    #[serde(skip)]
    pub node: Option<NodeId>,
    /// Whether the request that would leave still is as it was there. A later edit may have changed
    /// or deleted it.
    pub stands: bool,
}

/// Returns a pointer as people read it: that of the whole body is no text at all.
pub(crate) fn spelled(pointer: &str) -> &str {
    if pointer.is_empty() { "the whole body" } else { pointer }
}

/// Returns where a rule first applied, in words.
pub(crate) fn first_at(pointer: &str) -> String {
    if pointer.is_empty() { spelled(pointer).to_owned() } else { format!("first at {pointer}") }
}

impl HoldPlace {
    /// Returns a place that stands, and that its words name.
    pub(crate) fn told(what: String, node: Option<NodeId>) -> Self {
        HoldPlace { what, at: None, node, stands: true }
    }

    fn sentence(&self) -> String {
        match &self.at {
            None => self.what.clone(),
            // What is wrong with a body that is one text names the body.
            Some(at) if at.is_empty() => self.what.clone(),
            Some(at) if at.starts_with('/') => format!("{}, at {at}", self.what),
            Some(part) => format!("{} in {part}", self.what),
        }
    }
}

impl Hold {
    /// Returns a hold without places, which leaves its time to the gate.
    pub fn new(rule: Arc<str>, cause: Cause, reason: String) -> Hold {
        Hold {
            rule,
            severity: None,
            cause,
            reason,
            detail: String::new(),
            places: Vec::new(),
            total: 0,
            timeout: None,
            on_timeout: OnTimeout::Cancel,
        }
    }

    /// Returns the hold of saved edits that do not fit a request. `detail` names them.
    pub fn drift(detail: String) -> Hold {
        let reason = Cause::Drift.fixed_reason().to_owned();
        Hold { detail, ..Hold::new(SAVED_EDITS.into(), Cause::Drift, reason) }
    }

    /// Returns the hold of a request that our edits made one that nobody can take.
    pub(crate) fn invalid(why: &dyn fmt::Display) -> Hold {
        let reason = format!("{}: {why}", Cause::Invalid.fixed_reason());
        Hold::new(STRUCTURE.into(), Cause::Invalid, reason)
    }

    /// Counts a place, and lists it where there is room. The same place is counted once.
    pub(crate) fn add(&mut self, place: HoldPlace) {
        if self.places.contains(&place) {
            return;
        }
        self.total += 1;
        if self.places.len() < MAX_PLACES {
            self.places.push(place);
        }
    }

    /// Returns it with the first place that stands told, and how many more there are.
    pub(crate) fn finished(mut self) -> Self {
        let Some(first) = self.places.iter().find(|place| place.stands).or(self.places.first()) else {
            return self;
        };
        let more = self.total - 1;
        self.detail = match more {
            0 => first.sentence(),
            1 => format!("{}, and 1 more place", first.sentence()),
            more => format!("{}, and {more} more places", first.sentence()),
        };
        self
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_small(total: &usize) -> bool {
    *total <= 1
}

/// The name that stands for a rule where all edits together make a request invalid. No rule can be
/// called that.
pub const STRUCTURE: &str = "(structure)";

/// The name that stands for a rule where saved edits do not fit a request. No rule can be called
/// that.
pub const SAVED_EDITS: &str = "(saved edits)";

leafgate_words::words! {
    /// What kind of reason a [`Hold`] has.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    pub enum Cause {
        /// A pause or block rule applies.
        Rule = "rule" / "The request matches a rule of this gate's policy",
        /// A plugin asked for it.
        Plugin = "plugin" / "A plugin of this gate's policy stopped the request",
        /// A value that must be redacted stands where nothing can be replaced.
        Unredactable = "unredactable" / "The request holds a value that must be redacted and cannot be",
        /// A rule or its plugin could not run to its end.
        Error = "error" / "A rule of this gate's policy could not run",
        /// Two values would have the same token.
        Collision = "collision" / "Two values of this session cannot be told apart after redaction",
        /// The API would refuse the request because of our edits.
        Invalid = "invalid" / "The request would be invalid after this gate's edits",
        /// The request holds more findings than one request may.
        TooMuch = "too-much" / "The request holds more findings than this gate redacts in one request",
        /// An edit that a person saved does not fit the request.
        Drift = "drift" / "An edit that a person saved does not fit the request any more",
    }
    /// Returns its word in JSON.
    pub fn name = 0;
    /// What a client reads where the rule has no words of its own.
    pub(crate) fn fixed_reason = 1;
}

fn seconds<S: serde::Serializer>(timeout: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    timeout.map(|timeout| timeout.as_secs()).serialize(serializer)
}
