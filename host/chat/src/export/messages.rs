//! An export as raw messages: what the model read and wrote, as far as it is recorded.
//!
//! `result.metadata` is the best source. If it is missing, the texts that the person saw replace
//! it. Calls and results come in pairs or not at all: every API refuses either alone.

use std::collections::HashSet;

use super::{answer, is_hidden, question, question_leaves, response, tsx, variables};
use crate::json::Json;
use crate::loss::Losses;
use crate::node::JsonView;
use crate::raw::{self, Meaning, PartKind, RawMessage, RawPart, RawRole, ToolCall};

/// The suffix that VS Code adds to the id of every recorded call.
const ID_SUFFIX: &str = "__vscode-";

/// Returns the messages of all requests, oldest first.
pub(crate) fn messages(root: JsonView<'_>, losses: &mut Losses) -> Vec<RawMessage> {
    let mut reader = ExportReader { losses, messages: Vec::new(), ids: HashSet::new() };
    for request in root.list("requests") {
        reader.request(request);
    }
    reader.messages
}

struct ExportReader<'l> {
    losses: &'l mut Losses,
    messages: Vec<RawMessage>,
    /// The ids of calls so far.
    ids: HashSet<String>,
}

impl ExportReader<'_> {
    fn request(&mut self, request: JsonView<'_>) {
        if !request.is_object() {
            return self.losses.note(request.pointer(), "no request: it should be an object");
        }
        if is_hidden(request) {
            return self.losses.note(request.pointer(), "the editor has taken this request back");
        }
        let recorded = |key: &str| request.path(&["result", "metadata", key]);
        if let Some(context) = recorded("renderedGlobalContext") {
            self.rendered(context);
        }
        if !recorded("renderedUserMessage").is_some_and(|rendered| self.rendered(rendered)) {
            self.asked(request);
        }
        let before = self.messages.len();
        for round in recorded("toolCallRounds").into_iter().flat_map(JsonView::items) {
            self.round(round, recorded("toolCallResults"));
        }
        if self.messages.len() == before {
            self.answered(request);
        }
    }

    /// Adds the parts that were rendered for the model. Returns whether there were any.
    fn rendered(&mut self, content: JsonView<'_>) -> bool {
        match raw::parts(content, self.losses) {
            Ok(parts) if !parts.is_empty() => {
                self.messages.push(RawMessage::new(content.pointer(), RawRole::User, parts));
                true
            }
            Ok(_) => false,
            Err(error) => {
                self.losses.note(error.pointer, "what was rendered for the model cannot be read");
                false
            }
        }
    }

    /// Adds the question as the person wrote it, without attachments.
    fn asked(&mut self, request: JsonView<'_>) {
        for variable in variables(request) {
            self.losses.note(variable.pointer(), "what was attached is not recorded as the model read it");
        }
        question_leaves(request).into_iter().flatten().for_each(|text| self.losses.note_half_character(text));
        match question(request).filter(|text| !text.is_empty()) {
            Some(text) => {
                let at = format!("{}/message", request.pointer());
                self.messages.push(RawMessage::new(at.clone(), RawRole::User, vec![RawPart::text(at, text)]));
            }
            None => self.losses.note(request.pointer(), "no question is recorded"),
        }
    }

    /// Adds the answer as the person saw it, if no round of the model is recorded.
    fn answered(&mut self, request: JsonView<'_>) {
        for part in response(request) {
            if answer::words(part).is_none() && answer::kind(part) != answer::AnswerPartKind::Internal {
                self.losses.note(
                    part.pointer(),
                    "only words of an answer are messages, where no rounds are recorded",
                );
            }
        }
        for text in response(request).filter_map(answer::words_leaf) {
            self.losses.note_half_character(text);
        }
        let text = answer::text(request);
        if text.is_empty() {
            return self.losses.note(request.pointer(), "no answer is recorded");
        }
        let at = format!("{}/response", request.pointer());
        self.messages.push(RawMessage::new(at.clone(), RawRole::Assistant, vec![RawPart::text(at, text)]));
    }

    /// Adds one round: the model's output, and the results of its tool calls.
    fn round(&mut self, round: JsonView<'_>, results: Option<JsonView<'_>>) {
        let mut content = self.reasoning(round);
        if let Some(text) = self.losses.text(round.get("response")).filter(|text| !text.is_empty()) {
            content.push(RawPart::text(format!("{}/response", round.pointer()), text));
        }
        if let Some(summary) = round.get_some("summary") {
            self.losses
                .note(summary.pointer(), "the summary of earlier rounds is left out: the rounds stand here");
        }
        let mut message = RawMessage::new(round.pointer(), RawRole::Assistant, content);
        let mut answers = Vec::new();
        for call in round.list("toolCalls") {
            if let Some((call, answer)) = self.call(call, results) {
                message.calls.push(call);
                answers.push(answer);
            }
        }
        if !message.content.is_empty() || !message.calls.is_empty() {
            self.messages.push(message);
            self.messages.append(&mut answers);
        }
    }

    fn reasoning(&mut self, round: JsonView<'_>) -> Vec<RawPart> {
        let Some(node) = round.get_some("thinking").filter(|thinking| thinking.is_object()) else {
            return Vec::new();
        };
        let value = Json::of("thinking", vec![("thinking", Json::Verbatim(node.verbatim().to_owned()))]);
        let meaning = Meaning::Thinking(raw::thinking(node));
        vec![RawPart {
            at: node.pointer(),
            kind: PartKind::Opaque { value: value.pretty(), scope: None, token_usage: None, meaning },
        }]
    }

    /// Returns a call with its result. `None` if either is missing.
    fn call(&mut self, call: JsonView<'_>, results: Option<JsonView<'_>>) -> Option<(ToolCall, RawMessage)> {
        let [id, name, arguments] = ["id", "name", "arguments"].map(|key| self.losses.text(call.get(key)));
        let (Some(id), Some(name)) = (id, name) else {
            self.losses.note(call.pointer(), "a call without id or name is left out");
            return None;
        };
        let result =
            results.and_then(|results| results.get_some(&id)).and_then(|result| result.get("content"));
        let Some(result) = result.filter(|content| content.is_array()) else {
            self.losses.note(
                call.pointer(),
                "a call without a recorded result is left out: an API refuses it alone",
            );
            return None;
        };
        let Some(id) = self.wire_id(&id) else {
            self.losses.note(call.pointer(), "a second call with the same id is left out");
            return None;
        };
        let content = result.items().filter_map(|part| self.result_part(part)).collect();
        let mut answer = RawMessage::new(result.pointer(), RawRole::Tool, content);
        answer.call_id = Some(id.clone());
        let arguments = arguments.unwrap_or_default();
        Some((ToolCall { at: call.pointer(), id, name, arguments }, answer))
    }

    /// Returns the id as the model gave it, or as it is recorded if an earlier call had the same.
    /// `None` if that one had both.
    fn wire_id(&mut self, recorded: &str) -> Option<String> {
        let bare = without_suffix(recorded).to_owned();
        [bare, recorded.to_owned()].into_iter().find(|id| self.ids.insert(id.clone()))
    }

    /// Returns one part of a result: text, or a tree that a tool rendered.
    fn result_part(&mut self, part: JsonView<'_>) -> Option<RawPart> {
        let value = part.get("value");
        let text = match value {
            Some(value) if value.text().is_some() => self.losses.text(Some(value)),
            Some(value) if value.get("node").is_some() => Some(tsx::flatten(value, self.losses)),
            _ => None,
        };
        if text.is_none() {
            self.losses.note(part.pointer(), "a part of a tool's result that is no text is left out");
        }
        text.map(|text| RawPart::text(part.pointer(), text))
    }
}

fn without_suffix(id: &str) -> &str {
    match id.rsplit_once(ID_SUFFIX) {
        Some((bare, digits))
            if !bare.is_empty() && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            bare
        }
        _ => id,
    }
}
