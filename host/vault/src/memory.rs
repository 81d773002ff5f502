//! What one session remembers: label and tail of a token, and the value it stands for. Bounded, oldest out.
//!
//! "Oldest" is by the last time that a value was sent. Clients send the whole history each turn, so what the
//! conversation still holds stays young, and what fell out of it goes first.

use std::{collections::BTreeMap, sync::Arc};

use zeroize::Zeroizing;

use crate::word::{TAIL, Tail, Token};

/// Values that one session remembers. The longest recorded agent conversations hold some hundred; this is far above
/// them and far below what would hurt a gate with a thousand sessions.
pub const MAX_ENTRIES: usize = 16_384;

/// Bytes of values that one session remembers: room for a thousand private keys of the usual size.
pub const MAX_BYTES: usize = 4 << 20;

/// A remembered value. Wiped when it is dropped.
pub(crate) type Value = Zeroizing<String>;

/// The values of one session by label and tail; and the order in which they were last sent.
#[derive(Default)]
pub(crate) struct Memory {
    labels: BTreeMap<Arc<str>, BTreeMap<Tail, Entry>>,
    by_age: BTreeMap<u64, (Arc<str>, Tail)>,
    bytes: usize,
    next_age: u64,
}

struct Entry {
    value: Value,
    age: u64,
}

/// A token that ends in some text, and its value.
pub(crate) struct Recalled {
    pub(crate) label: usize,
    pub(crate) value: Value,
}

impl Memory {
    pub(crate) fn len(&self) -> usize {
        self.by_age.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn get(&self, token: &Token) -> Option<&str> {
        Some(self.labels.get(token.label())?.get(&token.tail())?.value.as_str())
    }

    /// Remembers a value as the youngest, and forgets the oldest while there are too many. A value that alone is
    /// above the bound is not remembered at all.
    pub(crate) fn remember(&mut self, token: &Token, value: &str) {
        let tail = token.tail();
        self.forget(token.label(), &tail);
        let age = self.next_age;
        self.next_age += 1;
        let label = match self.labels.get_key_value(token.label()) {
            Some((label, _)) => Arc::clone(label),
            None => Arc::from(token.label()),
        };
        let entry = Entry { value: Zeroizing::new(value.to_owned()), age };
        self.bytes += value.len();
        self.labels.entry(Arc::clone(&label)).or_default().insert(tail, entry);
        self.by_age.insert(age, (label, tail));
        self.shrink();
    }

    /// Looks for a token whose underscore and `tail` follow `before`. `previous` is the byte before `before`.
    pub(crate) fn recall(&self, before: &[u8], previous: Option<u8>, tail: &Tail) -> Option<Recalled> {
        self.labels.iter().find_map(|(label, tails)| {
            let start = before.len().checked_sub(label.len())?;
            let previous = if start == 0 { previous } else { Some(before[start - 1]) };
            if !label_reads(&before[start..], label.as_bytes(), previous) {
                return None;
            }
            Some(Recalled { label: label.len(), value: tails.get(tail)?.value.clone() })
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
        while self.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            let Some((_, (label, tail))) = self.by_age.pop_first() else { return };
            self.forget(&label, &tail);
        }
    }

    fn forget(&mut self, label: &str, tail: &Tail) {
        let Some(tails) = self.labels.get_mut(label) else { return };
        if let Some(entry) = tails.remove(tail) {
            self.bytes -= entry.value.len();
            self.by_age.remove(&entry.age);
        }
        if tails.is_empty() {
            self.labels.remove(label);
        }
    }
}

/// Compares a label, or its beginning, with what was written.
///
/// Redaction may have put a token right behind a letter, so a glued token is restored too, but only as we write
/// it: were any case good there, the end of every word that ends like a label begins would be held back.
fn label_reads(written: &[u8], label: &[u8], previous: Option<u8>) -> bool {
    match previous {
        Some(byte) if crate::word::is_word(byte) => written == label,
        _ => written.eq_ignore_ascii_case(label),
    }
}

/// Returns whether `rest`, what follows a label, is an underscore and a beginning of one of the tails.
fn tail_begins(tails: &BTreeMap<Tail, Entry>, rest: &[u8]) -> bool {
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
