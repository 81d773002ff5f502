//! A request as it leaves for an upstream.

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HeaderValue};
use http::{HeaderMap, Method, request};
use hyper::body::Incoming;

use crate::apis::Api;
use crate::path;
use crate::target::UpstreamKind;
use leafgate_http::{Reservation, headers};

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

/// A request as it leaves.
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    /// Path and query as received, but for another model.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: OutgoingBody,
    pub(crate) reservation: Option<Reservation>,
}

impl Outgoing {
    /// `decoded` says that the body leaves without the codings that it came in.
    pub(crate) fn new(parts: &request::Parts, body: OutgoingBody, decoded: bool) -> Self {
        Outgoing {
            method: parts.method.clone(),
            path: path::target(parts).to_owned(),
            headers: headers::of_request(&parts.headers, decoded),
            body,
            reservation: None,
        }
    }

    /// Asks for another model than its path names, where it names one.
    pub(crate) fn ask_model(&mut self, parts: &request::Parts, model: &str) {
        // Copilot's own paths name no model.
        let api = Api::of(UpstreamKind::default(), &parts.method, &parts.uri, &parts.headers);
        self.path = api.target_of_model(&self.path, model).unwrap_or_else(|| std::mem::take(&mut self.path));
    }

    /// Asks for an answer without codings, which can be read.
    pub(crate) fn ask_for_plain_answer(&mut self) {
        self.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
}
