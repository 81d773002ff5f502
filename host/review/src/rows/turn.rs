//! A turn: why it waits, and its sections.

use leafgate_admin::{HoldState, HoldView, NoteView, SectionView, State, TurnClass, TurnView};

use super::list::{then, time};
use super::metadata::budget_text;
use super::{Row, RowStyle, count};
use crate::outline::SectionFacts;

/// Bytes of a leaf that a preview looks at.
const PREVIEW_BYTES: usize = 400;

/// Returns the client, why the turn waits, the time left, and the counts of edits.
#[must_use]
pub fn header_rows(turn: &TurnView) -> Vec<Row> {
    let mut rows = banner(turn);
    turn.summary.holds.iter().for_each(|hold| rows.extend(hold_rows(hold)));
    rows.extend(turn.notes.iter().map(note_row));
    rows.extend(state_rows(turn));
    rows
}

/// Returns everything about why the turn waits: all holds, all places, all that plugins said.
#[must_use]
pub fn why_rows(turn: &TurnView) -> Vec<Row> {
    let mut rows = banner(turn);
    rows.extend(state_rows(turn));
    for hold in &turn.summary.holds {
        rows.push(Row::default());
        rows.extend(hold_rows(hold));
    }
    if !turn.notes.is_empty() {
        rows.push(Row::default());
        rows.push(Row::of("What plugins say, with findings masked:", RowStyle::Strong));
        rows.extend(turn.notes.iter().map(note_row));
    }
    rows
}

fn banner(turn: &TurnView) -> Vec<Row> {
    let summary = &turn.summary;
    let class = match summary.class {
        TurnClass::Main => "",
        TurnClass::Subagent => " · of an agent",
        TurnClass::Side => " · a client's own request",
    };
    let mut rows = vec![
        Row::of(&summary.label, RowStyle::Strong).and(class, RowStyle::Dim).and(
            &format!("   {} left, {}", time(summary.left_ms), then(summary.on_timeout)),
            RowStyle::Warning,
        ),
        Row::of(&format!("{} · {}", summary.format, summary.model), RowStyle::Plain).and(
            &format!(
                " · {} · {} · policy {}",
                count(summary.edits, "edit"),
                count(summary.redactions, "redaction"),
                summary.generation
            ),
            RowStyle::Dim,
        ),
    ];
    if let Some(tokens) = &turn.tokens {
        let pinned = match tokens.pinned {
            0 => String::new(),
            pinned => format!(" · {pinned} tokens pinned, {}%", tokens.pinned_percent),
        };
        rows.push(
            Row::of("Token budget: ", RowStyle::Dim)
                .and(&budget_text(tokens), RowStyle::Plain)
                .and(&pinned, RowStyle::Dim),
        );
    }
    if summary.beside > 0 {
        let what = count(summary.beside, "request of the client's own");
        let why = " with the same words: decided with this turn, and not sent where you edit it";
        rows.push(Row::of(&format!("Beside it: {what}"), RowStyle::Plain).and(why, RowStyle::Dim));
    }
    if let Some(mode) = summary.mode {
        rows.push(Row::of("Paused by mode: ", RowStyle::Warning).and(mode.label(), RowStyle::Strong));
    }
    rows
}

fn state_rows(turn: &TurnView) -> Vec<Row> {
    let mut rows = Vec::new();
    if turn.summary.state != State::Waiting {
        rows.push(Row::of(&format!("State: {}", crate::model::ended(turn.summary.state)), RowStyle::Warning));
    }
    if let Some(why) = &turn.invalid {
        rows.push(Row::of(&format!("The API would refuse it: {why}. Undo or reset."), RowStyle::Error));
    }
    rows
}

/// Returns what a plugin said.
fn note_row(note: &NoteView) -> Row {
    let verb = match note.about.as_str() {
        "pause" => "asks for you",
        "block" => "wants to stop it",
        "failure" => "could not answer",
        _ => "notes",
    };
    let row = Row::of(&format!("Plugin {} {verb}: ", note.plugin), RowStyle::Warning)
        .and(note.text.expose(), RowStyle::Plain);
    match &note.pointer {
        Some(at) => row.and(&format!(" (at {at})"), RowStyle::Dim),
        None => row,
    }
}

/// Returns a hold: its rule, its reason, its state, and its places.
fn hold_rows(hold: &HoldView) -> Vec<Row> {
    let (verb, style) = match (hold.blocks, hold.state) {
        (true, _) => ("Blocked by ", RowStyle::Error),
        (false, HoldState::Open) => ("Paused by ", RowStyle::Warning),
        (false, HoldState::Lapsed) => ("No longer paused by ", RowStyle::Dim),
        (false, HoldState::Answered) => ("Was paused by ", RowStyle::Dim),
    };
    let row = Row::of(verb, style)
        .and(&hold.named(), RowStyle::Strong)
        .and(": ", RowStyle::Plain)
        .and(&hold.reason, RowStyle::Plain);
    if hold.places.len() < 2 {
        let reason =
            if hold.detail.is_empty() { row } else { row.and(&format!(" ({})", hold.detail), RowStyle::Dim) };
        return vec![reason];
    }
    let mut rows = vec![row.and(&format!(" ({})", count(hold.total, "place")), RowStyle::Dim)];
    for place in &hold.places {
        let at = place.at.as_deref().map_or_else(String::new, |at| format!(", at {at}"));
        let row = Row::of(&format!("  {}{at}", place.what), RowStyle::Plain);
        rows.push(if place.stands { row } else { row.and(" (no longer there)", RowStyle::Dim) });
    }
    if let Some(more) = hold.total.checked_sub(hold.places.len()).filter(|more| *more > 0) {
        rows.push(Row::of(&format!("  and {}", count(more, "more place")), RowStyle::Dim));
    }
    rows
}

/// Returns a section: its label, its marks in words, and the beginning of its text.
#[must_use]
pub fn section_row(section: &SectionView, entry: &SectionFacts) -> Row {
    let mut row = Row::of(&"  ".repeat(entry.depth), RowStyle::Plain);
    row.0.extend(named(section, entry).0);
    if let (Some(tokens), Some(percent)) = (section.token_count, section.token_percent) {
        row = row.and(
            &format!("  {} · {percent}%", count(usize::try_from(tokens).unwrap_or(usize::MAX), "token")),
            RowStyle::Dim,
        );
    }
    let style = if section.deleted { RowStyle::Struck } else { RowStyle::Dim };
    match preview(section) {
        Some(text) => row.and("  ", RowStyle::Plain).and(text, style),
        None => row,
    }
}

/// Returns a section above its leaves: its label, its marks in words, and its path.
#[must_use]
pub fn section_head(section: &SectionView, entry: &SectionFacts) -> Row {
    named(section, entry).and("  ", RowStyle::Plain).and(&section.path, RowStyle::Dim)
}

fn named(section: &SectionView, entry: &SectionFacts) -> Row {
    let style = if section.deleted { RowStyle::Struck } else { RowStyle::Strong };
    marks(section, entry).into_iter().fold(Row::of(&section.label, style), |row, (mark, style)| {
        row.and(" ", RowStyle::Plain).and(&format!("[{mark}]"), style)
    })
}

fn marks(section: &SectionView, entry: &SectionFacts) -> Vec<(String, RowStyle)> {
    let by =
        if entry.authors.is_empty() { String::new() } else { format!(" by {}", entry.authors.join(", ")) };
    let mut marks = Vec::new();
    if section.deleted {
        marks.push((format!("deleted{by}"), RowStyle::Deleted));
    } else if entry.edited {
        marks.push((format!("edited{by}"), RowStyle::Edited));
    } else if !entry.authors.is_empty() {
        marks.push((format!("restored{by}"), RowStyle::Edited));
    }
    if section.pinned {
        let by = section.pinned_by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
        marks.push((format!("pinned{by}"), RowStyle::Dim));
    }
    if entry.redactions > 0 {
        marks.push((format!("{} redacted", entry.redactions), RowStyle::Redacted));
    }
    if entry.released > 0 {
        marks.push((format!("{} released", entry.released), RowStyle::Warning));
    }
    if !section.editable {
        marks.push(("read only".to_owned(), RowStyle::Dim));
    }
    marks
}

/// Returns the first own leaf that is more than a name, else the first.
fn preview(section: &SectionView) -> Option<&str> {
    use leafgate_tree::LeafKind;
    let leaf = section
        .leaves
        .iter()
        .find(|leaf| leaf.kind != LeafKind::Metadata && !leaf.text.expose().is_empty())?;
    let text = leaf.text.expose();
    Some(&text[..text.floor_char_boundary(PREVIEW_BYTES)])
}
