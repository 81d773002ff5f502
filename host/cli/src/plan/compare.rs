//! One request by two policies, and what many of them come to.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use leafgate_gate::recorded_edits;
use leafgate_policy::{Evaluation, Policy, Verdict};
use leafgate_record::RecordedEdit;
use leafgate_tree::Document;
use leafgate_vault::{TokenKeys, Vault};
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::Policies;
use super::tokens::{self, TokenChange};
use crate::request::AskedRequest;

/// A request to judge.
pub(super) struct PlanCase {
    /// Its place: 0 for files, which go by their order of arrival.
    pub(super) number: i64,
    pub(super) name: String,
    pub(super) document: Arc<Document>,
    pub(super) asked: AskedRequest,
    /// The profile that its base URL chose, where somebody says it.
    pub(super) profile: Option<String>,
}

/// What becomes of a request, and by which rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Becomes {
    /// `forward`, `pause` or `block`.
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<String>,
}

impl fmt::Display for Becomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rules.is_empty() {
            true => f.write_str(self.kind),
            false => write!(f, "{} ({})", self.kind, self.rules.join(", ")),
        }
    }
}

/// What was done to a request: who did what where, as often as it was done.
type Done = BTreeMap<(By, String), usize>;

/// Who does what.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct By {
    pub(super) rule: String,
    kind: Cow<'static, str>,
    label: Option<Arc<str>>,
    detector: Option<String>,
}

impl By {
    /// Returns what it does, for people: `redact EMAIL (pii/email)`.
    pub(super) fn what(&self) -> String {
        let label = self.label.as_ref().map_or_else(String::new, |label| format!(" {label}"));
        let detector = self.detector.as_ref().map_or_else(String::new, |detector| format!(" ({detector})"));
        format!("{}{label}{detector}", self.kind)
    }
}

/// One request by both policies.
pub(super) struct Comparison {
    today: PlanSide,
    new: PlanSide,
    /// Whether the same bytes leave, or none by both.
    same_bytes: bool,
    tokens: TokenChange,
}

/// What one policy makes of a request.
struct PlanSide {
    becomes: Becomes,
    done: Done,
    /// What leaves; `None` where it is blocked.
    body: Option<Bytes>,
    matched: BTreeSet<String>,
}

/// Judges a request by both policies.
pub(super) fn compared(case: &PlanCase, policies: &Policies) -> anyhow::Result<Comparison> {
    let Policies { today, new, keys, counter } = policies;
    let (today, new) = (side(case, today, keys)?, side(case, new, keys)?);
    let same_bytes = today.body == new.body;
    let tokens = match same_bytes {
        true => TokenChange::default(),
        false => {
            let bodies = [today.body.as_ref(), new.body.as_ref()];
            tokens::change(counter, case.document.format(), case.asked.model.as_deref(), bodies)
        }
    };
    Ok(Comparison { today, new, same_bytes, tokens })
}

fn side(case: &PlanCase, policy: &Policy, keys: &TokenKeys) -> anyhow::Result<PlanSide> {
    let mut asked = case.asked.clone();
    let made = asked.make(policy, case.profile.as_deref(), &case.document)?;
    let document = made.map_or_else(|| Arc::clone(&case.document), |made| made.document);
    let evaluation = policy.evaluate(document, &asked.context(), &Vault::new(keys.clone()));
    let becomes = becomes(&evaluation.verdict);
    let matched = evaluation.report.rules.iter().filter(|rule| rule.has_matched());
    Ok(PlanSide {
        done: done(&evaluation),
        body: (becomes.kind != BLOCK).then(|| evaluation.draft.render()),
        matched: matched.map(|rule| rule.rule.to_string()).collect(),
        becomes,
    })
}

const BLOCK: &str = "block";
const ROUTE: &str = "route";

fn becomes(verdict: &Verdict) -> Becomes {
    let (kind, holds) = match verdict {
        Verdict::Route(route) => {
            return Becomes { kind: ROUTE, rules: vec![format!("{} to {}", route.rule, route.to)] };
        }
        Verdict::Forward => ("forward", &[][..]),
        Verdict::Pause(holds) => ("pause", &holds[..]),
        Verdict::Block(hold) => (BLOCK, std::slice::from_ref(hold)),
    };
    let rules: BTreeSet<String> = holds.iter().map(|hold| hold.rule.to_string()).collect();
    Becomes { kind, rules: rules.into_iter().collect() }
}

fn done(evaluation: &Evaluation) -> Done {
    let mut done = Done::new();
    for RecordedEdit { kind, path, rule, label, detector, .. } in recorded_edits(&evaluation.draft) {
        *done.entry((By { rule, kind, label, detector }, path)).or_default() += 1;
    }
    done
}

/// What two policies make of many requests.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Plan {
    /// Requests that were judged.
    pub(super) requests: usize,
    /// The generation of today's policy.
    pub(super) today: String,
    /// That of the new one.
    pub(super) new: String,
    /// Requests with another verdict.
    pub(super) verdict_changes: usize,
    /// What the new policy does more and less, by rule and detector.
    pub(super) changes: Vec<PlanChange>,
    /// The requests that would leave otherwise, or not, or only then.
    pub(super) differing: Vec<Differs>,
    /// Rules of the new policy that match nothing in these requests.
    pub(super) never_match: Vec<String>,
    pub(super) bytes_today: usize,
    pub(super) bytes_new: usize,
    /// Tokens of the texts that leave in one way today and in another then.
    pub(super) tokens: TokenChange,
    /// What this cannot know.
    pub(super) notes: Vec<String>,
    /// What could not be judged, and why.
    pub(super) unread: Vec<String>,
    #[serde(skip)]
    by: BTreeMap<By, [usize; 3]>,
    #[serde(skip)]
    matched: BTreeSet<String>,
}

/// What a rule does more and less.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlanChange {
    #[serde(flatten)]
    pub(super) by: By,
    /// Places where it is done anew.
    pub(super) gained: usize,
    /// Places where it is done no longer.
    pub(super) lost: usize,
    /// Requests in which either is.
    pub(super) requests: usize,
}

/// A request that would leave otherwise.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Differs {
    /// Its number in the log, or its file.
    pub(super) request: String,
    pub(super) today: Becomes,
    pub(super) new: Becomes,
    /// Bytes that leave today; `None` where nothing does.
    pub(super) bytes_today: Option<usize>,
    pub(super) bytes_new: Option<usize>,
    #[serde(skip)]
    number: i64,
}

impl Plan {
    pub(super) fn new(today: &Policy, new: &Policy) -> Plan {
        Plan { today: today.generation_name(), new: new.generation_name(), ..Plan::default() }
    }

    /// Adds a request.
    pub(super) fn add(&mut self, number: i64, request: String, compared: Comparison) {
        let Comparison { today, new, same_bytes, tokens } = compared;
        let [bytes_today, bytes_new] = [&today, &new].map(|side| side.body.as_ref().map(Bytes::len));
        self.tokens.add(tokens);
        self.requests += 1;
        self.bytes_today += bytes_today.unwrap_or(0);
        self.bytes_new += bytes_new.unwrap_or(0);
        let mut here: BTreeMap<&By, [usize; 2]> = BTreeMap::new();
        let count = |done: &Done, key: &(By, String)| done.get(key).copied().unwrap_or(0);
        for (key, times) in &new.done {
            here.entry(&key.0).or_default()[0] += times.saturating_sub(count(&today.done, key));
        }
        for (key, times) in &today.done {
            here.entry(&key.0).or_default()[1] += times.saturating_sub(count(&new.done, key));
        }
        for (by, [gained, lost]) in here.into_iter().filter(|(_, times)| *times != [0, 0]) {
            let sum = self.by.entry(by.clone()).or_default();
            *sum = [sum[0] + gained, sum[1] + lost, sum[2] + 1];
        }
        let (was, is) = (&today.becomes, &new.becomes);
        // One that goes to another upstream than before does not leave as before either.
        let other_verdict = was.kind != is.kind || is.kind == ROUTE && was.rules != is.rules;
        self.verdict_changes += usize::from(other_verdict);
        self.matched.extend(new.matched);
        if other_verdict || !same_bytes {
            let (today, new) = (today.becomes, new.becomes);
            self.differing.push(Differs { number, request, today, new, bytes_today, bytes_new });
        }
    }

    /// Puts what was added in order.
    pub(super) fn close(&mut self, new: &Policy) {
        self.differing.sort_by(|a, b| (a.number, &a.request).cmp(&(b.number, &b.request)));
        self.unread.sort();
        self.changes = std::mem::take(&mut self.by)
            .into_iter()
            .map(|(by, [gained, lost, requests])| PlanChange { by, gained, lost, requests })
            .collect();
        self.never_match =
            new.rules().map(ToString::to_string).filter(|rule| !self.matched.contains(rule)).collect();
    }
}
