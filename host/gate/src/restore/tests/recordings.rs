//! Recorded streams: those that every clone has, and those outside the repository where they are.

use std::collections::BTreeMap;

use leafgate_harness::recordings::cases;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use super::speech::heard;
use super::*;

/// The folders of recorded answers, and how many streams every clone has of each.
const FOLDERS: [(&str, &str, usize); 6] = [
    ("chat", "openai-chat", 2),
    ("chat", "copilot-capi-sse", 0),
    ("responses", "openai-responses", 1),
    ("messages", "anthropic-messages", 1),
    ("gemini-stream", "gemini", 1),
    ("code-assist-stream", "code-assist", 1),
];

/// The recorded streams.
fn streams() -> Vec<(&'static str, String, Vec<u8>)> {
    let all = recordings(".sse");
    for (api, folder, least) in FOLDERS {
        let count = all.iter().filter(|(of, name, _)| *of == api && name.contains(folder)).count();
        assert!(count >= least, "{count} streams in {folder}");
    }
    all
}

/// The recorded answers whose file names end so: our own, and those outside the repository where they are.
fn recordings(ending: &str) -> Vec<(&'static str, String, Vec<u8>)> {
    let mut answers = Vec::new();
    for (api, folder, _) in FOLDERS {
        let files = leafgate_harness::recordings::read(folder, ending).into_iter();
        answers.extend(files.map(|file| (api, file.name, file.body)));
    }
    answers
}

#[test]
fn a_recorded_answer_without_tokens_passes_byte_for_byte() {
    for (api, name, answer) in recordings(".response.json") {
        assert!(restoring(api).whole(&Bytes::from(answer.clone())) == answer, "{name}");
    }
}

/// Documentation shows a stream with an ellipsis in the place of most of its deltas.
fn is_abridged(name: &str) -> bool {
    name.contains("openapi-streaming")
}

#[test]
fn a_recorded_stream_is_read_to_its_end() {
    // Documentation shows a stream whose deltas are left out, so that its repetitions say more than it said.
    for (api, name, stream) in
        streams().into_iter().filter(|(_, name, _)| !name.contains("openapi-streaming"))
    {
        let text = String::from_utf8(stream).unwrap();
        let mut stream = EventStream::new(restoring(api));
        for line in text.split_inclusive('\n').filter(|line| line.trim_end() != "data: [DONE]") {
            stream.push(Bytes::copy_from_slice(line.as_bytes()));
            assert!(!stream.stopped, "{name}: {line}");
        }
    }
}

fn runner() -> TestRunner {
    TestRunner::new(ProptestConfig {
        failure_persistence: None,
        cases: cases(16),
        ..ProptestConfig::default()
    })
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
    for (api, name, stream) in streams().into_iter().filter(|(_, name, _)| !is_abridged(name)) {
        let stream = plant(&String::from_utf8(stream).unwrap(), &token);
        let said = heard(&stream);
        if !said.spoken.values().any(|text| text.contains(&token)) {
            continue;
        }
        planted += 1;
        let restored = |text: &String| restore(&vault, text);
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
    assert!(planted >= 3, "{planted} streams speak");
}

/// Lets every text of a recorded stream say a token, in as many pieces as it was spoken in.
fn plant(stream: &str, token: &str) -> String {
    let text =
        |pieces: usize| format!("Write to {token}, or to {token} and nobody else. ").repeat(pieces / 40 + 1);
    let mut pieces: BTreeMap<String, usize> = BTreeMap::new();
    each_event(stream, |event| each_delta(event, |key, _| *pieces.entry(key).or_default() += 1));
    let mut at: BTreeMap<String, usize> = BTreeMap::new();
    each_event(stream, |event| {
        each_delta(event, |key, delta| {
            let (count, at) = (pieces[&key], at.entry(key).or_default());
            let chars: Vec<char> = text(count).chars().collect();
            let cut = |piece: usize| piece * chars.len() / count;
            *delta = Value::from(String::from_iter(&chars[cut(*at)..cut(*at + 1)]));
            *at += 1;
        });
        each_repetition(event, |key, whole| {
            if let Some(&count) = pieces.get(&key) {
                *whole = Value::from(text(count));
            }
        });
    })
}

/// Rewrites the events of a stream.
fn each_event(stream: &str, mut change: impl FnMut(&mut Value)) -> String {
    let lines = stream.split_inclusive('\n').map(|line| {
        let Some(mut event) =
            line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok())
        else {
            return line.to_owned();
        };
        change(&mut event);
        format!("data: {event}\n")
    });
    lines.collect()
}

/// Visits the text of each delta that says something; the key names what it belongs to.
fn each_delta(event: &mut Value, mut visit: impl FnMut(String, &mut Value)) {
    for choice in event["choices"].as_array_mut().into_iter().flatten() {
        let key = choice["index"].to_string();
        if choice["delta"]["content"].as_str().is_some_and(|text| !text.is_empty()) {
            visit(key, &mut choice["delta"]["content"]);
        }
    }
    for candidate in event["candidates"].as_array_mut().into_iter().flatten() {
        let key = candidate["index"].to_string();
        for part in candidate["content"]["parts"].as_array_mut().into_iter().flatten() {
            let says = part["text"].as_str().is_some_and(|text| !text.is_empty());
            if says && part.get("thought").is_none() && part.get("thoughtSignature").is_none() {
                visit(key.clone(), &mut part["text"]);
            }
        }
    }
    if event["delta"]["type"] == "text_delta" {
        let key = event["index"].to_string();
        visit(key, &mut event["delta"]["text"]);
    } else if event["type"] == "response.output_text.delta" {
        let key = format!("{} {}", event["output_index"], event["content_index"]);
        visit(key, &mut event["delta"]);
    }
}

/// Visits each text of a Responses stream that says its deltas again.
fn each_repetition(event: &mut Value, mut visit: impl FnMut(String, &mut Value)) {
    let key = format!("{} {}", event["output_index"], event["content_index"]);
    let mut in_item = |index: &str, item: &mut Value| {
        for (at, part) in item["content"].as_array_mut().into_iter().flatten().enumerate() {
            if part["type"] == "output_text" {
                visit(format!("{index} {at}"), &mut part["text"]);
            }
        }
    };
    let index = event["output_index"].to_string();
    match event["type"].as_str().unwrap_or_default() {
        "response.output_item.done" => in_item(&index, &mut event["item"]),
        "response.completed" => {
            for (at, item) in event["response"]["output"].as_array_mut().into_iter().flatten().enumerate() {
                in_item(&at.to_string(), item);
            }
        }
        "response.output_text.done" => visit(key, &mut event["text"]),
        "response.content_part.done" if event["part"]["type"] == "output_text" => {
            visit(key, &mut event["part"]["text"])
        }
        _ => {}
    }
}
