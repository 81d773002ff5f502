//! Planting: every position of a request gets a secret of its own, all at once.
//!
//! Some values decide how a request is read: `role` and `type` say what an object is, and keys say
//! it everywhere. A secret there makes a message something else, and the policy's treatment of
//! messages would go untested. Hence three passes:
//!
//! | pass | what gets a secret | what it proves |
//! |---|---|---|
//! | [`Pass::Added`] | every leaf but discriminators; texts keep their words, and the secret stands behind them | the request as its format reads it |
//! | [`Pass::Replaced`] | every leaf wholly, discriminators included | short values, ids, names, and objects of unknown type |
//! | [`Pass::Keys`] | every key too | keys, and a body that nothing is known about |
//!
//! A number becomes a card number if the family is `card`, and a string otherwise. Booleans and
//! null become strings. A string that holds a document stays one: its own leaves and keys get
//! secrets. Inside media the secret stands in the middle of the data if its alphabet allows that,
//! so that the text stays media, and behind the data otherwise. Text in a base64 data URL is
//! encoded again.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leafgate_words::words;
use serde::Serialize;

use crate::canary::Family;
use crate::walk::{self, NotJson, PositionKind, Replacement, WalkPlace, WalkPosition};

/// Keys whose values say what the object around them is, in one of the formats.
const DISCRIMINATORS: [&str; 4] = ["type", "role", "kind", "$mid"];

/// First bytes of media, as this crate defines it. Each entry is as long as the shortest medium
/// needs.
const MEDIA: [&[u8]; 14] = [
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"RIFF",
    b"BM",
    b"%PDF-",
    b"ID3",
    b"\xff\xfb",
    b"\xff\xf3",
    b"\xff\xf2",
    b"OggS",
    b"fLaC",
    b"PK\x03\x04",
    b"\0\0\0",
];

words! {
    /// The positions that get a secret, and how.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Pass {
        /// Leaves but discriminators; texts keep their words.
        Added = "added",
        /// Every leaf, wholly.
        Replaced = "replaced",
        /// Every leaf and every key.
        Keys = "keys",
    }
    /// Returns its name.
    pub fn name = 0;
}

/// A secret at a position.
#[derive(Clone, Debug)]
pub struct Plant {
    /// The secret. It occurs nowhere else.
    pub canary: String,
    /// Its position, by the pointers of the body before planting.
    pub position: WalkPosition,
    /// Whether this crate takes the text around it for media.
    pub in_media: bool,
}

/// A body with secrets in it.
#[derive(Clone, Debug)]
pub struct Planted {
    /// The body.
    pub body: String,
    /// The secrets in it, in body order.
    pub plants: Vec<Plant>,
}

/// Plants a body. Secrets are numbered from `first`.
///
/// # Errors
/// Where the body is no JSON.
pub fn plant(body: &str, pass: Pass, family: Family, first: u64) -> Result<Planted, NotJson> {
    let mut plants: Vec<Plant> = Vec::new();
    let body = walk::rewrite(body, &mut |place| {
        if !gets_one(pass, place) {
            return None;
        }
        let canary = family.canary(first + plants.len() as u64);
        let (new, in_media) = planted(pass, family, place, &canary);
        plants.push(Plant { canary, position: place.position.clone(), in_media });
        Some(new)
    })?;
    Ok(Planted { body, plants })
}

/// Plants a secret in a text that is no JSON. All of it is one position.
pub fn plant_raw(body: &str, family: Family, number: u64) -> Planted {
    let canary = family.canary(number);
    let position = WalkPosition { pointer: String::new(), occurrence: 0, what: PositionKind::Text, level: 0 };
    Planted { body: format!("{body}; {canary}"), plants: vec![Plant { canary, position, in_media: false }] }
}

fn gets_one(pass: Pass, place: &WalkPlace<'_>) -> bool {
    // Inside strings nothing is a discriminator, because no API reads there.
    let discriminates = place.position.level == 0 && DISCRIMINATORS.contains(&place.key);
    match place.position.what {
        PositionKind::Document => false,
        PositionKind::Key => pass == Pass::Keys,
        _ => pass != Pass::Added || !discriminates,
    }
}

/// Returns the new content of a position, and whether it still is media.
fn planted(pass: Pass, family: Family, place: &WalkPlace<'_>, canary: &str) -> (Replacement, bool) {
    match place.position.what {
        PositionKind::Number if family == Family::Card => (Replacement::Spelled(canary.to_owned()), false),
        PositionKind::Text if pass == Pass::Added => added(family, place.text, canary),
        _ => (Replacement::Text(canary.to_owned()), false),
    }
}

fn added(family: Family, text: &str, canary: &str) -> (Replacement, bool) {
    let (head, payload) = data(text);
    if is_media(text) && family != Family::Github {
        // On a group of four characters, so that the text behind it decodes as before.
        let (before, behind) = payload.split_at((payload.len() / 2) & !3);
        return (Replacement::Text(format!("{head}{before}{canary}{behind}")), true);
    }
    if let (false, Some(words)) = (head.is_empty(), encoded_text(payload)) {
        return (
            Replacement::Text(format!("{head}{}", STANDARD.encode(format!("{words}; {canary}")))),
            false,
        );
    }
    (Replacement::Text(format!("{text}; {canary}")), false)
}

/// Splits a data URL before its data. Any other text is data.
fn data(text: &str) -> (&str, &str) {
    let payload =
        text.strip_prefix("data:").and_then(|url| Some(url.split_once(";base64,")?.1)).unwrap_or(text);
    (&text[..text.len() - payload.len()], payload)
}

/// Returns whether a text is base64, bare or in a data URL, that begins like media. No real file is
/// shorter than the compared beginning.
pub fn is_media(text: &str) -> bool {
    let (_, payload) = data(text);
    let head = payload.get(..64).and_then(|head| STANDARD.decode(head).ok());
    head.is_some_and(|head| MEDIA.iter().any(|magic| head.starts_with(magic)))
        && payload
            .trim_end_matches('=')
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Returns the text whose base64 this is.
fn encoded_text(payload: &str) -> Option<String> {
    let text = String::from_utf8(STANDARD.decode(payload).ok()?).ok()?;
    (!text.contains('\0')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(body: &str, pass: Pass, family: Family) -> Planted {
        plant(body, pass, family, 0).unwrap()
    }

    fn without(planted: &Planted) -> String {
        planted.plants.iter().enumerate().fold(planted.body.clone(), |body, (at, plant)| {
            assert_eq!(body.matches(&plant.canary).count(), 1, "{}", plant.position.pointer);
            body.replace(&plant.canary, &format!("<{at}>"))
        })
    }

    const BODY: &str = r#"{"role": "user", "n": 1, "on": true, "deep": "{\"type\": \"x\", \"none\": null}"}"#;

    #[test]
    fn added_keeps_words_and_discriminators() {
        assert_eq!(
            without(&planted(BODY, Pass::Added, Family::Card)),
            r#"{"role": "user", "n": <0>, "on": "<1>", "deep": "{\"type\": \"x; <2>\", \"none\": \"<3>\"}"}"#
        );
        assert!(without(&planted(BODY, Pass::Added, Family::Aws)).contains(r#""n": "<0>""#));
    }

    #[test]
    fn replaced_and_keys_leave_nothing_out() {
        assert_eq!(
            without(&planted(BODY, Pass::Replaced, Family::Github)),
            r#"{"role": "<0>", "n": "<1>", "on": "<2>", "deep": "{\"type\": \"<3>\", \"none\": \"<4>\"}"}"#
        );
        assert_eq!(
            without(&planted(r#"{"a": {"b": 1}}"#, Pass::Keys, Family::Github)),
            r#"{"<0>": {"<1>": "<2>"}}"#
        );
    }

    #[test]
    fn media_stays_media_where_the_secret_allows_it() {
        let png = STANDARD.encode([&b"\x89PNG\r\n\x1a\n"[..], &[7; 70]].concat());
        let body = format!(r#"{{"url": "data:image/png;base64,{png}"}}"#);
        assert!(planted(&body, Pass::Added, Family::Aws).plants[0].in_media);
        let behind = planted(&body, Pass::Added, Family::Github);
        assert!(!behind.plants[0].in_media && without(&behind).contains("; <0>\""));
    }

    #[test]
    fn text_in_a_data_url_is_encoded_again() {
        let body = format!(r#"{{"url": "data:text/plain;base64,{}"}}"#, STANDARD.encode("some words"));
        let planted = planted(&body, Pass::Added, Family::Github);
        let payload = planted.body.split(',').nth(1).unwrap().trim_end_matches("\"}");
        let words = String::from_utf8(STANDARD.decode(payload).unwrap()).unwrap();
        assert_eq!(words, format!("some words; {}", planted.plants[0].canary));
    }
}
