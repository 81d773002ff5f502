//! One turn on one line.

use leafgate_admin::{OnTimeout, State, TurnSummary};

use super::{Row, RowStyle, count};

/// Returns a turn in the list: the time left comes first, because it is urgent.
pub fn list_row(turn: &TurnSummary) -> Row {
    let row =
        Row::of(&format!("{:>6}  ", time(turn.left_ms)), RowStyle::Dim).and(&turn.label, RowStyle::Strong);
    let row = match &turn.words {
        Some(words) => row
            .and("  ", RowStyle::Plain)
            .and(&format!("{} “{}”", turn.model, words.expose()), RowStyle::Plain),
        None => row,
    };
    let row = match turn.state {
        State::Waiting => row,
        state => row.and(&format!("  ({})", state.label()), RowStyle::Warning),
    };
    let row = match turn.holds.first() {
        Some(hold) => row
            .and("  ", RowStyle::Plain)
            .and(&hold.named(), RowStyle::Warning)
            .and(": ", RowStyle::Plain)
            .and(&hold.reason, RowStyle::Plain),
        None => match turn.mode {
            Some(mode) => row.and("  ", RowStyle::Plain).and(mode.label(), RowStyle::Warning),
            None => row,
        },
    };
    let row = match turn.beside {
        0 => row,
        beside => row.and(&format!("  [+ {}]", count(beside, "side request")), RowStyle::Dim),
    };
    if turn.edits == 0 {
        row
    } else {
        row.and(&format!("  [{}]", count(turn.edits, "edit")), RowStyle::Edited)
    }
}

/// Returns a time left, `4:05` or `1:02:03`.
pub fn time(left_ms: u64) -> String {
    let seconds = left_ms.div_ceil(1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours == 0 { format!("{minutes}:{seconds:02}") } else { format!("{hours}:{minutes:02}:{seconds:02}") }
}

/// Returns the effect of the deadline.
pub(super) fn then(on_timeout: OnTimeout) -> &'static str {
    match on_timeout {
        OnTimeout::Cancel => "then cancelled",
        OnTimeout::Resume => "then sent as it stands",
    }
}
