//! `vscode` and the gate that stands: settings lead to it, are given back to the byte, and it is one.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use crate::support::{Bench, Ran};

/// A home with VS Code in it, and the gate that stands there, which ends with it.
struct Home(Bench);

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.command(&["stop", "--force"]).output();
    }
}

const SETTINGS: &str = "home/.config/Code/User/settings.json";

impl Home {
    fn new() -> Home {
        let bench = Bench::new();
        fs::create_dir_all(bench.path().join(SETTINGS).parent().unwrap()).unwrap();
        Home(bench)
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.0.command(args);
        // No port that another test, or the machine's own gate, may have.
        command.env("HOME", self.0.path().join("home")).env("LEAFGATE_LISTEN", "127.0.0.1:0");
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.0.run_command(self.command(args), "")
    }

    /// Runs a command that succeeds.
    fn done(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.shown());
        ran
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The URL of the gate that stands.
    fn gate(&self) -> String {
        let kept: serde_json::Value = serde_json::from_str(&self.read("data/standing.json")).unwrap();
        kept["url"].as_str().unwrap().to_owned()
    }
}

#[test]
fn settings_lead_to_the_gate_until_they_are_given_back() {
    let home = Home::new();
    let own = "\u{feff}{\r\n\t// mine\r\n\t\"a\": 1,\r\n}";
    home.0.file(SETTINGS, own);
    let profile = home.0.file("home/.config/Code/User/profiles/p/settings.json", "{}");
    let models =
        r#"[{ "vendor": "customendpoint", "models": [{ "id": "m", "url": "https://a.example/v1" }] }]"#;
    let models_file = home.0.file("home/.config/Code/User/chatLanguageModels.json", models);
    home.0.file("home/machine.json", "{}");
    fs::create_dir_all(home.path("home/.vscode-server/data/Machine")).unwrap();
    symlink(home.path("home/machine.json"), home.path("home/.vscode-server/data/Machine/settings.json"))
        .unwrap();
    fs::create_dir_all(home.path("home/.local/share/code-server/User")).unwrap();
    let led = home.done(&["vscode", "on"]);
    let gate = home.gate();
    let said = led.out.replace(&gate, "GATE").replace(&home.0.path().display().to_string(), "");
    insta::assert_snapshot!(said);
    for file in [&home.path(SETTINGS), &profile, &home.path("home/machine.json")] {
        assert!(
            fs::read_to_string(file).unwrap().contains(&format!("\"{gate}/u/copilot\"")),
            "{}",
            file.display()
        );
    }
    assert!(
        fs::read_to_string(&models_file)
            .unwrap()
            .contains(&format!("\"{gate}/u/own-a-example/v1/chat/completions\""))
    );
    home.done(&["vscode", "status"]);
    let status: serde_json::Value = home.done(&["status", "--json"]).json();
    let upstreams: Vec<_> =
        status["upstreams"].as_array().unwrap().iter().map(|one| one["prefix"].as_str().unwrap()).collect();
    for prefix in ["/u/copilot", "/u/copilot-proxy", "/u/own-a-example", "/u/openai"] {
        assert!(upstreams.contains(&prefix), "{prefix}: {upstreams:?}");
    }
    let before = home.read(SETTINGS);
    home.done(&["vscode", "on"]);
    assert_eq!((home.read(SETTINGS), home.gate()), (before, gate), "twice is once");
    home.done(&["vscode", "off"]);
    assert_eq!(home.read(SETTINGS), own);
    assert_eq!(fs::read_to_string(&profile).unwrap(), "{}");
    assert_eq!(fs::read_to_string(&models_file).unwrap(), models);
    assert!(!home.path("home/.local/share/code-server/User/settings.json").exists());
    assert!(
        fs::symlink_metadata(home.path("home/.vscode-server/data/Machine/settings.json"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(home.run(&["vscode", "status"]).code, 1);
}

#[test]
fn nothing_is_changed_where_one_file_cannot_be() {
    let home = Home::new();
    assert!(home.run(&["vscode", "on", "--user-data-dir", "file/none"]).code == 0, "a folder is made");
    home.done(&["vscode", "off"]);
    assert!(!home.path("file/none/User/settings.json").exists());
    let home = Home::new();
    let other = home.0.file("home/.config/VSCodium/User/settings.json", "{}");
    for (text, mode, words) in [
        ("{ \"a\": quoted }", 0o644, "line 1 is no JSON"),
        ("{}", 0o444, "read-only"),
        ("[]", 0o644, "an object"),
    ] {
        let file = home.0.file(SETTINGS, text);
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let ran = home.run(&["vscode", "on"]);
        assert_eq!(ran.code, 2, "{}", ran.shown());
        assert!(ran.err.contains(words) && ran.err.contains("Code/User/settings.json"), "{}", ran.err);
        assert!(!ran.err.contains("quoted"), "{}", ran.err);
        assert_eq!(
            (home.read(SETTINGS).as_str(), fs::read_to_string(&other).unwrap().as_str()),
            (text, "{}")
        );
        let runs = fs::read_dir(home.path("data/run")).is_ok_and(|mut files| files.next().is_some());
        assert!(!runs, "no gate was started for nothing");
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn one_gate_stands_however_many_start_it_and_at_the_same_place() {
    let home = Home::new();
    let starts: Vec<_> = (0..4)
        .map(|_| {
            let mut start = home.command(&["start"]);
            start.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let said: Vec<_> = starts.into_iter().map(|start| start.wait_with_output().unwrap()).collect();
    let gate = home.gate();
    for output in &said {
        assert!(String::from_utf8_lossy(&output.stdout).contains(&gate), "{output:?}");
    }
    assert_eq!(fs::read_dir(home.path("data/run")).unwrap().count(), 1, "one runtime file");
    home.done(&["stop"]);
    assert_eq!(fs::read_dir(home.path("data/run")).unwrap().count(), 0);
    assert!(home.done(&["stop"]).err.contains("no gate stands"));
    home.done(&["start"]);
    assert_eq!(home.gate(), gate, "it stands where it stood");
    // A gate that was killed left its runtime file, and is not taken for one that runs.
    let file = fs::read_dir(home.path("data/run")).unwrap().next().unwrap().unwrap().path();
    let runs: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let killed =
        std::process::Command::new("kill").args(["-KILL", &runs["pid"].to_string()]).status().unwrap();
    assert!(killed.success());
    fs::File::open(&file).unwrap().lock_shared().unwrap();
    home.done(&["start"]);
    assert_eq!(home.gate(), gate);
}

#[test]
fn another_program_on_its_port_is_not_taken_for_the_gate() {
    let home = Home::new();
    home.0.file(SETTINGS, "{}");
    home.done(&["vscode", "on"]);
    let gate = home.gate();
    home.done(&["stop"]);
    let other = TcpListener::bind(gate.strip_prefix("http://").unwrap()).unwrap();
    for args in [&["start"][..], &["exec", "code", "."]] {
        let ran = home.run(args);
        assert_eq!(ran.code, 2, "{}", ran.shown());
        assert!(ran.err.contains("what editors send now goes to that program"), "{}", ran.err);
    }
    assert_eq!(home.run(&["vscode", "status"]).code, 1);
    let moved = home.done(&["vscode", "on"]);
    assert!(moved.err.contains("another program listens on"), "{}", moved.err);
    assert_ne!(home.gate(), gate);
    assert!(home.read(SETTINGS).contains(&home.gate()) && !home.read(SETTINGS).contains(&format!("{gate}/")));
    drop(other);
    home.done(&["vscode", "off"]);
    assert_eq!(home.read(SETTINGS), "{}");
}

#[test]
fn an_editor_is_started_where_its_settings_lead_to_the_gate() {
    let home = Home::new();
    home.0.file(SETTINGS, "{}");
    let code =
        home.0.file("bin/code", "#!/bin/sh\necho \"$COPILOT_API_URL $ANTHROPIC_BASE_URL $*\"\nexit 7\n");
    fs::set_permissions(&code, fs::Permissions::from_mode(0o755)).unwrap();
    let code = code.display().to_string();
    let ran = home.run(&["exec", &code, "."]);
    assert_eq!(ran.code, 2, "{}", ran.shown());
    assert!(ran.out.is_empty() && ran.err.contains("`leafgate vscode on` leads it"), "{}", ran.err);
    home.done(&["vscode", "on"]);
    let ran = home.run(&["exec", &code, "."]);
    let gate = home.gate();
    assert_eq!((ran.code, ran.out.trim()), (7, &*format!("{gate}/u/copilot {gate} .")), "{}", ran.err);
    assert!(ran.err.contains("policy default") && ran.err.contains("Not seen:"), "{}", ran.err);
    let elsewhere = home.run(&["exec", &code, "--user-data-dir=elsewhere"]);
    assert_eq!(elsewhere.code, 2, "{}", elsewhere.shown());
}
