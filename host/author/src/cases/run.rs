//! Cases, asked of a plugin.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use leafgate_contract::{
    CheckedEdits, CheckedFindings, DetectLeaf, Fault, LoadError, Plugin, PluginEdit, PluginFinding, Spent,
    TransformLeaf, TransformRequest, TransformSection, World,
};

use serde::Serialize;

use super::expect;
use super::{Cases, Expected, GivenText, PluginCase};

/// Loads the plugin with a configuration, as JSON text.
pub type Load<'a> = &'a dyn Fn(&str) -> Result<Arc<dyn Plugin>, LoadError>;

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaseOutcome {
    /// The case.
    pub name: String,
    /// Its line in the file, from 1.
    pub line: usize,
    /// What is wrong, a sentence each without a full stop; none where the case is fulfilled.
    pub problems: Vec<String>,
}

/// Asks a plugin all cases. One outcome for each, and one for the detector that answers otherwise
/// when it is asked about all of them together.
pub fn run(cases: &Cases, load: Load<'_>) -> Vec<CaseOutcome> {
    let mut loaded: HashMap<&str, Result<Arc<dyn Plugin>, LoadError>> = HashMap::new();
    let (mut outcomes, mut told) = (Vec::new(), HashSet::new());
    for case in &cases.cases {
        let plugin = loaded.entry(&case.config).or_insert_with(|| load(&case.config));
        let mut problems = problems(case, plugin);
        let refused = plugin.is_err() && !matches!(case.expected, Expected::Refused(_));
        // One fault is told once, whatever the configurations are with which it comes.
        if refused && !told.insert(problems.clone()) {
            problems = vec!["the plugin is not loaded, as told above".to_owned()];
        }
        outcomes.push(CaseOutcome { name: case.name.clone(), line: case.line, problems });
    }
    outcomes.extend(together(cases, &loaded));
    outcomes
}

fn problems(case: &PluginCase, plugin: &Result<Arc<dyn Plugin>, LoadError>) -> Vec<String> {
    let plugin = match (plugin, &case.expected) {
        (Err(error), Expected::Refused(part)) => return missing(part, &error.message),
        (Err(error), _) => return vec![format!("the plugin is not loaded: {}", with_hint(error))],
        (Ok(_), Expected::Refused(_)) => return vec!["it accepts the configuration".to_owned()],
        (Ok(plugin), _) => &**plugin,
    };
    match (plugin.world(), &case.expected) {
        (World::Detector, Expected::Edits { .. }) => {
            vec!["a detector edits nothing: the case must say what it `finds`".to_owned()]
        }
        (World::Transformer, Expected::Findings(_)) => {
            vec!["a transformer finds nothing: the case must say what a text `becomes`".to_owned()]
        }
        (World::Detector, _) => {
            let judge = |found: Vec<PluginFinding>| match &case.expected {
                Expected::Findings(expected) => {
                    expect::findings(&case.given, &plugin.description().labels, expected, &found)
                }
                _ => vec![format!("it does not fail: it finds {}", found.len())],
            };
            answer(case, || detect(plugin, &case.given), judge)
        }
        (World::Transformer, _) => {
            let judge = |proposed: Vec<PluginEdit>| match &case.expected {
                Expected::Edits { texts, other } => {
                    expect::edits(&case.given, &plugin.description().labels, texts, other, &proposed)
                }
                _ => vec![format!("it does not fail: it proposes {} edits", proposed.len())],
            };
            answer(case, || transform(plugin, &case.given), judge)
        }
    }
}

/// Asks twice, and judges the first answer.
fn answer<T: Clone + PartialEq>(
    case: &PluginCase,
    ask: impl Fn() -> Result<Vec<T>, Fault>,
    judge: impl FnOnce(Vec<T>) -> Vec<String>,
) -> Vec<String> {
    let first = ask();
    let mut problems = match (&first, &case.expected) {
        (Err(fault), Expected::Fault(part)) => missing(part, &told(fault)),
        (Err(fault), _) => vec![format!("it fails: it {}", told(fault))],
        (Ok(answer), _) => judge(answer.clone()),
    };
    // A deadline is missed by some microseconds more or less: faults need not be the same.
    let again = ask();
    if first.as_ref().ok() != again.as_ref().ok() {
        problems.push("it answers otherwise when it is asked again".to_owned());
    }
    problems
}

pub(crate) fn detect(plugin: &dyn Plugin, given: &GivenText) -> Result<Vec<PluginFinding>, Fault> {
    let leaves: Vec<_> = detect_leaves(given).collect();
    plugin.detect(&leaves, &Spent::default()).map(CheckedFindings::into_vec)
}

fn detect_leaves(given: &GivenText) -> impl Iterator<Item = DetectLeaf<'_>> {
    given.leaves.iter().map(|leaf| DetectLeaf {
        kind: leaf.kind(),
        value: leaf.value(),
        role: leaf.role(),
        tool: leaf.tool.as_deref(),
        key: leaf.key(),
        text: &leaf.text,
    })
}

pub(crate) fn transform(plugin: &dyn Plugin, given: &GivenText) -> Result<Vec<PluginEdit>, Fault> {
    let pointers: Vec<String> =
        (0..given.leaves.len()).map(|place| format!("/messages/{place}/content")).collect();
    let sections = given.leaves.iter().enumerate().map(|(place, leaf)| TransformSection {
        kind: leaf.section(),
        role: leaf.role(),
        label: leaf.section().name(),
        tool: leaf.tool.as_deref(),
        parent: None,
        message: Some(place),
    });
    let sections: Vec<_> = sections.collect();
    let leaves =
        given.leaves.iter().zip(&pointers).enumerate().map(|(place, (leaf, pointer))| TransformLeaf {
            section: place,
            kind: leaf.kind(),
            value: leaf.value(),
            pointer,
            key: leaf.key(),
            text: &leaf.text,
        });
    let leaves: Vec<_> = leaves.collect();
    let request = TransformRequest {
        format: &given.format,
        model: &given.model,
        session: &given.session,
        subagent: given.subagent,
        sections: &sections,
        leaves: &leaves,
    };
    plugin.transform(&request, &Spent::default()).map(CheckedEdits::into_vec)
}

/// Asks each detector about the leaves of all its cases together, last one first: the gate splits
/// and reorders them as it likes.
fn together(
    cases: &Cases,
    loaded: &HashMap<&str, Result<Arc<dyn Plugin>, LoadError>>,
) -> Option<CaseOutcome> {
    let mut liars = Vec::new();
    for (config, plugin) in loaded {
        let Ok(plugin) = plugin else { continue };
        let asked =
            |case: &&PluginCase| case.config == *config && matches!(case.expected, Expected::Findings(_));
        let asked: Vec<&PluginCase> = cases.cases.iter().filter(asked).collect();
        let alone: Option<Vec<_>> = asked.iter().map(|case| detect(&**plugin, &case.given).ok()).collect();
        // What fails alone is told there.
        let Some(alone) = alone.filter(|_| plugin.world() == World::Detector) else { continue };
        let mut leaves: Vec<_> = asked.iter().flat_map(|case| detect_leaves(&case.given)).collect();
        leaves.reverse();
        let all = plugin.detect(&leaves, &Spent::default()).map(CheckedFindings::into_vec);
        let mut first = 0;
        for (case, alone) in asked.iter().zip(alone) {
            let places = first..first + case.given.leaves.len();
            first = places.end;
            let of_case = |findings: &[PluginFinding]| {
                let here = findings.iter().cloned().filter_map(|finding| {
                    let place = leaves.len() - 1 - finding.leaf;
                    places.contains(&place).then(|| PluginFinding { leaf: place - places.start, ..finding })
                });
                sorted(here.collect())
            };
            if all.as_deref().map(of_case).ok() != Some(sorted(alone)) {
                liars.push(case.line);
            }
        }
    }
    liars.sort_unstable();
    let line = *liars.first()?;
    let lines = liars.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let problem = format!(
        "it answers otherwise about the cases of lines {lines} when it is asked about all leaves together, in another order"
    );
    Some(CaseOutcome {
        name: "answers depend on the leaf and the configuration alone".to_owned(),
        line,
        problems: vec![problem],
    })
}

fn sorted(mut findings: Vec<PluginFinding>) -> Vec<PluginFinding> {
    findings.sort_by_key(|finding| (finding.leaf, finding.at.start, finding.at.end, finding.label));
    findings
}

/// Returns a fault with the plugin's own words, which only its author sees.
pub fn told(fault: &Fault) -> String {
    match fault.words() {
        Some(words) => format!("{fault}: {}", words.expose()),
        None => fault.to_string(),
    }
}

fn missing(part: &str, message: &str) -> Vec<String> {
    match message.contains(part) {
        true => vec![],
        false => vec![format!("the message has no `{part}`: {message}")],
    }
}

fn with_hint(error: &LoadError) -> String {
    match &error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    }
}
