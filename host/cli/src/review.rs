//! `review`, and `run --review`: bind the approval prompt to a running gate.
//!
//! Both ask over the admin API, so the prompt in the gate's own terminal can do what one in another
//! terminal can.

use std::io::{self, IsTerminal, Write, stdin, stdout};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use anyhow::bail;
use leafgate_admin::{RuntimeFile, TurnView};
use leafgate_review::plain;
use leafgate_review::screen::{
    self, EditorCommand, EventSource, ScreenEvent, TerminalEvents, TerminalSurface, Theme, farewell,
};
use tokio::task::JoinHandle;

use crate::admin::{self, AdminClient};
use crate::options::ReviewArgs;
use crate::print::{self, Exit, Printer};
use crate::stop::Stop;
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
        announce(admin::listen(&gate, only.clone())?, prompt);
        let mut turns = AdminClient::new(&gate)?.only(only);
        plain::run(&mut turns, &mut stdin().lock(), &mut stdout(), prompt)?;
        return Ok(Exit::Done);
    }
    require_terminal()?;
    let waiting = on_screen(&gate, only, &Stop::by_hand())?;
    if let Some(text) = farewell(waiting) {
        printer.line(&text)?;
    }
    Ok(Exit::Done)
}

/// Prints a line for each turn that comes, with a bell where a person types, as long as this process
/// runs.
fn announce(events: Receiver<admin::EventResult>, prompt: &'static str) {
    std::thread::spawn(move || {
        for line in events.into_iter().flatten().filter_map(|event| plain::announcement(&event)) {
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
pub(crate) fn on_screen(gate: &RuntimeFile, only: Option<String>, stop: &Stop) -> anyhow::Result<usize> {
    // Listening starts before the first list is asked for, so that no turn begins to wait between
    // the two.
    let events = admin::listen(gate, only.clone())?;
    let mut turns = AdminClient::new(gate)?.only(only);
    let mut outside = EditorCommand::new(editor(), private_folder()?);
    let theme = if print::may_colour(&stdout()) { Theme::Colour } else { Theme::Plain };
    let mut events = UntilStopped { stop: stop.clone(), events: TerminalEvents::new(events) };
    let mut surface = TerminalSurface::open(theme)?;
    let left = screen::run(&mut turns, &mut events, &mut surface, &mut outside);
    drop(surface);
    match left {
        Err(_) if stop.is_requested() => Ok(0),
        left => Ok(left?),
    }
}

/// Shows the prompt in the gate's own terminal, on a thread of its own, which ends once the terminal is
/// given back. It asks the gate over the admin API, like a prompt in another terminal; the gate goes on
/// running when it ends.
pub(crate) fn beside_gate(gate: &RuntimeFile, stop: &Stop) -> JoinHandle<()> {
    let (gate, stop) = (gate.clone(), stop.clone());
    tokio::task::spawn_blocking(move || {
        let mut printer = Printer::for_terminal();
        match on_screen(&gate, None, &stop) {
            Err(error) => {
                printer.error_line(&format!("leafgate: the prompt ended, the gate goes on: {error:#}"))
            }
            Ok(_) if stop.is_requested() => {}
            Ok(waiting) => printer.error_line(&left(waiting)),
        }
    })
}

/// Returns the message for a person who leaves the prompt.
fn left(waiting: usize) -> String {
    let waiting = farewell(waiting).map(|text| format!("{text} ")).unwrap_or_default();
    format!("{waiting}The gate goes on: `leafgate review` shows the prompt again, Ctrl-C stops the gate.")
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

/// The events, until the gate in this process stops. The prompt then ends and gives the terminal
/// back.
struct UntilStopped<H> {
    stop: Stop,
    events: H,
}

impl<H: EventSource> EventSource for UntilStopped<H> {
    fn next(&mut self, timeout: Duration) -> io::Result<ScreenEvent> {
        let event = self.events.next(timeout)?;
        if self.stop.is_requested() {
            return Err(io::Error::other("the gate stops"));
        }
        Ok(event)
    }
}
