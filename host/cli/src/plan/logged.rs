//! The requests of the log, made ready to be judged again.

use std::sync::Arc;

use bytes::Bytes;
use leafgate_gate::recorded_format;
use leafgate_policy::Policy;
use leafgate_store::{Filter, RequestLine, RequestView};
use leafgate_tree::Document;
use leafgate_vault::TokenKeys;

use super::PlanRead;
use super::compare::PlanCase;
use super::stand_ins::StandIns;
use crate::request::AskedRequest;
use crate::{log, request};

/// The log, and what was lost on the way out of it.
pub(super) struct Logged<'k> {
    stand_ins: StandIns<'k>,
    /// The generation of today's policy, and how many requests others judged.
    generation: String,
    judged_otherwise: usize,
}

impl<'k> Logged<'k> {
    pub(super) fn new(keys: &'k TokenKeys, today: &Policy) -> Self {
        Logged { stand_ins: StandIns::new(keys), generation: today.generation_name(), judged_otherwise: 0 }
    }

    /// Returns the newest requests, at most `most`; in the place of one that cannot be read, why.
    pub(super) fn newest(
        &mut self,
        filter: &Filter,
        most: usize,
    ) -> anyhow::Result<impl Iterator<Item = PlanRead> + Send> {
        let log = log::open()?;
        let numbers = log.newest_first(filter).take(most).map(|line| line.map(|line| line.id));
        let numbers: Vec<i64> = numbers.collect::<Result<_, _>>()?;
        Ok(numbers.into_iter().map(move |number| match log.show(number) {
            Ok(view) => self.case(&view),
            Err(error) => Err(format!("request {number}: {:#}", anyhow::Error::from(error))),
        }))
    }

    fn case(&mut self, view: &RequestView) -> PlanRead {
        self.judged_otherwise += usize::from(view.line.generation != self.generation);
        let RequestLine { id, session, agent, class, api, path, upstream, upstream_name, model, .. } =
            &view.line;
        let text = std::str::from_utf8(&view.body.0).map_err(|_| format!("request {id}: it is no text"))?;
        let body = Bytes::from(self.stand_ins.fill(text, &view.edits));
        let document = document(&body, api).map_err(|error| format!("request {id}: {error}"))?;
        let (chosen, endpoint) = leafgate_record::chosen_upstream(path);
        // Both policies are asked whether a rule sends it elsewhere: what the log names is where it went.
        let is_sent = upstream_name.is_some() && upstream_name.as_deref() != chosen;
        let asked = AskedRequest {
            session: session.clone(),
            agent: Some(agent.clone()),
            model: model.clone().filter(|_| document.model().is_none()),
            is_subagent: Some(class == "subagent"),
            upstream: (!is_sent).then(|| upstream.clone()),
            upstream_name: chosen.map(str::to_owned),
            endpoint: Some(endpoint.to_owned()),
            ..AskedRequest::default()
        };
        let name = format!("request {id}");
        Ok(PlanCase { number: *id, name, document: Arc::new(document), asked, profile: None })
    }

    /// Returns what a plan over the log cannot know.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "The log has bodies as they left: what a policy rewrote or left out then is not undone, and what it \
             found is judged as a made-up value of the same kind. Headers and what a session knew are not there."
                .to_owned(),
        ];
        if self.stand_ins.without > 0 {
            notes.push(format!(
                "{} tokens and masks have no such value and stay as they are: no policy finds them.",
                self.stand_ins.without
            ));
        }
        if self.judged_otherwise > 0 {
            notes.push(format!(
                "{} of the requests were judged by another generation than today's policy is.",
                self.judged_otherwise
            ));
        }
        notes
    }
}

/// Reads a body in the format that its API has, as the gate does.
fn document(body: &Bytes, api: &str) -> Result<Document, leafgate_tree::ParseError> {
    request::document(body, recorded_format(api))
        .or_else(|_| request::document(body, None))
        .map(|(document, _)| document)
}
