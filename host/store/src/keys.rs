//! The keys of a store, derived from the installation's.

use leafgate_vault::{InstallationKey, TokenKeys};
use ring::signature::Ed25519KeyPair;

/// What signs receipts, makes digests, and tells our own tokens from secrets.
#[derive(derive_more::Debug)]
#[debug("StoreKeys(..)")]
pub struct StoreKeys {
    pub(crate) signer: Ed25519KeyPair,
    pub(crate) digests: [u8; 32],
    pub(crate) tokens: TokenKeys,
}

impl StoreKeys {
    /// Derives the keys of an installation: each use has its own.
    pub fn derive(installation: &InstallationKey, tokens: TokenKeys) -> Self {
        let seed = installation.secret_for("leafgate receipts 1");
        let signer = Ed25519KeyPair::from_seed_unchecked(&seed).expect("a seed of 32 bytes is a key");
        StoreKeys { signer, digests: installation.secret_for("leafgate log digests 1"), tokens }
    }

    /// Returns the digest by which receipts name a body: of the same body, the same with these keys,
    /// and of no use to who lacks them.
    pub fn digest(&self, body: &[u8]) -> String {
        blake3::keyed_hash(&self.digests, body).to_hex().to_string()
    }

    /// Returns the key that verifies this installation's receipts.
    #[must_use]
    pub fn verifying_key(&self) -> String {
        use ring::signature::KeyPair;
        base16ct::lower::encode_string(self.signer.public_key().as_ref())
    }
}
