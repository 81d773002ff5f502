//! `review`, and `run --review`: bind the approval prompt to a running gate.
//!
//! Both ask over the admin API, so the prompt in the gate's own terminal can do what one in another
//! terminal can.

use std::io::{self, IsTerminal, Write, stdin, stdout};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use anyhow::bail;
use leafgate_admin::{Event, RuntimeFile, TurnView};
use leafgate_review::plain;
use leafgate_review::screen::{
    self, EditorCommand, EventSource, ScreenEvent, TerminalEvents, TerminalSurface, Theme, farewell,
};

use crate::admin::{self, AdminClient};
use crate::exit::Exit;
use crate::options::ReviewArgs;
use crate::print::{self, Printer};
use crate::{home, runtime};

pub(crate) fn run(args: &ReviewArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let gate = args.gate.find()?;
    let only = args.id.clone();
    if let Some(id) = &only {
        // An error here is better than an empty screen.
        AdminClient::new(&gate)?.view::<TurnView>(id)?;
    }
    if args.plain {
        let prompt = if stdin().is_terminal() { "> " } else { "" };
        announce(only.clone(), admin::listen(&gate)?, prompt);
        let mut turns = AdminClient::new(&gate)?.only(only);
        plain::run(&mut turns, &mut stdin().lock(), &mut stdout(), prompt)?;
        return Ok(Exit::Done);
    }
    require_terminal()?;
    let waiting = on_screen(&gate, only, &Arc::default())?;
    if let Some(text) = farewell(waiting) {
        printer.line(&text)?;
    }
    Ok(Exit::Done)
}

/// Prints a line for each turn that comes, with a bell where a person types, as long as this process
/// runs.
fn announce(only: Option<String>, events: Receiver<admin::EventResult>, prompt: &'static str) {
    std::thread::spawn(move || {
        let meant = events.into_iter().flatten().filter(|event| is_about(event, only.as_deref()));
        for line in meant.filter_map(|event| plain::announcement(&event)) {
            let (start, bell) = if prompt.is_empty() { ("", "") } else { ("\n", "\x07") };
            let mut output = stdout().lock();
            let told = write!(output, "{start}{line}{bell}\n{prompt}").and_then(|()| output.flush());
            if told.is_err() {
                return;
            }
        }
    });
}

/// Refuses an output that can show no screen.
pub(crate) fn require_terminal() -> anyhow::Result<()> {
    if stdin().is_terminal() && stdout().is_terminal() {
        return Ok(());
    }
    bail!(
        "the prompt needs a terminal: `leafgate review --plain` works line by line, `leafgate pending` call by call"
    )
}

/// Shows the prompt until the person leaves it or `stop` is set. Returns how many turns still wait.
pub(crate) fn on_screen(
    gate: &RuntimeFile,
    only: Option<String>,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<usize> {
    // Listening starts before the first list is asked for, so that no turn begins to wait between
    // the two.
    let events = TerminalEvents::new(admin::listen(gate)?);
    let mut turns = AdminClient::new(gate)?.only(only.clone());
    let mut outside = EditorCommand::new(editor(), private_folder()?);
    let theme = if print::may_colour(&stdout()) { Theme::Colour } else { Theme::Plain };
    let mut events = PromptEvents { stop: Arc::clone(stop), only, events };
    let mut surface = TerminalSurface::open(theme)?;
    let left = screen::run(&mut turns, &mut events, &mut surface, &mut outside);
    drop(surface);
    match left {
        Err(_) if stop.load(Relaxed) => Ok(0),
        left => Ok(left?),
    }
}

/// Returns the person's editor, found as most programs do.
fn editor() -> String {
    let named = |name: &str| std::env::var(name).ok().filter(|command| !command.trim().is_empty());
    named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}

/// Returns the folder for a leaf in that editor: often in memory, always the user's own.
fn private_folder() -> anyhow::Result<PathBuf> {
    let folder = runtime::folder()?;
    Ok(if folder.is_dir() { folder } else { home::data_folder()? })
}

/// The events, but those about other turns than the one that was named, until the gate in this process
/// stops. The prompt then ends and gives the terminal back.
struct PromptEvents<H> {
    stop: Arc<AtomicBool>,
    only: Option<String>,
    events: H,
}

impl<H: EventSource> EventSource for PromptEvents<H> {
    fn next(&mut self, timeout: Duration) -> io::Result<ScreenEvent> {
        loop {
            let event = self.events.next(timeout)?;
            if self.stop.load(Relaxed) {
                return Err(io::Error::other("the gate stops"));
            }
            match event {
                ScreenEvent::Gate(event) if !is_about(&event, self.only.as_deref()) => {}
                event => return Ok(event),
            }
        }
    }
}

/// Returns whether an event is about the one turn that is meant, or about none.
fn is_about(event: &Event, only: Option<&str>) -> bool {
    match event {
        Event::Paused { turn } | Event::Changed { turn } | Event::Resolved { turn } => {
            only.is_none_or(|only| turn.id == only)
        }
        Event::Mode { .. }
        | Event::Sessions { .. }
        | Event::Subagent { .. }
        | Event::Agent { .. }
        | Event::Policy { .. } => true,
    }
}
