//! Bodies of a run on their way to the policy, and the request that passes without agents.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use leafgate_agents::{AgentName, Frame, Run, SystemAs};
use leafgate_desk::TurnClass;

use super::drive::{RunCase, agent_name};
use super::wire;
use crate::agent;
use crate::exchange::Exchange;
use crate::judge::{Asker, JudgeCase};
use crate::stages::Came;
use crate::subject::Subject;
use leafgate_http::{Content, Refusal};

impl RunCase {
    /// A body to be judged in the run's session: the client's own request, or with `exchange` that of a frame.
    pub(super) fn case(
        &self,
        exchange: &Exchange,
        body: Bytes,
        agent: Arc<str>,
        asker: Option<Asker>,
    ) -> Result<JudgeCase, Refusal> {
        let mut reservation = self.bodies.reserve();
        reservation.cover(body.len())?;
        let case = exchange.case(Came::new(body, Vec::new(), reservation));
        Ok(JudgeCase {
            subject: Arc::new(Subject { model: None, agent, ..Arc::unwrap_or_clone(case.subject) }),
            of_team: Some(self.session.clone()),
            asker,
            ..case
        })
    }

    /// Answers the client's own request as if there were no team. `model` where its body names none.
    pub(super) async fn plain(&self, model: Option<&str>) -> Result<Response<Content>, Refusal> {
        let body = match model {
            Some(model) if self.document.model().as_deref() != Some(model) => {
                let mut body = (*self.body).clone();
                body.insert("model".to_owned(), model.into());
                serde_json::Value::Object(body).to_string().into()
            }
            _ => self.document.source().clone(),
        };
        self.pass(self.case(self, body, agent::agent(&self.parts.headers).into(), None)?).await
    }

    /// Answers what a run would cost: the first request of its entry is counted, as its provider
    /// counts it. What other agents would say nobody knows.
    pub(super) async fn count(&self, run: &Run) -> Result<Response<Content>, Refusal> {
        let entry = run.frames().first().ok_or_else(|| Refusal::internal("a run has no entry"))?;
        let body = wire::body(self.wire, &self.body, entry, run.team(), run.model());
        let body = serde_json::Value::Object(body).to_string();
        let asker = asker(run, entry, TurnClass::Side);
        self.pass(self.case(self, body.into(), agent_name(entry), Some(asker))?).await
    }

    /// Has a body judged and sent, and gives its answer as it comes.
    async fn pass(&self, case: JudgeCase) -> Result<Response<Content>, Refusal> {
        let outcome = self.judge_told(case).await?;
        Exchange::clone(self).settle(outcome, self.streams).await
    }
}

/// Who asks for a frame.
pub(super) fn asker(run: &Run, frame: &Frame, class: TurnClass) -> Asker {
    let chain: Vec<&str> = frame.chain.iter().map(AgentName::as_str).collect();
    let by_user = run.team().settings.system_as == SystemAs::User;
    Asker { class, chain: chain.join(" > ").into(), prompt: by_user.then(|| frame.prompt.as_str().into()) }
}
