//! What a gate is told when it starts, and its limits with the reason for each.

use std::time::Duration;

use leafgate_desk::DeskLimits;

use crate::upstream::UpstreamTarget;

/// What a gate is told when it starts.
#[derive(Clone, Debug)]
pub struct GateConfig {
    /// Where requests go.
    pub upstream: UpstreamTarget,
    /// Where the policy comes from, for the status to name: `default`, `none` or the folder.
    pub policy_source: String,
    /// Bounds on what one request may cost.
    pub limits: GateLimits,
}

impl GateConfig {
    /// A gate before this upstream, with the default limits, whose status names the default policy.
    #[must_use]
    pub fn new(upstream: UpstreamTarget) -> Self {
        GateConfig { upstream, policy_source: "default".to_owned(), limits: GateLimits::default() }
    }
}

/// Bounds on what one request may cost.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GateLimits {
    /// Bytes of a request body as it comes, and again decoded. Recorded agent requests reach 3 MB with images; the APIs stop at 32 MB.
    pub body: usize,
    /// Decoded bytes per received byte. JSON compresses five to twenty times, gzip at its best a thousand times.
    pub ratio: usize,
    /// Bytes of a JSON answer that is kept whole to restore tokens; a larger one passes with its tokens, which are no secrets.
    pub answer: usize,
    /// How long a client may be silent within a request's header or body.
    pub idle: Duration,
    /// How long reaching the upstream may take, TLS included or not.
    pub connect: Duration,
    /// How long requests in flight may go on after the gate was told to stop.
    pub grace: Duration,
    /// Sessions whose tokens are remembered; beyond it the one that was used least recently is forgotten, and its tokens stay tokens.
    pub sessions: usize,
    /// Bodies that are looked into at the same time on the blocking pool; others wait, so that a burst costs time and not memory.
    pub judges: usize,
    /// How many turns wait for a person, and for how long.
    pub desk: DeskLimits,
    /// How long a paused client that asked for a stream hears nothing. Until then an error can still have a status of its own; SDKs and
    /// proxies give a silent connection a minute or more.
    pub silence: Duration,
    /// How long a begun stream of any kind is silent before a comment keeps it alive. Proxies close after 30 to 60 seconds.
    pub keepalive: Duration,
    /// Bytes of one call of the admin API. The largest carries the new text of one leaf; people do not type that much.
    pub command: usize,
    /// Events that are kept for the slowest listener of the admin API; one that falls behind further is let go.
    pub events: usize,
}

impl Default for GateLimits {
    fn default() -> Self {
        GateLimits {
            body: 32 * 1024 * 1024,
            ratio: 200,
            answer: 32 * 1024 * 1024,
            idle: Duration::from_secs(60),
            connect: Duration::from_secs(10),
            grace: Duration::from_secs(10),
            sessions: 1024,
            judges: std::thread::available_parallelism().map_or(2, std::num::NonZero::get),
            desk: DeskLimits::default(),
            silence: Duration::from_secs(15),
            keepalive: Duration::from_secs(10),
            command: 8 * 1024 * 1024,
            events: 256,
        }
    }
}
