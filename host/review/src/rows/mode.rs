//! Which turns wait although no rule asks, and the conversations.

use leafgate_admin::{ModeView, SavedEditView, SavedList, SavedStatus, SessionList, SessionView, TurnMode};

use super::{Row, RowStyle, count, count_some};

/// Returns the mode in force, and what will pause.
pub fn mode_row(mode: &ModeView) -> Row {
    Row::of("Mode: ", RowStyle::Dim)
        .and(&mode.label, RowStyle::Strong)
        .and(&format!(". {}", mode.text), RowStyle::Dim)
}

/// Returns what the mode does with saved edits, and how many of them did not fit the last time.
pub fn saved_row(saved: &SavedStatus) -> Row {
    let drifted = count_some(saved.drifted, "edit").map(|count| format!(", {count} did not fit"));
    Row::of(&format!("{}: ", saved.title), RowStyle::Dim)
        .and(&saved.subtitle, RowStyle::Plain)
        .and_some(drifted, RowStyle::Warning)
}

/// Returns what stands above the saved edits: what is done with them, where new ones are saved, and how much a capture shows.
pub fn saved_head(list: &SavedList) -> Vec<Row> {
    let status = &list.status;
    let bound = format!(
        "Saved for: {}. A capture shows the first {}.",
        status.scope.label(),
        count(status.preview_limit, "section")
    );
    let mut head = vec![Row::of("Saved edits, those that win first", RowStyle::Strong), saved_row(status)];
    head.push(Row::of(&bound, RowStyle::Plain));
    if list.edits.is_empty() {
        head.push(Row::of(
            "No edits are saved. v (save) saves those of a turn, C (capture) the next one's.",
            RowStyle::Plain,
        ));
    }
    head.extend(list.problems.iter().map(|problem| Row::of(problem, RowStyle::Error)));
    head
}

/// Returns a saved edit on one line.
pub fn saved_edit_row(edit: &SavedEditView) -> Row {
    let unfit = edit.last.as_ref().filter(|last| !last.fits);
    let why = unfit.map(|last| format!("  did not fit: {}", last.why.as_ref().unwrap_or(&last.outcome)));
    Row::of(edit.scope.label(), RowStyle::Strong)
        .and(&format!("  {} {}", edit.action, edit.path), RowStyle::Plain)
        .and(&format!("  saved {}", edit.updated_at), RowStyle::Dim)
        .and_some(why, RowStyle::Warning)
}

/// Returns a mode that can be chosen.
pub fn mode_choice(mode: TurnMode, present: Option<&ModeView>) -> Row {
    let present = present.filter(|present| present.mode == mode);
    Row::of(mode.label(), RowStyle::Strong)
        .and(&format!("  {}", mode.about()), RowStyle::Dim)
        .and_some(present.map(|_| "  [in force]".to_owned()), RowStyle::Edited)
}

/// Returns a conversation on one line.
pub fn session_row(session: &SessionView) -> Row {
    let words = session.words.as_ref().map(|words| format!("  “{}”", words.expose()));
    let requests = usize::try_from(session.requests).unwrap_or(usize::MAX);
    let waiting = (session.pending > 0).then(|| format!(", {} waiting", session.pending));
    Row::of(if session.active { "* " } else { "  " }, RowStyle::Strong)
        .and(&session.label, RowStyle::Strong)
        .and_some(words, RowStyle::Plain)
        .and(&format!("  {}", count(requests, "turn")), RowStyle::Plain)
        .and(&format!(", the last {} ago", ago(session.silent_ms)), RowStyle::Dim)
        .and_some(waiting, RowStyle::Warning)
}

/// Returns which conversation a person looks at, and whether the newest becomes that one.
pub fn follow_row(sessions: &SessionList) -> Row {
    let how = if sessions.follow { "the newest is followed" } else { "it stays the active one" };
    match sessions.sessions.iter().find(|session| session.active) {
        Some(active) => Row::of("Active: ", RowStyle::Dim)
            .and(&active.label, RowStyle::Strong)
            .and(&format!(" ({how})"), RowStyle::Dim),
        None if sessions.follow => {
            Row::of("No conversation yet: the newest will be the active one.", RowStyle::Dim)
        }
        None => Row::of("No conversation is the active one.", RowStyle::Dim),
    }
}

/// Returns a time in its largest unit.
fn ago(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_its_largest_unit() {
        assert_eq!(
            [0, 59_999, 60_000, 3_599_000, 7_200_000].map(ago),
            ["0 s", "59 s", "1 min", "59 min", "2 h"]
        );
    }
}
