//! Texts that an export holds in pieces: each list is one text to its reader, the editor or the
//! model.
//!
//! The parts of a question are no such text: the export holds it whole beside them, and ranges
//! count its characters.

use leafgate_tree::Document;

use super::{answer, response, tsx};
use crate::loss::Losses;
use crate::node::JsonView;

/// `ChatCompletionContentPartKind.Text` of a rendered message.
const TEXT_PART: i64 = 1;

/// Returns the pieces of each text that may stand in several, in order.
pub(crate) fn pieces(document: &Document) -> Vec<Vec<JsonView<'_>>> {
    let mut texts = Vec::new();
    for request in JsonView::root(document).list("requests") {
        spoken(request, &mut texts);
        if let Some(metadata) = request.path(&["result", "metadata"]) {
            recorded(metadata, &mut texts);
        }
    }
    texts
}

/// Words and reasoning of the answer. An inline reference stands between words, all other parts do
/// not.
fn spoken<'d>(request: JsonView<'d>, texts: &mut Vec<Vec<JsonView<'d>>>) {
    let words = response(request).filter(|part| answer::kind(*part) == answer::AnswerPartKind::Words);
    split(words.map(answer::words_leaf), texts);
    texts.push(response(request).flat_map(answer::thinking_leaves).collect());
}

/// The texts that were recorded for the model: rendered messages, the reasoning of each round,
/// results of tools.
fn recorded<'d>(metadata: JsonView<'d>, texts: &mut Vec<Vec<JsonView<'d>>>) {
    for key in ["renderedGlobalContext", "renderedUserMessage"] {
        let parts = metadata.list(key);
        let is_text = |part: &JsonView<'d>| part.get_integer("type") == Some(TEXT_PART);
        split(parts.map(|part| part.get("text").filter(|_| is_text(&part))), texts);
    }
    for round in metadata.list("toolCallRounds") {
        texts.extend(round.path(&["thinking", "text"]).map(answer::pieces));
    }
    let results = metadata.get("toolCallResults");
    for (_, result) in results.into_iter().flat_map(|results| results.members()) {
        let values = || result.list("content").map(|part| part.get("value"));
        split(values().map(|value| value.filter(|value| value.text().is_some())), texts);
        values().flatten().for_each(|value| texts.extend(tsx::runs(value, &mut Losses::default())));
    }
}

/// Adds the runs between elements that are missing.
fn split<'d>(pieces: impl Iterator<Item = Option<JsonView<'d>>>, texts: &mut Vec<Vec<JsonView<'d>>>) {
    let mut run = Vec::new();
    for piece in pieces {
        match piece {
            Some(piece) => run.push(piece),
            None => texts.push(std::mem::take(&mut run)),
        }
    }
    texts.push(run);
}
