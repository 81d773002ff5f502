//! Invariant 3, no leaf unseen: a secret planted at any position of a recorded request does not reach the upstream.
//!
//! The positions come from `walk.py`, a walk of the JSON in another language that shares no code with the gate; both must find the same
//! leaves and as many keys. Where a secret may pass all the same stands on a list that the test prints: media, which is not scanned, and
//! values without a prefix where nothing may be replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use leafgate_harness::recordings::{self, File};
use leafgate_tests::{gate, paths, skip};
use serde_json::Value;

use crate::setup::{Setup, holds};

/// Keys under which media may stand; a position elsewhere that passes unseen is a fault.
const MEDIA_KEYS: [&str; 3] = ["url", "data", "file_data"];

#[test]
fn invariant_3_no_leaf_unseen() {
    let recordings = recordings::read("openai-chat", ".request.json");
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("no python3 for tests/walk.py");
    }
    let mut lines = walk(&recordings).into_iter().peekable();
    let mut setup = Setup::with_default_policy();
    let mut tally = Tally::default();
    for recording in &recordings {
        let found = lines.next().expect("a line for each recording");
        let access = compare(recording, &found);
        while let Some(plant) = lines.next_if(|line| line.get("secret").is_some()) {
            tally.plant(&mut setup, &Plant::new(&plant, &access));
        }
    }
    setup.still_serves();
    tally.conclude();
}

/// What `walk.py` prints for these recordings.
fn walk(recordings: &[File]) -> Vec<Value> {
    let mut child = Command::new("python3")
        .arg(paths::root().join("tests/walk.py"))
        .args(recordings.iter().map(|recording| &recording.path))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert!(child.wait().unwrap().success(), "walk.py failed");
    lines
}

/// Checks that the gate's tree has the leaves and keys that the walk found; returns who may change each leaf.
fn compare(recording: &File, found: &Value) -> BTreeMap<String, String> {
    assert!(recording.path.ends_with(found["file"].as_str().unwrap()), "{}", recording.name);
    let path = recording.path.to_string_lossy();
    let output =
        gate::run(&["tree", "--json", "--policy", "none", "--format", "openai-chat", &path], b"").unwrap();
    assert!(output.status.success(), "{}: {}", recording.name, String::from_utf8_lossy(&output.stderr));
    let tree: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sections =
        tree["sections"].as_array().unwrap().iter().flat_map(|section| section["leaves"].as_array().unwrap());
    let leaves = sections.chain(tree["leaves"].as_array().unwrap());
    let text = |leaf: &Value, key: &str| leaf[key].as_str().unwrap().to_owned();
    let access: BTreeMap<String, String> =
        leaves.map(|leaf| (text(leaf, "pointer"), text(leaf, "access"))).collect();
    let walked: BTreeSet<&str> =
        found["leaves"].as_array().unwrap().iter().map(|pointer| pointer.as_str().unwrap()).collect();
    assert_eq!(
        access.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        walked,
        "leaves of {}",
        recording.name
    );
    assert_eq!(
        tree["keys"].as_u64().unwrap() as usize,
        found["keys"].as_array().unwrap().len(),
        "keys of {}",
        recording.name
    );
    access
}

/// One secret at one position.
struct Plant<'a> {
    file: &'a str,
    pointer: &'a str,
    /// What stood there: `string`, `number`, `boolean`, `null`, `key`, `embedded` or `media`.
    was: &'a str,
    kind: &'a str,
    prefixed: bool,
    secret: &'a str,
    body: &'a str,
    /// The gate may not replace what stands there.
    fixed: bool,
}

impl<'a> Plant<'a> {
    fn new(line: &'a Value, access: &BTreeMap<String, String>) -> Self {
        let text = |key: &str| line[key].as_str().unwrap();
        let (pointer, was) = (text("pointer"), text("was"));
        let fixed = was == "key"
            || access.get(pointer).is_some_and(|access| matches!(access.as_str(), "protected" | "frozen"));
        Plant {
            file: text("file"),
            pointer,
            was,
            kind: text("kind"),
            prefixed: line["prefixed"].as_bool().unwrap(),
            secret: text("secret"),
            body: text("body"),
            fixed,
        }
    }

    fn shown(&self) -> String {
        format!("{} {} at {} of {}", self.kind, self.was, self.pointer, self.file)
    }

    /// Whether the secret may pass: inside media, or without a prefix in a value that may not be replaced.
    fn may_pass(&self) -> bool {
        self.was == "media" || (self.fixed && self.was != "key" && !self.prefixed)
    }
}

#[derive(Default)]
struct Tally {
    redacted: usize,
    blocked: usize,
    /// What passed although a secret was in it, by place, with how often.
    listed: BTreeMap<String, usize>,
    media_keys: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Tally {
    fn plant(&mut self, setup: &mut Setup, plant: &Plant<'_>) {
        let answer = setup.client.chat(plant.body.as_bytes()).unwrap();
        let received = setup.upstream.take();
        let reached = received.iter().any(|request| holds(&request.body, plant.secret));
        match (answer.status(), received.len(), reached) {
            (200, 1, true) if plant.may_pass() => self.list(plant),
            (200, 1, false) if !(plant.fixed && plant.prefixed) => self.redacted += 1,
            (400, 0, false) if answer.refusal().is_ok_and(|(code, _)| code == "leafgate_blocked") => {
                self.blocked += 1
            }
            (status, requests, _) => {
                let fate = if reached { "reached the upstream" } else { "did not reach the upstream" };
                self.wrong.push(format!("{}: {fate} ({status}, {requests} requests)", plant.shown()));
            }
        }
    }

    fn list(&mut self, plant: &Plant<'_>) {
        if plant.was == "media" {
            self.media_keys.extend(plant.pointer.rsplit('/').next().map(str::to_owned));
        }
        let place: Vec<&str> = plant
            .pointer
            .split('/')
            .map(|key| if key.parse::<usize>().is_ok() { "*" } else { key })
            .collect();
        *self.listed.entry(format!("{} in {} at {}", plant.kind, plant.was, place.join("/"))).or_default() +=
            1;
    }

    #[expect(clippy::print_stdout, reason = "the list is there to be read")]
    fn conclude(&self) {
        let listed: usize = self.listed.values().sum();
        println!(
            "{} redacted, {} blocked, {listed} on the list of what passes unseen:",
            self.redacted, self.blocked
        );
        self.listed.iter().for_each(|(place, count)| println!("{count:>6} {place}"));
        assert!(self.wrong.is_empty(), "{} positions:\n{}", self.wrong.len(), self.wrong.join("\n"));
        // Two requests that every clone has, or fifty more beside them.
        let least = if recordings::fixtures().is_some() { 500 } else { 20 };
        assert!(self.redacted > least && self.blocked > least, "fewer positions than the recordings have");
        let known: BTreeSet<String> = MEDIA_KEYS.iter().map(|&key| key.to_owned()).collect();
        assert!(self.media_keys.is_subset(&known), "media elsewhere: {:?}", self.media_keys);
    }
}
