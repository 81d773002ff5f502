//! `cargo xtask fuzz`: tries the promises of the tree on inputs that a fuzzer makes of recorded requests, those of the gate on recorded
//! answers, and those of the gate of plugins on files, texts and answers of its own making.
//!
//! The targets (`host/fuzz`) are short; what they check stands in `host/harness`, `host/gate/tests/hostile` and
//! `host/admission/tests/checks`, whose tests run the same checks in every test run. Nothing of this is needed to build or test the product, so what is missing is installed below `target/`, or named.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::paths;
use crate::run::{run, shown, step};

/// How long each target runs where nobody says.
const SECONDS: u32 = 60;

/// Longest input. Longer ones find no more and are tried less often.
const LONGEST: u64 = 8 * 1024;

/// Slowest input, in seconds: a request of this length that takes longer is a finding.
const SLOWEST: u32 = 10;

/// Each target, and where its seeds are: folders of recordings, and the endings of their files.
const TARGETS: &[(&str, &[(&str, &str)])] = &[
    ("index", ALL),
    ("embedded", ALL),
    ("splice", ALL),
    ("journal", ALL),
    ("openai_chat", &[("openai-chat", ".request.json")]),
    ("openai_responses", &[("openai-responses", ".request.json")]),
    ("anthropic_messages", &[("anthropic-messages", ".request.json")]),
    ("raw", &[("raw-chatmessage", ".json")]),
    ("vscode_chat", &[("vscode-chat-export", ".json")]),
    ("gemini", &[("gemini", ".request.json"), ("code-assist", ".request.json")]),
    (
        "generic",
        &[("prompt-tsx-json", ".json"), ("copilot", ".request.json"), ("multi-agent-config", ".json")],
    ),
    ("answers_chat", &[("openai-chat", ".response.json"), ("openai-chat", ".response.sse")]),
    ("answers_responses", &[("openai-responses", ".response.json"), ("openai-responses", ".response.sse")]),
    (
        "answers_messages",
        &[("anthropic-messages", ".response.json"), ("anthropic-messages", ".response.sse")],
    ),
    ("answers_gemini", &[("gemini", ".response.json"), ("gemini", ".response.sse")]),
    ("answers_code_assist", &[("code-assist", ".response.json"), ("code-assist", ".response.sse")]),
    ("plugin_file", CHANGES),
    ("plugin_words", CHANGES),
    ("plugin_answer", CHANGES),
];

/// No recordings: an input says what to change in a plugin that the target knows.
const CHANGES: &[(&str, &str)] = &[];

const ALL: &[(&str, &str)] = &[
    ("openai-chat", ".request.json"),
    ("openai-responses", ".request.json"),
    ("anthropic-messages", ".request.json"),
    ("gemini", ".request.json"),
    ("code-assist", ".request.json"),
    ("copilot", ".request.json"),
    ("raw-chatmessage", ".json"),
    ("vscode-chat-export", ".json"),
    ("prompt-tsx-json", ".json"),
];

/// Runs the targets that are named, or all.
pub(crate) fn fuzz(arguments: &[&str]) -> Result<()> {
    let (seconds, targets) = wanted(arguments)?;
    let fuzzer = fuzzer()?;
    step("building the fuzz targets");
    run(&mut cargo_fuzz(&fuzzer, "build", &[]))?;
    let mut findings = Vec::new();
    for (target, seeds) in targets {
        let corpus = folder().join("corpus").join(target);
        let seeds = seed(&corpus, seeds)?;
        step(&format!("{target}: {seconds} s, from {seeds} seeds"));
        if !run_target(&fuzzer, target, &corpus, seconds)? {
            findings.push(explain(target)?);
        }
    }
    ensure!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
    step("nothing found");
    Ok(())
}

type FuzzTarget = (&'static str, &'static [(&'static str, &'static str)]);

fn wanted(arguments: &[&str]) -> Result<(u32, Vec<FuzzTarget>)> {
    let mut seconds = SECONDS;
    let mut targets = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(&argument) = arguments.next() {
        if argument == "--seconds" {
            let number = arguments.next().and_then(|number| number.parse().ok()).filter(|&number| number > 0);
            seconds = number.context("--seconds takes a number above 0")?;
            continue;
        }
        let known: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
        let target = TARGETS.iter().find(|(name, _)| *name == argument);
        targets.push(
            *target.with_context(|| format!("no target `{argument}`; there are {}", known.join(", ")))?,
        );
    }
    Ok((seconds, if targets.is_empty() { TARGETS.to_vec() } else { targets }))
}

/// Finds the nightly compiler and cargo-fuzz, and installs the latter where it is not there.
fn fuzzer() -> Result<PathBuf> {
    if !succeeds(Command::new("rustup").args(["run", "nightly", "rustc", "--version"])) {
        bail!("fuzzing needs the nightly compiler: `rustup toolchain install nightly --profile minimal`");
    }
    if succeeds(Command::new("cargo-fuzz").args(["fuzz", "--version"])) {
        return Ok("cargo-fuzz".into());
    }
    let root = paths::target().join("tools");
    let fuzzer = root.join("bin/cargo-fuzz");
    if !fuzzer.exists() {
        step("installing cargo-fuzz below target/tools");
        let mut install = crate::run::cargo();
        install.args(["install", "cargo-fuzz", "--locked", "--quiet", "--root"]).arg(&root);
        run(&mut install).context("fuzzing needs cargo-fuzz: `cargo install cargo-fuzz --locked`")?;
    }
    Ok(fuzzer)
}

fn succeeds(command: &mut Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn folder() -> PathBuf {
    paths::root().join("host/fuzz")
}

fn cargo_fuzz(fuzzer: &Path, task: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly"]).arg(fuzzer).args(["fuzz", task, "--fuzz-dir"]).arg(folder());
    // The code holds no `unsafe`, so there is nothing for a sanitizer to find, and without one twice as much is tried.
    command.args(["--sanitizer", "none"]).args(arguments);
    // This program runs under the pinned compiler, and its builds go elsewhere.
    command.env_remove("CARGO").env_remove("RUSTC").env("CARGO_TARGET_DIR", folder().join("target"));
    command.current_dir(paths::root());
    command
}

/// Puts recordings into the corpus, with and without choices behind them: our own, and those outside the repository where they are.
fn seed(corpus: &Path, folders: &[(&str, &str)]) -> Result<usize> {
    std::fs::create_dir_all(corpus)?;
    if folders.is_empty() {
        return Ok(0);
    }
    let outside = std::env::var_os("LEAFGATE_FIXTURES")
        .map_or_else(|| paths::root().join("../shared/fixtures"), PathBuf::from);
    let mut seeds = files(&paths::root().join("examples/requests"), ".json");
    for recordings in [paths::root().join("examples/recordings"), outside] {
        for (folder, ending) in folders {
            seeds.extend(files(&recordings.join(folder), ending));
        }
    }
    let mut written = 0;
    for seed in seeds {
        let body = std::fs::read(&seed).with_context(|| format!("cannot read {}", seed.display()))?;
        if body.len() as u64 > LONGEST {
            continue;
        }
        let name = seed.file_name().unwrap_or_default().to_string_lossy();
        let choices: Vec<u8> = (0..48u8).map(|place| place.wrapping_mul(place).wrapping_mul(37)).collect();
        std::fs::write(corpus.join(format!("seed-{name}")), &body)?;
        std::fs::write(corpus.join(format!("seed-{name}-choices")), [&body[..], &[0], &choices].concat())?;
        written += 2;
    }
    Ok(written)
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(ending)).collect()
}

/// Whether a target ran to its end without a finding.
fn run_target(fuzzer: &Path, target: &str, corpus: &Path, seconds: u32) -> Result<bool> {
    let dictionary = folder().join("requests.dict");
    let corpus = corpus.to_string_lossy();
    let mut command = cargo_fuzz(fuzzer, "run", &[target, &corpus, "--"]);
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={LONGEST}"))
        .arg(format!("-timeout={SLOWEST}"))
        .arg(format!("-dict={}", dictionary.display()))
        .args(["-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]);
    let status = command.status().with_context(|| format!("`{}` cannot be run", shown(&command)))?;
    Ok(status.success())
}

/// Says where a finding lies and how it becomes a test.
fn explain(target: &str) -> Result<String> {
    let artifacts = files(&folder().join("artifacts").join(target), "");
    let written = |path: &PathBuf| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let newest = artifacts.iter().max_by_key(|path| written(path));
    let Some(newest) = newest else { return Ok(format!("{target}: failed without leaving an input")) };
    let input = std::fs::read(newest)?;
    let (tests, check) = match target {
        "index" | "embedded" | "splice" | "journal" => {
            ("harness/tests/properties.rs", format!("leafgate_harness::{target}(INPUT)"))
        }
        _ => match target.split_once('_') {
            Some(("plugin", check)) => ("admission/tests/properties.rs", format!("checks::{check}(INPUT)")),
            Some(("answers", api)) => {
                ("gate/tests/hostile/models.rs", format!("check(the API `{api}`, INPUT)"))
            }
            _ => ("harness/tests/properties.rs", format!("check(\"{target}\", INPUT)")),
        },
    };
    Ok(format!(
        "{target}: {path}\n  smaller: cargo +nightly fuzz tmin --fuzz-dir host/fuzz --sanitizer none {target} {path}\n  \
         as a test, in host/{tests}, named after what it shows:\n    {check}\n    with INPUT = b\"{input}\"",
        path = newest.display(),
        input = input.escape_ascii(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_targets_and_seconds() {
        let (seconds, targets) = wanted(&["splice", "--seconds", "5", "raw"]).unwrap();
        assert_eq!(
            (seconds, targets.iter().map(|(name, _)| *name).collect::<Vec<_>>()),
            (5, vec!["splice", "raw"])
        );
        assert_eq!(wanted(&[]).unwrap().1.len(), TARGETS.len());
        assert!(wanted(&["--seconds"]).is_err() && wanted(&["--seconds", "0"]).is_err());
        assert!(wanted(&["splices"]).unwrap_err().to_string().contains("journal"));
    }

    /// The targets are a workspace of their own, and no other build sees what they lack.
    #[test]
    fn every_target_has_a_file_with_what_it_includes_and_uses() {
        let read = |path: &Path| {
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let manifest = read(&folder().join("Cargo.toml"));
        for (target, _) in TARGETS {
            let targets = folder().join("fuzz_targets");
            let mut text = read(&targets.join(format!("{target}.rs")));
            let included =
                text.lines().filter_map(|line| line.strip_prefix("#[path = \"")?.strip_suffix("\"]"));
            let included: String = included.map(|path| read(&targets.join(path))).collect();
            text.push_str(&included);
            for used in text.lines().filter_map(|line| line.strip_prefix("use leafgate_")) {
                let (name, _) = used.split_once(':').unwrap();
                assert!(manifest.contains(&format!("\nleafgate-{name} = ")), "{target} uses {name}");
            }
        }
    }
}
