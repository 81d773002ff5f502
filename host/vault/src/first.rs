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
    /// Whether all requests that it is for are of one conversation.
    pub is_of_one: bool,
}

impl FirstSeen {
    /// Begins the memory of one conversation, or of a session of which nothing is known. It counts towards a bound
    /// that it shares with others.
    pub fn new(shared: &MemoryBound, is_of_one: bool) -> Self {
        FirstSeen { texts: Mutex::new(FirstTexts::within(shared)), is_of_one }
    }

    /// Returns the text that stood at a place first. Where none did, and where the conversation begins
    /// `anew`, it is this one, which is remembered; `None` where there is no room for it.
    pub fn at(&self, place: [u8; 32], text: &str, anew: bool) -> Option<Arc<str>> {
        // As with the memory of values: every change is finished.
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if anew {
            texts.forget(place);
        }
        texts.first(place, text)
    }
}

/// The texts of one session.
pub(crate) struct FirstTexts {
    texts: BTreeMap<[u8; 32], Arc<str>>,
    bytes: usize,
    shared: MemoryBound,
}

impl FirstTexts {
    pub(crate) fn within(shared: &MemoryBound) -> Self {
        FirstTexts { texts: BTreeMap::new(), bytes: 0, shared: shared.clone() }
    }

    /// Returns the text that stood at a place first, which is this one where none did; `None` where
    /// there is no room for it.
    pub(crate) fn first(&mut self, place: [u8; 32], text: &str) -> Option<Arc<str>> {
        if let Some(first) = self.texts.get(&place) {
            return Some(Arc::clone(first));
        }
        let bytes = text.len() + ENTRY;
        if self.texts.len() == MAX_TEXTS || self.bytes + bytes > MAX_BYTES || self.shared.is_over() {
            return None;
        }
        self.bytes += bytes;
        self.shared.add(bytes);
        let text: Arc<str> = text.into();
        self.texts.insert(place, Arc::clone(&text));
        Some(text)
    }

    fn forget(&mut self, place: [u8; 32]) {
        if let Some(text) = self.texts.remove(&place) {
            let bytes = text.len() + ENTRY;
            self.bytes -= bytes;
            self.shared.remove(bytes);
        }
    }
}

impl Drop for FirstTexts {
    fn drop(&mut self) {
        self.shared.remove(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_stays_and_what_has_no_room_is_not_kept() {
        let shared = MemoryBound::new(usize::MAX);
        let mut seen = FirstTexts::within(&shared);
        let (one, other) = ([1; 32], [2; 32]);
        assert_eq!(seen.first(one, "a").as_deref(), Some("a"));
        assert_eq!(seen.first(one, "b").as_deref(), Some("a"));
        assert_eq!(seen.first(other, &"x".repeat(MAX_BYTES)), None);
        let place = |n: usize| std::array::from_fn(|at| if at < 8 { n.to_le_bytes()[at] } else { 9 });
        assert!((1..MAX_TEXTS).all(|n| seen.first(place(n), "x").is_some()));
        assert_eq!(seen.first(place(MAX_TEXTS), "x"), None, "there are enough");
        assert_eq!(shared.bytes(), seen.bytes);
        drop(seen);
        assert_eq!(shared.bytes(), 0);
    }
}
