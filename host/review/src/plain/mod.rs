//! The prompt line by line, for pipes and screen readers.
//!
//! Numbered lines out, commands in. It prints what the screen shows, through the same printer and
//! over the same state machine. A command that is typed out needs no confirmation: `resume` sends
//! what was printed last, and nothing newer. It takes no events: `list` and `show` ask again, and
//! [`announcement`] is what its caller prints of a turn that comes.
//! The end of the input leaves every turn waiting.

mod help;

use std::io::{self, BufRead, Write};

use leafgate_admin::{
    AdminCall, ArmCapture, Cancel, CaptureTurn, ClearSaved, EditCommand, Event, Except, Follow, LeafView,
    Pins, Resume, SavedScope, SectionView, Select, SetMode, SetSaved, ShownText, TurnMode, TurnView,
};

use self::help::{HELP, usage};
use crate::api::{AdminApi, ApiCall};
use crate::choice;
use crate::model::{Level, Model, ModelEffect};
use crate::outline::{self, Outline, OutlineRow};
use crate::printer;
use crate::rows::{self, Row, RowStyle};
use crate::screen::farewell;

/// Cells of a line that stands for a longer text. `open` prints it in full.
const CELLS: usize = 160;

/// Why a text is not used.
const CUT_OFF: &str = "the input ended before the line with a single dot: nothing was changed";

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
    let mut done = plain.start();
    loop {
        plain.told(done)?;
        write!(plain.output, "{}", printer::line(prompt))?;
        plain.output.flush()?;
        let Some(line) = read_line(input)? else { break };
        let words: Vec<&str> = line.split_whitespace().collect();
        done = match words.as_slice() {
            [] => Ok(()),
            ["quit"] => break,
            [word, rest @ ..] => plain.obey(word, rest, input),
        };
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

/// Why a command was not carried out to its end.
#[derive(derive_more::From)]
enum Undone {
    /// Reading or writing failed.
    #[from]
    Broken(io::Error),
    /// What the person is told.
    #[from(&str, String)]
    Refused(String),
}

type Outcome<T = ()> = Result<T, Undone>;

struct Plain<'a> {
    model: Model,
    desk: &'a mut dyn AdminApi,
    output: &'a mut dyn Write,
}

impl Plain<'_> {
    /// Says why a command was refused.
    fn told(&mut self, done: Outcome) -> io::Result<()> {
        match done {
            Ok(()) => Ok(()),
            Err(Undone::Refused(why)) => writeln!(self.output, "error: {}", printer::line(&why)),
            Err(Undone::Broken(error)) => Err(error),
        }
    }

    fn start(&mut self) -> Outcome {
        self.act(AdminCall::Pending)?;
        match self.model.turns.as_slice() {
            [only] => {
                let id = only.id.clone();
                self.show(&id)
            }
            _ => self.list(),
        }
    }

    fn obey(&mut self, word: &str, rest: &[&str], input: &mut dyn BufRead) -> Outcome {
        if let Some(edit) = edit_of(word, rest) {
            return self.change(edit);
        }
        // What such a call means is its notice.
        if let Some(call) = call_of(word, rest) {
            return self.act(call).map(drop);
        }
        match (word, rest) {
            ("list", []) => {
                self.act(AdminCall::Pending)?;
                self.list()
            }
            ("show", []) => self.show(""),
            ("show", ["all"]) => self.print_all(),
            ("show", [name]) => self.show_named(name),
            ("open", [part]) => self.open(part),
            ("edit", [leaf]) if leaf.contains('.') => self.edit(leaf, input),
            ("insert", [before]) => self.insert(before, input),
            ("edit" | "insert", _) => {
                self.told(Err(usage(word).into()))?;
                // The lines behind it are its text, and none of them may count as a command.
                read_text(input)?;
                Err("the text up to the line with a single dot was not used".into())
            }
            ("delete", [at]) => self.section_command(at, |section| EditCommand::Delete { section }),
            ("restore", [at]) => self.section_command(at, |section| EditCommand::Restore { section }),
            ("pin", sections) => self.pin(sections),
            ("diff", []) => {
                self.print_after(AdminCall::Diff, |model| model.diff.as_ref().map(rows::diff_rows))
            }
            ("payload", []) => self.print_after(AdminCall::Payload, |model| {
                model.payload.as_ref().map(|payload| rows::payload_text(payload, printer::BLOCK_BYTES))
            }),
            ("metadata", []) => self.metadata(),
            ("why", []) => self.print(rows::why_rows(self.turn()?)),
            ("agents", []) => self.print_after(AdminCall::Subagents, |model| {
                model.subagents.as_ref().map(|listed| rows::subagent_rows(listed, usize::MAX))
            }),
            ("saved", rest) => self.saved(rest),
            ("mode", []) => {
                self.print_after(AdminCall::Mode, |model| Some(vec![rows::mode_row(model.mode.as_ref()?)]))
            }
            ("sessions", []) => self.sessions_after(AdminCall::Sessions.into()),
            ("select", [number]) => self.select(number),
            ("follow", [follow @ ("on" | "off")]) => {
                self.sessions_after(ApiCall::of(&Follow { follow: *follow == "on" }))
            }
            ("resume", []) => self.resume(),
            ("help", []) => self.print(HELP.lines().map(|line| Row::of(line, RowStyle::Plain))),
            _ => Err(usage(word).into()),
        }
    }

    /// Makes a call, and prints what the model has of it then.
    fn print_after(
        &mut self,
        call: impl Into<ApiCall>,
        rows: impl FnOnce(&Model) -> Option<Vec<Row>>,
    ) -> Outcome {
        if self.act(call)?
            && let Some(rows) = rows(&self.model)
        {
            self.print(rows)?;
        }
        Ok(())
    }

    /// Makes a call and prints the notice. Returns `false` if it failed.
    fn act(&mut self, call: impl Into<ApiCall>) -> Outcome<bool> {
        self.model.act(call.into());
        while let Some(effect) = self.model.next_effect() {
            if let ModelEffect::Ask(call) = effect {
                self.model.answered(&call.run(self.desk));
            }
        }
        let Some(notice) = self.model.notice.as_ref() else { return Ok(true) };
        let word = match notice.level {
            Level::Done => "",
            Level::Warning => "warning: ",
            Level::Error => "error: ",
        };
        writeln!(self.output, "{word}{}", printer::line(&notice.text))?;
        Ok(notice.level != Level::Error)
    }

    fn print(&mut self, rows: impl IntoIterator<Item = Row>) -> Outcome {
        Ok(rows.into_iter().try_for_each(|row| writeln!(self.output, "{}", row.text().trim_end()))?)
    }

    fn list(&mut self) -> Outcome {
        if self.model.turns.is_empty() {
            return self.print([Row::of("No turn waits.", RowStyle::Plain)]);
        }
        let listed: Vec<Row> =
            self.model.turns.iter().map(rows::list_row).enumerate().map(numbered).collect();
        self.print(listed)
    }

    fn show_named(&mut self, name: &str) -> Outcome {
        let turns = &self.model.turns;
        let by_number = place(name).and_then(|at| turns.get(at));
        let turn = by_number.or_else(|| turns.iter().find(|turn| turn.id == name));
        let none = || format!("no turn `{name}`: `list` numbers those that wait");
        let id = turn.ok_or_else(none)?.id.clone();
        self.show(&id)
    }

    /// Shows a turn; the open one where `id` is empty.
    fn show(&mut self, id: &str) -> Outcome {
        let show = ApiCall::show(id);
        // How many sections are shown first depends on the mode.
        if self.act(AdminCall::Mode)? && self.act(show)? { self.print_turn() } else { Ok(()) }
    }

    fn print_turn(&mut self) -> Outcome {
        let Some(turn) = self.model.turn() else { return Ok(()) };
        let outline = &self.model.outline;
        let mut out = rows::header_rows(turn);
        for row in &outline.rows {
            out.push(match *row {
                OutlineRow::Group(at) => {
                    let row = rows::group_row(turn, outline, &outline.groups[at]);
                    row.and("  (show all)", RowStyle::Dim).cut(CELLS)
                }
                OutlineRow::Section(at) => numbered_section(turn, outline, at),
            });
        }
        self.print(out)
    }

    /// Prints every section of the turn.
    fn print_all(&mut self) -> Outcome {
        let (turn, outline) = (self.turn()?, &self.model.outline);
        let order = outline.order().into_iter();
        let out: Vec<_> = order.map(|at| numbered_section(turn, outline, at)).collect();
        self.print(out)
    }

    fn open(&mut self, part: &str) -> Outcome {
        if part.contains('.') {
            let leaf = self.leaf(part)?;
            let text = rows::leaf_text(leaf, printer::BLOCK_BYTES);
            return self.print([text, rows::redaction_rows(leaf)].concat());
        }
        let (turn, at) = self.section(part)?;
        self.print(leaf_rows(turn, &turn.sections[at], at + 1))
    }

    fn edit(&mut self, part: &str, input: &mut dyn BufRead) -> Outcome {
        // The lines are read in any case: text for a missing leaf must not count as commands.
        let text = read_text(input)?.ok_or(CUT_OFF)?;
        let pointer = self.leaf(part)?.pointer.clone();
        let done = self.act(ApiCall::of(&EditCommand::Set { pointer, text: ShownText::new(text) }))?;
        let section = part.split('.').next().unwrap_or(part);
        if done { self.open(section) } else { Ok(()) }
    }

    fn insert(&mut self, before: &str, input: &mut dyn BufRead) -> Outcome {
        let text = read_text(input)?.ok_or(CUT_OFF)?;
        self.section_command(before, |before| EditCommand::Insert { before, text: ShownText::new(text) })
    }

    fn pin(&mut self, numbers: &[&str]) -> Outcome {
        let key = |number: &&str| self.section(number).map(|(turn, at)| turn.sections[at].key.clone());
        let sections = numbers.iter().map(key).collect::<Outcome<_>>()?;
        if self.act(ApiCall::of(&Pins { sections }))? { self.print_turn() } else { Ok(()) }
    }

    fn metadata(&mut self) -> Outcome {
        if self.model.turn().is_some() && !self.act(AdminCall::Request)? {
            return Ok(());
        }
        let rows = rows::metadata_rows(self.model.metadata.as_ref());
        self.print(rows)
    }

    fn sessions_after(&mut self, call: ApiCall) -> Outcome {
        self.print_after(call, |Model { sessions, .. }| {
            let listed = sessions.sessions.iter().map(rows::session_row).enumerate().map(numbered);
            Some(listed.chain([rows::follow_row(sessions)]).collect())
        })
    }

    fn saved(&mut self, order: &[&str]) -> Outcome {
        let call = match *order {
            [] => Some(AdminCall::Saved.into()),
            ["clear"] => Some(ApiCall::of(&ClearSaved::default())),
            // The number is one of the list that was printed last.
            ["remove", number] => {
                let mut edits = self.model.saved.iter().flat_map(|list| &list.edits);
                let edit = place(number).and_then(|at| edits.nth(at));
                let edit = edit.ok_or("no saved edit has this number: `saved` lists them")?;
                Some(ApiCall::from(AdminCall::RemoveSaved).on(&edit.id))
            }
            ["scope", name] => {
                scope(name).map(|scope| ApiCall::of(&SetSaved { scope: Some(scope), ..SetSaved::default() }))
            }
            ["sections", number] => {
                let limit = number.parse().ok().filter(|limit| *limit > 0);
                limit
                    .map(|limit| ApiCall::of(&SetSaved { preview_limit: Some(limit), ..SetSaved::default() }))
            }
            _ => None,
        };
        self.print_after(call.ok_or_else(|| usage("saved"))?, |model| {
            let list = model.saved.as_ref()?;
            let edits = list.edits.iter().map(rows::saved_edit_row).enumerate().map(numbered);
            Some(rows::saved_head(list).into_iter().chain(edits).collect())
        })
    }

    fn select(&mut self, number: &str) -> Outcome {
        let session = place(number).and_then(|at| self.model.sessions.sessions.get(at));
        let session = session.ok_or("no conversation has this number: `sessions` lists them")?;
        self.sessions_after(ApiCall::of(&Select {}).on(&session.id))
    }

    fn section_command(&mut self, number: &str, command: impl FnOnce(String) -> EditCommand) -> Outcome {
        let (turn, at) = self.section(number)?;
        let key = choice::left_out_by(turn, at).unwrap_or_default().to_owned();
        self.change(command(key))
    }

    fn change(&mut self, command: EditCommand) -> Outcome {
        if self.act(ApiCall::of(&command))? { self.print_turn() } else { Ok(()) }
    }

    fn resume(&mut self) -> Outcome {
        let digest = self.turn()?.digest.clone();
        self.act(ApiCall::of(&Resume { digest: digest.clone() }))?;
        // A stale answer was followed by the present turn, which must be shown before it can be
        // resumed.
        match self.model.turn() {
            Some(turn) if turn.digest != digest => self.print_turn(),
            _ => Ok(()),
        }
    }

    fn turn(&self) -> Outcome<&TurnView> {
        Ok(self.model.turn().ok_or("no turn is open: `show 1` opens the first of the list")?)
    }

    /// Finds a section by its number, as it is printed.
    fn section(&self, number: &str) -> Outcome<(&TurnView, usize)> {
        let turn = self.turn()?;
        let found = place(number).filter(|at| *at < turn.sections.len());
        let none = || format!("no section {number}: they run from 1 to {}", turn.sections.len());
        Ok((turn, found.ok_or_else(none)?))
    }

    /// Finds a leaf by the number of its section and its own, like `3.2`.
    fn leaf(&self, numbers: &str) -> Outcome<&LeafView> {
        let (section, number) = numbers.split_once('.').unwrap_or((numbers, ""));
        let (turn, at) = self.section(section)?;
        let leaves = &turn.sections[at].leaves;
        let none = || match leaves.len() {
            0 => format!("section {section} has no leaves of its own: see the sections inside it"),
            last => format!("no leaf {number} in section {section}: they run from 1 to {last}"),
        };
        Ok(place(number).and_then(|at| leaves.get(at)).ok_or_else(none)?)
    }

    fn leave(&mut self) -> io::Result<()> {
        // Of a gate that has ended nothing waits.
        self.model.answered(&ApiCall::from(AdminCall::Pending).run(self.desk));
        let waiting = if self.model.has_failed { 0 } else { self.model.turns.len() };
        match farewell(waiting) {
            Some(text) => writeln!(self.output, "{text}"),
            None => Ok(()),
        }
    }
}

/// Returns the edit that a line asks for, where it names no section and no text.
fn edit_of(word: &str, rest: &[&str]) -> Option<EditCommand> {
    match (word, rest) {
        ("undo", []) => Some(EditCommand::Undo),
        ("redo", []) => Some(EditCommand::Redo),
        ("reset", []) => Some(EditCommand::Reset),
        ("release", [number]) => Some(EditCommand::Release { redaction: number.parse().ok()? }),
        _ => None,
    }
}

/// Returns the call that a line asks for, where nothing is printed of it but its notice.
fn call_of(word: &str, rest: &[&str]) -> Option<ApiCall> {
    match (word, rest) {
        ("except", [number, until, why, more @ ..]) => {
            let reason = more.iter().fold((*why).to_owned(), |reason, word| reason + " " + word);
            Some(ApiCall::of(&Except::typed(number.parse().ok()?, &reason, until)))
        }
        ("save", [name]) => {
            Some(ApiCall::of(&CaptureTurn { scope: Some(scope(name)?), ..CaptureTurn::default() }))
        }
        ("capture", []) => Some(ApiCall::of(&ArmCapture {})),
        ("mode", [name]) => Some(ApiCall::of(&SetMode { mode: TurnMode::from_name(name)? })),
        ("cancel", []) => Some(ApiCall::of(&Cancel {})),
        _ => None,
    }
}

/// Returns a scope that a person may save edits for.
fn scope(name: &str) -> Option<SavedScope> {
    choice::SCOPES.into_iter().find(|scope| scope.name() == name)
}

/// Returns the place of what is printed with a number.
fn place(number: &str) -> Option<usize> {
    number.parse::<usize>().ok()?.checked_sub(1)
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
