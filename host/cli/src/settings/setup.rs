//! What settings come to: all that a gate is started with.

use std::net::SocketAddr;

use leafgate_admin::StartedWith;
use leafgate_gate::{GateConfig, UpstreamName};
use leafgate_policy::PolicySource;
use leafgate_store::StoreConfig;
use leafgate_trace::Collector;

/// What a gate is started with, beside settings that say all themselves.
pub(crate) struct GateSetup {
    /// Upstreams and limits.
    pub(crate) config: GateConfig,
    pub(crate) listen: SocketAddr,
    /// `None` serves no admin API.
    pub(crate) admin_listen: Option<SocketAddr>,
    /// Where metrics are served beside it.
    pub(crate) metrics_listen: Option<SocketAddr>,
    pub(crate) policy: PolicySource,
    /// The policies of named upstreams.
    pub(crate) upstream_policies: Vec<(UpstreamName, PolicySource)>,
    pub(crate) log: LogTo,
    /// The log of requests that it writes, if any.
    pub(crate) keep: Option<StoreConfig>,
    /// Where traces are sent; `None` for none.
    pub(crate) traces: Option<Collector>,
    /// The program that the gate is started for.
    pub(crate) client: Option<String>,
    /// What the one that stands is started with; `None` for others.
    pub(crate) standing: Option<StartedWith>,
}

/// Where the log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogTo {
    /// Standard error.
    Terminal,
    /// `run.log` in the data folder, where the terminal is another's.
    File,
}
