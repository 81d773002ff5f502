//! `run`: a gate that a script can start, use and stop.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::Stdio;

use leafgate_tests::http::Client;
use serde_json::Value;

use crate::support::{Bench, EMAIL, RULES, request, secret};

#[test]
fn a_script_starts_uses_and_stops_the_gate() {
    let bench = Bench::with(RULES);
    let mut gate = bench
        .command(&["run", "--listen", "127.0.0.1:0", "--policy", "policy", "--upstream", "echo:"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(gate.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("http://").expect("the first line is the URL");
    let body = request();
    let mut client = Client::connect(address.parse().unwrap()).unwrap();
    let answer = client.post("/v1/echo", &[], body.as_bytes()).unwrap();
    assert_eq!(answer.status(), 200);
    let answer = String::from_utf8(answer.body).unwrap();
    assert!(answer.contains("EMAIL_") && !answer.contains(EMAIL) && !answer.contains(&secret()), "{answer}");
    // What nobody answers in an API of its own comes back as it left, which is what `apply` writes.
    let applied = bench.run(&["apply", "--policy", "policy"], &body);
    assert!(answer.ends_with(&applied.out), "{answer}");
    let pid = gate.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let output = gate.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("leafgate::request") && !log.contains(&secret()), "{log}");
}

#[test]
fn localhost_is_an_address_and_a_taken_port_is_told_once() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let ran = Bench::new().run(&["run", "--listen", &format!("localhost:{port}"), "--upstream", "echo:"], "");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err.contains(&format!("127.0.0.1:{port}")) && ran.err.contains("choose another port"),
        "{}",
        ran.err
    );
    assert_eq!(ran.err.matches("another program").count(), 1, "{}", ran.err);
    assert!(!ran.err.contains("os error"), "{}", ran.err);
}

#[test]
fn an_address_that_others_reach_is_refused() {
    for args in
        [&["--listen", "0.0.0.0:0"][..], &["--set", "metrics.listen=0.0.0.0:9141", "--listen", "127.0.0.1:0"]]
    {
        let ran = Bench::new().run(&[&["run", "--upstream", "echo:"][..], args].concat(), "");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(ran.err.contains("no client tokens"), "{}", ran.err);
    }
}

#[test]
fn metrics_have_an_address_of_their_own_and_a_log_in_json_has_nothing_else() {
    let bench = Bench::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let metrics = format!("metrics.listen={free}");
    let args = ["run", "--listen", "127.0.0.1:0", "--no-admin", "--upstream", "echo:", "--set", &metrics];
    let mut gate = bench
        .command(&[&args[..], &["--set", "log-format=json"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(gate.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let clients = line.trim_end().strip_prefix("http://").unwrap();
    let ask = |address: &str, head: &str| {
        let request = format!("{head} HTTP/1.1\r\nhost: {address}\r\n\r\n");
        let answer = Client::connect(address.parse().unwrap()).unwrap().exchange(request.as_bytes()).unwrap();
        (answer.status(), String::from_utf8(answer.body).unwrap())
    };
    assert_eq!(ask(clients, "GET /v1/models").0, 200);
    let metrics = free.to_string();
    assert!(ask(&metrics, "GET /metrics").1.contains("leafgate_requests_total{verdict=\"forwarded\"} 1"));
    assert_eq!(ask(&metrics, "GET /readyz").1, "ok\n");
    assert_eq!(ask(&metrics, "GET /v1/status").0, 404);
    let pid = gate.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let output = gate.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let log = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    assert!(lines.iter().any(|line| line["target"] == "leafgate::start"), "{log}");
    assert!(
        lines.iter().any(|line| line["target"] == "leafgate::request" && line["path"] == "/v1/models"),
        "{log}"
    );
}

/// A process that does not outlive its test.
struct Process(std::process::Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn more_idle_connections_than_files_shut_out_neither_clients_nor_the_admin_api() {
    let bench = Bench::new();
    let call = bench.command(&["run", "--listen", "127.0.0.1:0", "--upstream", "echo:"]);
    let gate = std::process::Command::new("/bin/sh")
        .args(["-c", "ulimit -n 256; exec \"$0\" \"$@\""])
        .arg(call.get_program())
        .args(call.get_args())
        .env_clear()
        .envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(bench.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut gate = Process(gate.unwrap());
    let mut line = String::new();
    BufReader::new(gate.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("http://").expect("the first line is the URL");
    let _idle: Vec<_> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    let answer = Client::connect(address.parse().unwrap()).unwrap().post("/v1/x", &[], b"{}").unwrap();
    assert_eq!(answer.status(), 200);
    let status = bench.run(&["status"], "");
    assert_eq!(status.code, 0, "{}", status.shown());
    let pid = gate.0.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let mut log = String::new();
    gate.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    let about = log.lines().filter(|line| line.contains("leafgate::listener")).count();
    assert_eq!(about, 1, "one line for all of them: {log}");
    assert!(log.contains("limit `connections`"), "{log}");
}
