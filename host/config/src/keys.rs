//! What can be set.

use leafgate_diagnostic::number::NumberRange;

use crate::value::{Kind, LONGEST};

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct SettingKey {
    /// Its name: in a file the tables and the key, joined by dots.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// What is built in, as a flag says it. Limits have what the gate has.
    pub(crate) default: Option<&'static str>,
}

const fn key(name: &'static str, kind: Kind, about: &'static str) -> SettingKey {
    SettingKey { name, kind, about, default: None }
}

impl SettingKey {
    const fn or(self, default: &'static str) -> SettingKey {
        SettingKey { default: Some(default), ..self }
    }
}

use Kind::{Command, Path, Paths, Policy, Switch, Text, Texts, Url};

const SIZE: Kind = Kind::Size(NumberRange::ANY);

/// Bytes of a body, of which fewer hold nothing.
const BODY: Kind = Kind::Size(NumberRange::from(1 << 10));

/// Bytes of a document: places in it are numbers of 32 bits, so it stays below 4 GiB.
const DOCUMENT: Kind = Kind::Size(NumberRange::between(1 << 10, 4095 << 20));

/// An empty log takes 80 KiB of it.
const LOG: Kind = Kind::Size(NumberRange::from(1 << 20));

/// So many days are a century; more overflow clocks.
const DAYS: Kind = Kind::Count(NumberRange::between(1, 36_500));

const PERCENT: Kind = Kind::Count(NumberRange::between(1, 100));

/// What nobody counts higher. Room for some of them is made at once.
const COUNT: Kind = Kind::Count(NumberRange::between(1, 1_000_000));

/// Values of a body, or what follows from its bytes: as many as it likes.
const MANY: Kind = Kind::Count(NumberRange::between(1, 1_000_000_000));

/// What is nested is walked by calls within calls.
const DEPTH: Kind = Kind::Count(NumberRange::between(1, 1_000));
const EMBEDDED: Kind = Kind::Count(NumberRange::between(1, 100));

const TIME: Kind = Kind::Time(NumberRange::between(1, LONGEST));

/// How long a connection waits, or is silent: in less, nothing arrives from afar, and signs of life are
/// most of what does.
const WAIT: Kind = Kind::Time(NumberRange::between(100, LONGEST));

/// Pairs of settings of which the first must not be above the second: one thing has room in what all
/// share.
pub(crate) const ORDERED: [(&str, &str); 3] = [
    ("limits.body", "limits.bodies"),
    ("limits.body", "limits.turn-memory"),
    ("limits.answer", "limits.answers"),
];

/// Levels of the log.
const LEVELS: Kind = Kind::Word(&["off", "error", "warn", "info", "debug", "trace"]);

/// What a line of it is.
const FORMATS: Kind = Kind::Word(&["text", "json"]);

/// Whose endpoints an upstream has.
const KINDS: Kind = Kind::Word(&["models", "copilot"]);

/// What an upstream may speak, so that requests of other APIs are adapted to it.
const APIS: Kind = Kind::Word(&["openai-chat", "openai-responses", "anthropic-messages", "gemini"]);

/// What becomes of what cannot be looked into.
const ON_UNREAD: Kind = Kind::Word(&["block", "pass"]);

/// The table of named upstreams.
pub const UPSTREAMS: &str = "upstreams";

/// All settings but those of named upstreams.
pub const KEYS: &[SettingKey] = &[
    key("enabled", Switch, "Whether requests are looked at; without it the gate is a plain proxy").or("true"),
    key("listen", Text, "The loopback address that clients send their requests to").or("127.0.0.1:4141"),
    key("upstream", Url, "Where requests go: a URL, `echo:`, or the name of an upstream"),
    key("policy", Policy, "The rules: a folder, `own` (the default), `default` or `none`").or("own"),
    key("require-tests", Switch, "Whether a policy serves only where it passes the tests in its folder")
        .or("false"),
    key("workspace", Path, "The folder whose saved edits are used").or("."),
    key("agents", Path, "The file of the team behind /agents/v1"),
    key("answer-cancelled", Switch, "Whether a cancel is answered as the model's words, and not as an error")
        .or("false"),
    key("switch-off", Switch, "Whether `leafgate off` may let everything pass for a while").or("true"),
    key(
        "enforce",
        Switch,
        "In the operator's settings alone: whether users may add to what these say, and never weaken it",
    ),
    key(
        "signed-by",
        Texts,
        "In the operator's settings alone: keys of which one must have signed the operator's policy",
    ),
    key("standing.grace", TIME, "How long the gate that all programs share goes on after the last one")
        .or("10m"),
    key("log", LEVELS, "What is logged").or("info"),
    key("log-format", FORMATS, "How a line of the log is written").or("text"),
    key(
        "intercept",
        Texts,
        "Paths (`*` stands for the rest) and locations (`panel`) of the requests that a mode may pause; `!` before one \
         leaves it out. Rules run everywhere",
    ),
    key(
        "metadata-fields",
        Texts,
        "What the prompt shows of a request beside what it says, in this order: sessionId, requestId, model, location, \
         interception, dirty, endpoint, intent, maxResponseTokens",
    ),
    key(
        "models",
        Texts,
        "Tokens that prompts may have, and the tokenizer where it is public: `llama-4* = 131072`, \
         `house/coder = 200000 o200k_base`",
    ),
    key("notify-command", Command, "A command for `sh -c` when a request begins to wait"),
    key("restore", Switch, "Whether values are put back into answers").or("true"),
    key("ca", Paths, "Files with further certificate authorities for https upstreams"),
    key("client-certificate", Path, "A file with the certificate that the gate shows to upstreams"),
    key("client-key", Path, "A file with the key of that certificate"),
    key("proxy", Url, "The proxy on the way to upstreams: a URL, `environment` or `none`").or("environment"),
    key(
        "raw",
        Texts,
        "Paths whose bodies may be anything: they are searched as one text; `*` stands for the rest",
    ),
    key(
        "on-unread",
        ON_UNREAD,
        "What becomes of requests with a file (PDF, archive, office document) whose text cannot be read",
    ),
    key("store.enabled", Switch, "Whether requests and answers are logged, with all findings masked")
        .or("true"),
    key("store.required", Switch, "Whether a request leaves only when it is in the log").or("false"),
    key("store.size", LOG, "Bytes of log beyond which the oldest requests are removed").or("1 GiB"),
    key("store.days", DAYS, "Days after which requests are removed from the log").or("30"),
    key(
        "known.files",
        Texts,
        "Files whose secrets are looked for, as `.env*`: from the workspace, from `~/`, or absolute",
    ),
    key("known.command", Command, "A command for `sh -c` that writes further such secrets, one a line"),
    key(
        "traces",
        Url,
        "The OpenTelemetry collector that is sent a span of each request, without content: http://127.0.0.1:4318",
    ),
    key(
        "reload.shadow",
        COUNT,
        "Live requests that a changed policy is tried on beside the one that serves, before it serves itself",
    ),
    key(
        "reload.rise",
        PERCENT,
        "How many more of these may be held, or may rules fail at, than today, in percent",
    ),
    key("admin.enabled", Switch, "Whether there is an admin API").or("true"),
    key("admin.listen", Text, "The loopback address of the admin API").or("127.0.0.1:0"),
    key(
        "metrics.listen",
        Text,
        "A loopback address for /metrics, /healthz and /readyz alone, beside that of the admin API",
    ),
    key("limits.body", DOCUMENT, "Bytes of a request body, as it comes and decoded"),
    key("limits.ratio", MANY, "Decoded bytes per received byte"),
    key("limits.bodies", BODY, "Bytes of all request bodies in flight"),
    key("limits.idle", WAIT, "For a header, for the next request, and for each 16 KB of a body"),
    key("limits.body-time", WAIT, "For a whole body"),
    key("limits.connections", COUNT, "Connections of clients"),
    key("limits.admin-connections", COUNT, "Connections to the admin API"),
    key("limits.connect", WAIT, "For name, TCP and TLS of an upstream together"),
    key("limits.answer-head", WAIT, "From a request to the header of its answer"),
    key("limits.answer-idle", WAIT, "How long an upstream may be silent within its answer"),
    key("limits.answer", SIZE, "Bytes of an answer that is kept whole to restore tokens"),
    key("limits.answers", SIZE, "Bytes of all such answers"),
    key("limits.unread", WAIT, "How long a client may read nothing of its answer"),
    key("limits.grace", TIME, "For requests in flight when the gate stops"),
    key("limits.sessions", COUNT, "Sessions whose tokens are remembered"),
    key("limits.vaults", SIZE, "Bytes of the redacted values of all sessions"),
    key("limits.judges", COUNT, "Bodies that are looked into at the same time"),
    key("limits.silence", TIME, "How long a paused client that asked for a stream hears nothing"),
    key("limits.keepalive", WAIT, "How long a begun stream is silent before a sign of life"),
    key("limits.command", BODY, "Bytes of a call of the admin API"),
    key("limits.events", COUNT, "Events that wait for a listener of the admin API"),
    key("limits.turns", COUNT, "Requests that wait for a person"),
    key("limits.queued", COUNT, "Requests that queue behind one of the same conversation"),
    key("limits.turn-memory", BODY, "Bytes of all requests that wait"),
    key("limits.pause", TIME, "How long a pause waits where its rule names no time"),
    key("limits.linger", TIME, "How long a request waits after its client is gone"),
    key("limits.subagents", COUNT, "Requests of agents that `leafgate subagents` lists"),
    key("limits.nodes", MANY, "Values of a request body"),
    key("limits.depth", DEPTH, "Nested containers of a request body"),
    key("limits.embedded", EMBEDDED, "Documents in texts in documents"),
];

/// Those that count in the settings of the machine's operator alone.
pub(crate) const OF_OPERATOR: [&str; 2] = ["enforce", "signed-by"];

/// Settings of a named upstream, `[upstreams.<name>]`. Those that are left out are as at the top.
pub const UPSTREAM_KEYS: &[SettingKey] = &[
    key("url", Url, "Where its requests go"),
    key("kind", KINDS, "Whose endpoints it has; without it, its host tells: those of Copilot are `copilot`"),
    key("api", APIS, "The API that it speaks: requests of another one are adapted, and their answers"),
    key("policy", Policy, "Its rules"),
    key("restore", Switch, "Whether values are put back into its answers"),
    key("ca", Paths, "Files with further certificate authorities"),
    key("client-certificate", Path, "A file with the certificate that the gate shows to it"),
    key("client-key", Path, "A file with the key of that certificate"),
    key("proxy", Url, "The proxy on the way to it: a URL, `environment` or `none`"),
    key("raw", Texts, "Paths whose bodies may be anything"),
    key("on-unread", ON_UNREAD, "What becomes of its requests with files whose text cannot be read"),
];

/// Returns the variable of the environment that sets a key: `LEAFGATE_LIMITS_BODY_TIME`.
pub fn variable(key: &str) -> String {
    let word = |c: char| if matches!(c, '.' | '-') { '_' } else { c.to_ascii_uppercase() };
    format!("LEAFGATE_{}", key.chars().map(word).collect::<String>())
}

/// Returns whether a variable of the environment sets a key.
pub fn is_setting(name: &str) -> bool {
    KEYS.iter().any(|key| variable(key.name) == name)
}

/// Variables of the program that set no key: where it keeps files, and what commands that it starts
/// are told.
pub(crate) const OTHERS: [&str; 7] = [
    "LEAFGATE_CACHE_DIR",
    "LEAFGATE_DATA_DIR",
    "LEAFGATE_REASON",
    "LEAFGATE_RULES",
    "LEAFGATE_RUNTIME_DIR",
    "LEAFGATE_SESSION",
    "LEAFGATE_TURN",
];

/// Variables of the tests and of `cargo xtask`, which may stand in the environment of a gate that is
/// worked on. Of tests alone are also all that begin with `LEAFGATE_TEST`.
pub(crate) const OF_TESTS: [&str; 8] = [
    "LEAFGATE_BIN",
    "LEAFGATE_BLESS",
    "LEAFGATE_CORPORA",
    "LEAFGATE_FIXTURES",
    "LEAFGATE_SOAK",
    "LEAFGATE_SOURCES",
    "LEAFGATE_UPDATE",
    "LEAFGATE_WRITE_COUNTS",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_key_and_each_variable_stands_once() {
        let names: BTreeSet<_> = KEYS.iter().map(|key| key.name).collect();
        let variables: BTreeSet<_> = KEYS.iter().map(|key| variable(key.name)).collect();
        assert_eq!((names.len(), variables.len()), (KEYS.len(), KEYS.len()));
        assert_eq!(variable("limits.body-time"), "LEAFGATE_LIMITS_BODY_TIME");
        for key in UPSTREAM_KEYS.iter().filter(|key| !matches!(key.name, "api" | "kind" | "url")) {
            let top = KEYS.iter().find(|top| top.name == key.name);
            assert_eq!(top.map(|top| top.kind), Some(key.kind), "{}", key.name);
        }
        for name in ORDERED.iter().flat_map(|(least, most)| [least, most]) {
            assert!(names.contains(name), "{name}");
        }
    }
}
