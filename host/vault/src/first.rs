//! Texts as a session had them first, by the place where they stood. Bounded, first in stays.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::bound::MemoryBound;

/// Most texts that one session keeps so. A rule pins a system prompt or two.
const MAX_TEXTS: usize = 256;

/// Bytes of these texts: room for the system prompts of some dozen agents.
const MAX_BYTES: usize = 2 << 20;

/// Bytes of an entry besides its text, estimated.
const ENTRY: usize = 96;

/// What leaves were first, of one conversation or of many.
///
/// Some sessions are named by their client and hold conversations of several agents, which must be told
/// apart. Others are known by how they begin, prompt included, and several of these may be one conversation
/// whose prompt changed: they share this memory.
pub struct FirstSeen {
    texts: Mutex<FirstTexts>,
    shared: MemoryBound,
    /// Whether all requests that it is for are of one conversation.
    pub is_of_one: bool,
}

type FirstTexts = BTreeMap<[u8; 32], Arc<str>>;

impl FirstSeen {
    /// Begins the memory of one conversation, or of a session of which nothing is known. It counts towards a bound
    /// that it shares with others.
    pub fn new(shared: &MemoryBound, is_of_one: bool) -> Self {
        FirstSeen { texts: Mutex::default(), shared: shared.clone(), is_of_one }
    }

    /// Returns the text that stood at a place first. Where none did, and where the conversation begins
    /// `anew`, it is this one, which is remembered; `None` where there is no room for it.
    pub fn at(&self, place: [u8; 32], text: &str, anew: bool) -> Option<Arc<str>> {
        // As with the memory of values: every change is finished.
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if anew && let Some(text) = texts.remove(&place) {
            self.shared.remove(text.len() + ENTRY);
        }
        if let Some(first) = texts.get(&place) {
            return Some(Arc::clone(first));
        }
        let more = text.len() + ENTRY;
        if texts.len() == MAX_TEXTS || bytes(&texts) + more > MAX_BYTES || self.shared.is_over() {
            return None;
        }
        self.shared.add(more);
        let text: Arc<str> = text.into();
        texts.insert(place, Arc::clone(&text));
        Some(text)
    }
}

fn bytes(texts: &FirstTexts) -> usize {
    texts.values().map(|text| text.len() + ENTRY).sum()
}

impl Drop for FirstSeen {
    fn drop(&mut self) {
        self.shared.remove(bytes(self.texts.get_mut().unwrap_or_else(PoisonError::into_inner)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_stays_and_what_has_no_room_is_not_kept() {
        let shared = MemoryBound::new(usize::MAX);
        let seen = FirstSeen::new(&shared, true);
        let (one, other) = ([1; 32], [2; 32]);
        assert_eq!(seen.at(one, "a", false).as_deref(), Some("a"));
        assert_eq!(seen.at(one, "b", false).as_deref(), Some("a"));
        assert_eq!(seen.at(other, &"x".repeat(MAX_BYTES), false), None);
        let place = |n: usize| std::array::from_fn(|at| if at < 8 { n.to_le_bytes()[at] } else { 9 });
        assert!((1..MAX_TEXTS).all(|n| seen.at(place(n), "x", false).is_some()));
        assert_eq!(seen.at(place(MAX_TEXTS), "x", false), None, "there are enough");
        assert_eq!(shared.bytes(), bytes(&seen.texts.lock().unwrap()));
        drop(seen);
        assert_eq!(shared.bytes(), 0);
    }
}
