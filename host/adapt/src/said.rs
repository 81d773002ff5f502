//! A body as the messages in it, whatever API it speaks: roles, parts, calls and their results, and
//! nothing else.

use std::collections::HashMap;

use leafgate_answer::{Call, CallKind};
use leafgate_tree::{
    Access, ContentKind, Document, Leaf, LeafKind, NodeId, Role, Section, SectionId, SectionKind, Segment,
    ValueType,
};

/// What stands for a picture where there are words alone.
const PICTURE: &str = "[image left out]";

/// One message. It has no `Debug`, because its texts are the user's.
#[derive(Clone, PartialEq, Eq)]
pub struct TurnMessage {
    /// Who says it.
    pub role: Role,
    /// What it says, in order.
    pub parts: Vec<TurnPart>,
    /// What it asks the client to do. Ids pair calls with their results: where the API has none, they are made of tool and order.
    pub calls: Vec<Call>,
    /// The call whose result it is.
    pub call_id: Option<String>,
    /// Whether that went wrong, where the API says so.
    pub is_error: bool,
    /// Its place in the body.
    place: Option<usize>,
}

/// A part of a message.
#[derive(Clone, PartialEq, Eq)]
pub enum TurnPart {
    /// Words.
    Text(String),
    /// What the model thought.
    Thought(String),
    /// A picture.
    Image {
        /// An address, or the picture itself as a data URL. In a body of the log, what that has in its place.
        url: String,
        /// `low`, `high` or `auto`.
        detail: Option<String>,
    },
    /// A sound or a file, which is named alone.
    Other(ContentKind),
}

impl TurnMessage {
    /// Returns its texts, a line each. What has no words is named.
    pub fn text(&self) -> String {
        self.words(None).collect::<Vec<_>>().join("\n")
    }

    /// Returns its texts, with words in the place of each picture.
    pub fn told(&self) -> impl Iterator<Item = String> {
        self.words(Some(PICTURE))
    }

    fn words(&self, picture: Option<&'static str>) -> impl Iterator<Item = String> {
        self.parts.iter().filter_map(move |part| match part {
            TurnPart::Text(text) => Some(text.clone()),
            TurnPart::Other(kind) => Some(named(*kind)),
            TurnPart::Image { .. } => picture.map(str::to_owned),
            TurnPart::Thought(_) => None,
        })
    }

    /// Returns the addresses of its pictures.
    pub fn images(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TurnPart::Image { url, .. } => Some(url.as_str()),
            TurnPart::Text(_) | TurnPart::Thought(_) | TurnPart::Other(_) => None,
        })
    }
}

/// Returns what stands for a sound or a file.
pub fn named(kind: ContentKind) -> String {
    format!("‹{kind}›")
}

/// Returns what a person asked last, and whether the model has gone on since: a round of its tools. What
/// a client says beside results of tools is no question.
pub fn question(messages: &[TurnMessage]) -> (Option<&TurnMessage>, bool) {
    let has_result = |asked: &TurnMessage| {
        messages.iter().any(|said| said.role == Role::Tool && said.place == asked.place)
    };
    let asked = messages.iter().rposition(|said| said.role == Role::User && !has_result(said));
    match asked {
        Some(at) => (Some(&messages[at]), at + 1 < messages.len()),
        None => (None, true),
    }
}

/// Returns the messages of a request, in order; what stands beside them comes first.
pub fn messages(document: &Document) -> Vec<TurnMessage> {
    BodyReader { document, ids: CallIds::default(), arguments: document.tool_arguments() }.messages()
}

/// Returns the ids by which [`messages`] would name further calls, of which each has its own id, or none, and the name of its
/// tool.
pub fn further_ids<'c>(
    calls: impl IntoIterator<Item = (&'c str, &'c str)>,
    before: &[TurnMessage],
) -> Vec<String> {
    let mut ids = CallIds::default();
    let named = before.iter().flat_map(|message| &message.calls);
    named.for_each(|call| drop(ids.id(None, call.name.expose(), false)));
    calls.into_iter().map(|(id, name)| ids.id(Some(id), name, false)).collect()
}

/// Ids of calls and results; those without one are paired by tool and order, as the API does.
#[derive(Default)]
struct CallIds(HashMap<(String, bool), usize>);

impl CallIds {
    fn id(&mut self, given: Option<&str>, tool: &str, is_result: bool) -> String {
        let count = self.0.entry((tool.to_owned(), is_result)).or_default();
        *count += 1;
        given.filter(|id| !id.is_empty()).map_or_else(|| format!("{tool}-{count}"), str::to_owned)
    }
}

/// What a part of a body says, where it stands.
struct BodyLine {
    place: Option<usize>,
    node: NodeId,
    role: Role,
    result: Option<SectionId>,
    what: BodyPart,
}

enum BodyPart {
    Part(TurnPart),
    Call(SectionId),
    /// What a call came to, whether or not it has words.
    Result,
}

struct BodyReader<'d> {
    document: &'d Document,
    ids: CallIds,
    arguments: std::collections::BTreeMap<SectionId, NodeId>,
}

impl<'d> BodyReader<'d> {
    fn messages(mut self) -> Vec<TurnMessage> {
        let sections = (0..self.document.sections().len()).map(SectionId::from_index);
        let mut lines = self.words();
        lines.extend(sections.filter_map(|section| self.section(section)));
        lines.sort_by_key(|line| (line.place, line.node));
        let (mut all, mut before): (Vec<TurnMessage>, Option<SectionId>) = (Vec::new(), None);
        for BodyLine { place, role, result, what, .. } in lines {
            // Some APIs have each part of what the model says in a message of its own.
            let goes_on = |last: &&mut TurnMessage| {
                last.role == role && result == before && (last.place == place || role == Role::Assistant)
            };
            if all.last_mut().filter(goes_on).is_none() {
                let call_id = result.map(|section| self.call_id(section, true));
                let is_error = result.is_some_and(|section| self.is_error(section));
                let (parts, calls) = (Vec::new(), Vec::new());
                all.push(TurnMessage { role, parts, calls, call_id, is_error, place });
            }
            before = result;
            let Some(last) = all.last_mut() else { continue };
            match what {
                BodyPart::Part(part) => last.parts.push(part),
                BodyPart::Call(section) => last.calls.push(self.call(section)),
                BodyPart::Result => {}
            }
        }
        all
    }

    /// What is said in words. JSON in a text is that text.
    fn words(&self) -> Vec<BodyLine> {
        let (mut lines, mut next) = (Vec::new(), 0);
        while next < self.document.node_count() {
            let node = NodeId::from_index(next);
            let leaf = self.document.settable(node);
            let given = if leaf.is_some() { None } else { self.given(node) };
            next = if leaf.is_some() || given.is_some() { self.document.subtree(node).end } else { next + 1 };
            lines.extend(given.or_else(|| self.leaf(&leaf?)));
        }
        lines
    }

    /// What a function of Gemini gave back, where that is more than a text.
    fn given(&self, node: NodeId) -> Option<BodyLine> {
        let is_response = self.document.segment(node) == Some(Segment::Key("response".into()));
        let section = self.document.section_of(node).filter(|_| is_response)?;
        let is_result = self.document.section(section).kind == SectionKind::ToolResult;
        let is_words = |member: NodeId| {
            self.document.settable(member).is_some_and(|leaf| leaf.value_type() == ValueType::Text)
        };
        let mut members = self.document.children(node).map(is_words);
        let is_text = matches!((members.next(), members.next()), (None | Some(true), None));
        let json = || TurnPart::Text(self.spelling(node));
        (is_result && !is_text).then(|| self.line(section, node, BodyPart::Part(json())))
    }

    fn spelling(&self, node: NodeId) -> String {
        String::from_utf8_lossy(self.document.spelling_of(node)).into_owned()
    }

    fn leaf(&self, leaf: &Leaf<'_>) -> Option<BodyLine> {
        let section = leaf.section()?;
        let text = leaf.text().expose().to_owned();
        let is_said = leaf.value_type() == ValueType::Text && !text.is_empty();
        if !is_said || self.is_media(section).is_some() {
            return None;
        }
        let part = match leaf.kind() {
            LeafKind::Reasoning if leaf.access() != Access::Opaque => TurnPart::Thought(text),
            LeafKind::Text | LeafKind::ToolResult if leaf.access() != Access::Opaque => TurnPart::Text(text),
            _ => return None,
        };
        Some(self.line(section, leaf.id(), BodyPart::Part(part)))
    }

    fn section(&self, id: SectionId) -> Option<BodyLine> {
        let section = self.document.section(id);
        let what = match self.is_media(id) {
            _ if section.kind == SectionKind::ToolCall => BodyPart::Call(id),
            _ if section.kind == SectionKind::ToolResult => BodyPart::Result,
            Some(ContentKind::Image) => BodyPart::Part(self.image(section)),
            Some(kind) => BodyPart::Part(TurnPart::Other(kind)),
            None => return None,
        };
        Some(self.line(id, section.node, what))
    }

    fn is_media(&self, section: SectionId) -> Option<ContentKind> {
        let kind = self.document.section(section).content_kind?;
        matches!(kind, ContentKind::Image | ContentKind::Audio | ContentKind::Document).then_some(kind)
    }

    fn line(&self, id: SectionId, node: NodeId, what: BodyPart) -> BodyLine {
        let section = self.document.section(id);
        let is_result = |id: &SectionId| self.document.section(*id).kind == SectionKind::ToolResult;
        // The outermost: what is in a result has its id too.
        let result = self.document.way_out(Some(id)).filter(is_result).last();
        let role = match (result, &what) {
            (Some(_), _) => Role::Tool,
            (None, BodyPart::Call(_)) => Role::Assistant,
            (None, BodyPart::Part(_) | BodyPart::Result) => section.role,
        };
        BodyLine { place: section.message, node, role, result, what }
    }

    fn call_id(&mut self, section: SectionId, is_result: bool) -> String {
        let section = self.document.section(section);
        self.ids.id(section.call_id.as_deref(), section.tool.as_deref().unwrap_or_default(), is_result)
    }

    fn is_error(&self, section: SectionId) -> bool {
        let said = self.document.member(self.document.section(section).node, "is_error");
        said.and_then(|node| self.document.leaf(node)).is_some_and(|leaf| leaf.text().expose() == "true")
    }

    fn call(&mut self, id: SectionId) -> Call {
        let document = self.document;
        let arguments = self.arguments.get(&id).map(|&node| match document.settable(node) {
            Some(text) => text.text().expose().to_owned(),
            None => self.spelling(node),
        });
        Call {
            id: self.call_id(id, false).into(),
            name: document.section(id).tool.as_deref().unwrap_or_default().into(),
            arguments: arguments.unwrap_or_default().into(),
            kind: CallKind::Function,
        }
    }

    /// Finds where a picture lies by the members that APIs have for it.
    fn image(&self, section: &Section) -> TurnPart {
        let find = |keys: &[&str]| {
            let mut inside = self.document.subtree(section.node).map(NodeId::from_index);
            let is_one = |&node: &NodeId| match self.document.segment(node) {
                Some(Segment::Key(key)) => keys.contains(&&*key) && self.document.leaf(node).is_some(),
                Some(Segment::Index(_)) | None => false,
            };
            let found = self.document.leaf(inside.find(is_one)?)?;
            Some(found.text().expose().to_owned())
        };
        let at = find(&["url", "image_url", "data", "fileUri", "file_uri", "file_id"]).unwrap_or_default();
        let url = match find(&["media_type", "mimeType", "mime_type"]) {
            Some(media) if !at.contains(':') && !at.starts_with('‹') => format!("data:{media};base64,{at}"),
            _ => at,
        };
        TurnPart::Image { url, detail: find(&["detail"]) }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use leafgate_tree::Limits;
    use serde_json::{Value, json};

    use super::*;

    fn said_in(body: &Value) -> Vec<TurnMessage> {
        messages(&Document::detect(Bytes::from(body.to_string()), &Limits::default()).unwrap())
    }

    /// Calls were told as text, results by nothing that paired them, pictures by a word.
    // S1-17
    #[test]
    fn every_api_says_the_same() {
        let arguments = "{\"path\":\"a\"}";
        let bodies = [
            json!({ "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": [{ "type": "text", "text": "Read it" }] },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "1", "type": "function", "function": { "name": "read", "arguments": arguments } }] },
                { "role": "tool", "tool_call_id": "1", "content": "42" },
            ] }),
            json!({ "system": [{ "type": "text", "text": "Be brief." }], "messages": [
                { "role": "user", "content": "Read it" },
                { "role": "assistant", "content": [
                    { "type": "tool_use", "id": "1", "name": "read", "input": { "path": "a" } }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "1", "content": [{ "type": "text", "text": "42" }] }] },
            ] }),
            json!({ "instructions": "Be brief.", "input": [
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Read it" }] },
                { "type": "function_call", "call_id": "1", "name": "read", "arguments": arguments },
                { "type": "function_call_output", "call_id": "1", "output": "42" },
            ] }),
            json!({ "systemInstruction": { "parts": [{ "text": "Be brief." }] }, "contents": [
                { "role": "user", "parts": [{ "text": "Read it" }] },
                { "role": "model", "parts": [{ "functionCall": { "name": "read", "args": { "path": "a" } } }] },
                { "role": "user", "parts": [{ "functionResponse": { "name": "read", "response": { "content": "42" } } }] },
            ] }),
        ];
        for body in bodies {
            let all = said_in(&body);
            let roles: Vec<_> = all.iter().map(|said| said.role).collect();
            assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool], "{body}");
            let texts: Vec<_> = all.iter().map(TurnMessage::text).collect();
            assert_eq!(texts, ["Be brief.", "Read it", "", "42"], "{body}");
            let [call] = &all[2].calls[..] else { panic!("{body}") };
            assert_eq!((call.name.expose(), call.arguments.expose()), ("read", arguments), "{body}");
            assert_eq!(all[3].call_id.as_deref(), Some(call.id.expose()), "{body}");
            assert!(question(&all) == (Some(&all[1]), true));
            assert!(question(&all[..2]) == (Some(&all[1]), false));
        }
    }

    #[test]
    fn a_picture_has_its_address_and_what_stands_beside_a_result_is_no_question() {
        let url = "https://example.org/a.png";
        let pictures = [
            json!({ "messages": [{ "role": "user", "content": [
                { "type": "image_url", "image_url": { "url": url, "detail": "low" } }] }] }),
            json!({ "input": [{ "role": "user", "content": [
                { "type": "input_image", "image_url": url, "detail": "low" }] }] }),
        ];
        for body in pictures {
            let [message] = &said_in(&body)[..] else { panic!("{body}") };
            let image = TurnPart::Image { url: url.to_owned(), detail: Some("low".to_owned()) };
            assert!(message.parts == [image], "{body}");
        }
        let source = json!({ "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" });
        let body = json!({ "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "Look" }, { "type": "image", "source": source }] },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "read", "input": {} }] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "1", "content": "42" }, { "type": "text", "text": "Remember" }] },
        ] });
        let all = said_in(&body);
        assert_eq!(all[0].images().collect::<Vec<_>>(), ["data:image/png;base64,iVBORw0KGgo="]);
        assert!(question(&all) == (Some(&all[0]), true));
    }

    #[test]
    fn calls_without_ids_are_paired_by_their_order() {
        let call = json!({ "functionCall": { "name": "read", "args": {} } });
        let result = json!({ "functionResponse": { "name": "read", "response": { "content": "42" } } });
        let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hi" }] },
            { "role": "model", "parts": [call, call] }, { "role": "user", "parts": [result, result] }] });
        let all = said_in(&body);
        let calls: Vec<_> = all[1].calls.iter().map(|call| call.id.expose()).collect();
        let results: Vec<_> = all[2..].iter().filter_map(|said| said.call_id.as_deref()).collect();
        assert_eq!((calls, results), (vec!["read-1", "read-2"], vec!["read-1", "read-2"]));
        assert_eq!(further_ids([("", "read"), ("own", "read")], &all), ["read-3", "own"]);
    }
}
