//! Who signs plugins: a public key, as rule files name it.

use std::str::FromStr;

/// The public Ed25519 key (RFC 8032) of somebody who signs plugins: `ed25519:` and 64 hexadecimal
/// digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{PREFIX}{}", base16ct::lower::encode_string(&self.0))]
pub struct Signer(pub [u8; 32]);

const PREFIX: &str = "ed25519:";

/// A text that names no signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key is `{PREFIX}` and 64 hexadecimal digits")]
pub struct NoSigner;

impl FromStr for Signer {
    type Err = NoSigner;

    fn from_str(text: &str) -> Result<Self, NoSigner> {
        text.strip_prefix(PREFIX).and_then(of_hex).map(Signer).ok_or(NoSigner)
    }
}

/// Returns the 32 bytes of a key or a digest; `None` where a text is not 64 hexadecimal digits.
pub fn of_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let decoded = base16ct::mixed::decode(text, &mut bytes).ok()?;
    (decoded.len() == 32).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_as_it_is_written() {
        let signer = Signer(std::array::from_fn(|at| at as u8));
        assert_eq!(signer.to_string().parse(), Ok(signer));
        assert_eq!(signer.to_string().to_uppercase().replace("ED25519", "ed25519").parse(), Ok(signer));
        for text in [
            "",
            "ed25519:",
            "ed25519:00",
            &"0".repeat(64),
            &format!("ed25519:{}", "é".repeat(32)),
            &format!("{signer}0"),
        ] {
            assert_eq!(text.parse::<Signer>(), Err(NoSigner), "{text}");
        }
    }
}
