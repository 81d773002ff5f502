//! What a client is told about the work of others while it waits, a line each.
//!
//! It is the model's words, which rules have judged, and never what the client's tools said.

use leafgate_agents::{AgentEventKind, AgentName, Frame, Happened, Run};
use leafgate_answer::Reply;

use super::live::LiveRun;

/// An agent's model answered.
pub(super) fn worked(live: &LiveRun, frame: &Frame, reply: &Reply) {
    let said = reply.content.expose();
    if !said.is_empty() {
        live.tells(&format!("{}: {said}", frame.agent));
    }
}

/// Something happened in a run.
pub(super) fn happened(live: &LiveRun, run: &Run, happened: &Happened) {
    let Happened { kind, agent, to, error, .. } = happened;
    let frame = run.frame(happened.frame);
    let error = error.as_ref().map_or("", |error| error.kind.as_str());
    match kind {
        AgentEventKind::Delegated => {
            let to = to.as_ref().map_or("", AgentName::as_str);
            let work = frame.and_then(|frame| frame.messages.first()?.words());
            live.tells(&format!("{agent} asks {to}: {}", work.unwrap_or_default()));
        }
        AgentEventKind::Reported => {
            let report = frame.map(|frame| run.result_of(frame).final_response);
            live.tells(&format!("{agent} reports: {}", report.unwrap_or_default().expose()));
        }
        AgentEventKind::Refused => live.tells(&format!("{agent} may not do that: {error}")),
        // The entry's is the end of the run, which its client hears of in another way.
        AgentEventKind::Failed if frame.is_some_and(Frame::reports) => {
            live.tells(&format!("{agent} did not finish: {error}"));
        }
        AgentEventKind::Degraded => run.degraded().into_iter().for_each(|degraded| live.degrades(degraded)),
        AgentEventKind::Failed | AgentEventKind::Withheld => {}
    }
}
