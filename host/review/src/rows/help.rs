//! The help page: keys and marks.

use super::{Row, RowStyle};

/// Keys and their effects.
const KEYS: &[(&str, &str)] = &[
    ("↑ ↓ j k PgUp PgDn", "move; Home and End go all the way"),
    ("Enter", "open a turn, a section, a leaf in full"),
    ("Esc", "back"),
    ("e", "edit: Enter saves, Alt-Enter or Ctrl-J breaks the line"),
    ("E", "edit in $EDITOR"),
    ("d r", "delete the section, restore it"),
    ("u U Ctrl-R", "undo, redo, redo (redactions stay)"),
    ("X", "reset: take all edits back; u brings them back"),
    ("D", "diff: what came against what would leave"),
    ("s Ctrl-S", "resume: send exactly what is shown (asks)"),
    ("c", "cancel: send nothing, the client gets an error (asks)"),
    ("/ n N", "search in sections and leaves, next, previous"),
    ("L", "the list of turns that wait"),
    ("q", "leave: turns keep waiting until their time is up"),
];

/// Marks, as the printer takes them, and their meanings.
const MARKS: &[(&str, &str)] = &[
    ("‹EMAIL_…›", "redacted: this is what leaves, the value never does"),
    ("\u{1b} \n \t", "a character one does not see, a newline, a tab"),
    ("[protected]", "ids, types, names: you may change them, rules may not"),
    ("[signed] [media]", "nobody may change it"),
];

/// Cells of the first column.
const WIDTH: usize = 22;

/// Returns the help page of the screen.
#[must_use]
pub fn help_rows() -> Vec<Row> {
    let table = |rows: &[(&str, &str)]| -> Vec<Row> {
        let line = |(keys, what): &(&str, &str)| {
            let keys = Row::of("  ", RowStyle::Plain).and(keys, RowStyle::Strong);
            let gap = WIDTH.saturating_sub(keys.width());
            keys.and(&" ".repeat(gap), RowStyle::Plain).and(what, RowStyle::Plain)
        };
        rows.iter().map(line).collect()
    };
    let mut rows = table(KEYS);
    rows.push(Row::default());
    rows.extend(table(MARKS));
    rows
}
