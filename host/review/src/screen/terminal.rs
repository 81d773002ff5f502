//! The real terminal: raw mode and the second screen while the prompt runs, and its keys beside the gate's events.

use std::io::{self, Write, stdout};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use leafgate_admin::{ApiError, Event};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, enable_raw_mode};

use super::{Happening, Happenings, Screen, Surface, Theme, draw};

/// How long the terminal is asked for a key before the gate's events are looked at: an event waits no longer than this.
const SLICE: Duration = Duration::from_millis(50);

/// Standard output as a surface. Dropping it gives the terminal back; so does a panic.
pub struct TerminalSurface {
    terminal: DefaultTerminal,
    theme: Theme,
}

impl TerminalSurface {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Standard output is no terminal; line mode works there.
    pub fn open(theme: Theme) -> io::Result<TerminalSurface> {
        // Made before anything else can fail, so that dropping it gives the terminal back.
        let surface = TerminalSurface { terminal: ratatui::try_init()?, theme };
        execute!(stdout(), EnableBracketedPaste)?;
        Ok(surface)
    }
}

impl Surface for TerminalSurface {
    fn size(&mut self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    fn draw(&mut self, screen: &Screen) -> io::Result<()> {
        self.terminal.draw(|frame| draw(screen, self.theme, frame)).map(drop)
    }

    fn bell(&mut self) -> io::Result<()> {
        stdout().write_all(b"\x07")?;
        stdout().flush()
    }

    fn suspend(&mut self) -> io::Result<()> {
        execute!(stdout(), DisableBracketedPaste)?;
        self.terminal.show_cursor()?;
        ratatui::try_restore()
    }

    fn resume(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        self.terminal.clear()
    }
}

impl Drop for TerminalSurface {
    fn drop(&mut self) {
        // The terminal may be gone; there is nobody to tell.
        let _ = self.suspend();
    }
}

/// The terminal's keys, the gate's events as another thread hands them over, and a clock.
pub struct TerminalHappenings {
    /// `None` once the events have stopped coming.
    gate: Option<Receiver<Result<Event, ApiError>>>,
    told: Instant,
}

impl TerminalHappenings {
    /// Keys and events together. The sender ends with an error when its connection does.
    #[must_use]
    pub fn new(gate: Receiver<Result<Event, ApiError>>) -> Self {
        TerminalHappenings { gate: Some(gate), told: Instant::now() }
    }

    fn next_of_gate(&mut self) -> Option<Happening> {
        match self.gate.as_ref()?.try_recv() {
            Ok(Ok(event)) => Some(Happening::Gate(event)),
            Ok(Err(error)) => Some(Happening::Lost(error)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                self.gate = None;
                None
            }
        }
    }
}

impl Happenings for TerminalHappenings {
    fn next(&mut self, timeout: Duration) -> io::Result<Happening> {
        loop {
            // Before anything else, so that typing does not stop the clocks.
            let passed = self.told.elapsed();
            if passed >= timeout {
                self.told += passed;
                return Ok(Happening::Tick(passed));
            }
            if let Some(happening) = self.next_of_gate() {
                return Ok(happening);
            }
            if !event::poll(SLICE.min(timeout - passed))? {
                continue;
            }
            match event::read()? {
                event::Event::Key(key) => return Ok(Happening::Key(key)),
                event::Event::Paste(text) => return Ok(Happening::Paste(text)),
                event::Event::Resize(columns, rows) => return Ok(Happening::Resize(columns, rows)),
                _ => {}
            }
        }
    }
}
