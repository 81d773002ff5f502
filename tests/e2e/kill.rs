//! A gate that is killed without a chance to tidy up: what it acknowledged stays, and nothing leaves that nobody approved.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};

use leafgate_tests::admin::{Admin, Events, answered, chat_later};
use leafgate_tests::gate::Gate;
use leafgate_tests::http::Message;
use leafgate_tests::sample;
use leafgate_tests::upstream::Upstream;
use serde_json::{Value, json};

/// How often a gate is killed, each time after another number of changes.
const ROUNDS: usize = 10;

/// What a kept value may be after a kill: what was acknowledged last, or what was asked for since.
#[derive(Default)]
struct Kept {
    acknowledged: Value,
    asked: Vec<Value>,
}

impl Kept {
    fn may_be(&self, value: &Value) -> bool {
        *value == self.acknowledged || self.asked.contains(value)
    }

    /// Changes it. Where the gate does not live to acknowledge it, it may be either way.
    fn change(&mut self, value: Value, put: impl FnOnce(&Value) -> anyhow::Result<Message>) -> bool {
        self.asked.push(value.clone());
        let done = put(&value).is_ok_and(|answer| answer.status() == 200);
        if done {
            *self = Kept { acknowledged: value, asked: Vec::new() };
        }
        done
    }
}

/// What a person did who works with the gate until it is gone.
struct Person {
    admin: Admin,
    mode: Kept,
    limit: Kept,
    /// The bodies that were approved.
    approved: Vec<Vec<u8>>,
}

impl Person {
    /// Lets a turn go. It counts as approved from before the gate is told.
    fn approves(&mut self, turn: &str) -> bool {
        let Ok(payload) = self.admin.get(&format!("/v1/pending/{turn}/payload")) else { return false };
        let text = |key: &str| payload[key].as_str().unwrap().to_owned();
        self.approved.push(text("body").into_bytes());
        self.admin.resume(turn, &text("digest")).is_ok_and(|answer| answer.status() == 200)
    }

    fn chooses(&mut self, mode: &str) -> bool {
        let put = |mode: &Value| self.admin.put("/v1/mode", &json!({ "mode": mode }));
        self.mode.change(json!(mode), put)
    }

    fn limits(&mut self, limit: usize) -> bool {
        let put = |limit: &Value| self.admin.put("/v1/saved", &json!({ "previewLimit": limit }));
        self.limit.change(json!(limit), put)
    }

    /// Works on, telling of each thing that was acknowledged, until the gate is gone.
    fn works_on(mut self, turns: Vec<String>, told: &Sender<()>) -> Person {
        let mut turns = turns.into_iter();
        for step in 0_usize.. {
            let done = match step % 4 {
                0 => self.chooses("autoOverride"),
                1 => self.limits(1 + step % 10),
                2 => self.chooses("interceptAlways"),
                _ => turns.next().is_none_or(|turn| self.approves(&turn)),
            };
            if !done || told.send(()).is_err() {
                break;
            }
        }
        self
    }
}

fn paused(events: &mut Events, turns: usize) -> Vec<String> {
    (0..turns).map(|_| events.paused().unwrap()).collect()
}

#[test]
fn a_gate_killed_at_any_moment_keeps_what_it_acknowledged_and_sends_only_what_was_approved() {
    let (data, upstream) = (tempfile::tempdir().unwrap(), Upstream::start().unwrap());
    let mut approved: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let (mut mode, mut limit) = (Kept::default(), Kept::default());
    (mode.acknowledged, limit.acknowledged) = (json!("off"), json!(3));
    for round in 0..ROUNDS {
        let gate = Gate::start_in(data.path(), &["--policy", "none", "--upstream", &upstream.url()]).unwrap();
        let admin = Admin::of(&gate).unwrap();
        let (is, limits) = (admin.get("/v1/mode").unwrap(), admin.get("/v1/saved").unwrap());
        assert!(mode.may_be(&is["mode"]), "round {round}: {is}");
        assert!(limit.may_be(&limits["status"]["previewLimit"]), "round {round}: {limits}");
        mode = Kept { acknowledged: is["mode"].clone(), asked: Vec::new() };
        limit = Kept { acknowledged: limits["status"]["previewLimit"].clone(), asked: Vec::new() };

        let mut events = admin.events().unwrap();
        let mut person = Person { admin, mode, limit, approved: Vec::new() };
        assert!(person.chooses("interceptAlways"));
        let says = |turn: usize| sample::chat(&format!("round {round}, turn {turn}"));
        let clients: Vec<_> = (0..4).map(|turn| chat_later(&gate, &says(turn)).unwrap()).collect();
        let mut turns = paused(&mut events, clients.len());
        // One is approved and gets its answer; the others wait, or are approved while the gate dies.
        assert!(person.approves(&turns.remove(0)));
        let (tells, told) = channel();
        let works = std::thread::spawn(move || person.works_on(turns, &tells));
        for _ in 0..round {
            told.recv().unwrap();
        }
        drop(gate);
        drop(told);
        let person = works.join().unwrap();
        (mode, limit) = (person.mode, person.limit);
        for body in person.approved {
            *approved.entry(body).or_default() += 1;
        }
        // Their connections ended with the gate, or with an answer before.
        clients.into_iter().for_each(|client| drop(answered(client)));
    }
    for request in upstream.take() {
        let left = approved.get_mut(&request.body).filter(|left| **left > 0);
        *left.expect("what reached the upstream was approved, and left once") -= 1;
    }
}
