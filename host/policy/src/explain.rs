//! What a policy does, told in full: phases in order, each rule with what it matches and does,
//! defaults filled in.

use std::fmt;

use leafgate_glob::Glob;
use serde::Serialize;

use crate::Policy;
use crate::assembly::AssemblyExplanation;
use crate::exception::Exception;
use crate::index::PluginIndex;
use crate::own::PACK;
use crate::rule::{
    Action, DEFAULT_TIMEOUT, Decide, Edit, FilterTools, Mode, On, OnDrift, OnError, OnOdd, Pause, Phase, Pin,
    Redact, Restore, Rewrite, Rule, Streaming, Subagents, Urgency,
};
use crate::shorten::Shorten;

/// A policy in words: as text by `Display`, as JSON by `Serialize`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The generation's name.
    pub generation: String,
    /// The profiles, which make requests before any rule looks at them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<AssemblyExplanation>,
    /// All phases in order, those without rules too.
    pub phases: Vec<PhaseExplanation>,
    /// The exceptions that are in force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<ExceptionExplanation>,
    /// All plugins.
    pub plugins: Vec<PluginExplanation>,
}

/// One phase.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseExplanation {
    /// The phase.
    pub phase: Phase,
    /// What happens in it.
    pub summary: &'static str,
    /// Its rules, in file order.
    pub rules: Vec<RuleExplanation>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleExplanation {
    /// Its id.
    pub id: String,
    /// File and line.
    pub origin: String,
    /// Whether it acts or only counts.
    pub mode: Mode,
    /// Its action.
    pub action: &'static str,
    /// Whether it is about requests, responses or tool calls.
    #[serde(skip_serializing_if = "On::is_request")]
    pub on: On,
    /// What it looks at.
    pub matches: String,
    /// Its condition, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// What it does, one line each.
    pub does: Vec<String>,
    /// What happens when it cannot run.
    pub on_error: OnError,
    /// Its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How much it matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Urgency>,
    /// What it is about, in words of its author.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Who answers for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Where more is said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs: Option<String>,
}

/// One exception.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionExplanation {
    /// File and line.
    pub origin: String,
    /// What it allows, and where.
    pub allows: String,
    /// The rules that it is about; all redact rules where it is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Why.
    pub reason: String,
    /// Who answers for it.
    pub by: String,
    /// The last day; `None` where it does not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// One plugin.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginExplanation {
    /// The name that rules use.
    pub name: String,
    /// `detector` or `transformer`.
    pub world: &'static str,
    /// The file.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Its own name and version.
    pub calls_itself: String,
    /// Its own sentence.
    pub summary: String,
    /// Labels of its findings.
    pub labels: Vec<String>,
    /// Rules that use it.
    pub used_by: Vec<String>,
}

impl Policy {
    /// Returns what each phase does, rule by rule, with all defaults filled in.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        let phase = |&(phase, summary): &(Phase, &'static str)| {
            let rules = self.rules.iter().filter(|rule| rule.action.phase() == phase);
            PhaseExplanation { phase, summary, rules: rules.map(|rule| explain_rule(self, rule)).collect() }
        };
        Explanation {
            generation: self.generation_name(),
            profiles: self.assemblies.iter().map(|assembly| AssemblyExplanation::of(assembly)).collect(),
            phases: PHASES.iter().map(phase).collect(),
            exceptions: self.exceptions.iter().map(|exception| explain_exception(self, exception)).collect(),
            plugins: (0..self.declared).map(|at| explain_plugin(self, PluginIndex::new(at))).collect(),
        }
    }
}

const PHASES: &[(Phase, &str)] = &[
    (Phase::Classify, "sections are said to be of another kind than they look"),
    (Phase::Redact, "what arrives is searched, and what is found is replaced"),
    (Phase::Pin, "leaves are fixed: no later rule or plugin changes them"),
    (
        Phase::Saved,
        "edits that people saved are made where they fit, where the mode says so and no leaf is pinned",
    ),
    (
        Phase::Rewrite,
        "leaves are rewritten, messages deleted and put in, transformer plugins run, in file order",
    ),
    (
        Phase::RedactAgain,
        "whatever a rule, plugin or saved edit wrote is searched again, at once, by all redact rules",
    ),
    (Phase::Decide, "route, pause and block rules look at the request as it would leave"),
];

pub(crate) fn explain_rule(policy: &Policy, rule: &Rule) -> RuleExplanation {
    RuleExplanation {
        id: rule.id.to_string(),
        origin: rule.origin.clone(),
        mode: rule.mode,
        action: rule.action.name(),
        on: rule.on,
        matches: rule.selector.to_string(),
        when: rule.when.as_ref().map(ToString::to_string),
        does: does(policy, rule),
        on_error: rule.on_error,
        reason: rule.reason.as_ref().map(ToString::to_string),
        severity: rule.about.severity,
        tags: rule.about.tags.clone(),
        owner: rule.about.owner.clone(),
        docs: rule.about.docs.clone(),
    }
}

fn does(policy: &Policy, rule: &Rule) -> Vec<String> {
    let mut lines = does_to_requests(policy, &rule.action);
    match (rule.on, rule.streaming) {
        (On::Request, _) => {}
        (On::ToolCall, _) => {
            lines.push("acts on the tool calls of answers, which wait for their end".to_owned())
        }
        (On::Response, Streaming::Buffer) => {
            lines.push("acts on answers; a stream waits for its end".to_owned());
        }
        (On::Response, Streaming::LookBehind(bytes)) => {
            lines.push(format!(
                "acts on answers; of a stream {bytes} bytes stay behind, and a word that has not ended"
            ));
        }
    }
    if rule.on_odd == OnOdd::Respell {
        lines.push(
            "an answer that clients read differently is spelled anew where its spelling alone is odd"
                .to_owned(),
        );
    }
    lines
}

fn does_to_requests(policy: &Policy, action: &Action) -> Vec<String> {
    match action {
        Action::Redact(redact) => redact_lines(policy, redact),
        Action::Classify(kind) => vec![format!("says that its section is `{kind}`")],
        Action::Pin(Pin::To(to)) => vec![format!("sets it to {to:?} and pins it")],
        Action::Pin(Pin::Received) => vec!["pins it as it stands after redaction".to_owned()],
        Action::Pin(Pin::FirstSeen(on_drift)) => vec![
            "sets it to the text that it had first in its conversation, and pins it".to_owned(),
            match on_drift {
                OnDrift::Pin => "where it differs from that: it leaves as it was first".to_owned(),
                OnDrift::Pause | OnDrift::Block => format!("where it differs from that: {on_drift}"),
            },
        ],
        Action::Pin(Pin::Protect { edit, delete }) => {
            let kept = [(*edit, "nobody changes it"), (*delete, "nobody leaves it out")];
            kept.iter().filter(|(kept, _)| *kept).map(|(_, what)| (*what).to_owned()).collect()
        }
        Action::Edit(Edit::FilterTools(filter)) => filter_lines(filter),
        Action::Edit(Edit::StripTools) => vec![
            "leaves out all tools, and every message in which one is called or answers".to_owned(),
            "what was said in such messages is put in as text".to_owned(),
        ],
        Action::Edit(Edit::NormaliseTools) => vec![
            "marks every property of the tools' parameters as required, and leaves `strict` out".to_owned(),
            "runs after all other rules that write".to_owned(),
        ],
        Action::Edit(Edit::Options(options)) => options
            .iter()
            .map(|(key, value)| format!("gives the request the option {key} = {value}"))
            .collect(),
        Action::Edit(Edit::Model(model)) => vec![
            format!("sends the request to the model {model:?}"),
            "every other rule is asked about that model".to_owned(),
        ],
        Action::Edit(Edit::Rewrite(rewrite)) => vec![match rewrite {
            Rewrite::Shorten(Shorten { lines, chars }) => {
                let most = |most: &Option<usize>, of: &str| most.map(|most| format!("{most} {of}"));
                let limits: Vec<String> =
                    [most(lines, "lines"), most(chars, "characters")].into_iter().flatten().collect();
                format!("leaves out the middle of what has more than {}", limits.join(" or "))
            }
            Rewrite::Set(text) => format!("sets it to {text:?}"),
            Rewrite::Prepend(text) => format!("writes {text:?} before it"),
            Rewrite::Append(text) => format!("writes {text:?} after it"),
            Rewrite::Replace { pattern, with } => format!("replaces /{pattern}/ by {with:?}"),
        }],
        Action::Edit(Edit::Delete(delete)) => {
            let what = "deletes its message or tool definition, with the calls and results that belong to it";
            let history = match delete.history {
                true => "where `match` names a tool: its calls and results go too",
                false => "where `match` names a tool and nothing else: its definitions alone go",
            };
            vec![what.to_owned(), history.to_owned()]
        }
        Action::Edit(Edit::Insert(insert)) => vec![format!(
            "puts {:?} before the latest message of the user, unless it stands there",
            insert.text
        )],
        Action::Edit(Edit::Transform(transform)) => vec![
            format!(
                "runs plugin {} on it, which sees the {} text",
                policy.plugins[transform.plugin].name, transform.sees
            ),
            format!("what the plugin wants redacted and cannot be: {}", transform.on_unredactable),
        ],
        Action::Decide(Decide::Pause(pause)) => pause_lines(pause),
        Action::Decide(Decide::Block) => vec!["blocks the request".to_owned()],
        Action::Decide(Decide::Route(to)) => vec![
            format!("sends the request to the upstream `{to}`, where it is judged anew"),
            "its credentials, and whatever else is for the first upstream alone, stay behind".to_owned(),
        ],
    }
}

fn redact_lines(policy: &Policy, redact: &Redact) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(engine) = redact.engine {
        let count = policy.engines[engine].detectors().count();
        let plural = if count == 1 { "" } else { "s" };
        lines.push(format!("looks for {} ({count} detector{plural})", redact.detectors.join(", ")));
    }
    for &plugin in &redact.plugins {
        let plugin = &policy.plugins[plugin];
        let labels = &plugin.plugin.description().labels;
        if &*plugin.name == PACK {
            let ids = plugin.detectors.iter().map(ToString::to_string).collect::<Vec<_>>();
            lines.push(format!("looks for {} (labels {})", ids.join(", "), labels.join(", ")));
            continue;
        }
        lines.push(format!("looks with plugin {} (labels {})", plugin.name, labels.join(", ")));
    }
    let stays = if redact.restore == Restore::Off { ", which stays in the answer" } else { "" };
    lines.push(format!("replaces by: {}{stays}", redact.with));
    lines.push(format!(
        "published examples (keys of documentation, card numbers for tests): {}",
        redact.published
    ));
    if redact.releasable {
        lines.push("a person may release what it replaced, for one request that waits".to_owned());
    }
    lines.push(format!("what cannot be replaced: {}", redact.on_unredactable));
    lines.push(format!("what is found in base64, hexadecimal digits or data URLs: {}", redact.on_encoded));
    lines.push(format!(
        "what is found in the path, a query parameter or a header: {}",
        redact.on_unredactable
    ));
    lines
}

fn filter_lines(filter: &FilterTools) -> Vec<String> {
    let names = |globs: &[Glob]| globs.iter().map(Glob::to_string).collect::<Vec<_>>().join(", ");
    let line = |what: &str, globs: &[Glob]| (!globs.is_empty()).then(|| format!("{what} {}", names(globs)));
    let lines = [line("keeps the tools", &filter.keep), line("drops the tools", &filter.drop)];
    let rest = "with the last tool goes what means nothing without tools".to_owned();
    lines.into_iter().flatten().chain([rest]).collect()
}

fn pause_lines(pause: &Pause) -> Vec<String> {
    let timeout = pause.timeout.unwrap_or(DEFAULT_TIMEOUT);
    let mut lines =
        vec![format!("pauses the request, at most {} s, then: {}", timeout.as_secs(), pause.on_timeout)];
    if pause.subagents == Subagents::Skip {
        lines.push("lets requests of sub-agents pass, as far as their client says so".to_owned());
    }
    lines
}

pub(crate) fn explain_exception(policy: &Policy, exception: &Exception) -> ExceptionExplanation {
    ExceptionExplanation {
        origin: exception.origin.clone(),
        allows: exception.to_string(),
        rules: exception.rules.iter().map(|&rule| policy.rules[rule].id.to_string()).collect(),
        reason: exception.reason.clone(),
        by: exception.by.clone(),
        until: exception.ends.map(|day| day.to_string()),
    }
}

fn explain_plugin(policy: &Policy, index: PluginIndex) -> PluginExplanation {
    let loaded = &policy.plugins[index];
    let description = loaded.plugin.description();
    let uses = |rule: &&Rule| match &rule.action {
        Action::Redact(redact) => redact.plugins.contains(&index),
        Action::Edit(Edit::Transform(transform)) => transform.plugin == index,
        Action::Edit(
            Edit::Rewrite(_)
            | Edit::Delete(_)
            | Edit::Insert(_)
            | Edit::FilterTools(_)
            | Edit::StripTools
            | Edit::NormaliseTools
            | Edit::Options(_)
            | Edit::Model(_),
        )
        | Action::Classify(_)
        | Action::Pin(_)
        | Action::Decide(_) => false,
    };
    PluginExplanation {
        name: loaded.name.to_string(),
        world: loaded.plugin.world().name(),
        file: loaded.path.display().to_string(),
        sha256: base16ct::lower::encode_string(&loaded.plugin.digest()),
        calls_itself: format!("{} {}", description.name, description.version),
        summary: description.summary.clone(),
        labels: description.labels.iter().map(ToString::to_string).collect(),
        used_by: policy.rules.iter().filter(uses).map(|rule| rule.id.to_string()).collect(),
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Policy {}", self.generation)?;
        if !self.profiles.is_empty() {
            writeln!(f, "\nProfiles: a request that one is for is made by it, before the phases")?;
        }
        self.profiles.iter().try_for_each(|profile| write!(f, "{profile}"))?;
        for (place, phase) in self.phases.iter().enumerate() {
            writeln!(f, "\n{}. {}: {}", place + 1, phase.phase, phase.summary)?;
            // The others have no rules of their own.
            let ruled = !matches!(phase.phase, Phase::Saved | Phase::RedactAgain);
            if phase.rules.is_empty() && ruled {
                writeln!(f, "   no rules")?;
            }
            phase.rules.iter().try_for_each(|rule| write!(f, "{rule}"))?;
        }
        if !self.exceptions.is_empty() {
            writeln!(f, "\nExceptions")?;
        }
        self.exceptions.iter().try_for_each(|exception| write!(f, "{exception}"))?;
        if !self.plugins.is_empty() {
            writeln!(f, "\nPlugins")?;
        }
        self.plugins.iter().try_for_each(|plugin| write!(f, "{plugin}"))
    }
}

impl fmt::Display for RuleExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "   {} ({}, {})", self.id, self.action, self.origin)?;
        match self.mode {
            Mode::Enforce => {}
            Mode::Warn => {
                writeln!(f, "      only warns: it changes and holds nothing, and the answer names it")?
            }
            Mode::Monitor => writeln!(f, "      only counts: it changes and holds nothing")?,
        }
        writeln!(f, "      looks at {}", self.matches)?;
        if let Some(when) = &self.when {
            writeln!(f, "      when {when}")?;
        }
        self.does.iter().try_for_each(|line| writeln!(f, "      {line}"))?;
        writeln!(f, "      if it cannot run: {}", self.on_error)?;
        self.reason.iter().try_for_each(|reason| writeln!(f, "      reason: {reason}"))?;
        self.severity.iter().try_for_each(|severity| writeln!(f, "      severity: {severity}"))?;
        if !self.tags.is_empty() {
            writeln!(f, "      tags: {}", self.tags.join(", "))?;
        }
        self.owner.iter().try_for_each(|owner| writeln!(f, "      owner: {owner}"))?;
        self.docs.iter().try_for_each(|docs| writeln!(f, "      docs: {docs}"))
    }
}

impl fmt::Display for ExceptionExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "   allows {} ({})", self.allows, self.origin)?;
        if !self.rules.is_empty() {
            writeln!(f, "      of {}", self.rules.join(", "))?;
        }
        let until = self.until.as_ref().map_or("it does not end".to_owned(), |day| format!("until {day}"));
        writeln!(f, "      {until}, by {}: {}", self.by, self.reason)
    }
}

impl fmt::Display for PluginExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "   {} ({}, {})", self.name, self.world, self.file)?;
        writeln!(f, "      {}: {}", self.calls_itself, self.summary)?;
        writeln!(f, "      sha256 {}", self.sha256)?;
        if !self.labels.is_empty() {
            writeln!(f, "      labels {}", self.labels.join(", "))?;
        }
        match self.used_by.is_empty() {
            true => writeln!(f, "      no rule uses it"),
            false => writeln!(f, "      used by {}", self.used_by.join(", ")),
        }
    }
}
