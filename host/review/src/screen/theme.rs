//! Colours, or none. The rows say everything in words, and a theme only helps to find it.

use ratatui::style::{Color, Modifier, Style};

use crate::rows::RowStyle;

/// How styles are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// With the sixteen colours that every terminal lets its user choose.
    Colour,
    /// Without colour: `NO_COLOR` is set, or the terminal has none.
    Plain,
}

impl Theme {
    /// Returns the terminal's style for a row style.
    #[must_use]
    pub fn style(self, look: RowStyle) -> Style {
        let strong = matches!(look, RowStyle::Strong | RowStyle::Warning | RowStyle::Error);
        let style = if strong { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        let style = if look == RowStyle::Struck { style.add_modifier(Modifier::CROSSED_OUT) } else { style };
        match (self, look) {
            (Theme::Plain, _) | (_, RowStyle::Plain | RowStyle::Strong) => style,
            (_, RowStyle::Dim) => style.add_modifier(Modifier::DIM),
            (_, RowStyle::Redacted) => style.fg(Color::Magenta),
            (_, RowStyle::Edited) => style.fg(Color::Cyan),
            (_, RowStyle::Deleted | RowStyle::Struck) => style.fg(Color::Red),
            (_, RowStyle::Added) => style.fg(Color::Green),
            (_, RowStyle::Warning) => style.fg(Color::Yellow),
            (_, RowStyle::Error) => style.fg(Color::Red),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_theme_has_no_colour() {
        let looks = [
            RowStyle::Plain,
            RowStyle::Strong,
            RowStyle::Dim,
            RowStyle::Redacted,
            RowStyle::Edited,
            RowStyle::Deleted,
            RowStyle::Struck,
            RowStyle::Added,
            RowStyle::Warning,
            RowStyle::Error,
        ];
        for look in looks {
            let style = Theme::Plain.style(look);
            assert_eq!((style.fg, style.bg), (None, None), "{look:?}");
            let is_struck = style.add_modifier.contains(Modifier::CROSSED_OUT);
            assert_eq!(is_struck, look == RowStyle::Struck, "{look:?}");
        }
    }
}
