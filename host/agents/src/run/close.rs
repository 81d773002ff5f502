//! How calls get their results, and how frames and runs end.

use leafgate_answer::AnswerText;

use super::effect::{Degraded, Happened, RunEffect, RunEffects};
use super::frame::{DoneCall, FrameId, FrameState, Message, SlotState};
use super::{ENTRY, GivenState, Run};
use crate::error::AgentError;
use crate::tick::Tick;

impl Run {
    /// The client gave its results: its time does not count as the agents'.
    pub(super) fn go_on(&mut self, now: Tick) {
        let Some(since) = self.paused.take() else { return };
        let waited = now.since(since);
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

    /// Answers a call that the client has. The first result counts.
    pub(super) fn close(&mut self, call: usize, done: DoneCall) {
        let Some(given) = self.calls.get_mut(call).filter(|given| given.state == GivenState::Sent) else {
            return;
        };
        given.state = GivenState::Closed;
        let (frame, slot) = (given.frame, given.slot);
        self.answer(frame, slot, done);
    }

    /// Gives a call its result.
    fn answer(&mut self, frame: FrameId, slot: usize, done: DoneCall) {
        let open = self.frames[frame.at()].open.as_mut();
        if let Some(slot) = open.and_then(|open| open.slots.get_mut(slot)) {
            slot.state = SlotState::Done(done);
        }
    }

    /// Ends a frame with an error for whoever delegated to it. The entry's ends the run, which plain chat may replace
    /// where it `allows` that.
    pub(super) fn fail(
        &mut self,
        frame: FrameId,
        error: AgentError,
        allows: bool,
        now: Tick,
        effects: &mut RunEffects,
    ) {
        let agent = self.frames[frame.at()].agent.clone();
        effects.push(RunEffect::Happened(Happened::Failed { agent, frame, error: error.clone() }));
        if frame != ENTRY {
            self.give_up_below(frame, now, effects);
            self.end(frame, error.to_string().into(), true, now);
            return;
        }
        // Only a run that has done and said nothing can be replaced by plain chat.
        let begun =
            self.frames[ENTRY.at()].messages.iter().any(|message| matches!(message, Message::Model(_)));
        if !begun && allows {
            self.degraded = Some(Degraded::DirectChat);
            effects.push(RunEffect::Happened(Happened::Degraded(Degraded::DirectChat)));
        }
        self.finish_early(now, effects);
    }

    /// Ends a delegated frame: its text is the result of the call that began it.
    pub(super) fn end(&mut self, frame: FrameId, text: AnswerText, is_error: bool, now: Tick) {
        let of = &mut self.frames[frame.at()];
        of.state = FrameState::Ended;
        of.report = (!is_error).then(|| text.clone());
        if let Some((parent, slot)) = of.parent {
            self.answer(parent, slot, DoneCall { text, is_error, at: now, ran: true });
        }
    }

    /// Gives up what a frame waits for, and all that works for it.
    pub(super) fn give_up_below(&mut self, frame: FrameId, now: Tick, effects: &mut RunEffects) {
        // A frame begins after the one that delegated to it.
        for at in frame.at()..self.frames.len() {
            let below = at == frame.at() || self.works_for(at, frame);
            if below && !self.frames[at].is_over() {
                self.give_up(FrameId(at as u32), now, effects);
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
    fn give_up(&mut self, frame: FrameId, now: Tick, effects: &mut RunEffects) {
        let of = &mut self.frames[frame.at()];
        if let FrameState::Asking(request) = of.state {
            effects.push(RunEffect::Abort(request));
        }
        of.state = FrameState::Ended;
        if let Some(open) = of.open.take() {
            open.slots.into_iter().for_each(|slot| self.record(frame, slot, now));
        }
        for call in self.calls.iter_mut().filter(|call| call.frame == frame) {
            call.state = GivenState::Closed;
        }
    }

    /// Ends the run with what it has, and all that is in flight.
    pub(super) fn finish_early(&mut self, now: Tick, effects: &mut RunEffects) {
        self.give_up_below(ENTRY, now, effects);
        self.over = true;
        effects.push(RunEffect::Finish);
    }
}
