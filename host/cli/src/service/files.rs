//! What the managers of services read, and the commands that they take.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::home;

const UNIT: &str = "leafgate.service";
/// Where packages put theirs (`cargo xtask package`).
const PACKAGED: &str = "/usr/lib/systemd/user/leafgate.service";
const LABEL: &str = "dev.leafgate.gate";
const PLIST: &str = "dev.leafgate.gate.plist";

/// A command, word by word.
type Call = Vec<String>;

/// What runs services of a user, how it is told of the gate, and the commands that it takes.
pub(super) struct Manager {
    /// The file by which it knows the gate.
    pub(super) file: PathBuf,
    /// The name of that.
    pub(super) name: &'static str,
    /// Where a package has one of its own.
    packaged: Option<&'static str>,
    /// What the file says of a program with its variables.
    text: fn(&str, &[(String, String)]) -> String,
    /// Have it start the gate, and wait for that.
    pub(super) start: Vec<Call>,
    /// Have it start the gate once another one has ended, without waiting.
    pub(super) start_later: Vec<Call>,
    /// Has it end the gate and forget it.
    pub(super) end: Call,
    /// What follows once the file is gone.
    pub(super) forget: Option<Call>,
    /// Starts the gate anew.
    restart: Call,
}

impl Manager {
    pub(super) fn of_system() -> anyhow::Result<Manager> {
        let home = home::variable("HOME");
        let manager = match cfg!(target_os = "macos") {
            true => home.map(|home| Manager::launchd(&home)),
            false => home::of_user(&home::variable, "XDG_CONFIG_HOME", ".config")
                .map(|folder| Manager::systemd(&folder)),
        };
        manager.context("HOME is not set: set it")
    }

    fn systemd(folder: &Path) -> Manager {
        let begin = [&["daemon-reload"][..], &["enable", UNIT]].map(systemctl);
        let restart = systemctl(&["restart", UNIT]);
        Manager {
            file: folder.join("systemd/user").join(UNIT),
            name: UNIT,
            packaged: Some(PACKAGED),
            text: unit,
            start: [&begin[..], std::slice::from_ref(&restart)].concat(),
            start_later: [&begin[..], &[systemctl(&["--no-block", "restart", UNIT])]].concat(),
            end: systemctl(&["disable", "--now", UNIT]),
            forget: Some(systemctl(&["daemon-reload"])),
            restart,
        }
    }

    fn launchd(home: &Path) -> Manager {
        // Where it keeps what a user runs who is logged in.
        let domain = format!("gui/{}", rustix::process::getuid().as_raw());
        let file = home.join("Library/LaunchAgents").join(PLIST);
        let service = format!("{domain}/{LABEL}");
        let start = vec![words(&["launchctl", "bootstrap", &domain, &file.to_string_lossy()])];
        Manager {
            file,
            name: PLIST,
            packaged: None,
            text: plist,
            start_later: start.clone(),
            start,
            end: words(&["launchctl", "bootout", &service]),
            forget: None,
            restart: words(&["launchctl", "kickstart", "-k", &service]),
        }
    }

    /// Returns the file that it reads: a person's own, or that of a package.
    pub(super) fn read(&self) -> Option<&Path> {
        [Some(&*self.file), self.packaged.map(Path::new)].into_iter().flatten().find(|file| file.exists())
    }

    /// Returns what the file says.
    pub(super) fn text(&self, program: &Path, variables: &[(String, String)]) -> anyhow::Result<String> {
        let program = program.to_str().context("the path of this program is no UTF-8")?;
        Ok((self.text)(program, variables))
    }

    /// Returns the command that has a package's gate run, from each login on.
    pub(super) fn enable(&self) -> String {
        systemctl(&["enable", "--now", UNIT]).join(" ")
    }

    /// Returns the command that starts the gate anew.
    pub(super) fn restart(&self) -> String {
        self.restart.join(" ")
    }
}

fn systemctl(arguments: &[&str]) -> Vec<String> {
    words(&[&["systemctl", "--user"], arguments].concat())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A unit of systemd; packages install it too (`cargo xtask package`). Left out is what needs a namespace, which not every system
/// lets a user have, and `MemoryDenyWriteExecute`: plugins are compiled to machine code.
const USER_UNIT: &str = include_str!("user.service");

fn unit(program: &str, variables: &[(String, String)]) -> String {
    let mut environment = String::new();
    for (name, value) in variables {
        let _ = writeln!(environment, "Environment={}", quoted(&format!("{name}={value}")));
    }
    let text = filled(USER_UNIT, &quoted(program).replace('$', "$$"), &environment);
    format!("# Written by `leafgate service install`; `leafgate service remove` removes it.\n{text}")
}

/// Returns a word that systemd reads as this text.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"))
}

/// An agent of launchd.
const AGENT: &str = include_str!("agent.plist");

fn plist(program: &str, variables: &[(String, String)]) -> String {
    let mut environment = String::new();
    for (name, value) in variables {
        let _ = write!(environment, "\n\t\t<key>{}</key>\n\t\t<string>{}</string>", xml(name), xml(value));
    }
    filled(AGENT, &xml(program), &environment)
}

/// Returns a file with the program and its variables in it. Marks within these are none.
fn filled(file: &str, program: &str, environment: &str) -> String {
    let (begin, rest) = file.split_once("@PROGRAM@").expect("a file has a place for the program");
    let (between, end) = rest.split_once("@ENVIRONMENT@").expect("a file has a place for its variables");
    [begin, program, between, environment, end].concat()
}

/// Returns a text as XML has it.
fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each format would read as something else.
    const ODD: (&str, &str) = ("/opt/leaf gate@ENVIRONMENT@/50%\"$x&<y>", "a \"b\" \\ 7% $HOME & <c>");

    fn text(manager: &Manager) -> String {
        let variables = [("LEAFGATE_DATA_DIR", "/data"), ("LEAFGATE_NOTIFY_COMMAND", ODD.1)];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        manager.text(Path::new(ODD.0), &variables).unwrap()
    }

    #[test]
    fn systemd_reads_a_unit() {
        insta::assert_snapshot!(text(&Manager::systemd(Path::new("/config"))));
    }

    #[test]
    fn launchd_reads_an_agent() {
        insta::assert_snapshot!(text(&Manager::launchd(Path::new("/home"))));
        assert!(AGENT.contains(&format!("<string>{LABEL}</string>")), "it is ended by the name that it has");
    }

    #[test]
    fn managers_are_called_in_their_own_words() {
        let [systemd, launchd] = [Manager::systemd, Manager::launchd].map(|make| make(Path::new("/x")));
        let last = |calls: &[Call]| calls.last().unwrap().join(" ");
        assert_eq!(last(&systemd.start), "systemctl --user restart leafgate.service");
        assert_eq!(last(&systemd.start_later), "systemctl --user --no-block restart leafgate.service");
        let user = rustix::process::getuid().as_raw();
        let bootstrap = format!("launchctl bootstrap gui/{user} /x/Library/LaunchAgents/{LABEL}.plist");
        assert_eq!(last(&launchd.start), bootstrap);
        assert_eq!(launchd.end.join(" "), format!("launchctl bootout gui/{user}/{LABEL}"));
    }
}
