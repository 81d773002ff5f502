//! Invariant 6, a redacted value goes nowhere: secrets stand in bodies, headers, URLs, answers, rule files, configuration and sessions, every
//! error path and every command runs at the highest log level, and none of them is found in a log, an output, an answer of the gate, a
//! socket to the upstream, or a file that the gate has written.

mod calls;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use leafgate_tests::admin::Admin;
use leafgate_tests::gate::{self, Gate};
use leafgate_tests::http::{Client, Message};
use leafgate_tests::plant;
use leafgate_tests::upstream::{Upstream, completion};

use self::calls::{OFFLINE, RUNNING, Stage};
use crate::setup::holds;

/// One secret for each place, so that a find says where it is from.
#[derive(Default)]
struct Planted(BTreeMap<&'static str, String>);

impl Planted {
    fn at(&mut self, place: &'static str) -> String {
        let seed = 1000 + self.0.len() as u64;
        self.0.entry(place).or_insert_with(|| plant::github(seed)).clone()
    }

    /// Fails where one of them stands in what came out somewhere. `but` names places whose own text comes back there.
    fn are_not_in(&self, what: &str, bytes: &[u8], but: &[&str]) {
        let text = String::from_utf8_lossy(bytes);
        for (place, secret) in self.0.iter().filter(|(place, _)| !but.contains(place)) {
            // A half is as good as a whole to who looks for it.
            let half = &secret[4..24];
            assert!(
                !text.contains(half),
                "the secret of {place} is in {what}:\n{}",
                text.replace(half, "<<HERE>>")
            );
        }
    }
}

const PAUSE: &str = r#"
[[rule]]
id = "held"
match = { role = "user" }
when = 'leaf.text.contains("hold this")'
action = "pause"
reason = "A person looks first"
"#;

fn policy(folder: &Path, planted: &mut Planted, monitor: bool) {
    let mode = if monitor { "mode = \"monitor\"\n" } else { "" };
    let rules = format!(
        "# {comment}\nextends = \"default\"\n{mode}{PAUSE}\n[[exception]]\nrule = \"default-secrets\"\nvalue = \"{value}\"\nreason = \"known\"\nby = \"tests\"\nuntil = \"never\"\n",
        comment = planted.at("a comment of a rule file"),
        value = planted.at("an exception of a rule file"),
    );
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("rules.toml"), rules).unwrap();
}

fn chat(text: &str) -> Vec<u8> {
    serde_json::json!({ "model": "m", "messages": [{ "role": "user", "content": text }] })
        .to_string()
        .into_bytes()
}

/// Sends a request as it is, and returns what the gate answers.
fn exchange(gate: &Gate, head: &str, body: &[u8]) -> Vec<u8> {
    let mut request =
        format!("{head}\r\nhost: {}\r\ncontent-length: {}\r\n\r\n", gate.address(), body.len()).into_bytes();
    request.extend_from_slice(body);
    let Message { start, headers, body } =
        Client::connect(gate.address()).unwrap().exchange(&request).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    [format!("{start}\n{headers}\n").as_bytes(), &body].concat()
}

/// Every way in, and every way to be refused.
fn requests(gate: &Gate, planted: &mut Planted) {
    let json = "content-type: application/json";
    let mut sent = Vec::new();
    let mut send = |what: &'static str, head: String, body: Vec<u8>, but: &[&'static str]| {
        sent.push((what, exchange(gate, &head, &body), but.to_vec()));
    };
    let chats = "POST /v1/chat/completions";
    let key = planted.at("a key of a body");
    send(
        "a body",
        format!("{chats} HTTP/1.1\r\n{json}"),
        chat(&planted.at("a body")),
        &["a body", "an answer"],
    );
    send("a key", format!("{chats} HTTP/1.1\r\n{json}"), format!("{{\"{key}\": 1}}").into_bytes(), &[]);
    let header = planted.at("a header");
    send("a header", format!("{chats} HTTP/1.1\r\n{json}\r\nx-note: {header}"), chat("hi"), &[]);
    let query = planted.at("a query");
    send("a query", format!("{chats}?note={query} HTTP/1.1\r\n{json}"), chat("hi"), &[]);
    let path = planted.at("a path");
    send("a path", format!("POST /v1/{path} HTTP/1.1\r\n{json}"), chat("hi"), &[]);
    send("a path without a body", format!("GET /v1/{path} HTTP/1.1"), Vec::new(), &[]);
    let elsewhere = planted.at("a path that is not served");
    send("a path that is not served", format!("POST /{elsewhere} HTTP/1.1\r\n{json}"), chat("hi"), &[]);
    let upstream = planted.at("the name of an upstream");
    send("the name of an upstream", format!("POST /u/{upstream}/v1/x HTTP/1.1\r\n{json}"), chat("hi"), &[]);
    let broken = planted.at("a body that is no JSON");
    send(
        "a body that is no JSON",
        format!("{chats} HTTP/1.1\r\n{json}"),
        format!("{{\"a\": {broken}").into_bytes(),
        &[],
    );
    let kind = planted.at("a content type");
    send("a content type", format!("{chats} HTTP/1.1\r\ncontent-type: text/{kind}"), chat("hi"), &[]);
    let coding = planted.at("a content encoding");
    send(
        "a content encoding",
        format!("{chats} HTTP/1.1\r\n{json}\r\ncontent-encoding: {coding}"),
        chat("hi"),
        &[],
    );
    let upgrade = planted.at("an upgrade");
    send(
        "an upgrade",
        format!("GET /v1/x HTTP/1.1\r\nconnection: upgrade\r\nupgrade: {upgrade}"),
        Vec::new(),
        &[],
    );
    let origin = planted.at("an origin");
    send("an origin", format!("{chats} HTTP/1.1\r\n{json}\r\norigin: http://{origin}"), chat("hi"), &[]);
    let method = planted.at("a method");
    send("a method", format!("{method} /v1/x HTTP/1.1\r\n{json}"), chat("hi"), &[]);
    let large = planted.at("a body that is too large");
    send(
        "a body that is too large",
        format!("{chats} HTTP/1.1\r\n{json}"),
        chat(&format!("{large}{}", " x".repeat(40_000))),
        &[],
    );
    let credential = planted.at("a credential");
    send(
        "a credential",
        format!("{chats} HTTP/1.1\r\n{json}\r\nauthorization: Bearer {credential}"),
        chat("hi"),
        &["an answer"],
    );
    for (what, answer, mut but) in sent {
        // What the model says is the client's to read.
        but.push("an answer");
        planted.are_not_in(&format!("the gate's answer to {what}"), &answer, &but);
    }
}

/// A command where the gate is.
fn called(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(gate::binary().unwrap());
    command
        .args(arguments)
        .env("LEAFGATE_DATA_DIR", data)
        .env("LEAFGATE_RUNTIME_DIR", data.join("run"))
        .env("LEAFGATE_LOG", "trace")
        .env("HOME", data)
        .env("XDG_CONFIG_HOME", data.join("config"))
        .current_dir(data);
    command
}

fn shown(arguments: &[&str]) -> String {
    format!("the output of `leafgate {}`", arguments.join(" "))
}

/// Runs a command, and looks at all that it says.
fn command(data: &Path, planted: &Planted, arguments: &[&str], input: &[u8]) {
    let file = data.join("input");
    std::fs::write(&file, input).unwrap();
    let output = called(data, arguments).stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    planted.are_not_in(&shown(arguments), &output.stdout, &[]);
    planted.are_not_in(&shown(arguments), &output.stderr, &[]);
}

/// Looks into every file below a folder.
fn files(folder: &Path, planted: &Planted) -> usize {
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            seen += files(&path, planted);
        } else {
            planted.are_not_in(&path.display().to_string(), &std::fs::read(&path).unwrap(), &[]);
            seen += 1;
        }
    }
    seen
}

/// What people ask of a gate that runs.
fn running(data: &Path, planted: &Planted, stage: &Stage) {
    calls(RUNNING, data, planted, stage);
    // Somebody takes a value for a token.
    let pasted = &planted.0["a body"];
    command(data, planted, &["reveal", pasted], b"");
    command(data, planted, &["reveal", pasted, "--json"], b"");
    endless(data, planted, &["log", "tail"]);
    endless(data, planted, &["log", "tail", "--json"]);
}

/// What people ask without one.
fn offline(data: &Path, monitor: bool, planted: &Planted, stage: &Stage) {
    if !monitor {
        // Where nothing is replaced, these are the very bytes that would leave.
        calls(&["apply --policy {rules} {request}"], data, planted, stage);
    }
    calls(OFFLINE, data, planted, stage);
    let (words, _) = stage.call("plugin dev {script}");
    endless(data, planted, &words.iter().map(String::as_str).collect::<Vec<_>>());
}

fn calls(calls: &[&str], data: &Path, planted: &Planted, stage: &Stage) {
    for call in calls {
        let (words, input) = stage.call(call);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        command(data, planted, &words, &input);
    }
}

/// Runs a command that does not end by itself, and looks at the first that it says.
fn endless(data: &Path, planted: &Planted, arguments: &[&str]) {
    let mut call = called(data, arguments);
    let mut child = call.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (says, said) = std::sync::mpsc::channel();
    let outputs: [Box<dyn Read + Send>; 2] =
        [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
    let readers = outputs.map(|mut output| {
        let says = says.clone();
        std::thread::spawn(move || {
            let (mut all, mut part) = (Vec::new(), [0; 4096]);
            while let Ok(read @ 1..) = output.read(&mut part) {
                all.extend_from_slice(&part[..read]);
                let _ = says.send(());
            }
            all
        })
    });
    drop(says);
    said.recv().expect("it says something");
    child.kill().unwrap();
    child.wait().unwrap();
    for reader in readers {
        planted.are_not_in(&shown(arguments), &reader.join().unwrap(), &[]);
    }
}

/// Runs everything under a policy that redacts, or one that only looks.
fn planted_everywhere(monitor: bool) {
    let (data, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut planted = Planted::default();
    policy(&work.path().join("policy"), &mut planted, monitor);
    let config = work.path().join("config.toml");
    let proxy = planted.at("a proxy of the configuration");
    let settings = format!(
        "notify-command = 'true {}'\n[limits]\nbody = \"64 KiB\"\n[upstreams.far]\nurl = \"http://far.invalid\"\nproxy = \"http://ann:{proxy}@127.0.0.1:9\"\n",
        planted.at("a command of the configuration")
    );
    std::fs::write(&config, &settings).unwrap();
    std::fs::create_dir_all(data.path().join("config/leafgate")).unwrap();
    let said = planted.at("an answer");
    let upstream = Upstream::answering(move |_| Ok(completion(&format!("the key is {said}")))).unwrap();
    let (rules, config) = (work.path().join("policy").display().to_string(), config.display().to_string());
    let url = upstream.url();
    let (delivers, delivered) = std::sync::mpsc::channel();
    let collector = Upstream::answering(move |_| {
        delivers.send(())?;
        Ok(completion("taken"))
    })
    .unwrap();
    let traces = format!("traces={}", collector.url());
    let arguments = [
        &["--policy", &rules, "--upstream", &url, "--config", &config][..],
        &["--set", "log=trace", "--set", &traces],
    ]
    .concat();
    let gate = Gate::start_in(data.path(), &arguments).unwrap();
    requests(&gate, &mut planted);
    exchange(
        &gate,
        "POST /u/far/v1/chat/completions HTTP/1.1\r\ncontent-type: application/json",
        &chat("hi"),
    );
    for seen in upstream.take() {
        // In monitor mode nothing is replaced: that is what it is for.
        let own: &[&str] = if monitor {
            &["a body", "a key of a body", "a header", "a query", "a path", "a credential"]
        } else {
            &["a credential"]
        };
        planted.are_not_in("a request to the upstream", seen.start.as_bytes(), own);
        planted.are_not_in("a request to the upstream", &seen.body, own);
    }
    // A trace of what has been asked so far.
    delivered.recv().unwrap();
    for message in collector.take() {
        assert!(holds(&message.body, "gen_ai.operation.name"));
        planted.are_not_in("a trace", &message.body, &[]);
    }
    let (held, address) = (planted.at("a request that waits"), gate.address());
    let turn = if monitor {
        "1".to_owned()
    } else {
        let mut events = Admin::of(&gate).unwrap().events().unwrap();
        let body = chat(&format!("hold this: {held}"));
        std::thread::spawn(move || Client::connect(address).unwrap().chat(&body).map(drop));
        events.paused().unwrap()
    };
    let secret = planted.at("a file");
    let stage = Stage::set(work.path(), &secret).with_turn(turn);
    running(data.path(), &planted, &stage);
    // A change that cannot serve is told with its place.
    let broken = planted.at("a rule file that is refused");
    std::fs::write(
        work.path().join("policy/broken.toml"),
        format!("[[rule]]\nid = \"x\"\nmatch = {{}}\nactoin = \"{broken}\"\n"),
    )
    .unwrap();
    gate.wait_for_log(|log| log.contains("is refused")).unwrap();
    command(data.path(), &planted, &["status"], b"");
    command(data.path(), &planted, &["check", "--policy", &rules], b"");
    command(data.path(), &planted, &["check", "--policy", &rules, "--json"], b"");
    std::fs::remove_file(work.path().join("policy/broken.toml")).unwrap();
    offline(data.path(), monitor, &planted, &stage);
    let log = gate.log();
    assert!(log.contains("leafgate::request") && log.lines().count() > 15, "{log}");
    planted.are_not_in("the log", log.as_bytes(), &[]);
    drop(gate);
    assert!(files(data.path(), &planted) > 0);
}

#[test]
fn invariant_6_no_planted_secret_comes_out_anywhere() {
    planted_everywhere(false);
}

#[test]
fn invariant_6_no_planted_secret_comes_out_of_a_gate_that_only_looks() {
    planted_everywhere(true);
}
