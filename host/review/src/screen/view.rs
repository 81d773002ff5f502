//! The present page, its cursor, and its rows.

use leafgate_admin::{LeafView, Payload, SectionView, TurnMode, TurnView};

use crate::model::Model;
use crate::outline::{self, OutlineRow};
use crate::rows::{self, Row, RowStyle};

/// Most bytes of one leaf that the screen shows and edits itself: every key lays them out again,
/// which must not be noticeable.
pub(super) const LEAF_BYTES: usize = 256 * 1024;
/// Most bytes of a call's arguments of which a row is made.
const LINE_BYTES: usize = 2000;

/// Lines of each section that the page of what agents asked shows; the editor has all.
const AGENT_LINES: usize = 6;

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageView {
    /// The turns that wait.
    List,
    /// The sections of a turn.
    Turn,
    /// A section, by key, as a tree of leaves.
    Section(String),
    /// A leaf in full, by pointer.
    Leaf(String),
    /// The arguments of a call in full, by the key of its section or of its result's.
    Call(String),
    /// Why a turn waits, in full.
    Why,
    /// The received request against what would leave.
    Diff,
    /// The very body that a resume sends.
    Payload,
    /// What is known about the turn beside what it says.
    Metadata,
    /// What agents asked.
    Agents,
    /// The modes.
    Modes,
    /// The conversations.
    Sessions,
    /// The saved edits.
    Saved,
    /// The keys.
    Help,
}

/// A page and the position on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagePosition {
    /// The page.
    pub view: PageView,
    /// The selected row, on pages of items; the first row shown, on pages of text.
    pub at: usize,
    /// The first row shown, on pages of items.
    pub top: usize,
}

/// The item of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageItem {
    Turn(usize),
    /// Several sections in one row.
    Group(usize),
    Section(usize),
    /// The call that this section is, or is the result of.
    Call(usize),
    Leaf(usize, usize),
    Mode(TurnMode),
    Session(usize),
    Saved(usize),
}

impl PagePosition {
    /// The start of a page.
    pub fn new(view: PageView) -> PagePosition {
        PagePosition { view, at: 0, top: 0 }
    }
}

impl PageView {
    /// Returns whether it shows nothing of a turn.
    pub(super) fn needs_no_turn(&self) -> bool {
        // Without a turn the page of its metadata says so.
        matches!(
            self,
            PageView::List
                | PageView::Metadata
                | PageView::Agents
                | PageView::Modes
                | PageView::Sessions
                | PageView::Saved
                | PageView::Help
        )
    }

    /// Returns the items of a page, in order. Pages of text have none.
    pub(super) fn items(&self, model: &Model) -> Vec<PageItem> {
        match (self, model.turn()) {
            (PageView::List, _) => (0..model.turns.len()).map(PageItem::Turn).collect(),
            (PageView::Turn, Some(_)) => {
                let item = |row: &OutlineRow| match *row {
                    OutlineRow::Group(at) => PageItem::Group(at),
                    OutlineRow::Section(at) => PageItem::Section(at),
                };
                model.outline.rows.iter().map(item).collect()
            }
            (PageView::Section(key), Some(turn)) => section_items(model, turn, key),
            (PageView::Modes, _) => TurnMode::ALL.iter().copied().map(PageItem::Mode).collect(),
            (PageView::Sessions, _) => (0..model.sessions.sessions.len()).map(PageItem::Session).collect(),
            (PageView::Saved, _) => {
                (0..model.saved.as_ref().map_or(0, |list| list.edits.len())).map(PageItem::Saved).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the rows of a page of text, to be scrolled; `None` for one of items, to be selected.
    pub(super) fn text(&self, model: &Model, cells: usize) -> Option<Vec<Row>> {
        let rows = match self {
            PageView::Leaf(pointer) => {
                let leaf = model.turn().and_then(|turn| find_leaf(turn, pointer));
                leaf.map_or_else(Vec::new, |(_, leaf)| rows::leaf_text(leaf, LEAF_BYTES))
            }
            PageView::Call(key) => {
                let section = model.turn().and_then(|turn| turn.sections.get(find_section(turn, key)?));
                section.map_or_else(Vec::new, |section| rows::call_rows(section, LEAF_BYTES))
            }
            PageView::Why => model.turn().map_or_else(Vec::new, rows::why_rows),
            PageView::Diff => model.diff.as_ref().map_or_else(Vec::new, rows::diff_rows),
            PageView::Payload => {
                let text = |payload| rows::payload_text(payload, LEAF_BYTES);
                model.payload.as_ref().map_or_else(Vec::new, text)
            }
            // What is known of a turn that has just changed is on its way.
            PageView::Metadata if model.turn().is_some() && model.metadata.is_none() => Vec::new(),
            PageView::Metadata => rows::metadata_rows(model.metadata.as_ref()),
            PageView::Agents => model
                .subagents
                .as_ref()
                .map_or_else(Vec::new, |listed| rows::subagent_rows(listed, AGENT_LINES)),
            PageView::Help => rows::help_rows(),
            PageView::List
            | PageView::Turn
            | PageView::Section(_)
            | PageView::Modes
            | PageView::Sessions
            | PageView::Saved => return None,
        };
        Some(rows.into_iter().flat_map(|row| row.wrap(cells)).collect())
    }

    /// Returns the rows above the page.
    pub(super) fn head(&self, model: &Model) -> Vec<Row> {
        match (self, model.turn()) {
            (PageView::List, _) => list_head(model),
            (PageView::Turn, Some(turn)) => rows::head_rows(turn),
            (PageView::Section(key) | PageView::Call(key), Some(turn)) => find_section(turn, key)
                .and_then(|at| Some(vec![rows::section_head(&turn.sections[at], model.outline.entry(at)?)]))
                .unwrap_or_default(),
            (PageView::Leaf(pointer), Some(turn)) => leaf_head(turn, pointer),
            (PageView::Diff, _) => {
                vec![Row::of("Diff: what came (-) against what would leave (+)", RowStyle::Strong)]
            }
            (PageView::Why, _) => vec![Row::of("Why it waits", RowStyle::Strong)],
            (PageView::Payload, _) => vec![payload_head(model)],
            (PageView::Metadata, _) => vec![Row::of("Metadata of the request", RowStyle::Strong)],
            (PageView::Agents, _) => {
                let title = "What agents asked that others started, newest first";
                vec![Row::of(title, RowStyle::Strong)]
            }
            (PageView::Modes, _) => {
                let title = Row::of("What happens to a turn that no rule holds", RowStyle::Strong);
                let saved = model.mode.as_ref().and_then(|mode| mode.saved.as_ref()).map(rows::saved_row);
                [title].into_iter().chain(model.mode.as_ref().map(rows::mode_row)).chain(saved).collect()
            }
            (PageView::Sessions, _) => {
                vec![
                    Row::of("Conversations, newest first", RowStyle::Strong),
                    rows::follow_row(&model.sessions),
                ]
            }
            (PageView::Saved, _) => model.saved.as_ref().map_or_else(Vec::new, rows::saved_head),
            (PageView::Help, _) => vec![Row::of("Keys and marks", RowStyle::Strong)],
            _ => Vec::new(),
        }
    }
}

fn list_head(model: &Model) -> Vec<Row> {
    let mut head = vec![match model.turns.len() {
        0 => Row::of("No turn waits. This prompt stays and rings when one does.", RowStyle::Strong),
        1 => Row::of("1 turn waits", RowStyle::Strong),
        more => Row::of(&format!("{more} turns wait, oldest first"), RowStyle::Strong),
    }];
    head.extend(model.mode.as_ref().map(rows::mode_row));
    head.extend(model.mode.as_ref().and_then(|mode| mode.saved.as_ref()).map(rows::saved_row));
    head.push(rows::follow_row(&model.sessions));
    if model.turns.is_empty() {
        let idle = model.mode.as_ref().and_then(|mode| mode.idle.as_deref());
        head.extend(idle.map(|idle| Row::of(idle, RowStyle::Plain)));
    }
    head
}

fn payload_head(model: &Model) -> Row {
    let facts = |it: &Payload| format!("  {} bytes, digest {:.8}", it.body.expose().len(), it.digest);
    Row::of("The body as a resume sends it", RowStyle::Strong)
        .and_some(model.payload.as_ref().map(facts), RowStyle::Dim)
}

fn leaf_head(turn: &TurnView, pointer: &str) -> Vec<Row> {
    let Some((section, leaf)) = find_leaf(turn, pointer) else { return Vec::new() };
    let authors = outline::leaf_authors(turn, leaf);
    let edited = (!authors.is_empty()).then(|| format!("  [edited by {}]", authors.join(", ")));
    let row = Row::of(&title(&turn.sections[section], leaf), RowStyle::Strong)
        .and(&format!("  {} bytes, {}", leaf.text.expose().len(), leaf.value), RowStyle::Dim);
    vec![row.and_some(edited, RowStyle::Edited)]
}

/// Returns the name of a leaf: its section and its path in it.
pub(super) fn title(section: &SectionView, leaf: &LeafView) -> String {
    if leaf.path.is_empty() { section.label.clone() } else { format!("{} · {}", section.label, leaf.path) }
}

fn section_items(model: &Model, turn: &TurnView, key: &str) -> Vec<PageItem> {
    let Some(first) = find_section(turn, key) else { return Vec::new() };
    let end = model.outline.entry(first).map_or(first, |entry| entry.end);
    let mut items = Vec::new();
    for (at, section) in turn.sections.iter().enumerate().take(end).skip(first) {
        if at > first {
            items.push(PageItem::Section(at));
        }
        if section.tool_invocation.is_some() {
            items.push(PageItem::Call(at));
        }
        items.extend((0..section.leaves.len()).map(|leaf| PageItem::Leaf(at, leaf)));
    }
    items
}

pub(super) fn find_section(turn: &TurnView, key: &str) -> Option<usize> {
    turn.sections.iter().position(|section| section.key == key)
}

/// Finds a leaf by its pointer, with the place of its section.
pub(super) fn find_leaf<'t>(turn: &'t TurnView, pointer: &str) -> Option<(usize, &'t LeafView)> {
    let mut sections = turn.sections.iter().enumerate();
    sections.find_map(|(at, section)| Some((at, section.leaves.iter().find(|leaf| leaf.pointer == pointer)?)))
}

impl PageItem {
    /// Returns its row on a page.
    pub(super) fn row(self, model: &Model, page: &PageView) -> Row {
        let turn = model.turn();
        let base = match (page, turn) {
            (PageView::Section(key), Some(turn)) => {
                find_section(turn, key).and_then(|at| model.outline.entry(at)).map(|entry| entry.depth)
            }
            _ => None,
        };
        let row = match (self, turn) {
            (PageItem::Turn(at), _) => model.turns.get(at).map(rows::list_row),
            (PageItem::Group(at), Some(turn)) => {
                let group = model.outline.groups.get(at);
                group.map(|group| rows::group_row(turn, &model.outline, group))
            }
            (PageItem::Section(at), Some(turn)) => section_at(model, turn, at, base),
            (PageItem::Call(at), Some(turn)) => turn
                .sections
                .get(at)
                .and_then(|section| rows::call_rows(section, LINE_BYTES).into_iter().next()),
            (PageItem::Leaf(section, leaf), Some(turn)) => {
                leaf_at(model, turn, (section, leaf), base.unwrap_or(0))
            }
            (PageItem::Mode(mode), _) => Some(rows::mode_choice(mode, model.mode.as_ref())),
            (PageItem::Session(at), _) => model.sessions.sessions.get(at).map(rows::session_row),
            (PageItem::Saved(at), _) => {
                model.saved.as_ref().and_then(|list| list.edits.get(at)).map(rows::saved_edit_row)
            }
            _ => None,
        };
        row.unwrap_or_default()
    }

    /// Returns whether it contains a text in lower case. A section is searched with its own leaves.
    pub(super) fn holds(self, model: &Model, wanted: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(wanted);
        let leaf_has = |leaf: &LeafView| has(&leaf.path) || has(leaf.text.expose());
        match (self, model.turn()) {
            (PageItem::Turn(_) | PageItem::Mode(_) | PageItem::Session(_) | PageItem::Saved(_), _) => {
                has(&self.row(model, &PageView::List).text())
            }
            (PageItem::Section(at), Some(turn)) => {
                turn.sections.get(at).is_some_and(|it| has(&it.label) || it.leaves.iter().any(leaf_has))
            }
            (PageItem::Leaf(section, leaf), Some(turn)) => {
                turn.sections.get(section).and_then(|it| it.leaves.get(leaf)).is_some_and(leaf_has)
            }
            _ => false,
        }
    }
}

/// On the page of a section all is unfolded, and its own depth is `base`.
fn section_at(model: &Model, turn: &TurnView, at: usize, base: Option<usize>) -> Option<Row> {
    let outline = &model.outline;
    let mut entry = if base.is_some() { outline.entry(at)?.clone() } else { outline.shown(at)? };
    match base {
        Some(base) => {
            entry.folded = false;
            entry.depth -= base.min(entry.depth);
        }
        None => entry.depth += usize::from(entry.group.is_some()),
    }
    let inside = turn.sections.get(at + 1..entry.end).unwrap_or_default();
    Some(rows::section_row(turn.sections.get(at)?, &entry, inside))
}

fn leaf_at(model: &Model, turn: &TurnView, (section, leaf): (usize, usize), base: usize) -> Option<Row> {
    let leaf = turn.sections.get(section)?.leaves.get(leaf)?;
    // Leaves stand below the row of their section; those of the page's own section have none above
    // them.
    let depth = match model.outline.entry(section)?.depth.saturating_sub(base) {
        0 => 0,
        inside => inside + 1,
    };
    Some(rows::leaf_row(leaf, depth, &outline::leaf_authors(turn, leaf)))
}
