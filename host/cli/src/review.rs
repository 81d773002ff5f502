//! `review`, and `run --review`: bind the approval prompt to a running gate.
//!
//! Both ask over the admin API, so the prompt in the gate's own terminal can do what one in another
//! terminal can.

use std::io::{self, IsTerminal, stdin, stdout};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhow::bail;
use leafgate_admin::{
    ApiError, CapturedEdits, Diff, EditCommand, Event, Excepted, ModeView, Payload, Resumed, RuntimeFile,
    SavedList, SavedScope, SessionList, Subagents, TurnMode, TurnSummary, TurnView,
};
use leafgate_review::screen::{
    self, EditorCommand, EventSource, ScreenEvent, TerminalEvents, TerminalSurface, Theme, farewell,
};
use leafgate_review::{AdminApi, ExceptionDraft, TurnMetadata, plain};

use crate::admin::{self, AdminClient};
use crate::args::ReviewArgs;
use crate::exit::Exit;
use crate::print::{self, Printer};
use crate::status::refused;
use crate::{home, runtime};

pub(crate) fn run(args: &ReviewArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let gate = runtime::find(&runtime::folder()?, args.gate.as_ref())?;
    let only = args.id.clone();
    if let Some(id) = &only
        && let Err(error) = AdminClient::new(&gate)?.turn(id)
    {
        // An error here is better than an empty screen.
        return refused(&error, false, printer);
    }
    if args.plain {
        let prompt = if stdin().is_terminal() { "> " } else { "" };
        let mut turns = GateTurns::new(&gate, only)?;
        plain::run(&mut turns, &mut stdin().lock(), &mut stdout().lock(), prompt)?;
        return Ok(Exit::Done);
    }
    require_terminal()?;
    let waiting = on_screen(&gate, only, &Arc::default())?;
    if let Some(text) = farewell(waiting) {
        printer.line(&text)?;
        printer.flush()?;
    }
    Ok(Exit::Done)
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
    let events = only_about(only.clone(), admin::listen(gate)?);
    let mut turns = GateTurns::new(gate, only)?;
    let mut outside = EditorCommand::new(editor(), private_folder()?);
    let theme = if print::may_colour(&stdout()) { Theme::Colour } else { Theme::Plain };
    let mut events = UntilStopped { stop: Arc::clone(stop), events: TerminalEvents::new(events) };
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

/// The gate's turns, or the one of the call.
struct GateTurns {
    gate: AdminClient,
    only: Option<String>,
}

impl GateTurns {
    fn new(gate: &RuntimeFile, only: Option<String>) -> anyhow::Result<Self> {
        Ok(GateTurns { gate: AdminClient::new(gate)?, only })
    }
}

impl AdminApi for GateTurns {
    fn pending(&mut self) -> Result<Vec<TurnSummary>, ApiError> {
        let mut turns = self.gate.pending()?;
        turns.retain(|turn| self.only.as_ref().is_none_or(|only| turn.id == *only));
        Ok(turns)
    }

    fn turn(&mut self, id: &str) -> Result<TurnView, ApiError> {
        self.gate.turn(id)
    }

    fn diff(&mut self, id: &str) -> Result<Diff, ApiError> {
        self.gate.diff(id)
    }

    fn edit(&mut self, id: &str, command: EditCommand) -> Result<TurnView, ApiError> {
        self.gate.edit(id, command)
    }

    fn except(&mut self, id: &str, exception: ExceptionDraft) -> Result<Excepted, ApiError> {
        AdminApi::except(&mut self.gate, id, exception)
    }

    fn resume(&mut self, id: &str, digest: &str) -> Result<Resumed, ApiError> {
        self.gate.resume(id, digest)
    }

    fn cancel(&mut self, id: &str) -> Result<TurnSummary, ApiError> {
        self.gate.cancel(id)
    }

    fn payload(&mut self, id: &str) -> Result<Payload, ApiError> {
        self.gate.payload(id)
    }

    fn metadata(&mut self, id: &str) -> Result<TurnMetadata, ApiError> {
        self.gate.metadata(id)
    }

    fn save(&mut self, id: &str, scope: SavedScope) -> Result<CapturedEdits, ApiError> {
        self.gate.save(id, scope)
    }

    fn capture_next(&mut self) -> Result<SavedList, ApiError> {
        self.gate.capture_next()
    }

    fn subagents(&mut self) -> Result<Subagents, ApiError> {
        self.gate.subagents()
    }

    fn pin(&mut self, id: &str, sections: Vec<String>) -> Result<TurnView, ApiError> {
        self.gate.pin(id, sections)
    }

    fn mode(&mut self) -> Result<ModeView, ApiError> {
        self.gate.mode()
    }

    fn set_mode(&mut self, mode: TurnMode) -> Result<ModeView, ApiError> {
        self.gate.set_mode(mode)
    }

    fn sessions(&mut self) -> Result<SessionList, ApiError> {
        self.gate.sessions()
    }

    fn select(&mut self, session: &str) -> Result<SessionList, ApiError> {
        self.gate.select(session)
    }

    fn follow(&mut self, follow: bool) -> Result<SessionList, ApiError> {
        self.gate.follow(follow)
    }
}

/// Drops events about other turns.
fn only_about(only: Option<String>, events: Receiver<admin::EventResult>) -> Receiver<admin::EventResult> {
    let Some(only) = only else { return events };
    let (sender, kept) = mpsc::channel();
    std::thread::spawn(move || {
        let wanted = |event: &admin::EventResult| match event {
            Ok(Event::Paused { turn } | Event::Changed { turn } | Event::Resolved { turn }) => {
                turn.id == only
            }
            Ok(
                Event::Mode { .. }
                | Event::Sessions { .. }
                | Event::Subagent { .. }
                | Event::Agent { .. }
                | Event::Policy { .. },
            )
            | Err(_) => true,
        };
        events.into_iter().filter(wanted).all(|event| sender.send(event).is_ok());
    });
    kept
}

/// The events, until the gate in this process stops. The prompt then ends and gives the terminal
/// back.
struct UntilStopped<H> {
    stop: Arc<AtomicBool>,
    events: H,
}

impl<H: EventSource> EventSource for UntilStopped<H> {
    fn next(&mut self, timeout: Duration) -> io::Result<ScreenEvent> {
        let event = self.events.next(timeout)?;
        if self.stop.load(Relaxed) {
            return Err(io::Error::other("the gate stops"));
        }
        Ok(event)
    }
}
