//! The real terminal: raw mode and the second screen while the prompt runs, and its keys beside the
//! gate's events.

use std::io::{self, Write, stdout};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use leafgate_admin::{ApiError, Event};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, SetTitle, enable_raw_mode};

use super::{EventSource, Screen, ScreenEvent, Surface, Theme, draw};

/// Longest wait for a key, and so the longest delay of an event of the gate.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Standard output as a surface. Dropping it gives the terminal back, and so does a panic.
pub struct TerminalSurface {
    terminal: DefaultTerminal,
    theme: Theme,
    title: String,
}

/// Keeps the window's title, and gives it back (xterm). Terminals that know neither ignore both.
const KEEP_TITLE: &[u8] = b"\x1b[22;0t";
const OLD_TITLE: &[u8] = b"\x1b[23;0t";

impl TerminalSurface {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Standard output is no terminal. The line mode works there.
    pub fn open(theme: Theme) -> io::Result<TerminalSurface> {
        // Made before anything else can fail, so that dropping it gives the terminal back.
        let surface = TerminalSurface { terminal: ratatui::try_init()?, theme, title: String::new() };
        stdout().write_all(KEEP_TITLE)?;
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

    fn title(&mut self, title: &str) -> io::Result<()> {
        if self.title != title {
            title.clone_into(&mut self.title);
            execute!(stdout(), SetTitle(title))?;
        }
        Ok(())
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
        // If the terminal is gone, the error cannot be shown.
        let _ = self.suspend();
        let _ = stdout().write_all(OLD_TITLE).and_then(|()| stdout().flush());
    }
}

/// The terminal's keys, the gate's events from another thread, and a clock.
pub struct TerminalEvents {
    gate: Receiver<Result<Event, ApiError>>,
    last_tick: Instant,
}

impl TerminalEvents {
    /// Joins keys and events. The sender sends an error when its connection ends.
    pub fn new(gate: Receiver<Result<Event, ApiError>>) -> Self {
        TerminalEvents { gate, last_tick: Instant::now() }
    }

    /// Returns what the gate told, if anything has come; nothing more once its events have ended.
    fn next_of_gate(&self) -> Option<ScreenEvent> {
        let told = self.gate.try_recv().ok()?;
        Some(told.map_or_else(ScreenEvent::Lost, ScreenEvent::Gate))
    }
}

impl EventSource for TerminalEvents {
    fn next(&mut self, timeout: Duration) -> io::Result<ScreenEvent> {
        loop {
            // Before anything else, so that typing does not stop the clocks.
            let passed = self.last_tick.elapsed();
            if passed >= timeout {
                self.last_tick += passed;
                return Ok(ScreenEvent::Tick(passed));
            }
            if let Some(event) = self.next_of_gate() {
                return Ok(event);
            }
            if !event::poll(POLL_INTERVAL.min(timeout - passed))? {
                continue;
            }
            match event::read()? {
                event::Event::Key(key) => return Ok(ScreenEvent::Key(key)),
                event::Event::Paste(text) => return Ok(ScreenEvent::Paste(text)),
                event::Event::Resize(columns, rows) => return Ok(ScreenEvent::Resize(columns, rows)),
                _ => {}
            }
        }
    }
}
