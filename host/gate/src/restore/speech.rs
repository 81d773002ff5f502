//! The texts of one answer, and what was restored in them: one context for all, carried from text
//! to text and never reset.
//!
//! A model that was talked into it may begin a link in one part, block, item or choice and put a
//! token into the next; clients join them. So each text is restored within all that was emitted
//! before it: of its kind, of its choice, of the answer. That covers what a client joins in the
//! order in which it came: what comes in another order, or behind the end of its text, is odd.

use std::collections::BTreeMap;
use std::sync::Arc;

use leafgate_answer::{Position, Said, TextKind, TextPlace};
use leafgate_tree::{Document, Draft, NodeId};
use leafgate_vault::{Joined, Restorer, Vault};

use super::calls::{RestoredCalls, set};

/// So many texts an answer may have; no request asks for more choices, and no answer has more
/// parts.
const MAX_TEXTS: usize = 512;

/// Bytes of restored texts that are kept for their repetitions.
const MAX_KEPT: usize = 16 * 1024 * 1024;

/// One answer.
pub(super) struct RestoredSpeech {
    vault: Vault,
    joined: BTreeMap<JoinedBy, Joined>,
    texts: BTreeMap<TextPlace, Spoken>,
    calls: RestoredCalls,
    /// Whether the API says texts again, so that it must be known what became of them.
    repeats: bool,
    /// Bytes of restored texts that are kept.
    kept: usize,
    /// A text has values that another one may still come before.
    has_late_values: bool,
}

/// Which texts a client may join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum JoinedBy {
    Kind(usize, TextKind),
    Choice(usize),
    All,
}

impl JoinedBy {
    fn around(place: TextPlace) -> [JoinedBy; 3] {
        [JoinedBy::Kind(place.choice, place.text), JoinedBy::Choice(place.choice), JoinedBy::All]
    }
}

/// A text, while it is spoken and afterwards.
#[derive(Default)]
struct Spoken {
    /// `None` once the text is complete.
    restorer: Option<Restorer>,
    /// The event that ends in what is held.
    last: Option<Arc<Document>>,
    /// What became of it.
    restored: String,
}

/// What was held back of a text that has ended.
pub(super) struct HeldText {
    pub(super) place: TextPlace,
    pub(super) last: Arc<Document>,
    pub(super) text: String,
}

/// An answer has more texts than are kept.
pub(super) struct TooMuch;

impl RestoredSpeech {
    pub(super) fn new(vault: Vault, repeats: bool) -> Self {
        RestoredSpeech {
            calls: RestoredCalls::new(vault.clone()),
            vault,
            joined: BTreeMap::new(),
            texts: BTreeMap::new(),
            repeats,
            kept: 0,
            has_late_values: false,
        }
    }

    /// Returns whether something that clients read in different ways may make more of the values that have left: give a call
    /// another name, or put a link before a text for those who join texts by their places.
    pub(super) fn may_be_changed(&self) -> bool {
        self.has_late_values || self.calls.have_values
    }

    /// Restores in the leaves of an answer or an event. What earlier events held back and is due
    /// now is given to `before`, since it belongs before this event.
    pub(super) fn hear(
        &mut self,
        draft: &mut Draft,
        said: &[Said],
        mut before: impl FnMut(HeldText),
    ) -> Result<(), TooMuch> {
        let document = draft.document().clone();
        let said: Vec<Said> = said.iter().copied().filter(|said| !is_empty(&document, *said)).collect();
        let places = said.iter().filter_map(|said| said.text()).map(|(place, _)| place);
        let new = places.filter(|place| !self.texts.contains_key(place)).count();
        if self.texts.len() + new > MAX_TEXTS || self.kept > MAX_KEPT {
            return Err(TooMuch);
        }
        for (at, &one) in said.iter().enumerate() {
            match one {
                Said::Id(_) | Said::Item(..) | Said::Items(_) => {}
                Said::Call(place, call) => self.calls.hear(draft, place, call, &mut before),
                Said::Text { place, leaf, again: false, sealed: false } => {
                    self.release(due_before(place), &mut before);
                    let ends = ends_in_event(&said[at + 1..], place);
                    self.more(draft, place, leaf, ends);
                }
                Said::Text { place, leaf, again, sealed } => {
                    self.release(|other| other.choice == place.choice, &mut before);
                    match self.texts.get(&place).filter(|_| again) {
                        Some(_) if sealed => {}
                        Some(spoken) => set(draft, leaf, &spoken.restored),
                        None if sealed => self.show(&document, place, leaf),
                        None => self.more(draft, place, leaf, true),
                    }
                }
                Said::End(choice, end) => {
                    let ends = |place: TextPlace| place.choice == choice && place.at <= end;
                    self.release(ends, &mut before);
                    self.calls.end(ends, &mut before);
                }
                Said::EndAll => {
                    self.release(|_| true, &mut before);
                    self.calls.end(|_| true, &mut before);
                }
            }
        }
        Ok(())
    }

    /// Lets go of everything: texts end, and calls are not complete.
    pub(super) fn let_go(&mut self, mut held: impl FnMut(HeldText)) {
        self.release(|_| true, &mut held);
        self.calls.let_go(&mut held);
    }

    /// Ends texts; what they held is given away.
    pub(super) fn release(&mut self, ends: impl Fn(TextPlace) -> bool, mut held: impl FnMut(HeldText)) {
        for (&place, spoken) in self.texts.iter_mut().filter(|(place, _)| ends(**place)) {
            let Some(mut restorer) = spoken.restorer.take() else { continue };
            let text = around(&mut self.joined, place, |joined| restorer.finish(joined));
            if self.repeats {
                spoken.restored.push_str(&text);
            }
            if let Some(last) = spoken.last.take().filter(|_| !text.is_empty()) {
                held(HeldText { place, last, text });
            }
        }
    }

    /// Takes what a leaf says through the restorer of its text, and all that is held where the text
    /// ends with it.
    fn more(&mut self, draft: &mut Draft, place: TextPlace, leaf: NodeId, ends: bool) {
        let event = draft.document().clone();
        let Some(leaf) = event.leaf(leaf) else { return };
        let text = leaf.text();
        let vault = &self.vault;
        let spoken = self.texts.entry(place).or_default();
        let restorer = spoken.restorer.get_or_insert_with(|| vault.restorer());
        let restored = around(&mut self.joined, place, |joined| {
            let mut restored = restorer.push(text.expose(), joined);
            if ends {
                restored.push_str(&restorer.finish(joined));
            }
            restored
        });
        spoken.last = restorer.is_holding().then(|| event.clone());
        if ends {
            spoken.restorer = None;
        }
        if self.repeats {
            spoken.restored.push_str(&restored);
            self.kept += restored.len();
        }
        self.has_late_values |= place.at > Position::default() && restored != text.expose();
        set(draft, leaf.id(), &restored);
    }

    /// Reads over a text in which nothing is restored.
    fn show(&mut self, document: &Document, place: TextPlace, leaf: NodeId) {
        let Some(leaf) = document.leaf(leaf) else { return };
        let text = leaf.text();
        self.texts.entry(place).or_default();
        around(&mut self.joined, place, |joined| {
            joined.iter_mut().for_each(|joined| joined.read(text.expose()))
        });
    }
}

/// Servers send empty texts beside the one that they speak; those say nothing and end nothing.
fn is_empty(document: &Document, said: Said) -> bool {
    let empty = |leaf| document.leaf(leaf).is_none_or(|leaf| leaf.text().expose().is_empty());
    said.text().is_some_and(|(_, leaf)| empty(leaf))
}

/// The texts of a choice that are over once another one is spoken.
fn due_before(place: TextPlace) -> impl Fn(TextPlace) -> bool {
    move |other| other.choice == place.choice && other != place
}

/// Whether a text that is spoken is over with what the same event says later, before it goes on.
fn ends_in_event(later: &[Said], place: TextPlace) -> bool {
    let ends = |said: &Said| match *said {
        Said::Id(_) | Said::Item(..) | Said::Items(_) | Said::Call(..) => None,
        Said::Text { place: other, again: false, sealed: false, .. } => match other == place {
            true => Some(false),
            false => due_before(other)(place).then_some(true),
        },
        Said::Text { place: other, .. } => (other.choice == place.choice).then_some(true),
        Said::End(choice, end) => (choice == place.choice && place.at <= end).then_some(true),
        Said::EndAll => Some(true),
    };
    later.iter().find_map(ends).unwrap_or(false)
}

/// Does something with the joined texts that a text belongs to.
fn around<R>(
    joined: &mut BTreeMap<JoinedBy, Joined>,
    place: TextPlace,
    read: impl FnOnce(&mut [Joined]) -> R,
) -> R {
    let joins = JoinedBy::around(place);
    let mut texts = joins.map(|join| joined.get(&join).copied().unwrap_or_default());
    let result = read(&mut texts);
    joined.extend(joins.into_iter().zip(texts));
    result
}
