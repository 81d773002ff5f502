//! What people are told who name what is not there, or is something else: what was wrong, where, and what
//! to do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::Bench;

/// A bench with a file, a folder, a file where the data should be, and the only program that is found.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("file", "{}");
    bench.file("data-file", "");
    fs::create_dir(bench.path().join("folder")).unwrap();
    let program = bench.file("programs/true", "#!/bin/sh\n");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(bench.path().join("data-odd/log/log.db")).unwrap();
    bench
}

/// Runs commands over a data folder, and returns what each says. Addresses of gates differ each time.
fn said(bench: &Bench, data: &str, commands: &[&str]) -> String {
    let mut shown = String::new();
    for line in commands {
        let args: Vec<&str> = line.split(' ').collect();
        let mut command = bench.command(&args);
        command.env("LEAFGATE_DATA_DIR", bench.path().join(data)).env("HOME", bench.path());
        // Without a path the system has one of its own, and clients may lie there.
        command.env("PATH", bench.path().join("programs"));
        let ran = bench.run_command(command, "");
        let said = [ran.out, ran.err].concat().replace(&bench.path().display().to_string(), "…");
        let said: String = said
            .lines()
            .filter(|line| !line.contains("is behind http://"))
            .map(|line| format!("{line}\n"))
            .collect();
        shown += &format!("$ leafgate {line}\nexit {}\n{said}\n", ran.code);
    }
    shown
}

#[test]
fn what_is_not_there_or_is_something_else_is_told_with_what_to_do() {
    let bench = bench();
    let commands = [
        "exec --upstream echo: no-such-program",
        "exec --upstream echo: ./folder",
        "exec --upstream echo: ./file",
        "exec --upstream nowhere true",
        "exec --upstream echo: --policy missing true",
        "exec --upstream echo: --policy file true",
        "exec --upstream echo: --config missing true",
        "exec --upstream echo: --config folder true",
        "exec --gate 9 true",
        "exec --gate missing.json true",
    ];
    let programs = said(&bench, "data", &commands);
    let commands = [
        "env",
        "env --gate missing.json",
        "env --gate folder",
        "env --gate file",
        "doctor claude",
        "plan --policy missing",
        "plan --policy default",
        "plan --policy default --since yesterday",
        "plan --policy default --today missing --against file",
        "cache",
        "log",
        "log show 7",
        "log show seven",
        "log mark 7 fine",
    ];
    insta::assert_snapshot!(format!("{programs}{}", said(&bench, "data-none", &commands)));
}

#[test]
fn a_data_folder_that_is_none_is_told_with_what_to_do() {
    let bench = bench();
    let commands = ["exec --upstream echo: true", "env", "doctor", "log", "cache"];
    let file = said(&bench, "data-file", &commands);
    let odd =
        said(&bench, "data-odd", &["exec --upstream echo: true", "log", "cache", "plan --policy default"]);
    insta::assert_snapshot!(format!("{file}{odd}"));
}

#[test]
fn an_empty_log_is_told_by_what_was_asked() {
    let bench = bench();
    assert!(said(&bench, "data", &["exec --upstream echo: true"]).contains("exit 0"));
    let commands = [
        "log",
        "log list",
        "log list --session no",
        "log search words",
        "log show 7",
        "log export out.har --format har",
        "cache",
        "cache --session no",
    ];
    insta::assert_snapshot!(said(&bench, "data", &commands));
}
