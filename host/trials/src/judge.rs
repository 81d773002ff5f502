//! One test against its policy: what happens, and in what that differs from what is expected.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leafgate_diagnostic::{said, text};
use leafgate_policy::{Context, Evaluation, On, Outside, Part, Policy, Verdict};
use leafgate_tree::Document;
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};
use serde::{Serialize, Serializer};
use toml::Spanned;

use crate::answer::{TestAnswer, as_calls};
use crate::change::{MadeChange, made};
use crate::expectation::ExpectedBytes;
use crate::{ChangeKind, Expectation, RequestChange, RuleTest, TestMatter};

leafgate_words::words! {
    /// What becomes of a request, in one word.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum RequestFate {
        /// It leaves.
        Forward = "forward",
        /// It goes to another upstream.
        Route = "route",
        /// It waits for a person.
        Pause = "pause",
        /// It is refused.
        Block = "block",
    }
    /// Returns its word in files of tests.
    pub fn name = 0;
}

leafgate_words::words! {
    /// How an outcome compares with what is expected.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Grade {
        /// It is what is expected.
        Right = "right",
        /// Rules did what nobody expects: a false alarm.
        Noisy = "noisy",
        /// Rules did not do what is expected: something would slip through.
        Missing = "missing",
        /// Rules did something else, or both of these.
        Wrong = "wrong",
    }
    /// Returns its word in files of tests.
    pub fn name = 0;
}

impl Grade {
    fn with(self, other: Grade) -> Grade {
        match (self, other) {
            (Grade::Right, other) | (other, Grade::Right) => other,
            (one, other) if one == other => one,
            _ => Grade::Wrong,
        }
    }
}

/// One thing in which what happened differs from what a test expects.
#[derive(Clone, Serialize, derive_more::Debug)]
#[debug("{} at {}", self.grade, self.at)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// How it differs.
    pub grade: Grade,
    /// The path of a change, or `verdict`, `held_by`, `edits`, `bytes`.
    pub at: String,
    /// What is expected; `None` where nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What happened; `None` where nothing did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

impl Difference {
    fn new(grade: Grade, at: &str, expected: Option<String>, found: Option<String>) -> Self {
        Difference { grade, at: at.to_owned(), expected, found }
    }
}

/// What running a test gave.
#[derive(Clone, Debug, Serialize)]
pub struct TestOutcome {
    /// How it compares.
    pub grade: Grade,
    /// Whether the test is known to fail.
    pub todo: bool,
    /// How long it took.
    #[serde(rename = "micros", serialize_with = "in_micros")]
    pub took: Duration,
    /// In what it differs.
    pub differences: Vec<Difference>,
    /// What the test would have to expect.
    #[serde(skip)]
    pub snapshot: Expectation,
}

fn in_micros<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u128(time.as_micros())
}

impl TestOutcome {
    /// Returns whether somebody must do something about it.
    pub fn fails(&self) -> bool {
        self.grade != Grade::Right && !self.todo
    }
}

/// The keys under which rules are tried: always the same, so that a test means the same everywhere. They
/// guard nothing.
fn keys() -> TokenKeys {
    TokenKeys::derive(&InstallationKey::from_bytes([0x5a; 32]), &ClientIdentity::new("rule tests"))
}

impl RuleTest {
    /// Judges its request by a policy, which may be a later one than that beside which it was read.
    pub fn run(&self, policy: &Policy) -> TestOutcome {
        let start = Instant::now();
        let found = match &self.matter {
            TestMatter::Request(document) => self.requested(document, policy),
            TestMatter::Answer(answer) => self.answered(answer, policy),
        };
        let took = start.elapsed();
        let mut differences = Vec::new();
        self.compare_verdict(&found, &mut differences);
        if let Some(expected) = &self.expected.edits {
            compare_edits(expected, &found.changes, &mut differences);
        }
        self.compare_bytes(&found, &mut differences);
        if self.expected == Expectation::default() {
            let found = "the test expects nothing".to_owned();
            differences.push(Difference::new(Grade::Missing, "verdict", None, Some(found)));
        }
        TestOutcome {
            grade: differences.iter().fold(Grade::Right, |grade, it| grade.with(it.grade)),
            todo: said(&self.raw.todo).unwrap_or_default(),
            differences,
            took,
            snapshot: self.snapshot(found),
        }
    }

    /// Judges its request as a gate would: as a profile makes it, where one is for it.
    fn requested(&self, document: &Arc<Document>, policy: &Policy) -> ActualResult {
        let headers = self.headers();
        let context = self.context(On::Request, &headers);
        let made = match policy.make_request(text(&self.raw.profile), document, &context) {
            Ok(None) => return ActualResult::of(&self.evaluate(policy, &context, document)),
            Ok(Some(made)) => made,
            Err(error) => {
                let held_by = error.profile().map(ToString::to_string).into_iter().collect();
                let sent = document.source().to_vec();
                return ActualResult {
                    verdict: RequestFate::Block,
                    held_by,
                    ..ActualResult::untouched(sent)
                };
            }
        };
        // Where something else than the body names the model, it is the profile's all the same.
        let model = context.model.map(|model| made.profile.profile.model.as_deref().unwrap_or(model));
        ActualResult::of(&self.evaluate(policy, &Context { model, ..context }, &made.document))
    }

    /// Judges its answer as a gate would: by response rules, then by those about tool calls.
    fn answered(&self, answer: &TestAnswer, policy: &Policy) -> ActualResult {
        let mut found = ActualResult::untouched(answer.received.to_vec());
        let mut whole = answer.whole.clone();
        let model = text(&self.raw.model).or(answer.model());
        if policy.asks_about(On::Response)
            && let Some(before) = answer.as_messages(model)
        {
            let evaluation = self.evaluate(policy, &self.context(On::Response, &[]), &before);
            let after = evaluation.draft.render();
            let blocked = ActualResult::of(&evaluation);
            found.changes = blocked.changes;
            // An answer waits for nobody: whatever holds it blocks it.
            if blocked.verdict != RequestFate::Forward {
                return ActualResult { verdict: RequestFate::Block, held_by: blocked.held_by, ..found };
            }
            if after[..] != before.source()[..] {
                let Some(changed) = answer.put_back(&after) else {
                    return ActualResult { verdict: RequestFate::Block, ..found };
                };
                found.sent = answer.spelled(&changed);
                whole = changed;
            }
        }
        if policy.asks_about(On::ToolCall)
            && let Some(calls) = as_calls(&whole, model)
        {
            let decided = ActualResult::of(&self.evaluate(policy, &self.context(On::ToolCall, &[]), &calls));
            (found.verdict, found.held_by) = (decided.verdict, decided.held_by);
        }
        found
    }

    fn headers(&self) -> Vec<Outside> {
        let headers = self.raw.header.iter().flat_map(Spanned::get_ref);
        let header = |(name, text): (&String, &Spanned<String>)| Outside {
            part: Part::Header { name: name.to_ascii_lowercase() },
            text: text.get_ref().clone(),
        };
        headers.map(header).collect()
    }

    /// What it says beside the body; an answer has no headers.
    fn context<'c>(&'c self, on: On, headers: &'c [Outside]) -> Context<'c> {
        let raw = &self.raw;
        Context {
            on,
            session: text(&raw.session).unwrap_or("rule-test"),
            agent: text(&raw.agent),
            model: text(&raw.model),
            stream: said(&raw.stream).or(match &self.matter {
                TestMatter::Request(_) => None,
                TestMatter::Answer(answer) => Some(answer.streams),
            }),
            subagent: said(&raw.subagent),
            upstream: text(&raw.upstream),
            upstream_name: text(&raw.upstream),
            endpoint: text(&raw.endpoint),
            outside: headers,
            only: self.rules.as_ref(),
            ..Context::default()
        }
    }

    fn evaluate(&self, policy: &Policy, context: &Context<'_>, document: &Arc<Document>) -> Evaluation {
        policy.evaluate(Arc::clone(document), context, &Vault::new(keys()))
    }

    fn compare_verdict(&self, found: &ActualResult, differences: &mut Vec<Difference>) {
        let differs = |expected: &RequestFate| *expected != found.verdict;
        if let Some(expected) = self.expected.verdict.filter(differs) {
            let grade = match (expected, found.verdict) {
                (RequestFate::Forward, _) => Grade::Noisy,
                (_, RequestFate::Forward) => Grade::Missing,
                _ => Grade::Wrong,
            };
            let told = match found.held_by.is_empty() {
                true => found.verdict.name().to_owned(),
                false => format!("{} by {}", found.verdict.name(), list(&found.held_by)),
            };
            let expected = Some(expected.name().to_owned());
            differences.push(Difference::new(grade, "verdict", expected, Some(told)));
        }
        let Some(expected) = self.expected.held_by.as_ref().filter(|expected| **expected != found.held_by)
        else {
            return;
        };
        let grade = match (expected.is_subset(&found.held_by), found.held_by.is_subset(expected)) {
            (true, _) => Grade::Noisy,
            (_, true) => Grade::Missing,
            _ => Grade::Wrong,
        };
        let told = |ids: &BTreeSet<String>| (!ids.is_empty()).then(|| list(ids));
        let (expected, found) = (told(expected), told(&found.held_by));
        differences.push(Difference::new(grade, "held_by", expected, found));
    }

    fn compare_bytes(&self, found: &ActualResult, differences: &mut Vec<Difference>) {
        let received;
        let expected = match &self.expected.bytes {
            None => return,
            Some(ExpectedBytes::Received) => {
                received = self.matter.received().to_vec();
                &received
            }
            Some(ExpectedBytes::File(_, Some(content))) => content,
            Some(ExpectedBytes::File(name, None)) => {
                let found = format!("{name} is not there");
                return differences.push(Difference::new(Grade::Missing, "bytes", None, Some(found)));
            }
        };
        if *expected == found.sent {
            return;
        }
        let same = expected.iter().zip(&found.sent).take_while(|(one, other)| one == other).count();
        let told = |bytes: &[u8]| Some(format!("{} bytes, another one at {same}", bytes.len()));
        let (expected, found) = (told(expected), told(&found.sent));
        differences.push(Difference::new(Grade::Wrong, "bytes", expected, found));
    }

    /// What the test would have to expect.
    fn snapshot(&self, found: ActualResult) -> Expectation {
        let bytes = match &self.expected.bytes {
            Some(ExpectedBytes::Received) if *self.matter.received() == found.sent[..] => {
                Some(ExpectedBytes::Received)
            }
            Some(ExpectedBytes::File(name, _)) => Some(ExpectedBytes::File(name.clone(), Some(found.sent))),
            Some(ExpectedBytes::Received) | None => None,
        };
        let edits = found.changes.into_iter().map(|made| made.shown);
        Expectation {
            verdict: Some(found.verdict),
            held_by: Some(found.held_by),
            edits: (found.verdict != RequestFate::Block).then(|| edits.collect()),
            bytes,
        }
    }
}

/// What happened.
struct ActualResult {
    verdict: RequestFate,
    held_by: BTreeSet<String>,
    changes: Vec<MadeChange>,
    sent: Vec<u8>,
}

impl ActualResult {
    fn untouched(sent: Vec<u8>) -> ActualResult {
        ActualResult { verdict: RequestFate::Forward, held_by: BTreeSet::new(), changes: Vec::new(), sent }
    }

    fn of(evaluation: &Evaluation) -> ActualResult {
        let (verdict, held_by) = match &evaluation.verdict {
            Verdict::Forward => (RequestFate::Forward, Vec::new()),
            Verdict::Route(route) => (RequestFate::Route, vec![&route.rule]),
            Verdict::Pause(holds) => (RequestFate::Pause, holds.iter().map(|hold| &hold.rule).collect()),
            Verdict::Block(hold) => (RequestFate::Block, vec![&hold.rule]),
        };
        ActualResult {
            verdict,
            held_by: held_by.into_iter().map(ToString::to_string).collect(),
            changes: made(&evaluation.draft),
            sent: evaluation.draft.render().to_vec(),
        }
    }
}

/// Compares change by change: each is expected once, and made once.
fn compare_edits(expected: &[RequestChange], made: &[MadeChange], differences: &mut Vec<Difference>) {
    let mut left: Vec<&MadeChange> = made.iter().collect();
    let mut unmet: Vec<&RequestChange> = Vec::new();
    for change in expected {
        match left.iter().position(|made| made.is(change)) {
            Some(place) => _ = left.remove(place),
            None => unmet.push(change),
        }
    }
    for change in unmet {
        let other = left.iter().position(|made| made.is_same_place(change)).map(|place| left.remove(place));
        let grade = if other.is_some() { Grade::Wrong } else { Grade::Missing };
        let by_matters = other.is_some_and(|other| other.shown.does == change.does);
        let found = other.map(|other| told(&other.shown, by_matters));
        differences.push(Difference::new(grade, &change.at, Some(told(change, by_matters)), found));
    }
    for made in left {
        let found = told(&made.shown, true);
        differences.push(Difference::new(Grade::Noisy, &made.shown.at, None, Some(found)));
    }
}

fn told(change: &RequestChange, by_matters: bool) -> String {
    let what = match &change.does {
        ChangeKind::Text(text) => text.clone(),
        ChangeKind::Inserted(text) => format!("inserted: {text}"),
        ChangeKind::Deleted(_) => "deleted".to_owned(),
    };
    match by_matters && !change.by.is_empty() {
        true => format!("{what} (by {})", change.by.join(", ")),
        false => what,
    }
}

fn list(ids: &BTreeSet<String>) -> String {
    ids.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
