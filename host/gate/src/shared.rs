//! What all requests to a gate share, and the work that they take turns at (`pool`).

mod pool;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use leafgate_admin::{MetadataField, Released, Status};
use leafgate_policy::Policy;
use leafgate_record::{RecordId, Recorder};
use leafgate_tokenize::Counter;
use leafgate_vault::{TokenKeys, Vault};
use tokio::sync::Semaphore;

use crate::assembly::Assembler;
use crate::config::{GateConfig, GateLimits};
use crate::events::Hub;
use crate::except::PolicyFiles;
use crate::files::FileReader;
use crate::intercept::{InterceptPattern, Interception, interception, told};
use crate::metrics::Counters;
use crate::pending::Turns;
use crate::plugins;
use crate::reach::ReachError;
use crate::saved::Saved;
use crate::serving::ServingPolicy;
use crate::session::Sessions;
use crate::teams::Teams;
use crate::upstreams::{Lane, Upstreams};
use leafgate_http::{BodyBounds, BodyBudget, CodingCaps, Timeouts};

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) upstreams: Upstreams,
    pub(crate) policy: Arc<ServingPolicy>,
    /// Whether requests are looked at.
    pub(crate) enabled: bool,
    /// See [`GateConfig::intercept`].
    intercept: Vec<InterceptPattern>,
    keys: TokenKeys,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) turns: Arc<Turns>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) counters: Arc<Counters>,
    /// Whether the client of a cancelled request reads why as the model's words.
    pub(crate) answer_cancelled: bool,
    /// See [`GateConfig::may_be_off`].
    pub(crate) may_be_off: bool,
    pub(crate) limits: GateLimits,
    judges: Arc<Semaphore>,
    /// When work was last slow that a worker tried.
    last_slow: Mutex<Option<Instant>>,
    /// Those of [`GateConfig::metadata_fields`], until a person chooses others.
    pub(crate) metadata_fields: Mutex<Vec<MetadataField>>,
    /// Counts tokens for people, one request at a time and in no judge's place.
    counter: Arc<Counter>,
    counts: Arc<Semaphore>,
    pub(crate) assembler: Arc<Assembler>,
    pub(crate) file_reader: Arc<FileReader>,
    pub(crate) bodies: BodyBudget,
    pub(crate) answers: BodyBudget,
    pub(crate) teams: Teams,
    /// Where clients send their requests; known once the gate serves.
    pub(crate) listen: OnceLock<SocketAddr>,
    pub(crate) recorder: OnceLock<Arc<dyn Recorder>>,
    /// Where exceptions are written.
    pub(crate) policy_files: OnceLock<Arc<dyn PolicyFiles>>,
    /// How many requests the recorder was told of.
    recorded: AtomicU64,
}

impl Shared {
    pub(crate) fn new(config: GateConfig, keys: TokenKeys, policy: Arc<Policy>) -> Result<Self, ReachError> {
        let limits = config.limits;
        let hub = Arc::new(Hub::new(limits.events, limits.keepalive));
        let counters = Arc::new(Counters::default());
        let saved = Arc::new(Saved::new(&keys));
        let upstreams = Upstreams::new(config.upstream, config.named, &limits)?;
        upstreams.check_routes(&policy)?;
        for own in upstreams.named.iter().filter_map(|lane| lane.own.as_ref()) {
            upstreams.check_routes(&own.load())?;
        }
        Ok(Shared {
            upstreams,
            answer_cancelled: config.answer_cancelled,
            may_be_off: config.may_be_off,
            policy: Arc::new(
                ServingPolicy::new(config.policy_source, policy)
                    .told_and_tried(Arc::clone(&hub), config.trial),
            ),
            enabled: config.enabled,
            sessions: Arc::new(Sessions::new(keys.clone(), limits.sessions, limits.vaults)),
            keys,
            turns: Arc::new(
                Turns::new(limits.desk, Arc::clone(&hub), Arc::clone(&counters), saved)
                    .intercepting(told(&config.intercept)),
            ),
            intercept: config.intercept,
            hub,
            counters,
            judges: Arc::new(Semaphore::new(limits.judges.max(1))),
            last_slow: Mutex::default(),
            metadata_fields: Mutex::new(config.metadata_fields),
            counter: Arc::new(Counter::new(config.models)),
            counts: Arc::new(Semaphore::new(1)),
            assembler: Arc::new(Assembler::new()),
            file_reader: Arc::new(FileReader::new(config.extract)),
            bodies: BodyBudget::new(limits.bodies),
            answers: BodyBudget::new(limits.answers),
            teams: Teams::new(limits.judges),
            limits,
            listen: OnceLock::new(),
            recorder: OnceLock::new(),
            policy_files: OnceLock::new(),
            recorded: AtomicU64::new(0),
        })
    }

    pub(crate) fn status(&self) -> Status {
        let (active, follow) = self.turns.active();
        let policy = self.policy.status();
        let counted = self.counters.counted();
        let (requests, statuses) = (counted.requests, counted.statuses());
        drop(counted);
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            listen: self.listen.get().map(|address| format!("http://{address}")).unwrap_or_default(),
            upstream: self.upstreams.first.address.to_string(),
            upstream_kind: self.upstreams.first.shown_kind(),
            upstreams: self.upstreams.named.iter().map(|lane| lane.status()).collect(),
            enabled: self.enabled && self.turns.off.left().is_none(),
            policy,
            pending: self.turns.count(),
            pending_memory: self.turns.memory(),
            in_flight: self.counters.count_in_flight(),
            requests,
            statuses,
            rules: self.counters.rules(),
            mode: Some(self.turns.mode()),
            active,
            follow,
            agents: self.teams.status(),
            store: self.recorder.get().and_then(|recorder| recorder.status()),
        }
    }

    /// Ends the quarantine of a plugin, in whichever policy it is.
    pub(crate) fn release_plugin(&self, name: &str) -> Option<Released> {
        let own = self.upstreams.named.iter().filter_map(|lane| lane.own.as_ref());
        let policies: Vec<_> = [&*self.policy].into_iter().chain(own).map(ServingPolicy::load).collect();
        plugins::release(policies.iter().map(|policy| &**policy), name)
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        let GateLimits { idle, unread, grace, .. } = self.limits;
        Timeouts { idle, unread, grace }
    }

    /// Returns the policy that judges the requests to an upstream.
    pub(crate) fn policy_of(&self, lane: Option<&Lane>) -> Arc<Policy> {
        let serving = || lane.and_then(|lane| lane.own.as_ref()).unwrap_or(&self.policy).load();
        self.turns.off.policy().unwrap_or_else(serving)
    }

    /// Returns whether a mode may pause requests of this path from this location.
    pub(crate) fn intercepts(&self, path: &str, location: &str) -> Interception {
        interception(&self.intercept, path, location)
    }

    /// A vault of no session: it knows our tokens and remembers nothing.
    pub(crate) fn unnamed_vault(&self) -> Vault {
        Vault::new(self.keys.clone())
    }

    /// The number of the next request that a recorder is told of.
    pub(crate) fn next_record(&self) -> RecordId {
        RecordId(self.recorded.fetch_add(1, Relaxed) + 1)
    }

    pub(crate) fn caps(&self) -> CodingCaps {
        CodingCaps { size: self.limits.body, ratio: self.limits.ratio }
    }

    pub(crate) fn bounds(&self) -> BodyBounds {
        BodyBounds { size: self.limits.body, idle: self.limits.idle, time: self.limits.body_time }
    }
}
