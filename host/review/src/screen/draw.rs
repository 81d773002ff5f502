//! A screen on a frame: head, page, two status lines, one line of keys. It draws rows, hence only
//! printed text.

use ratatui::Frame;
use ratatui::layout::Position;
use ratatui::text::{Line, Span};

use super::view::{PageItem, PageView, find_section};
use super::{Editing, SMALLEST, Screen, ScreenQuestion, Theme};
use crate::model::Level;
use crate::rows::{self, Row, RowStyle};

/// Rows that one paragraph of the head may take: a rule's reason may be of any length.
const HEAD_PARAGRAPH: usize = 3;
/// Rows of the head in all, so that the page keeps half of the smallest terminal.
const HEAD_ROWS: usize = 9;

/// What a person must not take the prompt for: the client goes on showing what was typed there.
const CUE: &str = "this edits the request, not the chat you see";

/// Rows of the status: an error and what to do about it do not fit into one of 80 cells.
pub(super) const STATUS_ROWS: usize = 2;

impl Screen {
    /// Returns the rows above the page.
    pub(super) fn head_rows(&self) -> Vec<Row> {
        let cells = usize::from(self.size.0);
        let head = match &self.editing {
            Some(editing) => vec![Row::of("Edit ", RowStyle::Dim).and(&editing.title, RowStyle::Strong)],
            None => self.place().view.head(&self.model),
        };
        head.into_iter()
            .flat_map(|row| row.wrap(cells).into_iter().take(HEAD_PARAGRAPH))
            .take(HEAD_ROWS)
            .collect()
    }

    /// Returns the notice or the question.
    fn status(&self) -> Row {
        if let Some(question) = &self.question {
            return self.question_row(question);
        }
        let Some(notice) = self.model.notice() else { return Row::default() };
        match notice.level {
            Level::Done => Row::of(&notice.text, RowStyle::Plain),
            Level::Warning => Row::of("! ", RowStyle::Warning).and(&notice.text, RowStyle::Warning),
            Level::Error => Row::of("✗ ", RowStyle::Error).and(&notice.text, RowStyle::Error),
        }
    }

    /// Returns whether an exception is being typed, and nothing is to be read or answered first.
    fn shows_exception(&self) -> bool {
        self.excepting.is_some() && self.question.is_none() && self.model.notice().is_none()
    }

    fn question_row(&self, question: &ScreenQuestion) -> Row {
        let text = match (question, self.model.turn()) {
            (ScreenQuestion::Resume { digest }, Some(turn)) => format!(
                "Send exactly what is shown? {}, {}, digest {:.8}  y/n",
                rows::count(turn.summary.edits, "edit"),
                rows::count(turn.summary.redactions, "redaction"),
                digest
            ),
            (ScreenQuestion::Discard, _) => "Discard what you typed?  y/n".to_owned(),
            (ScreenQuestion::Release { pointer, at }, _) => self.release_text(pointer, *at),
            (ScreenQuestion::Save, _) => {
                "Save your edits for later turns? s this conversation · w this folder · g all".to_owned()
            }
            _ => "Cancel this turn? Nothing is sent and the client gets an error.  y/n".to_owned(),
        };
        Row::of("? ", RowStyle::Warning).and(&text, RowStyle::Warning)
    }

    /// Returns the line between head and page. Over a turn it says what is edited here, and how
    /// long the turn may still wait, unless the head does.
    fn rule(&self, cells: usize) -> Row {
        let view = &self.place().view;
        let left = match self.model.turn() {
            Some(_)
                if matches!(
                    view,
                    PageView::List | PageView::Modes | PageView::Sessions | PageView::Agents
                ) =>
            {
                String::new()
            }
            Some(_) if *view == PageView::Turn && self.editing.is_none() => format!(" {CUE} ──"),
            Some(turn) => format!(" {CUE} ── {} left ──", rows::time(turn.summary.left_ms)),
            None => String::new(),
        };
        Row::of(&"─".repeat(cells.saturating_sub(rows::width(&left))), RowStyle::Dim)
            .and(&left, RowStyle::Dim)
    }

    fn keys_row(&self) -> Row {
        if let Some(excepting) = self.excepting.as_ref().filter(|_| self.question.is_none()) {
            let keys = match excepting.asks_why() {
                true => "Enter next · Tab another · Esc nothing",
                false => "Enter write it into the policy · Esc nothing",
            };
            return Row::of(keys, RowStyle::Dim);
        }
        let keys = match (&self.question, &self.editing, &self.place().view) {
            (Some(ScreenQuestion::Save), ..) => "s conversation · w folder · g everywhere · Esc nothing",
            (Some(ScreenQuestion::Release { .. }), ..) => "y release · Tab another · n nothing",
            (Some(_), ..) => "y yes · n no",
            (_, Some(_), _) => "Enter save · Alt-Enter or Ctrl-J newline · Esc leave",
            (.., PageView::List) => "Enter open · o pause next turn · m mode · S sessions · ? help · q leave",
            (.., PageView::Turn) => {
                "Enter open · Tab cause · d delete · i put in · p pin · s send · c cancel · ?"
            }
            (.., PageView::Modes) => "Enter choose · Esc back · ? help",
            (.., PageView::Sessions) => "Enter select · f follow the newest, or not · Esc back · ? help",
            (.., PageView::Section(_)) => {
                "Enter open · e edit · E $EDITOR · u undo · s send · c cancel · Esc back · ? help"
            }
            (.., PageView::Leaf(_)) => {
                "e edit · E $EDITOR · R release · a except · / search · Esc back · ? help"
            }
            (.., PageView::Agents) => "↑↓ scroll · / search · Esc back · ? help",
            (
                ..,
                PageView::Why | PageView::Diff | PageView::Payload | PageView::Metadata | PageView::Help,
            ) => "↑↓ scroll · / search · s send · c cancel · Esc back",
        };
        Row::of(keys, RowStyle::Dim)
    }

    fn page(&self, cells: usize, height: usize) -> Vec<Row> {
        let place = self.place();
        if place.view.is_text() {
            return place.view.text(&self.model, cells).into_iter().skip(place.at).take(height).collect();
        }
        let base = match (&place.view, self.model.turn()) {
            (PageView::Section(key), Some(turn)) => find_section(turn, key)
                .and_then(|at| self.model.outline().entry(at))
                .map_or(0, |entry| entry.depth),
            _ => 0,
        };
        let items = place.view.items(&self.model);
        let shown = items.iter().enumerate().skip(place.top).take(height);
        shown.map(|(at, item)| item_row(self, *item, base, at == place.at, cells)).collect()
    }
}

fn item_row(screen: &Screen, item: PageItem, base: usize, selected: bool, cells: usize) -> Row {
    let mut row = Row::of(if selected { "▸ " } else { "  " }, RowStyle::Strong);
    row.0.extend(item.row(&screen.model, base).0);
    row.cut(cells)
}

/// Draws a screen.
pub fn draw(screen: &Screen, theme: Theme, frame: &mut Frame<'_>) {
    let (columns, height) = (frame.area().width, frame.area().height);
    let cells = usize::from(columns);
    let mut canvas = Canvas { theme, frame };
    if screen.is_small() {
        return draw_small(screen, &mut canvas);
    }
    let head = screen.head_rows();
    let top = head.len() as u16;
    for (y, row) in (0..).zip(head) {
        canvas.put(y, row);
    }
    canvas.put(top, screen.rule(cells));
    let body = screen.body().1;
    match &screen.editing {
        Some(editing) => draw_editor(editing, &mut canvas, top + 1, cells, body),
        None => {
            for (y, row) in (top + 1..).zip(screen.page(cells, body)) {
                canvas.put(y, row);
            }
        }
    }
    let bottom = height - 1 - STATUS_ROWS as u16;
    match &screen.search {
        Some(search) => {
            let row = Row::of("/", RowStyle::Strong).and(search.text(), RowStyle::Plain);
            let cursor = row.width().min(cells - 1) as u16;
            canvas.put(bottom, row.cut(cells));
            canvas.frame.set_cursor_position(Position::new(cursor, bottom));
        }
        None if screen.shows_exception() => draw_exception(screen, &mut canvas, cells, bottom),
        None => {
            let mut status = screen.status().wrap(cells);
            status.truncate(STATUS_ROWS);
            // A status of one line stands right above the keys.
            for (y, row) in (height - 1 - status.len() as u16..).zip(status) {
                canvas.put(y, row);
            }
        }
    }
    canvas.put(height - 1, screen.keys_row().cut(cells));
}

/// Draws the remaining choices on a small terminal.
fn draw_small(screen: &Screen, canvas: &mut Canvas<'_, '_>) {
    let cells = usize::from(canvas.frame.area().width);
    let (columns, rows) = screen.size;
    let mut page = Row::of(
        &format!("This terminal has {columns}×{rows}; the prompt needs {}×{}.", SMALLEST.0, SMALLEST.1),
        RowStyle::Warning,
    )
    .wrap(cells);
    page.extend(Row::of("Make it larger, or use --plain.", RowStyle::Plain).wrap(cells));
    page.extend(Row::of("c cancel · q leave", RowStyle::Dim).wrap(cells));
    page.extend(screen.status().wrap(cells));
    for (y, row) in (0..canvas.frame.area().height).zip(page) {
        canvas.put(y, row.cut(cells));
    }
}

fn draw_editor(editing: &Editing, canvas: &mut Canvas<'_, '_>, top: u16, cells: usize, height: usize) {
    let lines = editing.editor.lines(cells);
    let (row, column) = editing.editor.cursor(&lines);
    let first = (row + 1).saturating_sub(height);
    for (y, line) in (top..).zip(lines.iter().skip(first).take(height)) {
        canvas.put_printed(y, &line.shown);
    }
    canvas.frame.set_cursor_position(Position::new(column as u16, top + (row - first) as u16));
}

/// Draws the line of an exception that is typed, below its question.
fn draw_exception(screen: &Screen, canvas: &mut Canvas<'_, '_>, cells: usize, top: u16) {
    let Some(excepting) = &screen.excepting else { return };
    let question = Row::of("? ", RowStyle::Warning).and(&screen.exception_text(excepting), RowStyle::Warning);
    canvas.put(top, question.cut(cells));
    let lines = excepting.line().lines(cells);
    let (row, column) = excepting.line().cursor(&lines);
    canvas.put_printed(top + 1, &lines[row].shown);
    canvas.frame.set_cursor_position(Position::new(column as u16, top + 1));
}

struct Canvas<'c, 'f> {
    theme: Theme,
    frame: &'c mut Frame<'f>,
}

impl Canvas<'_, '_> {
    fn put(&mut self, y: u16, row: Row) {
        let spans = row.0.iter().map(|piece| Span::styled(piece.text(), self.theme.style(piece.style)));
        let line = Line::from_iter(spans);
        let area = self.frame.area();
        if y < area.height {
            self.frame.buffer_mut().set_line(0, y, &line, area.width);
        }
    }

    /// Draws a line of the editor, which has printed it glyph by glyph.
    fn put_printed(&mut self, y: u16, shown: &str) {
        let area = self.frame.area();
        if y < area.height {
            self.frame.buffer_mut().set_line(0, y, &Line::raw(shown), area.width);
        }
    }
}
