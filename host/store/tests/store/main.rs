//! A store as a gate uses it: told of requests and answers, read again from its files.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod export;
mod killed;
mod kit;
mod record;
mod session;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use leafgate_desk::{Destination, Digest};
use leafgate_record::{
    RecordId, Recorded, RecordedApproval, RecordedEdit, Recorder, RequestRecord, RevealRecord,
};
use leafgate_store::{ExportFormat, Filter, Log, Store, StoreConfig, StoreKeys, mark, receipt};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};
use serde_json::{Value, json};

use self::kit::{
    answer, begun, body, delta, end, event, exported, files, head, keys, noise, open, policy, request,
    secret, taken,
};

// S0-16, S0-116
#[test]
fn a_request_and_its_answer_come_back_masked() {
    let (folder, store) = begun();
    let body = body(&[format!("the key is {}", secret())]);
    taken(store.request(request(1, &body)));
    // Cut within the secret.
    let texts = ["I see ", &secret()[..10], &secret()[10..], " there"];
    let mut events: Vec<Value> = texts.iter().map(|text| event(&json!({ "content": text }), None)).collect();
    events.push(event(&json!({}), Some("stop")));
    events.push(json!({ "choices": [], "usage": { "prompt_tokens": 7, "completion_tokens": 3,
        "prompt_tokens_details": { "cached_tokens": 5 } } }));
    answer(&store, 1, &events, true);
    store.close();
    let log = Log::open(folder.path()).unwrap();
    let shown = log.show(1).unwrap();
    let text = String::from_utf8(shown.body.0.clone()).unwrap();
    assert!(text.contains("the key is ‹") && !text.contains(&secret()), "{text}");
    let answer = shown.answer.unwrap();
    assert!(
        answer.content.starts_with("I see ‹") && answer.content.ends_with("› there"),
        "{}",
        answer.content
    );
    assert_eq!((shown.line.input_tokens, shown.line.cached_tokens), (Some(7), Some(5)));
    assert_eq!((shown.line.status, &*shown.line.answer), (Some(200), "complete"));
    assert_eq!(shown.line.received, keys().digest(&body));
    assert_eq!(shown.line.sent, Some(keys().digest(&body)));
    assert_eq!(shown.edits[0].detector.as_deref(), Some("secrets/github"));
    let summary = &log.redactions(&Filter::default()).unwrap()[0];
    assert_eq!((&*summary.label, summary.count, &*summary.place), ("GITHUB", 1, "messages[].content"));
    let files = files(folder.path());
    assert!(!files.windows(12).any(|bytes| bytes == &secret().as_bytes()[4..16]));
}

#[test]
fn a_request_says_which_upstream_it_went_to_and_no_key_of_its_address() {
    let (folder, store) = begun();
    let body = body(&["hello".to_owned()]);
    taken(store.request(request(1, &body)));
    let named = RequestRecord { upstream_name: Some("house".into()), ..*request(2, &body) };
    taken(store.request(Box::new(named)));
    store.close();
    // As an older program wrote it.
    let key = format!("{}{}", "k3yOfTheHouse", "9f8e7d6c5b4a");
    let database = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    let whole = format!("https://api.example/{key}/openai?key={key}");
    database.execute("UPDATE request SET upstream = ?1 WHERE id = 1", [&whole]).unwrap();
    let log = Log::open(folder.path()).unwrap();
    let lines = log.list(&Filter::default(), None, 9).unwrap();
    let places: Vec<_> =
        lines.iter().map(|line| (line.id, line.upstream_name.as_deref(), &*line.upstream)).collect();
    assert_eq!(
        places,
        [(2, Some("house"), "https://api.example"), (1, None, "https://api.example/…/openai?…")]
    );
    for format in [ExportFormat::Jsonl, ExportFormat::Har, ExportFormat::Replay] {
        let out = exported(&log, format);
        assert!(!out.contains(&key), "{format:?}: {out}");
        assert!(out.contains("house") || format == ExportFormat::Replay, "{format:?}: {out}");
    }
}

#[test]
fn a_conversation_is_found_by_what_lists_show_of_its_key() {
    let (folder, store) = begun();
    for (id, session) in [(1, "SESSION_habc1"), (2, "SESSION_habd2"), (3, "SESSION_habc1x")] {
        let body = body(&[session.to_owned()]);
        taken(store.request(Box::new(RequestRecord { session: session.into(), ..*request(id, &body) })));
        let (at, token) = (SystemTime::now(), format!("T{id}"));
        let Recorded::Awaited(kept) =
            store.reveal(RevealRecord { at, token, session: session.into(), by: String::new() })
        else {
            panic!("it is not kept")
        };
        kept.blocking_recv().unwrap();
    }
    store.close();
    let log = Log::open(folder.path()).unwrap();
    let reveals = |begin: &str| {
        let filter = Filter { session: Some(begin.to_owned()), ..Filter::default() };
        log.reveals(&filter, 9).unwrap().into_iter().map(|line| line.token).collect::<Vec<_>>()
    };
    // Those of all conversations that begin so: their requests may be gone.
    assert_eq!(
        (reveals("abd"), reveals("SESSION_habc1")),
        (vec!["T2".into()], vec!["T3".into(), "T1".into()])
    );
    assert_eq!(reveals("bd"), [""; 0]);
    for (begin, found) in [
        ("abd", &[2][..]),
        ("SESSION_habd2", &[2]),
        ("ab", &[3]),
        ("abc1", &[1]),
        ("SESSION_", &[3]),
        ("b", &[]),
    ] {
        let filter = Filter { session: Some(begin.to_owned()), ..Filter::default() };
        let lines = log.list(&filter, None, 9).unwrap();
        let ids: Vec<i64> = lines.iter().map(|line| line.id).collect();
        assert_eq!(ids, found, "{begin}");
    }
}

// S3-24
#[test]
fn an_answer_is_saved_while_it_comes_but_for_its_last_word() {
    let (folder, store) = begun();
    taken(store.request(request(1, &body(&["hello".to_owned()]))));
    store.answer(RecordId(1), head());
    store.answer(RecordId(1), delta("one two th"));
    let log = Log::open(folder.path()).unwrap();
    let content = || log.show(1).ok()?.answer.map(|answer| answer.content);
    // Saved without another word from the gate: the thread wakes by itself.
    while content().as_deref() != Some("one two") {
        std::thread::yield_now();
    }
    assert_eq!(log.show(1).unwrap().line.answer, "open");
    store.answer(RecordId(1), delta("ree"));
    store.answer(RecordId(1), end(false));
    store.close();
    assert_eq!(content().as_deref(), Some("one two ‹CUT›"));
    assert_eq!(log.show(1).unwrap().line.answer, "broken");
}

/// P-20: nothing recognises a secret that lacks its last character.
#[test]
fn a_stream_that_ends_within_a_secret_leaves_nothing_of_it() {
    let (folder, store) = begun();
    let (secret, part) = (secret(), secret()[..secret().len() - 1].to_owned());
    let function = json!({ "name": "write", "arguments": format!("{{\"path\": \"a\", \"text\": \"{part}") });
    let call = json!({ "tool_calls": [{ "index": 0, "id": "c", "type": "function", "function": function }] });
    let texts = ["content", "reasoning_content"].map(|key| json!({ key: format!("It is {part}") }));
    let mut id = 0;
    for says in texts.into_iter().chain([call]) {
        for (why, complete) in
            [(None, false), (None, true), (Some("length"), true), (Some("content_filter"), true)]
        {
            id += 1;
            taken(store.request(request(id, &body(&["hello".to_owned()]))));
            let end = why.map(|why| event(&json!({}), Some(why)));
            let events: Vec<Value> = [event(&says, None)].into_iter().chain(end).collect();
            answer(&store, id, &events, complete);
        }
    }
    store.close();
    let log = Log::open(folder.path()).unwrap();
    for id in 1..=id {
        let answer = format!("{:?}", log.show(i64::try_from(id).unwrap()).unwrap().answer.unwrap());
        assert!(!answer.contains(&secret[..12]) && answer.contains("‹CUT›"), "{answer}");
    }
}

// S3-25
#[test]
fn calls_are_put_together_and_their_arguments_masked_like_json() {
    let (folder, store) = begun();
    taken(store.request(request(1, &body(&["hello".to_owned()]))));
    let arguments = json!({ "path": "a", "token": secret(), "password": "hunter2hunter2" }).to_string();
    let call = |call: Value| event(&json!({ "tool_calls": [call] }), None);
    let function = json!({ "name": "write", "arguments": "" });
    let mut events = vec![
        event(&json!({ "content": "I write it. " }), None),
        call(json!({ "index": 0, "id": "c1", "type": "function", "function": function })),
    ];
    for piece in arguments.as_bytes().chunks(7) {
        let piece = std::str::from_utf8(piece).unwrap();
        events.push(call(json!({ "index": 0, "function": { "arguments": piece } })));
    }
    answer(&store, 1, &events, true);
    store.close();
    let answer = Log::open(folder.path()).unwrap().show(1).unwrap().answer.unwrap();
    assert_eq!(
        (&*answer.content, &*answer.calls[0].id, &*answer.calls[0].name),
        ("I write it. ", "c1", "write")
    );
    let written: Value = serde_json::from_str(&answer.calls[0].arguments).unwrap();
    assert_eq!(written["path"], "a");
    for masked in ["token", "password"] {
        assert!(written[masked].as_str().unwrap().starts_with('‹'), "{written}");
    }
}

#[test]
fn what_every_turn_repeats_is_written_once() {
    let (folder, store) = begun();
    let messages: Vec<String> = (0..60).map(|n| noise(n, 120)).collect();
    for turn in 1..=60 {
        taken(store.request(request(turn as u64, &body(&messages[..turn]))));
    }
    store.close();
    let log = Log::open(folder.path()).unwrap();
    for turn in [1, 30, 60] {
        let shown = log.show(i64::try_from(turn).unwrap()).unwrap().body.0;
        assert!(shown == body(&messages[..turn]), "turn {turn}");
    }
    let all: usize = (1..=60).map(|turn| body(&messages[..turn]).len()).sum();
    let written = files(folder.path()).len();
    assert!(written * 8 < all, "{written} of {all}");
}

#[test]
fn what_only_the_policy_knows_is_masked_in_monitor_mode_too() {
    let (folder, store) = begun();
    let policy = policy(
        r#"
[[detector]]
id = "projects"
words = ["bluebird-17"]
[[rule]]
id = "projects"
mode = "monitor"
match = {}
detect = ["own/projects"]
action = "redact"
with = "mask"
"#,
    );
    let mut record = request(1, &body(&["about bluebird-17, please".to_owned()]));
    record.policy = policy;
    taken(store.request(record));
    store.close();
    let shown = Log::open(folder.path()).unwrap().show(1).unwrap().body.0;
    let shown = String::from_utf8(shown).unwrap();
    assert!(!shown.contains("bluebird-17") && shown.contains("please"), "{shown}");
}

#[test]
fn receipts_of_a_log_hold_over_restarts_and_removals() {
    let folder = tempfile::tempdir().unwrap();
    for run in 0..3_u64 {
        let store = open(folder.path(), |_| ());
        for number in 1..=4 {
            taken(store.request(request(number, &body(&[format!("{run} {number}")]))));
        }
    }
    let log = Log::open(folder.path()).unwrap();
    let export = || {
        let mut file = Vec::new();
        log.export_receipts(&keys(), None, &mut file).unwrap();
        file
    };
    let verified = receipt::verify(&*export(), Some(&keys().verifying_key())).unwrap();
    assert_eq!(verified.numbers, Some((1, 12)));
    let database = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    database.execute("DELETE FROM request WHERE id <= 3", []).unwrap();
    assert_eq!(receipt::verify(&*export(), None).unwrap().numbers, Some((4, 12)));
    database.execute("DELETE FROM request WHERE id = 7", []).unwrap();
    let error = receipt::verify(&*export(), None).unwrap_err().to_string();
    assert!(error.ends_with("receipt 8 follows 6: 7 is missing"), "{error}");
}

fn destination() -> Destination {
    Destination {
        upstream: "https://api.example".into(),
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        options: "".into(),
    }
}

/// P-08: a released number was found from an export in less than a second.
#[test]
fn no_digest_in_an_export_is_computable_without_the_key() {
    let receipt = |seed: u8| -> serde_json::Map<String, serde_json::Value> {
        let keys = || {
            let key = InstallationKey::from_bytes([seed; 32]);
            let tokens = TokenKeys::derive(&key, &ClientIdentity::new("test"));
            StoreKeys::derive(&key, tokens)
        };
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(StoreConfig::new(folder.path().to_owned()), keys()).unwrap();
        let mut record = request(1, &body(&["536-90-4399".to_owned()]));
        let to = destination();
        let digest = Digest::of(&to, record.sent.as_deref().unwrap());
        record.approved = Some(RecordedApproval { to, digest, by: "user" });
        taken(store.request(record));
        store.close();
        let mut file = Vec::new();
        Log::open(folder.path()).unwrap().export_receipts(&keys(), None, &mut file).unwrap();
        let line = std::str::from_utf8(&file).unwrap().lines().nth(1).unwrap();
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        serde_json::from_str(line["receipt"].as_str().unwrap()).unwrap()
    };
    let (one, other) = (receipt(1), receipt(2));
    let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digests = one.iter().filter(|(name, value)| {
        !matches!(name.as_str(), "policy" | "previous") && value.as_str().is_some_and(is_digest)
    });
    let names: Vec<&str> = digests.map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    for name in names {
        assert_ne!(one[name], other[name], "{name} is the same whatever the key");
    }
}

// S0-115
#[test]
fn what_left_is_compared_with_what_was_agreed_to() {
    let (folder, store) = begun();
    let to = destination();
    for (number, shown) in [(1, "shown"), (2, "something else")] {
        let mut record = request(number, &body(&["shown".to_owned()]));
        let digest = Digest::of(&to, &body(&[shown.to_owned()]));
        record.approved = Some(RecordedApproval { to: to.clone(), digest, by: "user" });
        taken(store.request(record));
    }
    store.close();
    assert_eq!(store.status().unwrap().mismatches, 1);
    let log = Log::open(folder.path()).unwrap();
    assert_eq!(log.show(1).unwrap().line.shown_is_sent, Some(true));
    assert_eq!(log.show(2).unwrap().line.shown_is_sent, Some(false));
}

#[test]
fn a_store_that_is_locked_is_said_and_stops_what_must_be_logged() {
    for required in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), |config| config.required = required);
        let other = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let recorded = store.request(request(1, &body(&["one".to_owned()])));
        match recorded {
            Recorded::Taken => assert!(!required),
            Recorded::Awaited(kept) => {
                assert!(required);
                kept.blocking_recv().unwrap_err();
                assert!(store.status().unwrap().failing.unwrap().contains("locked"));
            }
            Recorded::Missed | Recorded::Refused => panic!("there is room"),
        }
        other.execute_batch("COMMIT").unwrap();
        if let Recorded::Awaited(kept) = store.request(request(2, &body(&["two".to_owned()]))) {
            kept.blocking_recv().unwrap();
        }
        store.close();
        let status = store.status().unwrap();
        let kept = Log::open(folder.path()).unwrap().list(&Filter::default(), None, 9).unwrap().len();
        assert_eq!(status.failing, None);
        assert_eq!(kept as u64 + status.missed, 2, "each is there, or said to be missed");
    }
}

/// Making a log takes seconds on a busy machine.
#[test]
fn a_log_opens_once_another_process_has_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let other = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    std::fs::set_permissions(folder.path().join("log.db"), Permissions::from_mode(0o600)).unwrap();
    other.execute_batch("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE").unwrap();
    let (opened, opens) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let folder = folder.path();
        scope.spawn(move || opened.send(Store::open(StoreConfig::new(folder.to_owned()), keys()).is_ok()));
        opens.recv_timeout(Duration::from_secs(3)).expect_err("it waits");
        other.execute_batch("COMMIT").unwrap();
        assert!(opens.recv().unwrap());
    });
}

#[test]
fn a_request_that_must_be_logged_does_not_leave_once_a_file_of_the_log_is_gone() {
    for gone in ["log.db", "log.db-wal"] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), |config| config.required = true);
        let asked = |id| match store.request(request(id, &body(&["one".to_owned()]))) {
            Recorded::Awaited(kept) => kept.blocking_recv().is_ok(),
            other => panic!("{other:?}"),
        };
        assert!(asked(1));
        std::fs::remove_file(folder.path().join(gone)).unwrap();
        assert!(!asked(2) && !asked(3), "{gone}");
        let failing = store.status().unwrap().failing.unwrap();
        assert!(failing.contains(gone) && failing.contains("restart the gate"), "{failing}");
    }
}

#[test]
fn what_comes_faster_than_it_is_written_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), |config| config.queue = 1);
    let other = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let request = |number: u64| store.request(request(number, &body(&[number.to_string()])));
    let missed = (1..=10).filter(|number| matches!(request(*number), Recorded::Missed)).count();
    other.execute_batch("COMMIT").unwrap();
    store.close();
    let kept = Log::open(folder.path()).unwrap().list(&Filter::default(), None, 20).unwrap().len();
    assert_eq!(store.status().unwrap().missed, missed as u64);
    assert_eq!(kept + missed, 10);
    assert!(kept < 10);
}

#[test]
fn old_requests_give_way_and_those_that_stay_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let limit = 300 * 1024;
    let store = open(folder.path(), |config| config.limit = limit);
    for number in 1..=600_u64 {
        // Without a queue that overflows.
        while !matches!(store.status().unwrap().written, written if written + 200 > number) {
            std::thread::yield_now();
        }
        taken(store.request(request(number, &body(&["begins alike".to_owned(), noise(number, 40)]))));
    }
    store.close();
    // The bounds are looked at when a store is opened.
    drop(open(folder.path(), |config| config.limit = limit));
    let log = Log::open(folder.path()).unwrap();
    let kept = log.list(&Filter::default(), None, 2000).unwrap();
    assert!(kept.len() < 500 && kept.len() > 10, "{}", kept.len());
    for line in &kept {
        let number = u64::try_from(line.id).unwrap();
        let shown = log.show(line.id).unwrap().body.0;
        assert!(shown == body(&["begins alike".to_owned(), noise(number, 40)]), "{number}");
    }
    assert!(store.status().unwrap().missed == 0);
    let size = std::fs::metadata(folder.path().join("log.db")).unwrap().len();
    assert!(size <= limit, "{size}");
}

#[test]
fn words_are_found_where_they_were_said_first() {
    let (folder, store) = begun();
    let filler = "lorem ipsum ".repeat(200);
    let mut messages = vec![format!("about marmots {filler}")];
    for number in 1..=3 {
        taken(store.request(request(number, &body(&messages))));
        let says = json!({ "content": format!("answer {number} of otters in rivers") });
        answer(&store, number, &[event(&says, None), event(&json!({}), Some("stop"))], true);
        messages.push(format!("message {number} {filler}"));
    }
    store.close();
    let log = Log::open(folder.path()).unwrap();
    let found = |words: &str| -> Vec<i64> {
        log.search(words, None, 10).unwrap().into_iter().map(|found| found.request.id).collect()
    };
    let lines = |words: &str| -> Vec<Option<String>> {
        log.search(words, None, 10).unwrap().into_iter().map(|found| found.found).collect()
    };
    assert_eq!(found("marmots"), [1]);
    assert_eq!(found("otters"), [3, 2, 1]);
    assert_eq!(found("answer 2"), [2]);
    assert_eq!(lines("answer 2"), [Some("answer 2 of otters in rivers".to_owned())]);
    let of_body = lines("marmots").remove(0).unwrap();
    assert!(of_body.starts_with("about marmots "), "{of_body}");
    assert!(found("nothing-like-it").is_empty());
    assert!(found("\" OR *").is_empty());
    log.search(" ", None, 10).unwrap_err();
}

#[test]
fn the_files_are_private_and_open_ones_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("log");
    let store = open(&folder, |_| ());
    taken(store.request(request(1, &body(&["one".to_owned()]))));
    store.close();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in std::fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    let file = folder.join("log.db");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = Store::open(StoreConfig::new(folder), keys()).unwrap_err().to_string();
    assert!(error.contains("mode 640") && error.contains("chmod"), "{error}");
}

/// A body whose tools, system prompt and messages are all there.
fn agent_body(turn: usize) -> Value {
    let messages: Vec<Value> = (0..=turn * 2)
        .map(|n| {
            json!({ "role": if n % 2 == 0 { "user" } else { "assistant" },
            "content": [{ "type": "text", "text": format!("message {n}") }] })
        })
        .collect();
    json!({
        "model": "m",
        "tools": [{ "name": "read", "description": "Reads", "input_schema": { "type": "object" } }, { "name": "write" }],
        "system": [{ "type": "text", "text": "Be brief." }, { "type": "text", "text": "Be kind." }],
        "messages": messages,
    })
}

#[test]
fn the_ledger_names_each_leaf_that_breaks_a_cache_and_whose_doing_it_is() {
    let breaks = [
        ("/model", "model", "client"),
        ("/tools/0/name", "tools[0].name", "client"),
        ("/tools/0/description", "tools[0].description", "client"),
        ("/tools/0/input_schema/type", "tools[0].input_schema.type", "tools-rule"),
        ("/tools/1/name", "tools[1].name", "client"),
        ("/system/0/text", "system[0].text", "clock"),
        ("/system/1/text", "system[1].text", "person"),
        ("/messages/0/content/0/text", "messages[0].content[0].text", "client"),
        ("/messages/1/role", "messages[1].role", "client"),
        ("/messages/2/content/0/text", "messages[2].content[0].text", "saved:a"),
    ];
    let (folder, store) = begun();
    let mut number = 0;
    let mut tell = |session: String, body: &Value, edits: Vec<RecordedEdit>| {
        number += 1;
        let mut record = request(number, &body.to_string().into());
        (record.session, record.edits) = (session.into(), edits.into());
        taken(store.request(record));
    };
    for (at, (pointer, path, by)) in breaks.iter().enumerate() {
        tell(format!("S{at}"), &agent_body(3), Vec::new());
        let mut body = agent_body(4);
        *body.pointer_mut(pointer).unwrap() = "changed".into();
        let edit = RecordedEdit {
            kind: "set".into(),
            path: (*path).to_owned(),
            rule: (*by).to_owned(),
            label: None,
            detector: None,
            length: None,
        };
        tell(format!("S{at}"), &body, if *by == "client" { Vec::new() } else { vec![edit] });
    }
    for turn in 0..20 {
        let mut body = agent_body(turn);
        // Where a client wants the cache to end wanders from turn to turn.
        body["messages"][turn * 2]["content"][0]["cache_control"] = json!({ "type": "ephemeral" });
        tell("steady".to_owned(), &body, Vec::new());
    }
    store.close();
    let log = Log::open(folder.path()).unwrap();
    for (at, (_, path, by)) in breaks.iter().enumerate() {
        let filter = Filter { session: Some(format!("S{at}")), ..Filter::default() };
        let lines = log.ledger(&filter, 10).unwrap();
        let [line] = &lines[..] else { panic!("{} lines", lines.len()) };
        let broken = line.broken.as_ref().unwrap();
        assert_eq!((&*broken.path, &*broken.by), (*path, *by));
        assert!(broken.lost_tokens_estimate > 0);
    }
    let filter = Filter { session: Some("steady".to_owned()), ..Filter::default() };
    let steady = log.ledger(&filter, 50).unwrap();
    assert_eq!(steady.len(), 19);
    assert!(steady.iter().all(|line| line.broken.is_none() && line.common_bytes == line.before_bytes));
}

/// Claude Code asks for a title beside the first turn of a conversation.
#[test]
fn the_turn_before_is_none_that_a_client_asks_beside_it() {
    let (folder, store) = begun();
    for (id, class) in [(1, "main"), (2, "side"), (3, "main")] {
        let mut request = request(id, &body(&[format!("turn {id}")]));
        (request.session, request.class) = ("S".into(), class);
        taken(store.request(request));
    }
    store.close();
    let log = Log::open(folder.path()).unwrap();
    let before = |id| log.turn_before(&log.show(id).unwrap().line).unwrap();
    assert_eq!((before(3), before(2), before(1)), (Some(1), None, None));
}

#[test]
fn what_rules_tag_a_request_with_and_how_much_they_matter_is_kept() {
    let (folder, store) = begun();
    let rule = |id: &str, rest: &str| format!("[[rule]]\nid = '{id}'\nmatch = {{}}\n{rest}\n");
    let rules = rule("low", "action = 'block'\nseverity = 'low'")
        + &rule("t", "action = 'tag'\ntag = 'payments'\nseverity = 'high'");
    let policy = policy(&rules);
    for (id, matched) in [(1, vec!["low".to_owned(), "t".to_owned()]), (2, Vec::new())] {
        let mut request = request(id, &body(&["hello".to_owned()]));
        (request.rules, request.policy) = (matched, policy.clone());
        taken(store.request(request));
    }
    store.close();
    let log = Log::open(folder.path()).unwrap();
    let line = |id| log.show(id).unwrap().line;
    assert_eq!(
        (line(1).severity.as_deref(), &line(1).tags[..]),
        (Some("high"), &["payments".to_owned()][..])
    );
    assert_eq!((line(2).severity, line(2).tags), (None, Vec::new()));
}

/// It was left out of what leaves, and kept nowhere.
// S3-05
#[test]
fn what_a_client_calls_its_message_finds_the_request_again() {
    let (folder, store) = begun();
    let said = |id: &str| {
        let messages = serde_json::json!([
            { "role": "user", "message_id": "msg-1", "content": "First." },
            { "role": "assistant", "message_id": "msg-2", "content": "Yes." },
            { "role": "user", "message_id": id, "content": "Then." },
        ]);
        bytes::Bytes::from(serde_json::json!({ "messages": messages }).to_string())
    };
    for (id, source) in [(1, said("msg-3")), (2, said(&secret())), (3, body(&["hello".to_owned()]))] {
        let mut request = request(id, &body(&["hello".to_owned()]));
        request.source = source;
        taken(store.request(request));
    }
    store.close();
    let log = Log::open(folder.path()).unwrap();
    let message = |id| log.show(id).unwrap().line.message;
    assert_eq!((message(1).as_deref(), message(3)), (Some("msg-3"), None));
    assert!(message(2).is_some_and(|id| !id.contains("kfhfgt")), "{:?}", message(2));
    let found = log.search("msg-3", None, 9).unwrap();
    assert_eq!((found.len(), found[0].request.id, found[0].found.as_deref()), (1, 1, Some("msg-3")));
    assert!(log.search(&secret(), None, 9).unwrap().is_empty());
}

#[test]
fn what_people_say_of_a_rule_is_kept_with_its_requests() {
    let (folder, store) = begun();
    for id in 1..=3 {
        let mut request = request(id, &body(&["hello".to_owned()]));
        request.rules = if id == 3 { Vec::new() } else { vec!["mail".to_owned(), "secrets".to_owned()] };
        taken(store.request(request));
    }
    store.close();
    let (generation, rules) = (policy("").generation_name(), policy("").rules_name());
    let hits = |rule: &str| {
        Log::open(folder.path()).unwrap().hits(rule, &generation, &rules, &Filter::default()).unwrap()
    };
    assert_eq!((hits("mail").requests, hits("mail").right, hits("mail").wrong), (2, 0, 0));
    assert_eq!(hits("nobody").requests, 0);
    assert_eq!(mark(folder.path(), 1, None, true).unwrap(), ["mail", "secrets"]);
    assert_eq!(mark(folder.path(), 2, Some("mail"), false).unwrap(), ["mail"]);
    let mail = hits("mail");
    assert_eq!((mail.requests, mail.right, mail.wrong, &mail.wrong_in[..]), (2, 1, 1, &[2][..]));
    // The last word counts.
    mark(folder.path(), 2, Some("mail"), true).unwrap();
    assert_eq!((hits("mail").right, hits("mail").wrong), (2, 0));
    assert_eq!((hits("secrets").right, hits("secrets").wrong), (1, 0));
    for (id, rule, said) in [
        (3, None, "no rule matched in request 3"),
        (1, Some("other"), "rule `other` did not match in request 1"),
        (9, None, "request 9 is not in the log"),
    ] {
        let error = mark(folder.path(), id, rule, true).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
    let later = Filter { since: Some(i64::MAX), session: None };
    let log = Log::open(folder.path()).unwrap();
    assert_eq!(log.hits("mail", &generation, &rules, &later).unwrap().requests, 0);
}

#[test]
fn matches_under_another_generation_are_counted_apart() {
    let (folder, store) = begun();
    let rule = "[[rule]]\nid = \"mail\"\nmatch = {}\ndetect = [\"pii/email\"]\naction = \"redact\"\nwith = \"token\"\n";
    let (one, another) = (policy(""), policy(rule));
    for (id, judge) in [(1, &one), (2, &another), (3, &another), (4, &another)] {
        let mut request = request(id, &body(&["hello".to_owned()]));
        request.policy = judge.clone();
        request.rules = if id == 4 { Vec::new() } else { vec!["mail".to_owned()] };
        taken(store.request(request));
    }
    store.close();
    mark(folder.path(), 3, Some("mail"), false).unwrap();
    let hits = |generation: &str, rules: &str| {
        let log = Log::open(folder.path()).unwrap();
        let hits = log.hits("mail", generation, rules, &Filter::default()).unwrap();
        (hits.requests, hits.wrong, hits.wrong_before, hits.wrong_in, hits.elsewhere)
    };
    assert_eq!(hits(&one.generation_name(), &one.rules_name()), (1, 0, 0, vec![], 2));
    assert_eq!(hits(&another.generation_name(), &another.rules_name()), (2, 1, 0, vec![3], 1));
    // The same rules with another exception: what was called wrong may be what it excepts.
    assert_eq!(hits("other", &another.rules_name()), (1, 0, 1, vec![], 1));
    assert_eq!(hits("none of them", "none"), (0, 0, 0, vec![], 3));
}

/// A gate starts beside one that writes without a break.
#[test]
fn a_log_is_opened_while_another_process_writes() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), |_| ()));
    let mut other = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    let writes = other.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let store = open(folder.path(), |_| ());
    drop(writes);
    taken(store.request(request(1, &body(&["It works".to_owned()]))));
    store.close();
    assert_eq!(Log::open(folder.path()).unwrap().list(&Filter::default(), None, 9).unwrap().len(), 1);
}
