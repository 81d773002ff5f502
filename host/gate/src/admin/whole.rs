//! A turn with its whole request, as one object.

use leafgate_admin::{
    EditableRequest, MetadataField, RawJson, RequestMetadata, SectionView, ShownText, TurnView, shown_url,
};
use leafgate_tree::{
    Document, Draft, Inserted, LeafKind, NodeId, NodeType, Section, Segment, ValueSource, display_mask,
};

use super::view;
use crate::pending::Snapshot;

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
    let TurnView {
        summary,
        mut sections,
        edits,
        digest,
        version,
        can_undo,
        can_redo,
        is_dirty,
        invalid,
        notes,
        pinned,
        tokens,
    } = view::of_shown(snapshot, draft);
    sections.iter_mut().for_each(|section| fill(section, draft));
    let system = outermost(document).find(|section| is_system(section)).map(|section| section.node);
    EditableRequest {
        id: document.request_id(),
        debug_name: format!("{}/{}", snapshot.title.location, snapshot.title.name),
        model: text_at(draft, "/model").unwrap_or_else(|| summary.model.clone()),
        location: snapshot.title.location.to_string(),
        messages: messages(draft, &leaving),
        original_messages: received_messages(document, &came),
        system: system.and_then(|node| RawJson::new(leaving.json(node))),
        original_system: system.and_then(|node| RawJson::new(came.json(node))),
        request_options: options(document, &leaving),
        original_request_options: options(document, &came),
        sections,
        metadata: RequestMetadata {
            fields,
            max_prompt_tokens: None,
            max_response_tokens: ANSWER_TOKENS
                .iter()
                .find_map(|pointer| text_at(draft, pointer)?.parse().ok()),
            intent: text_at(draft, "/intent"),
            endpoint_url: Some(endpoint(&snapshot.to.upstream, &snapshot.to.path)),
        },
        is_dirty,
        edit_history: draft.operation_history(str::to_owned),
        summary,
        edits,
        notes,
        pinned,
        tokens,
        digest,
        version,
        can_undo,
        can_redo,
        invalid,
    }
}

/// The upstream as it is shown, and the path there. A query can hold a key of the API, and says nothing more
/// of where.
fn endpoint(upstream: &str, path: &str) -> String {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    format!("{}{path}", shown_url(upstream).trim_end_matches('/'))
}

/// The present text of a leaf that stands in what would leave.
fn text_at(draft: &Draft, pointer: &str) -> Option<String> {
    let node = draft.document().resolve(pointer).ok()?;
    draft.document().leaf(node)?;
    Some(draft.text(node).into_cow().into_owned())
}

fn outermost(document: &Document) -> impl Iterator<Item = &Section> {
    document.sections().iter().filter(|section| section.parent.is_none())
}

/// Whether it stands beside the list of messages.
fn is_system(section: &Section) -> bool {
    section.node_type == NodeType::Message && section.message.is_none()
}

/// The messages of the list, in body order.
fn listed(document: &Document) -> impl Iterator<Item = NodeId> {
    outermost(document).filter(|section| section.message.is_some()).map(|section| section.node)
}

fn received_messages(document: &Document, came: &ValueSource<'_>) -> Vec<RawJson> {
    listed(document).filter_map(|node| RawJson::new(came.json(node))).collect()
}

fn messages(draft: &Draft, leaving: &ValueSource<'_>) -> Vec<RawJson> {
    let mut put_in: Vec<&Inserted> = draft.inserted().collect();
    let mut messages = Vec::new();
    for node in listed(draft.document()) {
        let here = put_in.extract_if(.., |inserted| inserted.before() == node);
        messages.extend(here.filter_map(|inserted| RawJson::new(inserted.json())));
        if !draft.is_deleted(node) {
            messages.extend(RawJson::new(leaving.json(node)));
        }
    }
    messages
}

/// An object of the members that are no messages.
fn options(document: &Document, source: &ValueSource<'_>) -> RawJson {
    let mut json = String::from("{");
    let options = outermost(document).filter(|section| section.node_type == NodeType::RequestOption);
    for section in options {
        // A body that is no object is one option without a name.
        let Some(Segment::Key(key)) = document.segment(section.node) else { continue };
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&serde_json::Value::from(key).to_string());
        json.push(':');
        json.push_str(&source.json(section.node));
    }
    json.push('}');
    RawJson::new(json).expect("an object of values is JSON")
}

/// Adds the texts of a section's own leaves that say something.
fn fill(section: &mut SectionView, draft: &Draft) {
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

    use leafgate_tree::{Author, Format, Limits, Redaction, Role, SectionId};

    use super::*;

    fn draft(body: &str, format: Format) -> Draft {
        Draft::new(Arc::new(Document::parse(body.to_owned().into(), format, &Limits::default()).unwrap()))
    }

    fn shown(messages: &[RawJson]) -> Vec<&str> {
        messages.iter().map(RawJson::expose).collect()
    }

    const CHAT: &str = r#"{"model":"m","messages":[{"role":"user","content":"one key"},
{"role":"assistant","content":"two"},{"role":"user","content":"three"}],"max_tokens":1e2,"seed":1.0}"#;

    fn section(draft: &Draft, key: &str) -> SectionId {
        let document = draft.document();
        let mut ids = (0..document.sections().len()).map(SectionId::from_index);
        ids.find(|&id| document.section_key(id) == key).unwrap()
    }

    // S1-07
    #[test]
    fn messages_are_those_that_leave_and_original_messages_those_that_came() {
        let mut draft = draft(CHAT, Format::OpenaiChat);
        let node = draft.document().resolve("/messages/0/content").unwrap();
        let redaction = Redaction { at: 4..7, label: "KEY".into(), replacement: "KEY_1".to_owned() };
        draft.redact(node, &[redaction], &Author::rule("r")).unwrap();
        let (second, last) = (section(&draft, "assistant-1"), section(&draft, "user-2"));
        draft.delete(second, &Author::Person).unwrap();
        draft.insert(last, Role::User, "put \"in\"", &Author::Person).unwrap();
        assert_eq!(
            shown(&messages(&draft, &draft.as_leaving())),
            [
                r#"{"role":"user","content":"one KEY_1"}"#,
                r#"{"role":"user","content":"put \"in\""}"#,
                r#"{"role":"user","content":"three"}"#,
            ]
        );
        assert_eq!(
            shown(&received_messages(draft.document(), &draft.as_received())),
            [
                r#"{"role":"user","content":"one ‹KEY›"}"#,
                r#"{"role":"assistant","content":"two"}"#,
                r#"{"role":"user","content":"three"}"#,
            ]
        );
    }

    #[test]
    fn messages_are_what_an_independent_parser_reads_from_the_bytes_that_leave() {
        let mut draft = draft(CHAT, Format::OpenaiChat);
        let first = section(&draft, "user-0");
        draft.insert(first, Role::User, "a", &Author::Person).unwrap();
        draft.insert(first, Role::User, "b", &Author::Person).unwrap();
        draft.delete(first, &Author::Person).unwrap();
        let body: serde_json::Value = serde_json::from_slice(&draft.render()).unwrap();
        let read: Vec<serde_json::Value> = messages(&draft, &draft.as_leaving())
            .iter()
            .map(|message| serde_json::from_str(message.expose()).unwrap())
            .collect();
        assert_eq!(body["messages"], serde_json::Value::Array(read));
    }

    #[test]
    fn options_keep_their_spelling_and_the_system_stands_beside_the_messages() {
        let draft = draft(CHAT, Format::OpenaiChat);
        let all = options(draft.document(), &draft.as_leaving());
        assert_eq!(all.expose(), r#"{"model":"m","max_tokens":1e2,"seed":1.0}"#);
        let body =
            r#"{"model":"m","max_tokens":9,"system":"Be brief","messages":[{"role":"user","content":"Hi"}]}"#;
        let draft = super::tests::draft(body, Format::AnthropicMessages);
        let document = draft.document();
        let system = outermost(document).find(|section| is_system(section)).unwrap();
        assert_eq!(draft.as_leaving().json(system.node), r#""Be brief""#);
        assert_eq!(options(document, &draft.as_leaving()).expose(), r#"{"model":"m","max_tokens":9}"#);
        assert_eq!(text_at(&draft, "/max_tokens").as_deref(), Some("9"));
    }

    #[test]
    fn an_endpoint_has_no_query() {
        assert_eq!(endpoint("https://api.example/", "/v1/models?key=k"), "https://api.example/v1/models");
        assert_eq!(endpoint("echo:", "/v1/messages"), "echo:/v1/messages");
    }
}
