//! What a gate is told when it starts, and its limits with the reason for each.

use std::sync::Arc;
use std::time::Duration;

use leafgate_admin::MetadataField;
use leafgate_desk::DeskLimits;
use leafgate_extract::Extract;
use leafgate_policy::Policy;
use leafgate_tokenize::Models;
use leafgate_tree::Limits;
use leafgate_words::words;

use crate::intercept::InterceptPattern;
use crate::path::PathPattern;
use crate::reach::Reach;
use crate::target::{UpstreamKind, UpstreamName, UpstreamTarget};

/// What a gate is told when it starts.
#[derive(Clone, Debug)]
pub struct GateConfig {
    /// Where requests go whose path names no upstream.
    pub upstream: FirstUpstream,
    /// Where requests go whose path names an upstream, `/u/<name>/…`.
    pub named: Vec<NamedUpstream>,
    /// Whether requests are looked at. Without it the gate passes everything on, as a plain proxy does.
    pub enabled: bool,
    /// Which requests a mode may pause; none for all. Rules run everywhere.
    pub intercept: Vec<InterceptPattern>,
    /// Where the policy comes from, for the status to name: `default`, `none` or the folder.
    pub policy_source: String,
    /// Whether the client of a cancelled request reads why as the model's words, instead of an error.
    pub answer_cancelled: bool,
    /// Whether a person may switch the gate off for a while.
    pub may_be_off: bool,
    /// What is known of a request that people are shown beside what it says, in this order.
    pub metadata_fields: Vec<MetadataField>,
    /// How many tokens a prompt may have, for models that are not built in.
    pub models: Models,
    /// How another generation is tried before it serves.
    pub trial: TrialConfig,
    /// What reads the packed files in requests; without it none is read. It is asked by threads that may
    /// block.
    pub extract: Option<Arc<dyn Extract>>,
    /// Bounds on what one request may cost.
    pub limits: GateLimits,
}

/// How another generation is tried on live requests before it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialConfig {
    /// On how many; 0 for a generation that serves at once.
    pub requests: usize,
    /// How many more of them may be held, or may rules fail at, than today, in percent.
    pub rise: usize,
}

impl Default for TrialConfig {
    fn default() -> Self {
        TrialConfig { requests: 0, rise: 5 }
    }
}

impl GateConfig {
    /// Returns where requests go: by no name, and then by each.
    pub fn upstreams(&self) -> impl Iterator<Item = &UpstreamConfig> {
        let first = match &self.upstream {
            FirstUpstream::Own(first) => Some(&**first),
            FirstUpstream::Named(_) => None,
        };
        first.into_iter().chain(self.named.iter().map(|named| &named.upstream))
    }

    /// Returns the settings of a gate before this upstream, with the default limits, whose status
    /// names the default policy.
    pub fn new(upstream: UpstreamTarget) -> Self {
        GateConfig {
            upstream: FirstUpstream::Own(Box::new(UpstreamConfig::new(upstream))),
            named: Vec::new(),
            enabled: true,
            intercept: Vec::new(),
            policy_source: "default".to_owned(),
            answer_cancelled: false,
            may_be_off: true,
            metadata_fields: MetadataField::DEFAULT.to_vec(),
            models: Models::default(),
            trial: TrialConfig::default(),
            extract: None,
            limits: GateLimits::default(),
        }
    }
}

/// The upstream of all paths that name none.
#[derive(Clone, Debug)]
pub enum FirstUpstream {
    /// One without a name.
    Own(Box<UpstreamConfig>),
    /// One of the named ones.
    Named(UpstreamName),
}

/// A further upstream.
#[derive(Clone, Debug)]
pub struct NamedUpstream {
    /// What clients put into their paths.
    pub name: UpstreamName,
    /// Where such requests go, and how.
    pub upstream: UpstreamConfig,
}

/// An upstream, and what is its own.
#[derive(Clone, Debug)]
pub struct UpstreamConfig {
    /// Where requests go.
    pub target: UpstreamTarget,
    /// Whose endpoints it has; told by its host where nobody says it.
    pub kind: UpstreamKind,
    /// The API that it speaks, where requests of others are to be adapted to it.
    pub speaks: Option<leafgate_api::Api>,
    /// How it is reached.
    pub reach: Reach,
    /// Whether values are put back into its answers.
    pub restore: bool,
    /// Paths whose bodies may be anything. They are searched as one text.
    pub raw: Vec<PathPattern>,
    /// What becomes of requests with files that cannot be looked into.
    pub on_unread: OnUnread,
    /// The policy that judges its requests, where it is not the gate's.
    pub policy: Option<OwnPolicy>,
}

words! {
    /// What becomes of a request with a file that cannot be looked into: a PDF, an archive, an office
    /// document. Under a policy without rules nothing is looked into, and it passes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum OnUnread {
        /// It is refused.
        #[default]
        Block = "block",
        /// It passes, counted.
        Pass = "pass",
    }
    /// Returns the word for it in settings.
    pub fn name = 0;
}

/// The policy of one upstream.
#[derive(Clone, Debug)]
pub struct OwnPolicy {
    /// Where it comes from, for the status to name.
    pub source: String,
    /// The first generation.
    pub policy: Arc<Policy>,
}

impl UpstreamConfig {
    /// Returns an upstream with nothing of its own.
    pub fn new(target: UpstreamTarget) -> Self {
        let kind = target.kind();
        UpstreamConfig {
            target,
            kind,
            speaks: None,
            reach: Reach::default(),
            restore: true,
            raw: Vec::new(),
            on_unread: OnUnread::default(),
            policy: None,
        }
    }
}

/// A bound that settings set.
#[derive(Debug)]
pub enum Limit<'l> {
    /// How much, or how many.
    Number(&'l mut Number),
    /// How long.
    Time(&'l mut Time),
}

type Number = usize;
type Time = Duration;

/// Declares the bounds, each with what it is where nobody sets it.
macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $kind:ident = $default:expr,)+) => {
        /// Bounds on what one request may cost.
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub struct GateLimits {
            $($(#[$doc])* pub $name: $kind,)+
            /// Values, nesting and documents in documents of a body.
            pub document: Limits,
            /// How many turns wait for a person, and for how long.
            pub desk: DeskLimits,
        }

        impl Default for GateLimits {
            /// The limits of this process. All are constants but two: the number of connections follows from the number of files that it may
            /// open, that of judges from its processors.
            fn default() -> Self {
                GateLimits {
                    $($name: $default,)+
                    document: Limits::default(),
                    desk: DeskLimits::default(),
                }
            }
        }

        impl GateLimits {
            /// Returns every bound with its name.
            pub fn each(&mut self) -> Vec<(&'static str, Limit<'_>)> {
                let (desk, document) = (&mut self.desk, &mut self.document);
                vec![
                    $((stringify!($name), Limit::$kind(&mut self.$name)),)+
                    ("turns", Limit::Number(&mut desk.turns)),
                    ("queued", Limit::Number(&mut desk.queued)),
                    ("turn_memory", Limit::Number(&mut desk.memory)),
                    ("pause", Limit::Time(&mut desk.timeout)),
                    ("linger", Limit::Time(&mut desk.linger)),
                    ("subagents", Limit::Number(&mut desk.subagents)),
                    ("nodes", Limit::Number(&mut document.nodes)),
                    ("depth", Limit::Number(&mut document.depth)),
                    ("embedded", Limit::Number(&mut document.embedded)),
                ]
            }
        }
    };
}

limits! {
    /// Bytes of a request body as it comes, and again decoded. Recorded agent requests reach 3 MB with images; the APIs stop at 32 MB.
    body: Number = 32 * 1024 * 1024,
    /// Decoded bytes per received byte. JSON compresses five to twenty times, gzip at its best a thousand times.
    ratio: Number = 200,
    /// Bytes of a JSON answer that is kept whole to restore tokens; a larger one passes with its tokens, which are no secrets.
    answer: Number = 32 * 1024 * 1024,
    /// Bytes of all answers that are kept whole at a time, with what is known of each of their values. Beyond it they pass with their tokens as well.
    answers: Number = 128 * 1024 * 1024,
    /// How long a client may read nothing of an answer that waits for it. Then its connection closes.
    unread: Time = Duration::from_secs(60),
    /// How long a client may take for the header of a request, for the next request of its connection, and for each 16 KB of a body.
    idle: Time = Duration::from_secs(60),
    /// How long a client may take for a whole request body. 32 MB over a line of 1 Mbit/s take 4 minutes.
    body_time: Time = Duration::from_secs(300),
    /// Bytes of all request bodies that are read or on their way to the upstream at the same time. Those of paused requests count
    /// towards the bound of the desk.
    bodies: Number = 256 * 1024 * 1024,
    /// Connections of clients at a time. Each has a file here and one to the upstream; see [`GateLimits::default`].
    connections: Number = connections(),
    /// Connections to the admin API at a time, event streams included.
    admin_connections: Number = ADMIN_CONNECTIONS,
    /// How long reaching the upstream may take: its name, TCP and TLS together.
    connect: Time = Duration::from_secs(10),
    /// How long the upstream may take from the first byte of a request to the header of its answer. Models that think and do not
    /// stream answer after minutes; the SDKs give up after 10.
    answer_head: Time = Duration::from_secs(600),
    /// How long the upstream may be silent within its answer. Models that think within a stream send signs of life.
    answer_idle: Time = Duration::from_secs(600),
    /// How long requests in flight may go on after the gate was told to stop.
    grace: Time = Duration::from_secs(10),
    /// Sessions whose tokens are remembered; beyond it the one that was used least recently is forgotten, and its tokens stay tokens.
    sessions: Number = 1024,
    /// Bytes of redacted values that all sessions remember together, with what remembering them takes. Beyond it the sessions that were
    /// used least recently are forgotten, and their tokens stay tokens.
    vaults: Number = 64 * 1024 * 1024,
    /// Bodies that are looked into at the same time on the blocking pool, or by plugins; others wait, so that a burst costs time and not memory.
    judges: Number = std::thread::available_parallelism().map_or(2, std::num::NonZero::get),
    /// How long a paused client that asked for a stream hears nothing. Until then an error can still have a status of its own; SDKs and
    /// proxies give a silent connection a minute or more.
    silence: Time = Duration::from_secs(15),
    /// How long a begun stream of any kind is silent before a comment keeps it alive. Proxies close after 30 to 60 seconds.
    keepalive: Time = Duration::from_secs(10),
    /// Bytes of one call of the admin API. The largest carries the new text of one leaf; people do not type that much.
    command: Number = 8 * 1024 * 1024,
    /// Events that are kept for the slowest listener of the admin API; one that falls behind further is let go.
    events: Number = 256,
}

/// See [`GateLimits::admin_connections`].
const ADMIN_CONNECTIONS: usize = 32;

/// Most connections of clients, where the process may have files for more. No machine runs so many agents.
const MOST_CONNECTIONS: usize = 1024;

/// Files that are neither clients' nor upstream's: the admin API, the listeners, the log, and what a reload of the policy opens.
const OTHER_FILES: u64 = ADMIN_CONNECTIONS as u64 + 64;

/// Returns how many clients' connections the files of this process are enough for, each with one to the upstream.
fn connections() -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    connections_within(files.unwrap_or(u64::MAX))
}

fn connections_within(files: u64) -> usize {
    let most = files.saturating_sub(OTHER_FILES) / 2;
    usize::try_from(most).unwrap_or(MOST_CONNECTIONS).clamp(8, MOST_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_everything_else() {
        for files in [256, 1024, 4096] {
            let connections = connections_within(files) as u64;
            assert!(2 * connections + OTHER_FILES <= files, "{connections} of {files}");
            assert!(connections >= 80, "{connections} of {files}");
        }
        assert_eq!(connections_within(u64::MAX), MOST_CONNECTIONS);
        assert_eq!(connections_within(0), 8);
    }
}
