//! What becomes of a request that is not refused: what goes along when it leaves, and what is kept
//! where it waits for a person.

use std::sync::Arc;

use leafgate_desk::{ModePause, Title};
use leafgate_policy::{Evaluation, Hold, On};
use leafgate_tree::{Document, Draft};

use super::JudgeCase;
use crate::apis::Api;
use crate::apis::echo::manner;
use crate::pending::Waiter;
use crate::restore::Restoring;
use crate::ruled::Ruling;
use crate::session::Thread;
use crate::stages::{Along, DowngradeFlow, HeldRequest, Lessened, RequestOutcome};
use crate::subject::Subject;
use leafgate_http::{Manner, Refusal};

impl JudgeCase {
    pub(super) fn pass(mut self, draft: &Draft, ruling: Option<Arc<Ruling>>) -> RequestOutcome {
        let document = draft.document();
        let along = self.along(ruling, document);
        let parts = Arc::clone(&self.parts);
        RequestOutcome::Pass(self.came.passed(&parts, document.source(), draft.render(), along))
    }

    /// What goes along when it leaves.
    fn along(&mut self, ruling: Option<Arc<Ruling>>, document: &Document) -> Along {
        let (restoring, flow) = (self.restoring(document), self.flow(document));
        Along { restoring, flow, ruling, ..std::mem::take(&mut self.along) }
    }

    /// How its answer is restored, where it is.
    fn restoring(&self, document: &Document) -> Option<Restoring> {
        let (thread, Subject { api, vault, .. }) = (self.thread(document), &*self.subject);
        Restoring::of(*api, document, vault.clone(), thread).filter(|_| self.lane.restore)
    }

    /// Its conversation, which remembers what rules need to know of the calls that results are of.
    fn thread(&self, document: &Document) -> Thread {
        let thread = self.sessions.thread(&self.subject.session);
        match self.policy.is_empty() {
            true => thread,
            false => thread.remembering(document),
        }
    }

    /// What its answer is judged by, where anything is asked of it; refused where nobody could.
    pub(super) fn ruling(&self, document: &Document) -> Result<Option<Arc<Ruling>>, Refusal> {
        let behind = self.sessions.behind(document);
        Ruling::of(&self.subject, self.assembly.as_ref(), behind.as_deref(), document)
    }

    /// What makes lesser forms of it, where a profile made it.
    fn flow(&self, document: &Document) -> Option<Box<DowngradeFlow>> {
        let assembly = Arc::clone(self.assembly.as_ref()?);
        Some(Box::new(DowngradeFlow {
            assembly,
            format: document.format(),
            streams: self.subject.api.streams(document),
            codings: self.came.codings.clone(),
            // What stands in this body stands elsewhere in another one.
            subject: Arc::new(Subject { files: Arc::default(), ..Subject::clone(&self.subject) }),
            restores: self.lane.restore.then(|| self.thread(document)),
            lessened: Lessened::default(),
        }))
    }

    pub(super) fn pause(
        mut self,
        evaluation: Evaluation,
        holds: Vec<Hold>,
        mode: Option<ModePause>,
    ) -> Result<RequestOutcome, Refusal> {
        let document = Arc::clone(evaluation.draft.document());
        let waiter = self.turns.pause(On::Request, &self.subject, evaluation, holds, mode);
        // The desk counts the bytes of what waits there.
        self.came.reservation = self.bodies.reserve();
        self.held(&document, waiter)
    }

    /// How its conversation is called.
    pub(super) fn title(&self, api: Api) -> Title {
        if let Some(asker) = &self.asker {
            return Title { location: "agents".into(), name: Arc::clone(&asker.chain) };
        }
        let agent = || Arc::clone(&self.subject.agent);
        let name = self.hints.intent.map_or_else(agent, |intent| intent.word.into());
        Title { location: self.hints.location_at(api).into(), name }
    }

    /// What the agent that asks is called, where anybody says it.
    pub(super) fn called(&self) -> Option<Arc<str>> {
        self.asker.as_ref().map_or_else(|| self.class.agent.clone(), |asker| Some(Arc::clone(&asker.chain)))
    }

    /// How a cancel is answered, where it is no error to the client.
    pub(super) fn manner(&self, document: &Document) -> Option<Box<Manner>> {
        let speaks = self.answer_cancelled && self.of_team.is_none();
        speaks.then(|| manner(self.subject.api, self.subject.model.as_deref(), document)).flatten()
    }

    /// Has it wait. Who joins a turn is judged further as that turn is.
    pub(super) fn held(mut self, document: &Document, waiter: Waiter) -> Result<RequestOutcome, Refusal> {
        let manner = self.manner(document);
        let Subject { policy, session, vault, class, .. } = Subject::clone(&waiter.guard.subject);
        let own = Arc::unwrap_or_clone(self.subject);
        self.subject = Arc::new(Subject { policy, session, vault, class, ..own });
        let ruling = self.ruling(document)?;
        Ok(RequestOutcome::Wait(HeldRequest {
            along: self.along(ruling, document),
            waiter,
            source: document.source().clone(),
            streams: self.subject.api.streams(document),
            manner,
            came: self.came,
        }))
    }
}
