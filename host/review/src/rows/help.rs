//! The help page: keys and marks.

use super::{Row, RowStyle};

/// Keys and their effects.
const KEYS: &[(&str, &str)] = &[
    ("↑ ↓ j k PgUp PgDn", "move; Home and End go all the way"),
    ("Enter Esc", "open a turn, a section, a leaf in full; back"),
    ("→ ←", "unfold what is one row, fold it"),
    ("Tab Shift-Tab w", "next place that paused, previous; all of why it waits"),
    ("e E", "edit here (Alt-Enter, Ctrl-J: a new line), in $EDITOR"),
    ("i d r", "put a message of yours before it; delete it, restore it"),
    ("R a", "release a redaction this once; except it from now on"),
    ("u U Ctrl-R X", "undo, redo, redo; all edits back (redactions stay)"),
    ("p K J", "pin the section to the top or unpin it; up, down"),
    ("D P M", "what came against what would leave; the raw body; metadata"),
    ("s Ctrl-S", "resume: send exactly what is shown (asks)"),
    ("c", "cancel: send nothing, the client gets an error (asks)"),
    ("o m", "pause the next turn; choose the mode"),
    ("v C V", "save edits; pause the next turn to save; what is saved"),
    ("S f A", "conversations; follow the newest one, or not; agents"),
    ("/ n N", "search in sections and leaves, next, previous"),
    ("L q", "list what waits; leave: all of it keeps waiting"),
];

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
    let table = |rows: &[(&str, &str)]| -> Vec<Row> {
        let line = |(keys, what): &(&str, &str)| {
            let keys = Row::of("  ", RowStyle::Plain).and(keys, RowStyle::Strong);
            let gap = WIDTH.saturating_sub(keys.width());
            keys.and(&" ".repeat(gap), RowStyle::Plain).and(what, RowStyle::Plain)
        };
        rows.iter().map(line).collect()
    };
    // Without a line between the two, so that both fit on the smallest terminal.
    let mut rows = table(KEYS);
    rows.extend(table(MARKS));
    rows
}
