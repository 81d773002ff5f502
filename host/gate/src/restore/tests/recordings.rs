//! Recorded streams, read from where they lie: they are not part of this repository.

#![allow(clippy::print_stdout, reason = "a test that skips says so")]

use std::path::PathBuf;

use leafgate_vault::Channel;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use super::speech::heard;
use super::*;

/// Where recordings lie, and how many streams there are at least.
const FOLDERS: [(&str, &str, usize); 4] = [
    ("chat", "openai-chat", 5),
    ("chat", "copilot-capi-sse", 1),
    ("responses", "openai-responses", 10),
    ("messages", "anthropic-messages", 5),
];

/// The recorded streams.
fn streams() -> Vec<(&'static str, String, Vec<u8>)> {
    let all = recordings(".sse");
    for (api, folder, least) in FOLDERS.into_iter().filter(|_| !all.is_empty()) {
        let count = all.iter().filter(|(of, name, _)| *of == api && name.contains(folder)).count();
        assert!(count >= least, "{count} streams in {folder}");
    }
    all
}

/// The recorded answers whose file names end so, or none with a word where there are none. In CI they must be there.
fn recordings(ending: &str) -> Vec<(&'static str, String, Vec<u8>)> {
    let root = std::env::var_os("LEAFGATE_FIXTURES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures")),
        PathBuf::from,
    );
    let mut recordings = Vec::new();
    for (api, folder, _) in FOLDERS {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
            assert_ne!(
                std::env::var("CI").as_deref(),
                Ok("true"),
                "the recordings are missing: set LEAFGATE_FIXTURES"
            );
            println!("skipped: no recordings in {}; set LEAFGATE_FIXTURES", root.display());
            return Vec::new();
        };
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.to_string_lossy().ends_with(ending));
        paths.sort();
        let read = |path: PathBuf| (api, path.display().to_string(), std::fs::read(&path).unwrap());
        recordings.extend(paths.into_iter().map(read));
    }
    recordings
}

#[test]
fn a_recorded_answer_without_tokens_passes_byte_for_byte() {
    for (api, name, answer) in recordings(".response.json") {
        assert!(restoring(api).whole(&Bytes::from(answer.clone())) == answer, "{name}");
    }
}

fn runner() -> TestRunner {
    TestRunner::new(ProptestConfig { failure_persistence: None, cases: 16, ..ProptestConfig::default() })
}

#[test]
fn a_recorded_stream_without_tokens_passes_byte_for_byte() {
    for (api, name, stream) in streams() {
        let cuts = prop::collection::vec(any::<usize>(), 0..40);
        let passes = |cuts: Vec<usize>| {
            prop_assert!(through(restoring(api), &cut(&stream, &cuts)).concat() == stream, "{}", name);
            Ok(())
        };
        runner().run(&cuts, passes).unwrap();
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert!(through(restoring(api), &bytes).concat() == stream, "{name}, byte by byte");
    }
}

#[test]
fn tokens_planted_in_a_recorded_stream_come_back() {
    let (vault, token) = vault();
    let mut planted = 0;
    for (api, name, stream) in streams() {
        let stream = plant(&String::from_utf8(stream).unwrap(), &token);
        let said = heard(&stream);
        if !said.spoken.values().any(|text| text.contains(&token)) {
            continue;
        }
        planted += 1;
        let restored = |text: &String| vault.restore(text, Channel::Text).into_owned();
        let comes_back = |cuts: Vec<usize>| {
            let out = through(restoring(api), &cut(stream.as_bytes(), &cuts)).concat();
            let out = heard(&String::from_utf8(out).unwrap());
            for (place, text) in &said.spoken {
                prop_assert_eq!(&out.spoken[place], &restored(text), "{}", name);
            }
            prop_assert_eq!(out.repeated, said.repeated.iter().map(restored).collect::<Vec<_>>(), "{}", name);
            Ok(())
        };
        runner().run(&prop::collection::vec(any::<usize>(), 0..40), comes_back).unwrap();
    }
    assert!(planted == 0 && streams().is_empty() || planted >= 12, "{planted} streams speak");
}

/// Lets every text of a recorded stream say a token, in as many pieces as it was spoken in.
fn plant(stream: &str, token: &str) -> String {
    let text =
        |pieces: usize| format!("Write to {token}, or to {token} and nobody else. ").repeat(pieces / 40 + 1);
    let mut pieces: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    each_delta(stream, |key, _| *pieces.entry(key).or_default() += 1);
    let mut at: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    let planted = each_delta(stream, |key, delta| {
        let (count, at) = (pieces[&key], at.entry(key).or_default());
        let chars: Vec<char> = text(count).chars().collect();
        let cut = |piece: usize| piece * chars.len() / count;
        *delta = Value::from(String::from_iter(&chars[cut(*at)..cut(*at + 1)]));
        *at += 1;
    });
    // What is repeated whole says the same as the longest text: which one does not matter here.
    let whole = text(pieces.values().copied().max().unwrap_or(0));
    let lines = planted.split_inclusive('\n').map(|line| {
        let Some(mut event) =
            line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok())
        else {
            return line.to_owned();
        };
        repeat(&mut event, &whole);
        format!("data: {event}\n")
    });
    lines.collect()
}

/// Rewrites the text of every delta; the key names what it belongs to.
fn each_delta(stream: &str, mut change: impl FnMut(String, &mut Value)) -> String {
    let lines = stream.split_inclusive('\n').map(|line| {
        let Some(mut event) =
            line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok())
        else {
            return line.to_owned();
        };
        for choice in event["choices"].as_array_mut().into_iter().flatten() {
            let key = choice["index"].to_string();
            if choice["delta"]["content"].is_string() {
                change(key, &mut choice["delta"]["content"]);
            }
        }
        let key = format!("{} {} {}", event["index"], event["output_index"], event["content_index"]);
        if event["delta"]["type"] == "text_delta" {
            change(key, &mut event["delta"]["text"]);
        } else if event["type"] == "response.output_text.delta" {
            change(key, &mut event["delta"]);
        }
        format!("data: {event}\n")
    });
    lines.collect()
}

fn repeat(value: &mut Value, whole: &str) {
    if value["type"] == "response.output_text.done" || value["type"] == "output_text" && value["text"] != "" {
        value["text"] = whole.into();
    }
    match value {
        Value::Object(members) => members.values_mut().for_each(|member| repeat(member, whole)),
        Value::Array(elements) => elements.iter_mut().for_each(|element| repeat(element, whole)),
        _ => {}
    }
}
