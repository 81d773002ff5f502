//! How calls get their results, and how frames and runs end.

use leafgate_admin::AgentEventKind;
use leafgate_answer::AnswerText;

use super::effect::{Degraded, RunEffect};
use super::frame::{CallOutcome, Frame, FrameId, FrameState, Message, OpenCall, SlotState};
use super::{ENTRY, Run};
use crate::error::AgentError;

impl Run {
    /// The client gave its results: its time does not count as the agents'.
    pub(super) fn go_on(&mut self) {
        let Some(since) = self.paused.take() else { return };
        let waited = self.now.saturating_sub(since);
        for frame in self.frames.iter_mut().filter(|frame| !frame.is_over()) {
            frame.deadline = frame.deadline.map(|deadline| deadline.saturating_add(waited));
        }
    }

    /// The calls that the client has, or is to have: their numbers, and where they stand, in the order in which
    /// models made them.
    pub(super) fn clients_calls(&self, are_sent: bool) -> Vec<(u32, FrameId, usize)> {
        let of_frame = |frame: &Frame| {
            let slots = frame.open.iter().flat_map(|open| open.slots.iter().enumerate());
            let number = |(at, slot): (usize, &OpenCall)| match slot.state {
                SlotState::Client { number, is_sent } if is_sent == are_sent => Some((number, frame.id, at)),
                _ => None,
            };
            slots.filter_map(number).collect::<Vec<_>>()
        };
        let mut calls: Vec<_> = self.frames.iter().flat_map(of_frame).collect();
        calls.sort_unstable();
        calls
    }

    pub(super) fn slot(&mut self, frame: FrameId, slot: usize) -> Option<&mut OpenCall> {
        self.frames[frame.at()].open.as_mut()?.slots.get_mut(slot)
    }

    /// Returns what a call has come to now, and whether anything was run for it.
    pub(super) fn done(&self, text: AnswerText, is_error: bool, ran: bool) -> SlotState {
        SlotState::Done(CallOutcome { text, is_error, at: self.now, ran })
    }

    /// Gives a call its result. The first one counts.
    pub(super) fn answer(&mut self, frame: FrameId, slot: usize, text: AnswerText, is_error: bool) {
        let done = self.done(text, is_error, true);
        if let Some(slot) = self.slot(frame, slot)
            && !matches!(slot.state, SlotState::Done(_))
        {
            slot.state = done;
        }
    }

    /// Ends a frame with an error for whoever delegated to it. The entry's ends the run, which plain chat may replace
    /// where it `allows` that.
    pub(super) fn fail(&mut self, frame: FrameId, error: AgentError, allows: bool) {
        self.happened(AgentEventKind::Failed, frame, Some(error.clone()));
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
            self.happened(AgentEventKind::Degraded, ENTRY, None);
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
    }

    /// Ends the run with what it has, and all that is in flight.
    pub(super) fn finish_early(&mut self) {
        self.give_up_below(ENTRY);
        self.over = true;
        self.effects.push(RunEffect::Finish);
    }
}
