//! Developer tasks; `cargo xtask` lists them.
//!
//! Each task says what it does before it does it, and fails where anything differs from what it promises. Nothing here is part of the
//! product. It builds in seconds, since it depends on `anyhow` alone; what needs a gate is in `tests/kit`.
#![expect(clippy::print_stdout, reason = "a developer task talks to its developer")]

mod authors;
mod bench;
mod book;
mod clients;
mod counts;
mod demo;
mod deny;
mod fuzz;
mod invariants;
mod javascript;
mod kit;
#[cfg(test)]
mod map;
mod package;
mod paths;
mod ran;
mod requirements;
mod run;
mod sources;
mod test;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
usage: cargo xtask <task>

  demo            shows in a minute what the gate does, and checks every step of it
  test [--soak]   plugins, all tests, and real clients; --soak takes longer and looks harder
  clients         the real clients of `test` alone, through the gate that is built already or now
  editors         VS Code in a browser before a model of ours, through the gate; npm and apt have it, pictures stay in
                  target/editors/pictures
  plugins         builds the bundled plugins and puts them where examples and tests find them
  pictures        draws the pictures of docs/pictures anew, from the program's own screens (needs tmux)
  authors         builds the example plugins in Python and JavaScript, and asks them their cases
  book            builds the book of docs/ with mdBook, which it installs below target/; all links are followed
  javascript      builds the engine of scripts anew (plugins/javascript; needs clang)
  bench [PART…]   measures what the gate costs (formats, detection, offline, manyRules, latency, events)
  corpus [--fit]  recall, precision and masking over the labelled corpora, by source, pack and detector, against their floors;
                  --fit makes the weights of the score anew
  corpus --sources DIR
                  alarms in 60 MB of the Rust sources below a folder, with their places
  invariants      names the tests of each invariant; fails where one has none
  requirements    names what shows each requirement; fails where a row or a test is missing
  digests FILE [OLDER]
                  records what the gate makes of every recording: what left, answers, log, receipts; compares with an older record.
                  LEAFGATE_BIN names another build
  deny [CHECK]... holds all dependencies against deny.toml: advisories, bans, licenses, sources, or those named (builds cargo-deny
                  the first time)
  package [--target NAME]... [--only KIND]... [--profile NAME] [--url URL] [--twice] [--check]
                  builds what people install, into target/packages: deb, rpm, archlinux, apk, tar, npm, wheel, image, sbom, formula and sums
                  (Linux; needs npm and buildah); --twice builds again elsewhere and compares; --check installs and uses each (needs root)
  fuzz [--seconds N] [TARGET...]
                  tries the promises of the tree on made-up requests, 60 s for each target (nightly compiler)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match task(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn plugins() -> Result<()> {
    kit::build()?;
    run::run(&mut kit::kit(&["plugins"]))
}

/// Draws the pictures of the documents; the same test holds them against the screen.
fn pictures() -> Result<()> {
    run::step("draws the pictures of the documents");
    let test = ["test", "-p", "leafgate-tests", "--test", "e2e", "--", "pictures::"];
    run::run(run::cargo().args(test).env("DRAW_PICTURES", "1"))
}

/// Records what the gate makes of every recording.
fn digests(arguments: &[&str]) -> Result<()> {
    kit::build()?;
    run::run(kit::kit(&["digests"]).args(arguments))
}

/// Prints the tests of each invariant.
fn invariants() -> Result<()> {
    for (number, tests) in invariants::of(&sources::tests()?)? {
        println!("{number:>2}  {}", tests.join("\n    "));
    }
    Ok(())
}

/// The tests over the corpora, with all that they print; a folder that is missing fails them.
fn corpus() -> Result<()> {
    run::step("reads every labelled row with every detector");
    let arguments =
        ["test", "-p", "leafgate-detect", "--test", "corpora", "--", "--nocapture", "--test-threads", "1"];
    run::run(run::cargo().args(arguments).env("CI", "true"))
}

/// Counts the alarms that the sources of others raise.
fn sources(folder: &str) -> Result<()> {
    run::step("reads sources with every detector of secrets");
    let test =
        ["test", "-p", "leafgate-detect", "--test", "corpora", "--", "--nocapture", "--ignored", "sources::"];
    run::run(run::cargo().args(test).env("LEAFGATE_SOURCES", folder))
}

/// Makes the weights of the score from half of the sources, and holds them to the other half.
fn fit() -> Result<()> {
    run::step("fits the weights of the score");
    let test = |arguments: &[&str]| {
        let test = ["test", "-p", "leafgate-detect", "--lib", "--", "--nocapture"];
        run::run(run::cargo().args(test).args(arguments).env("CI", "true"))
    };
    test(&["--ignored", "score::fit::write"])?;
    test(&["score::"])
}

fn task(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["demo"] => demo::demo(),
        ["test"] => test::test(false),
        ["test", "--soak"] => test::test(true),
        ["clients"] => clients::clients(),
        ["editors"] => clients::editors(),
        ["plugins"] => plugins(),
        ["pictures"] => pictures(),
        ["authors"] => authors::authors(),
        ["book"] => book::book(),
        ["javascript"] => javascript::javascript(),
        ["corpus"] => corpus(),
        ["corpus", "--fit"] => fit(),
        ["corpus", "--sources", folder] => sources(folder),
        ["invariants"] => invariants(),
        ["deny", checks @ ..] => deny::deny(checks),
        ["requirements"] => requirements::requirements(),
        ["package", arguments @ ..] => package::package(arguments),
        ["digests", arguments @ ..] => digests(arguments),
        ["bench", parts @ ..] => bench::bench(parts),
        ["fuzz", arguments @ ..] => fuzz::fuzz(arguments),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => bail!("unknown task `{}`\n\n{USAGE}", arguments.join(" ")),
    }
}
