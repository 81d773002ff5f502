//! A client that is started once behind a gate, to see what it asks.
//!
//! The gate's upstream is `echo:`, and what came is read from its log. Both are in a data folder of the
//! trials alone: one for all, so that a value which is redacted reads the same in each.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use leafgate_store::{Log, LogError};
use leafgate_tree::{Document, Format, Limits};
use tokio::io::AsyncReadExt as _;

use crate::client::KnownClient;
use crate::stop::Stop;
use crate::{home, log, private};

/// How long a client may take for one short answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the gate of a trial must have, whatever the user's settings say.
pub(super) const SWITCHED_ON: [&str; 2] = ["enabled", "store.enabled"];

/// More requests than a client makes for one question.
const MOST: usize = 100;

/// Returns the version of a client, if it is there.
pub(super) fn version(client: &KnownClient) -> Option<String> {
    let output = Command::new(client.name).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.lines().next().unwrap_or_default().trim().trim_end_matches('.').to_owned())
}

/// What came of a trial.
pub(super) struct DoctorTrial {
    /// The paths that were asked, and the bodies.
    seen: Vec<(String, Vec<u8>)>,
    /// `None` where the time was over.
    code: Option<i32>,
    said: String,
}

/// The data folder of trials, removed at their end.
pub(super) struct TrialFolder {
    folder: PathBuf,
    /// The last request of the trials so far.
    last: i64,
    /// A signal ends a trial, and then its folder goes too.
    stop: Stop,
}

impl TrialFolder {
    pub(super) fn make(stop: &Stop) -> anyhow::Result<TrialFolder> {
        let folder = home::data_folder()?.join(format!("doctor.{}", std::process::id()));
        // What an earlier process of this number left there is no trial's.
        private::if_there(fs::remove_dir_all(&folder))
            .with_context(|| format!("{} cannot be removed", folder.display()))?;
        private::make_folder(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        Ok(TrialFolder { folder, last: 0, stop: stop.clone() })
    }

    /// Starts a client with `leafgate exec`.
    pub(super) async fn run(&mut self, known: &KnownClient, question: &str) -> anyhow::Result<DoctorTrial> {
        let program = std::env::current_exe().context("this program cannot be found")?;
        let mut command = tokio::process::Command::new(program);
        command
            .args(["exec", "--policy", "default", "--upstream", "echo:"])
            .args(SWITCHED_ON.iter().flat_map(|key| ["--set".to_owned(), format!("{key}=true")]))
            .arg(known.name)
            .args(&known.once)
            .arg(question)
            .env("LEAFGATE_DATA_DIR", &self.folder)
            .env("LEAFGATE_RUNTIME_DIR", self.folder.join("run"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().context("this program cannot be started")?;
        let output = async {
            let mut said = Vec::new();
            if let Some(stderr) = &mut child.stderr {
                stderr.read_to_end(&mut said).await?;
            }
            std::io::Result::Ok((child.wait().await?.code(), String::from_utf8_lossy(&said).into_owned()))
        };
        let ended = tokio::select! {
            ended = tokio::time::timeout(PATIENCE, output) => ended.ok(),
            () = self.stop.requested() => None,
        };
        // It writes to the folder until it is gone; it may be.
        let _ = child.kill().await;
        if self.stop.is_requested() {
            bail!("a signal ended the trial: start `leafgate doctor` anew");
        }
        let (code, said) = ended.transpose().context("the trial is lost")?.unwrap_or_default();
        let mut trial = DoctorTrial { seen: Vec::new(), code, said };
        match self.seen() {
            // It was not started, and says why.
            Err(_) if trial.refusal().is_some() => {}
            seen => trial.seen = seen?,
        }
        Ok(trial)
    }

    /// Returns what has come since the last look.
    fn seen(&mut self) -> Result<Vec<(String, Vec<u8>)>, LogError> {
        let folder = self.folder.join(log::FOLDER);
        if !folder.is_dir() {
            // No gate was started.
            return Ok(Vec::new());
        }
        let log = Log::open(&folder)?;
        let lines = log.after(self.last, MOST)?;
        self.last = lines.last().map_or(self.last, |line| line.id);
        lines.into_iter().map(|line| Ok((line.path, log.show(line.id)?.body.0))).collect()
    }
}

impl Drop for TrialFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Paths that a client asks a model by.
const MODELS: [&str; 4] = ["/messages", "/responses", "/chat/completions", ":streamGenerateContent"];

impl DoctorTrial {
    /// Returns the body of the largest question to a model: the others are about titles and tokens.
    pub(super) fn prompt(&self) -> Option<&[u8]> {
        let asked = self.seen.iter().filter(|(path, _)| MODELS.iter().any(|model| path.ends_with(model)));
        asked.map(|(_, body)| &body[..]).max_by_key(|body| body.len())
    }

    /// Returns the paths that were asked for, each once.
    pub(super) fn paths(&self) -> String {
        let paths: BTreeSet<&str> = self.seen.iter().map(|(path, _)| path.as_str()).collect();
        Vec::from_iter(paths).join(", ")
    }

    /// Returns why `exec` did not start it. The client's own words are left out.
    pub(super) fn refusal(&self) -> Option<String> {
        let own = self.said.lines().rev().find_map(|line| line.strip_prefix("leafgate: "));
        own.filter(|_| self.code == Some(2)).map(str::to_owned)
    }

    pub(super) fn ending(&self) -> String {
        match self.code {
            Some(code) => format!("exit code {code}"),
            None => format!("it took longer than {} s", PATIENCE.as_secs()),
        }
    }
}

/// Members that make up a prompt, which providers cache from its beginning.
const PROMPT: &str = "instructions input messages system tools contents systemInstruction system_instruction";

/// What two runs are asked: what differs because of it is no fault of the client.
pub(super) const QUESTIONS: [&str; 2] = ["Say hello to Ann.", "Say goodbye to Bob."];

/// Most places that are named.
const NAMED: usize = 5;

/// Returns where the prompts of two requests differ, leaf by leaf, as far as both have the same
/// shape.
pub(super) fn changing(one: &[u8], other: &[u8]) -> Vec<String> {
    let (one, other) = (leaves(one), leaves(other));
    let pairs = one.iter().zip(&other).take_while(|((one, _), (other, _))| one == other);
    let differ = |one: &str, other: &str| {
        one != other && !(one.contains(QUESTIONS[0]) && other.contains(QUESTIONS[1]))
    };
    pairs
        .filter(|((_, one), (_, other))| differ(one, other))
        .map(|((pointer, _), _)| pointer.clone())
        .take(NAMED)
        .collect()
}

/// Returns whether the log masks something of a prompt.
pub(super) fn is_masked(body: &[u8]) -> bool {
    leaves(body).iter().any(|(pointer, text)| pointer.contains('‹') || text.contains('‹'))
}

/// Returns the texts that a model reads, with their places; none of a body that is no JSON.
fn leaves(body: &[u8]) -> Vec<(String, String)> {
    let document = Document::parse(Bytes::copy_from_slice(body), Format::Generic, &Limits::default());
    let Ok(document) = document else { return Vec::new() };
    let leaves = document.leaves().map(|leaf| (document.pointer(leaf.id()), leaf.text().expose().to_owned()));
    leaves.filter(|(pointer, _)| is_read(pointer)).collect()
}

/// Returns whether a model reads what stands there: ids and metadata are the client's own.
fn is_read(pointer: &str) -> bool {
    let is_own = pointer.ends_with("/id") || pointer.contains("metadata");
    // Code Assist has the request within a wrapper.
    let within = pointer.strip_prefix("/request/").or_else(|| pointer.strip_prefix('/'));
    let part = within.and_then(|within| within.split('/').next());
    part.is_some_and(|part| PROMPT.split(' ').any(|known| known == part)) && !is_own
}

/// Returns whether a prompt has the line by which Claude Code's requests are billed.
pub(super) fn has_billing_line(body: &[u8]) -> bool {
    String::from_utf8_lossy(body).contains("x-anthropic-billing-header")
}
