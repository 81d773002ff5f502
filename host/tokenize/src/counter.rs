//! Counts texts and remembers what it counted: clients send the same ones with every turn, and people
//! look at one turn many times.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;

use crate::{ModelFacts, Models, Tokenizer};

/// Texts whose counts are remembered: a few megabytes.
const TEXTS: NonZeroUsize = NonZeroUsize::new(32 * 1024).expect("it is not 0");

/// Bytes of a text below which it is counted faster than looked up.
const SHORT: usize = 64;

/// Counts for many threads at once.
#[derive(Debug)]
pub struct Counter {
    models: Models,
    known: Mutex<LruCache<(Tokenizer, [u8; 32]), u64>>,
}

impl Counter {
    /// Returns a counter that has counted nothing yet.
    pub fn new(models: Models) -> Self {
        Counter { models, known: Mutex::new(LruCache::new(TEXTS)) }
    }

    /// Returns what is known of a model; `betas` is what the client has in `anthropic-beta`.
    pub fn facts(&self, model: &str, betas: &str) -> ModelFacts {
        self.models.find_with(model, betas)
    }

    /// Counts a text.
    pub fn count(&self, tokenizer: Tokenizer, text: &str) -> u64 {
        if text.len() < SHORT || tokenizer == Tokenizer::Estimate {
            return tokenizer.count(text) as u64;
        }
        // Only in memory, and of texts that are there themselves: a plain digest tells nobody anything.
        let name = (tokenizer, *blake3::hash(text.as_bytes()).as_bytes());
        if let Some(known) = self.known().get(&name) {
            return *known;
        }
        // Counted without the lock: others go on meanwhile.
        let tokens = tokenizer.count(text) as u64;
        self.known().put(name, tokens);
        tokens
    }

    fn known(&self) -> std::sync::MutexGuard<'_, LruCache<(Tokenizer, [u8; 32]), u64>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_counted_once_for_each_tokenizer() {
        let counter = Counter::new(Models::default());
        let text = "a text that is long enough to be remembered, and so is its count of tokens";
        for _ in 0..3 {
            for &tokenizer in Tokenizer::ALL {
                assert_eq!(counter.count(tokenizer, text), tokenizer.count(text) as u64);
            }
        }
        // An estimate needs no memory.
        assert_eq!(counter.known().len(), 2);
    }

    proptest! {
        #[test]
        fn what_is_remembered_is_what_was_counted(texts in prop::collection::vec("\\PC{0,200}", 1..8)) {
            let counter = Counter::new(Models::default());
            for text in texts.iter().chain(&texts) {
                prop_assert_eq!(counter.count(Tokenizer::O200k, text), Tokenizer::O200k.count(text) as u64);
            }
        }
    }
}
