//! The digest of what a person saw, which a resume must carry.
//!
//! It covers the method, the destination, the headers that decide how the body is read, and every
//! byte of the body. So the bytes that are sent are the bytes that were shown, whatever edit,
//! redaction, upstream or method came in between.

use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use leafgate_tree::Draft;
use sha2::{Digest as _, Sha256};

/// Where a request goes, and how.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Destination {
    /// The name of the upstream, unique among those of the gate.
    pub upstream: Arc<str>,
    /// The HTTP method.
    pub method: Arc<str>,
    /// Path and query as sent there.
    pub path: Arc<str>,
    /// The headers that change what the upstream does with the body, a line each. All other headers
    /// come from the connection that gets the answer: its credentials, its attempt numbers.
    pub options: Arc<str>,
}

impl Destination {
    /// Returns the path without its query.
    pub fn endpoint(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }
}

/// SHA-256 over parts. Each has its length before it, so that the end of one cannot count as the start of the next.
#[derive(Default)]
pub struct PartsDigest(Sha256);

impl PartsDigest {
    /// Adds a part.
    pub fn add(&mut self, part: impl AsRef<[u8]>) {
        self.0.update((part.as_ref().len() as u64).to_be_bytes());
        self.0.update(part);
    }

    /// Returns the digest of all parts.
    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

impl Destination {
    pub(crate) fn parts(&self) -> PartsDigest {
        let mut parts = PartsDigest::default();
        let place = [&self.upstream, &self.method, &self.path, &self.options];
        place.into_iter().for_each(|part| parts.add(part.as_bytes()));
        parts
    }
}

/// SHA-256 over destination and body of a request. Hexadecimal in JSON and in text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display, derive_more::Debug)]
#[debug("Digest({self})")]
#[display("{}", base16ct::lower::encode_string(&self.0))]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of a body sent to a destination.
    pub fn of(to: &Destination, body: &[u8]) -> Self {
        let mut parts = to.parts();
        parts.add(body);
        Digest(parts.finish())
    }
}

/// The text is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 hexadecimal digits: pass on the one that came with what was shown")]
pub struct BadDigest;

impl FromStr for Digest {
    type Err = BadDigest;

    fn from_str(text: &str) -> Result<Self, BadDigest> {
        let mut bytes = [0; 32];
        let decoded = base16ct::mixed::decode(text, &mut bytes).map_err(|_| BadDigest)?;
        if decoded.len() == 32 { Ok(Digest(bytes)) } else { Err(BadDigest) }
    }
}

/// A body as it would leave, and its digest. This very buffer is sent.
#[derive(Clone)]
pub(crate) struct Rendering {
    pub(crate) body: Bytes,
    pub(crate) digest: Digest,
}

impl Rendering {
    pub(crate) fn of(to: &Destination, draft: &Draft) -> Self {
        let body = draft.render();
        Rendering { digest: Digest::of(to, &body), body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(upstream: &str, method: &str, path: &str, options: &str) -> Destination {
        Destination {
            upstream: upstream.into(),
            method: method.into(),
            path: path.into(),
            options: options.into(),
        }
    }

    #[test]
    fn invariant_4_every_part_counts_and_none_borrows_from_its_neighbour() {
        let one = Digest::of(&destination("a", "POST", "/b", "v: 1"), b"c");
        for (upstream, method, path, options, body) in [
            ("b", "POST", "/b", "v: 1", "c"),
            ("a", "DELETE", "/b", "v: 1", "c"),
            ("a", "POST", "/c", "v: 1", "c"),
            ("a", "POST", "/b", "v: 2", "c"),
            ("a", "POST", "/b", "v: 1", "d"),
            ("aP", "OST", "/b", "v: 1", "c"),
            ("a", "POST", "/", "bv: 1", "c"),
            ("a", "POST", "/b", "v: ", "1c"),
        ] {
            let other = Digest::of(&destination(upstream, method, path, options), body.as_bytes());
            assert_ne!(one, other, "{upstream} {method} {path} {options} {body}");
        }
        assert_eq!(one, Digest::of(&destination("a", "POST", "/b", "v: 1"), b"c"));
    }

    #[test]
    fn it_is_read_as_it_is_written() {
        let digest = Digest::of(&destination("a", "POST", "/b", ""), b"c");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(digest.to_string().to_uppercase().parse(), Ok(digest));
        for bad in
            ["", "12", &format!("{digest}0"), &digest.to_string().replacen(|_| true, "+", 1), &"é".repeat(32)]
        {
            assert_eq!(bad.parse::<Digest>(), Err(BadDigest), "{bad}");
        }
    }
}
