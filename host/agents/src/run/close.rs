//! How calls get their results, and how frames and runs end.

use leafgate_answer::AnswerText;

use super::effect::{Degraded, Happened, RunEffect};
use super::frame::{DoneCall, FrameId, FrameState, Message, SlotState};
use super::{ENTRY, GivenState, Run};
use crate::error::AgentError;

impl Run {
    /// The client gave its results: its time does not count as the agents'.
    pub(super) fn go_on(&mut self) {
        let Some(since) = self.paused.take() else { return };
        let waited = self.now.since(since);
        for frame in self.frames.iter_mut().filter(|frame| !frame.is_over()) {
            frame.deadline = frame.deadline.map(|deadline| deadline.after(waited));
        }
    }

    /// The call that an id names, if the client has it.
    pub(super) fn given(&self, id: &str) -> Option<usize> {
        let mark = self.key.read(id).filter(|mark| mark.run == self.id)?;
        usize::try_from(mark.call).ok().filter(|at| self.is_sent(*at))
    }

    pub(super) fn is_sent(&self, call: usize) -> bool {
        self.calls.get(call).is_some_and(|given| given.state == GivenState::Sent)
    }

    /// Returns what a call has come to now, and whether anything was run for it.
    pub(super) fn done(&self, text: AnswerText, is_error: bool, ran: bool) -> SlotState {
        SlotState::Done(DoneCall { text, is_error, at: self.now, ran })
    }

    /// Answers a call that the client has. The first result counts.
    pub(super) fn close(&mut self, call: usize, text: AnswerText, is_error: bool) {
        let Some(given) = self.calls.get_mut(call).filter(|given| given.state == GivenState::Sent) else {
            return;
        };
        given.state = GivenState::Closed;
        let (frame, slot) = (given.frame, given.slot);
        self.answer(frame, slot, text, is_error);
    }

    /// Gives a call its result.
    fn answer(&mut self, frame: FrameId, slot: usize, text: AnswerText, is_error: bool) {
        let done = self.done(text, is_error, true);
        let open = self.frames[frame.at()].open.as_mut();
        if let Some(slot) = open.and_then(|open| open.slots.get_mut(slot)) {
            slot.state = done;
        }
    }

    /// Ends a frame with an error for whoever delegated to it. The entry's ends the run, which plain chat may replace
    /// where it `allows` that.
    pub(super) fn fail(&mut self, frame: FrameId, error: AgentError, allows: bool) {
        let agent = self.frames[frame.at()].agent.clone();
        self.happened(Happened::Failed { agent, frame, error: error.clone() });
        if frame != ENTRY {
            self.give_up_below(frame);
            self.end(frame, error.to_string().into(), true);
            return;
        }
        // Only a run that has done and said nothing can be replaced by plain chat.
        let begun =
            self.frames[ENTRY.at()].messages.iter().any(|message| matches!(message, Message::Model(_)));
        if !begun && allows {
            self.degraded = Some(Degraded::DirectChat);
            self.happened(Happened::Degraded(Degraded::DirectChat));
        }
        self.finish_early();
    }

    /// Ends a delegated frame: its text is the result of the call that began it.
    pub(super) fn end(&mut self, frame: FrameId, text: AnswerText, is_error: bool) {
        let of = &mut self.frames[frame.at()];
        of.state = FrameState::Ended;
        of.report = (!is_error).then(|| text.clone());
        if let Some((parent, slot)) = of.parent {
            self.answer(parent, slot, text, is_error);
        }
    }

    /// Gives up what a frame waits for, and all that works for it.
    pub(super) fn give_up_below(&mut self, frame: FrameId) {
        // A frame begins after the one that delegated to it.
        for at in frame.at()..self.frames.len() {
            let below = at == frame.at() || self.works_for(at, frame);
            if below && !self.frames[at].is_over() {
                self.give_up(FrameId(at as u32));
            }
        }
    }

    /// Whether a frame was begun for another one, directly or not.
    fn works_for(&self, at: usize, frame: FrameId) -> bool {
        let mut above = self.frames[at].parent;
        while let Some((parent, _)) = above {
            if parent == frame {
                return true;
            }
            above = self.frames[parent.at()].parent;
        }
        false
    }

    /// Ends a frame without a result. Whatever it waits for is not wanted any more.
    fn give_up(&mut self, frame: FrameId) {
        let of = &mut self.frames[frame.at()];
        if let FrameState::Asking(request) = of.state {
            self.effects.push(RunEffect::Abort(request));
        }
        of.state = FrameState::Ended;
        if let Some(open) = of.open.take() {
            open.slots.into_iter().for_each(|slot| self.record(frame, slot));
        }
        for call in self.calls.iter_mut().filter(|call| call.frame == frame) {
            call.state = GivenState::Closed;
        }
    }

    /// Ends the run with what it has, and all that is in flight.
    pub(super) fn finish_early(&mut self) {
        self.give_up_below(ENTRY);
        self.over = true;
        self.effects.push(RunEffect::Finish);
    }
}
