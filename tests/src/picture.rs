//! A terminal's screen as a picture: text in a monospaced font, in the screen's own colours.

use std::fmt::Write as _;

/// Width of a character and height of a line, in the picture's units.
const CELL: (usize, usize) = (8, 17);
const MARGIN: usize = 14;

/// The eight colours of a terminal on a dark ground, bright ones as the others.
const COLOURS: [&str; 8] =
    ["#6b7280", "#f07178", "#a5d6a7", "#f2c14e", "#82aaff", "#c792ea", "#7fdbca", "#e6e6e6"];
const GROUND: &str = "#1b1e26";
const TEXT: &str = "#d6dae3";

/// How a stretch of a screen looks.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Style {
    bold: bool,
    faint: bool,
    reversed: bool,
    colour: Option<&'static str>,
}

impl Style {
    /// Follows one number of an escape sequence.
    fn follow(&mut self, code: usize) {
        match code {
            0 => *self = Style::default(),
            1 => self.bold = true,
            2 => self.faint = true,
            7 => self.reversed = true,
            22 => (self.bold, self.faint) = (false, false),
            27 => self.reversed = false,
            30..=37 => self.colour = Some(COLOURS[code - 30]),
            90..=97 => self.colour = Some(COLOURS[code - 90]),
            39 => self.colour = None,
            _ => {}
        }
    }
}

/// Returns a screen with its escape sequences (SGR alone) as an SVG picture.
#[must_use]
pub fn svg(screen: &str, title: &str) -> String {
    let lines: Vec<Vec<(Style, String)>> = stretches(screen.trim_end());
    let columns = lines.iter().map(|line| line.iter().map(|(_, text)| text.chars().count()).sum::<usize>());
    let (width, height) =
        (columns.max().unwrap_or_default() * CELL.0 + 2 * MARGIN, lines.len() * CELL.1 + 2 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" aria-label=\"{title}\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{GROUND}\"/>\n\
         <g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,monospace\" font-size=\"13\" fill=\"{TEXT}\">\n"
    );
    for (row, line) in lines.iter().enumerate() {
        let (mut column, top) = (0, MARGIN + row * CELL.1);
        for (style, text) in line {
            let cells = text.chars().count();
            if style.reversed || !text.trim().is_empty() {
                stretch(&mut svg, *style, text, (MARGIN + column * CELL.0, top), cells);
            }
            column += cells;
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn stretch(svg: &mut String, style: Style, text: &str, (x, top): (usize, usize), cells: usize) {
    let (width, colour) = (cells * CELL.0, style.colour.unwrap_or(TEXT));
    if style.reversed {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{}\" fill=\"{colour}\"/>",
            CELL.1
        );
    }
    let fill = if style.reversed { GROUND } else { colour };
    let weight = if style.bold { " font-weight=\"bold\"" } else { "" };
    let faint = if style.faint { " opacity=\".6\"" } else { "" };
    // Readers of pictures fold blanks, so these are blanks that stay.
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}");
    // Whatever the reader's font is, columns stay columns.
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{fill}\"{weight}{faint}>{escaped}</text>",
        top + 13
    );
}

/// The lines of a screen as stretches of one style.
fn stretches(screen: &str) -> Vec<Vec<(Style, String)>> {
    let mut style = Style::default();
    let line = |line: &str| {
        let mut found: Vec<(Style, String)> = Vec::new();
        for (place, piece) in line.split("\u{1b}[").enumerate() {
            let text = match piece.split_once('m').filter(|_| place > 0) {
                Some((codes, text)) => {
                    codes.split(';').for_each(|code| style.follow(code.parse().unwrap_or_default()));
                    text
                }
                None => piece,
            };
            match found.last_mut().filter(|(last, _)| *last == style) {
                Some((_, before)) => before.push_str(text),
                None if text.is_empty() => {}
                None => found.push((style, text.to_owned())),
            }
        }
        if let Some((_, last)) = found.last_mut().filter(|(style, _)| !style.reversed) {
            last.truncate(last.trim_end().len());
        }
        found
    };
    screen.lines().map(line).collect()
}
