//! What one session remembers: label and tail of a token, and the value it stands for. Bounded,
//! oldest out.
//!
//! The age of a value counts from when it was last sent. Clients send the whole history each turn,
//! so values of the present history stay, and values that dropped out of it go first.

use std::{collections::BTreeMap, sync::Arc};

use zeroize::Zeroizing;

use crate::{
    bound::MemoryBound,
    flow::{Flow, Seen},
    word::{TAIL, Tail, Token},
};

/// Most values that one session remembers. The longest recorded agent conversations hold some
/// hundred.
pub const MAX_ENTRIES: usize = 16_384;

/// Bytes of values that one session remembers: room for a thousand private keys of the usual size.
pub const MAX_BYTES: usize = 4 << 20;

/// Bytes of an entry besides its value, estimated: its places in two trees.
pub(crate) const ENTRY: usize = 192;

/// A remembered value. Wiped when it is dropped.
pub(crate) type Value = Zeroizing<String>;

/// The values of one session by label and tail; and the order in which they were last sent.
pub(crate) struct Memory {
    labels: BTreeMap<Arc<str>, BTreeMap<Tail, MemoryEntry>>,
    by_age: BTreeMap<u64, (Arc<str>, Tail)>,
    bytes: usize,
    /// How many values may be put back.
    pub(crate) restorable: usize,
    next_age: u64,
    /// What all memories under one bound hold together.
    shared: MemoryBound,
}

/// What a value is remembered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryUse {
    /// The value is put back.
    Restore,
    /// The value is not put back, even if it is also tokenized to be put back.
    Keep,
}

struct MemoryEntry {
    value: Value,
    age: u64,
    as_what: MemoryUse,
    whence: Whence,
}

/// Where a value was first seen, and the rules of the policy that saw it last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whence {
    pub(crate) seen: Arc<Seen>,
    pub(crate) flow: Arc<Flow>,
}

/// A token that ends in some text, and its value; `None` where the token is to stay.
pub(crate) struct RecalledValue {
    pub(crate) label: usize,
    pub(crate) value: Option<Value>,
    pub(crate) whence: Whence,
}

impl Memory {
    pub(crate) fn within(shared: &MemoryBound) -> Self {
        Self {
            labels: BTreeMap::new(),
            by_age: BTreeMap::new(),
            bytes: 0,
            restorable: 0,
            next_age: 0,
            shared: shared.clone(),
        }
    }

    /// Counts tokens of answers for all memories under one bound.
    pub(crate) fn count(&self, restored: usize, kept: usize, altered: usize) {
        self.shared.count(restored, kept, altered);
    }

    /// Returns the label of a token of this session that `before` ends with.
    pub(crate) fn label_before(&self, before: &[u8], previous: Option<u8>) -> Option<&str> {
        self.labels.keys().map(|label| &**label).find(|label| ends_with(before, label, previous))
    }

    pub(crate) fn len(&self) -> usize {
        self.by_age.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn get(&self, token: &Token) -> Option<&str> {
        Some(self.labels.get(token.label())?.get(&token.tail())?.value.as_str())
    }

    /// Remembers a value as the youngest, and forgets the oldest while there are too many. A value
    /// that alone is above the bound is not remembered at all.
    pub(crate) fn remember(
        &mut self,
        token: &Token,
        value: &str,
        as_what: MemoryUse,
        whence: Option<Whence>,
    ) {
        let tail = token.tail();
        let before = self.forget(token.label(), &tail);
        let kept = before.as_ref().is_some_and(|entry| entry.as_what == MemoryUse::Keep);
        let as_what = if kept { MemoryUse::Keep } else { as_what };
        let whence = match (before.map(|entry| entry.whence), whence) {
            (Some(first), Some(now)) => Whence { seen: first.seen, flow: now.flow },
            (first, now) => first.or(now).unwrap_or_default(),
        };
        let age = self.next_age;
        self.next_age += 1;
        let label = match self.labels.get_key_value(token.label()) {
            Some((label, _)) => Arc::clone(label),
            None => Arc::from(token.label()),
        };
        let entry = MemoryEntry { value: Zeroizing::new(value.to_owned()), age, as_what, whence };
        self.bytes += value.len();
        self.shared.add(value.len() + ENTRY);
        self.restorable += usize::from(as_what == MemoryUse::Restore);
        self.labels.entry(Arc::clone(&label)).or_default().insert(tail, entry);
        self.by_age.insert(age, (label, tail));
        self.shrink();
    }

    /// Looks for a token whose underscore and `tail` follow `before`. `previous` is the byte before
    /// `before`.
    pub(crate) fn recall(&self, before: &[u8], previous: Option<u8>, tail: &Tail) -> Option<RecalledValue> {
        self.labels.iter().find_map(|(label, tails)| {
            let entry = ends_with(before, label, previous).then(|| tails.get(tail))??;
            let value = (entry.as_what == MemoryUse::Restore).then(|| entry.value.clone());
            Some(RecalledValue { label: label.len(), value, whence: entry.whence.clone() })
        })
    }

    /// Returns whether `partial` is the beginning, but not the whole, of a token known here.
    pub(crate) fn begins(&self, partial: &[u8], previous: Option<u8>) -> bool {
        self.labels.iter().any(|(label, tails)| {
            let label = label.as_bytes();
            match partial.get(..label.len()) {
                None => label_reads(partial, &label[..partial.len()], previous),
                Some(written) => {
                    label_reads(written, label, previous) && tail_begins(tails, &partial[label.len()..])
                }
            }
        })
    }

    fn shrink(&mut self) {
        while self.len() > MAX_ENTRIES || self.bytes > MAX_BYTES || self.shared.is_over() {
            let Some((_, (label, tail))) = self.by_age.pop_first() else { return };
            // `pop_first` has removed the age.
            self.forget(&label, &tail);
        }
    }

    /// Forgets a value, and returns what was remembered.
    fn forget(&mut self, label: &str, tail: &Tail) -> Option<MemoryEntry> {
        let tails = self.labels.get_mut(label)?;
        let forgotten = tails.remove(tail);
        if tails.is_empty() {
            self.labels.remove(label);
        }
        let entry = forgotten?;
        self.bytes -= entry.value.len();
        self.shared.remove(entry.value.len() + ENTRY);
        self.restorable -= usize::from(entry.as_what == MemoryUse::Restore);
        self.by_age.remove(&entry.age);
        Some(entry)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.shared.remove(self.bytes + self.len() * ENTRY);
    }
}

/// Returns whether a text, which stands behind a byte, ends with a label.
fn ends_with(before: &[u8], label: &str, previous: Option<u8>) -> bool {
    before.len().checked_sub(label.len()).is_some_and(|start| {
        let previous = if start == 0 { previous } else { Some(before[start - 1]) };
        label_reads(&before[start..], label.as_bytes(), previous)
    })
}

/// Compares a label, or its beginning, with what was written.
///
/// Redaction may have put a token right behind a letter, so such a token is restored too, but only
/// in its own case. With any case, the end of every word that ends as a label begins would be held
/// back.
fn label_reads(written: &[u8], label: &[u8], previous: Option<u8>) -> bool {
    match previous {
        Some(byte) if crate::word::is_word(byte) => written == label,
        _ => written.eq_ignore_ascii_case(label),
    }
}

/// Returns whether `rest`, the text after a label, is an underscore and a beginning of one of the
/// tails.
fn tail_begins(tails: &BTreeMap<Tail, MemoryEntry>, rest: &[u8]) -> bool {
    let Some((&underscore, written)) = rest.split_first() else { return true };
    if underscore != b'_' || written.len() >= TAIL {
        return false;
    }
    let mut lowest = [0; TAIL];
    for (to, from) in lowest.iter_mut().zip(written) {
        *to = from.to_ascii_lowercase();
    }
    let next = tails.range(lowest..).next();
    next.is_some_and(|(tail, _)| tail[..written.len()] == lowest[..written.len()])
}
