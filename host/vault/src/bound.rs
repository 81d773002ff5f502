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
pub struct MemoryBound(Arc<Counted>);

#[derive(Debug)]
struct Counted {
    most: usize,
    bytes: AtomicUsize,
    restored: AtomicU64,
    kept: AtomicU64,
}

impl MemoryBound {
    /// Bounds the sum to `most` bytes.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Counted {
            most,
            bytes: AtomicUsize::new(0),
            restored: AtomicU64::new(0),
            kept: AtomicU64::new(0),
        }))
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

    /// Returns how many tokens in answers gave way to their values, and how many stayed because their
    /// values must not stand there.
    pub fn tokens(&self) -> (u64, u64) {
        (self.0.restored.load(Relaxed), self.0.kept.load(Relaxed))
    }

    pub(crate) fn count(&self, restored: usize, kept: usize) {
        self.0.restored.fetch_add(restored as u64, Relaxed);
        self.0.kept.fetch_add(kept as u64, Relaxed);
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
