//! Credentials in the forms that their services document, and what people write every day: all of the former is
//! masked, wherever it stands, and none of the latter.
//!
//! The forms stand in `published.txt` and `harmless.txt`, and say how to make an example up. No example stands there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use leafgate_detect::{Engine, Input};

use crate::altered::escaped;

const PUBLISHED: &str = include_str!("published.txt");
const HARMLESS: &str = include_str!("harmless.txt");

/// Around what a form is put, where it needs no name.
const AROUND: [(&str, &str); 16] = [
    ("", ""),
    ("VALUE=", "\n"),
    ("export X=\"", "\""),
    ("{\"value\": \"", "\", \"n\": 1}"),
    ("{\\\"v\\\":\\\"", "\\\"}"),
    ("value: ", "\n"),
    ("- curl -H \"X-Auth: ", "\" https://acme.io"),
    ("https://acme.io/cb?v=", "&n=1"),
    ("2026-01-02T03:04:05Z INFO client uses ", " now"),
    ("Use `", "` here."),
    ("Client(\"", "\", 3)"),
    ("<v>", "</v>"),
    ("let v = '", "';"),
    ("cmd --value ", " --n 1"),
    ("| name | ", " |"),
    ("  12\t", "\n"),
];

/// The lines of a list of forms.
fn lines(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.is_empty() && *line != "#" && !line.starts_with("# "))
}

/// Characters at random, and the same for each seed.
struct Random(u64);

impl Random {
    fn of(name: &str, seed: u64) -> Self {
        let state = name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |state, byte| {
            (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(state)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        (0..length).map(|_| char::from(alphabet.as_bytes()[self.below(alphabet.len())])).collect()
    }
}

fn alphabet(class: &str) -> Option<String> {
    let (small, digits) = ("abcdefghijklmnopqrstuvwxyz", "0123456789");
    let capitals = small.to_uppercase();
    Some(match class {
        "0" => digits.to_owned(),
        "l" => small.to_owned(),
        "L" => capitals,
        "x" => format!("{digits}abcdef"),
        "X" => format!("{digits}ABCDEF"),
        "a" => format!("{small}{digits}"),
        "A" => format!("{capitals}{digits}"),
        "w" => format!("{capitals}{small}{digits}"),
        "u" => format!("{capitals}{small}{digits}-_"),
        "b" => format!("{capitals}{small}{digits}+/"),
        "2" => format!("{capitals}234567"),
        "q" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
        _ => return None,
    })
}

/// An example of a form.
fn example(form: &str, seed: u64) -> String {
    let mut random = Random::of(form, seed);
    let (mut out, mut rest) = (String::new(), form);
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let close = rest[open..].find('}').map_or(rest.len(), |length| open + length);
        let made = rest.get(open + 1..close).and_then(|name| part(name, &mut random));
        rest = match made {
            Some(made) => {
                out.push_str(&made);
                &rest[close + 1..]
            }
            None => {
                out.push('{');
                &rest[open + 1..]
            }
        };
    }
    (out + rest).replace("\\n", "\n")
}

fn part(name: &str, random: &mut Random) -> Option<String> {
    let mut text = |class: &str, length: usize| Some(random.text(&alphabet(class)?, length));
    if name == "uuid" {
        let [a, b, c, d, e] = [8, 4, 3, 3, 12].map(|length| text("x", length).unwrap_or_default());
        return Some(format!("{a}-{b}-4{c}-a{d}-{e}"));
    }
    let (class, length) = name.split_once(':')?;
    let length: usize = length.parse().ok()?;
    Some(match class {
        "basic" => base64(&format!("deploy:{}", text("w", length)?)),
        "jwt" => {
            let head = base64("{\"alg\":\"RS256\",\"typ\":\"JWT\"}");
            let claims = base64(&format!("{{\"sub\":\"{}\"}}", text("w", length)?));
            format!("{}.{}.{}", head.trim_end_matches('='), claims.trim_end_matches('='), text("u", 86)?)
        }
        _ => text(class, length)?,
    })
}

fn base64(text: &str) -> String {
    let alphabet = alphabet("b").unwrap();
    let group = |three: &[u8]| {
        let bits =
            three.iter().fold(0, |bits, &byte| bits << 8 | usize::from(byte)) << (8 * (3 - three.len()));
        let sign = |n: usize| match n <= three.len() {
            true => char::from(alphabet.as_bytes()[bits >> (18 - 6 * n) & 63]),
            false => '=',
        };
        (0..4).map(sign).collect::<String>()
    };
    text.as_bytes().chunks(3).map(group).collect()
}

/// The text without its marks, and what stands between them; all of it where there are none.
fn unmarked(text: &str, all: Range<usize>) -> (String, Range<usize>) {
    match (text.find('«'), text.find('»')) {
        (Some(start), Some(end)) => (text.replace(['«', '»'], ""), start..end - '«'.len_utf8()),
        _ => (text.to_owned(), all),
    }
}

#[test]
fn a_credential_in_its_published_form_is_masked_whole_wherever_it_stands() {
    /// Of generated tokens a few look like words, or as if somebody had written over them: of one form no more than
    /// these in a hundred, of all of them no more than these in a thousand.
    const MOST_OF_A_FORM: usize = 12;
    const MOST: usize = 5;
    let engine = Engine::new(&["secrets"]).unwrap();
    let (mut tried, mut all_missed, mut bad) = (0, 0, String::new());
    let mut seen = BTreeMap::new();
    for line in lines(PUBLISHED) {
        let (name, form) = line.split_once(" | ").unwrap_or_else(|| panic!("{line:?} has no name"));
        assert_eq!(seen.insert(name, form), None, "two forms are called {name:?}");
        let named = form.contains('«') || form.contains(' ');
        let around = if named { &AROUND[..1] } else { &AROUND[..] };
        let seeds = if named { 32 } else { 3 };
        let (mut missed, mut of) = (0, 0);
        for (seed, (before, behind)) in (0..seeds).flat_map(|seed| around.iter().map(move |it| (seed, it))) {
            let made = example(form, seed);
            let text = format!("{before}{made}{behind}");
            let (text, secret) = unmarked(&text, before.len()..before.len() + made.len());
            let found = engine.scan(&Input::new(&text));
            let covered = |at: usize| found.iter().any(|finding| finding.range.contains(&at));
            of += 1;
            if !secret.clone().all(covered) {
                missed += 1;
                if missed * 100 > MOST_OF_A_FORM * around.len() * seeds as usize {
                    let _ = writeln!(bad, "{name}: {text:?}");
                }
            }
        }
        (tried, all_missed) = (tried + of, all_missed + missed);
    }
    println!("{} forms, {tried} texts, {all_missed} not masked whole", seen.len());
    assert!(bad.is_empty(), "not masked:\n{bad}");
    assert!(all_missed * 1000 <= MOST * tried, "{all_missed} of {tried} are not masked whole");
    assert!(seen.len() >= 480, "{} forms", seen.len());
}

#[test]
fn what_people_write_every_day_stays_as_it_is() {
    const SEEDS: u64 = 3;
    let engine = Engine::new(&["secrets", "pii"]).unwrap();
    let (mut count, mut alarms) = (0, Vec::new());
    for line in lines(HARMLESS) {
        count += 1;
        for seed in 0..SEEDS {
            let plain = example(line, seed);
            let escaped = escaped(&plain);
            let argument = format!("{{\"new_string\":\"{escaped}\"}}");
            for text in [plain, escaped, argument] {
                let found = engine.scan(&Input::new(&text)).into_iter();
                alarms
                    .extend(found.map(|finding| format!("{} {:?}: {text}", finding.detector, finding.range)));
            }
        }
    }
    assert!(alarms.is_empty(), "{} alarms:\n{}", alarms.len(), alarms.join("\n"));
    assert!(count >= 455, "{count} lines");
}
