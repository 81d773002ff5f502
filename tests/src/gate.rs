//! The built binary: found or built once, run as a gate on a free port, or called for one command.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

use crate::http::Client;
use crate::paths;

/// How long a test waits for a line of log that must come. Only a fault reaches it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where running gates are found, below a data directory: a test finds its own gates and no developer's.
pub(crate) const RUNTIME: &str = "run";

/// This checkout's binary, or why it does not build.
static BINARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();

/// Says where the binary is, for a program that has just built it: to build it again, alone, may choose other features.
pub fn is_built(binary: PathBuf) {
    // Where it was built already, it was built from the same sources.
    let _ = BINARY.set(Ok(binary));
}

/// What has the binary keep everything in a data directory, and read no developer's own settings.
#[must_use]
pub fn variables(data: &Path) -> [(&'static str, OsString); 4] {
    [
        ("LEAFGATE_DATA_DIR", data.into()),
        ("LEAFGATE_RUNTIME_DIR", data.join(RUNTIME).into()),
        ("XDG_CONFIG_HOME", data.into()),
        ("NO_COLOR", "1".into()),
    ]
}

/// The binary under test: `LEAFGATE_BIN`, or this checkout's, built by cargo where it is not up to date.
///
/// # Errors
/// When it does not build.
pub fn binary() -> Result<PathBuf> {
    if let Some(binary) = std::env::var_os("LEAFGATE_BIN") {
        return Ok(PathBuf::from(binary));
    }
    BINARY.get_or_init(|| build().map_err(|error| format!("{error:#}"))).clone().map_err(anyhow::Error::msg)
}

/// The cargo that runs the tests, in the root and as from a shell: what it told a test of its own package would have build scripts
/// that look at it run again, and all that stands on them built again.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let shown = name.to_string_lossy();
        if shown.starts_with("CARGO_PKG_") || shown.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command.current_dir(paths::root());
    command
}

fn build() -> Result<PathBuf> {
    let status = cargo().args(["build", "--quiet", "--workspace", "--bin", "leafgate"]).status()?;
    ensure!(status.success(), "`cargo build --workspace --bin leafgate` failed");
    Ok(paths::target().join("debug/leafgate"))
}

/// A running gate; it ends with this value.
pub struct Gate {
    process: Running,
    address: SocketAddr,
    runtime: PathBuf,
    log: Arc<Log>,
    /// Holds the installation key, where it is of this gate alone.
    _data: Option<TempDir>,
}

/// What the gate wrote to standard error so far.
#[derive(Default)]
struct Log {
    text: Mutex<String>,
    grown: Condvar,
}

impl Gate {
    /// Starts `leafgate run` on a free port with these further arguments, and waits until it listens.
    ///
    /// # Errors
    /// When it ends instead of listening; the error holds what it said.
    pub fn start<A: AsRef<OsStr>>(arguments: &[A]) -> Result<Self> {
        let data = tempfile::tempdir()?;
        let gate = Gate::start_in(data.path(), arguments)?;
        Ok(Gate { _data: Some(data), ..gate })
    }

    /// Starts one before `echo:` with the policy of a folder.
    ///
    /// # Errors
    /// When it ends instead of listening; the error holds what it said.
    pub fn of(policy: &Path) -> Result<Self> {
        Gate::start(&["--policy".as_ref(), policy.as_os_str(), "--upstream".as_ref(), "echo:".as_ref()])
    }

    /// The same, with a data directory that outlives the gate: one installation, the same tokens.
    ///
    /// # Errors
    /// When it ends instead of listening; the error holds what it said.
    pub fn start_in<A: AsRef<OsStr>>(data: &Path, arguments: &[A]) -> Result<Self> {
        let mut process = Command::new(binary()?)
            .args(["run", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .envs(variables(data))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("the gate cannot be started")?;
        let log = Arc::new(Log::default());
        let follower = log.follow(process.stderr.take().context("no standard error")?);
        let mut out = BufReader::new(process.stdout.take().context("no standard output")?);
        let mut first = String::new();
        out.read_line(&mut first)?;
        let Some(address) = address(&first) else {
            let status = process.wait()?;
            // The pipe has ended with its process, so this ends too, and nothing of what it said is missing.
            let _ = follower.join();
            bail!("the gate did not start ({status}):\n{}{first}", log.text());
        };
        let runtime = data.join(RUNTIME).join(format!("gate-{}.json", address.port()));
        Ok(Gate { process: Running(process), address, runtime, log, _data: None })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The file that says where its admin API is.
    #[must_use]
    pub fn runtime_file(&self) -> &Path {
        &self.runtime
    }

    /// A new connection to it.
    ///
    /// # Errors
    /// When it does not accept.
    pub fn client(&self) -> Result<Client> {
        Client::connect(self.address)
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.0.id()
    }

    /// Its resident memory in KiB, where the system tells.
    ///
    /// # Errors
    /// When it tells something else.
    pub fn memory(&self) -> Result<Option<usize>> {
        self.status_line("VmRSS:")
    }

    /// The most that it ever had resident, in KiB, where the system tells.
    ///
    /// # Errors
    /// When it tells something else.
    pub fn peak_memory(&self) -> Result<Option<usize>> {
        self.status_line("VmHWM:")
    }

    fn status_line(&self, name: &str) -> Result<Option<usize>> {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", self.pid())) else {
            return Ok(None);
        };
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let line = line.with_context(|| format!("the status of the process has no {name}"))?;
        Ok(line.split_whitespace().next().and_then(|size| size.parse().ok()))
    }

    /// What it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Waits until the log satisfies a condition.
    ///
    /// # Errors
    /// When it does not within half a minute.
    pub fn wait_for_log(&self, condition: impl Fn(&str) -> bool) -> Result<String> {
        let text = self.log.text.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.log.grown.wait_timeout_while(text, PATIENCE, |text| !condition(text));
        let (text, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        ensure!(!timeout.timed_out(), "the log does not say what it must:\n{text}");
        Ok(text.clone())
    }
}

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Log {
    fn follow(self: &Arc<Self>, stream: std::process::ChildStderr) -> std::thread::JoinHandle<()> {
        let log = Arc::clone(self);
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let mut text = log.text.lock().unwrap_or_else(PoisonError::into_inner);
                text.push_str(&line);
                text.push('\n');
                log.grown.notify_all();
            }
        })
    }

    fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The address in the line with which a gate reports that it listens.
fn address(line: &str) -> Option<SocketAddr> {
    let words = line
        .split_whitespace()
        .map(|word| word.trim_start_matches("http://").trim_end_matches(['/', '.', ',', ';']));
    words.into_iter().find_map(|word| word.parse().ok())
}

/// Runs one command of the binary with this standard input, to its end.
///
/// # Errors
/// When it cannot be started.
pub fn run<A: AsRef<OsStr>>(arguments: &[A], input: &[u8]) -> Result<Output> {
    let data = tempfile::tempdir()?;
    run_in(data.path(), arguments, input)
}

/// The same, with a data directory that outlives the command: one installation, the same tokens.
///
/// # Errors
/// When it cannot be started.
pub fn run_in<A: AsRef<OsStr>>(data: &Path, arguments: &[A], input: &[u8]) -> Result<Output> {
    let mut process = Command::new(binary()?)
        .args(arguments)
        .envs(variables(data))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("the binary cannot be started")?;
    let mut stdin = process.stdin.take().context("no standard input")?;
    let mut stderr = process.stderr.take().context("no standard error")?;
    let said = std::thread::spawn(move || {
        let mut said = Vec::new();
        stderr.read_to_end(&mut said).map(|_| said)
    });
    let mut out = process.stdout.take().context("no standard output")?;
    let stdout = std::thread::scope(|scope| {
        // A command that refuses its arguments reads no input.
        scope.spawn(move || stdin.write_all(input).ok());
        let mut written = Vec::new();
        out.read_to_end(&mut written).map(|_| written)
    })?;
    let stderr = said.join().map_err(|_| anyhow::anyhow!("reading standard error failed"))??;
    Ok(Output { status: process.wait()?, stdout, stderr })
}
