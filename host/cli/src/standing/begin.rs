//! How the standing gate is found as it should be, begins, and ends.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, bail};
use leafgate_admin::{RuntimeFile, StartedWith, Status};
use leafgate_words::words;
use rustix::process::{Pid, Signal, kill_process};

use super::kept::StandingRecord;
use super::{Need, Standing, ask, clients, port, setup};
use crate::kept::KeptRecord as _;
use crate::print::Printer;
use crate::{home, private, settings};

/// Where its standard error goes: what it says before its log is open, and its panics.
const ERRORS: &str = "standing.err";

/// How long one is waited for that does not answer any more.
const MOMENT: Duration = Duration::from_secs(10);

/// How long it may take to end: what is in flight is answered first.
const PATIENCE: Duration = Duration::from_secs(60);

words! {
    /// Why a gate that runs is another one than would be started now.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum GateMisfit {
        Upstreams = "for the models of your own",
        Settings = "for the settings as they are now",
        Program = "as it is another build of leafgate",
    }
    fn told = 0;
}

impl GateMisfit {
    /// Compares a gate with what it should be.
    fn of(gate: &RuntimeFile, status: &Status, kept: &StandingRecord) -> anyhow::Result<Option<GateMisfit>> {
        let has = |name: &str| status.upstreams.iter().any(|upstream| upstream.name == name);
        if !kept.upstreams.iter().all(|(_, name)| has(name)) {
            return Ok(Some(GateMisfit::Upstreams));
        }
        let now = started_with()?;
        Ok(match &gate.started_with {
            Some(then) if then.settings != now.settings => Some(GateMisfit::Settings),
            Some(then) if then.program == now.program => None,
            _ => Some(GateMisfit::Program),
        })
    }
}

impl Standing {
    /// Returns the gate that runs as it would be started now, or starts it.
    pub(crate) fn gate(&self, need: Need, printer: &mut Printer) -> anyhow::Result<Status> {
        let kept = StandingRecord::read(&self.data)?;
        let running = match self.find()? {
            Some(gate) => self.usable(&gate, &kept, need, printer)?,
            None => None,
        };
        let status = match running {
            Some(status) => status,
            None => self.begin(&kept, need, printer)?,
        };
        if need != Need::Program {
            self.stay(true)?;
        }
        Ok(status)
    }

    /// Returns how the gate is that runs, or ends it where another one is needed.
    fn usable(
        &self,
        gate: &RuntimeFile,
        kept: &StandingRecord,
        need: Need,
        printer: &mut Printer,
    ) -> anyhow::Result<Option<Status>> {
        let status = match ask(gate) {
            Ok(status) => status,
            // One that was killed, or is told to end, has its lock a little longer than its sockets.
            Err(_) if ends_within(self.runtime_file()?, MOMENT)? => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(misfit) = GateMisfit::of(gate, &status, kept)? else { return Ok(Some(status)) };
        let (listen, why) = (&gate.listen, misfit.told());
        match self.hindrance(&status, kept, need)? {
            None => {
                printer.error_line(&format!("leafgate: {listen} is started anew {why}"));
                self.end(gate)?;
                Ok(None)
            }
            // It guards as well as it did.
            Some(hindrance) if misfit == GateMisfit::Program => {
                printer.error_line(&format!(
                    "leafgate: {listen} should be started anew {why} (it is {}), and {hindrance}",
                    status.version
                ));
                Ok(Some(status))
            }
            Some(hindrance) => bail!("{listen} must be started anew {why}, and {hindrance}"),
        }
    }

    /// Returns why the gate that runs cannot be started anew.
    fn hindrance(
        &self,
        status: &Status,
        kept: &StandingRecord,
        need: Need,
    ) -> anyhow::Result<Option<String>> {
        Ok(if let Some(command) = &kept.service {
            Some(format!("a service keeps it: `{command}`, and try again, or `leafgate exec --own`"))
        } else if status.pending > 0 {
            Some(format!(
                "{} requests wait there for a person: decide about them (`leafgate review`), and try again",
                status.pending
            ))
        } else if clients::are_there(&self.data)? {
            Some("programs are behind it: end them, or start this one with `leafgate exec --own`".to_owned())
        } else if need == Need::Program && self.stays()? {
            Some(
                "it stands for others too: `leafgate stop` and `leafgate start`, or start this one with `leafgate exec --own`"
                    .to_owned(),
            )
        } else {
            None
        })
    }

    fn begin(&self, kept: &StandingRecord, need: Need, printer: &mut Printer) -> anyhow::Result<Status> {
        let settings = settings::of_user()?;
        // Whatever keeps it from starting is said here, and not in a file.
        setup(&settings)?;
        let place = port::choose(&settings, kept.port()?, need == Need::Editors || !kept.is_led())?;
        self.spawn(&place.address.to_string())?;
        let gate = self.find()?.context("the gate that was just started has ended")?;
        place.tell(&gate.listen, printer);
        ask(&gate)
    }

    /// Starts it and waits until it serves.
    fn spawn(&self, listen: &str) -> anyhow::Result<()> {
        let path = self.data.join(ERRORS);
        let errors = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        let errors = errors.with_context(|| format!("{} cannot be written", path.display()))?;
        let program = std::env::current_exe().context("this program cannot be found")?;
        let mut command = Command::new(program);
        for name in ["LEAFGATE_DATA_DIR", "LEAFGATE_RUNTIME_DIR", "LEAFGATE_CACHE_DIR"] {
            if let Some(folder) = home::variable(name) {
                command.env(name, std::path::absolute(folder)?);
            }
        }
        let child = command
            .args(["run", "--standing", "--listen", listen])
            // Whoever started this process is told nothing by another one.
            .env_remove("NOTIFY_SOCKET")
            // Where the starter was may be unmounted while it runs.
            .current_dir(&self.data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn();
        let mut child = child.context("the gate cannot be started")?;
        if first_line(&mut child).is_none() {
            let _ = child.wait();
            let said = std::fs::read_to_string(&path).unwrap_or_default();
            bail!("the gate has not started ({}): {}", path.display(), said.trim_end());
        }
        Ok(())
    }

    /// Ends it, and waits until it has.
    pub(crate) fn end(&self, gate: &RuntimeFile) -> anyhow::Result<()> {
        let pid = i32::try_from(gate.pid).ok().and_then(Pid::from_raw).context("it has no process id")?;
        // The file is locked by its gate alone, so the number is still its own.
        let Some(file) = self.runtime_file()? else { return Ok(()) };
        kill_process(pid, Signal::TERM)
            .with_context(|| format!("the gate {} cannot be ended", gate.listen))?;
        if !ends_within(Some(file), PATIENCE)? {
            bail!(
                "process {} has not ended within {} s: requests are still in flight",
                gate.pid,
                PATIENCE.as_secs()
            );
        }
        Ok(())
    }

    /// Opens the runtime file of the gate that runs.
    pub(super) fn runtime_file(&self) -> anyhow::Result<Option<File>> {
        let file = StandingRecord::read(&self.data)?.file.context("its runtime file is not known")?;
        Ok(private::if_there(File::open(file))?)
    }
}

/// Returns whether the gate ends in time whose runtime file this is; one without a file has ended.
fn ends_within(file: Option<File>, time: Duration) -> anyhow::Result<bool> {
    let Some(file) = file else { return Ok(true) };
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = ended.send(file.lock_shared());
    });
    match end.recv_timeout(time) {
        Ok(locked) => locked.map(|()| true).context("it cannot be seen whether it runs"),
        Err(_) => Ok(false),
    }
}

/// Returns the URL that a gate says once it serves; `None` where it ends before.
fn first_line(child: &mut Child) -> Option<String> {
    let mut line = String::new();
    BufReader::new(child.stdout.take()?).read_line(&mut line).ok()?;
    line.strip_suffix('\n').map(str::to_owned)
}

/// Returns what the standing gate would be started with now: this program, as it lies on disk, and the
/// user's settings.
pub(super) fn started_with() -> anyhow::Result<StartedWith> {
    Ok(StartedWith {
        program: home::keyed("program", program().as_bytes())?,
        settings: home::keyed("settings", &settings::of_user()?.identity())?,
    })
}

/// Builds of one version are told from each other by their files.
fn program() -> String {
    let file = std::env::current_exe().and_then(std::fs::metadata).ok();
    let size = file.as_ref().map(std::fs::Metadata::len);
    let time = file.and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    format!("{} {size:?} {time:?}", env!("CARGO_PKG_VERSION"))
}
