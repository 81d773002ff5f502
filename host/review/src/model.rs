//! The state machine under both front ends: the turns that wait, the selected turn, the last
//! notice.
//!
//! It does no I/O and knows no clock: it is told what happens, and [`Model::next_effect`] is what the
//! front end must do then. The answers come back by [`Model::answered`]. A refusal of the gate gives a
//! notice and changes nothing else, so that a front end can keep typed text. A resume carries the digest
//! of the turn that was shown when the person agreed, never a newer one.

use std::collections::VecDeque;
use std::time::Duration;

use leafgate_admin::{
    AdminCall, ApiError, CapturedEdits, Diff, EditableRequest, ErrorCode, Event, Excepted, HoldView,
    ModeView, Payload, Pending, Resumed, SavedList, SavedScope, SessionList, ShownText, Subagents, TurnMode,
    TurnSummary, TurnView, read_answer,
};

use crate::api::{ApiAnswer, ApiCall};
use crate::change;
use crate::outline::Outline;

/// Something that the front end must do. What stands last is a screen's alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelEffect {
    /// Make this call and pass its answer back.
    Ask(ApiCall),
    /// Ring the bell: a turn began to wait.
    Bell,
    /// Open this text in the person's own editor, to be read alone unless it may be edited.
    OpenOutside {
        /// The text.
        text: ShownText,
        /// Whether what the editor leaves of it counts.
        may_edit: bool,
    },
    /// End the loop.
    Leave,
}

/// The importance of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something was done.
    Done,
    /// The person should look at something.
    Warning,
    /// Something was refused or failed.
    Error,
}

/// The last message to the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Its importance.
    pub level: Level,
    /// One sentence or two.
    pub text: String,
}

/// The known state of the gate. What a turn that has changed since no longer is, is not there.
#[derive(Debug, Default)]
pub struct Model {
    /// The turns that wait, oldest first.
    pub turns: Vec<TurnSummary>,
    turn: Option<TurnView>,
    /// The arrangement of the selected turn.
    pub outline: Outline,
    /// What came of it against what would leave, once somebody wanted to see it.
    pub diff: Option<Diff>,
    /// The body that a resume of it sends, once somebody wanted to see it.
    pub payload: Option<Payload>,
    /// What is known about it beside what it says, once somebody wanted to see it.
    pub metadata: Option<EditableRequest>,
    /// What agents asked, once somebody wanted to see it.
    pub subagents: Option<Subagents>,
    /// The saved edits, once somebody wanted to see them.
    pub saved: Option<SavedList>,
    /// The mode in force, as far as the gate has told it.
    pub mode: Option<ModeView>,
    /// The conversations, newest first.
    pub sessions: SessionList,
    /// The last message.
    pub notice: Option<Notice>,
    /// Whether the last call failed.
    pub(crate) has_failed: bool,
    /// The turn as the person saw it when a resume was refused as stale. It is compared with the
    /// next answer.
    stale: Option<TurnView>,
    /// What the front end has to do, in order.
    pub(crate) todo: VecDeque<ModelEffect>,
}

impl Model {
    /// Returns the selected turn.
    pub fn turn(&self) -> Option<&TurnView> {
        self.turn.as_ref()
    }

    /// Sets the message.
    pub fn notify(&mut self, level: Level, text: impl Into<String>) {
        self.notice = Some(Notice { level, text: text.into() });
    }

    /// Returns the next thing that the front end must do.
    pub fn next_effect(&mut self) -> Option<ModelEffect> {
        self.todo.pop_front()
    }

    /// Has the gate asked. Unlike a person's own call, it leaves the last message.
    pub(crate) fn ask(&mut self, call: impl Into<ApiCall>) {
        self.todo.push_back(ModelEffect::Ask(call.into()));
    }

    /// The person makes a call. One about a turn that names none is about the open one.
    pub fn act(&mut self, call: ApiCall) {
        self.notice = None;
        match self.turn() {
            _ if !call.names_no_turn() => self.ask(call),
            Some(turn) => {
                let call = call.on(&turn.summary.id);
                self.ask(call);
            }
            None => self.notify(Level::Error, "No turn is open. Open one first."),
        }
    }

    /// The gate has answered a call.
    pub fn answered(&mut self, ApiAnswer { call, json }: &ApiAnswer) {
        let taken = json.as_ref().map_err(ApiError::clone).and_then(|json| self.take(*call, json));
        self.has_failed = taken.is_err();
        match taken {
            Ok(()) => {}
            Err(error) if *call == AdminCall::Resume && error.code == ErrorCode::Stale => {
                self.refused_as_stale(&error);
            }
            Err(error) => self.notify(Level::Error, sentence(&error)),
        }
    }

    /// Takes the JSON that answers a call.
    fn take(&mut self, call: AdminCall, json: &[u8]) -> Result<(), ApiError> {
        match call {
            AdminCall::Pending => self.turns = read_answer::<Pending>(json)?.turns,
            AdminCall::Turn => {
                let turn: TurnView = read_answer(json)?;
                self.tell_what_changed(&turn);
                self.look_at(turn);
            }
            AdminCall::Diff => self.diff = Some(read_answer(json)?),
            AdminCall::Payload => self.payload = Some(read_answer(json)?),
            AdminCall::Request => self.metadata = Some(read_answer(json)?),
            AdminCall::Subagents => self.subagents = Some(read_answer(json)?),
            AdminCall::Capture => self.notice = Some(captured_notice(&read_answer(json)?)),
            AdminCall::Except => self.notice = Some(told(&read_answer(json)?)),
            AdminCall::Saved | AdminCall::RemoveSaved | AdminCall::ClearSaved | AdminCall::SetSaved => {
                self.saved = Some(read_answer(json)?);
            }
            AdminCall::ArmCapture => {
                let list: SavedList = read_answer(json)?;
                let scope = list.status.scope.label();
                self.notify(
                    Level::Done,
                    format!("The next turn waits. What you edit in it is saved when you send it: {scope}."),
                );
                self.saved = Some(list);
            }
            AdminCall::Pin => self.look_at(read_answer(json)?),
            AdminCall::Mode => self.mode = Some(read_answer(json)?),
            AdminCall::SetMode => self.chosen(read_answer(json)?),
            AdminCall::Sessions | AdminCall::Select | AdminCall::Follow => self.sessions = read_answer(json)?,
            AdminCall::Edit => self.edited(read_answer(json)?),
            AdminCall::Cancel => self.over(read_answer(json)?),
            AdminCall::Resume => {
                let Resumed { turn, captured } = read_answer(json)?;
                self.over(turn);
                captured.iter().for_each(|captured| self.captured(captured));
            }
            // Nobody asks these here.
            AdminCall::Status | AdminCall::Events | AdminCall::Outline | AdminCall::Preview => {}
            AdminCall::SwitchOff | AdminCall::Fields | AdminCall::SetFields | AdminCall::Dispose => {}
            AdminCall::SavedEdit | AdminCall::SavedDiff | AdminCall::Log | AdminCall::Reveal => {}
            AdminCall::Exceptions | AdminCall::AddException | AdminCall::RemoveException => {}
            AdminCall::Agents | AdminCall::AgentRun | AdminCall::Release => {}
        }
        Ok(())
    }

    fn look_at(&mut self, turn: TurnView) {
        let same = self.turn().is_some_and(|before| before.summary.id == turn.summary.id);
        self.outline = match same {
            true => std::mem::take(&mut self.outline).renewed(&turn),
            false => Outline::showing(self.first_sections(&turn), &turn),
        };
        self.note(turn.summary.clone());
        (self.diff, self.payload, self.metadata) = (None, None, None);
        self.turn = Some(turn);
    }

    /// How many sections of a turn are shown first, where its edits are to be saved.
    fn first_sections(&self, turn: &TurnView) -> Option<usize> {
        let saved = self.mode.as_ref()?.saved.as_ref()?;
        (turn.summary.mode == Some(TurnMode::AutoOverride)).then_some(saved.preview_limit)
    }

    fn chosen(&mut self, mode: ModeView) {
        match &mode.not_kept {
            Some(why) => self.notify(
                Level::Warning,
                format!("{}: in force, but it could not be kept for the next start: {why}", mode.label),
            ),
            None => self.notify(Level::Done, format!("{}. {}", mode.label, mode.text)),
        }
        self.mode = Some(mode);
    }

    fn edited(&mut self, turn: TurnView) {
        let released = turn.edits.iter().any(|edit| edit.kind == "release" && edit.version == turn.version);
        let unchanged = self.turn.as_ref().is_some_and(|before| before.version == turn.version);
        let blocked = turn.summary.holds.iter().find(|hold| hold.blocks).map(blocked);
        let invalid =
            turn.invalid.as_ref().map(|why| format!("The API would refuse it: {why}. Undo or reset."));
        self.look_at(turn);
        match blocked.or(invalid) {
            Some(text) => self.notify(Level::Warning, text),
            None if unchanged => self.notify(Level::Done, "Nothing changed."),
            None if released => {
                self.notify(Level::Warning, "Released: the value leaves with this request. u takes it back.");
            }
            None => {}
        }
    }

    fn over(&mut self, summary: TurnSummary) {
        self.turns.retain(|turn| turn.id != summary.id);
        self.notify(Level::Done, format!("{}: {}.", summary.label, summary.state.label()));
        if self.turn().is_some_and(|turn| turn.summary.id == summary.id) {
            self.close();
        }
    }

    /// A turn waits with another one from now on.
    fn joins(&mut self, summary: &TurnSummary) {
        self.turns.retain(|turn| turn.id != summary.id);
        if self.turn().is_some_and(|turn| turn.summary.id == summary.id) {
            self.close();
            self.notify(
                Level::Done,
                format!("{}: decided with the turn whose words it repeats.", summary.label),
            );
        }
    }

    /// Says what was saved of the turn that has just left, behind that it has.
    fn captured(&mut self, captured: &CapturedEdits) {
        let before = self.notice.take().map_or_else(String::new, |notice| format!("{} ", notice.text));
        let Notice { level, text } = captured_notice(captured);
        self.notify(level, format!("{before}{text}"));
    }

    /// Folds a section or a group of the selected turn, or unfolds it.
    pub fn toggle(&mut self, key: &str) {
        if let Some(turn) = &self.turn {
            self.outline.toggle(turn, key);
        }
    }

    /// Unfolds what is around a section of the selected turn.
    pub fn unfold_to(&mut self, section: usize) {
        if let Some(turn) = &self.turn {
            self.outline.unfold_to(turn, section);
        }
    }

    /// Closes the selected turn, which keeps waiting.
    pub fn close(&mut self) {
        (self.turn, self.stale) = (None, None);
        (self.diff, self.payload, self.metadata) = (None, None, None);
        self.outline = Outline::default();
    }

    fn refused_as_stale(&mut self, error: &ApiError) {
        self.notify(Level::Error, sentence(error));
        self.stale = self.turn.clone();
        self.todo.extend(self.turn.iter().map(|turn| ModelEffect::Ask(ApiCall::show(&turn.summary.id))));
    }

    fn tell_what_changed(&mut self, now: &TurnView) {
        let Some(before) = self.stale.take().filter(|before| before.summary.id == now.summary.id) else {
            return;
        };
        let changes = match change::describe(&before, now) {
            empty if empty.is_empty() => "nothing that is shown, but other bytes would leave".to_owned(),
            changes => changes,
        };
        self.notify(Level::Warning, format!("Not sent: it had changed. {changes}. Look again, then resume."));
    }

    /// The gate tells of an event.
    pub fn on_event(&mut self, event: Event) {
        match event {
            // It is decided with the turn that it waits with.
            Event::Paused { turn } | Event::Changed { turn } if turn.with.is_some() => self.joins(&turn),
            Event::Paused { turn } => {
                let another = if self.turn.is_some() { "Another turn" } else { "A turn" };
                self.notify(Level::Warning, format!("{another} waits: {}", turn.label));
                self.note(turn);
                self.todo.push_back(ModelEffect::Bell);
            }
            Event::Changed { turn } => {
                if self.turn().is_some_and(|now| now.summary.id == turn.id) {
                    self.ask(ApiCall::show(&turn.id));
                }
                self.note(turn);
            }
            // The answer to one's own resume or cancel has set the message already.
            Event::Resolved { turn } if self.turns.iter().all(|known| known.id != turn.id) => {}
            Event::Resolved { turn } => self.over(turn),
            Event::Mode { mode } => {
                // The answer to one's own choice has said it already.
                if self.mode.as_ref().is_none_or(|known| (known.mode, known.auto) != (mode.mode, mode.auto)) {
                    self.notify(Level::Done, format!("{}. {}", mode.label, mode.text));
                }
                self.mode = Some(mode);
                // What is saved changes what the mode does. Whoever has asked for the list once may be looking at it.
                self.todo.extend(self.saved.iter().map(|_| ModelEffect::Ask(AdminCall::Saved.into())));
            }
            // The mode names the active conversation.
            Event::Sessions { .. } => {
                self.ask(AdminCall::Sessions);
                self.ask(AdminCall::Mode);
            }
            // Whoever has asked for the list once may be looking at it.
            Event::Subagent { .. } => {
                self.todo
                    .extend(self.subagents.iter().map(|_| ModelEffect::Ask(AdminCall::Subagents.into())));
            }
            // `leafgate agents show` lists these.
            Event::Agent { .. } => {}
            Event::Policy { policy } if policy.refused.is_some() => {
                self.notify(Level::Warning, "Newer policy files were refused; the last good ones serve.");
            }
            Event::Policy { .. } => {
                self.notify(Level::Done, "A new policy serves. Turns that wait keep the one they came with.");
            }
        }
    }

    /// Updates the list and the selected turn by a summary.
    fn note(&mut self, summary: TurnSummary) {
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.summary.id == summary.id) {
            turn.summary = summary.clone();
        }
        match self.turns.iter_mut().find(|known| known.id == summary.id) {
            Some(known) => *known = summary,
            None => self.turns.push(summary),
        }
    }

    /// This much time has passed.
    pub fn pass(&mut self, passed: Duration) {
        let passed = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        let looked_at = self.turn.iter_mut().map(|turn| &mut turn.summary);
        for summary in self.turns.iter_mut().chain(looked_at) {
            summary.left_ms = summary.left_ms.saturating_sub(passed);
            summary.waited_ms = summary.waited_ms.saturating_add(passed);
        }
        for session in &mut self.sessions.sessions {
            session.silent_ms = session.silent_ms.saturating_add(passed);
        }
    }
}

/// Returns what was saved of a turn, in words.
pub fn captured_notice(captured: &CapturedEdits) -> Notice {
    let scope = match captured.scope {
        // The gate writes no file of a project: the caller does.
        SavedScope::Project => "in the file",
        scope => scope.label(),
    };
    let mut text = match (&captured.not_saved, captured.edits.len()) {
        (Some(why), _) => format!("Nothing was saved: {}.", why.trim_end_matches('.')),
        (None, 0) => "No edit was saved.".to_owned(),
        (None, number) => format!("{} saved: {scope}.", crate::rows::count(number, "edit")),
    };
    for left_out in &captured.left_out {
        text.push_str(&format!(" Left out: {}: {}.", left_out.path, left_out.why.trim_end_matches('.')));
    }
    let level = match captured.not_saved {
        Some(_) => Level::Error,
        None if captured.left_out.is_empty() => Level::Done,
        None => Level::Warning,
    };
    Notice { level, text }
}

/// Returns what an exception that was written means, in words.
fn told(excepted: &Excepted) -> Notice {
    let Excepted { file, rule, label, until, still } = excepted;
    let until = if until == "never" { String::new() } else { format!(" until {until}") };
    let (level, text) = match still {
        None => (
            Level::Done,
            format!(
                "This turn keeps its redaction. In later ones rule {rule} lets this {label} pass{until}: {file}"
            ),
        ),
        Some(other) => (
            Level::Warning,
            format!("Rule {rule} lets this {label} pass{until}, but {other} redacts it all the same."),
        ),
    };
    Notice { level, text }
}

fn blocked(hold: &HoldView) -> String {
    format!("Rule {} blocks it as it stands: {}. Undo or reset before resuming.", hold.rule, hold.reason)
}

/// Returns an error as a sentence: the fault, and what to do.
pub(crate) fn sentence(error: &ApiError) -> String {
    match &error.hint {
        Some(hint) => format!("{}: {hint}", error.message.trim_end_matches('.')),
        None => error.message.clone(),
    }
}
