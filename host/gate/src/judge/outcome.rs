//! What becomes of a request that is not refused: what goes along when it leaves, and what is kept
//! where it waits for a person.

use std::sync::Arc;

use leafgate_desk::{ModePause, Title, TurnClass};
use leafgate_policy::{Hold, Note, On, Policy, Recall};
use leafgate_tree::{Document, Draft};
use leafgate_vault::Vault;

use super::Case;
use crate::budget::Reservation;
use crate::echo::Manner;
use crate::flow::{Flow, Lessened};
use crate::hold::Held;
use crate::outgoing::{Passed, Received};
use crate::pending::{Paused, TurnGuard, Waiter};
use crate::refusal::Refusal;
use crate::restore::Restoring;
use crate::routed::Rerouted;
use crate::ruled::{Asked, Ruling};
use crate::session::{Session, Thread};
use crate::subject::Subject;

/// What becomes of a request that is not refused.
pub(crate) enum Outcome {
    /// It may leave.
    Pass(Passed),
    /// A person must decide.
    Wait(Held),
    /// It must go elsewhere.
    Route(Box<Rerouted>),
}

/// Who asks for a person.
pub(super) struct Pauses {
    pub(super) holds: Vec<Hold>,
    pub(super) class: TurnClass,
    pub(super) mode: Option<ModePause>,
}

/// What the policy left for a person.
pub(super) struct Reviewed {
    pub(super) draft: Draft,
    pub(super) recall: Recall,
    pub(super) notes: Vec<Note>,
}

impl Case {
    pub(super) fn pass(
        self,
        session: Session,
        draft: &Draft,
        class: TurnClass,
        ruling: Option<Arc<Ruling>>,
        wraps_more: bool,
    ) -> Outcome {
        let document = draft.document();
        let thread = self.thread(&session.key, document);
        let flow = self.flow(&session.key, &session.vault, class, ruling.as_ref(), document);
        let restoring = Restoring::of(self.api, document, session.vault, thread).filter(|_| self.restore);
        let other_model = self.other_model;
        let received = Received {
            coded: !self.codings.is_empty(),
            body: self.body,
            wraps_more,
            reservation: Some(self.reservation),
        };
        Outcome::Pass(Passed {
            flow,
            ruling,
            other_model,
            ..received.passed(document.source(), draft.render(), restoring)
        })
    }

    /// Returns what it is judged by from now on.
    pub(super) fn subject(&self, session: &Arc<str>, vault: &Vault, class: TurnClass) -> Subject {
        Subject {
            policy: Arc::clone(&self.policy),
            session: Arc::clone(session),
            vault: vault.clone(),
            agent: Arc::clone(&self.agent),
            model: self.model.clone(),
            stream: self.api.streams_by_path(),
            class,
            to: self.to.clone(),
            lane: self.lane.clone(),
            outside: Arc::clone(&self.outside),
            files: Arc::clone(&self.files.texts),
        }
    }

    /// Its conversation, which remembers what rules need to know of the calls that results are of.
    fn thread(&self, session: &Arc<str>, document: &Document) -> Thread {
        let thread = self.sessions.thread(session);
        match self.policy.is_empty() {
            true => thread,
            false => thread.remembering(document),
        }
    }

    /// What its answer is judged by, where anything is asked of it; refused where nobody could.
    pub(super) fn ruling(
        &self,
        policy: &Arc<Policy>,
        session: &Arc<str>,
        vault: &Vault,
        class: TurnClass,
        document: &Document,
    ) -> Result<Option<Arc<Ruling>>, Refusal> {
        let asked = Asked {
            policy: Arc::clone(policy),
            assembly: self.assembly.clone(),
            api: self.api,
            session: Arc::clone(session),
            agent: Arc::clone(&self.agent),
            model: self.model.clone(),
            other_models: Vec::new(),
            streams: false,
            class,
            to: self.to.clone(),
            lane: self.lane.clone(),
            title: self.title(),
            vault: vault.clone(),
            behind: self.sessions.behind(document),
        };
        Ruling::of(asked, document)
    }

    /// What makes lesser forms of it, where a profile made it.
    fn flow(
        &self,
        session: &Arc<str>,
        vault: &Vault,
        class: TurnClass,
        ruling: Option<&Arc<Ruling>>,
        document: &Document,
    ) -> Option<Box<Flow>> {
        Some(Box::new(Flow {
            assembly: Arc::clone(self.assembly.as_ref()?),
            api: self.api,
            format: document.format(),
            streams: self.api.streams(document),
            coded: !self.codings.is_empty(),
            // What stands in this body stands elsewhere in a lesser one.
            subject: Subject { files: Arc::default(), ..self.subject(session, vault, class) },
            other_model: self.other_model.clone(),
            thread: self.thread(session, document),
            restore: self.restore,
            title: self.title(),
            ruling: ruling.cloned(),
            lessened: Lessened::default(),
        }))
    }

    pub(super) fn pause(
        self,
        session: Session,
        Reviewed { draft, recall, notes }: Reviewed,
        pauses: Pauses,
        wraps_more: bool,
    ) -> Result<Outcome, Refusal> {
        let document = Arc::clone(draft.document());
        let subject = self.subject(&session.key, &session.vault, pauses.class);
        let guard = TurnGuard::new(On::Request, subject, recall, notes);
        let paused = Paused { title: self.title(), draft, holds: pauses.holds, mode: pauses.mode, guard };
        let waiter = self.turns.pause(paused);
        // The desk counts the bytes of what waits there.
        self.held(&document, wraps_more, waiter, None)
    }

    /// How its conversation is called.
    pub(super) fn title(&self) -> Title {
        if let Some(asker) = &self.asker {
            return Title { location: "agents".into(), name: Arc::clone(&asker.chain) };
        }
        let location = match self.hints.location() {
            _ if !self.api.converses() => "request",
            None => "chat",
            Some(location) => location.name(),
        };
        let name = self.hints.intent().map_or_else(|| Arc::clone(&self.agent), |intent| intent.name().into());
        Title { location: location.into(), name }
    }

    /// What the agent that asks is called, where anybody says it.
    pub(super) fn called(&self) -> Option<Arc<str>> {
        self.asker.as_ref().map_or_else(|| self.class.agent(), |asker| Some(Arc::clone(&asker.chain)))
    }

    /// How a cancel is answered, where it is no error to the client.
    pub(super) fn manner(&self, document: &Document) -> Option<Box<Manner>> {
        Manner::of(self.api, self.answers_cancel.as_deref()?, self.model.as_deref(), document)
    }

    pub(super) fn held(
        self,
        document: &Document,
        wraps_more: bool,
        waiter: Waiter,
        reservation: Option<Reservation>,
    ) -> Result<Outcome, Refusal> {
        let manner = self.manner(document);
        let guard = waiter.guard();
        let thread = self.thread(&guard.session, document);
        let restoring =
            Restoring::of(self.api, document, guard.vault.clone(), thread).filter(|_| self.restore);
        let ruling = self.ruling(&guard.policy, &guard.session, &guard.vault, guard.class, document)?;
        let flow = self.flow(&guard.session, &guard.vault, guard.class, ruling.as_ref(), document);
        Ok(Outcome::Wait(Held {
            flow,
            ruling,
            waiter,
            restoring,
            source: document.source().clone(),
            streams: self.api.streams(document),
            api: self.api,
            other_model: self.other_model,
            manner,
            received: Received { coded: !self.codings.is_empty(), body: self.body, wraps_more, reservation },
        }))
    }
}
