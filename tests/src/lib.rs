//! The kit of the end-to-end tests: the built gate as a process, a client and an upstream that keep every byte, plugins.
//!
//! Everything here is deliberately independent of the gate's own crates: it speaks HTTP with the standard library, so that a fault in
//! the gate's HTTP code cannot hide behind the same fault here. `cargo xtask demo` tells its story with the same kit.
//!
//! What it must not do: wait by sleeping, or pass quietly where something that a test needs is missing.
//!
//! Beside it `e2e` has a module for each promise. `clients` has the official libraries, and agents as npm has them, unmodified but for
//! their base URL, before a model of few rules (`model`); `clients/editors` the same with VS Code in a browser, whose version its lockfile pins.

/// The plugin of the documents compiles.
#[cfg(doctest)]
#[doc = include_str!("../../plugins/README.md")]
pub struct Readme;

pub mod admin;
pub mod book;
pub mod gate;
pub mod http;
pub mod intercept;
pub mod model;
pub mod paths;
pub mod picture;
pub mod plant;
pub mod plugins;
pub mod reloads;
pub mod sample;
pub mod stage;
pub mod standing;
pub mod tmux;
pub mod upstream;

/// Whether this run may skip nothing.
#[must_use]
pub fn in_ci() -> bool {
    std::env::var("CI").as_deref() == Ok("true")
}

/// Says that a test is skipped; in CI, where everything must be there, fails it.
///
/// # Panics
/// With `CI=true`.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see what did not run")]
pub fn skip(why: &str) {
    assert!(!in_ci(), "nothing may be skipped in CI: {why}");
    eprintln!("skipped: {why}");
}
