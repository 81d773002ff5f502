//! One session's vault: makes tokens, remembers their values, hands out restorers.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use zeroize::Zeroizing;

use crate::{
    bound::MemoryBound,
    first::FirstSeen,
    flow::{Flow, Seen},
    keys::TokenKeys,
    memory::{Memory, MemoryUse, RecalledValue, Whence},
    restore::Restorer,
    word::{self, Tail, Token},
};

/// One session's memory of which value a token stands for. A clone is the same memory.
#[derive(Clone)]
pub struct Vault(Arc<Inner>);

struct Inner {
    keys: TokenKeys,
    /// The requests of a session may overlap, hence a lock. It is held for one look or one change,
    /// and nothing under it calls out.
    memory: Mutex<Memory>,
    first: Arc<FirstSeen>,
}

/// Two values of one session have the same token. The redaction was not remembered and must not be
/// sent: the answer would be restored to the wrong value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "token `{token}` already stands for another value in this session; block this request, and redact one of the two \
     values with \"mask\" or under another label"
)]
#[non_exhaustive]
pub struct Collision {
    /// The token that both values have.
    pub token: Token,
}

impl Vault {
    /// Begins a session that has sent nothing yet, with a memory that only its own bounds limit.
    pub fn new(keys: TokenKeys) -> Self {
        Self::within(keys, &MemoryBound::unbounded())
    }

    /// Begins a session whose memory counts towards a bound that it shares with others.
    pub fn within(keys: TokenKeys, shared: &MemoryBound) -> Self {
        Self::sharing(keys, shared, Arc::new(FirstSeen::new(shared, false)))
    }

    /// Begins such a session of a conversation of which other sessions may be, too.
    pub fn sharing(keys: TokenKeys, shared: &MemoryBound, first: Arc<FirstSeen>) -> Self {
        Self(Arc::new(Inner { keys, memory: Mutex::new(Memory::within(shared)), first }))
    }

    /// Returns the keys of the session's client.
    pub fn keys(&self) -> &TokenKeys {
        &self.0.keys
    }

    /// Returns the token of a value, and remembers the value.
    ///
    /// # Errors
    ///
    /// [`Collision`] where the token already stands for another value of this session.
    pub fn tokenize(&self, label: &str, value: &str) -> Result<Token, Collision> {
        let token = self.keys().token(label, value);
        self.remember(token, value, MemoryUse::Restore, None)
    }

    /// Returns the token of a value that is not to be restored: an answer that repeats the token
    /// keeps it, also where [`Vault::tokenize`] was or will be asked for the same value.
    ///
    /// # Errors
    ///
    /// [`Collision`] where the token already stands for another value of this session.
    pub fn tokenize_for_good(&self, label: &str, value: &str) -> Result<Token, Collision> {
        let token = self.keys().token(label, value);
        self.remember(token, value, MemoryUse::Keep, None)
    }

    /// Returns the token of a value as [`Vault::tokenize`] does, and remembers where the value was
    /// seen and by which rules it may return into the arguments of tools. The first place counts,
    /// and the last rules.
    ///
    /// # Errors
    ///
    /// [`Collision`] where the token already stands for another value of this session.
    pub fn tokenize_seen(
        &self,
        label: &str,
        value: &str,
        seen: &Arc<Seen>,
        flow: &Arc<Flow>,
    ) -> Result<Token, Collision> {
        let token = self.keys().token(label, value);
        let whence = Whence { seen: Arc::clone(seen), flow: Arc::clone(flow) };
        self.remember(token, value, MemoryUse::Restore, Some(whence))
    }

    /// Returns the value that a token of this session stands for, in whatever case it is written;
    /// `Some(None)` where the value is given back to nobody, `None` where this session does not
    /// remember the token.
    pub fn reveal(&self, token: &str) -> Option<Option<Zeroizing<String>>> {
        let (label, tail) = word::read(token)?;
        let found = self.memory().recall(label.as_bytes(), None, &tail);
        found.filter(|found| found.label == label.len()).map(|found| found.value)
    }

    /// Counts tokens of an answer: those that gave way to their values, those that stayed, and those
    /// with a wrong check.
    pub fn count(&self, restored: usize, kept: usize, altered: usize) {
        if restored + kept + altered > 0 {
            self.memory().count(restored, kept, altered);
        }
    }

    /// Returns whether a label of this session and a tail are no token that its keys made.
    pub(crate) fn is_altered(&self, before: &[u8], previous: Option<u8>, tail: &Tail) -> bool {
        self.memory().label_before(before, previous).is_some_and(|label| !self.keys().made(label, tail))
    }

    /// Returns whether there is nothing to restore.
    pub fn is_empty(&self) -> bool {
        self.memory().restorable == 0
    }

    /// Returns what the leaves of its conversation were first.
    pub fn first_seen(&self) -> &FirstSeen {
        &self.0.first
    }

    /// Returns a restorer for one text of one answer.
    pub fn restorer(&self) -> Restorer {
        Restorer::new(self.clone())
    }

    fn remember(
        &self,
        token: Token,
        value: &str,
        as_what: MemoryUse,
        whence: Option<Whence>,
    ) -> Result<Token, Collision> {
        let mut memory = self.memory();
        if memory.get(&token).is_some_and(|known| known != value) {
            return Err(Collision { token });
        }
        memory.remember(&token, value, as_what, whence);
        Ok(token)
    }

    pub(crate) fn recall(&self, before: &[u8], previous: Option<u8>, tail: &Tail) -> Option<RecalledValue> {
        self.memory().recall(before, previous, tail)
    }

    pub(crate) fn begins(&self, partial: &[u8], previous: Option<u8>) -> bool {
        self.memory().begins(partial, previous)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // A panic elsewhere on the thread that holds it leaves the memory whole: every change is
        // finished first.
        self.0.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = self.memory();
        f.debug_struct("Vault")
            .field("values", &memory.len())
            .field("bytes", &memory.bytes())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{ClientIdentity, InstallationKey};

    fn vault() -> Vault {
        Vault::new(TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("laptop")))
    }

    #[test]
    fn a_token_that_two_values_share_is_a_collision() {
        let vault = vault();
        let token = vault.tokenize("EMAIL", "ann@example.org").unwrap();
        // No two known values meet in 80 bits, so the second one is put there by hand.
        let collision =
            vault.remember(token.clone(), "bob@example.org", MemoryUse::Restore, None).unwrap_err();
        assert_eq!(collision.token, token);
        assert!(!format!("{collision} {collision:?}").contains("example.org"));
        assert_eq!(vault.restorer().push(token.as_str(), &mut []), "ann@example.org");
    }
}
