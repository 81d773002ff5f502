//! What a client is told about the work of others while it waits, a line each.
//!
//! It is the model's words, which rules have judged, and never what the client's tools said.

use leafgate_agents::{Frame, Happened, Run};
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
    match happened {
        Happened::Delegated { from, to, frame } => {
            let work = run.frame(*frame).and_then(|frame| frame.messages.first()?.words());
            live.tells(&format!("{from} asks {to}: {}", work.unwrap_or_default()));
        }
        Happened::Reported { agent, frame } => {
            let report = run.frame(*frame).map(|frame| run.result_of(frame).final_response);
            live.tells(&format!("{agent} reports: {}", report.unwrap_or_default().expose()));
        }
        Happened::Refused { agent, error, .. } => {
            live.tells(&format!("{agent} may not do that: {}", error.kind.as_str()));
        }
        // The entry's is the end of the run, which its client hears of in another way.
        Happened::Failed { agent, frame, error } => {
            if run.frame(*frame).is_some_and(|frame| frame.parent().is_some()) {
                live.tells(&format!("{agent} did not finish: {}", error.kind.as_str()));
            }
        }
        Happened::Degraded(degraded) => live.degrades(*degraded),
        Happened::Withheld { .. } => {}
    }
}
