//! One request of an export with its answer, for people.

use std::collections::BTreeMap;

use leafgate_words::words;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::answer::{self, AnswerPartKind};
use super::notes::{TurnNote, notes};
use super::{RequestFailure, RequestStatus, question, response, status, uri, variables};
use crate::node::JsonView;

/// A question and its answer. It has no `Debug`, because its texts are the user's.
#[skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportTurn {
    /// The request's id.
    pub request_id: Option<String>,
    /// When it was asked, in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// The model.
    pub model: Option<String>,
    /// The agent that answered, by its full name or id.
    pub agent: Option<String>,
    /// How it ended.
    pub status: RequestStatus,
    /// Milliseconds from the question to the end of the answer.
    pub duration_ms: Option<i64>,
    /// Milliseconds to the first sign of an answer.
    pub first_progress_ms: Option<i64>,
    /// Whether the editor hides it and does not send it again.
    pub hidden: bool,
    /// The person's question.
    pub user: String,
    /// The attachments.
    pub attachments: Vec<Attachment>,
    /// The model's reasoning.
    pub thinking: Vec<String>,
    /// The tools that ran.
    pub tools: Vec<ToolUse>,
    /// The files that changed.
    pub edits: Vec<FileEdit>,
    /// The model's answer.
    pub assistant: String,
    /// What it was made with, what it cites, what the client asked and offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<TurnNote>,
    /// Why it failed.
    pub error: Option<RequestFailure>,
    /// The person's vote.
    pub vote: Option<Vote>,
    /// Parts of the answer that no other field holds, counted by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub other_parts: BTreeMap<String, usize>,
}

/// An attachment of a question.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// `file`, `promptFile`, `image`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its name.
    pub name: String,
}

/// A tool that ran.
#[skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolUse {
    /// The tool's id.
    pub tool: String,
    /// The call's id.
    pub call_id: Option<String>,
    /// How it was confirmed.
    pub confirmed: Confirmation,
    /// Whether it ran to its end, if that is recorded.
    pub complete: Option<bool>,
    /// Whether its result is an error.
    pub failed: bool,
    /// The message about it that the person read.
    pub message: String,
    /// The command line, if it ran one in a terminal.
    pub command: Option<String>,
    /// What it gave.
    pub result: Option<String>,
}

words! {
    /// How the run of a tool was confirmed: `isConfirmed`, a boolean in old exports and
    /// `ToolConfirmKind` since.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Confirmation {
        /// Nothing is recorded.
        NotRecorded = "not recorded who allowed it",
        /// It was refused.
        Denied = "denied",
        /// No confirmation was needed.
        NotNeeded = "no confirmation needed",
        /// A setting.
        Setting = "allowed by a setting",
        /// An earlier answer for this tool.
        Remembered = "allowed earlier",
        /// The person.
        Person = "allowed by the person",
        /// The question was skipped.
        Skipped = "confirmation skipped",
        /// Confirmed: old exports say no more.
        Yes = "allowed",
    }
    /// Returns what people read.
    pub fn words = 0;
}

/// A file that changed.
#[skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct FileEdit {
    /// The record from which this is known.
    pub kind: FileEditKind,
    /// The file.
    pub file: String,
    /// The number of changes, if it is recorded.
    pub changes: Option<usize>,
    /// The person's decision.
    pub kept: Option<ChangeDecision>,
}

/// The record of a change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileEditKind {
    /// A part of the answer that edits text.
    Text,
    /// A part of the answer that edits a notebook.
    Notebook,
    /// The person's decision about the change.
    Event,
}

words! {
    /// A person's decision about a change: `eventKind`, by its numbers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ChangeDecision {
        /// A value that this version does not know.
        Unknown = "something else was done",
        /// 1: kept it.
        Kept = "kept",
        /// 2: undid it.
        Undone = "taken back",
        /// 3: changed it further.
        Modified = "changed by the person",
    }
    /// Returns what people read.
    pub fn words = 0;
}

/// The person's vote on an answer.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Vote {
    /// Whether it helped.
    pub helpful: bool,
    /// Why it did not help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ExportTurn {
    pub(crate) fn of(request: JsonView<'_>) -> ExportTurn {
        let agent = request.get("agent");
        ExportTurn {
            request_id: request.get_text("requestId"),
            timestamp: request.get_integer("timestamp"),
            model: request.get_text("modelId"),
            agent: agent.and_then(|agent| agent.get_text("fullName").or_else(|| agent.get_text("id"))),
            status: RequestStatus::of(request),
            duration_ms: status::duration(request),
            first_progress_ms: status::timing(request, "firstProgress"),
            hidden: super::is_hidden(request),
            user: question(request).unwrap_or_default(),
            attachments: attachments(request),
            thinking: response(request).filter_map(answer::thinking).collect(),
            tools: response(request)
                .filter(|part| answer::kind(*part) == AnswerPartKind::Tool)
                .map(|part| tool(part, request))
                .collect(),
            edits: edits(request),
            assistant: answer::text(request),
            notes: notes(request),
            error: RequestFailure::of(request),
            vote: vote(request),
            other_parts: others(request),
        }
    }

    /// Returns every text of the turn that came from the file, so that a caller can mask them.
    pub(crate) fn texts_mut(&mut self) -> Vec<&mut String> {
        let mut texts = vec![&mut self.user, &mut self.assistant];
        texts.extend(self.request_id.iter_mut().chain(&mut self.model).chain(&mut self.agent));
        texts.extend(&mut self.thinking);
        for attachment in &mut self.attachments {
            texts.extend(attachment.kind.iter_mut().chain([&mut attachment.name]));
        }
        for tool in &mut self.tools {
            texts.extend([&mut tool.tool, &mut tool.message]);
            texts.extend(tool.call_id.iter_mut().chain(&mut tool.command).chain(&mut tool.result));
        }
        texts.extend(self.notes.iter_mut().map(|note| &mut note.text));
        texts.extend(self.edits.iter_mut().map(|edit| &mut edit.file));
        if let Some(error) = &mut self.error {
            texts.extend(error.code.iter_mut().chain([&mut error.message]));
        }
        texts.extend(self.vote.iter_mut().filter_map(|vote| vote.reason.as_mut()));
        texts
    }
}

fn attachments(request: JsonView<'_>) -> Vec<Attachment> {
    variables(request)
        .filter(|variable| variable.is_object())
        .map(|variable| Attachment {
            kind: variable.get_text("kind"),
            name: variable.get_text("name").or_else(|| variable.get_text("id")).unwrap_or_default(),
        })
        .collect()
}

fn tool(part: JsonView<'_>, request: JsonView<'_>) -> ToolUse {
    let message = ["pastTenseMessage", "invocationMessage"].iter();
    let message = message.filter_map(|key| part.get(key)).find_map(answer::markdown);
    let command = part.path(&["toolSpecificData", "commandLine"]);
    let command = command
        .and_then(|line| ["userEdited", "toolEdited", "original"].iter().find_map(|key| line.get_text(key)));
    ToolUse {
        tool: part.get_text("toolId").unwrap_or_default(),
        call_id: part.get_text("toolCallId"),
        confirmed: confirmation(part),
        complete: part.get("isComplete").and_then(JsonView::boolean),
        failed: part.get("resultDetails").is_some_and(|details| details.is_true("isError")),
        message: message.unwrap_or_default(),
        command,
        result: result(part, request),
    }
}

/// Returns what a tool gave: of the part itself, else of what was recorded for the model.
fn result(part: JsonView<'_>, request: JsonView<'_>) -> Option<String> {
    let own = part.get_some("result").or_else(|| part.get("resultDetails")?.get_some("output"));
    let recorded =
        || request.path(&["result", "metadata", "toolCallResults", &part.get_text("toolCallId")?, "content"]);
    let found = own.or_else(recorded)?;
    if let Some(text) = answer::markdown(found) {
        return Some(text);
    }
    let texts: Vec<String> =
        found.items().filter_map(|item| answer::markdown(item).or_else(|| item.get_text("text"))).collect();
    Some(if texts.is_empty() { found.verbatim().to_owned() } else { texts.join("\n") })
}

fn confirmation(part: JsonView<'_>) -> Confirmation {
    use Confirmation::{Denied, NotNeeded, Person, Remembered, Setting, Skipped};
    /// By their numbers.
    const KINDS: [Confirmation; 6] = [Denied, NotNeeded, Setting, Remembered, Person, Skipped];
    let Some(confirmed) = part.get_some("isConfirmed") else { return Confirmation::NotRecorded };
    let by_kind = || confirmed.get("type")?.one_of(&KINDS);
    match confirmed.boolean() {
        Some(true) => Confirmation::Yes,
        Some(false) => Confirmation::Denied,
        None => by_kind().unwrap_or(Confirmation::NotRecorded),
    }
}

fn edits(request: JsonView<'_>) -> Vec<FileEdit> {
    let groups = response(request).filter(|part| answer::kind(*part) == AnswerPartKind::Edit).map(|part| {
        let is_notebook = part.get_text("kind").as_deref() == Some("notebookEditGroup");
        let batches = part.list("edits");
        FileEdit {
            kind: if is_notebook { FileEditKind::Notebook } else { FileEditKind::Text },
            file: part.get("uri").and_then(uri::place).unwrap_or_default(),
            // Changes come in batches. A batch that is no list is one change.
            changes: Some(
                batches.map(|batch| if batch.is_array() { batch.items().count() } else { 1 }).sum(),
            ),
            kept: None,
        }
    });
    let decided = |event: JsonView<'_>| event.get("eventKind")?.one_of(ChangeDecision::ALL);
    let events = request.list("editedFileEvents").map(|event| FileEdit {
        kind: FileEditKind::Event,
        file: event.get("uri").and_then(uri::place).unwrap_or_default(),
        changes: None,
        kept: Some(decided(event).unwrap_or(ChangeDecision::Unknown)),
    });
    groups.chain(events).collect()
}

fn vote(request: JsonView<'_>) -> Option<Vote> {
    let helpful = request.get("vote")?.one_of(&[false, true])?;
    Some(Vote { helpful, reason: request.get_text("voteDownReason") })
}

/// Counts a kind that is no word of the editor as such, because it may be the user's text.
fn others(request: JsonView<'_>) -> BTreeMap<String, usize> {
    let mut others = BTreeMap::new();
    for part in response(request).filter(|part| answer::kind(*part) == AnswerPartKind::Other) {
        let kind = part
            .get_text("kind")
            .filter(|kind| kind.len() <= 40 && kind.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        *others.entry(kind.unwrap_or_else(|| "unknown".to_owned())).or_default() += 1;
    }
    others
}
