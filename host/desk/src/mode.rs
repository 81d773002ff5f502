//! Which turns wait although no rule asks: the four modes, and how they follow each other.
//!
//! ```text
//!      off ◄───────► interceptAlways ◄───────► autoOverride
//!        ▲                  ▲                       ▲        nothing saved, or asked for: capturing
//!        └──────────────────┼───────────────────────┘        else: applying
//!                           │ back to the mode before it, once it has paused a turn
//!                     interceptOnce
//! ```
//!
//! Any mode can be chosen in any other. Turning off is the only choice that ends what a mode paused.

use std::collections::BTreeSet;
use std::sync::Arc;

use leafgate_admin::{AutoState, TurnMode};

/// A mode's wish that one turn waits. It is made before the turn is, and counts only as long as
/// nobody has turned the modes off in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModePause {
    /// The mode that asked.
    pub mode: TurnMode,
    round: u64,
}

/// The mode in force, and what it was before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Modes {
    pub(crate) mode: TurnMode,
    /// What `interceptOnce` gives way to; never itself.
    before: TurnMode,
    /// Whether there are saved edits for every conversation.
    saved: bool,
    /// The conversations that have some of their own.
    saved_in: BTreeSet<Arc<str>>,
    /// Whether somebody asked to capture although there are.
    armed: bool,
    /// How often the modes were turned off.
    round: u64,
}

impl Modes {
    pub(crate) fn new(mode: TurnMode) -> Self {
        let mut modes = Modes::default();
        modes.choose(mode);
        modes
    }

    /// The mode that a start after this run begins with: a single pause is for this run only.
    pub(crate) fn lasting(&self) -> TurnMode {
        if self.mode == TurnMode::InterceptOnce { self.before } else { self.mode }
    }

    /// What `autoOverride` does with the next turn of a conversation; `None` for a new one.
    pub(crate) fn auto(&self, session: Option<&str>) -> AutoState {
        let saved = self.saved || session.is_some_and(|session| self.saved_in.contains(session));
        if self.armed || !saved { AutoState::Capturing } else { AutoState::Applying }
    }

    /// Makes a mode the one in force.
    pub(crate) fn choose(&mut self, mode: TurnMode) {
        if mode == TurnMode::InterceptOnce {
            self.before = self.lasting();
        }
        self.mode = mode;
        if mode == TurnMode::Off {
            self.round += 1;
        }
        if self.lasting() != TurnMode::AutoOverride {
            self.armed = false;
        }
    }

    /// Which mode wants the next turn of a conversation to wait, or that of a new one. What pauses and
    /// what is told of it both follow from this.
    pub(crate) fn wants(&self, session: Option<&str>) -> Option<TurnMode> {
        match self.mode {
            TurnMode::Off => None,
            // Where edits are to be saved, a single pause saves them too.
            _ if self.lasting() == TurnMode::AutoOverride && self.auto(session) == AutoState::Capturing => {
                Some(TurnMode::AutoOverride)
            }
            TurnMode::AutoOverride => None,
            mode @ (TurnMode::InterceptOnce | TurnMode::InterceptAlways) => Some(mode),
        }
    }

    /// What the mode wants of the next turn of a conversation. A single pause is used up by asking.
    pub(crate) fn pause_next(&mut self, session: &str) -> Option<ModePause> {
        let asks = self.wants(Some(session)).map(|mode| ModePause { mode, round: self.round });
        self.mode = self.lasting();
        asks
    }

    /// The same wish for the turn that takes the place of one that waits by it.
    pub(crate) fn pause_again(&self, mode: TurnMode) -> ModePause {
        ModePause { mode, round: self.round }
    }

    /// Whether the modes have not been turned off since the wish was made.
    pub(crate) fn stands(&self, pause: ModePause) -> bool {
        pause.round == self.round
    }

    /// What was asked to be captured is, or a person had nothing to save.
    pub(crate) fn captured(&mut self) {
        self.armed = false;
    }

    /// Whether there are saved edits for every conversation. Returns whether that is new.
    pub(crate) fn save(&mut self, saved: bool) -> bool {
        std::mem::replace(&mut self.saved, saved) != saved
    }

    /// These conversations have saved edits of their own. Returns whether that is new.
    pub(crate) fn save_in(&mut self, sessions: &[Arc<str>]) -> bool {
        let saved = sessions.iter().cloned().collect();
        let before = std::mem::replace(&mut self.saved_in, saved);
        before != self.saved_in
    }

    /// Forgets the saved edits of conversations that are gone.
    pub(crate) fn forget_saved(&mut self, is_known: impl Fn(&str) -> bool) {
        self.saved_in.retain(|session| is_known(session));
    }

    /// Returns false where no saved edits are applied, so that there is nothing to capture for.
    pub(crate) fn capture(&mut self) -> bool {
        self.armed = self.lasting() == TurnMode::AutoOverride;
        self.armed
    }
}

#[cfg(test)]
mod tests {
    use super::TurnMode::{AutoOverride, InterceptAlways, InterceptOnce, Off};
    use super::*;

    #[test]
    fn every_choice_from_every_mode() {
        // The mode in force after a choice, the lasting one, and the one after the next turn.
        for (from, to, lasting, next) in [
            (Off, Off, Off, Off),
            (Off, InterceptOnce, Off, Off),
            (Off, InterceptAlways, InterceptAlways, InterceptAlways),
            (Off, AutoOverride, AutoOverride, AutoOverride),
            (InterceptOnce, Off, Off, Off),
            (InterceptOnce, InterceptOnce, Off, Off),
            (InterceptOnce, InterceptAlways, InterceptAlways, InterceptAlways),
            (InterceptOnce, AutoOverride, AutoOverride, AutoOverride),
            (InterceptAlways, Off, Off, Off),
            (InterceptAlways, InterceptOnce, InterceptAlways, InterceptAlways),
            (InterceptAlways, InterceptAlways, InterceptAlways, InterceptAlways),
            (InterceptAlways, AutoOverride, AutoOverride, AutoOverride),
            (AutoOverride, Off, Off, Off),
            (AutoOverride, InterceptOnce, AutoOverride, AutoOverride),
            (AutoOverride, InterceptAlways, InterceptAlways, InterceptAlways),
            (AutoOverride, AutoOverride, AutoOverride, AutoOverride),
        ] {
            let mut modes = Modes::new(from);
            modes.choose(to);
            assert_eq!((modes.mode, modes.lasting()), (to, lasting), "{from} to {to}");
            let pause = modes.pause_next("s");
            // Nothing is saved, so a single pause is a capture where edits are applied.
            let asks = if lasting == AutoOverride { AutoOverride } else { to };
            assert_eq!(pause.map(|pause| pause.mode), (to != Off).then_some(asks), "{from} to {to}");
            assert_eq!(modes.mode, next, "{from} to {to}");
        }
    }

    #[test]
    fn saved_edits_are_applied_without_a_pause_until_somebody_captures_or_clears() {
        let mut modes = Modes::new(AutoOverride);
        let pauses = |modes: &mut Modes| modes.pause_next("s").map(|pause| pause.mode);
        assert_eq!((modes.auto(Some("s")), pauses(&mut modes)), (AutoState::Capturing, Some(AutoOverride)));
        modes.save(true);
        assert_eq!((modes.auto(Some("s")), pauses(&mut modes)), (AutoState::Applying, None));
        modes.choose(InterceptOnce);
        assert_eq!((pauses(&mut modes), pauses(&mut modes)), (Some(InterceptOnce), None));
        assert!(modes.capture());
        assert_eq!((modes.auto(Some("s")), pauses(&mut modes)), (AutoState::Capturing, Some(AutoOverride)));
        modes.captured();
        assert_eq!(modes.auto(Some("s")), AutoState::Applying);
        modes.save(false);
        assert_eq!((modes.auto(Some("s")), pauses(&mut modes)), (AutoState::Capturing, Some(AutoOverride)));
    }

    #[test]
    fn capture_is_asked_only_where_edits_are_applied_and_ends_with_the_mode() {
        let mut modes = Modes::new(AutoOverride);
        modes.save(true);
        assert!(modes.capture());
        modes.choose(InterceptOnce);
        assert_eq!(modes.auto(Some("s")), AutoState::Capturing, "a single pause leaves it armed");
        modes.choose(Off);
        assert!(!modes.capture());
        modes.choose(AutoOverride);
        assert_eq!(modes.auto(Some("s")), AutoState::Applying);
    }

    #[test]
    fn a_wish_falls_with_the_modes() {
        let mut modes = Modes::new(InterceptAlways);
        let pause = modes.pause_next("s").unwrap();
        assert!(modes.stands(pause));
        modes.choose(AutoOverride);
        assert!(modes.stands(pause), "another mode leaves what waits alone");
        modes.choose(Off);
        modes.choose(InterceptAlways);
        assert!(!modes.stands(pause));
    }

    #[test]
    fn edits_that_one_conversation_saved_are_nothing_to_another() {
        let mut modes = Modes::new(AutoOverride);
        let (one, other) = ("one", "other");
        assert!(modes.save_in(&[one.into()]));
        assert!(!modes.save_in(&[one.into()]));
        assert_eq!(modes.pause_next(one), None);
        assert!(modes.pause_next(other).is_some());
        assert_eq!(
            (modes.auto(Some(one)), modes.auto(Some(other)), modes.auto(None)),
            (AutoState::Applying, AutoState::Capturing, AutoState::Capturing)
        );
        modes.forget_saved(|session| session != "one");
        assert!(modes.pause_next(one).is_some());
        assert!(modes.save(true) && !modes.save(true));
        assert_eq!((modes.pause_next(one), modes.pause_next(other)), (None, None));
    }
}
