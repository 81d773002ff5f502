//! A request on its way through the gate, and what its answer needs on the way back.

use std::sync::Arc;

use http::request;
use leafgate_policy::Policy;

use crate::apis::Api;
use crate::log::RequestProgress;
use crate::shared::Shared;
use crate::upstreams::Lane;

/// One request, as its stages hand it on. Its body goes beside it, in the form that it has by then.
#[derive(Clone, derive_more::Deref)]
pub(crate) struct Exchange {
    #[deref(forward)]
    pub(crate) shared: Arc<Shared>,
    /// Where it goes.
    pub(crate) lane: Arc<Lane>,
    /// The head that was judged first: the one that came, or, of an adapted request, the adapted one. Where a rule
    /// sends the request elsewhere, it stays beside the head that leaves.
    pub(crate) client: Arc<request::Parts>,
    /// The head that leaves.
    pub(crate) parts: Arc<request::Parts>,
    /// The path that came, masked.
    pub(crate) path: Arc<str>,
    /// The API of the head that leaves.
    pub(crate) api: Api,
    /// The generation that it is pinned to.
    pub(crate) policy: Arc<Policy>,
    pub(crate) progress: Arc<RequestProgress>,
}

impl Exchange {
    /// Returns it with another head, for the upstream that it goes to.
    pub(crate) fn with_head(self, parts: request::Parts) -> Self {
        let api = Api::of(self.lane.kind, &parts.method, &parts.uri, &parts.headers);
        Exchange { parts: Arc::new(parts), api, ..self }
    }
}
