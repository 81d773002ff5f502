//! The process that reads: what it cannot do, and what becomes of a document whose reader comes to no end.
//!
//! A test that needs such a process starts this program again and has it run one ignored test, which is the
//! other side.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::env;
use std::fs::File;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use leafgate_extract::{
    ChildExtractor, Extract as _, FileBounds, Unread, UnreadReason, confine, extract, serve,
};
use leafgate_harness::packed::pdf;

/// Reads documents by a process that does something else.
fn by(script: &str) -> ChildExtractor {
    ChildExtractor::new("/bin/sh".into(), vec!["-c".into(), script.into()])
}

#[test]
fn a_reader_that_comes_to_no_end_or_a_bad_one_has_not_read() {
    let hangs = by("exec sleep 600").with_patience(Duration::from_millis(5));
    for (reader, why) in [
        (hangs, UnreadReason::Late),
        (by("kill -9 $$"), UnreadReason::Failed),
        (by("echo '{\"texts\": [\"cut'"), UnreadReason::Failed),
        (by("exec cat /dev/zero"), UnreadReason::Failed),
        (by("exit 0"), UnreadReason::Failed),
    ] {
        let read = reader.extract(&pdf(&["words"])).unwrap();
        assert_eq!(read.unread, Some(Unread::whole(why)), "{reader:?}");
    }
    let none = ChildExtractor::new("/nowhere".into(), Vec::new());
    assert!(none.extract(&pdf(&["words"])).is_err(), "it says nothing about the file");
}

#[test]
fn a_reader_has_no_environment() {
    let said = by("cat > /dev/null; printf '{\"texts\": [\"%s\"], \"unread\": null}' \"$HOME$USER\"");
    assert_eq!(said.extract(b"%PDF-").unwrap().texts, ["".into()]);
}

/// Runs an ignored test of this program in a process of its own, and returns whether it passed.
fn alone(test: &str, input: &[u8]) -> std::process::Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--ignored", "--exact", test, "--nocapture", "--test-threads=1"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_confined_process_opens_nothing() {
    let output = alone("other_side_tries_to_open", b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "confines the process that it runs in: `a_confined_process_opens_nothing` starts it"]
fn other_side_tries_to_open() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let own = env::current_exe().unwrap();
    File::open(&own).unwrap();
    TcpStream::connect(address).unwrap();
    // It is closed with all else that is open.
    std::mem::forget(listener);
    confine().unwrap();
    assert!(File::open(&own).is_err(), "a file");
    assert!(File::create(std::env::temp_dir().join("leafgate-confined")).is_err(), "a new file");
    assert!(TcpStream::connect(address).is_err(), "a connection");
    assert!(TcpListener::bind("127.0.0.1:0").is_err(), "a listener");
    assert!(UdpSocket::bind("127.0.0.1:0").is_err(), "a socket for UDP");
    assert!(UnixStream::pair().is_err(), "a socket for this system");
    assert!(Command::new(own).spawn().is_err(), "a process");
}

#[test]
fn a_served_document_is_read_as_in_place() {
    let file = pdf(&["words of a page"]);
    let output = alone("other_side_serves", &file);
    let said = String::from_utf8_lossy(&output.stdout);
    let answer = said.lines().find_map(|line| Some(&line[line.find("{\"texts\"")?..])).expect("an answer");
    let end = answer.rfind('}').unwrap();
    let expected = serde_json::to_string(&extract(&file, &FileBounds::default())).unwrap();
    assert_eq!(&answer[..=end], expected);
}

#[test]
#[ignore = "confines the process that it runs in: `a_served_document_is_read_as_in_place` starts it"]
fn other_side_serves() {
    serve().unwrap();
}

/// Memory without end: an allocation beyond the limit ends the process, and the document is unread.
#[test]
fn a_reader_has_an_end_of_memory() {
    let output = alone("other_side_allocates", b"");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("memory allocation"), "{output:?}");
}

#[test]
#[ignore = "ends the process that it runs in: `a_reader_has_an_end_of_memory` starts it"]
fn other_side_allocates() {
    confine().unwrap();
    let all: Vec<Vec<u8>> = (0..64).map(|_| vec![1; 64 << 20]).collect();
    assert!(all.is_empty(), "it took four gigabytes");
}
