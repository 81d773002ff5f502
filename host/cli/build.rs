//! Tells the program what it is built of: the commit, and for what.
//!
//! The commit is what `BUILD_COMMIT` says, as where sources are no repository, or what git says where a
//! release is built; else `unknown`. Builds for development do not ask: each commit would build them anew.

use std::env::var;
use std::path::Path;
use std::process::Command;

fn main() {
    let profile = var("PROFILE").unwrap_or_default();
    let commit = var("BUILD_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = commit.or_else(|| if profile == "release" { of_git() } else { None });
    println!("cargo::rustc-env=BUILD_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    println!("cargo::rustc-env=BUILD_TARGET={}", var("TARGET").unwrap_or_default());
    println!("cargo::rustc-env=BUILD_PROFILE={profile}");
    println!("cargo::rerun-if-env-changed=BUILD_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
}

/// Returns the commit of the working tree, marked where files differ from it.
fn of_git() -> Option<String> {
    // Written at each change of the branch or of its commit.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["describe", "--always", "--abbrev=12", "--exclude=*", "--dirty"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
