//! The loop: waits for an event, updates the screen, carries out its effects, draws.

use std::io;
use std::time::Duration;

use super::{OutsideEditor, Screen, ScreenEvent};
use crate::api::AdminApi;
use crate::model::ModelEffect;

/// Longest wait for an event before the times on the screen are updated.
const TICK: Duration = Duration::from_secs(1);

/// Keys, sizes, events of the gate and the passing of time, in order.
pub trait EventSource {
    /// Returns the next event, or a [`ScreenEvent::Tick`] after this time without one.
    ///
    /// # Errors
    /// The terminal is gone.
    fn next(&mut self, timeout: Duration) -> io::Result<ScreenEvent>;
}

/// Where a screen is shown.
pub trait Surface {
    /// Returns columns and rows.
    ///
    /// # Errors
    /// The terminal is gone.
    fn size(&mut self) -> io::Result<(u16, u16)>;

    /// Shows a screen.
    ///
    /// # Errors
    /// As above.
    fn draw(&mut self, screen: &Screen) -> io::Result<()>;

    /// Has the window say how many turns wait, for who does not look at it.
    ///
    /// # Errors
    /// As above.
    fn title(&mut self, title: &str) -> io::Result<()>;

    /// Rings the bell.
    ///
    /// # Errors
    /// As above.
    fn bell(&mut self) -> io::Result<()>;

    /// Gives the terminal back while another program uses it.
    ///
    /// # Errors
    /// As above.
    fn suspend(&mut self) -> io::Result<()>;

    /// Takes the terminal again.
    ///
    /// # Errors
    /// As above.
    fn resume(&mut self) -> io::Result<()>;
}

/// Runs the prompt until the person leaves it. Returns how many turns still wait, for
/// [`super::farewell`].
///
/// # Errors
/// The terminal is gone. A refusal of the gate is shown and is no error.
pub fn run(
    desk: &mut dyn AdminApi,
    events: &mut dyn EventSource,
    surface: &mut dyn Surface,
    outside: &mut dyn OutsideEditor,
) -> io::Result<usize> {
    let (columns, rows) = surface.size()?;
    let mut screen = Screen::new(columns, rows);
    loop {
        while let Some(next) = screen.model.next_effect() {
            match next {
                ModelEffect::Ask(call) => screen.update(ScreenEvent::Answer(call.run(desk))),
                ModelEffect::Bell => surface.bell()?,
                ModelEffect::OpenOutside { text, may_edit } => {
                    surface.suspend()?;
                    let left = outside.open(text.expose(), may_edit);
                    surface.resume()?;
                    screen.update(ScreenEvent::Outside(left));
                }
                ModelEffect::Leave => return Ok(screen.waiting()),
            }
        }
        surface.title(&screen.title())?;
        surface.draw(&screen)?;
        screen.update(events.next(TICK)?);
    }
}
