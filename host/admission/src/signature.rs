//! Signatures of plugin files, in a file of their own beside the plugin: `names.wasm.sig`.
//!
//! Each line is a public key and what it signed, so that several people can sign one file. What is
//! signed is the file's SHA-256 with a name of this use in front, so that a key that signs other
//! things too signs no plugin by accident. Nothing is asked of a network: who may sign stands in
//! the rule files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use leafgate_contract::Signer;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// The name of this use, which is signed along with the digest.
const USE: &[u8] = b"leafgate plugin 1\0";
/// Bytes of a signature.
const SIGNATURE: usize = 64;
/// A file of signatures is a few lines.
const LARGEST: usize = 64 << 10;

/// A key that signs plugins.
#[derive(derive_more::Debug)]
#[debug("SigningKey({})", self.signer())]
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// Takes 32 bytes that must come from the system's random source. `None` for a seed that ring
    /// refuses, which no random one is.
    pub fn from_seed(seed: &[u8; 32]) -> Option<Self> {
        Ed25519KeyPair::from_seed_unchecked(seed).ok().map(SigningKey)
    }

    /// Returns the public half.
    pub fn signer(&self) -> Signer {
        let mut key = [0; 32];
        key.copy_from_slice(self.0.public_key().as_ref());
        Signer(key)
    }

    /// Signs a file of this digest.
    fn sign(&self, digest: &[u8; 32]) -> [u8; SIGNATURE] {
        let mut signature = [0; SIGNATURE];
        signature.copy_from_slice(self.0.sign(&signed(digest)).as_ref());
        signature
    }
}

fn signed(digest: &[u8; 32]) -> Vec<u8> {
    [USE, digest].concat()
}

/// The signatures of one plugin file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signatures(Vec<(Signer, [u8; SIGNATURE])>);

/// Why a file of signatures is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadSignatures {
    /// It cannot be read.
    #[error("`{path}` cannot be read: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        error: String,
    },
    /// A line is no signature.
    #[error("line {0} is no signature: it should be a key, a space and 128 hexadecimal digits")]
    Line(usize),
}

impl Signatures {
    /// Returns where the signatures of a plugin file stand.
    pub fn beside(plugin: &Path) -> PathBuf {
        let mut name = plugin.as_os_str().to_owned();
        name.push(".sig");
        name.into()
    }

    /// Reads the signatures of a plugin file; none where there is no such file.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds something else.
    pub fn of(plugin: &Path) -> Result<Self, BadSignatures> {
        let path = Signatures::beside(plugin);
        let missing =
            path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if missing {
            return Ok(Signatures::default());
        }
        let text = leafgate_folder::read_text(&path, LARGEST).map_err(|error| BadSignatures::Unreadable {
            path: path.display().to_string(),
            error: error.to_string(),
        })?;
        Signatures::parse(&text)
    }

    /// Reads lines of signatures. Empty ones and those that begin with `#` are none.
    ///
    /// # Errors
    /// The first line that is something else.
    pub fn parse(text: &str) -> Result<Self, BadSignatures> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        lines
            .map(|(number, line)| signature(line).ok_or(BadSignatures::Line(number)))
            .collect::<Result<_, _>>()
            .map(Signatures)
    }

    /// Adds a signature of a file of this digest, in the place of an earlier one of the same key.
    pub fn sign(&mut self, key: &SigningKey, digest: &[u8; 32]) {
        let signer = key.signer();
        self.0.retain(|(known, _)| *known != signer);
        self.0.push((signer, key.sign(digest)));
    }

    /// Returns who has signed a file of this digest, and who has signed another one.
    #[must_use]
    pub fn verify(&self, digest: &[u8; 32]) -> VerifiedSignature {
        let mut verified = VerifiedSignature::default();
        for (signer, signature) in &self.0 {
            let key = UnparsedPublicKey::new(&ED25519, signer.0);
            match key.verify(&signed(digest), signature) {
                Ok(()) => verified.signed.push(*signer),
                Err(_) => verified.stale.push(*signer),
            }
        }
        verified
    }

    /// The lines of the file.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (signer, signature) in &self.0 {
            let _ = writeln!(text, "{signer} {}", base16ct::lower::encode_string(signature));
        }
        text
    }
}

/// Whose signatures hold for a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifiedSignature {
    /// Those who have signed it.
    pub signed: Vec<Signer>,
    /// Those whose signature is of another file, or none at all.
    pub stale: Vec<Signer>,
}

fn signature(line: &str) -> Option<(Signer, [u8; SIGNATURE])> {
    let (signer, digits) = line.split_once(' ')?;
    let mut signature = [0; SIGNATURE];
    let decoded = base16ct::mixed::decode(digits.trim(), &mut signature).ok()?;
    (decoded.len() == SIGNATURE).then_some(())?;
    Some((signer.parse().ok()?, signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32]).unwrap()
    }

    #[test]
    fn a_signature_holds_for_its_file_and_its_key() {
        let mut signatures = Signatures::default();
        signatures.sign(&key(1), &[5; 32]);
        signatures.sign(&key(2), &[6; 32]);
        let of = |digest| {
            let VerifiedSignature { signed, stale } = signatures.verify(&[digest; 32]);
            (signed, stale)
        };
        assert_eq!(of(5), (vec![key(1).signer()], vec![key(2).signer()]));
        assert_eq!(of(6), (vec![key(2).signer()], vec![key(1).signer()]));
        assert_eq!(of(7).0, []);
    }

    /// RFC 8032, 7.1, test 1: a key's public half.
    #[test]
    fn keys_are_those_of_the_standard() {
        let mut seed = [0; 32];
        base16ct::lower::decode(
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            &mut seed,
        )
        .unwrap();
        let expected = "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        assert_eq!(SigningKey::from_seed(&seed).unwrap().signer().to_string(), expected);
    }

    #[test]
    fn to_sign_again_replaces_ones_own_signature_alone() {
        let mut signatures = Signatures::default();
        signatures.sign(&key(1), &[5; 32]);
        signatures.sign(&key(2), &[5; 32]);
        signatures.sign(&key(1), &[6; 32]);
        assert_eq!(signatures.verify(&[6; 32]).signed, [key(1).signer()]);
        assert_eq!(signatures.verify(&[5; 32]).signed, [key(2).signer()]);
    }

    #[test]
    fn a_file_reads_as_it_was_written_and_mistakes_have_a_line() {
        let mut signatures = Signatures::default();
        signatures.sign(&key(1), &[5; 32]);
        let text = signatures.to_text();
        assert_eq!(Signatures::parse(&format!("# by hand\n\n{text}")), Ok(signatures));
        for bad in ["x", &text[..text.len() - 3], &text.replace(' ', ""), &text.replace("ed25519", "rsa")] {
            assert_eq!(Signatures::parse(&format!("\n{bad}")), Err(BadSignatures::Line(2)), "{bad}");
        }
        let name = Signatures::beside(Path::new("plugins/names.wasm"));
        assert_eq!(name, Path::new("plugins/names.wasm.sig"));
    }

    #[test]
    fn a_missing_file_is_no_signature_and_a_strange_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let plugin = folder.path().join("names.wasm");
        assert_eq!(Signatures::of(&plugin), Ok(Signatures::default()));
        std::fs::create_dir(Signatures::beside(&plugin)).unwrap();
        assert!(matches!(Signatures::of(&plugin), Err(BadSignatures::Unreadable { .. })));
    }

    #[test]
    fn the_secret_half_is_never_shown() {
        assert!(!format!("{:?}", key(1)).contains(&base16ct::lower::encode_string(&[1; 32])));
    }
}
