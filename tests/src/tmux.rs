//! A program at a terminal of 80×24, driven by keys and read as a person reads it.
//!
//! Nothing sleeps: tmux passes the program's output on, and each piece of it is a reason to look at the screen again.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

/// Columns and rows.
const SIZE: (&str, &str) = ("80", "24");

/// How long a screen may take that must come. Only a fault reaches it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a screen may take to be drawn to its end.
const SETTLING: Duration = Duration::from_secs(10);

/// A terminal with a program in it; both end with this value.
pub struct Terminal {
    folder: TempDir,
    drawn: Receiver<()>,
}

/// Whether tmux can be called.
#[must_use]
pub fn is_there() -> bool {
    Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success())
}

impl Terminal {
    /// Starts a program with these variables in its environment, and waits for it to end only where [`Terminal`] is dropped.
    ///
    /// # Errors
    /// When tmux cannot be called.
    pub fn start(program: &Path, arguments: &[&str], environment: &[(&str, &OsStr)]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let pipe = folder.path().join("output");
        ensure!(Command::new("mkfifo").arg(&pipe).status()?.success(), "mkfifo failed");
        let (sender, drawn) = mpsc::channel();
        let terminal = Terminal { folder, drawn };
        // The program starts once its output is passed on, and the screen stays when it has ended.
        let script = "read -r _; stty sane; \"$@\"; echo \"ended with $?\"; exec cat";
        let mut command = terminal.tmux();
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", SIZE.0, "-y", SIZE.1]);
        for (name, value) in environment {
            let mut pair = std::ffi::OsString::from(format!("{name}="));
            pair.push(value);
            command.arg("-e").arg(pair);
        }
        command.args(["sh", "-c", script, "sh"]).arg(program).args(arguments);
        done(command.output()?)?;
        let reader = pipe.clone();
        std::thread::spawn(move || {
            let Ok(mut output) = File::open(reader) else { return };
            let mut piece = [0; 4096];
            while output.read(&mut piece).is_ok_and(|read| read > 0) && sender.send(()).is_ok() {}
        });
        terminal.call(&["pipe-pane", "-O", &format!("exec cat > '{}'", pipe.display())])?;
        terminal.call(&["send-keys", "Enter"])?;
        Ok(terminal)
    }

    /// Presses keys: names of tmux (`Enter`, `BTab`, `C-s`), or characters.
    ///
    /// # Errors
    /// When tmux has ended.
    pub fn press(&self, keys: &[&str]) -> Result<()> {
        self.call(&[&["send-keys"], keys].concat()).map(drop)
    }

    /// Types a text.
    ///
    /// # Errors
    /// When tmux has ended.
    pub fn types(&self, text: &str) -> Result<()> {
        self.call(&["send-keys", "-l", text]).map(drop)
    }

    /// Makes the terminal so large.
    ///
    /// # Errors
    /// When tmux has ended.
    pub fn resize(&self, columns: &str, rows: &str) -> Result<()> {
        self.call(&["resize-window", "-x", columns, "-y", rows]).map(drop)
    }

    /// What stands on the screen.
    ///
    /// # Errors
    /// When tmux has ended.
    pub fn screen(&self) -> Result<String> {
        self.call(&["capture-pane", "-p"])
    }

    /// The same with the escape sequences of its styles.
    ///
    /// # Errors
    /// When tmux has ended.
    pub fn styled(&self) -> Result<String> {
        self.call(&["capture-pane", "-p", "-e"])
    }

    /// The first screen that satisfies a condition.
    ///
    /// # Errors
    /// when none does for half a minute; the error shows the last one.
    pub fn until(&self, condition: impl Fn(&str) -> bool) -> Result<String> {
        match self.wait(condition, PATIENCE)? {
            (true, screen) => Ok(screen),
            (false, screen) => bail!("the screen that must come does not:\n{screen}"),
        }
    }

    /// The first screen that satisfies a condition, or the last one of these few seconds. For a comparison that says itself what is
    /// wrong: a screen is drawn in pieces, so its first sight may be half of it.
    ///
    /// # Errors
    /// When tmux has ended.
    pub fn settles(&self, condition: impl Fn(&str) -> bool) -> Result<String> {
        self.wait(condition, SETTLING).map(|(_, screen)| screen)
    }

    fn wait(&self, condition: impl Fn(&str) -> bool, patience: Duration) -> Result<(bool, String)> {
        // Clocks on the screen go on, so pieces of output alone are no sign of progress.
        let end = Instant::now() + patience;
        loop {
            let screen = self.screen()?;
            if condition(&screen) {
                return Ok((true, screen));
            }
            let left = end.saturating_duration_since(Instant::now());
            if self.drawn.recv_timeout(left).is_err() {
                return Ok((false, screen));
            }
        }
    }

    /// The first screen that shows a text.
    ///
    /// # Errors
    /// when none does for half a minute; the error shows the last one.
    pub fn shows(&self, text: &str) -> Result<String> {
        self.until(|screen| screen.contains(text)).with_context(|| format!("it must show `{text}`"))
    }

    fn call(&self, arguments: &[&str]) -> Result<String> {
        let output = self.tmux().args(arguments).output()?;
        done(output).with_context(|| format!("tmux {}", arguments.join(" ")))
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        // A server of our own, with no one's configuration; UTF-8 whatever the locale of the tests is.
        command.arg("-u").arg("-S").arg(self.folder.path().join("socket")).env_remove("TMUX");
        command
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Where the server has ended already, nothing is left to end.
        let _ = self.tmux().arg("kill-server").output();
    }
}

fn done(output: Output) -> Result<String> {
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
