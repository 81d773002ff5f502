//! A request on its way out: the body as it came, what may leave of it, and the request that leaves.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HeaderValue};
use http::{HeaderMap, Method, request};
use hyper::body::Incoming;

use crate::apis::Api;
use crate::flow::Flow;
use crate::path;
use crate::restore::Restoring;
use crate::ruled::Ruling;
use crate::target::UpstreamKind;
use leafgate_http::budget::Reservation;
use leafgate_http::headers::{self, RequestChanges};

/// A body as it came over the wire.
pub(crate) struct Received {
    pub(crate) body: Bytes,
    /// Whether it is compressed.
    pub(crate) coded: bool,
    /// Whether it may hold bytes that were not looked at. It leaves decoded then.
    pub(crate) wraps_more: bool,
    /// Its part of the bytes that a gate may hold; none for a request that waits at the desk, which counts it.
    pub(crate) reservation: Option<Reservation>,
}

impl Received {
    /// Returns what leaves for it: the very bytes that came where nothing was edited, or else `rendered`, which is never compressed.
    pub(crate) fn passed(self, source: &Bytes, rendered: Bytes, restoring: Option<Restoring>) -> Passed {
        let as_it_came = !self.wraps_more && is_same(&rendered, source);
        let (body, decoded) = if as_it_came { (self.body, false) } else { (rendered, self.coded) };
        Passed {
            body,
            decoded,
            restoring,
            ruling: None,
            reservation: self.reservation,
            flow: None,
            other_model: None,
        }
    }
}

/// Returns whether two bodies are the same. Where they are one buffer, no byte is looked at.
fn is_same(one: &Bytes, other: &Bytes) -> bool {
    one.len() == other.len() && (one.as_ptr() == other.as_ptr() || one == other)
}

/// A body that may leave.
pub(crate) struct Passed {
    pub(crate) body: Bytes,
    /// Whether the body leaves without the codings that it came in.
    pub(crate) decoded: bool,
    /// How its answer is restored, where it may repeat tokens.
    pub(crate) restoring: Option<Restoring>,
    /// What its answer is judged by, where it is.
    pub(crate) ruling: Option<Arc<Ruling>>,
    pub(crate) reservation: Option<Reservation>,
    /// What makes lesser forms of it, where a profile made it.
    pub(crate) flow: Option<Box<Flow>>,
    /// The model that is asked instead of the one that its path names.
    pub(crate) other_model: Option<Arc<str>>,
}

/// What leaves of a body.
pub(crate) enum OutgoingBody {
    /// The request came without one.
    None,
    Whole(Bytes),
    /// It is still coming, and nobody counts or bounds it.
    Coming(Incoming),
}

impl OutgoingBody {
    /// The body, where it is there as a whole.
    pub(crate) fn whole(&self) -> Option<&Bytes> {
        match self {
            OutgoingBody::Whole(body) => Some(body),
            OutgoingBody::None | OutgoingBody::Coming(_) => None,
        }
    }
}

/// A request as it leaves, and how its answer is restored.
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    /// Path and query as received, but for another model.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: OutgoingBody,
    pub(crate) restoring: Option<Restoring>,
    pub(crate) ruling: Option<Arc<Ruling>>,
    pub(crate) reservation: Option<Reservation>,
}

impl Outgoing {
    /// One without a body.
    pub(crate) fn without_body(parts: &request::Parts) -> Self {
        Outgoing {
            method: parts.method.clone(),
            path: path::target(parts).to_owned(),
            headers: headers::of_request(&parts.headers, RequestChanges::default()),
            body: OutgoingBody::None,
            restoring: None,
            ruling: None,
            reservation: None,
        }
    }

    /// One whose body may leave.
    pub(crate) fn with_body(parts: &request::Parts, passed: Passed) -> Self {
        let restores = passed.restoring.as_ref().is_some_and(|restoring| !restoring.is_idle());
        let plain_answer = restores || passed.ruling.is_some();
        Outgoing::new(parts, passed, plain_answer)
    }

    /// One whose answer goes into a stream that has begun, uncompressed.
    pub(crate) fn for_begun_stream(parts: &request::Parts, passed: Passed) -> Self {
        Outgoing::new(parts, passed, true)
    }

    /// Asks for an answer without codings, which can be read.
    pub(crate) fn ask_for_plain_answer(&mut self) {
        self.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }

    fn new(parts: &request::Parts, passed: Passed, plain_answer: bool) -> Self {
        let Passed { body, decoded, restoring, ruling, reservation, flow: _, other_model } = passed;
        // Copilot's own paths name no model.
        let api = Api::of(UpstreamKind::default(), &parts.method, &parts.uri, &parts.headers);
        let renamed = other_model.and_then(|model| api.target_of_model(path::target(parts), &model));
        let changes = RequestChanges { decoded, plain_answer };
        Outgoing {
            method: parts.method.clone(),
            path: renamed.unwrap_or_else(|| path::target(parts).to_owned()),
            headers: headers::of_request(&parts.headers, changes),
            body: OutgoingBody::Whole(body),
            restoring,
            ruling,
            reservation,
        }
    }
}
