//! Keys that their vendor publishes: in its documentation, or in sample code of its own repositories.
//!
//! They stand in countless projects and open nothing. A key comes onto this list only where its vendor shows it to everybody, and
//! as a digest, so that neither this file nor a copy of it sets off a scanner. Keys that say so themselves (`…EXAMPLE`) are
//! placeholders and need no entry.

/// The first eight bytes of each key's BLAKE3, in order. All are Google's, from the tests and samples of its Firebase SDKs.
#[rustfmt::skip]
const DIGESTS: [u64; 14] = [
    0x1fd8_7719_ff89_0fa1, 0x325d_a84d_0218_73ca, 0x3ea0_c69a_cc2a_a5cd, 0x3f0e_e704_b533_f908,
    0x3f81_09b6_85c6_ea5f, 0x444c_6a11_3e72_6eee, 0x4d82_4fe5_90f7_4d6d, 0x7aab_d92f_9a54_37a1,
    0x8b28_601b_80f6_386a, 0xba64_1ef5_52f0_0642, 0xc927_7f7e_6ab3_6388, 0xe2bb_a36a_dfa4_b44d,
    0xefc1_cace_7459_1068, 0xf2ef_98fc_df59_1ad3,
];

/// As long as the longest key on the list; longer texts are not hashed.
const LONGEST: usize = 64;

/// True where `text` is a key that everybody may know.
pub(crate) fn is_published(text: &str) -> bool {
    text.len() <= LONGEST && DIGESTS.binary_search(&digest(text)).is_ok()
}

fn digest(text: &str) -> u64 {
    let hash = blake3::hash(text.as_bytes());
    hash.as_bytes()[..8].iter().fold(0, |all, &byte| all << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_key_is_known_and_its_neighbour_is_not() {
        let published = format!("{}{}", "AIza", "SyCkEhVjf3pduRDt6d1yKOMitrUEke8agEM");
        assert!(is_published(&published));
        assert!(!is_published(&published.replace("agEM", "agEN")));
        assert!(!is_published(""));
    }

    #[test]
    fn the_list_is_in_order() {
        assert!(DIGESTS.is_sorted());
    }
}
