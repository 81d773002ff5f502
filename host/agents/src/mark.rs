//! Ids of calls that leave to a client.
//!
//! A call of any frame is given to the client under an id of ours. The client's result comes back
//! with it, and the id alone must lead to the frame. So it is authenticated, and bound to the
//! session that it was made for: another client that copies it reaches nothing. Whether an agent below
//! the entry made the call stands in it to be read by anybody, since that matters when the run is long over.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// How marked ids of the entry's calls begin.
const ENTRYS: &str = "lga_";

/// How those of other agents' calls begin.
pub const DELEGATED: &str = "lgd_";

/// Bytes of the check. With 8 of the run and 4 of the call an id has 36 characters: OpenAI takes 40.
const CHECK: usize = 12;

/// Bytes of run and call.
const NAMED: usize = 12;

/// The secret that ids are made with, 32 bytes of the system's random source. Its owner keeps it.
#[derive(Clone, derive_more::Debug)]
#[debug("CallKey(..)")]
pub struct CallKey(Zeroizing<[u8; 32]>);

/// The key of one client's session.
#[derive(Clone, derive_more::Debug)]
#[debug("ClientKey(..)")]
pub struct ClientKey(Zeroizing<[u8; 32]>);

/// Names a run. The caller gives each run another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{_0:016x}")]
pub struct RunId(pub u64);

/// A call that left to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallMark {
    /// The run.
    pub run: RunId,
    /// Which of its calls.
    pub call: u32,
    /// Whether an agent below the entry made it.
    pub delegated: bool,
}

/// Returns true if and only if an id is one under which a call of an agent below the entry has left, of whatever run
/// and client.
pub fn is_delegated(id: &str) -> bool {
    id.strip_prefix(DELEGATED).is_some_and(|rest| decoded(rest).is_some())
}

fn decoded(rest: &str) -> Option<[u8; NAMED + CHECK]> {
    URL_SAFE_NO_PAD.decode(rest).ok()?.try_into().ok()
}

impl CallKey {
    /// Takes the secret.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        CallKey(Zeroizing::new(bytes))
    }

    /// Returns the key of a session. The session must name the client as far as it was
    /// authenticated, and nothing that another client could claim.
    pub fn client(&self, session: &[u8]) -> ClientKey {
        let mac = keyed(&self.0, &[b"leafgate agent calls 1\0", session]);
        let mut key = Zeroizing::new([0; 32]);
        key.copy_from_slice(&mac);
        ClientKey(key)
    }
}

impl ClientKey {
    /// Returns the id under which a call leaves.
    pub fn mark(&self, mark: CallMark) -> String {
        let mut bytes = [0; NAMED + CHECK];
        bytes[..8].copy_from_slice(&mark.run.0.to_be_bytes());
        bytes[8..NAMED].copy_from_slice(&mark.call.to_be_bytes());
        let prefix = if mark.delegated { DELEGATED } else { ENTRYS };
        let check = keyed(&self.0, &[prefix.as_bytes(), &bytes[..NAMED]]);
        bytes[NAMED..].copy_from_slice(&check[..CHECK]);
        format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Returns the call that an id names; `None` for any id that this key did not make.
    pub fn read(&self, id: &str) -> Option<CallMark> {
        let prefix = [ENTRYS, DELEGATED].into_iter().find(|prefix| id.starts_with(prefix))?;
        let bytes = decoded(&id[prefix.len()..])?;
        let (named, check) = bytes.split_at(NAMED);
        let mut mac = Hmac::<Sha256>::new_from_slice(&*self.0).ok()?;
        mac.update(prefix.as_bytes());
        mac.update(named);
        mac.verify_truncated_left(check).ok()?;
        let run = u64::from_be_bytes(named[..8].try_into().ok()?);
        let call = u32::from_be_bytes(named[8..].try_into().ok()?);
        Some(CallMark { run: RunId(run), call, delegated: prefix == DELEGATED })
    }
}

fn keyed(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(session: &[u8]) -> ClientKey {
        CallKey::from_bytes([7; 32]).client(session)
    }

    const MARK: CallMark = CallMark { run: RunId(u64::MAX - 5), call: 70_000, delegated: false };

    #[test]
    fn an_id_leads_to_its_call_and_fits_every_api() {
        let id = key(b"one").mark(MARK);
        assert_eq!(key(b"one").read(&id), Some(MARK));
        assert!(id.len() <= 40 && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')));
        assert_ne!(id, key(b"one").mark(CallMark { call: 70_001, ..MARK }));
    }

    #[test]
    fn anybody_reads_whose_a_call_was() {
        let delegated = key(b"one").mark(CallMark { delegated: true, ..MARK });
        assert!(is_delegated(&delegated) && !is_delegated(&key(b"one").mark(MARK)));
        assert_eq!(key(b"one").read(&delegated), Some(CallMark { delegated: true, ..MARK }));
        let swapped = delegated.replacen(DELEGATED, ENTRYS, 1);
        assert_eq!(key(b"one").read(&swapped), None, "what it says of itself is part of what is checked");
        for other in ["lgd_", "lgd_short", "call_lgd_", &delegated[..delegated.len() - 1]] {
            assert!(!is_delegated(other), "{other}");
        }
    }

    #[test]
    fn an_id_of_another_session_or_key_leads_nowhere() {
        let id = key(b"one").mark(MARK);
        assert_eq!(key(b"two").read(&id), None);
        assert_eq!(CallKey::from_bytes([8; 32]).client(b"one").read(&id), None);
    }

    #[test]
    fn a_changed_id_leads_nowhere() {
        let key = key(b"one");
        let id = key.mark(MARK);
        for at in 0..id.len() {
            let mut changed = id.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(key.read(std::str::from_utf8(&changed).unwrap()), None, "{at}");
            assert_eq!(key.read(&id[..at]), None, "{at}");
        }
        assert_eq!(key.read(&(id + "A")), None);
        assert_eq!(key.read("call_123"), None);
    }
}
