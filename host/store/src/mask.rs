//! Masks what a log must not hold: in texts, and in JSON, of which all else stays as it is spelled.
//!
//! The built-in detectors look at every string, key and number, whatever a policy selects, and so do
//! the policy's own detectors and plugins. Tokens of this installation are no secrets. What is
//! encoded is looked at too; where a finding has no place of its own, the whole encoded stretch is
//! masked. A string that is JSON is walked like JSON. Long stretches of base64 are media or
//! signatures: nobody reads them in a log, and nobody can tell what they show, so only their length
//! is kept. So it is with texts of megabytes: to mask one takes several times its size, and the gate
//! is to need less than three times a body while it passes.

use std::borrow::Cow;
use std::ops::Range;

use leafgate_detect::{Engine, Finding, Input, replaced, views};
use leafgate_policy::Policy;
use leafgate_tree::display_mask;
use leafgate_vault::{TokenKeys, Vault};
use serde_with::de::DeserializeAsWrap;

use crate::pieces::Within;
use crate::tokens::{JsonToken, JsonTokenKind, JsonTokens};

/// Strings that are JSON, one in another. What is deeper is masked as text.
const DEPTH: usize = 4;

/// Base64 without a blank that is so long is left out. Keys and tokens are shorter.
const MEDIA: usize = 1024;

/// Bytes of a text, as it is spelled, beyond which only its length is kept.
const LONG: usize = 2 << 20;

/// Fewer digits than any number that tells of a person.
const DIGITS: usize = 7;

/// What stands for what cannot be read.
const UNREADABLE: &str = "‹UNREADABLE›";

/// Finds what must not be written.
pub(crate) struct Masker {
    tokens: TokenKeys,
}

/// JSON with masks, and the words in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Masked {
    pub(crate) json: Vec<u8>,
    /// The texts of its values, a line each, to be searched.
    pub(crate) words: String,
}

impl Masker {
    pub(crate) fn new(tokens: TokenKeys) -> Self {
        Masker { tokens }
    }

    /// Returns a text with all findings masked. `key` names it, where anything does.
    pub(crate) fn text<'t>(&self, policy: Option<&Policy>, key: &str, text: &'t str) -> Cow<'t, str> {
        let (engine, ours) = (Engine::built_in(), self.tokens.find(text));
        let mut findings = engine.scan(&Input::new(text).with_key(key));
        findings.retain(|found| !is_within(&found.range, &ours));
        for view in views(text) {
            let known = self.tokens.find(view.text());
            for found in engine.scan(&Input::new(view.text())) {
                if !is_within(&found.range, &known) {
                    let range = view.source(found.range.clone()).range;
                    findings.push(Finding { range, ..found });
                }
            }
        }
        let masked = replaced(text, findings, display_mask);
        match policy.filter(|policy| policy.detects_by_itself()) {
            Some(policy) => {
                let vault = Vault::new(self.tokens.clone());
                match policy.masked_text(&masked, &vault) {
                    Some(own) if own == *masked => masked,
                    Some(own) => own.into(),
                    // A detector that failed has not said that there is nothing.
                    None => UNREADABLE.into(),
                }
            }
            None => masked,
        }
    }

    /// Returns JSON, or a stretch of it that begins within a list or an object, with all findings
    /// masked. What is no JSON is masked as well.
    pub(crate) fn json(&self, policy: Option<&Policy>, within: Within<'_>, json: &[u8]) -> Masked {
        let mut walk = MaskWalk::new(self, policy, within, DEPTH);
        walk.run(json);
        walk.out
    }

    /// Returns a body that is no JSON with all findings masked.
    pub(crate) fn plain(&self, policy: Option<&Policy>, body: &[u8]) -> Masked {
        if body.len() > LONG {
            return Masked { json: length_of(body).into_bytes(), words: String::new() };
        }
        let text = String::from_utf8_lossy(body);
        let text = self.text(policy, "", &text).into_owned();
        Masked { json: text.clone().into_bytes(), words: text }
    }
}

fn is_within(range: &Range<usize>, ours: &[Range<usize>]) -> bool {
    ours.iter().any(|token| token.start <= range.start && range.end <= token.end)
}

/// An object or a list that is open at some place of JSON.
struct Open {
    is_object: bool,
    /// What names the values in it: the last key, or the key of the list.
    key: String,
}

/// One walk over JSON.
struct MaskWalk<'m> {
    masker: &'m Masker,
    policy: Option<&'m Policy>,
    open: Vec<Open>,
    depth: usize,
    out: Masked,
}

impl<'m> MaskWalk<'m> {
    fn new(masker: &'m Masker, policy: Option<&'m Policy>, start: Within<'_>, depth: usize) -> Self {
        let open = match start {
            Within::Start => Vec::new(),
            Within::Object => vec![Open { is_object: true, key: String::new() }],
            Within::List(key) => vec![
                Open { is_object: true, key: String::new() },
                Open { is_object: false, key: decoded(key).unwrap_or_default() },
            ],
        };
        MaskWalk { masker, policy, open, depth, out: Masked::default() }
    }

    fn run(&mut self, json: &[u8]) {
        let mut tokens = JsonTokens::new(json);
        while let Some(JsonToken { text, kind, .. }) = tokens.next() {
            match kind {
                JsonTokenKind::String => self.string(text, is_key(tokens.rest(), self.open.last())),
                JsonTokenKind::Scalar => self.scalar(text),
                JsonTokenKind::Sign(sign) => {
                    self.sign(sign);
                    self.out.json.push(sign);
                }
            }
        }
    }

    fn sign(&mut self, byte: u8) {
        match byte {
            b'{' => self.open.push(Open { is_object: true, key: String::new() }),
            b'[' => self.open.push(Open { is_object: false, key: self.key().to_owned() }),
            b'}' | b']' => drop(self.open.pop()),
            _ => {}
        }
    }

    /// The key that names what stands here. Elements of a list are named by the list's.
    fn key(&self) -> &str {
        self.open.last().map_or("", |open| &open.key)
    }

    fn string(&mut self, spelled: &[u8], is_key: bool) {
        // What stands behind a key that is not read is not named by the one before.
        if is_key && let Some(open) = self.open.last_mut() {
            open.key.clear();
        }
        if spelled.len() > LONG {
            return self.write(&length_of(spelled));
        }
        let Some(text) = decoded(spelled) else { return self.write(UNREADABLE) };
        if is_key {
            self.put(spelled, &text, &self.masker.text(self.policy, "", &text));
            if let Some(open) = self.open.last_mut() {
                open.key = text;
            }
            return;
        }
        if let Some(shown) = media(&text) {
            return self.write(&shown);
        }
        let masked = match self.embedded(&text) {
            Some(json) => json,
            None => {
                let masked = self.masker.text(self.policy, self.key(), &text).into_owned();
                self.out.words.push_str(&masked);
                self.out.words.push('\n');
                masked
            }
        };
        self.put(spelled, &text, &masked);
    }

    /// Returns a text that is JSON, with masks.
    fn embedded(&mut self, text: &str) -> Option<String> {
        let is_json = text.trim_start().starts_with(['{', '['])
            && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        if !is_json || self.depth == 0 {
            return None;
        }
        let mut inner = MaskWalk::new(self.masker, self.policy, Within::Start, self.depth - 1);
        inner.run(text.as_bytes());
        self.out.words.push_str(&inner.out.words);
        Some(String::from_utf8_lossy(&inner.out.json).into_owned())
    }

    /// A number, a word of JSON, or what is no JSON.
    fn scalar(&mut self, spelled: &[u8]) {
        let is_short = spelled.iter().filter(|byte| byte.is_ascii_digit()).count() < DIGITS;
        if matches!(spelled, b"true" | b"false" | b"null") || is_short && is_number(spelled) {
            return self.out.json.extend_from_slice(spelled);
        }
        let text = String::from_utf8_lossy(spelled);
        let masked = self.masker.text(self.policy, self.key(), &text);
        self.put(spelled, &text, &masked);
    }

    /// Writes a value as it is spelled, or as a string with masks where there are any in its text.
    fn put(&mut self, spelled: &[u8], text: &str, masked: &str) {
        match masked == text {
            true => self.out.json.extend_from_slice(spelled),
            false => self.write(masked),
        }
    }

    fn write(&mut self, text: &str) {
        // A string serialises into memory.
        let _ = serde_json::to_writer(&mut self.out.json, text);
    }
}

fn is_number(spelled: &[u8]) -> bool {
    spelled.iter().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte))
}

/// Returns whether a string is a key: it stands in an object, and a colon follows.
fn is_key(rest: &[u8], open: Option<&Open>) -> bool {
    open.is_some_and(|open| open.is_object)
        && rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// Returns the text of a string with its quotes. Models write line breaks as they are, which stay; lone surrogates
/// and what else is no UTF-8 are replaced: for bytes serde_json takes raw control characters and any byte, and gives
/// lone surrogates as three bytes that are no UTF-8.
fn decoded(spelled: &[u8]) -> Option<String> {
    let lossy = || {
        let bytes: DeserializeAsWrap<Vec<u8>, serde_with::Bytes> = serde_json::from_slice(spelled).ok()?;
        Some(String::from_utf8_lossy(&bytes.into_inner()).into_owned())
    };
    serde_json::from_slice(spelled).ok().or_else(lossy)
}

/// What stands for a text that is too long.
fn length_of(text: &[u8]) -> String {
    format!("‹{} bytes›", text.len())
}

/// Returns what is shown for media, a signature, or anything of that kind; `None` for other texts.
fn media(text: &str) -> Option<String> {
    let data = match text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        Some((_, data)) => data,
        None => text,
    };
    let is_media = data.len() >= MEDIA
        && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_=\r\n".contains(&byte));
    is_media.then(|| format!("‹{} bytes of base64›", data.len()))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use leafgate_vault::{ClientIdentity, InstallationKey};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// One for all tests of a process: the detectors are compiled once.
    fn masker() -> &'static Masker {
        static MASKER: LazyLock<Masker> = LazyLock::new(|| {
            let key = InstallationKey::from_bytes([3; 32]);
            Masker::new(TokenKeys::derive(&key, &ClientIdentity::new("test")))
        });
        &MASKER
    }

    fn secret() -> String {
        format!("{}{}", "ghp_", "kfhfgtKAQWYm85EZgslmBp65HpUbz04IfkvX")
    }

    fn masked(body: &Value) -> String {
        let masked = masker().json(None, Within::Start, body.to_string().as_bytes());
        String::from_utf8(masked.json).unwrap()
    }

    #[test]
    fn findings_are_masked_wherever_they_stand() {
        let secret = secret();
        let inner = json!({ "deep": { "token": secret }, "note": "kept" }).to_string();
        let encoded: String = secret.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let body = json!({
            "text": format!("use {secret} here"),
            secret.clone(): "in a key",
            "arguments": inner,
            "twice": json!({ "again": inner }).to_string(),
            "list": [secret, { "nested": secret }],
            "card": 4_539_578_763_621_486_u64,
            "encoded": encoded,
            "password": "hunter2hunter2",
        });
        let shown = masked(&body);
        for gone in [secret.as_str(), "4539578763621486", &encoded, "hunter2hunter2"] {
            assert!(!shown.contains(gone), "{gone} in {shown}");
        }
        assert!(shown.contains("kept") && shown.contains("in a key"), "{shown}");
        serde_json::from_str::<Value>(&shown).unwrap();
    }

    #[test]
    fn tokens_and_all_that_nothing_finds_stay_as_they_are_spelled() {
        let masker = masker();
        let token = masker.tokens.token("EMAIL", "ann@example.org").to_string();
        let body = format!("{{ \"a\":\"\\u0041 {token}\",  \"n\": 1.50, \"t\": [true,null] }}");
        let masked = masker.json(None, Within::Start, body.as_bytes());
        assert_eq!(String::from_utf8(masked.json).unwrap(), body);
        assert_eq!(masked.words, format!("A {token}\n"));
    }

    #[test]
    fn media_is_left_out_and_its_length_said() {
        let data = "QUJD".repeat(1000);
        let shown = masked(&json!({ "url": format!("data:image/png;base64,{data}"), "signature": data }));
        assert!(!shown.contains("QUJDQUJD") && shown.contains("‹4000 bytes of base64›"), "{shown}");
    }

    #[test]
    fn of_a_text_of_megabytes_the_length_is_kept() {
        let long = "a b ".repeat(LONG / 4);
        let shown = masked(&json!({ "text": long, "b": "c" }));
        assert_eq!(shown, format!("{{\"b\":\"c\",\"text\":\"‹{} bytes›\"}}", LONG + 2));
        let plain = masker().plain(None, format!("{long}.").as_bytes()).json;
        assert_eq!(plain, format!("‹{} bytes›", LONG + 1).into_bytes());
    }

    #[test]
    fn what_no_parser_takes_is_masked_all_the_same() {
        let secret = secret();
        for body in [
            format!("{{\"a\": \"\\ud800 {secret}\"}}"),
            format!("{{\"a\": \"{secret}"),
            format!("{{\"a\": {secret}}}"),
            format!("]}}, \"{secret}\": "),
            secret.clone(),
        ] {
            let shown = masker().json(None, Within::Start, body.as_bytes()).json;
            let shown = String::from_utf8(shown).unwrap();
            assert!(!shown.contains(&secret), "{shown}");
        }
    }

    #[test]
    fn what_stands_in_a_string_beside_what_no_text_has_is_masked_and_found() {
        let secret = secret();
        for odd in [&b"\n"[..], b"\t", b"\xff", b"\\ud800"] {
            let body =
                [b"{\"a\": \"before ", odd, format!(" {secret} ").as_bytes(), odd, b" behind\"}"].concat();
            let Masked { json, words } = masker().json(None, Within::Start, &body);
            let shown = String::from_utf8(json).unwrap();
            assert!(!shown.contains(&secret) && !words.contains(&secret), "{shown}");
            assert!(words.contains("before") && words.contains("behind"), "{words}");
        }
    }

    #[test]
    fn a_value_behind_a_key_that_cannot_be_read_is_not_named_by_the_key_before() {
        let body = br#"{"password": "", "\x": "hunter2hunter2"}"#;
        let Masked { json, .. } = masker().json(None, Within::Start, body);
        assert_eq!(String::from_utf8(json).unwrap(), r#"{"password": "", "‹UNREADABLE›": "hunter2hunter2"}"#);
    }

    #[test]
    fn a_stretch_of_a_list_knows_its_key() {
        let stretch = br#""hunter2hunter2", "x"], "b": "y""#;
        let shown = masker().json(None, Within::List(b"\"password\""), stretch);
        assert!(!String::from_utf8(shown.json).unwrap().contains("hunter2"));
    }

    proptest! {
        #[test]
        fn masked_json_is_json(text in "\\PC{0,40}", number in any::<i64>(), key in "[a-z\\\\\"]{0,8}") {
            let body = json!({ key: [text, number, { "x": text }] });
            let shown = masked(&body);
            prop_assert!(serde_json::from_str::<Value>(&shown).is_ok(), "{}", shown);
        }
    }
}
