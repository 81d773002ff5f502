//! The prompt line by line, for pipes and screen readers.
//!
//! Numbered lines out, commands in. It prints what the screen shows, through the same printer and
//! over the same state machine. A command that is typed out needs no confirmation: `resume` sends
//! what was printed last, and nothing newer. It takes no events: `list` and `show` ask again, and
//! [`announcement`] is what its caller prints of a turn that comes.
//! The end of the input leaves every turn waiting.

mod command;

use std::io::{self, BufRead, Write};

use leafgate_admin::{EditCommand, Event, LeafView, SectionView, ShownText, TurnMode, TurnView};

use self::command::{HELP, LineCommand, PartNumber, SavedOrder};
use crate::api::{AdminApi, ApiAnswer, ApiCall, ExceptionDraft, TurnCall};
use crate::choice;
use crate::model::{Level, Model, ModelEffect, ModelInput, PersonAction};
use crate::outline::{self, Outline, OutlineRow};
use crate::printer;
use crate::rows::{self, Row, RowStyle};
use crate::screen::farewell;

/// Cells of a line that stands for a longer text. `open` prints it in full.
const CELLS: usize = 160;

/// Runs until `quit` or the end of the input. `prompt` is written before each command, `""` for
/// pipes.
///
/// # Errors
/// Reading or writing failed. A refusal of the gate is printed and is no error.
pub fn run(
    desk: &mut dyn AdminApi,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
    prompt: &str,
) -> io::Result<()> {
    let mut plain = Plain { model: Model::default(), desk, output };
    plain.start()?;
    loop {
        write!(plain.output, "{}", printer::line(prompt))?;
        plain.output.flush()?;
        let Some(line) = read_line(input)? else { break };
        match LineCommand::parse(&line) {
            Ok(None) => {}
            Ok(Some(LineCommand::Quit)) => break,
            Ok(Some(LineCommand::Edit(target))) => plain.edit(target, input)?,
            Ok(Some(LineCommand::Insert(before))) => plain.insert(before, input)?,
            Ok(Some(command)) => plain.obey(command)?,
            Err(error) => {
                plain.refuse(&error.to_string())?;
                // The lines behind a malformed `edit` or `insert` are its text, and none of them may
                // count as a command.
                if matches!(line.split_whitespace().next(), Some("edit" | "insert")) {
                    read_text(input)?;
                    plain.refuse("the text up to the line with a single dot was not used")?;
                }
            }
        }
    }
    plain.leave()
}

/// Reads a line without its end. Returns `None` at the end of the input.
fn read_line(input: &mut dyn BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if input.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.ends_with(b"\n") {
        line.pop();
    }
    String::from_utf8(line)
        .map(Some)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a line of the input is not UTF-8"))
}

struct Plain<'a> {
    model: Model,
    desk: &'a mut dyn AdminApi,
    output: &'a mut dyn Write,
}

impl Plain<'_> {
    fn start(&mut self) -> io::Result<()> {
        self.act(ApiCall::Pending)?;
        match self.model.turns() {
            [only] => {
                let id = only.id.clone();
                self.show(Some(id))
            }
            _ => self.list(),
        }
    }

    fn obey(&mut self, command: LineCommand) -> io::Result<()> {
        match command {
            LineCommand::List => {
                self.act(ApiCall::Pending)?;
                self.list()
            }
            LineCommand::Show(name) => self.show_named(name),
            LineCommand::Open(target) => self.open(target),
            LineCommand::Delete(at) => self.section_command(at, |section| EditCommand::Delete { section }),
            LineCommand::Restore(at) => self.section_command(at, |section| EditCommand::Restore { section }),
            LineCommand::Release(redaction) => self.change(EditCommand::Release { redaction }),
            LineCommand::Except { redaction, until, reason } => {
                // What it means is the notice of that action.
                self.act(TurnCall::Except(ExceptionDraft { redaction, reason, until })).map(drop)
            }
            LineCommand::Undo => self.change(EditCommand::Undo),
            LineCommand::Redo => self.change(EditCommand::Redo),
            LineCommand::Reset => self.change(EditCommand::Reset),
            LineCommand::Diff => self.print_after(TurnCall::Diff, |model| model.diff().map(rows::diff_rows)),
            LineCommand::Payload => self.print_after(TurnCall::Payload, |model| {
                model.payload().map(|payload| rows::payload_text(payload, printer::BLOCK_BYTES))
            }),
            LineCommand::Metadata => self.metadata(),
            // What was saved is the notice of that action.
            LineCommand::Save(scope) => self.act(TurnCall::Save { scope }).map(drop),
            LineCommand::Saved(command) => self.saved(command),
            LineCommand::Capture => self.act(ApiCall::CaptureNext).map(drop),
            LineCommand::Agents => self.print_after(ApiCall::Subagents, |model| {
                model.subagents().map(|listed| rows::subagent_rows(listed, usize::MAX))
            }),
            LineCommand::Why => match self.model.turn().map(rows::why_rows) {
                Some(rows) => self.print(rows),
                None => self.refuse("no turn is open: `show 1` opens the first of the list"),
            },
            LineCommand::Pin(sections) => self.pin(&sections),
            LineCommand::Mode(mode) => self.mode(mode),
            LineCommand::Sessions => {
                self.act(ApiCall::Sessions)?;
                self.sessions()
            }
            LineCommand::Select(number) => self.select(number),
            LineCommand::Follow(follow) => match self.act(ApiCall::Follow { follow })? {
                true => self.sessions(),
                false => Ok(()),
            },
            LineCommand::Resume => self.resume(),
            LineCommand::Cancel => self.act(TurnCall::Cancel).map(drop),
            LineCommand::Help => self.print(HELP.iter().map(|line| Row::of(line, RowStyle::Plain))),
            LineCommand::Edit(_) | LineCommand::Insert(_) | LineCommand::Quit => Ok(()),
        }
    }

    /// Carries an action out, and prints what the model has of it then.
    fn print_after(
        &mut self,
        action: impl Into<PersonAction>,
        rows: impl FnOnce(&Model) -> Option<Vec<Row>>,
    ) -> io::Result<()> {
        if self.act(action)?
            && let Some(rows) = rows(&self.model)
        {
            self.print(rows)?;
        }
        Ok(())
    }

    /// Carries an action out and prints the notice. Returns `false` if it failed.
    fn act(&mut self, action: impl Into<PersonAction>) -> io::Result<bool> {
        let mut effects = self.model.update(ModelInput::Act(action.into()));
        while let Some(effect) = effects.pop() {
            if let ModelEffect::Ask(call) = effect {
                effects.extend(self.model.update(ModelInput::Answer(call.run(self.desk))));
            }
        }
        let Some(notice) = self.model.notice() else { return Ok(true) };
        let word = match notice.level {
            Level::Done => "",
            Level::Warning => "warning: ",
            Level::Error => "error: ",
        };
        writeln!(self.output, "{word}{}", printer::line(&notice.text))?;
        Ok(notice.level != Level::Error)
    }

    fn refuse(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.output, "error: {}", printer::line(text))
    }

    fn print(&mut self, rows: impl IntoIterator<Item = Row>) -> io::Result<()> {
        rows.into_iter().try_for_each(|row| writeln!(self.output, "{}", row.text().trim_end()))
    }

    fn list(&mut self) -> io::Result<()> {
        if self.model.turns().is_empty() {
            return writeln!(self.output, "No turn waits.");
        }
        let listed: Vec<Row> =
            self.model.turns().iter().map(rows::list_row).enumerate().map(numbered).collect();
        self.print(listed)
    }

    fn show_named(&mut self, name: Option<String>) -> io::Result<()> {
        let Some(name) = name else { return self.show(None) };
        if name == "all" {
            return self.print_all();
        }
        let turns = self.model.turns();
        let by_number = name.parse().ok().and_then(|number: usize| turns.get(number.checked_sub(1)?));
        match by_number.or_else(|| turns.iter().find(|turn| turn.id == name)) {
            Some(turn) => {
                let id = turn.id.clone();
                self.show(Some(id))
            }
            None => self.refuse(&format!("no turn `{name}`: `list` numbers those that wait")),
        }
    }

    fn show(&mut self, id: Option<String>) -> io::Result<()> {
        let action = id.map_or(PersonAction::OfTurn(TurnCall::Show), |id| TurnCall::Show.on(&id).into());
        // How many sections are shown first depends on the mode.
        if self.act(ApiCall::Mode)? && self.act(action)? { self.print_turn() } else { Ok(()) }
    }

    fn print_turn(&mut self) -> io::Result<()> {
        let Some(turn) = self.model.turn() else { return Ok(()) };
        let outline = self.model.outline();
        let mut out = rows::header_rows(turn);
        for row in outline.rows() {
            out.push(match *row {
                OutlineRow::Group(at) => {
                    let row = rows::group_row(turn, outline, &outline.groups()[at]);
                    row.and("  (show all)", RowStyle::Dim).cut(CELLS)
                }
                OutlineRow::Section(at) => numbered_section(turn, outline, at),
            });
        }
        self.print(out)
    }

    /// Prints every section of the turn.
    fn print_all(&mut self) -> io::Result<()> {
        let Some(turn) = self.model.turn() else {
            return self.refuse("no turn is open: `show 1` opens the first of the list");
        };
        let outline = self.model.outline();
        let order = outline.order().into_iter();
        let out: Vec<_> = order.map(|at| numbered_section(turn, outline, at)).collect();
        self.print(out)
    }

    fn open(&mut self, target: PartNumber) -> io::Result<()> {
        let out = match self.find(target) {
            Ok(FoundPart { section, leaf: None, turn }) => leaf_rows(turn, section, target.section),
            Ok(FoundPart { leaf: Some(leaf), .. }) => {
                let mut out = rows::leaf_text(leaf, printer::BLOCK_BYTES);
                out.extend(rows::redaction_rows(leaf));
                out
            }
            Err(error) => return self.refuse(&error),
        };
        self.print(out)
    }

    fn edit(&mut self, target: PartNumber, input: &mut dyn BufRead) -> io::Result<()> {
        // The lines are read in any case: text for a missing leaf must not count as commands.
        let Some(text) = read_text(input)? else {
            return self.refuse("the input ended before the line with a single dot: nothing was changed");
        };
        let pointer = match self.find(target) {
            Ok(FoundPart { leaf: Some(leaf), .. }) => leaf.pointer.clone(),
            Ok(_) => return Ok(()),
            Err(error) => return self.refuse(&error),
        };
        let done = self.act(TurnCall::Edit(EditCommand::Set { pointer, text: ShownText::new(text) }))?;
        if done { self.open(PartNumber { leaf: None, ..target }) } else { Ok(()) }
    }

    fn insert(&mut self, before: usize, input: &mut dyn BufRead) -> io::Result<()> {
        let Some(text) = read_text(input)? else {
            return self.refuse("the input ended before the line with a single dot: nothing was changed");
        };
        let text = ShownText::new(text);
        self.section_command(before, |before| EditCommand::Insert { before, text: text.clone() })
    }

    fn pin(&mut self, numbers: &[usize]) -> io::Result<()> {
        let found = |&section: &usize| {
            self.find(PartNumber { section, leaf: None }).map(|found| found.section.key.clone())
        };
        match numbers.iter().map(found).collect() {
            Ok(sections) => match self.act(TurnCall::Pin { sections })? {
                true => self.print_turn(),
                false => Ok(()),
            },
            Err(error) => self.refuse(&error),
        }
    }

    fn mode(&mut self, mode: Option<TurnMode>) -> io::Result<()> {
        let Some(mode) = mode else {
            self.act(ApiCall::Mode)?;
            return self.print(self.model.mode().map(rows::mode_row));
        };
        // What is in force then is the notice of that action.
        self.act(ApiCall::SetMode { mode }).map(drop)
    }

    fn metadata(&mut self) -> io::Result<()> {
        if self.model.turn().is_some() && !self.act(TurnCall::Metadata)? {
            return Ok(());
        }
        let rows = rows::metadata_rows(self.model.metadata());
        self.print(rows)
    }

    fn sessions(&mut self) -> io::Result<()> {
        let listed = self.model.sessions().sessions.iter().map(rows::session_row).enumerate().map(numbered);
        let shown: Vec<Row> = listed.chain([rows::follow_row(self.model.sessions())]).collect();
        self.print(shown)
    }

    fn saved(&mut self, command: SavedOrder) -> io::Result<()> {
        let call = match command {
            SavedOrder::List => ApiCall::Saved,
            SavedOrder::Clear => ApiCall::ClearSaved,
            SavedOrder::Set(set) => ApiCall::SetSaved(set),
            // The number is one of the list that was printed last.
            SavedOrder::Remove(number) => {
                match self.model.saved().and_then(|list| list.edits.get(number - 1)) {
                    Some(edit) => ApiCall::RemoveSaved { id: edit.id.clone() },
                    None => return self.refuse("no saved edit has this number: `saved` lists them"),
                }
            }
        };
        self.print_after(call, |model| {
            let list = model.saved()?;
            let edits = list.edits.iter().map(rows::saved_edit_row).enumerate().map(numbered);
            Some(rows::saved_head(list).into_iter().chain(edits).collect())
        })
    }

    fn select(&mut self, number: usize) -> io::Result<()> {
        let listed = &self.model.sessions().sessions;
        match listed.get(number - 1).map(|session| session.id.clone()) {
            Some(session) => match self.act(ApiCall::Select { session })? {
                true => self.sessions(),
                false => Ok(()),
            },
            None => self.refuse("no conversation has this number: `sessions` lists them"),
        }
    }

    fn section_command(&mut self, at: usize, command: impl Fn(String) -> EditCommand) -> io::Result<()> {
        let key = |found: FoundPart<'_>| choice::left_out_by(found.turn, at - 1).map(str::to_owned);
        match self.find(PartNumber { section: at, leaf: None }).map(key) {
            Ok(key) => self.change(command(key.unwrap_or_default())),
            Err(error) => self.refuse(&error),
        }
    }

    fn change(&mut self, command: EditCommand) -> io::Result<()> {
        if self.act(TurnCall::Edit(command))? { self.print_turn() } else { Ok(()) }
    }

    fn resume(&mut self) -> io::Result<()> {
        let Some(digest) = self.model.turn().map(|turn| turn.digest.clone()) else {
            return self.refuse("no turn is open: `show 1` opens the first of the list");
        };
        self.act(TurnCall::Resume { digest: digest.clone() })?;
        // A stale answer was followed by the present turn, which must be shown before it can be
        // resumed.
        match self.model.turn() {
            Some(turn) if turn.digest != digest => self.print_turn(),
            _ => Ok(()),
        }
    }

    fn find(&self, target: PartNumber) -> Result<FoundPart<'_>, String> {
        let Some(turn) = self.model.turn() else {
            return Err("no turn is open: `show 1` opens the first of the list".to_owned());
        };
        let Some(section) = turn.sections.get(target.section - 1) else {
            return Err(format!("no section {}: they run from 1 to {}", target.section, turn.sections.len()));
        };
        let Some(number) = target.leaf else { return Ok(FoundPart { turn, section, leaf: None }) };
        match section.leaves.get(number - 1) {
            Some(leaf) => Ok(FoundPart { turn, section, leaf: Some(leaf) }),
            None if section.leaves.is_empty() => Err(format!(
                "section {} has no leaves of its own: see the sections inside it",
                target.section
            )),
            None => Err(format!(
                "no leaf {number} in section {}: they run from 1 to {}",
                target.section,
                section.leaves.len()
            )),
        }
    }

    fn leave(&mut self) -> io::Result<()> {
        // Of a gate that has ended nothing waits.
        let waiting = match ApiCall::Pending.run(self.desk) {
            ApiAnswer::Pending(turns) => turns.len(),
            _ => 0,
        };
        match farewell(waiting) {
            Some(text) => writeln!(self.output, "{text}"),
            None => Ok(()),
        }
    }
}

struct FoundPart<'m> {
    turn: &'m TurnView,
    section: &'m SectionView,
    leaf: Option<&'m LeafView>,
}

/// A row of a list, from which a command takes its number.
fn numbered((at, row): (usize, Row)) -> Row {
    Row::of(&format!("{} ", at + 1), RowStyle::Plain).followed_by(row).cut(CELLS)
}

fn numbered_section(turn: &TurnView, outline: &Outline, at: usize) -> Row {
    let (section, facts) = (&turn.sections[at], outline.shown(at).unwrap_or_default());
    let inside = turn.sections.get(at + 1..facts.end).unwrap_or_default();
    numbered((at, rows::section_row(section, &facts, inside)))
}

/// Returns the line that says that a turn began to wait, for who types commands meanwhile.
#[must_use]
pub fn announcement(event: &Event) -> Option<String> {
    match event {
        Event::Paused { turn } if turn.with.is_none() => {
            let line = format!("A turn waits: {}. `list` numbers those that do.", turn.label);
            Some(printer::line(&line).to_string())
        }
        _ => None,
    }
}

fn leaf_rows(turn: &TurnView, section: &SectionView, number: usize) -> Vec<Row> {
    let mut out = vec![Row::of(&format!("{number} {} ({})", section.label, section.path), RowStyle::Strong)];
    out.extend(rows::call_rows(section, printer::BLOCK_BYTES));
    let edits = outline::StandingEdits::new(turn);
    for (at, leaf) in section.leaves.iter().enumerate() {
        let row = Row::of(&format!("{number}.{} ", at + 1), RowStyle::Plain);
        out.push(row.followed_by(rows::leaf_row(leaf, 0, &edits.authors(leaf))).cut(CELLS));
    }
    out
}

/// Reads lines up to one with a single dot. Of other lines that begin with a dot, that dot is
/// dropped. Returns `None` if there was no such line.
fn read_text(input: &mut dyn BufRead) -> io::Result<Option<String>> {
    let mut lines = Vec::new();
    while let Some(line) = read_line(input)? {
        if line == "." {
            return Ok(Some(lines.join("\n")));
        }
        lines.push(line.strip_prefix('.').map(str::to_owned).unwrap_or(line));
    }
    Ok(None)
}
