//! Tests of the vault through its public interface.

mod files;
mod injection;
mod joined;
mod markdown;
mod memory;
mod restoring;
mod tokens;

use leafgate_vault::{ClientIdentity, InstallationKey, Restorer, TokenKeys, Vault};

/// What the session of [`session`] has sent under the label `EMAIL`.
const ADDRESS: &str = "ann@example.org";

fn keys(client: &str) -> TokenKeys {
    TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new(client))
}

/// A session that has sent one address, and its token.
fn session() -> (Vault, String) {
    let vault = Vault::new(keys("laptop"));
    let token = vault.tokenize("EMAIL", ADDRESS).expect("nothing was sent before");
    (vault, token.to_string())
}

/// Restores fragments one after the other; with each what it let through.
fn stream<'a>(vault: &Vault, fragments: impl IntoIterator<Item = &'a str>) -> String {
    let mut restorer: Restorer = vault.restorer();
    let mut out: String = fragments.into_iter().map(|fragment| restorer.push(fragment, &mut [])).collect();
    out.push_str(&restorer.finish(&mut []));
    assert!(!restorer.is_holding());
    out
}

/// Restores a whole text.
fn restore(vault: &Vault, text: &str) -> String {
    stream(vault, [text])
}

/// Every character for itself: the finest split there is.
fn characters(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|_: char| true)
}
