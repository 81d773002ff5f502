//! What becomes of a request that is not refused: what goes along when it leaves, and what is kept
//! where it waits for a person.

use std::sync::Arc;

use leafgate_desk::Title;
use leafgate_tree::{Document, Draft};

use super::JudgeCase;
use crate::apis::echo::manner;
use crate::pending::{PausedTurn, Waiter};
use crate::restore::Restoring;
use crate::ruled::Ruling;
use crate::session::Thread;
use crate::stages::{Along, DowngradeFlow, HeldRequest, Lessened, RequestOutcome};
use crate::subject::Subject;
use leafgate_http::refusal::{Manner, Refusal};

impl JudgeCase {
    pub(super) fn pass(
        self,
        subject: &Arc<Subject>,
        draft: &Draft,
        ruling: Option<Arc<Ruling>>,
    ) -> RequestOutcome {
        let document = draft.document();
        let along = self.along(subject, ruling, document);
        let parts = Arc::clone(&self.parts);
        RequestOutcome::Pass(self.came.passed(&parts, document.source(), draft.render(), along))
    }

    /// What goes along when it leaves.
    fn along(&self, subject: &Arc<Subject>, ruling: Option<Arc<Ruling>>, document: &Document) -> Along {
        Along {
            restoring: self.restoring(subject, document),
            flow: self.flow(subject, document),
            ruling,
            other_model: self.other_model.clone(),
            tags: self.tags.clone(),
        }
    }

    /// How its answer is restored, where it is.
    fn restoring(&self, subject: &Subject, document: &Document) -> Option<Restoring> {
        let thread = self.thread(subject, document);
        Restoring::of(self.api, document, subject.vault.clone(), thread).filter(|_| self.lane.restore)
    }

    /// Its conversation, which remembers what rules need to know of the calls that results are of.
    fn thread(&self, subject: &Subject, document: &Document) -> Thread {
        let thread = self.sessions.thread(&subject.session);
        match self.policy.is_empty() {
            true => thread,
            false => thread.remembering(document),
        }
    }

    /// What its answer is judged by, where anything is asked of it; refused where nobody could.
    pub(super) fn ruling(
        &self,
        subject: &Arc<Subject>,
        document: &Document,
    ) -> Result<Option<Arc<Ruling>>, Refusal> {
        Ruling::of(subject, self.assembly.as_ref(), self.sessions.behind(document).as_deref(), document)
    }

    /// What makes lesser forms of it, where a profile made it.
    fn flow(&self, subject: &Subject, document: &Document) -> Option<Box<DowngradeFlow>> {
        let assembly = Arc::clone(self.assembly.as_ref()?);
        Some(Box::new(DowngradeFlow {
            assembly,
            format: document.format(),
            streams: self.api.streams(document),
            codings: self.came.codings.clone(),
            // What stands in this body stands elsewhere in another one.
            subject: Arc::new(Subject { files: Arc::default(), ..subject.clone() }),
            restores: self.lane.restore.then(|| self.thread(subject, document)),
            lessened: Lessened::default(),
        }))
    }

    pub(super) fn pause(
        mut self,
        subject: &Arc<Subject>,
        paused: PausedTurn,
    ) -> Result<RequestOutcome, Refusal> {
        let document = Arc::clone(paused.draft.document());
        let waiter = self.turns.pause(paused);
        // The desk counts the bytes of what waits there.
        self.came.reservation = self.bodies.reserve();
        self.held(subject, &document, waiter)
    }

    /// How its conversation is called.
    pub(super) fn title(&self) -> Title {
        if let Some(asker) = &self.asker {
            return Title { location: "agents".into(), name: Arc::clone(&asker.chain) };
        }
        let name = self.hints.intent.map_or_else(|| Arc::clone(&self.agent), |intent| intent.name().into());
        Title { location: self.hints.location_at(self.api).into(), name }
    }

    /// What the agent that asks is called, where anybody says it.
    pub(super) fn called(&self) -> Option<Arc<str>> {
        self.asker.as_ref().map_or_else(|| self.class.agent(), |asker| Some(Arc::clone(&asker.chain)))
    }

    /// How a cancel is answered, where it is no error to the client.
    pub(super) fn manner(&self, subject: &Subject, document: &Document) -> Option<Box<Manner>> {
        let path = Some(self.parts.uri.path()).filter(|_| self.answers_cancel)?;
        manner(self.api, path, subject.model.as_deref(), document)
    }

    /// Has it wait. Who joins a turn is judged further as that turn is.
    pub(super) fn held(
        self,
        subject: &Subject,
        document: &Document,
        waiter: Waiter,
    ) -> Result<RequestOutcome, Refusal> {
        let manner = self.manner(subject, document);
        let Subject { policy, session, vault, class, .. } = Subject::clone(&waiter.guard.subject);
        let subject = Arc::new(Subject { policy, session, vault, class, ..subject.clone() });
        let ruling = self.ruling(&subject, document)?;
        Ok(RequestOutcome::Wait(HeldRequest {
            along: self.along(&subject, ruling, document),
            waiter,
            source: document.source().clone(),
            streams: self.api.streams(document),
            manner,
            came: self.came,
        }))
    }
}
