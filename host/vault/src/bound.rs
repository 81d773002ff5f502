//! A bound on the memory of many sessions together, and what became of their tokens.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use crate::memory::{ENTRY, MAX_BYTES};

/// Counts and bounds the bytes that all vaults under it remember. A clone is the same count.
///
/// A vault that would exceed the bound forgets its own oldest values, so the bound always holds. A
/// forgotten value is not restored: its token stays in the answer.
#[derive(Clone, Debug)]
pub struct MemoryBound(Arc<CountedUses>);

#[derive(Debug, Default)]
struct CountedUses {
    most: usize,
    bytes: AtomicUsize,
    restored: AtomicU64,
    kept: AtomicU64,
    altered: AtomicU64,
}

/// What became of the tokens in answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Gave way to their values.
    pub restored: u64,
    /// Stayed, because their values must not stand there.
    pub kept: u64,
    /// Stayed, because their check is wrong: a model wrote one down badly, or made one up.
    pub altered: u64,
}

impl MemoryBound {
    /// Bounds the sum to `most` bytes.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(CountedUses { most, ..CountedUses::default() }))
    }

    /// Bounds nothing: each vault has its own bounds.
    pub(crate) fn unbounded() -> Self {
        Self::new(usize::MAX)
    }

    /// Returns how many bytes are remembered now.
    pub fn bytes(&self) -> usize {
        self.0.bytes.load(Relaxed)
    }

    /// Returns whether one more session could remember as much as a session may.
    pub fn has_room(&self) -> bool {
        self.0.most.saturating_sub(self.bytes()) >= MAX_BYTES + ENTRY
    }

    /// Returns what became of the tokens in answers so far.
    pub fn tokens(&self) -> TokenCounts {
        TokenCounts {
            restored: self.0.restored.load(Relaxed),
            kept: self.0.kept.load(Relaxed),
            altered: self.0.altered.load(Relaxed),
        }
    }

    pub(crate) fn count(&self, restored: usize, kept: usize, altered: usize) {
        self.0.restored.fetch_add(restored as u64, Relaxed);
        self.0.kept.fetch_add(kept as u64, Relaxed);
        self.0.altered.fetch_add(altered as u64, Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.bytes() > self.0.most
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.0.bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn remove(&self, bytes: usize) {
        self.0.bytes.fetch_sub(bytes, Relaxed);
    }
}
