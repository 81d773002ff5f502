//! What becomes of each call of a reply.

use std::sync::Arc;

use leafgate_answer::{AnswerText, Call, CallKind};
use serde_json::{Map, Value};

use super::Run;
use super::frame::Frame;
use crate::error::{AgentError, ErrorKind};
use crate::team::Agent;
use crate::tools::{DELEGATE_WORK, REPORT_OUT};

/// What a call asks for, as far as its agent may.
pub(super) enum DelegationOrder {
    /// Work for another agent.
    Work { agent: Agent, description: AnswerText, expectations: AnswerText },
    /// The end of the frame.
    Report(AnswerText),
    /// A tool of the client.
    Client,
}

impl Run {
    /// Returns what a call asks for, or why it cannot be had.
    pub(super) fn asked(&self, frame: &Frame, call: &Call) -> Result<DelegationOrder, AgentError> {
        match call.name.expose() {
            DELEGATE_WORK if !frame.targets.is_empty() => self.work(frame, call),
            REPORT_OUT if frame.reports() => {
                let arguments = arguments(call);
                let report = arguments.as_ref().and_then(|arguments| text(arguments, "report"));
                report.map(DelegationOrder::Report).ok_or_else(|| {
                    refused(frame, ErrorKind::Delegation, "reportOut needs a text `report`. Call it again.")
                })
            }
            DELEGATE_WORK => Err(refused(frame, ErrorKind::Delegation, "This agent can delegate to nobody.")),
            REPORT_OUT => {
                let what = "Only delegated work is reported. Answer in words to finish.";
                Err(refused(frame, ErrorKind::ToolAccess, what))
            }
            tool if !frame.tools.iter().any(|known| **known == *tool) => {
                let what = "This tool is not available to this agent. Use the tools that it has.";
                Err(refused(frame, ErrorKind::ToolAccess, what))
            }
            _ if call.kind == CallKind::Function && arguments(call).is_none() => {
                let what = "The arguments are no JSON object, so the tool was not run. Call it again.";
                Err(refused(frame, ErrorKind::ToolAccess, what))
            }
            _ => Ok(DelegationOrder::Client),
        }
    }

    /// Exists and permitted, not in the chain, not too deep, and within the bounds of a run.
    fn work(&self, frame: &Frame, call: &Call) -> Result<DelegationOrder, AgentError> {
        let arguments = arguments(call);
        let member = |key| arguments.as_ref().and_then(|arguments| text(arguments, key));
        let (Some(name), Some(description)) = (member("agentName"), member("workDescription")) else {
            let what = "delegateWork needs the texts `agentName` and `workDescription`. Call it again.";
            return Err(refused(frame, ErrorKind::Delegation, what));
        };
        let names = || frame.targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>().join(", ");
        let delegator = self.team.agent(frame.agent.as_str());
        let permitted = self.team.agent(name.expose()).filter(|agent| {
            delegator.is_some_and(|delegator| delegator.delegation.allows(agent.name.as_str()))
        });
        let Some(agent) = permitted else {
            let what = format!("This agent can delegate to: {}.", names());
            return Err(refused(frame, ErrorKind::Delegation, what));
        };
        let about = |kind, what: String| Err(AgentError::new(kind, Some(&agent.name), what));
        if frame.chain.contains(&agent.name) {
            let chain: Vec<&str> = frame.chain.iter().map(|name| name.as_str()).collect();
            let what = format!(
                "`{}` waits for this work already (the chain is {}). Do it yourself or ask another agent.",
                agent.name,
                chain.join(" → ")
            );
            return about(ErrorKind::CircularDelegation, what);
        }
        let deepest = self.team.settings.max_depth;
        if frame.depth() >= deepest {
            let what = format!("Work is delegated at most {deepest} levels deep. Do it yourself.");
            return about(ErrorKind::Delegation, what);
        }
        if self.frames.len() >= self.limits.frames as usize {
            let what = format!("At most {} agents work for one request. Do it yourself.", self.limits.frames);
            return about(ErrorKind::Delegation, what);
        }
        let expectations = member("reportExpectations").unwrap_or_default();
        Ok(DelegationOrder::Work { agent: agent.clone(), description, expectations })
    }

    /// The tool that a call names, where the client or the gate offers it.
    pub(super) fn known_tool(&self, call: &Call) -> Option<Arc<str>> {
        let name = call.name.expose();
        let own = [DELEGATE_WORK, REPORT_OUT].into_iter().find(|own| *own == name).map(Arc::from);
        own.or_else(|| self.offered.iter().find(|tool| ***tool == *name).cloned())
    }
}

fn refused(frame: &Frame, kind: ErrorKind, what: impl Into<String>) -> AgentError {
    AgentError::new(kind, Some(&frame.agent), what)
}

/// Nothing at all stands for no arguments.
fn arguments(call: &Call) -> Option<Map<String, Value>> {
    let text = call.arguments.expose();
    if text.trim().is_empty() {
        return Some(Map::new());
    }
    serde_json::from_str(text).ok()
}

fn text(arguments: &Map<String, Value>, key: &str) -> Option<AnswerText> {
    arguments.get(key)?.as_str().map(AnswerText::from)
}
