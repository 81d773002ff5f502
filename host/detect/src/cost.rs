//! What regexes read of texts that are made to cost much: keywords, prefixes and near matches of
//! each detector, over and over.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::syntax;

use crate::pack::Row;
use crate::work;
use crate::{Engine, Input, all_detectors};

thread_local! {
    static AUTOMATA: RefCell<HashMap<(String, bool), (DFA, Cache)>> = RefCell::default();
}

/// Returns how many bytes the search for a pattern's first match reads: until no match can begin
/// or go on.
pub(crate) fn read(pattern: &str, ignore_case: bool, window: &[u8], from: usize) -> usize {
    AUTOMATA.with_borrow_mut(|all| {
        let (dfa, cache) = all.entry((pattern.to_owned(), ignore_case)).or_insert_with(|| {
            let syntax = syntax::Config::new().unicode(false).utf8(false).case_insensitive(ignore_case);
            let dfa = DFA::builder()
                .configure(DFA::config().cache_capacity(64 << 20))
                .syntax(syntax)
                .thompson(regex_automata::nfa::thompson::Config::new().utf8(false))
                .build(pattern)
                .expect("a pattern of a pack");
            let cache = dfa.create_cache();
            (dfa, cache)
        });
        let input = regex_automata::Input::new(window).range(from..);
        let mut state = dfa.start_state_forward(cache, &input).expect("a small pattern");
        for (count, &byte) in window[from..].iter().enumerate() {
            state = dfa.next_state(cache, state, byte).expect("a small pattern");
            if state.is_dead() {
                return count + 1;
            }
        }
        window.len() - from
    })
}

/// What stands between the parts of a text. After some of them a word goes on, after others one
/// begins.
const SIGNS: [&str; 12] = ["", " ", "=", ",", "\n", "\"", ".", "_", "-", "/", ":", "='"];

/// What calls a row, and what nearly matches it.
fn parts(row: &Row) -> Vec<String> {
    let mut parts = Vec::new();
    let shortest = row.keywords.iter().min_by_key(|keyword| keyword.len());
    for keyword in shortest.into_iter().chain(row.keywords.last()) {
        // As much as the first look asks for, so that the regex is asked.
        let next = |place| {
            let graphic = (b'!'..=b'~').rev().find(|&byte| row.lead().allows(place, byte));
            graphic.map(char::from)
        };
        parts.push(keyword.chars().chain((keyword.len()..20).map_while(next)).collect());
        parts.extend(["", "=x1", "='Aa1+", "=AAAAAAAAAAAAAAAAAAAA"].map(|value| format!("{keyword}{value}")));
    }
    for example in row.examples.iter().chain(&row.counterexamples).take(3) {
        let cut: String = example.chars().take(example.chars().count() * 3 / 4).collect();
        parts.extend([example.clone(), cut]);
    }
    parts.sort();
    parts.dedup();
    parts.retain(|part| part.len() >= 2);
    parts
}

/// Texts of each part over and over, long enough to show how far a row reads.
fn texts(row: &Row) -> impl Iterator<Item = (String, String)> {
    let size = row.lengths().most.unwrap_or(row.window).clamp(256, 2 << 10) * 4;
    let repeated = move |part: String| {
        let text = part.repeat(size / part.len() + 1);
        (part, text)
    };
    let with_signs = |part: String| SIGNS.map(|sign| format!("{sign}{part}"));
    parts(row).into_iter().flat_map(with_signs).map(repeated)
}

/// How often regexes read each byte of a text.
fn times_read(engine: &Engine, text: &str) -> f64 {
    work::reset();
    engine.scan(&Input::new(text));
    work::spent_by_regexes() as f64 / text.len() as f64
}

#[test]
fn no_text_makes_a_detector_read_it_more_often_than_a_constant() {
    /// `curl ` over and over: its row looks for an option two hundred bytes further on.
    const MOST_ALONE: f64 = 45.0;
    /// Few texts call several rows that read far.
    const MOST_TOGETHER: f64 = 90.0;
    let together = Engine::new(&["secrets", "pii"]).unwrap();
    let mut all = Vec::new();
    for detector in all_detectors() {
        let alone = Engine::new(&[detector.id.as_str()]).unwrap();
        let row = Arc::clone(&alone.rows[0]);
        let (mut most, mut of) = (0.0, String::new());
        for (part, text) in texts(&row) {
            let times = times_read(&alone, &text);
            if times > most {
                (most, of) = (times, part);
            }
        }
        // A detector without regex reads nothing that is counted here.
        let with_all =
            if most > 0.0 { times_read(&together, &of.repeat((4 << 10) / of.len() + 1)) } else { 0.0 };
        all.push((most, with_all, detector.id.as_str(), of));
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (alone, together, id, part) in &all[..12] {
        println!("{id:30} {alone:5.1} times alone, {together:5.1} with all, for {part:?}");
    }
    for (alone, together, id, part) in all {
        assert!(
            alone <= MOST_ALONE && together <= MOST_TOGETHER,
            "{id}: {alone} and {together} for {part:?}"
        );
    }
}

#[test]
fn ten_times_the_text_costs_ten_times_as_much() {
    const SMALL: usize = 4 << 10;
    let engine = Engine::new(&["secrets", "pii"]).unwrap();
    for part in HOSTILE {
        let cost = |size: usize| {
            work::reset();
            engine.scan(&Input::new(&part.repeat(size / part.len())));
            work::spent()
        };
        let (small, large) = (cost(SMALL), cost(10 * SMALL));
        // What reaches far reads more of a long text than of one that ends before.
        assert!(large <= small * 15 + (64 << 10), "{part:?}: {small} bytes read of 4 KB, {large} of 40 KB");
    }
}

/// What calls many rows, opens what does not end, or joins what stands beside it.
const HOSTILE: [&str; 38] = [
    "password",
    "token=",
    "key: \"",
    "ghp_-",
    "sk-",
    "eyJ-",
    "eyJhbGci.",
    "@",
    "a@b",
    "1",
    "1 ",
    "4539 ",
    ".",
    "a.b.c.d.e.f.",
    "-----BEGIN",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIE",
    "://",
    "://a:",
    "curl -u a:b ",
    "DE89 ",
    "AAAA",
    "password=\"",
    "token='token=",
    "secret secret ",
    "<secret>\n",
    "\\n",
    "\"kty\"",
    "machine a login b ",
    "TlRMTVNTUAAD",
    "authorization:",
    "token=A1b2C3d4E5f6G7h8",
    "kind: secret\n",
    "kind: secret\ndata:\n a: AAAA\n",
    "api_",
    "=CAIS",
    "token=token=",
    "_sk_",
];
