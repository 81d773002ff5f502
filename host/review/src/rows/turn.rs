//! A turn: why it waits, and its sections.

use std::borrow::Cow;

use leafgate_admin::{
    HoldState, HoldView, LeafView, NoteView, SectionView, State, TurnClass, TurnMode, TurnView,
};
use leafgate_tree::{Access, LeafKind, NodeType, ValueType};

use super::list::{then, time};
use super::metadata::budget_text;
use super::{Row, RowStyle, count, count_some};
use crate::outline::{Outline, SectionFacts, SectionGroup};

/// Bytes of a leaf that a preview looks at.
const PREVIEW_BYTES: usize = 400;

/// Returns the client, why the turn waits, the time left, and the counts of edits.
pub fn header_rows(turn: &TurnView) -> Vec<Row> {
    let mut rows = banner(turn);
    turn.summary.holds.iter().for_each(|hold| rows.extend(hold_rows(hold)));
    rows.extend(turn.notes.iter().map(note_row));
    rows.extend(state_rows(turn));
    rows
}

/// Returns the same in three rows: whose turn it is, the first reason why it waits, and how much of
/// it there is. [`why_rows`] has all.
pub fn head_rows(turn: &TurnView) -> Vec<Row> {
    let summary = &turn.summary;
    let is_open = |hold: &&HoldView| hold.blocks || hold.state == HoldState::Open;
    let first = summary.holds.iter().find(is_open).or(summary.holds.first());
    let mut reasons: Vec<Row> =
        first.and_then(|hold| hold_rows(hold).into_iter().next()).into_iter().collect();
    reasons.extend(summary.mode.map(mode_row));
    reasons.extend(turn.notes.iter().map(note_row));
    let more = summary.holds.len().saturating_sub(1) + reasons.len().saturating_sub(1);
    let mut why = state_rows(turn).into_iter().chain(reasons).next().unwrap_or_default();
    if more > 0 {
        why = Row::of(&format!("(+{more}, w) "), RowStyle::Dim).followed_by(why);
    }
    let mut size = vec![
        count(turn.sections.len(), "section"),
        format!("came {} ago", time(summary.waited_ms)),
        count(summary.edits, "edit"),
        count(summary.redactions, "redaction"),
    ];
    size.extend(turn.tokens.as_ref().map(budget_text));
    if summary.beside > 0 {
        size.push(format!("+ {}", count(summary.beside, "side request")));
    }
    let size =
        Row::of(&summary.model, RowStyle::Plain).and(&format!(" · {}", size.join(" · ")), RowStyle::Dim);
    vec![title_row(turn), why, size]
}

/// Returns everything about why the turn waits: all holds, all places, all that plugins said.
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

/// Whose turn it is, and the time left.
fn title_row(turn: &TurnView) -> Row {
    let summary = &turn.summary;
    let class = match summary.class {
        TurnClass::Main => "",
        TurnClass::Subagent => " · of an agent",
        TurnClass::Side => " · a client's own request",
    };
    Row::of(&summary.label, RowStyle::Strong)
        .and(class, RowStyle::Dim)
        .and(&format!("   {} left, {}", time(summary.left_ms), then(summary.on_timeout)), RowStyle::Warning)
}

fn mode_row(mode: TurnMode) -> Row {
    Row::of("Paused by mode: ", RowStyle::Warning).and(mode.label(), RowStyle::Strong)
}

fn banner(turn: &TurnView) -> Vec<Row> {
    let summary = &turn.summary;
    let mut rows = vec![
        title_row(turn),
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
        let pinned = format!(" · {} tokens pinned, {}%", tokens.pinned, tokens.pinned_percent);
        rows.push(
            Row::of("Token budget: ", RowStyle::Dim)
                .and(&budget_text(tokens), RowStyle::Plain)
                .and_some((tokens.pinned > 0).then_some(pinned), RowStyle::Dim),
        );
    }
    if summary.beside > 0 {
        let what = count(summary.beside, "request of the client's own");
        let why = " with the same words: decided with this turn, and not sent where you edit it";
        rows.push(Row::of(&format!("Beside it: {what}"), RowStyle::Plain).and(why, RowStyle::Dim));
    }
    rows.extend(summary.mode.map(mode_row));
    rows
}

fn state_rows(turn: &TurnView) -> Vec<Row> {
    let mut rows = Vec::new();
    if turn.summary.state != State::Waiting {
        rows.push(Row::of(&format!("State: {}", turn.summary.state.label()), RowStyle::Warning));
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
    Row::of(&format!("Plugin {} {verb}: ", note.plugin), RowStyle::Warning)
        .and(note.text.expose(), RowStyle::Plain)
        .and_some(note.pointer.as_ref().map(|at| format!(" (at {at})")), RowStyle::Dim)
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
        let detail = (!hold.detail.is_empty()).then(|| format!(" ({})", hold.detail));
        return vec![row.and_some(detail, RowStyle::Dim)];
    }
    let mut rows = vec![row.and(&format!(" ({})", count(hold.total, "place")), RowStyle::Dim)];
    for place in &hold.places {
        let at = place.at.as_deref().map_or_else(String::new, |at| format!(", at {at}"));
        let row = Row::of(&format!("  {}{at}", place.what), RowStyle::Plain);
        rows.push(if place.stands { row } else { row.and(" (no longer there)", RowStyle::Dim) });
    }
    let more = count_some(hold.total.saturating_sub(hold.places.len()), "more place");
    rows.extend(more.map(|more| Row::of(&format!("  and {more}"), RowStyle::Dim)));
    rows
}

/// Returns a section: its label, its marks in words, and the beginning of its text. A folded one
/// stands for what is `inside` it.
pub fn section_row(section: &SectionView, entry: &SectionFacts, inside: &[SectionView]) -> Row {
    let mut row = Row::of(&"  ".repeat(entry.depth), RowStyle::Plain);
    if entry.folded && inside.len() > 1 {
        row = row.and("+ ", RowStyle::Dim);
    }
    let row =
        row.followed_by(named(section, entry)).followed_by(share(section.token_count, section.token_percent));
    let style = if section.deleted { RowStyle::Struck } else { RowStyle::Dim };
    let inner = if entry.folded { inside } else { &[] };
    let text = preview(section).or_else(|| inner.iter().find_map(preview));
    match text.or_else(|| without_words(section, inside)) {
        Some(text) => row.and("  ", RowStyle::Plain).and(&text, style),
        None => row,
    }
}

/// Returns a group of sections, and what its row stands for.
pub fn group_row(turn: &TurnView, outline: &Outline, group: &SectionGroup) -> Row {
    let mut facts = SectionFacts::default();
    let (mut number, mut deleted, mut tokens, mut percent) = (0, 0, None, None);
    for &first in &group.sections {
        let Some(entry) = outline.entry(first) else { continue };
        (first..entry.end).filter_map(|at| outline.entry(at)).for_each(|inner| facts.take_in(inner));
        let outermost = &turn.sections[first];
        number += 1;
        deleted += turn.sections[first..entry.end].iter().filter(|section| section.deleted).count();
        tokens = sum(tokens, outermost.token_count);
        percent = sum(percent, outermost.token_percent);
    }
    let sign = if group.folded { "+ " } else { "- " };
    let mut row = Row::of(sign, RowStyle::Dim)
        .and(group.name, RowStyle::Strong)
        .and(&format!(": {number}"), RowStyle::Strong);
    let out = (deleted > 0).then(|| (format!("{deleted} deleted"), RowStyle::Deleted));
    for (mark, style) in out.into_iter().chain(facts_marks(&facts)) {
        row = row.and(&format!(" [{mark}]"), style);
    }
    let labels = group.sections.iter().map(|&at| {
        let end = outline.entry(at).map_or(at + 1, |entry| entry.end);
        let mut of_message = turn.sections[at..end].iter();
        let is_option = turn.sections[at].node_type == NodeType::RequestOption;
        let text = if is_option { None } else { of_message.find_map(preview) };
        text.map_or_else(|| turn.sections[at].label.clone(), Cow::into_owned)
    });
    let mut said = String::new();
    for label in labels.take_while(|_| group.folded) {
        if said.len() > PREVIEW_BYTES {
            break;
        }
        said.push_str(if said.is_empty() { "" } else { ", " });
        said.push_str(&label);
    }
    row.followed_by(share(tokens, percent)).and("  ", RowStyle::Plain).and(&said, RowStyle::Dim)
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.map_or(other, |one| Some(one + other.unwrap_or(0)))
}

/// Returns tokens, and their share of the request.
fn share(tokens: Option<u64>, percent: Option<u64>) -> Row {
    let (Some(tokens), Some(percent)) = (tokens, percent) else { return Row::default() };
    let tokens = count(usize::try_from(tokens).unwrap_or(usize::MAX), "token");
    Row::of(&format!("  {tokens} · {percent}%"), RowStyle::Dim)
}

/// Returns a section above its leaves: its label, its marks in words, and its path.
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
    marks.extend(facts_marks(&SectionFacts { edited: false, ..entry.clone() }));
    if !section.editable {
        marks.push(("read only".to_owned(), RowStyle::Dim));
    }
    marks
}

/// Returns what a row says about redactions and what holds the turn, and whether anything is edited.
fn facts_marks(facts: &SectionFacts) -> impl Iterator<Item = (String, RowStyle)> {
    let edited = facts.edited.then(|| (format!("edited by {}", facts.authors.join(", ")), RowStyle::Edited));
    let holds = facts.holds.then(|| ("why it waits".to_owned(), RowStyle::Warning));
    let number = |number: usize, what: &str, style| (number > 0).then(|| (format!("{number} {what}"), style));
    let redacted = number(facts.redactions, "redacted", RowStyle::Redacted);
    let released = number(facts.released, "released", RowStyle::Warning);
    [edited, holds, redacted, released].into_iter().flatten()
}

/// Returns how a section begins: the arguments of a call, else the first of its own texts that says
/// more than a name.
fn preview(section: &SectionView) -> Option<Cow<'_, str>> {
    if section.node_type == NodeType::ToolCall {
        return called_with(section).map(Cow::Borrowed);
    }
    let is_option = section.node_type == NodeType::RequestOption;
    let says = |leaf: &&LeafView| {
        let is_word = leaf.value == ValueType::Text && leaf.access != Access::Opaque;
        leaf.kind != LeafKind::Metadata && !leaf.text.expose().is_empty() && (is_word || is_option)
    };
    // Of reasoning its type and its signature are no words.
    let is_reasoning = |leaf: &&LeafView| {
        leaf.kind == LeafKind::Reasoning && !matches!(leaf.path.as_str(), "type" | "signature" | "data")
    };
    let own = |leaf: &&LeafView| leaf.kind != LeafKind::Reasoning || is_reasoning(leaf);
    section.leaves.iter().filter(says).find(own).map(|leaf| Cow::Borrowed(beginning(leaf.text.expose())))
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(PREVIEW_BYTES)]
}

/// Returns the exact arguments of the call that a section is, or is the result of, as far as a row
/// shows them.
fn called_with(section: &SectionView) -> Option<&str> {
    let arguments = section.tool_invocation.as_ref()?.arguments.as_ref()?;
    Some(beginning(arguments.expose()))
}

/// Returns what a section without words is.
fn without_words(section: &SectionView, inside: &[SectionView]) -> Option<Cow<'static, str>> {
    let bytes = |access| {
        let leaves = section.leaves.iter().filter(|leaf| leaf.access == access);
        leaves.map(|leaf| leaf.text.expose().len()).sum::<usize>()
    };
    let kind = section.content_kind.map_or("media", |kind| kind.name());
    match (bytes(Access::Opaque), bytes(Access::Frozen), inside.len()) {
        (0, 0, 0) => None,
        (0, 0, parts) => Some(format!("({})", count(parts, "part")).into()),
        (0, sealed, _) => Some(format!("(sealed by the provider, {})", count(sealed, "byte")).into()),
        (media, ..) => Some(format!("({kind}, {})", count(media, "byte")).into()),
    }
}
