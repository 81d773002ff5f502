//! What the managers of services read, and the commands that they take.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::home;

const UNIT: &str = "leafgate.service";
/// Where packages put theirs (`cargo xtask package`).
const PACKAGED: &str = "/usr/lib/systemd/user/leafgate.service";
const LABEL: &str = "dev.leafgate.gate";

/// What runs services of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServiceKind {
    Systemd,
    Launchd,
}

/// The manager of this system, and the file by which it knows the gate.
pub(super) struct Manager {
    kind: ServiceKind,
    pub(super) file: PathBuf,
}

impl Manager {
    pub(super) fn of_system() -> anyhow::Result<Manager> {
        let home = || home::variable("HOME").context("HOME is not set: set it");
        if cfg!(target_os = "macos") {
            let file = home()?.join(format!("Library/LaunchAgents/{LABEL}.plist"));
            return Ok(Manager { kind: ServiceKind::Launchd, file });
        }
        let folder = match home::variable("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute()) {
            Some(folder) => folder,
            None => home()?.join(".config"),
        };
        Ok(Manager { kind: ServiceKind::Systemd, file: folder.join("systemd/user").join(UNIT) })
    }

    /// Returns the file that it reads: a person's own, or that of a package.
    pub(super) fn read(&self) -> Option<&Path> {
        let packaged = Some(Path::new(PACKAGED)).filter(|_| self.kind == ServiceKind::Systemd);
        [Some(&*self.file), packaged].into_iter().flatten().find(|file| file.exists())
    }

    /// Returns the name of its file.
    pub(super) fn name(&self) -> String {
        match self.kind {
            ServiceKind::Systemd => UNIT.to_owned(),
            ServiceKind::Launchd => format!("{LABEL}.plist"),
        }
    }

    /// Returns what the file says.
    pub(super) fn text(&self, program: &Path, variables: &[(String, String)]) -> anyhow::Result<String> {
        let program = program.to_str().context("the path of this program is no UTF-8")?;
        Ok(match self.kind {
            ServiceKind::Systemd => unit(program, variables),
            ServiceKind::Launchd => plist(program, variables),
        })
    }

    /// Returns the commands that have it start the gate, and wait for that unless another one goes on.
    pub(super) fn install(&self, another_goes_on: bool) -> Vec<Vec<String>> {
        match self.kind {
            ServiceKind::Systemd => {
                let restart: &[&str] =
                    if another_goes_on { &["--no-block", "restart", UNIT] } else { &["restart", UNIT] };
                [&["daemon-reload"][..], &["enable", UNIT], restart].map(systemctl).into()
            }
            ServiceKind::Launchd => {
                vec![words(&["launchctl", "bootstrap", &domain(), &self.file.to_string_lossy()])]
            }
        }
    }

    /// Returns the command that has it end the gate and forget it, and one for when the file is gone.
    pub(super) fn remove(&self) -> (Vec<String>, Option<Vec<String>>) {
        match self.kind {
            ServiceKind::Systemd => {
                (systemctl(&["disable", "--now", UNIT]), Some(systemctl(&["daemon-reload"])))
            }
            ServiceKind::Launchd => {
                (words(&["launchctl", "bootout", &format!("{}/{LABEL}", domain())]), None)
            }
        }
    }

    /// Returns the command that has a package's gate run, from each login on.
    pub(super) fn enable(&self) -> String {
        systemctl(&["enable", "--now", UNIT]).join(" ")
    }

    /// Returns the command that starts the gate anew.
    pub(super) fn restart(&self) -> String {
        match self.kind {
            ServiceKind::Systemd => systemctl(&["restart", UNIT]).join(" "),
            ServiceKind::Launchd => format!("launchctl kickstart -k {}/{LABEL}", domain()),
        }
    }
}

fn systemctl(arguments: &[&str]) -> Vec<String> {
    words(&[&["systemctl", "--user"], arguments].concat())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Where launchd keeps what a user runs who is logged in.
fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

/// A unit of systemd; packages install it too (`cargo xtask package`). Left out is what needs a namespace, which not every system
/// lets a user have, and `MemoryDenyWriteExecute`: plugins are compiled to machine code.
const USER_UNIT: &str = include_str!("user.service");

fn unit(program: &str, variables: &[(String, String)]) -> String {
    let mut environment = String::new();
    for (name, value) in variables {
        let _ = writeln!(environment, "Environment={}", quoted(&format!("{name}={value}")));
    }
    // The variables last: what they hold is filled in nowhere.
    let text = USER_UNIT.replace("@PROGRAM@", &quoted(program).replace('$', "$$"));
    let text = text.replace("@ENVIRONMENT@", &environment);
    format!("# Written by `leafgate service install`; `leafgate service remove` removes it.\n{text}")
}

/// Returns a word that systemd reads as this text.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"))
}

/// An agent of launchd.
fn plist(program: &str, variables: &[(String, String)]) -> String {
    let mut environment = String::new();
    for (name, value) in variables {
        let _ = write!(environment, "\n\t\t<key>{}</key>\n\t\t<string>{}</string>", xml(name), xml(value));
    }
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by `leafgate service install`; `leafgate service remove` removes it. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>{LABEL}</string>
	<key>ProgramArguments</key>
	<array>
		<string>{program}</string>
		<string>service</string>
		<string>run</string>
	</array>
	<key>EnvironmentVariables</key>
	<dict>{environment}
	</dict>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ProcessType</key>
	<string>Background</string>
	<key>Umask</key>
	<integer>63</integer>
</dict>
</plist>
"#,
        program = xml(program)
    )
}

/// Returns a text as XML has it.
fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each format would read as something else.
    const ODD: (&str, &str) = ("/opt/leaf gate/50%\"$x&<y>", "a \"b\" \\ 7% $HOME & <c>");

    fn text(kind: ServiceKind) -> String {
        let manager = Manager { kind, file: PathBuf::new() };
        let variables = [("LEAFGATE_DATA_DIR", "/data"), ("LEAFGATE_NOTIFY_COMMAND", ODD.1)];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        manager.text(Path::new(ODD.0), &variables).unwrap()
    }

    #[test]
    fn systemd_reads_a_unit() {
        insta::assert_snapshot!(text(ServiceKind::Systemd));
    }

    #[test]
    fn launchd_reads_an_agent() {
        insta::assert_snapshot!(text(ServiceKind::Launchd));
    }

    #[test]
    fn managers_are_called_in_their_own_words() {
        let [systemd, launchd] = [ServiceKind::Systemd, ServiceKind::Launchd]
            .map(|kind| Manager { kind, file: "/agents/x.plist".into() });
        let restart = |goes_on| systemd.install(goes_on).pop().unwrap().join(" ");
        assert_eq!(restart(false), "systemctl --user restart leafgate.service");
        assert_eq!(restart(true), "systemctl --user --no-block restart leafgate.service");
        let user = rustix::process::getuid().as_raw();
        let bootstrap = format!("launchctl bootstrap gui/{user} /agents/x.plist");
        assert_eq!(launchd.install(false)[0].join(" "), bootstrap);
        assert_eq!(launchd.remove().0.join(" "), format!("launchctl bootout gui/{user}/{LABEL}"));
    }
}
