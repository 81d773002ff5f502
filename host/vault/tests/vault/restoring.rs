//! Restoring: the stream and the whole text agree, and nothing is held back without need.

use std::sync::Arc;

use leafgate_vault::{FileName, Flow, FlowRule, MemoryBound, Vault};
use proptest::{prelude::*, sample::select};

use crate::{ADDRESS, characters, keys, restore, session, stream};

#[test]
fn what_looks_like_a_token_and_is_none_of_ours_stays() {
    let (vault, _) = session();
    let text = "EMAIL_k7f3q2xw9mz4ab6c is not ours, snake_case_names_are_not_either";
    assert_eq!(restore(&vault, text), text);
}

#[test]
fn a_model_may_write_a_token_in_any_case() {
    let (vault, token) = session();
    for written in [token.to_lowercase(), token.to_uppercase(), token.replace("EMAIL", "Email")] {
        assert_eq!(stream(&vault, [&*format!("to {written}.")]), "to ann@example.org.");
    }
}

#[test]
fn a_token_that_redaction_glued_to_its_neighbours_is_restored() {
    let (vault, token) = session();
    let text = format!("x{token}yand{token}{token}给");
    assert_eq!(restore(&vault, &text), "xann@example.orgyandann@example.organn@example.org给");
    assert_eq!(stream(&vault, characters(&text)), restore(&vault, &text));
}

#[test]
fn a_glued_token_in_another_case_stays() {
    let (vault, token) = session();
    let text = format!("x{}", token.to_lowercase());
    assert_eq!(restore(&vault, &text), text);
}

#[test]
fn only_what_begins_a_known_token_is_held_back() {
    let (vault, token) = session();
    for held in
        [&token[..1], &token[..5], &token[..6], &token[..token.len() - 1], &token[..12].to_lowercase()]
    {
        let mut restorer = vault.restorer();
        assert_eq!(restorer.push(&format!("to {held}"), &mut []), "to ");
        assert!(restorer.is_holding());
        assert_eq!(restorer.push("!", &mut []), format!("{held}!"));
        assert!(!restorer.is_holding());
    }
    let unknown = keys("laptop").token("EMAIL", "bob@example.org").to_string();
    for passed in [&unknown[..12], "the", "theme", "EMAX", "EMAIL-", "snake_case", "EMAIL_ ", "é"] {
        let mut restorer = vault.restorer();
        assert_eq!(restorer.push(passed, &mut []), passed);
        assert!(!restorer.is_holding());
    }
}

#[test]
fn a_whole_token_leaves_before_the_next_fragment() {
    let (vault, token) = session();
    let mut restorer = vault.restorer();
    assert_eq!(restorer.push(&token, &mut []), ADDRESS);
    assert!(!restorer.is_holding());
}

#[test]
fn an_empty_session_holds_nothing() {
    let (_, token) = session();
    let vault = Vault::new(keys("laptop"));
    for part in characters(&token) {
        let mut restorer = vault.restorer();
        assert_eq!(restorer.push(part, &mut []), part);
    }
}

#[test]
fn what_is_held_at_the_end_is_given_back() {
    let (vault, token) = session();
    let mut restorer = vault.restorer();
    restorer.push(&token[..9], &mut []);
    assert_eq!(restorer.finish(&mut []), &token[..9]);
    assert_eq!(restorer.finish(&mut []), "");
}

/// A token with its last character changed, which its check gives away.
fn altered(token: &str) -> String {
    let last = if token.ends_with('0') { '1' } else { '0' };
    format!("{}{last}", &token[..token.len() - 1])
}

#[test]
fn a_token_with_a_wrong_check_stays_and_is_counted_once_however_it_is_cut() {
    let (known, token) = session();
    let bound = MemoryBound::new(usize::MAX);
    let vault = Vault::within(known.keys().clone(), &bound);
    vault.tokenize("EMAIL", ADDRESS).unwrap();
    let wrong = altered(&token);
    // Of another label, glued to a word, or too short, it is none of ours.
    let others = format!("PHONE_{0} {wrong}x {1}", &wrong["EMAIL_".len()..], &wrong[..wrong.len() - 1]);
    let text = format!("{wrong}, **{wrong}** {token} {others} é{} {wrong}", wrong.to_lowercase());
    let expected = text.replace(&token, ADDRESS);
    let counted = |restore: &dyn Fn() -> String| {
        let before = bound.tokens();
        assert_eq!(restore(), expected);
        let after = bound.tokens();
        (after.restored - before.restored, after.kept - before.kept, after.altered - before.altered)
    };
    assert_eq!(counted(&|| stream(&vault, [&*text])), (1, 0, 4));
    assert_eq!(counted(&|| stream(&vault, characters(&text))), (1, 0, 4));
    for cut in (0..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
        let parts = [&text[..cut], &text[cut..]];
        assert_eq!(counted(&|| stream(&vault, parts)), (1, 0, 4), "cut at {cut}");
    }
    assert_eq!(vault.altered_in(&text), 4);
}

#[test]
fn a_value_is_not_searched_for_tokens() {
    let (vault, token) = session();
    let outer = vault.tokenize("NOTE", &format!("see {token}")).unwrap();
    assert_eq!(restore(&vault, outer.as_str()), format!("see {token}"));
}

#[test]
fn invariant_6_a_restorer_prints_no_text() {
    let (vault, token) = session();
    let mut restorer = vault.restorer();
    restorer.push(&token[..9], &mut []);
    assert_eq!(format!("{restorer:?}"), "Restorer { held: 9, .. }");
}

/// Values of the property's session, some of them made to lead the watchers astray.
const VALUES: [(&str, &str); 5] = [
    ("EMAIL", ADDRESS),
    ("EMAIL", "bob@example.org"),
    ("MAIL", "carol@example.org"),
    ("URL", "https://user:word@db.example/?q="),
    ("E", "](<a \"'=\n\n"),
];

/// Texts of tokens, beginnings of tokens, what opens and closes contexts, and anything else.
fn text() -> impl Strategy<Value = String> {
    let keys = keys("laptop");
    let tokens: Vec<String> =
        VALUES.iter().map(|(label, value)| keys.token(label, value).to_string()).collect();
    let markup = [
        "](",
        "]",
        "(",
        ")",
        "[x]:",
        "<",
        "<img src=",
        "='",
        "=\"",
        ">",
        "'",
        "\"",
        "http://",
        "//",
        "www.",
        "a.b/",
        "mailto:",
        "&#58;",
        "\n",
        "\n\n",
        " ",
        "\\",
        ",",
        "`",
        "*",
    ];
    let part = prop_oneof![
        4 => select(tokens.clone()),
        1 => select(tokens.clone()).prop_map(|token| token.to_lowercase()),
        2 => (select(tokens), 1usize..20).prop_map(|(token, length)| token[..length.min(token.len())].to_owned()),
        5 => select(markup.to_vec()).prop_map(str::to_owned),
        1 => "[a-zE_é給 ]{0,6}",
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

fn sent() -> Vault {
    let vault = Vault::new(keys("laptop"));
    let anywhere = || vec!["*".parse().expect("a place")];
    let flow = Arc::new(Flow::new(vec![FlowRule { from: anywhere(), to: anywhere() }]));
    for (label, value) in VALUES {
        vault.tokenize_seen(label, value, &Arc::default(), &flow).expect("80 bits differ");
    }
    vault
}

/// Cuts a text into fragments of these many characters, over and over; every other one may be
/// empty.
fn cut(text: &str, sizes: &[(usize, usize)]) -> Vec<String> {
    let mut fragments = vec![String::new()];
    let mut sizes = sizes.iter().flat_map(|&(any, some)| [any, some]).cycle();
    let mut left = sizes.next().unwrap_or(1);
    for c in text.chars() {
        while left == 0 {
            fragments.push(String::new());
            left = sizes.next().unwrap_or(1);
        }
        left -= 1;
        fragments.last_mut().expect("starts with one").push(c);
    }
    fragments
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn every_split_restores_like_the_whole(text in text(), sizes in prop::collection::vec((0usize..9, 1usize..9), 1..4)) {
        let vault = sent();
        let whole = restore(&vault, &text);
        let fragments = cut(&text, &sizes);
        prop_assert_eq!(&stream(&vault, fragments.iter().map(String::as_str)), &whole);
        prop_assert_eq!(&stream(&vault, characters(&text)), &whole);
    }

    #[test]
    fn what_is_held_is_short_and_begins_a_known_token(text in text()) {
        let vault = sent();
        let tokens: Vec<String> =
            VALUES.iter().map(|(l, v)| vault.keys().token(l, v).to_string().to_lowercase()).collect();
        let mut restorer = vault.restorer();
        let mut read = String::new();
        for part in characters(&text) {
            read.push_str(part);
            restorer.push(part, &mut []);
            let begins = |token: &String| {
                (1..token.len()).any(|length| read.to_lowercase().ends_with(&token[..length]))
            };
            prop_assert!(!restorer.is_holding() || tokens.iter().any(begins));
        }
    }

    #[test]
    fn restoring_undoes_redacting(parts in prop::collection::vec(("[ -~\n給]{0,12}", select(VALUES.to_vec())), 0..8)) {
        let vault = sent();
        let original: String = parts.iter().map(|(text, (_, value))| format!("{text}{value}")).collect();
        let redacted: String =
            parts.iter().map(|(text, (label, value))| format!("{text}{}", vault.keys().token(label, value))).collect();
        let files = [FileName::parse("notes").expect("one file")];
        prop_assert_eq!(&*vault.restore_into(&redacted, "Write", &files), &original);
    }
}
