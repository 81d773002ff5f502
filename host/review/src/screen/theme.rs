//! Colours, and their absence. The rows say everything in words; a theme only helps to find it.

use ratatui::style::{Color, Modifier, Style};

use crate::rows::Look;

/// How looks are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// With the sixteen colours that every terminal lets its user choose.
    Colour,
    /// Without colour: `NO_COLOR` is set, or the terminal has none.
    Plain,
}

impl Theme {
    /// The style of a look.
    #[must_use]
    pub fn style(self, look: Look) -> Style {
        let strong = matches!(look, Look::Strong | Look::Warning | Look::Error);
        let style = if strong { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        match (self, look) {
            (Theme::Plain, _) | (_, Look::Plain | Look::Strong) => style,
            (_, Look::Dim) => style.add_modifier(Modifier::DIM),
            (_, Look::Redacted) => style.fg(Color::Magenta),
            (_, Look::Edited) => style.fg(Color::Cyan),
            (_, Look::Deleted) => style.fg(Color::Red),
            (_, Look::Added) => style.fg(Color::Green),
            (_, Look::Warning) => style.fg(Color::Yellow),
            (_, Look::Error) => style.fg(Color::Red),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_theme_has_no_colour() {
        let looks = [
            Look::Plain,
            Look::Strong,
            Look::Dim,
            Look::Redacted,
            Look::Edited,
            Look::Deleted,
            Look::Added,
            Look::Warning,
            Look::Error,
        ];
        for look in looks {
            let style = Theme::Plain.style(look);
            assert_eq!((style.fg, style.bg), (None, None), "{look:?}");
        }
    }
}
