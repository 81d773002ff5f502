//! The loop: waits for what happens, lets the screen take it in, does what there is to do, draws.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use super::{Happening, OutsideEditor, Screen, ToDo};
use crate::api::AdminApi;

/// How long to wait for something to happen before the clocks on the screen move on.
const TICK: Duration = Duration::from_secs(1);

/// Keys, sizes, events of the gate and the passing of time, in the order in which they happen.
pub trait Happenings {
    /// The next one; a [`Happening::Tick`] when nothing else happened for this long.
    ///
    /// # Errors
    /// The terminal is gone.
    fn next(&mut self, timeout: Duration) -> io::Result<Happening>;
}

/// Where a screen is shown.
pub trait Surface {
    /// Columns and rows.
    ///
    /// # Errors
    /// The terminal is gone.
    fn size(&mut self) -> io::Result<(u16, u16)>;

    /// Shows a screen.
    ///
    /// # Errors
    /// As above.
    fn draw(&mut self, screen: &Screen) -> io::Result<()>;

    /// Rings.
    ///
    /// # Errors
    /// As above.
    fn bell(&mut self) -> io::Result<()>;

    /// Gives the terminal back while another program uses it.
    ///
    /// # Errors
    /// As above.
    fn suspend(&mut self) -> io::Result<()>;

    /// Takes it again.
    ///
    /// # Errors
    /// As above.
    fn resume(&mut self) -> io::Result<()>;
}

/// Runs the prompt until the person leaves it. Returns how many turns still wait; see [`super::farewell`].
///
/// # Errors
/// The terminal is gone. What the gate refuses is shown and is no error.
pub fn run(
    desk: &mut dyn AdminApi,
    happenings: &mut dyn Happenings,
    surface: &mut dyn Surface,
    outside: &mut dyn OutsideEditor,
) -> io::Result<usize> {
    let (columns, rows) = surface.size()?;
    let (mut screen, first) = Screen::new(columns, rows);
    let mut todo = VecDeque::from(first);
    loop {
        while let Some(next) = todo.pop_front() {
            match next {
                ToDo::Ask(call) => todo.extend(screen.update(Happening::Answer(call.run(desk)))),
                ToDo::Bell => surface.bell()?,
                ToDo::EditOutside(text) => {
                    surface.suspend()?;
                    let edited = outside.edit(text.expose());
                    surface.resume()?;
                    todo.extend(screen.update(Happening::Outside(edited)));
                }
                ToDo::Leave => return Ok(screen.model().turns().len()),
            }
        }
        surface.draw(&screen)?;
        todo.extend(screen.update(happenings.next(TICK)?));
    }
}
