//! Published examples: what its owner shows to everybody, in documentation, in advertisements, for
//! tests, or in sample code.
//!
//! They stand in countless projects and open nothing, so they are findings of a class of their own
//! ([`crate::Finding::published`]). A key comes onto a list only where its owner publishes it. Keys
//! of sample code stand here as digests, and the others in two parts, so that neither this file nor
//! a copy of it sets off a scanner.

/// The first eight bytes of each key's BLAKE3, in order: Google's, from the tests and samples of its
/// Firebase SDKs, and the passwords of Microsoft's page about `nuget.config`.
#[rustfmt::skip]
const DIGESTS: [u64; 16] = [
    0x1fd8_7719_ff89_0fa1, 0x325d_a84d_0218_73ca, 0x3ea0_c69a_cc2a_a5cd, 0x3f0e_e704_b533_f908,
    0x3f81_09b6_85c6_ea5f, 0x444c_6a11_3e72_6eee, 0x4d82_4fe5_90f7_4d6d, 0x7aab_d92f_9a54_37a1,
    0x8b28_601b_80f6_386a, 0xb377_30c1_fe2a_3979, 0xba64_1ef5_52f0_0642, 0xc927_7f7e_6ab3_6388,
    0xe0dd_3895_587a_5c78, 0xe2bb_a36a_dfa4_b44d, 0xefc1_cace_7459_1068, 0xf2ef_98fc_df59_1ad3,
];

/// As long as the longest key on the list; longer texts are not hashed.
const LONGEST: usize = 64;

/// Keys of documentation: of AWS, of Stripe, of GC Notify, the token of jwt.io, and seed
/// phrases of BIP-39 and of chains for tests.
const EXAMPLES: [[&str; 2]; 13] = [
    ["AKIA", "IOSFODNN7EXAMPLE"],
    ["ASIA", "IOSFODNN7EXAMPLE"],
    ["AKIA", "I44QH8DHBEXAMPLE"],
    ["wJalrXUtnFEMI", "/K7MDENG/bPxRfiCYEXAMPLEKEY"],
    ["wJalrXUtnFEMI", "/K7MDENG/bPxRfiCYzEXAMPLEKEY"],
    ["je7MtGbClwBF", "/2Zp9Utk/h3yCo8nvbEXAMPLEKEY"],
    ["sk_test_", "4eC39HqLyjWDarjtT1zdp7dc"],
    ["sk_test_", "BQokikJOvBiI2HlWgH4olfQ2"],
    ["abandon abandon abandon abandon abandon abandon ", "abandon abandon abandon abandon abandon about"],
    ["legal winner thank year wave sausage ", "worth useful legal winner thank yellow"],
    ["test test test test test test ", "test test test test test junk"],
    ["gcntfy-my_test_key", "-26785a09-ab16-4eb0-8407-a37497a57506-3d844edf-8d35-48ac-975b-e847b4f122b0"],
    [
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ",
        ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    ],
];

/// Card numbers of payment providers' test pages, and social security numbers that were printed in
/// advertisements.
#[rustfmt::skip]
const NUMBERS: [[&str; 2]; 20] = [
    ["4111", "111111111111"], ["4242", "424242424242"], ["4012", "888888881881"], ["4222", "222222222"],
    ["4000", "056655665556"], ["4000", "000000000002"], ["4000", "002500003155"], ["5555", "555555554444"],
    ["5105", "105105105100"], ["2223", "003122003222"], ["3782", "82246310005"], ["3714", "49635398431"],
    ["3787", "34493671000"], ["6011", "111111111117"], ["6011", "000990139424"], ["3056", "9309025904"],
    ["3852", "0000023237"], ["3530", "111333300000"], ["0780", "51120"], ["2190", "99999"],
];

/// Returns true if and only if `text` is a key that everybody may know.
pub(crate) fn is_published(text: &str) -> bool {
    is_example(text) || (text.len() <= LONGEST && DIGESTS.binary_search(&digest(text)).is_ok())
}

/// Returns true if and only if `text` is a key of documentation or a number for tests. Costs next
/// to nothing.
pub(crate) fn is_example(text: &str) -> bool {
    let is = |[first, rest]: &[&str; 2], text: &str| text.strip_prefix(first) == Some(rest);
    match text.as_bytes() {
        [b'0'..=b'9', ..] => {
            digits(text).is_some_and(|digits| NUMBERS.iter().any(|number| is(number, &digits)))
        }
        [b'A' | b'w' | b'j' | b's' | b'e' | b'g' | b'a' | b'l' | b't', ..] => {
            EXAMPLES.iter().any(|example| is(example, text))
        }
        _ => false,
    }
}

/// The digits of a number in groups.
fn digits(text: &str) -> Option<String> {
    const LONGEST_NUMBER: usize = 24;
    let grouped =
        text.len() <= LONGEST_NUMBER && text.bytes().all(|b| b.is_ascii_digit() || b == b' ' || b == b'-');
    grouped.then(|| text.chars().filter(char::is_ascii_digit).collect())
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
    fn examples_of_documentation_are_found_and_said_to_be_such() {
        let engine = crate::Engine::new(&["secrets", "pii"]).unwrap();
        let key = ["AKIA", "IOSFODNN7", "EXAMPLE"].concat();
        let secret = ["wJalrXUtnFEMI/K7MDENG/", "bPxRfiCYEXAMPLEKEY"].concat();
        for (text, published) in [
            (format!("aws_access_key_id = {key}"), &*key),
            (format!("aws_secret_access_key = {secret}"), &secret),
            ("pay with 4111 1111 1111 1111 now".to_owned(), "4111 1111 1111 1111"),
            ("pay with 4242424242424242 now".to_owned(), "4242424242424242"),
            ("pay with 3782-822463-10005 now".to_owned(), "3782-822463-10005"),
            ("his number is 078-05-1120.".to_owned(), "078-05-1120"),
        ] {
            let found = engine.scan(&crate::Input::new(&text));
            let seen: Vec<_> = found.iter().map(|f| (&text[f.range.clone()], f.published)).collect();
            assert_eq!(seen, [(published, true)], "{text}");
        }
        let live = format!("key {} and 4539 5787 6362 1486", ["AKIA", "Q3EGRIKRPL5WZBT6"].concat());
        let found = engine.scan(&crate::Input::new(&live));
        assert!(found.len() == 2 && found.iter().all(|finding| !finding.published), "{found:?}");
        for text in ["4111 1111 1111 1112", "1111 1111 1111 1111", "AKIAIOSFODNN7EXAMPLF", "xxxxxxxxxxxxxxxx"]
        {
            assert!(engine.scan(&crate::Input::new(text)).iter().all(|finding| !finding.published), "{text}");
        }
    }

    #[test]
    fn the_list_is_in_order() {
        assert!(DIGESTS.is_sorted());
    }
}
