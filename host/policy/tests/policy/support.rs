//! Folders, requests and plugins for tests.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use leafgate_contract::{
    CheckedEdits, CheckedFindings, Cost, Description, DetectLeaf, Fault, LoadError as PluginLoadError,
    Plugin, PluginEdit, PluginFinding, PluginLoader, PluginSource, Spent, TransformRequest, World,
};
use leafgate_detect::{Confidence, Label};
use leafgate_diagnostic::{Diagnostic, Severity};
use leafgate_policy::{Context, Evaluation, LoadError, Policy, PolicySource, Verdict};
use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const EMAIL: &str = "jane.doe@mail.example.org";

/// A secret of real shape, put together here so that no scanner takes this file for a leak.
pub(crate) fn secret() -> String {
    format!("{}{}", "ghp_", "kfhfgtKAQWYm85EZgslmBp65HpUbz04IfkvX")
}

/// A payment card number that passes Luhn.
pub(crate) fn card() -> String {
    format!("{}{}", "45395787", "63621486")
}

pub(crate) fn vault() -> Vault {
    Vault::new(TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("laptop")))
}

/// Puts values back into a whole text of an answer.
pub(crate) fn restore(vault: &Vault, text: &str) -> String {
    let mut restorer = vault.restorer();
    restorer.push(text, &mut []) + &restorer.finish(&mut [])
}

pub(crate) fn token(label: &str, value: &str) -> String {
    vault().keys().token(label, value).as_str().to_owned()
}

/// Fake plugins by the name they are declared under.
#[derive(Default)]
pub(crate) struct Fakes(BTreeMap<String, Arc<Fake>>);

impl Fakes {
    pub(crate) fn with(mut self, name: &str, fake: Fake) -> Self {
        self.0.insert(name.to_owned(), Arc::new(fake));
        self
    }

    pub(crate) fn get(&self, name: &str) -> &Fake {
        &self.0[name]
    }
}

impl PluginLoader for Fakes {
    fn load(&self, source: &PluginSource) -> Result<Arc<dyn Plugin>, PluginLoadError> {
        match self.0.get(&source.name) {
            Some(fake) => {
                *fake.source.lock().unwrap() = Some(source.clone());
                Ok(Arc::clone(fake) as Arc<dyn Plugin>)
            }
            None => {
                let hint = Some("build it".into());
                Err(PluginLoadError { hint, ..PluginLoadError::new("not a component") })
            }
        }
    }
}

type Detect = dyn Fn(&[DetectLeaf<'_>]) -> Result<Vec<PluginFinding>, Fault> + Send + Sync;
type Transform = dyn Fn(&TransformRequest<'_>) -> Result<Vec<PluginEdit>, Fault> + Send + Sync;

enum Behaviour {
    Detect(Box<Detect>),
    Transform(Box<Transform>),
}

/// A plugin of a few lines, which remembers what it was shown.
pub(crate) struct Fake {
    description: Description,
    behaviour: Behaviour,
    /// The texts of each call.
    pub(crate) calls: Mutex<Vec<Vec<String>>>,
    /// What its request had cost it after each call.
    pub(crate) shown_bytes: Mutex<Vec<usize>>,
    pub(crate) source: Mutex<Option<PluginSource>>,
}

impl Fake {
    fn new(behaviour: Behaviour) -> Self {
        let description = Description {
            name: "fake".into(),
            version: "1.2".into(),
            summary: "Fakes.".into(),
            labels: ["NAME", "OTHER"].map(|label| Label::new(label).unwrap()).to_vec(),
            config_schema: None,
        };
        Fake {
            description,
            behaviour,
            calls: Mutex::default(),
            shown_bytes: Mutex::default(),
            source: Mutex::default(),
        }
    }

    pub(crate) fn detector(
        detect: impl Fn(&[DetectLeaf<'_>]) -> Result<Vec<PluginFinding>, Fault> + Send + Sync + 'static,
    ) -> Self {
        Fake::new(Behaviour::Detect(Box::new(detect)))
    }

    pub(crate) fn transformer(
        transform: impl Fn(&TransformRequest<'_>) -> Result<Vec<PluginEdit>, Fault> + Send + Sync + 'static,
    ) -> Self {
        Fake::new(Behaviour::Transform(Box::new(transform)))
    }

    /// Finds every occurrence of a word, as label `NAME`.
    pub(crate) fn finds(word: &'static str) -> Self {
        Fake::detector(move |leaves| {
            let of_leaf = |(leaf, shown): (usize, &DetectLeaf<'_>)| {
                shown
                    .text
                    .match_indices(word)
                    .map(move |(at, _)| finding(leaf, at..at + word.len()))
                    .collect::<Vec<_>>()
            };
            Ok(leaves.iter().enumerate().flat_map(of_leaf).collect())
        })
    }

    pub(crate) fn calls(&self) -> Vec<Vec<String>> {
        self.calls.lock().unwrap().clone()
    }
}

pub(crate) fn finding(leaf: usize, at: std::ops::Range<usize>) -> PluginFinding {
    PluginFinding { leaf, at, label: 0, confidence: Confidence::High }
}

impl fmt::Debug for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fake")
    }
}

impl Plugin for Fake {
    fn description(&self) -> &Description {
        &self.description
    }

    fn world(&self) -> World {
        match self.behaviour {
            Behaviour::Detect(_) => World::Detector,
            Behaviour::Transform(_) => World::Transformer,
        }
    }

    fn digest(&self) -> [u8; 32] {
        [1; 32]
    }

    fn detect(&self, leaves: &[DetectLeaf<'_>], spent: &Spent) -> Result<CheckedFindings, Fault> {
        let shown_bytes = leaves.iter().map(|leaf| leaf.text.len()).sum();
        let total = spent.charge(Cost { shown_bytes, ..Cost::default() });
        self.shown_bytes.lock().unwrap().push(total.shown_bytes);
        self.calls.lock().unwrap().push(leaves.iter().map(|leaf| leaf.text.to_owned()).collect());
        match &self.behaviour {
            Behaviour::Detect(detect) => {
                CheckedFindings::checked(detect(leaves)?, leaves, self.description.labels.len())
            }
            Behaviour::Transform(_) => panic!("a transformer was asked to detect"),
        }
    }

    fn transform(&self, request: &TransformRequest<'_>, _: &Spent) -> Result<CheckedEdits, Fault> {
        self.calls.lock().unwrap().push(request.leaves.iter().map(|leaf| leaf.text.to_owned()).collect());
        match &self.behaviour {
            Behaviour::Transform(transform) => {
                CheckedEdits::checked(transform(request)?, request, self.description.labels.len())
            }
            Behaviour::Detect(_) => panic!("a detector was asked to transform"),
        }
    }
}

/// A folder with one rule file and an empty file for each plugin.
pub(crate) fn folder(rules: &str, fakes: &Fakes) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    leafgate_harness::rules::write_alone(folder.path(), rules).unwrap();
    for name in fakes.0.keys() {
        std::fs::write(folder.path().join(format!("{name}.wasm")), "").unwrap();
    }
    folder
}

pub(crate) fn load_folder(folder: &Path, fakes: &Fakes) -> Result<Policy, LoadError> {
    Policy::load(&PolicySource::Folder(folder.to_owned()), fakes)
}

pub(crate) fn try_policy(rules: &str, fakes: &Fakes) -> Result<Policy, LoadError> {
    load_folder(folder(rules, fakes).path(), fakes)
}

pub(crate) fn policy_with(rules: &str, fakes: &Fakes) -> Policy {
    try_policy(rules, fakes).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn policy(rules: &str) -> Policy {
    policy_with(rules, &Fakes::default())
}

pub(crate) fn document(body: &Value) -> Arc<Document> {
    parse(&body.to_string(), Format::OpenaiChat)
}

pub(crate) fn parse(body: &str, format: Format) -> Arc<Document> {
    Arc::new(Document::parse(body.to_owned().into(), format, &Limits::default()).unwrap())
}

/// A chat request with one user message.
pub(crate) fn chat(text: &str) -> Value {
    json!({"model": "gpt-4o", "messages": [{"role": "user", "content": text}]})
}

/// A chat request of messages that the user and the model say in turns.
pub(crate) fn history(texts: &[String]) -> Value {
    let role = |turn: usize| if turn.is_multiple_of(2) { "user" } else { "assistant" };
    let message = |(turn, text): (usize, &String)| json!({"role": role(turn), "content": text});
    json!({"model": "gpt-4o", "messages": texts.iter().enumerate().map(message).collect::<Vec<_>>()})
}

/// A chat request with a tool call, its arguments and its result.
pub(crate) fn tool_chat(arguments: &Value, result: &str) -> Value {
    json!({"model": "gpt-4o", "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "run_sql", "arguments": arguments.to_string()}},
        ]},
        {"role": "tool", "tool_call_id": "call_1", "content": result},
    ]})
}

pub(crate) fn evaluate(policy: &Policy, body: &Value) -> Evaluation {
    policy.evaluate(document(body), &Context { session: "s1", ..Context::default() }, &vault())
}

/// The request that would leave.
pub(crate) fn sent(evaluation: &Evaluation) -> Value {
    serde_json::from_slice(&evaluation.draft.render()).unwrap()
}

/// The text at a pointer of the request that would leave.
pub(crate) fn sent_at(evaluation: &Evaluation, pointer: &str) -> String {
    sent(evaluation)
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no text at {pointer}"))
        .to_owned()
}

#[track_caller]
pub(crate) fn block(evaluation: &Evaluation) -> &leafgate_policy::Hold {
    match &evaluation.verdict {
        Verdict::Block(hold) => hold,
        other => panic!("not blocked: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_forward(evaluation: &Evaluation) {
    assert_eq!(evaluation.verdict, Verdict::Forward);
}

/// Everything that an evaluation tells anybody, as one text.
pub(crate) fn told(evaluation: &Evaluation) -> String {
    let report = serde_json::to_string(&evaluation.report).unwrap();
    let verdict = serde_json::to_string(&evaluation.verdict).unwrap();
    format!("{report}{verdict}{:?}{:?}", evaluation, evaluation.draft)
}

/// A diagnostic on one line, for tables of many: how one is drawn is pinned where there are few.
pub(crate) fn in_a_row(found: &Diagnostic) -> String {
    let severity = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    format!("{severity} at column {}, {}", found.column, found.on_one_line())
}
