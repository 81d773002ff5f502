//! What a person saw, as 32 bytes: the digest that a resume must carry.
//!
//! It covers where the request goes and every byte of its body, so that "shown" and "sent" cannot drift apart: not by an edit of
//! somebody else, not by a redaction that ran in between, not by another upstream.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use leafgate_tree::Draft;
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// The upstream, by the name that tells it from the gate's others.
    pub upstream: Arc<str>,
    /// Path and query as sent there.
    pub path: Arc<str>,
}

/// SHA-256 over upstream, path and body of a request. Hexadecimal in JSON and in text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of a body sent to a target.
    #[must_use]
    pub fn of(target: &Target, body: &[u8]) -> Self {
        let mut hash = Sha256::new();
        for part in [target.upstream.as_bytes(), target.path.as_bytes(), body] {
            // The length keeps the parts apart: no path can borrow from a body.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Digest(hash.finalize().into())
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 hexadecimal digits: pass on the one that came with what was shown")]
pub struct BadDigest;

impl FromStr for Digest {
    type Err = BadDigest;

    fn from_str(text: &str) -> Result<Self, BadDigest> {
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(BadDigest);
        }
        let mut bytes = [0; 32];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).map_err(|_| BadDigest)?;
        }
        Ok(Digest(bytes))
    }
}

/// A body as it would leave, and its digest. The body that is sent is this very buffer.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) body: Bytes,
    pub(crate) digest: Digest,
}

impl Shown {
    pub(crate) fn of(target: &Target, draft: &Draft) -> Self {
        let body = draft.render();
        Shown { digest: Digest::of(target, &body), body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(upstream: &str, path: &str) -> Target {
        Target { upstream: upstream.into(), path: path.into() }
    }

    #[test]
    fn every_part_counts_and_none_borrows_from_its_neighbour() {
        let one = Digest::of(&target("a", "/b"), b"c");
        for (upstream, path, body) in
            [("b", "/b", "c"), ("a", "/c", "c"), ("a", "/b", "d"), ("a/", "b", "c"), ("a", "/", "bc")]
        {
            assert_ne!(one, Digest::of(&target(upstream, path), body.as_bytes()), "{upstream} {path} {body}");
        }
        assert_eq!(one, Digest::of(&target("a", "/b"), b"c"));
    }

    #[test]
    fn it_is_read_as_it_is_written() {
        let digest = Digest::of(&target("a", "/b"), b"c");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(digest.to_string().to_uppercase().parse(), Ok(digest));
        for bad in
            ["", "12", &format!("{digest}0"), &digest.to_string().replacen(|_| true, "+", 1), &"é".repeat(32)]
        {
            assert_eq!(bad.parse::<Digest>(), Err(BadDigest), "{bad}");
        }
    }
}
