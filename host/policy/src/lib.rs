//! Rule files compiled to a policy; a request and its context to edits and a verdict.
//!
//! [`Policy::load`] reads a folder of TOML rules, or the built-in default, and refuses it with
//! diagnostics as long as anything in it is wrong: a policy that is only half understood guards
//! nothing. A loaded [`Policy`] is immutable and shared between threads: one generation.
//! [`Policy::evaluate`] takes one request through the phases of the engine and returns its edits,
//! the verdict and a report.
//!
//! What it must not do: HTTP, clocks that decide anything, randomness, files after loading. It
//! knows plugins only by the traits of `leafgate-contract`; what runs them is `leafgate-wasm`. Text of a
//! request appears in no error, report or `Debug` output of this crate.
//!
//! Where things are:
//!
//! - `file` reads rule files in two stages: `raw` is what they say, `compile` what the engine needs,
//!   and nothing else reads the former. `RULES.md` is the reference of the language; a test holds it
//!   to the keys that are read.
//! - `evaluate` has a file for each phase, and an action belongs to one phase (`rule`). Every text goes
//!   through `evaluate::search`; `redact` acts on what is found, `fixed` holds what cannot be replaced.
//! - Rules are many and leaves are many, so no rule walks all leaves: `lookup` puts together what all
//!   rules look for, `evaluate::candidates` makes of it the leaves that a rule is asked about.
//! - `memo` remembers what detectors said, for one generation.
//! - Exceptions are in force or not from the moment of the load on, which the caller gives.

mod agents;
pub mod answers;
mod assembly;
mod background;
mod bits;
mod bounded;
pub mod called;
mod changes;
mod condition;
mod endpoint;
mod evaluate;
mod exception;
mod explain;
mod explain_request;
mod file;
mod file_text;
mod index;
mod literal;
mod load;
mod loaded;
mod lookup;
mod memo;
mod name_match;
mod needles;
mod new_exception;
mod offered;
mod outside;
mod own;
mod own_index;
mod paths;
mod pattern;
mod promote;
mod reason;
mod report;
mod request;
mod rule;
mod said;
mod selector;
mod shorten;
mod tool_names;
mod verdict;
mod work;
mod written_exception;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use leafgate_contract::PluginLoader;
use leafgate_detect::{Engine, Input, KnownValues};
use leafgate_vault::Flow;

pub use agents::{AGENTS, OTHER_AGENT};
pub use assembly::{Approval, Assembly, Downgrade, FolderFiles, MadeRequest, NotMade, Otherwise, Rest};
pub use background::Background;
pub use changes::{Change, EXCEPTIONS, FILES, RuleChange};
pub use endpoint::endpoint;
pub use evaluate::{Evaluation, Recall, Unredactable};
pub use exception::has_ended;
pub use explain::{Explanation, PhaseExplanation, PluginExplanation, TableExplanation};
pub use explain_request::{LeafAccount, LeafRule, Near, RequestExplanation, RuleAccount};
pub use file::schema::{REFERENCE, rules_schema};
pub use file_text::FileText;
pub use leafgate_diagnostic::{Diagnostic, LoadError};
pub use load::{ManagedPolicy, PolicySource};
pub use loaded::LoadedPlugin;
pub use memo::MemoCounts;
pub use new_exception::{Allows, NewException, NoEnd, last_day};
pub use offered::Offered;
pub use outside::{Outside, Part};
pub use promote::{PromoteError, Promotion, promotion};
pub use report::{MAX_WOULD, Note, PhaseTime, PluginTime, Report, RuleReport, Would};
pub use rule::{
    DEFAULT_TIMEOUT, Mode, On, OnDrift, OnError, OnOdd, OnTimeout, OnUnredactable, Phase, Published, Restore,
    Sees, Subagents, Urgency, With,
};
pub use verdict::{Cause, Hold, HoldPlace, MAX_PLACES, Route, SAVED_EDITS, STRUCTURE, Verdict};
pub use written_exception::{WrittenException, written_exceptions};

/// All rules, profiles and plugins of one load, compiled.
#[derive(Debug)]
pub struct Policy {
    rules: Vec<rule::Rule>,
    lookup: lookup::Lookup,
    engines: Vec<Engine>,
    exceptions: exception::Exceptions,
    assemblies: Vec<Arc<Assembly>>,
    /// Those that the files declare, and behind them the detectors of the policy's own, which answer
    /// like plugins.
    plugins: Vec<LoadedPlugin>,
    /// In the order of the detectors of its own among the plugins.
    own: own_index::OwnIndex,
    /// Where values may return among the arguments of tools.
    flow: Arc<Flow>,
    /// Finds known values and nothing else; `None` where none are known.
    known: Option<Engine>,
    declared: usize,
    digest: [u8; 32],
    /// The same without exceptions that stand in files of their own.
    rules_digest: [u8; 32],
    memo: memo::Memo,
    warnings: Vec<Diagnostic>,
    alone: bool,
    /// How many of its rules, the first ones, the others may only add to.
    enforced: usize,
    /// Prompts of agents that are sent as a user's words.
    prompts: Vec<String>,
}

/// What is known about a request beside its body. The format is the document's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// What is looked at: rules about anything else are not asked.
    pub on: On,
    /// Of the policy's rules those that are asked, by their ids; `None` for all, so that everything that leaves is judged.
    pub only: Option<&'a BTreeSet<String>>,
    /// Opaque, the same for every turn of one conversation.
    pub session: &'a str,
    /// The client program, one of [`AGENTS`]; `None` where no client sent the request, as in
    /// `leafgate apply`.
    pub agent: Option<&'a str>,
    /// The model, where an API names it outside of the body; `None` for what the body says.
    pub model: Option<&'a str>,
    /// Where an answer is looked at, what its request names as models beside that one: servers differ
    /// in which of them they ask.
    pub other_models: &'a [String],
    /// Whether the answer comes as a stream, where an API says it outside of the body; `None` for
    /// what the body says.
    pub stream: Option<bool>,
    /// Whether an agent sends it that another one started, where the client says so; `None` and
    /// `Some(false)` are the same to rules.
    pub subagent: Option<bool>,
    /// The URL of the upstream that it goes to; `None` where it goes nowhere.
    pub upstream: Option<&'a str>,
    /// What the configuration calls that upstream, where it has a name.
    pub upstream_name: Option<&'a str>,
    /// The path that it was sent to, without its query; `None` where it came from no network.
    pub endpoint: Option<&'a str>,
    /// What it says outside its body. See [`Outside`].
    pub outside: &'a [Outside],
    /// The texts of the packed files in its body. See [`FileText`].
    pub files: &'a [FileText],
    /// The prompt of the agent that sends it, where that is sent as a user's words.
    pub prompt: Option<&'a str>,
}

/// What the rules of a policy ask of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfAnswers {
    /// Rules decide about tool calls.
    pub calls: bool,
    /// Rules see an answer as a whole: a stream must wait for its end.
    pub whole: bool,
    /// Rules read streams while they come: so many bytes of each text stay behind.
    pub look_behind: Option<usize>,
    /// All of these rules have an answer spelled anew that is odd in its spelling alone.
    pub respells: bool,
}

impl Policy {
    /// Loads a policy, with the plugins that it declares.
    ///
    /// # Errors
    /// Everything that is wrong, as diagnostics with file, line, caret and hint. Nothing is loaded
    /// in part.
    pub fn load(source: &PolicySource, plugins: &dyn PluginLoader) -> Result<Policy, LoadError> {
        load::load(source, None, plugins, None, None)
    }

    /// Loads a policy at a moment, on which depends which of its exceptions are in force (without one, as
    /// [`Policy::load`] has none, whatever ends has ended), with the operator's policy in the place of the built-in
    /// one, and with values that are looked for besides. Where no rule names `secrets/known`, a rule of its
    /// own redacts them, in any policy that has rules.
    ///
    /// # Errors
    /// As [`Policy::load`].
    pub fn load_knowing(
        source: &PolicySource,
        managed: Option<&ManagedPolicy>,
        plugins: &dyn PluginLoader,
        now: SystemTime,
        known: Option<Arc<KnownValues>>,
    ) -> Result<Policy, LoadError> {
        load::load(source, managed, plugins, Some(now), known)
    }

    /// Returns the moment at which an exception ends, and with it this generation: the same files
    /// mean something else from then on. `None` where none ends.
    pub fn ends_at(&self) -> Option<SystemTime> {
        self.exceptions.first_end()
    }

    /// Returns whether it finds what built-in detectors do not: by detectors of its own, by
    /// plugins, or by values that are known.
    pub fn detects_by_itself(&self) -> bool {
        !self.plugins.is_empty() || self.known.is_some()
    }

    /// Returns whether a text is, or holds, a value that somebody named as secret.
    pub fn is_known(&self, text: &str) -> bool {
        self.known.as_ref().is_some_and(|known| !known.scan(&Input::new(text)).is_empty())
    }

    /// Returns how its memory of earlier requests has fared.
    pub fn memo_counts(&self) -> MemoCounts {
        self.memo.counts()
    }

    /// Returns the same policy, to which a request that begins with one of these prompts as a user's words is an agent's.
    #[must_use]
    pub fn knowing_prompts(self, prompts: Vec<String>) -> Policy {
        Policy { prompts, ..self }
    }

    /// Returns the same policy with no memory of earlier requests, which decides the same and takes
    /// longer: for tests and measurements.
    #[must_use]
    pub fn without_memory(self) -> Policy {
        Policy { memo: memo::Memo::that_forgets(), ..self }
    }

    /// Returns the SHA-256 over all that decides what this policy does: rule files, plugins,
    /// detectors, the program's version.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Returns the generation's name: 6 hexadecimal digits for its rules, and 6 for these with their
    /// exceptions.
    pub fn generation_name(&self) -> String {
        base16ct::lower::encode_string(&[&self.rules_digest[..3], &self.digest[..3]].concat())
    }

    /// Returns what the names of all generations begin with that have these rules, whatever they except
    /// in files of their own.
    pub fn rules_name(&self) -> String {
        base16ct::lower::encode_string(&self.rules_digest[..3])
    }

    /// Returns the ids of the rules, in file order.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.rules.iter().map(|rule| &rule.id)
    }

    /// Returns whether any of its rules looks at this.
    pub fn asks_about(&self, on: On) -> bool {
        self.rules.iter().any(|rule| rule.on == on)
    }

    /// Returns the ids of the rules that act and do nothing else than pause. Others may pause besides, where
    /// they cannot redact or cannot run.
    pub fn pausing_rules(&self) -> impl Iterator<Item = &Arc<str>> {
        let pauses = |rule: &&rule::Rule| rule.action.pause().is_some() && !rule.monitors();
        self.rules.iter().filter(pauses).map(|rule| &rule.id)
    }

    /// Returns the upstreams to which its rules route, each with the rule and where that was
    /// written.
    pub fn routes(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, &str)> {
        self.rules.iter().filter_map(|rule| {
            let rule::Action::Decide(rule::Decide::Route(to)) = &rule.action else { return None };
            Some((to, &rule.id, rule.origin.as_str()))
        })
    }

    /// Returns what rules of these ids tag a request with: in file order, each tag once.
    pub fn tags<'p>(&'p self, matched: &'p [String]) -> Vec<&'p str> {
        let mut tags = Vec::new();
        for rule in self.of_ids(matched).filter(|rule| !rule.monitors()) {
            if let rule::Action::Decide(rule::Decide::Tag(tag)) = &rule.action
                && !tags.contains(&&**tag)
            {
                tags.push(&**tag);
            }
        }
        tags
    }

    /// Returns how much the one of the rules of these ids matters that matters most.
    pub fn severity(&self, matched: &[String]) -> Option<Urgency> {
        self.of_ids(matched).filter_map(|rule| rule.severity).max()
    }

    fn of_ids<'p>(&'p self, ids: &'p [String]) -> impl Iterator<Item = &'p rule::Rule> {
        self.rules.iter().filter(|rule| ids.iter().any(|id| **id == *rule.id))
    }

    /// Returns the plugins, in the order in which they were declared.
    pub fn plugins(&self) -> &[LoadedPlugin] {
        &self.plugins[..self.declared]
    }

    /// Returns what is sound and can yet hardly be meant, in the order of the files.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Returns what everybody is told of a folder that says `extends = "none"`.
    pub fn unprotected(&self) -> Option<&'static str> {
        self.alone.then_some("the built-in rules do not run (`extends = \"none\"`): nothing is redacted but by this policy's own rules")
    }

    /// Returns whether it looks at nothing: it has no rule, no profile and no plugin.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.assemblies.is_empty() && self.declared == 0
    }

    /// Returns what its rules may ask of the answer to a request; `None` where they ask nothing. What
    /// the context does not say may be anything.
    pub fn of_answers(&self, context: &Context<'_>) -> Option<OfAnswers> {
        let mut of = OfAnswers { respells: true, ..OfAnswers::default() };
        let mut is_none = true;
        for rule in self.rules.iter().filter(|rule| rule.on != On::Request && rule.may_apply(context)) {
            is_none = false;
            of.respells &= rule.on_odd == OnOdd::Respell;
            match (rule.on, rule.streaming) {
                (On::Request, _) => continue,
                (On::ToolCall, _) => of.calls = true,
                (On::Response, rule::Streaming::Buffer) => of.whole = true,
                (On::Response, rule::Streaming::LookBehind(bytes)) => {
                    of.look_behind = of.look_behind.max(Some(bytes))
                }
            }
        }
        (!is_none).then_some(of)
    }

    /// Returns the id of the first rule that may decide about the answer to a request: about its texts,
    /// or, where `calls` says that it may hold some, about its calls. Rules that only watch do not count.
    pub fn answer_guard(&self, context: &Context<'_>, calls: bool) -> Option<&str> {
        let guards = |rule: &&rule::Rule| match rule.on {
            On::Request => false,
            On::Response => true,
            On::ToolCall => calls,
        };
        let mut rules = self.rules.iter().filter(guards);
        rules.find(|rule| !rule.monitors() && rule.may_apply(context)).map(|rule| &*rule.id)
    }
}
