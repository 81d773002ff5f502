//! Side requests that wait with a turn whose words they repeat ([`leafgate_desk::Repeats`]): found
//! outside of the lock, since the policy is asked what a request adds.

use std::sync::Arc;

use leafgate_desk::{Lead, Paused, Repeats, Turn, TurnClass, TurnId};
use leafgate_policy::On;

use super::{TurnGuard, Turns};

impl Turns {
    /// What a request repeats of the turns that wait or were decided a moment ago, and which these
    /// were.
    pub(super) fn repeats(&self, paused: &Paused<TurnGuard>) -> (Option<Repeats>, Vec<Lead>) {
        if paused.class != TurnClass::Side || paused.reviewer.on != On::Request {
            return (None, Vec::new());
        }
        let leads = self.lock().desk.leads();
        let Paused { draft, to, holds, reviewer, .. } = paused;
        (Repeats::of(draft, to, holds, &**reviewer, &leads), leads)
    }

    /// Brings a request that has begun to wait together with what came while it was being looked at,
    /// or before it: a side request with the turns besides those that were `seen`, a turn with the
    /// side requests that are asked about by themselves.
    pub(super) fn bring_together(&self, turn: TurnId, seen: &[Lead]) {
        let (sides, leads) = {
            let state = self.lock();
            let Ok(found) = state.desk.turn(turn) else { return };
            let leads = state.desk.leads().into_iter();
            let is_side = found.class == TurnClass::Side;
            let wanted = |lead: &Lead| match is_side {
                true => seen.iter().all(|seen| seen.turn != lead.turn),
                false => lead.turn == turn,
            };
            let leads: Vec<_> = leads.filter(wanted).collect();
            if leads.is_empty() {
                return;
            }
            let alone = state.desk.alone().filter(|side| !is_side || side.id == turn);
            let alone = alone.filter(|side| side.reviewer.on == On::Request);
            let held =
                |side: &Turn<TurnGuard>| side.holds.list.iter().map(|held| held.hold.clone()).collect();
            let sides: Vec<(_, _, Vec<_>, _)> = alone
                .map(|side| (side.id, Arc::clone(&side.draft), held(side), Arc::clone(&side.reviewer)))
                .collect();
            (sides, leads)
        };
        for (turn, draft, holds, guard) in sides {
            if let Some(repeats) = Repeats::of(&draft, &guard.to, &holds, &*guard, &leads) {
                self.event(|desk, now| desk.stand_beside(turn, repeats, now));
            }
        }
    }
}
