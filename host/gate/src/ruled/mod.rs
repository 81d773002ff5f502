//! What rules, profiles and people make of an answer before its client has it.
//!
//! - Rules with `on = "response"` read its texts and the arguments of its tool calls.
//! - Rules with `on = "tool-call"`, and the profile that made the request, decide about its tool
//!   calls. Where they ask a person, the calls wait at the desk like a request, as a request: chat
//!   completions with a message for each call. So a person sees, edits, leaves out and decides as
//!   ever, and what is let go is what was shown.
//!
//! What is refused reaches the client in the model's words and ends its turn: an error would end an
//! agent's run, and an agent that knows why can do something else. What a response rule blocks is
//! an error.
//!
//! An answer that cannot be read with certainty does not pass: nobody knows which calls a client
//! finds in it. Tokens are restored behind all this, so rules see tokens.

#[cfg(test)]
mod every_path;
mod judge;
mod scan;
mod stream;
mod texts;
mod whole;

use std::sync::Arc;

use http::header::CONTENT_LENGTH;
use http::{Response, StatusCode};
use leafgate_answer::Api as AnswerApi;
use leafgate_policy::{Approval, Assembly, Context, OfAnswers, Offered, On, Policy};
use leafgate_record::AnswerOutcome;
use leafgate_tree::{Document, NodeId};

use crate::apis::{Wants, asks_for_several, configs};
use crate::arriving::Arriving;
use crate::exchange::Exchange;
use crate::log::RequestProgress;
use crate::session::PriorResponse;
use crate::shared::Shared;
use crate::subject::Subject;
use crate::tally::RuleTally;
use leafgate_http::{AnswerForm, Code, Content, Refusal};

pub(crate) use whole::SoFar;

/// What an answer is judged by: what its request was judged by.
#[derive(derive_more::Deref)]
pub(crate) struct Ruling {
    #[deref(forward)]
    subject: Arc<Subject>,
    assembly: Option<Arc<Assembly>>,
    pub(crate) of: OfAnswers,
    pub(crate) answers: AnswerApi,
    /// The tools that its request offered.
    offered: Offered,
    /// Whether its reasoning comes with an encrypted copy.
    sealed: bool,
    /// Whether its request asked for several choices.
    several: bool,
}

/// Refuses a request about whose answer a rule or a profile may decide, where nobody here can read it.
pub(crate) fn refuse_unread(
    policy: &Policy,
    approves: Option<&Arc<Assembly>>,
    context: &Context<'_>,
    wants: &Wants,
) -> Result<(), Refusal> {
    let calls = match wants {
        Wants::Count(_) | Wants::Data => return Ok(()),
        Wants::Text => false,
        Wants::Turn | Wants::Later | Wants::Other => true,
    };
    let rule = policy.answer_guard(context, calls).map(|rule| format!("rule `{rule}`"));
    let profile = || approves.filter(|_| calls).map(|profile| format!("profile `{}`", profile.id));
    let Some(guard) = rule.or_else(profile) else { return Ok(()) };
    let message = format!(
        "blocked by this gate: {guard} decides about answers, and the answer to this path cannot be read here: ask for chat \
         completions, Responses, Messages or generateContent, or have the rule's `match` name the paths that it is for (`endpoint`)"
    );
    Err(Refusal::new(StatusCode::BAD_REQUEST, Code::Blocked, message))
}

impl Ruling {
    /// What judges the answer to a request; `None` where nothing is asked of it. What nobody could
    /// judge is refused. `behind` is what is known of the response that the request goes on from.
    pub(crate) fn of(
        subject: &Subject,
        assembly: Option<&Arc<Assembly>>,
        behind: Option<&PriorResponse>,
        request: &Document,
    ) -> Result<Option<Arc<Self>>, Refusal> {
        let api = subject.api;
        let subject = Subject {
            model: subject.model.clone().or_else(|| request.model().map(|model| (*model).into())),
            other_models: request.models().into_iter().map(Into::into).collect(),
            streams: Some(api.streams(request)),
            outside: Arc::default(),
            files: Arc::default(),
            ..subject.clone()
        };
        let context = subject.context(On::Response);
        let of = subject.policy.of_answers(&context);
        let approves = assembly.filter(|assembly| assembly.approval.is_some());
        if of.is_none() && approves.is_none() {
            return Ok(None);
        }
        let Some(answers) = api.answers else {
            let wants = api.wants(subject.to.endpoint());
            return refuse_unread(&subject.policy, approves, &context, &wants).map(|()| None);
        };
        let mut offered = Offered::of(request);
        if let Some(behind) = behind {
            offered.extend(&behind.offered);
        }
        let mut of = of.unwrap_or_default();
        // What passes event by event must be what it was taken for.
        of.whole |= api.is_by_shape;
        of.whole |= of.look_behind.is_some() && asks_for_more(request);
        let (sealed, several) = ((api.seals)(request), asks_for_several(request));
        let (subject, assembly) = (Arc::new(subject), assembly.cloned());
        Ok(Some(Arc::new(Ruling { subject, assembly, of, answers, offered, sealed, several })))
    }

    fn approval(&self) -> Option<&Approval> {
        self.assembly.as_ref().and_then(|assembly| assembly.approval.as_ref())
    }

    /// Whether anybody decides about tool calls.
    fn asks_about_calls(&self) -> bool {
        self.of.calls || self.approval().is_some()
    }
}

/// An exchange whose answer is judged.
#[derive(derive_more::Deref)]
pub(crate) struct RuledExchange {
    shared: Arc<Shared>,
    progress: Arc<RequestProgress>,
    #[deref(forward)]
    ruling: Arc<Ruling>,
}

impl Exchange {
    /// Has an answer judged, whole or while it comes. Errors pass: they have no calls.
    pub(crate) async fn rule(
        &self,
        answer: Response<Arriving>,
        ruling: Option<Arc<Ruling>>,
    ) -> Result<Response<Content>, Refusal> {
        let Some(ruling) = ruling.filter(|_| answer.status().is_success()) else {
            return Ok(Arriving::passes(answer));
        };
        let exchange = self.ruled_by(ruling);
        let (mut parts, body) = answer.into_parts();
        parts.headers.remove(CONTENT_LENGTH);
        let ruled = match AnswerForm::of(&parts.headers) {
            Some(AnswerForm::Events) => Ok(exchange.rule_stream(body)),
            Some(AnswerForm::Whole) => exchange.rule_whole(body).await,
            None => Err(Refusal::upstream(
                "rules decide about the answer, and it is neither JSON nor an event stream that can be read",
            )),
        };
        let ruled = ruled.inspect_err(|_| exchange.not_judged())?;
        Ok(Response::from_parts(parts, ruled))
    }

    pub(crate) fn ruled_by(&self, ruling: Arc<Ruling>) -> Arc<RuledExchange> {
        let (shared, progress) = (Arc::clone(&self.shared), Arc::clone(&self.progress));
        Arc::new(RuledExchange { shared, progress, ruling })
    }
}

impl RuledExchange {
    /// Tells what became of an answer. One that passes and no rule matched is nothing to tell.
    fn answer_is(&self, outcome: AnswerOutcome, tally: &RuleTally) {
        if outcome > AnswerOutcome::Passed || !tally.rules.is_empty() {
            self.progress.answer_is(outcome, &tally.rules);
        }
    }

    /// Tells that an answer does not pass, where nothing was told about it.
    fn not_judged(&self) {
        if !self.progress.is_ruled() {
            self.answer_is(AnswerOutcome::Blocked, &RuleTally::default());
        }
    }
}

/// Whether an answer says words more than once: with their probabilities, or in several choices, which are complete one
/// behind the other only at the end.
fn asks_for_more(request: &Document) -> bool {
    let root = request.root();
    let said = |node: NodeId| request.leaf(node).map(|leaf| leaf.text().into_cow().into_owned());
    let asks = |key: &str| {
        let said = request.member(root, key).and_then(said);
        said.is_some_and(|said| !["false", "0", "null", ""].contains(&said.as_str()))
    };
    let includes = request
        .member(root, "include")
        .is_some_and(|list| request.children(list).filter_map(said).any(|said| said.contains("logprobs")));
    let probabilities = ["responseLogprobs", "response_logprobs"];
    ["logprobs", "top_logprobs"].into_iter().any(asks)
        || includes
        || asks_for_several(request)
        || configs(request)
            .any(|config| probabilities.iter().any(|key| request.member(config, key).is_some()))
}
