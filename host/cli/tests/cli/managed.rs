//! What the operator of a machine decides. `/etc/leafgate` is root's, and nothing leads the program elsewhere:
//! a name space of its own has another `/etc`, where the system gives one.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use crate::support::{Bench, EMAIL, Ran, request};

const RULES: &str =
    "[[rule]]\nid = \"house\"\nmatch = {}\ndetect = [\"pii/email\"]\naction = \"redact\"\nwith = \"mask\"\n";

const ENFORCED: &str = "enforce = true\n[upstreams.house]\nurl = \"https://models.house.example\"\n";

/// A machine whose operator has these settings and [`RULES`].
struct Machine(Bench);

impl Machine {
    /// `None` where the system gives no such name space.
    #[expect(clippy::print_stderr, reason = "whoever runs the tests reads what was skipped")]
    fn new(settings: &str) -> Option<Machine> {
        let bench = Bench::new();
        bench.file("operator/config.toml", settings);
        bench.file("operator/policy/house.toml", RULES);
        let machine = Machine(bench);
        let mut can = machine.within("go-w", &Command::new("true"));
        let can = can.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !can.is_ok_and(|status| status.success()) {
            eprintln!("skipped: this system gives no name space with an /etc of its own");
            return None;
        }
        Some(machine)
    }

    /// Has a command see the operator's folder, whose mode is changed so.
    fn within(&self, mode: &str, call: &Command) -> Command {
        // Upstreams by https need the certificates of the system, which links in /etc lead to.
        let script = "cp -r /etc/ssl \"$TLS\" 2>/dev/null; mount -t tmpfs tmpfs /etc && { cp -r \"$TLS\" /etc/ssl || true; } \
                      && cp -r \"$OPERATOR\" /etc/leafgate && chmod -R go-w /etc/leafgate \
                      && chmod \"$MODE\" /etc/leafgate/config.toml && exec \"$0\" \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "bash", "-c", script]);
        command.arg(call.get_program()).args(call.get_args()).current_dir(self.0.path()).env_clear();
        let path = |name: &str| self.0.path().join(name);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, value) in [
            ("OPERATOR", path("operator")),
            ("TLS", path("tls")),
            ("MODE", mode.into()),
            ("HOME", path("home")),
            ("LEAFGATE_DATA_DIR", path("data")),
            ("LEAFGATE_RUNTIME_DIR", path("run")),
        ] {
            command.env(name, value);
        }
        command
    }

    fn run(&self, args: &[&str], input: &str) -> Ran {
        self.0.run_command(self.within("go-w", &self.0.command(args)), input)
    }

    #[track_caller]
    fn refuses(&self, args: &[&str], words: &str) {
        let ran = self.run(args, "");
        assert!(ran.code == 2 && ran.err.contains(words), "{args:?}\n{}", ran.shown());
    }
}

#[test]
fn the_operators_rules_stand_beneath_a_users_own() {
    let Some(machine) = Machine::new("log = 'warn'\n") else { return };
    let applied = machine.run(&["apply"], &request());
    assert!(
        applied.code == 0 && applied.out.contains("[EMAIL]") && !applied.out.contains(EMAIL),
        "{}",
        applied.shown()
    );
    machine.0.file(
        "mine/rules.toml",
        "[[exception]]\nvalue = \"x\"\nreason = \"r\"\nby = \"b\"\nuntil = \"never\"\n",
    );
    std::fs::remove_file(machine.0.path().join("mine/alone.toml")).unwrap();
    let checked = machine.run(&["check", "--policy", "mine"], "");
    assert!(checked.code == 0 && checked.out.contains("2 rules"), "{}", checked.shown());
    let shown = machine.run(&["config", "show"], "");
    let log = shown.out.lines().find(|line| line.starts_with("log ")).unwrap();
    assert!(log.contains("\"warn\"") && log.contains("/etc/leafgate/config.toml:1"), "{log}");
}

#[test]
fn what_is_enforced_is_passed_by_nothing_that_a_user_says() {
    let Some(machine) = Machine::new(ENFORCED) else { return };
    let decides = "ask the operator";
    for args in [
        &["run", "--upstream", "echo:", "--policy", "none"][..],
        &["run", "--upstream", "echo:", "--set", "enabled=false"],
        &["run", "--upstream", "echo:", "--set", "switch-off=true"],
        &["run", "--upstream", "https://elsewhere.example"],
        &["exec", "--policy", "none", "--", "true"],
        &["exec", "--own", "--upstream", "https://elsewhere.example", "--", "true"],
        &["exec", "--own", "claude"],
        &["except", "add", "--value", EMAIL, "--reason", "r", "--by", "b", "--until", "never"],
    ] {
        machine.refuses(args, decides);
    }
    machine
        .refuses(&["run", "--upstream", "echo:", "--set", "enforce=false"], "the machine's operator alone");
    machine.0.file("home/.config/leafgate/policy/rules.toml", RULES);
    machine.refuses(&["exec", "--own", "--upstream", "echo:", "--", "true"], decides);
    std::fs::remove_dir_all(machine.0.path().join("home/.config")).unwrap();
    let program = env!("CARGO_BIN_EXE_leafgate");
    let off = machine.run(&["exec", "--own", "--upstream", "echo:", "--", program, "off"], "");
    assert!(off.code == 2 && off.err.contains("`switch-off = false`"), "{}", off.shown());
}

#[test]
fn no_client_is_tried_where_the_operator_keeps_its_gate_from_telling() {
    for setting in ["enabled = false\n", "store.enabled = false\n"] {
        let Some(machine) = Machine::new(&format!("enforce = true\n{setting}")) else { return };
        let client = machine.0.file("programs/claude", "#!/bin/sh\necho 2.0.0\n");
        std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = machine.within("go-w", &machine.0.command(&["doctor", "claude"]));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", client.parent().unwrap().display()));
        let ran = machine.0.run_command(command, "");
        let note = format!(
            "note    claude: 2.0.0 is not tried: the operator of this machine enforces `{}`",
            setting.trim_end()
        );
        assert!(ran.code == 0 && ran.out.contains(&note), "{}", ran.shown());
    }
}

/// It serves before the operator's folder is there.
#[test]
fn a_gate_that_began_before_what_is_enforced_is_no_clients() {
    let Some(machine) = Machine::new(ENFORCED) else { return };
    let each = "for way in \"exec --gate $ANTHROPIC_BASE_URL -- true\" 'exec -- true' env; do \"$0\" $way && exit 0; done; exit 7";
    let mut shell = Command::new("sh");
    shell.args(["-c", each, env!("CARGO_BIN_EXE_leafgate")]);
    let within = machine.within("go-w", &shell);
    let mut before = machine.0.command(&["exec", "--own", "--upstream", "echo:", "--"]);
    before.arg(within.get_program()).args(within.get_args());
    before.envs(within.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = machine.0.run_command(before, "");
    let refused = ran.err.matches("began before the operator").count();
    assert!(ran.code == 7 && refused == 3, "{}", ran.shown());
}

#[test]
fn nothing_starts_with_an_operators_folder_that_others_may_write_to() {
    let Some(machine) = Machine::new("") else { return };
    for args in [
        &["run", "--upstream", "echo:"][..],
        &["exec", "--own", "--", "true"],
        &["check"],
        &["config", "show"],
    ] {
        let call = machine.within("o+w", &machine.0.command(args));
        let ran = machine.0.run_command(call, "");
        assert!(ran.code == 2 && ran.err.contains("chmod go-w"), "{args:?}\n{}", ran.shown());
    }
}

#[test]
fn a_signed_policy_serves_as_it_was_signed() {
    let Some(machine) = Machine::new("") else { return };
    let key = machine.0.run(&["plugin", "key", "team.key"], "");
    machine.0.file("operator/config.toml", &format!("signed-by = [\"{}\"]\n", key.out.trim()));
    machine.refuses(&["check"], "nobody has signed /etc/leafgate/policy");
    let signed = machine.0.run(&["plugin", "sign", "operator/policy", "--key", "team.key"], "");
    assert_eq!(signed.code, 0, "{}", signed.shown());
    assert_eq!(machine.0.run(&["plugin", "verify", "operator/policy", "--key", key.out.trim()], "").code, 0);
    assert_eq!(machine.run(&["check"], "").code, 0);
    machine.0.file("operator/policy/more.toml", "mode = \"monitor\"\n");
    machine.refuses(&["check"], "no signature is for /etc/leafgate/policy");
}
