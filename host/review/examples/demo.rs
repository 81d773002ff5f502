//! The prompt over a gate in memory, to look at it without a gate:
//! `cargo run -p leafgate-review --example demo [-- --plain]`.

use std::io::{self, stdin, stdout};
use std::sync::mpsc;

use leafgate_review::screen::{EditorCommand, TerminalEvents, TerminalSurface, Theme, farewell, run};

#[path = "../tests/review/support/mod.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "shared with the tests, which use more of it")]
mod support;

fn main() -> io::Result<()> {
    let hostile = support::hostile_body();
    let mut desk = support::FakeDesk::with(&[support::AGENT, &hostile]);
    if std::env::args().any(|argument| argument == "--plain") {
        return leafgate_review::plain::run(&mut desk, &mut stdin().lock(), &mut stdout(), "> ");
    }
    let theme = if std::env::var_os("NO_COLOR").is_some() { Theme::Plain } else { Theme::Colour };
    let editor = std::env::var("EDITOR").unwrap_or_else(|_| "vi".to_owned());
    let (_gate, events) = mpsc::channel();
    let mut surface = TerminalSurface::open(theme)?;
    let mut outside = EditorCommand::new(editor, std::env::temp_dir());
    let waiting = run(&mut desk, &mut TerminalEvents::new(events), &mut surface, &mut outside)?;
    drop(surface);
    if let Some(text) = farewell(waiting) {
        io::Write::write_all(&mut stdout(), format!("{text}\n").as_bytes())?;
    }
    Ok(())
}
