//! Where scripts with real clients play: gates, the upstream behind them, and a person who decides as the script says.
//!
//! A script gets addresses and speaks HTTP with all of them, so that a library in another language needs no kit of its own:
//!
//! | address | what is there |
//! |---|---|
//! | `echo` | a gate before the built-in `echo:` |
//! | `lively` | a gate before the upstream; clients that wait hear from it at once |
//! | `quiet` | the same, but clients that wait hear nothing |
//! | `team` | a gate before the upstream that serves a [`team`](model::team) |
//! | `calls`, `texts`, `values` | gates before the upstream, with the rules of [`hostile`](model::hostile) answers |
//! | `upstream` | a recording [`model`] |
//! | `control` | tells what has left and what waits, and decides for the person |
//!
//! The first four have one policy. Waiting is done here, on the gates' events; a script that asks for what never comes is told so.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};
use leafgate_harness::answers::table::Guarded;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::admin::{Admin, Events};
use crate::gate::Gate;
use crate::http::Message;
use crate::model;
use crate::upstream::{Requests, Upstream};

/// Credentials and addresses leave as tokens, one word blocks, another one asks a person.
const POLICY: &str = r#"
extends = "default"

[[rule]]
id = "addresses"
match = {}
detect = ["pii/email"]
action = "redact"

[[rule]]
id = "launch-codes"
match = { role = "user" }
when = 'leaf.text.contains("launch code")'
action = "block"
reason = "Launch codes stay here"

[[rule]]
id = "ask-first"
match = { role = "user" }
when = 'leaf.text.contains("prod-db")'
action = "pause"
reason = "Production data"
timeout = "5m"

[[assemble]]
id = "replayed"
prompt = { type = "literal", text = "Repeat it." }
replay_stream = true
"#;

/// The name of the variable that tells a script where everything is.
const VARIABLE: &str = "LEAFGATE_STAGE";

/// Seconds until a client that waits hears from the gate, and between two signs of life.
const LIVELY: [&str; 4] = ["--pause-silence", "0.2", "--pause-keepalive", "0.4"];
const QUIET: [&str; 4] = ["--pause-silence", "600", "--pause-keepalive", "600"];

/// Running gates with all that scripts need; they end with this value.
pub struct Stage {
    /// What a script is told: addresses by name.
    addresses: Value,
    _gates: Vec<Gate>,
    _policy: TempDir,
}

impl Stage {
    /// Starts everything.
    ///
    /// # Errors
    /// When a gate does not start.
    pub fn open() -> Result<Self> {
        let policy = tempfile::tempdir()?;
        std::fs::write(policy.path().join("rules.toml"), POLICY)?;
        let folder = policy.path().to_string_lossy().into_owned();
        let team = policy.path().join("team.json");
        std::fs::write(&team, model::team::FILE)?;
        let team = team.to_string_lossy().into_owned();
        let upstream = Upstream::answering(model::answer)?;
        let mut addresses = json!({ "upstream": upstream.url() });
        let (mut gates, mut reviewers) = (Vec::new(), BTreeMap::new());
        for (name, to, pauses) in [
            ("echo", "echo:", LIVELY),
            ("lively", &upstream.url(), LIVELY),
            ("quiet", &upstream.url(), QUIET),
            ("team", &upstream.url(), LIVELY),
        ] {
            let mut arguments = [&["--policy", &folder, "--upstream", to][..], &pauses].concat();
            if name == "team" {
                arguments.extend(["--agents", &team]);
            }
            let gate = Gate::start(&arguments)?;
            addresses[name] = json!(format!("http://{}", gate.address()));
            reviewers.insert(name, Reviewer::of(&gate)?);
            gates.push(gate);
        }
        for guards in [Guarded::Calls, Guarded::Texts, Guarded::Values] {
            let rules = policy.path().join(guards.name());
            std::fs::create_dir(&rules)?;
            std::fs::write(rules.join("rules.toml"), guards.rules())?;
            let gate = Gate::start(&["--policy", &rules.to_string_lossy(), "--upstream", &upstream.url()])?;
            addresses[guards.name()] = json!(format!("http://{}", gate.address()));
            gates.push(gate);
        }
        let control = Control { left: upstream.requests(), reviewers };
        addresses["control"] = json!(Upstream::answering(move |call| Ok(control.answer(call)))?.url());
        Ok(Stage { addresses, _gates: gates, _policy: policy })
    }

    /// The variable that a script reads, and its value.
    #[must_use]
    pub fn variable(&self) -> (&'static str, String) {
        (VARIABLE, self.addresses.to_string())
    }
}

/// What a script can ask for; every answer is JSON.
///
/// | call | answer |
/// |---|---|
/// | `/left` | the requests that reached the upstream since the last call |
/// | `/hostile` | the table of hostile answers: what a row is called, whose it is, what it guards |
/// | `/GATE/paused` | the next turn that begins to wait, which is waited for |
/// | `/GATE/until/STATE` | the next turn that comes into a state |
/// | `/GATE/resume/TURN` | lets a turn go as it stands |
/// | `/GATE/cancel/TURN` | gives a turn up |
/// | `/GATE/mode/MODE` | chooses which turns wait although no rule asks |
/// | `/GATE/pending` | the turns that wait |
/// | `/GATE/subagents` | what agents asked |
/// | `/GATE/requests` | how many requests ended how |
struct Control {
    left: Requests,
    reviewers: BTreeMap<&'static str, Reviewer>,
}

impl Control {
    /// A failure is told to the script, which fails with it.
    fn answer(&self, call: &Message) -> Message {
        let path: Vec<_> = call.target().split('/').skip(1).collect();
        let (status, body) = match self.called(&path) {
            Ok(body) => ("200 OK", body),
            Err(error) => ("500 Failed", json!({ "failed": format!("{}: {error:#}", call.target()) })),
        };
        Message {
            start: format!("HTTP/1.1 {status}"),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: body.to_string().into_bytes(),
        }
    }

    fn called(&self, path: &[&str]) -> Result<Value> {
        if path == ["left"] {
            return Ok(self.left.take().iter().map(shown).collect());
        }
        if path == ["hostile"] {
            return Ok(model::hostile::listed());
        }
        let [gate, call @ ..] = path else { bail!("a call without a name") };
        let reviewer = self.reviewers.get(gate).context("no gate of this name")?;
        match call {
            ["paused"] => reviewer.until(|event| event["event"] == "paused"),
            ["until", state] => reviewer.until(|event| event["turn"]["state"] == *state),
            ["resume", turn] => reviewer.resume(turn),
            ["cancel", turn] => done(&reviewer.admin.cancel(turn)?),
            ["mode", mode] => done(&reviewer.admin.put("/v1/mode", &json!({ "mode": mode }))?),
            ["pending"] => reviewer.admin.get("/v1/pending"),
            ["subagents"] => reviewer.admin.get("/v1/subagents"),
            ["requests"] => Ok(reviewer.admin.get("/v1/status")?["requests"].clone()),
            _ => bail!("no call of this name"),
        }
    }
}

/// A person before one of the gates.
struct Reviewer {
    admin: Admin,
    events: Mutex<Events>,
}

impl Reviewer {
    fn of(gate: &Gate) -> Result<Self> {
        let admin = Admin::of(gate)?;
        let events = Mutex::new(admin.events()?);
        Ok(Reviewer { admin, events })
    }

    /// The turn of the next event that satisfies a condition.
    fn until(&self, condition: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(events.until(condition)?["turn"].take())
    }

    fn resume(&self, turn: &str) -> Result<Value> {
        let seen = self.admin.turn(turn)?;
        done(&self.admin.resume(turn, seen["digest"].as_str().context("a turn without a digest")?)?)
    }
}

fn done(answer: &Message) -> Result<Value> {
    ensure!(answer.status() == 200, "the gate answers {}", answer.start);
    answer.json()
}

/// A request as scripts read it.
fn shown(request: &Message) -> Value {
    json!({
        "target": request.target(),
        "headers": request.headers,
        "body": String::from_utf8_lossy(&request.body),
    })
}
