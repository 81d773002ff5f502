//! How many turns a desk holds, and for how long.

use std::time::Duration;

/// The bounds of one desk. What exceeds them is refused with a reason and never forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeskLimits {
    /// Turns in all. Default 1,024: as many as a gate has connections, so that memory is the bound
    /// that is met first.
    pub turns: usize,
    /// Turns that queue behind the first one of their session. Default 8: agents send one request
    /// after the other, so a longer queue means a client that does not wait for answers.
    pub queued: usize,
    /// Bytes of memory of all turns: bodies as received and as they would leave, indices, edits,
    /// and findings. Default 1 GiB: 200 turns of 2 MB as agents send them, or 20 of 2 MB of single
    /// digits. A client that sends its request again while it waits may exceed it by one body.
    pub memory: usize,
    /// How long a pause waits if its rule names no time. Default 5 minutes: half of what the
    /// official SDKs wait for an answer, so that a resumed request still has its client.
    pub timeout: Duration,
    /// How long a turn waits after its connection is lost. Default 5 seconds: SDKs disconnect
    /// before they send the same request again.
    pub linger: Duration,
    /// How many decided turns are remembered by their summary. Default 64.
    pub remembered: usize,
    /// How long a cancel holds when the same is asked again. Default 30 seconds: SDKs ask again
    /// within 8, and clients that fall back to another manner of asking do so at once. Who asks
    /// later means it.
    pub cancel_holds: Duration,
    /// Conversations that are listed. Default 1,024. Those that have turns come on top.
    pub sessions: usize,
    /// Requests of agents that the monitor keeps. Default 10.
    pub subagents: usize,
    /// How long a conversation is listed after its last request. Default 8 hours: a working day.
    pub session_ttl: Duration,
}

impl Default for DeskLimits {
    fn default() -> Self {
        DeskLimits {
            turns: 1024,
            queued: 8,
            memory: 1 << 30,
            timeout: leafgate_policy::DEFAULT_TIMEOUT,
            linger: Duration::from_secs(5),
            remembered: 64,
            cancel_holds: Duration::from_secs(30),
            sessions: 1024,
            subagents: 10,
            session_ttl: Duration::from_hours(8),
        }
    }
}
