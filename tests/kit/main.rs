//! What the developer tasks show and try with a gate that is built: `cargo xtask` builds this program together with the gate, in one
//! call, and runs it.
//!
//! It is a program of its own so that the tasks themselves depend on next to nothing: they can say what they do before the minutes that
//! a first build takes.
#![expect(clippy::print_stdout, reason = "a developer task talks to its developer")]

mod book;
mod clients;
mod demo;
mod digests;
mod hostile;
mod load;
mod plugins;
mod run;
mod soak;
mod streams;
mod teams;
mod turns;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use leafgate_tests::gate;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match task(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("\nkit: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn task(arguments: &[&str]) -> Result<()> {
    let (task, rest) = arguments.split_first().map_or(("", &[][..]), |(task, rest)| (*task, rest));
    if let Some(binary) = beside() {
        gate::is_built(binary);
    }
    match (task, rest) {
        ("plugins", []) => plugins::all(),
        ("demo", []) => demo::demo(),
        ("soak", []) => soak::soak(),
        ("hostile", []) => hostile::hostile(),
        ("turns", []) => turns::turns(),
        ("streams", []) => streams::streams(),
        ("teams", []) => teams::teams(),
        ("digests", [out]) => digests::digests(out.as_ref(), None),
        ("digests", [out, older]) => digests::digests(out.as_ref(), Some(older.as_ref())),
        ("book", [folder]) => book::stage(folder.as_ref()),
        ("book-links", [folder]) => book::check(folder.as_ref()),
        ("clients", [language]) => clients::test(language, false),
        ("clients", [language, "--long"]) => clients::test(language, true),
        _ => bail!(
            "called by `cargo xtask`: plugins | demo | soak | hostile | streams | turns | teams | clients LANGUAGE [--long] | digests FILE [OLDER] | book FOLDER | \
             book-links FOLDER"
        ),
    }
}

/// The gate that was built together with this program.
fn beside() -> Option<PathBuf> {
    let gate = std::env::current_exe().ok()?.with_file_name("leafgate");
    gate.is_file().then_some(gate)
}
