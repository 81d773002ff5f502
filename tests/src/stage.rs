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
//! | `proxy` | leads every host to the upstream; `certificate` is the file with its authority |
//! | `control` | tells what has left and what waits, and decides for the person |
//!
//! Libraries and agents play on these gates, and all but those of hostile answers have one policy. Editors play beside the proxy, before a
//! gate that [`Standing`] has once a command of the script leads an editor there: with the variables in `person` it finds settings whose
//! Copilot is the upstream. Waiting is done here, on the gates' events; a script that asks for what never comes is told so.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use anyhow::{Context as _, Result, bail, ensure};
use flate2::read::GzDecoder;
use leafgate_harness::answers::table::Guarded;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::admin::{Admin, Events};
use crate::gate::Gate;
use crate::http::Message;
use crate::intercept::Proxy;
use crate::model;
use crate::standing::Standing;
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
const LIVELY: [&str; 4] = ["--set", "limits.silence=200ms", "--set", "limits.keepalive=400ms"];
const QUIET: [&str; 4] = ["--set", "limits.silence=10m", "--set", "limits.keepalive=10m"];

/// Running gates with all that scripts need; they end with this value.
pub struct Stage {
    /// What a script is told: addresses by name.
    addresses: Value,
    upstream: Upstream,
    gates: Vec<Gate>,
    reviewers: Reviewers,
    /// Who has a gate that stands.
    person: Option<Arc<Standing>>,
    /// The policy, and other files that gates and scripts read.
    folder: TempDir,
}

impl Stage {
    /// Starts what libraries and agents need.
    ///
    /// # Errors
    /// When a gate does not start.
    pub fn open() -> Result<Self> {
        let mut stage = Stage::empty()?;
        let team = stage.file("team.json", model::team::FILE)?;
        let upstream = stage.upstream.url();
        stage.add("echo", "echo:", LIVELY, &[])?;
        stage.add("lively", &upstream, LIVELY, &[])?;
        stage.add("quiet", &upstream, QUIET, &[])?;
        stage.add("team", &upstream, LIVELY, &["--agents", &team])?;
        for guards in [Guarded::Calls, Guarded::Texts, Guarded::Values] {
            stage.file(&format!("{}/rules.toml", guards.name()), &guards.rules())?;
            stage.file(&format!("{}/alone.toml", guards.name()), "extends = \"none\"\n")?;
            stage.add_under(guards.name(), guards.name(), &upstream, LIVELY, &[])?;
        }
        stage.controlled()
    }

    /// Prepares what editors need.
    ///
    /// # Errors
    /// When no port is free.
    pub fn for_editors() -> Result<Self> {
        let mut stage = Stage::empty()?;
        let upstream = stage.upstream.url();
        let named = |name: &str, path: &str| {
            format!("[upstreams.{name}]\nurl = \"{upstream}{path}\"\nkind = \"copilot\"\n")
        };
        let policy = stage.folder.path().join("policy");
        let person = Standing::of(&format!(
            "policy = {policy:?}\n[limits]\nsilence = \"200ms\"\nkeepalive = \"400ms\"\n{}{}",
            named("copilot", ""),
            named("copilot-proxy", "/proxy"),
        ))?;
        stage.addresses["person"] = person.variables();
        stage.person = Some(Arc::new(person));
        let proxy = Proxy::before(stage.upstream.address())?;
        stage.addresses["proxy"] = json!(proxy.url());
        stage.addresses["certificate"] = json!(stage.file("authority.pem", proxy.certificate())?);
        stage.controlled()
    }

    fn empty() -> Result<Self> {
        let upstream = Upstream::answering(model::answer)?;
        let addresses = json!({ "upstream": upstream.url() });
        let folder = tempfile::tempdir()?;
        let (gates, reviewers) = (Vec::new(), BTreeMap::new());
        let stage = Stage { addresses, upstream, gates, reviewers, person: None, folder };
        stage.file("policy/rules.toml", POLICY)?;
        Ok(stage)
    }

    /// Writes a file; returns its path.
    fn file(&self, name: &str, text: &str) -> Result<String> {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().context("a file in no folder")?)?;
        std::fs::write(&path, text)?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// Starts a gate before an upstream.
    fn add(&mut self, name: &'static str, to: &str, pauses: [&str; 4], more: &[&str]) -> Result<()> {
        self.add_under("policy", name, to, pauses, more)
    }

    /// Starts a gate that has the policy of a folder.
    fn add_under(
        &mut self,
        policy: &str,
        name: &'static str,
        to: &str,
        pauses: [&str; 4],
        more: &[&str],
    ) -> Result<()> {
        let policy = self.folder.path().join(policy);
        let policy = policy.to_string_lossy();
        let gate = Gate::start(&[&["--policy", &policy, "--upstream", to], &pauses[..], more].concat())?;
        self.addresses[name] = json!(format!("http://{}", gate.address()));
        self.reviewers.insert(name, Arc::new(Reviewer::of(Admin::of(&gate)?)?));
        self.gates.push(gate);
        Ok(())
    }

    /// Lets a script control it.
    fn controlled(mut self) -> Result<Self> {
        let reviewers = Mutex::new(std::mem::take(&mut self.reviewers));
        let person = self.person.as_ref().map(Arc::downgrade).unwrap_or_default();
        let control = Control { left: self.upstream.requests(), reviewers, person };
        self.addresses["control"] = json!(Upstream::answering(move |call| Ok(control.answer(call)))?.url());
        Ok(self)
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
/// | `/standing/found` | finds the gate that stands now, which is the GATE `standing` from now on |
/// | `/standing/edit/OLD/NEW` | puts a word in the place of another one at the prompt, and lets the turn go from there |
struct Control {
    left: Requests,
    reviewers: Mutex<Reviewers>,
    /// Ends with the stage, which this outlives.
    person: Weak<Standing>,
}

/// Persons by the names of their gates.
type Reviewers = BTreeMap<&'static str, Arc<Reviewer>>;

/// The name of the gate that a person has.
const STANDING: &str = "standing";

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
        match path {
            [STANDING, "found"] => return self.find(),
            [STANDING, "edit", old, new] => return self.person()?.edits(old, new).map(|()| Value::Null),
            _ => {}
        }
        let reviewer = self.reviewers().get(gate).cloned().context("no gate of this name")?;
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

    fn find(&self) -> Result<Value> {
        let reviewer = Reviewer::of(self.person()?.admin()?)?;
        self.reviewers().insert(STANDING, Arc::new(reviewer));
        Ok(Value::Null)
    }

    fn person(&self) -> Result<Arc<Standing>> {
        self.person.upgrade().context("nobody has a gate that stands")
    }

    fn reviewers(&self) -> MutexGuard<'_, Reviewers> {
        self.reviewers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A person before one of the gates.
struct Reviewer {
    admin: Admin,
    events: Mutex<Events>,
}

impl Reviewer {
    fn of(admin: Admin) -> Result<Self> {
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

/// A request as scripts read it: what is packed is unpacked, for scripts that look for a word.
fn shown(request: &Message) -> Value {
    let mut unpacked = Vec::new();
    let is_packed = request.header("content-encoding") == Some("gzip")
        && GzDecoder::new(&*request.body).read_to_end(&mut unpacked).is_ok();
    json!({
        "method": request.start.split(' ').next(),
        "target": request.target(),
        "headers": request.headers,
        "body": String::from_utf8_lossy(if is_packed { &unpacked } else { &request.body }),
    })
}
