//! A gate as a process, its clients, and its events. Nothing here waits by sleeping: events say
//! when something has happened.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;

use leafgate_tests::admin::{Admin, Events};
use leafgate_tests::http::{Client, Message};
use serde_json::Value;

use crate::support::{Bench, Ran};

const RUN: &[&str] = &["run", "--listen", "127.0.0.1:0", "--upstream", "echo:"];

/// What takes the room of a small disk.
const FILLER: &str = "filler";

/// A gate before `echo:`. Dropping it kills the process.
pub(crate) struct Running {
    pub(crate) bench: Bench,
    pub(crate) url: String,
    process: Process,
}

/// A process that does not outlive its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A second gate of the same user.
pub(crate) struct Other(Process);

impl Other {
    /// Ends it without giving it a chance to tidy up.
    pub(crate) fn kill(self) {
        drop(self.0);
    }
}

/// An answer, read to the end.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    generation: Option<String>,
}

impl Answer {
    /// The generation that judged the request.
    pub(crate) fn generation(&self) -> String {
        self.generation.clone().expect("an answer names the generation that judged its request")
    }
}

impl From<Message> for Answer {
    fn from(answer: Message) -> Answer {
        let generation = answer.header("leafgate-generation").map(str::to_owned);
        Answer { status: answer.status(), generation, body: String::from_utf8(answer.body).unwrap() }
    }
}

impl Running {
    pub(crate) fn start(bench: Bench, args: &[&str]) -> Running {
        let (process, url) = spawned(bench.command(&[RUN, args].concat()));
        Running { bench, url, process }
    }

    /// Starts one whose policy has these rules.
    pub(crate) fn of(rules: &str) -> Running {
        Running::start(Bench::with(rules), &["--policy", "policy"])
    }

    /// Starts one whose log lies on a disk of so many KiB, most of it taken by another file: a name space
    /// of its own has the disk. `None` where the system gives no such name space.
    pub(crate) fn start_on_small_disk(bench: Bench, args: &[&str], size: usize) -> Option<Running> {
        let log = bench.path().join("data/log");
        std::fs::create_dir_all(&log).unwrap();
        let mount = format!("mount -t tmpfs -o size={size}k,mode=700 tmpfs \"$DISK\"");
        let within = |script: &str| {
            let mut command = std::process::Command::new("unshare");
            command.args(["--map-root-user", "--mount", "bash", "-c", script]).env("DISK", &log);
            command
        };
        let can = within(&mount).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !can.is_ok_and(|status| status.success()) {
            return None;
        }
        let call = bench.command(&[RUN, args].concat());
        let filler = size - 1024;
        let script =
            format!("{mount} && head -c {filler}k /dev/zero > \"$DISK/{FILLER}\" && exec \"$0\" \"$@\"");
        let mut small = within(&script);
        small.arg(call.get_program()).args(call.get_args());
        small.current_dir(bench.path()).env_clear().env("DISK", &log);
        small.env("LEAFGATE_DATA_DIR", bench.path().join("data"));
        let (process, url) = spawned(small);
        Some(Running { bench, url, process })
    }

    /// Takes the other file off its disk.
    pub(crate) fn make_room(&self) {
        let root = format!("/proc/{}/root", self.process.0.id());
        let log = self.bench.path().join("data/log");
        let log = std::path::Path::new(&root).join(log.strip_prefix("/").unwrap());
        std::fs::remove_file(log.join(FILLER)).unwrap();
    }

    /// Runs a command that sees its disk.
    pub(crate) fn run_within(&self, args: &[&str]) -> Ran {
        let call = self.bench.command(args);
        let mut within = std::process::Command::new("nsenter");
        let id = self.process.0.id().to_string();
        within.args(["--target", &id, "--user", "--mount", "--preserve-credentials"]);
        within.arg(call.get_program()).args(call.get_args()).env_clear();
        within.env("LEAFGATE_DATA_DIR", self.bench.path().join("data"));
        self.bench.run_command(within, "")
    }

    /// Starts another gate with the same folders.
    pub(crate) fn another(&self, args: &[&str]) -> Other {
        Other(spawned(self.bench.command(&[RUN, args].concat())).0)
    }

    /// Ends it as Ctrl-C does, and gives its folder back.
    pub(crate) fn stop(mut self) -> Bench {
        let pid = self.process.0.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        assert_eq!(self.process.0.wait().unwrap().code(), Some(0));
        self.bench
    }

    /// Ends it without giving it a chance to tidy up, and gives its folder back.
    pub(crate) fn kill(self) -> Bench {
        drop(self.process);
        self.bench
    }

    pub(crate) fn port(&self) -> String {
        self.url.rsplit(':').next().unwrap().to_owned()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, "")
    }

    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> Ran {
        self.bench.run(args, input)
    }

    /// What a command that succeeds writes.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        self.json_of(args, 0)
    }

    pub(crate) fn json_of(&self, args: &[&str], code: i32) -> Value {
        let ran = self.run(args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.shown());
        ran.json()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.url.strip_prefix("http://").unwrap().parse().unwrap()
    }

    /// Sends a chat request and reads the answer.
    pub(crate) fn chat(&self, body: &str) -> Answer {
        self.post(CHAT, body)
    }

    /// Sends a request of another API and reads the answer.
    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        send(self.address(), path, body).unwrap().into()
    }

    /// Sends one that will have to wait.
    pub(crate) fn chat_later(&self, body: &str) -> JoinHandle<Answer> {
        let (to, body) = (self.address(), body.to_owned());
        std::thread::spawn(move || send(to, CHAT, &body).unwrap().into())
    }

    /// Sends one that has to wait; gives its client, and the turn that it became.
    pub(crate) fn chat_that_waits(&self, body: &str) -> (JoinHandle<Answer>, Value) {
        let mut events = self.events();
        let client = self.chat_later(body);
        (client, events.next("paused").unwrap()["turn"].clone())
    }

    /// Everything that happens from now on.
    pub(crate) fn events(&self) -> Events {
        self.admin().events().unwrap()
    }

    pub(crate) fn admin(&self) -> Admin {
        Admin::at(&self.bench.path().join(format!("data/run/gate-{}.json", self.port()))).unwrap()
    }
}

fn spawned(mut command: std::process::Command) -> (Process, String) {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut process = Process(child.unwrap());
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (process, line.trim_end().to_owned())
}

const CHAT: &str = "/v1/chat/completions";

fn send(to: SocketAddr, path: &str, body: &str) -> anyhow::Result<Message> {
    Client::connect(to)?.post(path, &[], body.as_bytes())
}
