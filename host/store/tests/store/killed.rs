//! A store whose processes are killed while they write: what they acknowledged is there and whole, and
//! the chain of receipts goes on.
//!
//! The test runs itself again as the process that is killed. Two of them write one log, so that one
//! finds what the other left behind, while both are under load.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use leafgate_record::{AnswerOutcome, AnswerPart, RecordId, Recorded, Recorder, RevealRecord};
use leafgate_store::{Filter, Log, receipt};
use rusqlite::Connection;

use crate::kit::{body, delta, end, head, keys, noise, open, request};

/// In the process that is killed: the folder of its store, the first number of its requests, and the
/// bytes that its log may have.
const FOLDER: &str = "LEAFGATE_TEST_FOLDER";
const FIRST: &str = "LEAFGATE_TEST_FIRST";
const LIMIT: &str = "LEAFGATE_TEST_LIMIT";

/// Requests that one process may number.
const MOST: u64 = 1_000_000;

/// Connections of a process.
const CONNECTIONS: usize = 4;

/// What a process writes before a number that its store has acknowledged.
const KEPT: &str = "kept ";

/// How often two processes are killed.
fn rounds() -> u64 {
    if std::env::var_os("LEAFGATE_SOAK").is_some() { 200 } else { 5 }
}

/// What is said in a request: its own words, behind some that others have too.
fn said(number: u64) -> Vec<String> {
    (number / 10 * 10..=number).map(|number| noise(number, 12)).collect()
}

/// Writes without end, and says what was acknowledged.
fn write_until_killed(folder: &Path) {
    let number = |name: &str| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let limit = number(LIMIT);
    let store = open(folder, |config| (config.required, config.limit) = (true, limit));
    let next = AtomicU64::new(number(FIRST));
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let mut record = request(number, &body(&said(number)));
                    record.agent = number.to_string().into();
                    if let Recorded::Awaited(kept) = store.request(record)
                        && kept.blocking_recv().is_ok()
                    {
                        // One write a line: several threads speak.
                        let line = format!("{KEPT}{number}\n");
                        std::io::stderr().write_all(line.as_bytes()).unwrap();
                    }
                    let id = RecordId(number);
                    store.answer(id, head());
                    store.answer(id, delta("some words and"));
                    store.answer(id, end(true));
                }
            });
        }
    });
}

/// A process that writes until this value is dropped.
struct Writer {
    process: Child,
    said: Lines<BufReader<ChildStderr>>,
}

impl Writer {
    fn start(test: &str, folder: &Path, first: u64, limit: u64) -> Writer {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env(FOLDER, folder)
            .env(FIRST, first.to_string())
            .env(LIMIT, limit.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stderr.take().unwrap()).lines();
        Writer { process, said }
    }

    /// Waits for this many acknowledgements, kills it, and gives all that it ever gave.
    fn kill_after(mut self, acknowledgements: usize) -> Vec<u64> {
        let mut all = Vec::new();
        while all.len() < acknowledgements {
            let line = self.said.next().expect("it ended before it was killed").unwrap();
            let Some(number) = line.strip_prefix(KEPT) else {
                // It panicked: the empty line before what a panic says came first.
                let rest: Vec<String> = self.said.by_ref().take(40).map_while(Result::ok).collect();
                panic!("it says {line}{}", rest.join("\n"));
            };
            all.push(number.parse::<u64>().unwrap());
        }
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        // What it said up to its death; the last line may lack its end, and is no acknowledgement then.
        let rest: Vec<String> = self.said.by_ref().map_while(Result::ok).collect();
        all.extend(rest.into_iter().filter_map(|line| line.strip_prefix(KEPT)?.parse::<u64>().ok()));
        all
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The rows of a log by the numbers of their requests.
fn rows(log: &Log) -> BTreeMap<u64, i64> {
    let mut rows = BTreeMap::new();
    let mut before = None;
    loop {
        let page = log.list(&Filter::default(), before, 1000).unwrap();
        let Some(last) = page.last() else { return rows };
        before = Some(last.id);
        for line in page {
            let twice = rows.insert(line.agent.parse().unwrap(), line.id);
            assert_eq!(twice, None, "request {} is there twice", line.agent);
        }
    }
}

/// Checks the files, and that the receipts of all rows hold.
fn check_whole(folder: &Path, log: &Log, rows: &BTreeMap<u64, i64>) {
    let database = Connection::open(folder.join("log.db")).unwrap();
    let said: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(said, "ok");
    let mut file = Vec::new();
    log.export_receipts(&keys(), None, &mut file).unwrap();
    let verified = receipt::verify(&*file, Some(&keys().verifying_key())).unwrap();
    let ids: BTreeSet<i64> = rows.values().copied().collect();
    assert_eq!(verified.numbers, ids.first().copied().zip(ids.last().copied()));
    assert_eq!(verified.receipts, rows.len());
}

fn check_bodies(log: &Log, rows: &BTreeMap<u64, i64>, numbers: impl Iterator<Item = u64>) {
    for number in numbers {
        let shown = log.show(rows[&number]).unwrap();
        assert!(shown.body.0 == body(&said(number)), "request {number} is not as it was acknowledged");
        assert_eq!(shown.edits.len(), 1, "request {number}");
    }
}

#[test]
fn what_was_acknowledged_is_there_and_whole_whenever_processes_are_killed() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return write_until_killed(folder.as_ref());
    }
    let test = "killed::what_was_acknowledged_is_there_and_whole_whenever_processes_are_killed";
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeSet::new();
    for round in 0..rounds() {
        let start =
            |process: u64| Writer::start(test, folder.path(), (2 * round + process) * MOST + 1, 1 << 40);
        let (first, second) = (start(0), start(1));
        // Another number of requests each round, so that it dies at other places.
        let mut kept = first.kill_after(1 + usize::try_from(round * 7 % 23).unwrap());
        kept.extend(second.kill_after(8));
        let log = Log::open(folder.path()).unwrap();
        let rows = rows(&log);
        acknowledged.extend(&kept);
        let missing: Vec<_> = acknowledged.iter().filter(|number| !rows.contains_key(number)).collect();
        assert!(missing.is_empty(), "round {round}: {missing:?} were acknowledged and are not there");
        check_whole(folder.path(), &log, &rows);
        check_bodies(&log, &rows, kept.into_iter());
    }
}

#[test]
fn what_a_killed_process_left_open_is_ended_by_the_next_and_what_a_living_one_writes_is_not() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return leave_open(folder.as_ref());
    }
    let test =
        "killed::what_a_killed_process_left_open_is_ended_by_the_next_and_what_a_living_one_writes_is_not";
    let folder = tempfile::tempdir().unwrap();
    let states = || {
        let log = Log::open(folder.path()).unwrap();
        let page = log.list(&Filter::default(), None, 10).unwrap();
        page.into_iter()
            .map(|line| (line.agent, line.answer, line.ruled.unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    let of = |agent: &str, answer: &str, ruled: &str| (agent.to_owned(), answer.to_owned(), ruled.to_owned());
    let (killed, lives) =
        (Writer::start(test, folder.path(), 1, 1 << 40), Writer::start(test, folder.path(), 2, 1 << 40));
    killed.kill_after(1);
    let mut lives = lives;
    lives.said.next().unwrap().unwrap();
    // One that begins ends what is over, and so does one that goes with its own.
    let store = open(folder.path(), |config| config.required = true);
    let mut record = request(3, &body(&said(3)));
    record.agent = "3".into();
    let Recorded::Awaited(kept) = store.request(record) else { panic!("it is not kept") };
    kept.blocking_recv().unwrap();
    store.answer(RecordId(3), head());
    store.answer(RecordId(3), AnswerPart::Ruled { outcome: AnswerOutcome::Held, rules: Vec::new() });
    store.close();
    let mut after = states();
    after.sort();
    let expected = [of("1", "broken", "abandoned"), of("2", "open", "held"), of("3", "broken", "abandoned")];
    assert_eq!(after, expected);
    lives.kill_after(0);
    open(folder.path(), |_| ()).close();
    let mut after = states();
    after.sort();
    assert_eq!(after[1], of("2", "broken", "abandoned"));
    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("writer")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Writes a request whose answer has begun and waits for a person, says so, and waits to be killed.
fn leave_open(folder: &Path) {
    let number: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    let store = open(folder, |config| config.required = true);
    let mut record = request(number, &body(&said(number)));
    record.agent = number.to_string().into();
    let Recorded::Awaited(kept) = store.request(record) else { panic!("it is not kept") };
    kept.blocking_recv().unwrap();
    store.answer(RecordId(number), head());
    store.answer(RecordId(number), AnswerPart::Ruled { outcome: AnswerOutcome::Held, rules: Vec::new() });
    // What is kept later comes behind all that was told before.
    let reveal =
        RevealRecord { at: SystemTime::now(), token: "T".into(), session: "s".into(), by: "t".into() };
    let Recorded::Awaited(kept) = store.reveal(reveal) else { panic!("it is not kept") };
    kept.blocking_recv().unwrap();
    std::io::stderr().write_all(format!("{KEPT}{number}\n").as_bytes()).unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn a_log_that_is_cut_to_its_bound_stays_whole_whenever_its_process_is_killed() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return write_until_killed(folder.as_ref());
    }
    let test = "killed::a_log_that_is_cut_to_its_bound_stays_whole_whenever_its_process_is_killed";
    let folder = tempfile::tempdir().unwrap();
    let mut removed = false;
    for round in 0..rounds() {
        // Old requests are removed as a process begins, and from time to time.
        let writer = Writer::start(test, folder.path(), round * MOST + 1, 256 << 10);
        let kept = writer.kill_after(60 + usize::try_from(round * 7 % 23).unwrap());
        let log = Log::open(folder.path()).unwrap();
        let rows = rows(&log);
        check_whole(folder.path(), &log, &rows);
        check_bodies(&log, &rows, rows.keys().copied());
        let last = kept.last().unwrap();
        assert!(rows.contains_key(last), "round {round}: {last} was acknowledged last and is not there");
        removed |= rows.values().min() > Some(&1);
    }
    assert!(removed, "nothing was ever removed: this shows nothing");
}
