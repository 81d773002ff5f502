//! What a policy does, told in full: phases in order, each rule as its table, defaults filled in.

use std::fmt;

use leafgate_diagnostic::keys::{self, Table};
use serde::Serialize;

use crate::Policy;
use crate::assembly::Assembly;
use crate::file::assemble::raw::RawAssemble;
use crate::file::raw::{RawException, RawRule};
use crate::index::PluginIndex;
use crate::rule::{Action, Decide, Edit, Phase, Pin, Rule, With};

/// What a policy does: as TOML by `Display`, with what is no rule in comments, as JSON by `Serialize`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The generation's name.
    pub generation: String,
    /// The profiles, which make requests before any rule looks at them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<TableExplanation>,
    /// All phases in order, those without rules too.
    pub phases: Vec<PhaseExplanation>,
    /// The exceptions that are in force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<TableExplanation>,
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
    pub rules: Vec<TableExplanation>,
}

/// A table of a rule file with defaults filled in: as TOML by `Display`, as JSON by `Serialize`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableExplanation {
    /// File and line.
    pub origin: String,
    /// What stands under each key. What an exception allows has stars for what looks like a secret.
    #[serde(flatten)]
    pub says: toml::Table,
    /// The name of such tables.
    #[serde(skip)]
    name: &'static str,
    /// The keys of such tables, in the order in which they are written.
    #[serde(skip)]
    order: Vec<&'static str>,
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
    pub fn explain(&self) -> Explanation {
        let phase = |&phase: &Phase| {
            let rules = self.rules.iter().filter(|rule| rule.action.phase() == phase);
            let rules = rules.map(TableExplanation::of_rule).collect();
            PhaseExplanation { phase, summary: phase.summary(), rules }
        };
        Explanation {
            generation: self.generation_name(),
            profiles: self.assemblies.iter().map(|assembly| TableExplanation::of_profile(assembly)).collect(),
            phases: Phase::ALL.iter().map(phase).collect(),
            exceptions: self
                .exceptions
                .iter()
                .map(|it| TableExplanation::of_exception(&it.origin, it.says.clone()))
                .collect(),
            plugins: (0..self.declared).map(|at| explain_plugin(self, PluginIndex::new(at))).collect(),
        }
    }
}

impl TableExplanation {
    fn of<T: Table>(name: &'static str, origin: &str, says: toml::Table) -> Self {
        TableExplanation { origin: origin.to_owned(), says, name, order: keys::names(T::KEYS) }
    }

    pub(crate) fn of_rule(rule: &Rule) -> Self {
        TableExplanation::of::<RawRule>("rule", &rule.origin, rule.says_all())
    }

    pub(crate) fn of_exception(origin: &str, says: toml::Table) -> Self {
        TableExplanation::of::<RawException>("exception", origin, says)
    }

    fn of_profile(assembly: &Assembly) -> Self {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX).into();
        let profile = &assembly.profile;
        let defaults = [
            ("agent_mode", "client".into()),
            ("fallback_prompt", profile.fallback_prompt.clone().into()),
            ("drop", profile.drop.clone().into()),
            ("continuation", "skip-context".into()),
            ("max_context", number(profile.max_context as u64)),
            ("max_files", number(profile.max_files as u64)),
            ("max_file", number(assembly.max_file)),
        ];
        let mut says = filled(&assembly.says, defaults);
        says.insert("root".to_owned(), assembly.root.display().to_string().into());
        TableExplanation::of::<RawAssemble>("assemble", &assembly.origin, says)
    }
}

/// Returns a table with what it does not say.
fn filled(
    says: &toml::Table,
    defaults: impl IntoIterator<Item = (&'static str, toml::Value)>,
) -> toml::Table {
    let defaults = defaults.into_iter().map(|(key, value)| (key.to_owned(), value));
    defaults.chain(says.clone()).collect()
}

impl Rule {
    /// Returns its table with what it does not say.
    pub(crate) fn says_all(&self) -> toml::Table {
        filled(&self.says, defaults(self).into_iter().map(|(key, word)| (key, word.into())))
    }
}

/// What a rule does where it does not say so, as far as one word says it.
fn defaults(rule: &Rule) -> Vec<(&'static str, &'static str)> {
    let mut words = vec![("mode", rule.mode.name()), ("on_error", rule.on_error.name())];
    if !rule.on.is_request() {
        words.push(("on_odd", rule.on_odd.name()));
    }
    match &rule.action {
        Action::Redact(redact) => {
            words.extend([("with", redact.with.name()), ("published", redact.published.name())]);
            // Of the others there is nothing to restore.
            words.extend((redact.with == With::Token).then_some(("restore", redact.restore.name())));
        }
        Action::Pin(Pin::FirstSeen(on_drift)) => words.push(("on_drift", on_drift.name())),
        Action::Edit(Edit::Transform(transform)) => words
            .extend([("sees", transform.sees.name()), ("on_unredactable", transform.on_unredactable.name())]),
        Action::Decide(Decide::Pause(pause)) => {
            words.extend([("on_timeout", pause.on_timeout.name()), ("subagents", pause.subagents.name())]);
        }
        Action::Classify(_) | Action::Pin(_) | Action::Edit(_) | Action::Decide(_) => {}
    }
    words
}

fn explain_plugin(policy: &Policy, index: PluginIndex) -> PluginExplanation {
    let loaded = &policy.plugins[index];
    let description = loaded.plugin.description();
    let uses = |rule: &&Rule| match &rule.action {
        Action::Redact(redact) => redact.plugins.contains(&index),
        Action::Edit(Edit::Transform(transform)) => transform.plugin == index,
        Action::Classify(_) | Action::Pin(_) | Action::Edit(_) | Action::Decide(_) => false,
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
        writeln!(f, "# Policy {}", self.generation)?;
        if !self.profiles.is_empty() {
            writeln!(
                f,
                "\n# Profiles: a request that one is for, or that is sent to /p/<id>/…, is made by it first"
            )?;
        }
        self.profiles.iter().try_for_each(|profile| write!(f, "{profile}"))?;
        for (place, phase) in self.phases.iter().enumerate() {
            writeln!(f, "\n# {}. {}: {}", place + 1, phase.phase, phase.summary)?;
            phase.rules.iter().try_for_each(|rule| write!(f, "{rule}"))?;
        }
        if !self.exceptions.is_empty() {
            writeln!(f, "\n# Exceptions")?;
        }
        self.exceptions.iter().try_for_each(|exception| write!(f, "{exception}"))?;
        if !self.plugins.is_empty() {
            writeln!(f, "\n# Plugins")?;
        }
        self.plugins.iter().try_for_each(|plugin| write!(f, "{plugin}"))
    }
}

impl fmt::Display for TableExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n[[{}]] # {}", self.name, self.origin)?;
        let said = self.order.iter().filter_map(|key| self.says.get(*key).map(|value| (key, value)));
        said.into_iter().try_for_each(|(key, value)| writeln!(f, "{key} = {value}"))
    }
}

impl fmt::Display for PluginExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n# {} ({}, {})", self.name, self.world, self.file)?;
        writeln!(f, "#    {}: {}", self.calls_itself, self.summary)?;
        writeln!(f, "#    sha256 {}", self.sha256)?;
        if !self.labels.is_empty() {
            writeln!(f, "#    labels {}", self.labels.join(", "))?;
        }
        match self.used_by.is_empty() {
            true => writeln!(f, "#    no rule uses it"),
            false => writeln!(f, "#    used by {}", self.used_by.join(", ")),
        }
    }
}
