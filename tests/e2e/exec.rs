//! `exec` and `env`: a program behind a gate, whatever program it is. Real agents are among the client tests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use leafgate_tests::gate::{self, Gate};
use leafgate_tests::http::Client;
use leafgate_tests::upstream::Upstream;

use crate::setup::holds;

/// Prints the variables and waits for a line: what a client does, as far as a gate knows.
const CLIENT: &str = r#"echo "$OPENAI_BASE_URL $ANTHROPIC_BASE_URL"; read code; exit "$code""#;

/// A credential, put together here so that no scanner takes this file for a leak.
fn secret() -> String {
    format!("{}{}", "ghp_", "kfhfgtKAQWYm85EZgslmBp65HpUbz04IfkvX")
}

/// `leafgate` with folders of its own, and none of the variables that the tests are run with.
fn leafgate(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(gate::binary().unwrap());
    command
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", folder)
        .env("LEAFGATE_DATA_DIR", folder)
        .env("LEAFGATE_RUNTIME_DIR", folder.join("run"));
    command
}

/// A client that `exec` has started.
struct Started {
    process: Child,
    tell: ChildStdin,
    _out: BufReader<ChildStdout>,
    openai: String,
    anthropic: String,
}

impl Started {
    fn of(mut command: Command) -> Started {
        let mut process = command
            .args(["--", "sh", "-c", CLIENT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let mut urls = line.split_whitespace().map(str::to_owned);
        let (Some(openai), Some(anthropic)) = (urls.next(), urls.next()) else {
            let mut said = String::new();
            process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("the client did not start: {said}");
        };
        let tell = process.stdin.take().unwrap();
        Started { process, tell, _out: out, openai, anthropic }
    }

    /// Where the gate listens.
    fn address(&self) -> SocketAddr {
        let url = self.openai.strip_prefix("http://").unwrap();
        url.split('/').next().unwrap().parse().unwrap()
    }

    /// Has it end with this code, and returns the code that came out.
    fn end(mut self, code: u8) -> Option<i32> {
        writeln!(self.tell, "{code}").unwrap();
        self.process.wait().unwrap().code()
    }
}

fn says(text: &str) -> String {
    serde_json::json!({ "model": "m", "messages": [{ "role": "user", "content": text }] }).to_string()
}

#[test]
fn a_program_is_started_behind_a_gate_that_ends_with_it() {
    let (folder, upstream) = (tempfile::tempdir().unwrap(), Upstream::start().unwrap());
    let client = Started::of(leafgate(folder.path(), &["exec", "--upstream", &upstream.url()]));
    let address = client.address();
    assert_eq!(client.openai, format!("http://{address}/v1"));
    assert_eq!(client.anthropic, format!("http://{address}"));
    let answer = Client::connect(address).unwrap().chat(says(&secret()).as_bytes()).unwrap();
    assert_eq!(answer.status(), 200);
    let left = upstream.take();
    assert!(left.len() == 1 && !holds(&left[0].body, &secret()));
    assert_eq!(client.end(7), Some(7));
    assert!(TcpStream::connect(address).is_err(), "the gate is gone");
    assert_eq!(std::fs::read_dir(folder.path().join("run")).unwrap().count(), 0, "and so is its file");
}

#[test]
fn each_api_has_its_own_upstream() {
    let folder = tempfile::tempdir().unwrap();
    let [openai, anthropic] = [(); 2].map(|()| Upstream::start().unwrap());
    let mut command = leafgate(folder.path(), &["exec"]);
    command.env("OPENAI_BASE_URL", format!("{}/v1", openai.url()));
    command.env("ANTHROPIC_BASE_URL", anthropic.url());
    let client = Started::of(command);
    let path = |url: &str| url.split_once(&client.address().to_string()).unwrap().1.to_owned();
    let mut connection = Client::connect(client.address()).unwrap();
    let body = says("hi").into_bytes();
    connection.post(&format!("{}/messages", path(&client.anthropic) + "/v1"), &[], &body).unwrap();
    connection.post(&format!("{}/chat/completions", path(&client.openai)), &[], &body).unwrap();
    let target =
        |upstream: &Upstream| upstream.take().iter().map(|seen| seen.target().to_owned()).collect::<Vec<_>>();
    assert_eq!(target(&anthropic), ["/v1/messages"]);
    assert_eq!(target(&openai), ["/v1/chat/completions"]);
    assert_eq!(client.end(0), Some(0));
}

#[test]
fn a_gate_that_runs_is_used_where_it_leads_there_and_looks() {
    let (folder, upstream) = (tempfile::tempdir().unwrap(), Upstream::start().unwrap());
    let url = upstream.url();
    let blind = Gate::start_in(folder.path(), &["--upstream", &url, "--policy", "none"]).unwrap();
    let first = Started::of(leafgate(folder.path(), &["exec", "--upstream", &url]));
    assert_ne!(first.address(), blind.address(), "one that does not look is used by nobody who did not ask");
    let running = Gate::start_in(folder.path(), &["--upstream", &url]).unwrap();
    let second = Started::of(leafgate(folder.path(), &["exec", "--upstream", &url]));
    assert_eq!(second.address(), running.address(), "and not the one that ends with the first client");
    assert_eq!((first.end(0), second.end(3)), (Some(0), Some(3)));
    let answer = running.client().unwrap().chat(says("hi").as_bytes()).unwrap();
    assert_eq!(answer.status(), 200, "it outlives its client");
    let other =
        leafgate(folder.path(), &["exec", "--upstream", "http://127.0.0.1:9", "true"]).output().unwrap();
    assert_eq!(other.status.code(), Some(0));
}

#[test]
fn a_shell_is_led_to_a_gate_and_exec_stays_with_it() {
    const SCRIPT: &str = r#"eval "$("$0" env)" &&
        echo "$OPENAI_BASE_URL $ANTHROPIC_BASE_URL $GOOGLE_GEMINI_BASE_URL" &&
        "$0" exec -- sh -c 'echo "$OPENAI_BASE_URL"'"#;
    let (folder, upstream) = (tempfile::tempdir().unwrap(), Upstream::start().unwrap());
    let gate = Gate::start_in(folder.path(), &["--upstream", &upstream.url()]).unwrap();
    let binary = gate::binary().unwrap();
    let mut shell = leafgate(folder.path(), &[]);
    let environment: Vec<_> =
        shell.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    shell = Command::new("sh");
    let output = shell.args(["-c", SCRIPT]).arg(binary).env_clear().envs(environment).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let url = format!("http://{}", gate.address());
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(
        lines,
        [format!("{url}/v1 {url} {url}"), format!("{url}/v1")],
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn what_cannot_be_started_says_so_as_a_shell_does() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| leafgate(folder.path(), arguments).output().unwrap();
    let missing = run(&["exec", "--upstream", "echo:", "no-such-program"]);
    assert_eq!(missing.status.code(), Some(127));
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(said.contains("there is no program no-such-program"), "{said}");
    assert_eq!(run(&["exec"]).status.code(), Some(2));
    assert_eq!(run(&["env"]).status.code(), Some(2), "no gate runs");
}
