//! What is made to be shown: public keys, publishable keys of services, what is encrypted for one
//! reader only, and tokens of badges.

use crate::keyed::MAX_BARE;
use crate::lists::LISTS;

/// A sealed secret of Kubernetes begins with the length of its session key, 512 bytes, and is longer
/// than as much of a value as is judged at least.
const SEALED: [&str; 4] = ["AgA", "AgB", "AgC", "AgD"];
const LEAST_SEALED: usize = MAX_BARE;

/// Returns true if and only if a value is made to be shown.
pub(crate) fn is_publishable(value: &str) -> bool {
    let sealed = value.len() >= LEAST_SEALED && SEALED.iter().any(|start| value.starts_with(start));
    sealed || LISTS.publishable.iter().any(|start| value.starts_with(&**start))
}

/// Returns true if and only if what stands before a name says that its value is shown to everybody:
/// the address of a badge.
pub(crate) fn is_publishable_place(before: &[u8]) -> bool {
    before.ends_with(b"badge.svg?") || before.ends_with(b"badge?")
}

#[cfg(test)]
mod tests {
    use crate::{Engine, Input};

    #[test]
    fn what_is_made_to_be_shown_is_no_secret() {
        let engine = Engine::new(&["secrets"]).unwrap();
        for text in [
            format!("STRIPE_KEY = \"{}{}\"", "pk_live_", "j5krY8XTgIcDaHDb3YrsAfCl"),
            format!("jwt_key: {}{}", "MIIBIjANBgkqhkiG9w0BAQEFAAOC", "AQ8AMIIBCgKCAQEA7xk2mQf0"),
            format!("data_secret: {}{}", "AgB", "q7Zk29fLmXw84TbV".repeat(60)),
            format!("https://codecov.io/gh/a/b/graph/badge.svg?token={}", "3KA3R2D9fV"),
        ] {
            assert_eq!(engine.scan(&Input::new(&text)), [], "{text}");
        }
        let live = format!("STRIPE_KEY = \"{}{}\"", "sk_live_", "j5krY8XTgIcDaHDb3YrsAfCl");
        assert_eq!(engine.scan(&Input::new(&live)).len(), 1);
    }
}
