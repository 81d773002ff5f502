//! A rule as the engine needs it: the second stage, in which everything is resolved and valid.
//!
//! Names have become indexes (engines, plugins), words have become enums, texts have become regular
//! expressions. A field that does not belong to an action does not exist here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use leafgate_glob::Glob;
use leafgate_tree::{Format, SectionKind};
use regex::Regex;

use crate::Context;
use crate::condition::{Condition, FindingFact, RequestFacts};
use crate::index::{EngineIndex, PluginIndex, RuleIndex, indexed};
use crate::reason::Reason;
use crate::request::Reach;
use crate::selector::Selector;
use crate::shorten::Shorten;
use crate::tool_names;

/// Declares an enum whose values are words of a rule file.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$of_value:meta])* $value:ident = $word:literal,)+ }) => {
        leafgate_words::words! {
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, serde::Serialize)]
            #[serde(rename_all = "kebab-case")]
            pub enum $name { $($(#[$of_value])* $value = $word,)+ }
            /// Returns its word in rule files.
            pub fn name = 0;
        }

        impl leafgate_diagnostic::keys::Takes for $name {
            const TYPE: leafgate_diagnostic::keys::Type =
                leafgate_diagnostic::keys::Type::Word($name::NAMES);
        }
    };
}
pub(crate) use words;

words! {
    /// How much it matters that a rule applied, the least first: `severity` in rule files.
    Urgency {
        /// Good to know.
        Info = "info",
        /// It matters little.
        Low = "low",
        /// It matters.
        Medium = "medium",
        /// It matters much.
        High = "high",
        /// Somebody must look at once.
        Critical = "critical",
    }
}

words! {
    /// Whether a rule acts or only counts.
    #[derive(Default)]
    Mode {
        /// It acts.
        #[default]
        Enforce = "enforce",
        /// It changes nothing, and a header of the answer names it where it would have acted.
        Warn = "warn",
        /// It records what would have happened, and changes nothing.
        Monitor = "monitor",
    }
}

words! {
    /// What happens when a rule cannot run to its end.
    OnError {
        /// The request is blocked.
        Block = "block",
        /// A person decides.
        Pause = "pause",
        /// The request goes on without the rule; counted.
        Pass = "pass",
    }
}

words! {
    /// What happens to an answer that clients read in different ways.
    OnOdd {
        /// It does not pass.
        Refuse = "refuse",
        /// What is odd in its spelling alone is spelled anew, and what is odd then does not pass.
        Respell = "respell",
    }
}

words! {
    /// What happens to a finding that cannot be replaced.
    OnUnredactable {
        /// The request is blocked.
        Block = "block",
        /// A person decides.
        Pause = "pause",
    }
}

words! {
    /// What happens to a published example: a key of documentation, a card number for tests.
    Published {
        /// It is redacted like any finding where something can stand in its place, and never holds
        /// a request.
        Redact = "redact",
        /// It is left alone.
        Keep = "keep",
    }
}

words! {
    /// What stands in the place of a redacted value.
    With {
        /// A word that is restored in the answer.
        Token = "token",
        /// The label alone.
        Mask = "mask",
        /// A keyed digest that is not restored.
        Hash = "hash",
        /// An invented value of the same shape.
        Surrogate = "surrogate",
        /// Nothing.
        Drop = "drop",
    }
}

words! {
    /// What becomes of a token that an answer repeats.
    Restore {
        /// The value comes back, in text that nothing can fetch or carry out.
        On = "on",
        /// The token stays, whichever rules find the value.
        Off = "off",
    }
}

words! {
    /// What a transformer plugin is shown.
    Sees {
        /// The text as it stands: redacted, with earlier rules' edits.
        Redacted = "redacted",
        /// The text as it was received.
        Raw = "raw",
    }
}

words! {
    /// What a pause does with requests of agents that another one started.
    Subagents {
        /// They pause like any other.
        Pause = "pause",
        /// They pass.
        Skip = "skip",
    }
}

words! {
    /// What happens when a pinned leaf differs from what it was first.
    OnDrift {
        /// It is sent as it was first.
        Pin = "pin",
        /// A person decides.
        Pause = "pause",
        /// The request is blocked.
        Block = "block",
    }
}

words! {
    /// What happens when nobody decides in time.
    OnTimeout {
        /// The request is refused.
        Cancel = "cancel",
        /// The request goes on as shown.
        Resume = "resume",
    }
}

words! {
    /// What a rule looks at.
    #[derive(Default)]
    On {
        /// What a client sends.
        #[default]
        Request = "request",
        /// What a model answers: texts, and the arguments of its tool calls.
        Response = "response",
        /// The tool calls of an answer, before the client runs them.
        ToolCall = "tool-call",
    }
}

impl On {
    /// Whether it is what rules look at that do not say.
    pub(crate) fn is_request(&self) -> bool {
        *self == On::Request
    }
}

/// How a rule for answers reads a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streaming {
    /// It waits for the whole answer.
    Buffer,
    /// It reads texts as they come, and so many bytes of each stay behind.
    LookBehind(usize),
}

words! {
    /// What a rule does.
    ActionName {
        Redact = "redact",
        Classify = "classify",
        Protect = "protect",
        Pin = "pin",
        Rewrite = "rewrite",
        Delete = "delete",
        Insert = "insert",
        FilterTools = "filter-tools",
        StripTools = "strip-tools",
        NormaliseTools = "normalise-tools",
        Transform = "transform",
        Pause = "pause",
        Block = "block",
        Route = "route",
        Tag = "tag",
    }
}

/// One compiled rule.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) id: Arc<str>,
    pub(crate) on: On,
    /// How a rule for answers reads a stream; of others it says nothing.
    pub(crate) streaming: Streaming,
    /// What becomes of an odd answer; of requests it says nothing.
    pub(crate) on_odd: OnOdd,
    /// Where it was written, for people: `rules.toml:12`.
    pub(crate) origin: String,
    pub(crate) selector: Selector,
    pub(crate) when: Option<Condition>,
    /// How much must be found in what it selects for it to apply.
    pub(crate) count: Option<FindingCount>,
    pub(crate) action: Action,
    /// What it says that it does.
    pub(crate) action_name: ActionName,
    pub(crate) mode: Mode,
    pub(crate) on_error: OnError,
    /// The rule's own words; clients may see them.
    pub(crate) reason: Option<Reason>,
    pub(crate) severity: Option<Urgency>,
    /// Its table, as it was read.
    pub(crate) says: toml::Table,
}

indexed!(RuleIndex: Rule);

impl Rule {
    /// Whether it may apply to a request of which no more is known than this.
    pub(crate) fn may_apply(&self, context: &Context<'_>) -> bool {
        self.selector.request.may_apply(context)
    }

    pub(crate) fn monitors(&self) -> bool {
        self.mode != Mode::Enforce
    }

    /// Whether its condition asks for the estimate of tokens.
    pub(crate) fn asks_for_tokens(&self) -> bool {
        self.when.as_ref().is_some_and(Condition::asks_for_tokens)
            || self.reason.as_ref().is_some_and(Reason::asks_for_tokens)
    }

    /// Whether it asks about the request as a whole, and about no leaf of it.
    pub(crate) fn is_of_request(&self) -> bool {
        let names_no_leaf = self.when.as_ref().is_none_or(Condition::is_of_request);
        names_no_leaf && self.count.is_none() && self.selector.is_everything_in_a_request()
    }
}

/// `findings` and `at_least`: how much redact rules must have found together in all leaves of a rule.
#[derive(Debug)]
pub(crate) struct FindingCount {
    /// Ids of the detectors whose findings count.
    pub(crate) detectors: BTreeSet<String>,
    /// At least one.
    pub(crate) at_least: usize,
}

impl FindingCount {
    /// Returns how many of some findings count.
    pub(crate) fn of(&self, findings: &[FindingFact]) -> usize {
        findings.iter().filter(|found| self.detectors.contains(found.detector.as_str())).count()
    }
}

/// What a rule does, with all that it needs for it: one variant for each phase.
#[derive(Debug)]
pub(crate) enum Action {
    /// Sections are of this kind.
    Classify(SectionKind),
    Redact(Redact),
    Pin(Pin),
    Edit(Edit),
    Decide(Decide),
}

/// What a rule of the rewriting phase does.
#[derive(Debug)]
pub(crate) enum Edit {
    Rewrite(Rewrite),
    Delete {
        /// Whether messages go too where the rule names a tool: its calls and their results. Without
        /// it, definitions alone go.
        history: bool,
    },
    /// A message with this text.
    Insert(String),
    Transform(Transform),
    FilterTools(FilterTools),
    /// No trace of tools is left.
    StripTools,
    /// All properties of their parameters are required.
    NormaliseTools,
    /// Members of the body with their values, in file order.
    Options(Vec<(String, serde_json::Value)>),
    /// Another model.
    Model(String),
}

/// What a rule of the deciding phase does.
#[derive(Debug)]
pub(crate) enum Decide {
    Pause(Pause),
    Block,
    /// It goes to another upstream, by its name.
    Route(Arc<str>),
    /// It leaves with this word in a header, and the log has it.
    Tag(Arc<str>),
}

impl Action {
    /// What its rule is for.
    pub(crate) fn reach(&self) -> Reach {
        match self {
            Action::Redact(_)
            | Action::Decide(Decide::Pause(_) | Decide::Block | Decide::Route(_))
            | Action::Pin(Pin::Protect { .. }) => Reach::Restricts,
            Action::Classify(_)
            | Action::Decide(Decide::Tag(_))
            | Action::Pin(Pin::Received | Pin::To { .. } | Pin::FirstSeen(_))
            | Action::Edit(_) => Reach::Changes,
        }
    }

    pub(crate) fn pause(&self) -> Option<&Pause> {
        match self {
            Action::Decide(Decide::Pause(pause)) => Some(pause),
            Action::Decide(Decide::Block | Decide::Route(_) | Decide::Tag(_))
            | Action::Classify(_)
            | Action::Redact(_)
            | Action::Pin(_)
            | Action::Edit(_) => None,
        }
    }

    /// Whether it lets a request pass by what it is, whatever the rule's `match` says.
    pub(crate) fn skips(&self, request: &RequestFacts<'_>) -> bool {
        self.pause()
            .is_some_and(|pause| pause.subagents == Subagents::Skip && request.context.subagent == Some(true))
    }

    pub(crate) fn phase(&self) -> Phase {
        match self {
            Action::Classify(_) => Phase::Classify,
            Action::Redact(_) => Phase::Redact,
            Action::Pin(_) => Phase::Pin,
            Action::Edit(_) => Phase::Rewrite,
            Action::Decide(_) => Phase::Decide,
        }
    }
}

leafgate_words::words! {
    /// The phases of an evaluation, in order. Within a phase, rules run in file order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Phase {
        /// Sections are given other kinds.
        Classify = "classify" / "sections are said to be of another kind than they look",
        /// The received request is redacted.
        Redact = "redact" / "what arrives is searched, and what is found is replaced",
        /// Leaves are pinned.
        Pin = "pin" / "leaves are fixed: no later rule or plugin changes them",
        /// Edits that people saved earlier are made.
        Saved = "saved edits" / "edits that people saved are made where they fit, where the mode says so and no leaf is pinned",
        /// Leaves are rewritten, messages deleted and put in, transformers run.
        Rewrite = "rewrite" / "leaves are rewritten, messages deleted and put in, transformer plugins run, in file order",
        /// Whatever was written since is redacted.
        RedactAgain = "redact again" / "whatever a rule, plugin or saved edit wrote is searched again, at once, by all redact rules",
        /// Route, pause, block or tag.
        Decide = "decide" / "route, pause, block and tag rules look at the request as it would leave",
    }
    /// Returns its name, for people.
    pub fn name = 0;
    /// Returns what happens in it.
    pub fn summary = 1;
}

/// `redact`.
#[derive(Debug)]
pub(crate) struct Redact {
    /// The engine of the built-in detectors, shared with every rule that names the same; `None`
    /// without any.
    pub(crate) engine: Option<EngineIndex>,
    /// Those of them that check digits vouch for: they look at leaves that cannot be edited too.
    pub(crate) checked: Option<EngineIndex>,
    /// The detector plugins.
    pub(crate) plugins: Vec<PluginIndex>,
    pub(crate) with: With,
    pub(crate) restore: Restore,
    pub(crate) on_unredactable: OnUnredactable,
    /// For what is found inside an encoding. Where the rule does not say, a person looks: what is
    /// encoded may be meant to be.
    pub(crate) on_encoded: OnUnredactable,
    /// For published examples. Where the rule does not say, they are redacted if a token restores
    /// them.
    pub(crate) published: Published,
    /// Whether a person may take a redaction back, for the one request that waits.
    pub(crate) releasable: bool,
}

/// `pin` and `protect`.
#[derive(Debug)]
pub(crate) enum Pin {
    /// A leaf stays as it is after redaction.
    Received,
    /// It has this text.
    To {
        text: String,
        /// By format, the keys of the one place where the text is put in that is not there.
        absent: BTreeMap<Format, Vec<String>>,
    },
    /// It has the text that it had first in its conversation.
    FirstSeen(OnDrift),
    /// Nobody changes it, a person neither, or leaves it out.
    Protect { edit: bool, delete: bool },
}

/// `rewrite`.
#[derive(Debug)]
pub(crate) enum Rewrite {
    Set(String),
    Replace { pattern: Regex, with: String },
    Prepend(String),
    Append(String),
    Shorten(Shorten),
}

/// `filter-tools`.
#[derive(Debug)]
pub(crate) struct FilterTools {
    /// The tools that stay; all where it is empty.
    pub(crate) keep: Vec<Glob>,
    /// Those of them that go.
    pub(crate) drop: Vec<Glob>,
}

impl FilterTools {
    /// Whether a tool of this name stays.
    pub(crate) fn passes(&self, name: &str) -> bool {
        self.keeps(name) && !self.drops(name)
    }

    pub(crate) fn keeps(&self, name: &str) -> bool {
        self.keep.is_empty() || self.keep.iter().any(|glob| glob.matches(name))
    }

    pub(crate) fn drops(&self, name: &str) -> bool {
        self.drop.iter().any(|glob| tool_names::names(glob, name))
    }
}

/// `transform`.
#[derive(Debug)]
pub(crate) struct Transform {
    pub(crate) plugin: PluginIndex,
    pub(crate) sees: Sees,
    /// For the redactions that the plugin asks for.
    pub(crate) on_unredactable: OnUnredactable,
}

/// How long a pause waits whose rule has no `timeout`: half of what the official SDKs wait for an
/// answer before they give up.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// `pause`.
#[derive(Debug)]
pub(crate) struct Pause {
    pub(crate) timeout: Option<Duration>,
    pub(crate) on_timeout: OnTimeout,
    pub(crate) subagents: Subagents,
}
