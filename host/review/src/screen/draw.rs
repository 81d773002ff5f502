//! A screen on a frame: head, page, two status lines, one line of keys. It draws rows, hence only
//! printed text.

use leafgate_admin::AutoState;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use super::view::{PageItem, PageView};
use super::{Editing, SMALLEST, Screen, ScreenQuestion, Theme};
use crate::model::Level;
use crate::rows::{self, Row, RowStyle};

/// Rows that one paragraph of the head may take: a rule's reason may be of any length.
const HEAD_PARAGRAPH: usize = 3;
/// Rows of the head in all, so that the page keeps half of the smallest terminal.
const HEAD_ROWS: usize = 9;

/// What a person must not take the prompt for: the client goes on showing what was typed there.
const CUE: &str = "edits the request, not your chat";

/// Rows of the status. An error and what to do about it do not fit into one of 80 cells: a second one
/// covers the last row of the page.
pub(super) const STATUS_ROWS: usize = 1;
/// Most rows of a status.
const MOST_STATUS_ROWS: usize = 2;

impl Screen {
    /// Returns the rows above the page.
    pub(super) fn head_rows(&self) -> Vec<Row> {
        let cells = usize::from(self.size.0);
        let head = match &self.editing {
            Some(editing) => vec![Row::of("Edit ", RowStyle::Dim).and(&editing.title, RowStyle::Strong)],
            None => self.place().view.head(&self.model),
        };
        // Of a turn as much as possible is shown; its reasons are a key away in full.
        let is_turn = self.editing.is_none() && self.place().view == PageView::Turn;
        let paragraph = |row: Row| match is_turn {
            true => vec![row.cut(cells)],
            false => row.wrap(cells).into_iter().take(HEAD_PARAGRAPH).collect(),
        };
        head.into_iter().flat_map(paragraph).take(HEAD_ROWS).collect()
    }

    /// Returns the notice or the question.
    fn status(&self) -> Row {
        if let Some(question) = &self.question {
            return self.question_row(question);
        }
        let Some(notice) = self.model.notice.as_ref() else { return Row::default() };
        match notice.level {
            Level::Done => Row::of(&notice.text, RowStyle::Plain),
            Level::Warning => Row::of("! ", RowStyle::Warning).and(&notice.text, RowStyle::Warning),
            Level::Error => Row::of("✗ ", RowStyle::Error).and(&notice.text, RowStyle::Error),
        }
    }

    /// Returns whether an exception is being typed, and nothing is to be read or answered first.
    fn shows_exception(&self) -> bool {
        self.excepting.is_some() && self.question.is_none() && self.model.notice.is_none()
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
            (ScreenQuestion::Release { redactions, at }, _) => {
                let what = self.redaction_text(redactions, *at);
                format!("Release {what}? The value leaves, with this request alone.  y/n")
            }
            (ScreenQuestion::ClearSaved, _) => {
                let scope = self.model.saved.as_ref().map_or("this scope", |list| list.status.scope.label());
                format!("Remove all saved edits of {scope}? Later turns then come as they are.  y/n")
            }
            (ScreenQuestion::Save, _) => {
                "Save your edits for later turns? s this conversation · w this folder · g all".to_owned()
            }
            _ => "Cancel this turn? Nothing is sent and the client gets an error.  y/n".to_owned(),
        };
        Row::of("? ", RowStyle::Warning).and(&text, RowStyle::Warning)
    }

    /// Returns the line between head and page: the mode, and over a turn what is edited here, how long
    /// it may still wait unless the head says so, and on every page what else waits.
    fn rule(&self, cells: usize) -> Row {
        let view = &self.place().view;
        let is_of_turn = !view.needs_no_turn() || *view == PageView::Metadata || self.editing.is_some();
        let turn = self.model.turn().filter(|_| is_of_turn);
        let mut right = Vec::new();
        if let Some(turn) = turn {
            right.push(CUE.to_owned());
            if *view != PageView::Turn || self.editing.is_some() {
                right.push(format!("{} left", rows::time(turn.summary.left_ms)));
            }
        }
        match self
            .model
            .turns
            .iter()
            .filter(|other| turn.is_none_or(|turn| turn.summary.id != other.id))
            .count()
        {
            0 => {}
            _ if *view == PageView::List => {}
            others if turn.is_some() => right.push(format!("L: {others} more")),
            others => right.push(format!("L: {} waiting", rows::count(others, "turn"))),
        }
        let right: String = right.iter().map(|part| format!(" {part} ──")).collect();
        let room = cells.saturating_sub(rows::width(&right));
        let left = Row::of(&self.mode_text(), RowStyle::Dim).cut(room.saturating_sub(1));
        let line = "─".repeat(room - left.width());
        left.and(&line, RowStyle::Dim).and(&right, RowStyle::Dim)
    }

    /// Returns the mode in force, for the line above the page of a turn.
    fn mode_text(&self) -> String {
        let mode = self
            .model
            .mode
            .as_ref()
            .filter(|_| self.place().view == PageView::Turn && self.editing.is_none());
        let Some(mode) = mode else { return String::new() };
        let auto = match mode.auto {
            Some(AutoState::Capturing) => ": capturing",
            Some(AutoState::Applying) => ": applying",
            None => "",
        };
        format!("── {}{auto} ", mode.label)
    }

    fn keys_row(&self) -> Row {
        if let Some(excepting) = self.excepting.as_ref().filter(|_| self.question.is_none()) {
            let keys = match excepting.asks_why() {
                true => "Enter next · Tab another · Esc nothing",
                false => "Enter write it into the policy · Esc nothing",
            };
            return Row::of(keys, RowStyle::Dim);
        }
        if self.is_deaf {
            return Row::of("Esc goes on · what you type until then does nothing", RowStyle::Dim);
        }
        let keys = match (&self.question, &self.editing, &self.place().view) {
            (Some(ScreenQuestion::Save), ..) => "s conversation · w folder · g everywhere · Esc nothing",
            (Some(ScreenQuestion::Release { .. }), ..) => "y release · Tab another · n nothing",
            (Some(_), ..) => "y yes · n no",
            (_, Some(_), _) => "Enter save · Alt-Enter or Ctrl-J newline · Esc leave",
            (.., PageView::List) if self.is_capturing() => {
                "Enter open · m mode · S conversations · ? help · q leave"
            }
            (.., PageView::List) => {
                "Enter open · o pause next turn · m mode · S conversations · ? help · q leave"
            }
            (.., PageView::Turn | PageView::Section(_) | PageView::Leaf(_)) => return self.keys_of_turn(),
            (.., PageView::Modes) => "Enter choose · Esc back · ? help",
            (.., PageView::Sessions) => "Enter select · f follow the newest, or not · Esc back · ? help",
            (.., PageView::Saved) => {
                "d remove · X remove all · t scope · + - sections · C capture · Esc back"
            }
            (.., PageView::Agents) => {
                "↑↓ scroll · / search · E $EDITOR, to read and copy · Esc back · ? help"
            }
            (.., PageView::Payload) => {
                "↑↓ scroll · / search · E $EDITOR, to read · s send · c cancel · Esc back"
            }
            (
                ..,
                PageView::Why | PageView::Diff | PageView::Call(_) | PageView::Metadata | PageView::Help,
            ) => "↑↓ scroll · / search · s send · c cancel · Esc back",
        };
        Row::of(keys, RowStyle::Dim)
    }

    /// Offers what can be done where the cursor stands.
    fn keys_of_turn(&self) -> Row {
        let is_turn = self.place().view == PageView::Turn;
        let item = self.selected();
        let (spans, place) = (self.chosen_spans(), self.chosen_place());
        let section = self.model.turn().zip(place).and_then(|(turn, at)| turn.sections.get(at));
        let keys = [
            (!matches!(item, Some(PageItem::Group(_)) | None), "Enter open"),
            (is_turn && section.is_some_and(|it| it.source_message_index.is_some()), "i put in"),
            (matches!(item, Some(PageItem::Group(_))), "Enter unfold"),
            (self.chosen_text().is_ok(), "e edit"),
            (spans.iter().any(|span| span.releasable), "R release"),
            (spans.iter().any(|span| span.redaction.is_some()), "a except"),
            (section.is_some_and(|it| it.deletable && !it.deleted), "d delete"),
            (section.is_some_and(|it| it.deleted), "r restore"),
            (is_turn, "w why"),
            (true, "s send · c cancel"),
            (!is_turn, "Esc back"),
            (true, "? help"),
        ];
        let mut offered: Vec<_> = keys.into_iter().filter(|(can, _)| *can).map(|(_, key)| key).collect();
        // Where not all fit, the page of help has the first ones.
        while rows::width(&offered.join(" · ")) > usize::from(self.size.0) {
            offered.remove(0);
        }
        Row::of(&offered.join(" · "), RowStyle::Dim)
    }

    fn page(&self, cells: usize, height: usize) -> Vec<Row> {
        let place = self.place();
        if let Some(rows) = place.view.text(&self.model, cells) {
            return rows.into_iter().skip(place.at).take(height).collect();
        }
        let items = place.view.items(&self.model);
        let shown = items.iter().enumerate().skip(place.top).take(height);
        shown.map(|(at, item)| item_row(self, *item, at == place.at, cells)).collect()
    }
}

fn item_row(screen: &Screen, item: PageItem, selected: bool, cells: usize) -> Row {
    let row = Row::of(if selected { "▸ " } else { "  " }, RowStyle::Strong);
    row.followed_by(item.row(&screen.model, &screen.place().view)).cut(cells)
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
            status.truncate(MOST_STATUS_ROWS);
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
        canvas.put_line(y, Line::raw(&line.shown));
    }
    canvas.frame.set_cursor_position(Position::new(column as u16, top + (row - first) as u16));
}

/// Draws the line of an exception that is typed, at `top`, below its question.
fn draw_exception(screen: &Screen, canvas: &mut Canvas<'_, '_>, cells: usize, top: u16) {
    let Some(excepting) = &screen.excepting else { return };
    let question = Row::of("? ", RowStyle::Warning).and(&screen.exception_text(excepting), RowStyle::Warning);
    canvas.put(top - 1, question.cut(cells));
    let lines = excepting.line().lines(cells);
    let (row, column) = excepting.line().cursor(&lines);
    canvas.put_line(top, Line::raw(&lines[row].shown));
    canvas.frame.set_cursor_position(Position::new(column as u16, top));
}

struct Canvas<'c, 'f> {
    theme: Theme,
    frame: &'c mut Frame<'f>,
}

impl Canvas<'_, '_> {
    fn put(&mut self, y: u16, row: Row) {
        let spans = row.0.iter().map(|piece| Span::styled(piece.text(), self.theme.style(piece.style)));
        self.put_line(y, Line::from_iter(spans));
    }

    /// Draws a printed line, and nothing of what was drawn there before.
    fn put_line(&mut self, y: u16, line: Line<'_>) {
        let Rect { width, height, .. } = self.frame.area();
        if y < height {
            self.frame.render_widget(Clear, Rect::new(0, y, width, 1));
            self.frame.buffer_mut().set_line(0, y, &line, width);
        }
    }
}
