//! The tutorial of policies, step by step: its files are written, its commands are run, and they print what stands there.

use std::process::Command;

use crate::support::Bench;

const TUTORIAL: &str = include_str!("../../../../docs/policy.md");

/// The blocks of the tutorial, each with its language.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let parts: Vec<&str> = TUTORIAL.split("```").collect();
    parts.iter().skip(1).step_by(2).map(|block| block.split_once('\n').expect("a block has lines")).collect()
}

/// A line as it may be printed elsewhere: `…` stands for what differs from machine to machine.
fn fits(expected: &str, line: &str) -> bool {
    match expected.split_once('…') {
        None => expected == line,
        Some((before, after)) => {
            line.len() >= before.len() + after.len() && line.starts_with(before) && line.ends_with(after)
        }
    }
}

#[test]
fn the_tutorial_does_what_it_says() {
    let bench = Bench::new();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_leafgate")).parent().unwrap().to_owned();
    let (mut files, mut commands) = (0, 0);
    for (language, block) in blocks() {
        if language == "toml" {
            let name =
                block.lines().next().and_then(|line| line.strip_prefix("# ")).expect("a file has a name");
            bench.file(name, block);
            files += 1;
            continue;
        }
        assert_eq!(language, "console");
        for step in block.split("$ ").skip(1) {
            let (command, expected) = step.split_once('\n').unwrap_or((step, ""));
            let ran = Command::new("sh")
                .args(["-c", command])
                .current_dir(bench.path())
                .env("PATH", format!("{}:/usr/bin:/bin", binary.display()))
                .env("LEAFGATE_DATA_DIR", bench.path().join("data"))
                .output()
                .unwrap();
            let printed = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
            let (expected, printed): (Vec<&str>, Vec<&str>) =
                (expected.trim().lines().collect(), printed.trim().lines().collect());
            let same = expected.len() == printed.len()
                && expected.iter().zip(&printed).all(|(expected, line)| fits(expected, line));
            assert!(
                same,
                "$ {command}\nexpected:\n{}\nprinted:\n{}",
                expected.join("\n"),
                printed.join("\n")
            );
            commands += 1;
        }
    }
    assert!(files >= 4 && commands >= 6, "{files} files, {commands} commands");
}
