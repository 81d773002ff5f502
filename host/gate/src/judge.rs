//! From the received bytes to those that leave, or to a refusal: decode, read as a tree, ask the policy, render.
//!
//! One call, without I/O, so that it can run on a blocking thread. It owns what it needs of one generation: a policy that is replaced
//! meanwhile does not matter to it. A request that comes again while the first one waits for a person is not judged: it joins.

mod outcome;
mod walk;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leafgate_admin::{SubagentView, shown_url};
use leafgate_desk::{Asked, ModelKey, Request, SubagentVerdict, TurnClass, agent_request};
use leafgate_policy::{Assembly, Context, Evaluation, MadeRequest, On, Verdict};
use leafgate_record::{RecordId, RequestRecord};
use leafgate_tree::{Document, NodeId};

use crate::apis::{Api, Wants};
use crate::assembly;
use crate::blocked::{NOT_ELSEWHERE, blocked, unreadable};
use crate::exchange::Exchange;
use crate::files::{FileIn, RequestFiles};
use crate::intercept::Interception;
use crate::multipart;
use crate::pending::{ClassHint, Dismissed};
use crate::recording::recorded_edits;
use crate::saved::saved_holds;
use crate::session::{Hints, Session};
use crate::stages::{Along, Came, RequestOutcome};
use crate::subject::Subject;
use crate::tally::RuleTally;
use crate::trial::TrialTurn;
use leafgate_http::{Refusal, headers};

/// One request to judge.
#[derive(derive_more::Deref)]
pub(crate) struct JudgeCase {
    #[deref]
    pub(crate) exchange: Exchange,
    pub(crate) came: Came,
    /// The files that it holds, as far as they were looked at.
    pub(crate) files: RequestFiles,
    /// Whether a mode may pause it.
    pub(crate) intercepts: Interception,
    /// What it is judged by: what its head tells, and once it is read what its body does.
    pub(crate) subject: Arc<Subject>,
    /// What is known already of what goes along with it.
    pub(crate) along: Along,
    /// What its header says about its conversation.
    pub(crate) hints: Hints,
    /// What its header says about who asks.
    pub(crate) class: ClassHint,
    /// The rule that sent it to its upstream.
    pub(crate) routed: Option<Arc<str>>,
    /// The profile that its base URL chose.
    pub(crate) chosen: Option<Arc<Assembly>>,
    /// The profile that made it, once one has.
    pub(crate) assembly: Option<Arc<Assembly>>,
    /// What it made, for the log.
    pub(crate) assembled: Option<String>,
    /// The conversation of the team that it is for. A team's prompts are its own, its requests go where it asks, and how its run ends
    /// is told by the run: no profile makes these, no rule sends them elsewhere, and no cancel is told as the model's words.
    pub(crate) of_team: Option<Session>,
    /// The agent of the team that asks.
    pub(crate) asker: Option<Asker>,
    /// When it came, where a recorder is told of it.
    pub(crate) recorded: Option<SystemTime>,
    /// What it is tried with besides.
    pub(crate) trial: Option<TrialTurn>,
}

/// The agent of a team that asks.
pub(crate) struct Asker {
    pub(crate) class: TurnClass,
    /// The agents from the entry to it, for people.
    pub(crate) chain: Arc<str>,
    /// Its prompt, where that is sent as a user's words.
    pub(crate) prompt: Option<Arc<str>>,
}

/// The outcome, and what the policy did on the way to it.
pub(crate) struct JudgedCase {
    pub(crate) outcome: Result<RequestOutcome, Refusal>,
    pub(crate) tally: RuleTally,
    /// What a recorder is told; `None` where there is none, or the body could not be read.
    pub(crate) record: Option<Box<RequestRecord>>,
}

impl JudgeCase {
    pub(crate) fn judge(mut self) -> JudgedCase {
        match self.read() {
            Ok(document) => self.ask(document),
            Err(refusal) => self.unreadable(refusal, None),
        }
    }

    /// Refused before any rule ran.
    fn unreadable(&self, refusal: Refusal, record: Option<Box<RequestRecord>>) -> JudgedCase {
        JudgedCase { outcome: Err(refusal), tally: self.counted(RuleTally::default()), record }
    }

    /// Adds what a profile made and the files that it holds to what the policy did.
    fn counted(&self, tally: RuleTally) -> RuleTally {
        let (files_read, unread) = (self.files.read, self.files.unread);
        RuleTally { files_read, unread, assembled: self.assembled.clone(), ..tally }
    }

    /// Reads the body as a document.
    fn read(&mut self) -> Result<Arc<Document>, Refusal> {
        // The bodies of a team are JSON, whatever may be sent to their path.
        let may_be_anything = self.of_team.is_none() && self.lane.is_raw(self.parts.uri.path());
        let boundary = match may_be_anything || self.subject.api.format.is_some() {
            true => None,
            false => multipart::boundary(&self.parts.headers)?,
        };
        let caps = self.caps();
        let body = self.came.decoded(caps)?;
        // An upload is no JSON, and not anything either.
        if let Some(boundary) = &boundary {
            let document = Document::raw(body);
            // Where no rule looks there is nothing to miss.
            if !self.policy.is_empty() {
                let parts = multipart::unread(document.source(), boundary, document.root())?;
                self.files.look_into(parts.into_iter())?;
            }
            return Ok(Arc::new(document));
        }
        let document = match self.subject.api.format {
            Some(format) => Document::parse(body.clone(), format, &self.limits.document),
            None => Document::detect(body.clone(), &self.limits.document),
        };
        let document = match document {
            // What is no JSON is one text. What is, but exceeds a limit, is no more readable for being one; where no rule looks,
            // there is nothing to miss.
            Err(error) if may_be_anything && !error.is_cap() || self.policy.is_empty() => Document::raw(body),
            document => document.map_err(unreadable)?,
        };
        Ok(Arc::new(document))
    }

    fn ask(mut self, document: Arc<Document>) -> JudgedCase {
        let document = self.known(document);
        let mut record = self.record(&document);
        let document = match self.prepare(document) {
            Ok(document) => document,
            Err(refusal) => return self.unreadable(refusal, record),
        };
        let subject = Arc::clone(&self.subject);
        let context = subject.context(On::Request);
        // Who joins sends a head of its own, which nobody has searched yet.
        if self.turns.has_pending(&subject.session)
            && self.policy.evaluate_outside(Some(&document), &context, &subject.vault).verdict
                == Verdict::Forward
            && let Some(waiter) = self.turns.join(&subject.session, &subject.to, &document)
        {
            let tally = self.counted(RuleTally::default());
            // The desk counts the body that waits there; that of this connection is another one.
            let outcome = self.held(&document, waiter);
            return JudgedCase { outcome, tally, record };
        }
        let trial = self.trial.take().map(|trial| (trial, Arc::clone(&document)));
        let evaluation = self.evaluate(document, &context);
        if let Some((trial, document)) = trial {
            trial.judge(document, Arc::clone(&subject), &evaluation);
        }
        let mut tally = self.counted(RuleTally::of(&evaluation));
        if let Some(rule) = self.routed.as_deref().filter(|rule| !tally.rules.iter().any(|one| one == rule)) {
            tally.rules.insert(0, rule.to_owned());
        }
        if self.routed.is_none()
            && self.of_team.is_none()
            && let Verdict::Route(route) = evaluation.verdict
        {
            let outcome = Ok(RequestOutcome::Route(route, self.came));
            // It is told of once, from where it goes.
            return JudgedCase { outcome, tally, record: None };
        }
        if let Some(record) = &mut record {
            record.edits = recorded_edits(&evaluation.draft).into();
        }
        self.along.tags = headers::list(subject.policy.tags(&tally.rules));
        let outcome = self.decide(evaluation, &mut tally);
        JudgedCase { outcome, tally, record }
    }

    /// Returns what a recorder is told of it before rules ran.
    fn record(&self, document: &Document) -> Option<Box<RequestRecord>> {
        let (at, subject) = (self.recorded?, &self.subject);
        Some(Box::new(RequestRecord {
            id: RecordId(0),
            at,
            method: subject.to.method.to_string(),
            path: self.path.to_string(),
            upstream: shown_url(&subject.to.upstream).into(),
            upstream_name: subject.lane.clone(),
            api: subject.api.name,
            answers: subject.api.answers,
            provider: subject.api.dialect.provider,
            agent: Arc::clone(&subject.agent),
            class: subject.class.name(),
            session: Arc::clone(&subject.session),
            model: subject.model.as_deref().map(str::to_owned).or_else(|| document.model().map(Into::into)),
            policy: Arc::clone(&subject.policy),
            verdict: "forwarded",
            rules: Vec::new(),
            held: None,
            edits: Arc::default(),
            received: self.came.body.clone(),
            source: document.source().clone(),
            sent: None,
            coded: self.came.is_coded(),
            approved: None,
            judging: Duration::ZERO,
            waiting: None,
        }))
    }

    /// Finds the conversation that it belongs to, and what is known of its calls there.
    fn known(&mut self, mut document: Arc<Document>) -> Arc<Document> {
        let known = self.of_team.clone();
        let Session { key, vault } = known.unwrap_or_else(|| self.sessions.of(&document, &self.hints));
        // Who else has the document knows no more of its calls, and restricts more.
        if let (Some(behind), Some(document)) = (self.sessions.behind(&document), Arc::get_mut(&mut document))
        {
            document.know_calls(|id| behind.call(id));
        }
        let api = self.subject.api.of_body(self.subject.to.endpoint(), document.format());
        let (class, title) = (self.class_of(api, &document), self.title(api));
        let prompt = self.asker.as_ref().and_then(|asker| asker.prompt.clone());
        let subject = Arc::make_mut(&mut self.subject);
        if subject.model.is_none() && document.model().is_none() {
            subject.model = api.deployment(subject.to.endpoint()).map(Into::into);
        }
        (subject.session, subject.vault, subject.streams) = (key, vault, api.streams_by_path);
        (subject.api, subject.class, subject.title, subject.prompt) = (api, class, title, prompt);
        document
    }

    /// Who asks.
    fn class_of(&self, api: Api, document: &Document) -> TurnClass {
        let class = match &self.asker {
            Some(asker) => asker.class,
            None => self.class.class(api, document),
        };
        match (class, self.intercepts) {
            (TurnClass::Main, Interception::LeftOut) => TurnClass::Side,
            (TurnClass::Side, Interception::Named) if !api.converses() => TurnClass::Main,
            (class, _) => class,
        }
    }

    /// Has a profile make it, reads the files in it, and finds the model that it asks.
    fn prepare(&mut self, mut document: Arc<Document>) -> Result<Arc<Document>, Refusal> {
        let mut assembled = None;
        if let Some(made) = self.assemble(&document)? {
            assembled = Some(assembly::summary(&made));
            if let Some(other) = &made.profile.profile.model {
                self.ask_model(other, true);
            }
            self.assembly = Some(Arc::clone(&made.profile));
            document = made.document;
            // What came is not what leaves, whatever the policy does to it.
            self.came.wraps_more = true;
        }
        if !self.policy.is_empty() {
            let file = |(node, what): (NodeId, _)| FileIn {
                node,
                place: format!("`{}`", document.pointer(node)),
                what,
                bytes: document.file(node).map(Into::into),
            };
            self.files.look_into(document.unread().into_iter().map(file))?;
        }
        Arc::make_mut(&mut self.subject).files = Arc::clone(&self.files.texts);
        let other = self.policy.model_for(&document, &self.subject.context(On::Request)).map(str::to_owned);
        if let Some(other) = other {
            self.ask_model(&other, false);
        }
        let subject = &self.subject;
        let request = Request {
            session: Arc::clone(&subject.session),
            class: subject.class,
            model: ModelKey::of(&document, subject.model_by_path(&document).as_deref()),
            title: subject.title.clone(),
        };
        self.turns.event(|desk, now| desk.receive(&request, now));
        self.assembled = assembled;
        Ok(document)
    }

    /// What becomes of it, by the policy, the mode and whoever was asked before.
    fn decide(self, mut evaluation: Evaluation, tally: &mut RuleTally) -> Result<RequestOutcome, Refusal> {
        let subject = Arc::clone(&self.subject);
        let verdict = std::mem::replace(&mut evaluation.verdict, Verdict::Forward);
        let draft = &evaluation.draft;
        let veiled = self.policy.veiled(draft, &evaluation.recall, &subject.vault);
        let shown = veiled.as_ref().unwrap_or(draft);
        if subject.class == TurnClass::Subagent {
            let verdict = match &verdict {
                Verdict::Forward => SubagentVerdict::Sent,
                Verdict::Pause(_) => SubagentVerdict::Held,
                Verdict::Block(_) | Verdict::Route(_) => SubagentVerdict::Blocked,
            };
            let agent = self.called();
            let by_path = subject.model_by_path(draft.document());
            let (by_path, agent) = (by_path.as_deref(), agent.as_deref());
            let request = agent_request(shown, &subject.session, &subject.title, by_path, agent, verdict);
            // The log has the same moment.
            let came = self.recorded.unwrap_or_else(SystemTime::now);
            let at = came.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
            let request = SubagentView { at: u64::try_from(at).unwrap_or(u64::MAX), ..request };
            self.turns.event(|desk, _| desk.observe(request));
        }
        let holds = match verdict {
            Verdict::Forward => None,
            Verdict::Pause(holds) => Some(holds),
            Verdict::Block(hold) => return Err(blocked(&hold)),
            Verdict::Route(route) => {
                let sent_on = |rule| format!("rule `{rule}` sent it here, and nothing is sent on twice");
                let why = self.routed.map_or(NOT_ELSEWHERE.to_owned(), sent_on);
                return Err(blocked(&route.refused(&why)));
            }
        };
        // Nobody is asked about a request that is refused whatever they say.
        let ruling = self.ruling(draft.document())?;
        let (holds, mode) = match (self.turns.ask(&subject, shown), holds) {
            (Asked::Dismissed(dismissal), _) => {
                let dismissed = Dismissed { dismissal, rules: Vec::new() };
                return Err(dismissed.refusal(self.manner(draft.document())));
            }
            (Asked::Nothing, None) => return Ok(self.pass(draft, ruling)),
            (Asked::Nothing, Some(holds)) => (holds, None),
            (Asked::Pause(mode), holds) => (holds.unwrap_or_default(), Some(mode)),
        };
        tally.waits = true;
        self.pause(evaluation, holds, mode)
    }

    /// Has a profile make the request, where one is for it: a turn, or a count of one.
    fn assemble(&mut self, document: &Arc<Document>) -> Result<Option<MadeRequest>, Refusal> {
        if self.of_team.is_some() {
            return Ok(None);
        }
        let counted = match self.subject.api.wants(self.subject.to.endpoint()) {
            Wants::Count(counted) => Some(counted),
            Wants::Turn => None,
            Wants::Text | Wants::Later | Wants::Data | Wants::Other if self.chosen.is_none() => {
                return Ok(None);
            }
            Wants::Text | Wants::Later | Wants::Data | Wants::Other => None,
        };
        let (chosen, context) = (self.chosen.as_ref(), self.subject.context(On::Request));
        let made = self.assembler.assemble(&self.policy, chosen, document, &context, counted.as_ref())?;
        if let Some(made) = &made {
            let held = document.source().len() + made.document.source().len();
            self.came.reservation.cover(self.came.body.len() + held)?;
        }
        Ok(made)
    }

    fn ask_model(&mut self, model: &str, by_profile: bool) {
        if Arc::make_mut(&mut self.subject).ask_model(model, by_profile) {
            self.along.other_model = Some(model.into());
        }
    }

    /// Has the policy decide, with the saved edits that the mode applies.
    fn evaluate(&self, document: Arc<Document>, context: &Context<'_>) -> Evaluation {
        let Subject { session, vault, class, .. } = &*self.subject;
        let Some(saved) = self.turns.saved_for(session) else {
            return self.policy.evaluate(document, context, vault);
        };
        let mut outcomes = Vec::new();
        let evaluation = self.policy.evaluate_with_saved(document, context, vault, |draft| {
            outcomes = saved.make(draft);
            // What a client asks beside a turn seldom holds the same, so there an edit is made
            // where it fits, and nothing is said where it does not.
            if *class == TurnClass::Main { saved_holds(&outcomes) } else { Vec::new() }
        });
        let veiled = self.policy.veiled(&evaluation.draft, &evaluation.recall, vault);
        let shown = veiled.as_ref().unwrap_or(&evaluation.draft);
        self.turns.saved.note(session, outcomes, shown, *class == TurnClass::Main);
        evaluation
    }
}
