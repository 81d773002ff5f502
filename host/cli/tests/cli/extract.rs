//! The process that reads a file: what it has, once it reads.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use leafgate_harness::packed::pdf;
use serde_json::Value;

use crate::support::Bench;

/// It can open nothing and start nothing, its memory and time end, and what whoever started it left open is closed.
#[test]
#[cfg(target_os = "linux")]
fn a_process_that_reads_a_file_has_given_up_the_rest() {
    // More text than a pipe takes: it is all there once its first byte is, and the process still is.
    let word = "words that nobody reads ".repeat(10_000);
    let bench = Bench::new();
    let program = bench.command(&[]).get_program().to_owned();
    let mut command = Command::new("/bin/sh");
    command.args([
        "-c".as_ref(),
        "exec 7</dev/null; exec \"$0\" --extract-text".as_ref(),
        program.as_os_str(),
    ]);
    let mut reader = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    reader.stdin.take().unwrap().write_all(&pdf(&[&word])).unwrap();
    let mut output = reader.stdout.take().unwrap();
    let mut answer = vec![0];
    output.read_exact(&mut answer).unwrap();
    let of = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", reader.id())).unwrap();
    let limits = of("limits");
    for (name, most) in [
        ("Max open files", "0"),
        ("Max processes", "0"),
        ("Max core file size", "0"),
        ("Max file size", "0"),
        ("Max cpu time", "10"),
        ("Max address space", "1073741824"),
    ] {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        assert_eq!(
            line[name.len()..].split_whitespace().take(2).collect::<Vec<_>>(),
            [most, most],
            "{limits}"
        );
    }
    let open = std::fs::read_dir(format!("/proc/{}/fd", reader.id())).unwrap();
    let mut open: Vec<_> = open.map(|entry| entry.unwrap().file_name()).collect();
    open.sort();
    assert_eq!(open, ["0", "1", "2"]);
    output.read_to_end(&mut answer).unwrap();
    assert!(reader.wait().unwrap().success());
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!((answer["texts"][0].as_str(), &answer["unread"]), (Some(&*word), &Value::Null));
}
