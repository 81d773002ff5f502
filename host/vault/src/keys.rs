//! Keys: how one client's are derived from the installation's, and what they compute from values
//! and words.
//!
//! Every use has a key of its own, derived from the installation's key, the use and the client's
//! identity. So nothing made for one use or client can be mistaken for another's. All keys are of
//! HMAC-SHA256 (RFC 2104, FIPS 180-4).

use std::{ops::Range, sync::Arc};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::word::{self, BODY, MAX_LABEL, TAIL, Tail, Token};

/// The secret of one installation, 32 bytes. The owner of its file reads and creates it.
///
/// After a change of the key, tokens of the old one mean nothing: in a client's history they stay
/// tokens.
#[derive(Clone, derive_more::Debug)]
#[debug("InstallationKey(..)")]
pub struct InstallationKey(Zeroizing<[u8; 32]>);

impl InstallationKey {
    /// Takes 32 bytes that must come from the system's random source.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Returns the secret of a use that has nothing to do with tokens, and that no other use has.
    pub fn secret_for(&self, purpose: &str) -> [u8; 32] {
        finish(&start(self.0.as_slice()), &[b"leafgate secret\0", purpose.as_bytes()])
    }
}

/// Whose tokens these are: the name of a configured client token, else the listener's. A name,
/// never the secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientIdentity(String);

impl ClientIdentity {
    /// Takes the configured name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Returns the configured name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One client's keys. Clones share them.
#[derive(Clone, derive_more::Debug)]
#[debug("TokenKeys(..)")]
pub struct TokenKeys(Arc<Keyed>);

/// One keyed, not yet fed HMAC for each use: cloning one saves hashing the key again for every
/// value.
struct Keyed {
    body: Hmac<Sha256>,
    check: Hmac<Sha256>,
    hash: Hmac<Sha256>,
    surrogate: Hmac<Sha256>,
}

impl TokenKeys {
    /// Derives a client's keys. The same installation and client always have the same ones.
    pub fn derive(installation: &InstallationKey, client: &ClientIdentity) -> Self {
        let keyed = |purpose: &str| {
            let base = start(installation.0.as_slice());
            let derived = Zeroizing::new(finish(&base, &[purpose.as_bytes(), b"\0", client.0.as_bytes()]));
            start(derived.as_slice())
        };
        Self(Arc::new(Keyed {
            body: keyed("leafgate token body 1"),
            check: keyed("leafgate token check 1"),
            hash: keyed("leafgate hash 1"),
            surrogate: keyed("leafgate surrogate 1"),
        }))
    }

    /// Returns the token of a value. `label` is brought to capital letters and digits, at most
    /// [`MAX_LABEL`].
    pub fn token(&self, label: &str, value: &str) -> Token {
        let label = word::normal_label(label);
        let body: [u8; BODY] = word::encode(&labelled(&self.0.body, &label, value));
        let mut tail: Tail = [0; TAIL];
        tail[..BODY].copy_from_slice(&body);
        tail[BODY..].copy_from_slice(&self.check(&label, &body));
        Token::new(&label, &tail)
    }

    /// Returns whether the whole of `candidate`, in any case, is a token that these keys made.
    pub fn verify(&self, candidate: &str) -> bool {
        word::read(candidate).is_some_and(|(label, tail)| self.made(&label, &tail))
    }

    /// Returns whether the check of a label's tail is right.
    pub(crate) fn made(&self, label: &str, tail: &Tail) -> bool {
        self.check(label, &tail[..BODY]) == tail[BODY..]
    }

    /// Returns where in `text` the tokens are that these keys made, in bytes, in order.
    ///
    /// A token glued to another letter, digit or underscore is not one: what it exempts from
    /// detection must be exactly its own bytes, and there it would be part of a longer word.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        memchr::memchr_iter(b'_', text.as_bytes())
            .filter_map(|underscore| word_around(text, underscore))
            .filter(|range| self.verify(&text[range.clone()]))
            .collect()
    }

    /// Returns a keyed fingerprint of a value, as `EMAIL_h` and nineteen characters: equal values
    /// have equal ones, nobody can turn one back, and by its length it is no token.
    pub fn hash(&self, label: &str, value: &str) -> String {
        let label = word::normal_label(label);
        let digest: [u8; 19] = word::encode(&labelled(&self.0.hash, &label, value));
        let digest: String = digest.into_iter().map(char::from).collect();
        format!("{label}_h{digest}")
    }

    /// Returns block `number` of the bytes that a value's surrogate is made of.
    pub(crate) fn surrogate_block(&self, label: &str, value: &str, number: u32) -> [u8; 32] {
        let label = word::normal_label(label);
        finish(&self.0.surrogate, &[&number.to_be_bytes(), label.as_bytes(), b"\0", value.as_bytes()])
    }

    fn check(&self, label: &str, body: &[u8]) -> [u8; TAIL - BODY] {
        word::encode(&finish(&self.0.check, &[label.as_bytes(), b"\0", body]))
    }
}

/// Returns the word around an underscore if, by its length alone, it can be a token.
fn word_around(text: &str, underscore: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let end = underscore + 1 + TAIL;
    if end > bytes.len() || bytes.get(end).is_some_and(|&b| word::is_word(b)) {
        return None;
    }
    word::read_tail(&bytes[underscore + 1..])?;
    // One more than the longest label: enough to see that a word is too long.
    let label =
        bytes[..underscore].iter().rev().take(MAX_LABEL + 1).take_while(|&&b| word::is_word(b)).count();
    Some(underscore - label..end)
}

fn start(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes a key of any length")
}

/// A label has no NUL, so label and value cannot be shifted against each other.
fn labelled(keyed: &Hmac<Sha256>, label: &str, value: &str) -> [u8; 32] {
    finish(keyed, &[label.as_bytes(), b"\0", value.as_bytes()])
}

fn finish(keyed: &Hmac<Sha256>, parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = keyed.clone();
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}
