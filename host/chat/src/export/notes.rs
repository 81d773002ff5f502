//! What an export says of a turn beside question and answer, each in a line for people.

use leafgate_words::words;
use serde::Serialize;

use super::answer::{self, AnswerPartKind};
use super::{response, uri};
use crate::node::JsonView;

words! {
    /// What a note is about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum NoteKind {
        /// `usedContext`: a document that the answer was made with, and its lines.
        Context = "context",
        /// `contentReferences`: what the answer cites.
        Reference = "reference",
        /// `codeCitations`: the licence of code that the answer repeats, and where it stands.
        Citation = "licence",
        /// `followups`: a question that the client offers next.
        Followup = "follow-up",
        /// A warning among the parts of the answer.
        Warning = "warning",
        /// A question to the person among them, with its answer where that is recorded.
        Confirmation = "asked",
        /// What the client said of a task.
        Task = "task",
    }
    /// Returns its name.
    pub fn name = 0;
}

/// One note. It has no `Debug`, because its text is the user's.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct TurnNote {
    /// What it is about.
    pub kind: NoteKind,
    /// Its words.
    pub text: String,
}

/// Returns all notes of a request.
pub(super) fn notes(request: JsonView<'_>) -> Vec<TurnNote> {
    let documents = request.path(&["usedContext", "documents"]).into_iter().flat_map(JsonView::items);
    let note = |kind| move |text| TurnNote { kind, text };
    let context = documents.filter_map(document).map(note(NoteKind::Context));
    let references = request.list("contentReferences").filter_map(reference).map(note(NoteKind::Reference));
    let citations = request.list("codeCitations").filter_map(citation).map(note(NoteKind::Citation));
    let followups = request.list("followups").filter_map(followup).map(note(NoteKind::Followup));
    let said = response(request).filter(|part| answer::kind(*part) == AnswerPartKind::Note).filter_map(said);
    context.chain(references).chain(citations).chain(said).chain(followups).collect()
}

fn document(document: JsonView<'_>) -> Option<String> {
    let ranges: Vec<String> = document.list("ranges").filter_map(lines).collect();
    let place = uri::place(document.get("uri")?)?;
    Some(if ranges.is_empty() { place } else { format!("{place}:{}", ranges.join(",")) })
}

/// Returns the lines of a range: `3-8`.
fn lines(range: JsonView<'_>) -> Option<String> {
    let line = |key: &str| range.get_integer(key);
    let (start, end) = (line("startLineNumber")?, line("endLineNumber")?);
    Some(if start == end { start.to_string() } else { format!("{start}-{end}") })
}

fn reference(reference: JsonView<'_>) -> Option<String> {
    let target = reference.get("reference")?;
    let variable = || target.get("value").and_then(uri::place).or_else(|| target.get_text("variableName"));
    let place = uri::place(target).or_else(variable)?;
    let how = match reference.path(&["options", "status", "kind"]).and_then(JsonView::integer) {
        Some(2) => ", in part",
        Some(3) => ", left out",
        _ => "",
    };
    Some(format!("{place}{how}"))
}

fn citation(citation: JsonView<'_>) -> Option<String> {
    let place = citation.get("value").and_then(uri::place).unwrap_or_default();
    Some(format!("{}  {place}", citation.get_text("license")?).trim_end().to_owned())
}

fn followup(followup: JsonView<'_>) -> Option<String> {
    ["message", "title", "prompt"].iter().find_map(|key| followup.get_text(key))
}

fn said(part: JsonView<'_>) -> Option<TurnNote> {
    let words = |key: &str| part.get(key).and_then(answer::markdown);
    let kind = match &*part.get_text("kind")? {
        "warning" => NoteKind::Warning,
        "progressTask" | "progressTaskSerialized" => NoteKind::Task,
        _ => NoteKind::Confirmation,
    };
    let answered = match (part.get("isUsed").and_then(JsonView::boolean), part.get_text("state")) {
        (Some(true), _) => Some("answered".to_owned()),
        (Some(false), _) => Some("not answered".to_owned()),
        (None, state) => state,
    };
    let said = [words("title"), words("message"), words("content"), answered];
    let text = said.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    (!text.is_empty()).then_some(TurnNote { kind, text })
}
