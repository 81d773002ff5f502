//! What a request is on its way: it came, and it leaves, waits for a person, or goes elsewhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, request};
use leafgate_assemble::Refused;
use leafgate_policy::{Assembly, Route};
use leafgate_tree::Format;

use crate::outgoing::{Outgoing, OutgoingBody};
use crate::pending::Waiter;
use crate::restore::Restoring;
use crate::ruled::Ruling;
use crate::session::Thread;
use crate::subject::Subject;
use leafgate_http::{
    Coding, CodingCaps, DecodedBody, INLINE_BODY, Manner, Refusal, Reservation, coding, headers,
};

/// A body as it came.
pub(crate) struct Came {
    pub(crate) body: Bytes,
    pub(crate) codings: Vec<Coding>,
    /// Whether it may hold bytes that were not looked at, as far as it was judged. It leaves decoded then.
    pub(crate) wraps_more: bool,
    /// Its part of the bytes that the gate may hold; nothing for a request that waits at the desk, which counts it.
    pub(crate) reservation: Reservation,
}

impl Came {
    pub(crate) fn new(body: Bytes, codings: Vec<Coding>, reservation: Reservation) -> Self {
        Came { body, codings, wraps_more: false, reservation }
    }

    pub(crate) fn is_coded(&self) -> bool {
        !self.codings.is_empty()
    }

    /// Returns whether reading it would keep other requests waiting.
    pub(crate) fn is_large(&self) -> bool {
        self.body.len() > INLINE_BODY || self.is_coded()
    }

    /// Returns the body without its codings. Both forms are held until the request has left.
    pub(crate) fn decoded(&mut self, caps: CodingCaps) -> Result<Bytes, Refusal> {
        let DecodedBody { body, wraps_more } = coding::decode(self.body.clone(), &self.codings, caps)?;
        self.wraps_more = wraps_more;
        if self.is_coded() {
            self.reservation.cover(self.body.len() + body.len())?;
        }
        Ok(body)
    }

    /// Returns what leaves for it under a head: the very bytes that came where nothing was edited, or else `rendered`, which is
    /// never compressed. Its answer comes uncompressed where it is to be read.
    pub(crate) fn passed(
        self,
        parts: &request::Parts,
        source: &Bytes,
        rendered: Bytes,
        along: Along,
    ) -> Passed {
        let as_it_came = !self.wraps_more && is_same(&rendered, source);
        let decoded = !as_it_came && self.is_coded();
        let body = if as_it_came { self.body } else { rendered };
        let mut outgoing = Outgoing::new(parts, OutgoingBody::Whole(body), decoded);
        outgoing.reservation = Some(self.reservation);
        if let Some(model) = &along.other_model {
            outgoing.ask_model(parts, model);
        }
        if let Some(tags) = &along.tags {
            outgoing.headers.insert(headers::TAGS, tags.clone());
        }
        let restores = along.restoring.as_ref().is_some_and(|restoring| !restoring.is_idle());
        if restores || along.ruling.is_some() {
            outgoing.ask_for_plain_answer();
        }
        Passed { outgoing, along }
    }
}

/// Returns whether two bodies are the same. Where they are one buffer, no byte is looked at.
fn is_same(one: &Bytes, other: &Bytes) -> bool {
    one.len() == other.len() && (one.as_ptr() == other.as_ptr() || one == other)
}

/// What becomes of a request that is not refused.
pub(crate) enum RequestOutcome {
    /// It may leave.
    Pass(Passed),
    /// A person must decide.
    Wait(HeldRequest),
    /// It must go elsewhere, with the body that came.
    Route(Route, Came),
}

/// What goes along with a body that leaves, or waits for that.
#[derive(Default)]
pub(crate) struct Along {
    /// How its answer is restored, where it may repeat tokens.
    pub(crate) restoring: Option<Restoring>,
    /// What its answer is judged by, where it is.
    pub(crate) ruling: Option<Arc<Ruling>>,
    /// What makes lesser forms of it, where a profile made it.
    pub(crate) flow: Option<Box<DowngradeFlow>>,
    /// The model that is asked instead of the one that its path names.
    pub(crate) other_model: Option<Arc<str>>,
    /// What rules tagged it with.
    pub(crate) tags: Option<HeaderValue>,
}

/// A request that may leave.
pub(crate) struct Passed {
    pub(crate) outgoing: Outgoing,
    pub(crate) along: Along,
}

/// A request that waits, and what leaves for it depends on.
pub(crate) struct HeldRequest {
    pub(crate) waiter: Waiter,
    pub(crate) came: Came,
    /// The body without its codings.
    pub(crate) source: Bytes,
    /// Whether its client asked for a stream of events.
    pub(crate) streams: bool,
    /// How a cancel is answered, where it is no error to the client.
    pub(crate) manner: Option<Box<Manner>>,
    pub(crate) along: Along,
}

/// A request that a profile made, on its way: what judges another form of it, and what it does
/// without already.
pub(crate) struct DowngradeFlow {
    pub(crate) assembly: Arc<Assembly>,
    pub(crate) subject: Arc<Subject>,
    pub(crate) format: Format,
    /// Whether its client asked for a stream of events.
    pub(crate) streams: bool,
    /// In what it came compressed: its header says so.
    pub(crate) codings: Vec<Coding>,
    /// Its conversation, where values are put back into its answer.
    pub(crate) restores: Option<Thread>,
    pub(crate) lessened: Lessened,
}

/// How far a request was taken down.
#[derive(Default)]
pub(crate) struct Lessened {
    /// Whether a person let it go.
    pub(crate) approved: bool,
    pub(crate) without: BTreeSet<Refused>,
    /// Models of the profile that were asked.
    pub(crate) models: usize,
    /// What it does without, in order.
    pub(crate) words: Vec<String>,
    /// Whether a person was asked about a refused model. They are asked once.
    pub(crate) asked: bool,
}
