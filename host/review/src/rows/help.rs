//! The keys and the commands, said once.

use super::{Look, Row};

/// Key or keys, and what they do.
const KEYS: &[(&str, &str)] = &[
    ("↑ ↓ j k PgUp PgDn Home End", "move"),
    ("Enter", "open: a turn, a section, a leaf in full"),
    ("Esc Backspace", "back"),
    ("e", "edit the leaf here: Enter saves, Alt-Enter or Ctrl-J is a newline, Esc leaves it"),
    ("E", "edit the leaf in $EDITOR"),
    ("d  r", "delete the section, restore it"),
    ("u  U Ctrl-R", "undo, redo (redactions stay)"),
    ("X", "reset: take all edits back; u brings them back"),
    ("D", "diff: what came against what would leave"),
    ("s Ctrl-S", "resume: send exactly what is shown (asks)"),
    ("c", "cancel: nothing is sent, the client gets an error (asks)"),
    ("/  n N", "search in sections and leaves, next, previous"),
    ("L", "the list of turns that wait"),
    ("q", "leave this prompt; turns keep waiting until their time is up"),
];

/// Marks, and what they mean.
const MARKS: &[(&str, &str)] = &[
    ("‹EMAIL_…›", "redacted: this is what leaves; the value never does"),
    (r"\u{1b} ↵ ⇥", "a character that is not seen, a newline, a tab"),
    ("[protected]", "ids, types and names: rules may not change them, you may"),
    ("[signed] [media]", "nobody may change it"),
];

/// The help page of the screen.
#[must_use]
pub fn help_rows() -> Vec<Row> {
    let table = |rows: &[(&str, &str)]| -> Vec<Row> {
        let line = |(keys, what): &(&str, &str)| {
            Row::of(&format!("  {keys:<28}"), Look::Strong).and(what, Look::Plain)
        };
        rows.iter().map(line).collect()
    };
    let mut rows = table(KEYS);
    rows.push(Row::default());
    rows.extend(table(MARKS));
    rows
}
