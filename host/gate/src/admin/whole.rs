//! A turn with its whole request, as one object.

use leafgate_admin::{
    EditableRequest, MetadataField, RawJson, RequestMetadata, SectionView, ShownText, shown_url,
};
use leafgate_tree::{Document, Draft, LeafKind, NodeType, PutOption, Segment, ValueSource, display_mask};
use serde_json::Value;

use super::tokens::AskedModel;
use super::view;
use crate::pending::Snapshot;
use crate::session::Intent;

/// Where requests say how long the answer may be.
const ANSWER_TOKENS: [&str; 5] = [
    "/max_completion_tokens",
    "/max_output_tokens",
    "/max_tokens",
    "/generationConfig/maxOutputTokens",
    "/request/generationConfig/maxOutputTokens",
];

/// A turn with its whole request.
pub(super) fn request(snapshot: &Snapshot, fields: Vec<MetadataField>) -> EditableRequest {
    let draft = &*snapshot.shown();
    let document = draft.document();
    let (came, leaving) = (draft.as_received(), draft.as_leaving());
    let mut turn = view::of_shown(snapshot, draft);
    let beside = document.messages_beside();
    turn.sections.iter_mut().for_each(|section| fill(section, beside, draft));
    let raw = |messages: Vec<String>| messages.into_iter().filter_map(RawJson::new).collect();
    EditableRequest {
        id: document.request_id(),
        debug_name: format!("{}/{}", snapshot.guard.title.location, snapshot.guard.title.name),
        model: AskedModel::of(snapshot).name,
        location: snapshot.guard.title.location.to_string(),
        messages: raw(draft.messages()),
        original_messages: raw(draft.original_messages()),
        request_options: options(document, &leaving, draft.options()),
        original_request_options: options(document, &came, std::iter::empty()),
        metadata: RequestMetadata {
            fields,
            max_prompt_tokens: None,
            max_response_tokens: ANSWER_TOKENS
                .iter()
                .find_map(|pointer| text_at(draft, pointer)?.parse().ok()),
            intent: Intent::named(&snapshot.guard.title.name)
                .map(|intent| intent.word.to_owned())
                .or_else(|| text_at(draft, "/intent")),
            endpoint_url: Some(endpoint(&snapshot.guard.to.upstream, &snapshot.guard.to.path)),
        },
        edit_history: draft.operation_history(str::to_owned),
        turn,
    }
}

/// The upstream as it is shown, and the path there. A query can hold a key of the API, and says nothing more
/// of where.
fn endpoint(upstream: &str, path: &str) -> String {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    format!("{}{path}", shown_url(upstream).trim_end_matches('/'))
}

/// The present text of a leaf that stands in what would leave.
pub(super) fn text_at(draft: &Draft, pointer: &str) -> Option<String> {
    let node = draft.document().resolve(pointer).ok()?;
    draft.document().leaf(node)?;
    Some(draft.text(node).into_cow().into_owned())
}

/// An object of the members that are no messages, and of those that were put in.
fn options<'d>(
    document: &Document,
    source: &ValueSource<'_>,
    put_in: impl Iterator<Item = &'d PutOption>,
) -> RawJson {
    let outermost = document.sections().iter().filter(|section| section.parent.is_none());
    let options = outermost.filter(|section| section.node_type == NodeType::RequestOption);
    let came = options.filter_map(|section| match document.segment(section.node)? {
        Segment::Key(key) => Some(format!("{}:{}", Value::from(key), source.json(section.node))),
        // A body that is no object is one option without a name.
        Segment::Index(_) => None,
    });
    let put_in = put_in.map(|option| format!("{}:{}", Value::from(option.key()), option.json().expose()));
    let members: Vec<String> = came.chain(put_in).collect();
    RawJson::new(format!("{{{}}}", members.join(","))).expect("an object of values is JSON")
}

/// Adds the texts of a section's own leaves that say something, and counts its message among all.
fn fill(section: &mut SectionView, beside: usize, draft: &Draft) {
    section.source_message_index = section.source_message_index.map(|place| place + beside);
    let says = |kind| matches!(kind, LeafKind::Text | LeafKind::Reasoning | LeafKind::ToolResult);
    let (mut now, mut came) = (Vec::new(), Vec::new());
    for leaf in section.leaves.iter().filter(|leaf| says(leaf.kind)) {
        now.push(leaf.text.expose().to_owned());
        if let Ok(node) = draft.resolve(&leaf.pointer)
            && !leaf.pointer.is_empty()
        {
            came.push(draft.masked_original(node, display_mask).into_cow().into_owned());
        }
    }
    if !now.is_empty() {
        section.content = Some(ShownText::new(now.join("\n")));
    }
    if !came.is_empty() {
        section.original_content = Some(ShownText::new(came.join("\n")));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use leafgate_tree::{Author, Format, Limits};

    use super::*;

    fn draft(body: &str, format: Format) -> Draft {
        Draft::new(Arc::new(Document::parse(body.to_owned().into(), format, &Limits::default()).unwrap()))
    }

    const CHAT: &str =
        r#"{"model":"m","messages":[{"role":"user","content":"one key"}],"max_tokens":1e2,"seed":1.0}"#;

    #[test]
    fn options_keep_their_spelling_and_those_that_are_put_in_are_among_them() {
        let mut draft = draft(CHAT, Format::OpenaiChat);
        draft.put_option("temperature", &serde_json::json!(0.5), &Author::rule("r")).unwrap();
        let document = Arc::clone(draft.document());
        let all = options(&document, &draft.as_leaving(), draft.options());
        assert_eq!(all.expose(), r#"{"model":"m","max_tokens":1e2,"seed":1.0,"temperature":0.5}"#);
        let came = options(&document, &draft.as_received(), std::iter::empty());
        assert_eq!(came.expose(), r#"{"model":"m","max_tokens":1e2,"seed":1.0}"#);
        assert_eq!(text_at(&draft, "/max_tokens").as_deref(), Some("1e2"));
    }

    #[test]
    fn an_endpoint_has_no_query() {
        assert_eq!(endpoint("https://api.example/", "/v1/models?key=k"), "https://api.example/v1/models");
        assert_eq!(endpoint("echo:", "/v1/messages"), "echo:/v1/messages");
    }
}
