//! A client program as a child of this process: it has the terminal, gets the signals, and its end
//! is ours. And commands of settings, which have a time.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};
use tokio::signal::unix::{self, SignalKind};
use zeroize::Zeroizing;

use crate::exit::Exit;

/// Signals that end a program, or tell it something.
const PASSED: [(fn() -> SignalKind, Signal); 6] = [
    (SignalKind::interrupt, Signal::INT),
    (SignalKind::terminate, Signal::TERM),
    (SignalKind::hangup, Signal::HUP),
    (SignalKind::quit, Signal::QUIT),
    (SignalKind::user_defined1, Signal::USR1),
    (SignalKind::user_defined2, Signal::USR2),
];

/// What a shell answers with where a program is not found, and where it cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// A started program.
pub(crate) struct Program {
    child: Child,
    signals: tokio::sync::mpsc::UnboundedReceiver<Signal>,
}

/// Why a program did not start, and the exit code that says so.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub(crate) struct NotStarted {
    pub(crate) why: String,
    pub(crate) exit: Exit,
}

impl Program {
    /// Starts a program with these variables.
    pub(crate) fn start(
        command: &[OsString],
        variables: &[(&'static str, OsString)],
    ) -> anyhow::Result<Program> {
        let (program, arguments) = command.split_first().context("name a program to start")?;
        // Listened to before there is a child that they could be for.
        let signals = signals().context("cannot listen for signals")?;
        let started = Command::new(program).args(arguments).envs(variables.iter().cloned()).spawn();
        let child = started.map_err(|error| not_started(&program.to_string_lossy(), &error))?;
        Ok(Program { child, signals })
    }

    /// Returns its process.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Passes signals on until the program ends, and returns how it ended.
    pub(crate) async fn ended(mut self) -> anyhow::Result<Exit> {
        loop {
            tokio::select! {
                status = self.child.wait() => return Ok(exit(status.context("the program is lost")?)),
                Some(signal) = self.signals.recv() => self.pass(signal),
            }
        }
    }

    fn pass(&self, signal: Signal) {
        // Not waited for yet, so the number is still its own.
        let pid = self.child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        // Keys of a terminal go to all of its foreground group, and so to the program itself.
        let by_key = matches!(signal, Signal::INT | Signal::QUIT) && is_in_foreground();
        if let Some(pid) = pid.filter(|_| !by_key) {
            // It may just have ended.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Returns whether this process is in the foreground of its terminal.
fn is_in_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

fn signals() -> io::Result<tokio::sync::mpsc::UnboundedReceiver<Signal>> {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    for (kind, signal) in PASSED {
        let (mut coming, sender) = (unix::signal(kind())?, sender.clone());
        tokio::spawn(async move { while coming.recv().await.is_some() && sender.send(signal).is_ok() {} });
    }
    Ok(receiver)
}

pub(crate) fn not_started(program: &str, error: &io::Error) -> NotStarted {
    match error.kind() {
        io::ErrorKind::NotFound => NotStarted {
            why: format!("there is no program {program}: install it, or give its path"),
            exit: Exit::Program(NOT_FOUND),
        },
        _ => {
            // A folder looks to the system like a file that may not be run.
            let what_to_do = match Path::new(program).is_dir() {
                true => "it is a folder: name a program",
                false => "`chmod +x` lets it be run, where it is a program",
            };
            NotStarted {
                why: format!("{program} cannot be started: {error}; {what_to_do}"),
                exit: Exit::Program(NOT_RUN),
            }
        }
    }
}

/// Returns the exit code of a program; one that a signal ended has what shells give for it.
fn exit(status: ExitStatus) -> Exit {
    let by_signal = || status.signal().map(|signal| 128 + signal);
    let code = status.code().or_else(by_signal).and_then(|code| u8::try_from(code).ok());
    Exit::Program(code.unwrap_or(u8::MAX))
}

/// How long a command that was ended is waited for.
const MOMENT: Duration = Duration::from_secs(1);

/// Returns a command of the user's own, which reads nothing.
pub(crate) fn shell(command: &str) -> std::process::Command {
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).process_group(0);
    shell
}

/// Runs it, and returns what it wrote where its output is a pipe.
///
/// # Errors
/// When it fails, writes more than it may, or takes too long: then it is ended with all that it started.
pub(crate) fn within(
    time: Duration,
    most: u64,
    shell: &mut std::process::Command,
) -> anyhow::Result<Zeroizing<String>> {
    let mut child = shell.spawn().context("it cannot be run")?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // Where it has ended in this moment, there is nothing to end.
    let end = move || group.map(|group| kill_process_group(group, Signal::KILL));
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Zeroizing::new(String::new());
        let out = child.stdout.take();
        let read = out.map_or(Ok(0), |out| out.take(most + 1).read_to_string(&mut text));
        if read.is_err() || text.len() as u64 > most {
            // What it writes is read no further, and it is not waited for.
            end();
        }
        sender.send((read.map(|_| text), child.wait()))
    });
    let Ok((text, status)) = ended.recv_timeout(time) else {
        end();
        // No second one starts before this one is gone.
        let _ = ended.recv_timeout(MOMENT);
        bail!("it was ended after {} seconds", time.as_secs());
    };
    let (text, status) = (text.context("its output is no text")?, status?);
    ensure!(text.len() as u64 <= most, "it wrote more than {most} bytes");
    ensure!(status.success(), "it ended with {status}");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use tokio::sync::Mutex;

    use super::*;

    async fn run(command: &[&str]) -> Result<Exit, Exit> {
        let command: Vec<OsString> = command.iter().map(Into::into).collect();
        match Program::start(&command, &[("LEAFGATE_TEST", "7".into())]) {
            Ok(running) => Ok(running.ended().await.unwrap()),
            Err(error) => Err(error.downcast::<NotStarted>().unwrap().exit),
        }
    }

    /// A signal to this process reaches the programs of all its tests: one at a time runs them.
    static PROGRAMS: Mutex<()> = Mutex::const_new(());

    #[tokio::test]
    async fn the_exit_code_is_the_programs() {
        let _alone = PROGRAMS.lock().await;
        assert_eq!(run(&["sh", "-c", "exit $LEAFGATE_TEST"]).await, Ok(Exit::Program(7)));
        assert_eq!(run(&["sh", "-c", "kill -KILL $$"]).await, Ok(Exit::Program(137)));
        assert_eq!(run(&["/nowhere/program"]).await, Err(Exit::Program(NOT_FOUND)));
        assert_eq!(run(&["/"]).await, Err(Exit::Program(NOT_RUN)));
    }

    #[tokio::test]
    async fn a_signal_reaches_the_program() {
        let _alone = PROGRAMS.lock().await;
        // Reports that it can be told, so that the signal is not too early for its trap.
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        let script = "trap 'exit 5' TERM; : > \"$0\"; while :; do sleep 0.01; done";
        let command: Vec<OsString> =
            vec!["sh".into(), "-c".into(), script.into(), ready.clone().into_os_string()];
        let running = Program::start(&command, &[]).unwrap();
        tokio::spawn(async move {
            while !ready.exists() {
                tokio::task::yield_now().await;
            }
            kill_process(rustix::process::getpid(), Signal::TERM).unwrap();
        });
        assert_eq!(running.ended().await.unwrap(), Exit::Program(5));
    }

    #[test]
    fn a_command_is_bounded_in_time_and_in_what_it_writes() {
        let run = |command: &str, time| within(time, 4, shell(command).stdout(Stdio::piped()));
        let minute = Duration::from_secs(60);
        assert_eq!(run("echo abc", minute).unwrap().as_str(), "abc\n");
        for (command, time, said) in [
            ("echo abcd", minute, "it wrote more than 4 bytes"),
            // What it started goes on without a pipe, and is ended with it.
            ("echo abcd; exec >&-; sleep 600", minute, "it wrote more than 4 bytes"),
            ("printf '\\377abcd'; exec sleep 600", minute, "its output is no text"),
            ("exit 3", minute, "it ended with exit status: 3"),
            // Its output is at its end, and it goes on.
            ("exec >&-; exec sleep 600", Duration::from_millis(200), "it was ended after 0 seconds"),
        ] {
            assert_eq!(run(command, time).unwrap_err().to_string(), said);
        }
    }
}
