//! A gate as a process, its clients, and its events. Nothing here waits by sleeping: events say
//! when something has happened.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Bench, Ran};

const RUN: &[&str] = &["run", "--listen", "127.0.0.1:0", "--upstream", "echo:"];

/// What takes the room of a small disk.
const FILLER: &str = "filler";

/// Far longer than anything takes; a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(60);

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
    head: String,
    pub(crate) body: String,
}

impl Answer {
    fn parse(text: &str) -> Answer {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// The generation that judged the request.
    pub(crate) fn generation(&self) -> String {
        let line = self.head.lines().find_map(|line| line.strip_prefix("leafgate-generation: "));
        line.unwrap_or_else(|| panic!("no generation in {}", self.head)).to_owned()
    }
}

impl Running {
    pub(crate) fn start(bench: Bench, args: &[&str]) -> Running {
        let (process, url) = spawn(&bench, args);
        Running { bench, url, process }
    }

    /// Starts one that may make no file larger than so many KiB, as on a disk without room.
    pub(crate) fn start_within(bench: Bench, args: &[&str], most: usize) -> Running {
        let call = bench.command(&[RUN, args].concat());
        let mut limited = std::process::Command::new("bash");
        // The signal would end the process; without it, a write fails.
        let script = format!("trap '' XFSZ; ulimit -f {most}; exec \"$0\" \"$@\"");
        limited.args(["-c", &script]).arg(call.get_program()).args(call.get_args());
        limited.current_dir(bench.path()).env_clear().env("LEAFGATE_DATA_DIR", bench.path().join("data"));
        let (process, url) = spawned(limited);
        Running { bench, url, process }
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
        Other(spawn(&self.bench, args).0)
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
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Sends a chat request and reads the answer.
    pub(crate) fn chat(&self, body: &str) -> Answer {
        send(&self.url, body)
    }

    /// Sends a request of another API and reads the answer.
    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        Answer::parse(&try_send(&self.url, path, body).unwrap())
    }

    /// Sends one that may get no answer; gives whether it got one.
    pub(crate) fn chat_may_fail(&self, body: &str) -> JoinHandle<bool> {
        let (url, body) = (self.url.clone(), body.to_owned());
        std::thread::spawn(move || {
            try_send(&url, CHAT, &body).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
        })
    }

    /// Sends one that will have to wait.
    pub(crate) fn chat_later(&self, body: &str) -> JoinHandle<Answer> {
        let (url, body) = (self.url.clone(), body.to_owned());
        std::thread::spawn(move || send(&url, &body))
    }

    /// Sends one that has to wait; gives its client, and the turn that it became.
    pub(crate) fn chat_that_waits(&self, body: &str) -> (JoinHandle<Answer>, Value) {
        let mut events = self.events();
        let client = self.chat_later(body);
        (client, events.next("paused")["turn"].clone())
    }

    /// Everything that happens from now on.
    pub(crate) fn events(&self) -> Events {
        let file = self.bench.path().join(format!("data/run/gate-{}.json", self.port()));
        let file: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let address = file["admin"].as_str().unwrap().strip_prefix("http://").unwrap();
        let mut stream = connect(address);
        let token = file["token"].as_str().unwrap();
        write!(stream, "GET /v1/events HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n")
            .unwrap();
        let mut events = Events(BufReader::new(stream));
        assert!(events.line().starts_with("HTTP/1.1 200 "));
        events
    }
}

/// The event stream of a gate.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the events ended");
        line
    }

    /// The next event of this name.
    pub(crate) fn next(&mut self, name: &str) -> Value {
        loop {
            if let Some(json) = self.line().strip_prefix("data: ") {
                let event: Value = serde_json::from_str(json).unwrap();
                if event["event"] == name {
                    return event;
                }
            }
        }
    }
}

fn spawn(bench: &Bench, args: &[&str]) -> (Process, String) {
    spawned(bench.command(&[RUN, args].concat()))
}

fn spawned(mut command: std::process::Command) -> (Process, String) {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut process = Process(child.unwrap());
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (process, line.trim_end().to_owned())
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

const CHAT: &str = "/v1/chat/completions";

fn send(url: &str, body: &str) -> Answer {
    Answer::parse(&try_send(url, CHAT, body).unwrap())
}

fn try_send(url: &str, path: &str, body: &str) -> std::io::Result<String> {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LONG))?;
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
