//! A request as it leaves the gate: which body, under which header, and what its answer is restored from.

use bytes::Bytes;
use http::request;

use crate::headers::{self, RequestChanges};
use crate::judge::Passed;
use crate::restore::Restoring;
use crate::upstream::Outgoing;

/// A request as it leaves, and how its answer is restored.
pub(crate) struct Leaving {
    pub(crate) outgoing: Outgoing,
    pub(crate) restoring: Option<Restoring>,
}

impl Leaving {
    /// One without a body, which nobody read.
    pub(crate) fn unread(parts: &request::Parts) -> Self {
        Leaving::new(parts, None, RequestChanges::default(), None)
    }

    /// One whose body was read and may leave.
    pub(crate) fn read(parts: &request::Parts, passed: Passed) -> Self {
        let plain_answer = passed.restoring.as_ref().is_some_and(|restoring| !restoring.is_idle());
        let changes = RequestChanges { decoded: passed.decoded, plain_answer };
        Leaving::new(parts, Some(passed.body), changes, passed.restoring)
    }

    /// One whose answer goes into a stream that has begun, uncompressed.
    pub(crate) fn begun(parts: &request::Parts, passed: Passed) -> Self {
        let changes = RequestChanges { decoded: passed.decoded, plain_answer: true };
        Leaving::new(parts, Some(passed.body), changes, passed.restoring)
    }

    fn new(
        parts: &request::Parts,
        body: Option<Bytes>,
        changes: RequestChanges,
        restoring: Option<Restoring>,
    ) -> Self {
        let headers = headers::of_request(&parts.headers, changes);
        let outgoing = Outgoing { method: parts.method.clone(), path: path(parts).to_owned(), headers, body };
        Leaving { outgoing, restoring }
    }
}

/// Path and query as received.
pub(crate) fn path(parts: &request::Parts) -> &str {
    parts.uri.path_and_query().map_or("/", |path| path.as_str())
}
