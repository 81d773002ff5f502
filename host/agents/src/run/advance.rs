//! What a run does next, once an event was taken.

use leafgate_admin::AgentEventKind;
use leafgate_answer::Call;

use super::effect::{RunEffect, RunEffects};
use super::frame::{CallOutcome, Frame, FrameId, FrameState, Message, OpenCall, RequestId, SlotState};
use super::{ClientCall, ENTRY, Run};
use crate::error::{AgentError, ErrorKind};
use crate::mark::CallMark;

impl Run {
    /// Does all that can be done now, and returns what its caller is to do.
    pub(super) fn advance(&mut self) -> RunEffects {
        while !self.over {
            if let Some(frame) = self.settled() {
                self.close_turn(frame);
            } else if let Some(frame) = self.starved() {
                self.ask(frame);
            } else {
                break;
            }
        }
        if self.bytes > self.limits.bytes && !self.over {
            self.finish_early();
        }
        self.ask_queued();
        if !self.over && self.starved().is_some() {
            // The last requests went to others just now.
            return self.advance();
        }
        self.give_calls();
        std::mem::take(&mut self.effects)
    }

    /// A frame that wants to ask in a run that has made its requests.
    fn starved(&self) -> Option<FrameId> {
        let queued = |frame: &&Frame| frame.state == FrameState::Queued;
        let spent = self.requests >= self.limits.requests;
        self.frames.iter().find(|frame| spent && queued(frame)).map(|frame| frame.id)
    }

    /// A frame whose calls all have their results.
    fn settled(&self) -> Option<FrameId> {
        let is_done = |slot: &OpenCall| matches!(slot.state, SlotState::Done(_));
        let settled = |frame: &&Frame| frame.open.as_ref().is_some_and(|open| open.slots.iter().all(is_done));
        self.frames.iter().find(settled).map(|frame| frame.id)
    }

    /// Puts the results of a turn into its frame, which ends with its report or asks again.
    fn close_turn(&mut self, frame: FrameId) {
        let Some(open) = self.frames[frame.at()].open.take() else { return };
        for slot in open.slots {
            self.record(frame, slot);
        }
        // They count since they were said.
        self.frames[frame.at()].messages.extend(open.said.into_iter().map(Message::Said));
        match open.report {
            Some(report) => {
                self.frames[frame.at()].completed = true;
                self.happened(AgentEventKind::Reported, frame, None);
                self.end(frame, report, false);
            }
            None => self.ask(frame),
        }
    }

    /// Writes down what a call came to. A call that nobody answered was given up.
    pub(super) fn record(&mut self, frame: FrameId, slot: OpenCall) {
        let outcome = match slot.state {
            SlotState::Done(outcome) => outcome,
            SlotState::Delegated | SlotState::Client { .. } => {
                let text = "Not finished: the work was given up.".into();
                CallOutcome { text, is_error: true, at: self.now, ran: false }
            }
        };
        self.say(frame, Message::Result { call: slot.call, outcome });
    }

    /// Has a frame ask again, or ends it where it or the run has asked too often.
    pub(super) fn ask(&mut self, frame: FrameId) {
        let most = self.team.settings.max_iterations;
        if self.frames[frame.at()].iterations < most && self.requests < self.limits.requests {
            self.frames[frame.at()].state = FrameState::Queued;
            return;
        }
        if frame == ENTRY {
            return self.finish_early();
        }
        let agent = self.frames[frame.at()].agent.clone();
        let what = if self.requests < self.limits.requests {
            format!("`{agent}` did not report within {most} requests.")
        } else {
            format!("`{agent}` did not finish: this run has made its {} requests.", self.limits.requests)
        };
        let error = AgentError::new(ErrorKind::AgentExecution, Some(&agent), what);
        self.fail(frame, error, false);
    }

    /// Asks for queued frames, while few enough ask.
    fn ask_queued(&mut self) {
        if self.over {
            return;
        }
        let asks = |frame: &&Frame| matches!(frame.state, FrameState::Asking(_));
        let asking = self.frames.iter().filter(asks).count();
        let room = (self.limits.side_by_side.max(1) as usize).saturating_sub(asking);
        let left = self.limits.requests.saturating_sub(self.requests) as usize;
        let queued = self.frames.iter_mut().filter(|frame| frame.state == FrameState::Queued);
        for frame in queued.take(room.min(left)) {
            let request = RequestId(self.requests);
            self.requests += 1;
            frame.iterations += 1;
            frame.state = FrameState::Asking(request);
            self.effects.push(RunEffect::Ask { request, frame: frame.id });
        }
    }

    /// Gives the client its calls, once no model is asked: a client gets one answer to a request.
    fn give_calls(&mut self) {
        let idle = |frame: &Frame| !matches!(frame.state, FrameState::Asking(_) | FrameState::Queued);
        if self.over || self.paused.is_some() || !self.frames.iter().all(idle) {
            return;
        }
        let mut given = Vec::new();
        for (number, frame, slot) in self.clients_calls(false) {
            let Some(slot) = self.slot(frame, slot) else { continue };
            slot.state = SlotState::Client { number, is_sent: true };
            let call = slot.call.clone();
            let mark = CallMark { run: self.id, call: number, delegated: frame != ENTRY };
            let id = self.key.mark(mark).into();
            given.push(ClientCall { frame, call: Call { id, ..call } });
        }
        if !given.is_empty() {
            self.paused = Some(self.now);
            self.effects.push(RunEffect::GiveCalls(given));
        }
    }
}
