//! `service`: what the manager of services is told, and what the gate tells it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};

use leafgate_tests::gate;
use leafgate_tests::standing::Standing;

use crate::exec::leafgate;

/// A `systemctl` that writes down how it is called.
const SYSTEMCTL: &str = "#!/bin/sh\necho \"$*\" >> \"$0.calls\"\n";

const UNIT: &str = "systemd/user/leafgate.service";

/// A process that ends with its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn call(person: &Standing, arguments: &[&str]) -> Command {
    let mut command = leafgate(person.data(), arguments);
    let path = format!("{}:{}", person.data().display(), std::env::var("PATH").unwrap());
    command.env("XDG_CONFIG_HOME", person.data()).env("PATH", path).env("LEAFGATE_LOG", "warn");
    command
}

fn done(person: &Standing, arguments: &[&str], code: i32) -> String {
    let output = call(person, arguments).output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    said
}

#[cfg(target_os = "linux")]
#[test]
fn a_service_is_written_runs_the_gate_that_all_share_and_leaves_nothing() {
    let person = Standing::of("").unwrap();
    let systemctl = person.data().join("systemctl");
    fs::write(&systemctl, SYSTEMCTL).unwrap();
    fs::set_permissions(&systemctl, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(done(&person, &["service", "status"], 1).contains("no service is installed"));
    let unit = person.data().join(UNIT);
    assert!(done(&person, &["service", "install"], 0).contains(unit.to_str().unwrap()));
    let text = fs::read_to_string(&unit).unwrap();
    let binary = gate::binary().unwrap();
    assert!(text.contains(&format!("ExecStart=\"{}\" service run\n", binary.display())), "{text}");
    let data = format!("Environment=\"LEAFGATE_DATA_DIR={}\"\n", person.data().display());
    assert!(text.contains(&data) && text.contains("Environment=\"LEAFGATE_LOG=warn\"\n"), "{text}");
    assert_eq!(fs::metadata(&unit).unwrap().permissions().mode() & 0o777, 0o600);

    // What the manager does then.
    let socket = person.data().join("notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    let mut run = call(&person, &["service", "run"]);
    let run = run.env("NOTIFY_SOCKET", &socket).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let run = Process(run);
    let mut told = [0; 64];
    let length = manager.recv(&mut told).unwrap();
    assert_eq!(&told[..length], b"READY=1");
    let said = done(&person, &["service", "status"], 0);
    assert!(said.contains("is kept running"), "{said}");
    let listen = said.split_whitespace().next().unwrap().to_owned();
    let said = done(&person, &["exec", "--", "sh", "-c", "echo $ANTHROPIC_BASE_URL"], 0);
    assert!(said.starts_with(&listen), "{said}");
    // A manager starts it anew, and nobody else does.
    fs::write(person.data().join("leafgate/config.toml"), "listen = \"127.0.0.1:0\"\nrestore = false\n")
        .unwrap();
    let said = done(&person, &["exec", "true"], 2);
    assert!(said.contains("systemctl --user restart leafgate.service"), "{said}");

    drop(run);
    assert!(done(&person, &["service", "status"], 1).contains("no gate runs"));
    let said = done(&person, &["service", "remove"], 0);
    assert!(said.contains("Your data stay in") && !unit.exists(), "{said}");
    let calls = fs::read_to_string(systemctl.with_extension("calls")).unwrap();
    let calls: Vec<&str> = calls.lines().collect();
    let unit = "leafgate.service";
    let wanted = [
        "daemon-reload",
        &format!("enable {unit}"),
        &format!("restart {unit}"),
        &format!("disable --now {unit}"),
        "daemon-reload",
    ];
    assert_eq!(calls, wanted.map(|call| format!("--user {call}")));
}

/// A name space of its own has another folder of units, where the system gives one.
#[cfg(target_os = "linux")]
#[test]
fn the_unit_of_a_package_is_known() {
    let person = Standing::of("").unwrap();
    let script = "mount -t tmpfs tmpfs /usr/lib/systemd && mkdir /usr/lib/systemd/user \
                  && touch /usr/lib/systemd/user/leafgate.service && exec \"$0\" \"$@\"";
    let within = |call: &Command| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]);
        command.arg(call.get_program()).args(call.get_args()).env_clear();
        command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.output().unwrap()
    };
    if !within(&Command::new("true")).status.success() {
        eprintln!("skipped: this system gives no name space with a /usr/lib/systemd of its own");
        return;
    }
    let output = within(&call(&person, &["service", "status"]));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("`systemctl --user enable --now leafgate.service`"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}
