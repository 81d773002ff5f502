//! A client that is started once behind a gate, to see what it asks.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use leafgate_tree::{Document, Format, Limits};

use super::probe::{DoctorProbe, SeenRequest};
use crate::client::KnownClient;
use crate::{home, private};

/// How long a client may take for one short answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the version of a client, if it is there.
pub(super) fn version(client: KnownClient) -> Option<String> {
    let output = Command::new(client.name).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.lines().next().unwrap_or_default().trim().trim_end_matches('.').to_owned())
}

/// What came of a trial.
pub(super) struct DoctorTrial {
    seen: Vec<SeenRequest>,
    /// `None` where the time was over.
    code: Option<i32>,
    said: String,
}

/// Starts a client with `leafgate exec`, in folders of its own.
pub(super) async fn run(known: KnownClient, question: &str) -> anyhow::Result<DoctorTrial> {
    let probe = DoctorProbe::start().await?;
    let folder = Folder::make()?;
    let program = std::env::current_exe().context("this program cannot be found")?;
    let mut command = tokio::process::Command::new(program);
    command
        .args(["exec", "--policy", "default", "--upstream", &probe.url(), known.name])
        .args(known.once)
        .arg(question)
        .env("LEAFGATE_DATA_DIR", &folder.0)
        .env("LEAFGATE_RUNTIME_DIR", folder.0.join("run"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let child = command.spawn().context("this program cannot be started")?;
    let ended = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    let (code, said) = match ended {
        Ok(output) => {
            let output = output.context("the trial is lost")?;
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        }
        Err(_) => (None, String::new()),
    };
    Ok(DoctorTrial { seen: probe.seen(), code, said })
}

/// A folder of one trial, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn make() -> anyhow::Result<Folder> {
        let folder = home::data_folder()?.join(format!("doctor.{}", std::process::id()));
        private::make_folder(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Paths that a client asks a model by.
const MODELS: [&str; 4] = ["/messages", "/responses", "/chat/completions", ":streamGenerateContent"];

impl DoctorTrial {
    /// Returns the body of the largest question to a model: the others are about titles and tokens.
    pub(super) fn prompt(&self) -> Option<&[u8]> {
        let asked = self.seen.iter().filter(|seen| MODELS.iter().any(|model| seen.path.ends_with(model)));
        asked.max_by_key(|seen| seen.body.len()).map(|seen| &seen.body[..])
    }

    /// Returns the paths that were asked for.
    pub(super) fn paths(&self) -> Vec<String> {
        self.seen.iter().map(|seen| seen.path.clone()).collect::<BTreeSet<_>>().into_iter().collect()
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
const PROMPT: [&str; 9] = [
    "/instructions",
    "/input",
    "/messages",
    "/system",
    "/tools",
    "/contents",
    "/request/contents",
    "/request/systemInstruction",
    "/request/tools",
];

/// What two runs are asked: what differs because of it is no fault of the client.
pub(super) const QUESTIONS: [&str; 2] = ["Say hello to Ann.", "Say goodbye to Bob."];

/// Most places that are named.
const NAMED: usize = 5;

/// Returns where the prompts of two requests differ, leaf by leaf, as far as both have the same
/// shape.
pub(super) fn changing(one: &[u8], other: &[u8]) -> Vec<String> {
    let read =
        |body: &[u8]| Document::parse(Bytes::copy_from_slice(body), Format::Generic, &Limits::default()).ok();
    let (Some(one), Some(other)) = (read(one), read(other)) else { return Vec::new() };
    let leaves = |document: &Document| {
        let leaves =
            document.leaves().map(|leaf| (document.pointer(leaf.id()), leaf.text().expose().to_owned()));
        leaves.filter(|(pointer, _)| is_read(pointer)).collect::<Vec<_>>()
    };
    let (one, other) = (leaves(&one), leaves(&other));
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

/// Returns whether a model reads what stands there: ids and metadata are the client's own.
fn is_read(pointer: &str) -> bool {
    let is_own = pointer.ends_with("/id") || pointer.contains("metadata");
    PROMPT.iter().any(|part| pointer.starts_with(part)) && !is_own
}

/// Returns whether a prompt has the line by which Claude Code's requests are billed.
pub(super) fn has_billing_line(body: &[u8]) -> bool {
    String::from_utf8_lossy(body).contains("x-anthropic-billing-header")
}
