//! The slow way to the same findings: each keyword is looked for alone, byte by byte, and every
//! match of one goes to its regex, whatever it has read before. What a first look turns away, and
//! what need not be read again, must make no difference.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use flate2::read::GzDecoder;
use leafgate_harness::recordings;
use proptest::prelude::*;
use serde_json::Value;

use crate::finding::Finding;
use crate::pack::Row;
use crate::scan::Scan;
use crate::{Engine, Input, all_detectors, views};

/// Calls `f` with each row and place that a keyword calls, in the order of the keywords' ends, and
/// of those with one end the longest first.
pub(crate) fn each_call(rows: &[Arc<Row>], text: &[u8], mut f: impl FnMut(usize, Range<usize>)) {
    let folded = text.to_ascii_lowercase();
    let mut all = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        for keyword in &row.keywords {
            let lower = keyword.to_ascii_lowercase();
            for start in occurrences(&folded, lower.as_bytes()) {
                let place = start..start + keyword.len();
                if row.ignore_case || text[place.clone()] == *keyword.as_bytes() {
                    all.push((place.end, place.start, index));
                }
            }
        }
    }
    all.sort_unstable();
    all.into_iter().for_each(|(end, start, index)| f(index, start..end));
}

fn occurrences(text: &[u8], word: &[u8]) -> impl Iterator<Item = usize> {
    let begins = memchr::memchr_iter(word[0], text);
    begins.filter(move |&at| text[at..].starts_with(word))
}

/// Calls `f` with each run of four or more digits.
pub(crate) fn each_digit_run(bytes: &[u8], mut f: impl FnMut(Range<usize>)) {
    let mut at = 0;
    while at < bytes.len() {
        let count = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count >= 4 {
            f(at..at + count);
        }
        at += count + 1;
    }
}

fn slowly(engine: &Engine, input: &Input<'_>, unfollowed: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut scan = Scan::new(engine, input);
    (scan.slowly, scan.unfollowed) = (true, unfollowed);
    scan.run(&mut found);
    found
}

/// Looks at a text both ways; returns how many findings there are. The slow way asks every row whatever
/// follows its keyword.
fn compare(engine: &Engine, text: &str, key: &str) -> usize {
    compare_with(engine, text, key, true)
}

fn compare_with(engine: &Engine, text: &str, key: &str, unfollowed: bool) -> usize {
    let input = Input::new(text).with_key(key);
    let mut count = 0;
    for input in [input, input.prefix_only()] {
        let (fast, slow) = (engine.scan(&input), slowly(engine, &input, unfollowed));
        assert_eq!(fast, slow, "{} bytes under {key:?}: {:?}", text.len(), text.get(..200));
        count += fast.len();
    }
    count
}

fn everything() -> Engine {
    Engine::new(&["secrets", "pii"]).unwrap()
}

#[test]
fn nothing_in_a_recording_is_hidden_by_the_first_look() {
    let engine = everything();
    let folders =
        ["openai-chat", "openai-responses", "anthropic-messages", "gemini", "code-assist", "copilot"];
    let files: Vec<_> = folders.iter().flat_map(|folder| recordings::read(folder, ".request.json")).collect();
    assert!(files.len() >= 9, "{} recordings: fewer than every clone has", files.len());
    let mut seen = 0;
    for file in &files {
        each_leaf(&serde_json::from_slice(&file.body).unwrap(), "", &mut |text, key| {
            compare(&engine, text, key);
            views(text).iter().for_each(|view| {
                compare(&engine, view.text(), "");
            });
            seen += 1;
        });
        // As a raw body is looked at.
        compare(&engine, &String::from_utf8_lossy(&file.body), "");
    }
    println!("{seen} leaves of {} recordings", files.len());
}

fn each_leaf(value: &Value, key: &str, f: &mut impl FnMut(&str, &str)) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            f(name, "");
            each_leaf(member, name, f);
        }),
        Value::Array(items) => items.iter().for_each(|item| each_leaf(item, key, f)),
        Value::String(text) => f(text, key),
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => f(&number.to_string(), key),
    }
}

#[test]
fn nothing_in_a_corpus_is_hidden_by_the_first_look() {
    let Some(folder) = recordings::corpora() else { return };
    let engine = everything();
    let (mut rows, mut found) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "gz") {
            let mut lines = String::new();
            GzDecoder::new(File::open(&path).unwrap()).read_to_string(&mut lines).unwrap();
            for line in lines.lines() {
                let row: Value = serde_json::from_str(line).unwrap();
                found += compare(&engine, row["text"].as_str().unwrap(), "");
                rows += 1;
            }
        }
    }
    println!("{rows} rows, {found} findings");
    assert!(found > rows / 3, "{found} findings in {rows} rows");
}

/// Texts of keywords, examples and what stands between them.
fn texts() -> impl Strategy<Value = String> {
    let keywords: Vec<String> = everything().rows.iter().flat_map(|row| row.keywords.clone()).collect();
    let examples: Vec<String> = everything().rows.iter().flat_map(|row| row.examples.clone()).collect();
    let part = prop_oneof![
        prop::sample::select(keywords.clone()),
        prop::sample::select(keywords).prop_map(|word| word.to_ascii_uppercase()),
        prop::sample::select(examples),
        "[A-Za-z0-9_-]{0,50}",
        "[0-9 -]{0,24}",
        "[ \n=:\"'_.\\\\é]{0,3}",
    ];
    // Some of them again and again: windows of one row lie over one another then.
    let repeated = (part, 1usize..4).prop_map(|(part, times)| part.repeat(times));
    prop::collection::vec(repeated, 0..9).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn nothing_is_hidden_by_the_first_look(text in texts(), key in "[a-z_]{0,8}") {
        static ENGINE: std::sync::LazyLock<Engine> = std::sync::LazyLock::new(everything);
        // What no keyword announces may match beside another keyword of its row, which calls nothing by itself.
        compare_with(&ENGINE, &text, &key, false);
    }
}

#[test]
fn every_detector_alone_finds_its_examples_both_ways() {
    for detector in all_detectors() {
        let engine = Engine::new(&[detector.id.as_str()]).unwrap();
        let row = Arc::clone(&engine.rows[0]);
        for text in row.examples.iter().chain(&row.counterexamples) {
            // At every end of a text, and with bytes before it that shift what is looked at
            // together.
            for before in 0..12 {
                compare(&engine, &format!("{}{text}", " ".repeat(before)), "");
            }
        }
    }
}
