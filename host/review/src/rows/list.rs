//! One turn on one line.

use leafgate_admin::{OnTimeout, State, TurnSummary};

use super::{Row, RowStyle, count_some};

/// Returns a turn in the list: the time left comes first, because it is urgent.
pub fn list_row(turn: &TurnSummary) -> Row {
    let words = turn.words.as_ref().map(|words| format!("  {} “{}”", turn.model, words.expose()));
    let state = (turn.state != State::Waiting).then(|| format!("  ({})", turn.state.label()));
    let (hold, mode) = (turn.holds.first(), turn.mode);
    let asks = hold.map(|hold| hold.named()).or(mode.map(|mode| mode.label().to_owned()));
    let beside = count_some(turn.beside, "side request").map(|count| format!("  [+ {count}]"));
    let edits = count_some(turn.edits, "edit").map(|count| format!("  [{count}]"));
    Row::of(&format!("{:>6}  ", time(turn.left_ms)), RowStyle::Dim)
        .and(&turn.label, RowStyle::Strong)
        .and_some(words, RowStyle::Plain)
        .and_some(state, RowStyle::Warning)
        .and_some(asks.map(|asks| format!("  {asks}")), RowStyle::Warning)
        .and_some(hold.map(|hold| format!(": {}", hold.reason)), RowStyle::Plain)
        .and_some(beside, RowStyle::Dim)
        .and_some(edits, RowStyle::Edited)
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
