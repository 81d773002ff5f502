//! The help page: keys and marks.

use super::{Row, RowStyle};

/// Keys and their effects, with two spaces or more between.
const KEYS: &str = include_str!("keys.txt");

/// Marks, as the printer takes them, and their meanings.
const MARKS: &[(&str, &str)] = &[
    ("‹EMAIL_…›", "redacted: this leaves; ‹EMAIL released: …›: the value"),
    ("\u{1b} \n \t", "a character one does not see, a newline, a tab"),
    ("[protected]", "you may change it, rules may not; [signed] [media]: nobody"),
];

/// Cells of the first column.
const WIDTH: usize = 22;

/// Returns the help page of the screen.
pub fn help_rows() -> Vec<Row> {
    let line = |(keys, what): (&str, &str)| {
        let keys = Row::of("  ", RowStyle::Plain).and(keys, RowStyle::Strong);
        let gap = WIDTH.saturating_sub(keys.width());
        keys.and(&" ".repeat(gap), RowStyle::Plain).and(what.trim_start(), RowStyle::Plain)
    };
    // Without a line between the two, so that both fit on the smallest terminal.
    let keys = KEYS.lines().filter_map(|line| line.split_once("  "));
    keys.chain(MARKS.iter().copied()).map(line).collect()
}
