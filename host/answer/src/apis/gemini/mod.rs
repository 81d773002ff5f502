//! Gemini: `generateContent` and `streamGenerateContent`. Each event of a stream is an answer.

mod said;

pub(super) use said::ContentReader;

use serde_json::{Value, json};

use super::{Assembly, Event, Read, Wire, failure, is_error};
use crate::json::{
    Again, Object, arguments, arguments_text, elements, index, is_nothing, member, merge, number, rest, text,
};
use crate::loss::{Losses, Lost};
use crate::reply::{Call, CallKind, Delta, Finish, Head, Reply, Usage};
use crate::said::Says;

/// Candidates that are kept; the API gives at most 8.
const MAX_CANDIDATES: usize = 64;

const READ: [&str; 5] = ["candidates", "usageMetadata", "modelVersion", "responseId", "error"];
const OF_CANDIDATE: [(&str, Lost); 6] = [
    ("citationMetadata", Lost::Citation),
    ("groundingMetadata", Lost::Citation),
    ("groundingAttributions", Lost::Citation),
    ("urlContextMetadata", Lost::Citation),
    ("logprobsResult", Lost::Probabilities),
    ("finishMessage", Lost::Finish),
];
const OF_PART: [(&str, Lost); 2] = [("thoughtSignature", Lost::Sealed), ("thought_signature", Lost::Sealed)];

pub(super) struct Gemini;

impl Wire for Gemini {
    fn says(&self, _: bool) -> Box<dyn Says> {
        Box::new(ContentReader::new(false))
    }

    fn assembly(&self) -> Box<dyn Assembly> {
        Box::new(Pieces::default())
    }

    fn read(&self, whole: &Value, losses: &mut Losses) -> Option<Read> {
        let root = whole.as_object()?;
        if is_error(root, "candidates") {
            return failure(root).map(Read::failed);
        }
        let candidates = elements(root, "candidates");
        // A prompt that was refused has no candidates, and says why.
        let blocked = is_blocked(root);
        if !root.contains_key("candidates") && !blocked {
            return None;
        }
        rest(losses, "", root, &READ, &[("promptFeedback", Lost::Finish)]);
        (1..candidates.len()).for_each(|at| losses.add(Lost::Choice, format!("/candidates/{at}")));
        let mut reply = Reply::default();
        if let Some(candidate) = candidates.first().and_then(Value::as_object) {
            read_candidate(candidate, &mut reply, losses);
        } else if blocked {
            reply.finish = Some(Finish::Filtered);
        }
        reply.usage = member(root, "usageMetadata").map(|usage| read_usage(usage, losses));
        let head = Head {
            id: text(root, "responseId").into(),
            model: text(root, "modelVersion").into(),
            created: 0,
        };
        let mut read = Read { reply, head, failure: None };
        if let Some(failure) = failure(root) {
            read.fail(failure);
        }
        Some(read)
    }

    fn turn(&self, whole: &Value) -> Vec<Value> {
        let content = whole.pointer("/candidates/0/content").and_then(Value::as_object);
        let mut content = content.filter(|content| !elements(content, "parts").is_empty()).cloned();
        if let Some(content) = &mut content {
            content.insert("role".to_owned(), "model".into());
        }
        content.map(Value::Object).into_iter().collect()
    }

    fn write(&self, reply: &Reply, head: &Head, losses: &mut Losses) -> Value {
        let mut parts = Vec::new();
        if !reply.reasoning.is_empty() {
            parts.push(json!({ "text": reply.reasoning.expose(), "thought": true }));
        }
        if !reply.content.is_empty() {
            parts.push(json!({ "text": reply.content.expose() }));
        }
        for call in &reply.calls {
            let args = match call.kind {
                CallKind::Function => arguments(call.arguments.expose()),
                CallKind::Custom => None,
            };
            if args.is_none() {
                losses.add(Lost::Arguments, format!("/candidates/0/content/parts/{}", parts.len()));
            }
            let mut function =
                json!({ "name": call.name.expose(), "args": args.unwrap_or_else(|| json!({})) });
            if !call.id.is_empty() {
                function["id"] = call.id.expose().into();
            }
            parts.push(json!({ "functionCall": function }));
        }
        let mut candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": 0 });
        if let Some(finish) = reply.finish {
            candidate["finishReason"] = write_finish(finish).into();
        }
        let mut whole = json!({
            "candidates": [candidate],
            "modelVersion": head.model.expose(),
            "responseId": head.id.expose(),
        });
        if let Some(usage) = reply.usage {
            whole["usageMetadata"] = write_usage(usage);
        }
        whole
    }

    fn append(&self, whole: &mut Value, text: &str) -> Option<()> {
        let parts = whole.pointer_mut("/candidates/0/content/parts")?.as_array_mut()?;
        if parts.iter().any(|part| part.get("functionCall").is_some()) {
            return None;
        }
        parts.push(serde_json::json!({ "text": text }));
        Some(())
    }

    fn events(&self, whole: &Object, _: bool) -> Option<Vec<Event>> {
        if !whole.contains_key("candidates") && !is_blocked(whole) {
            return None;
        }
        // An answer is a stream of one event. Its parts come one by one, so that a client shows the
        // first before it has the last; the last event has all the rest.
        let mut events = Vec::new();
        let mut last = whole.clone();
        if let Some(Value::Array(parts)) =
            last.get_mut("candidates").and_then(|candidates| candidates.pointer_mut("/0/content/parts"))
        {
            let kept = parts.split_off(parts.len().saturating_sub(1));
            let early = std::mem::replace(parts, kept);
            let index = whole["candidates"][0].get("index").cloned().unwrap_or_else(|| 0.into());
            for part in early {
                let content = json!({ "parts": [part], "role": "model" });
                let mut piece = json!({ "candidates": [{ "content": content, "index": index }] });
                for key in ["modelVersion", "responseId"] {
                    piece[key] = whole.get(key).cloned().unwrap_or_default();
                }
                events.push(Event::plain(&piece));
            }
        }
        events.push(Event::plain(&Value::Object(last)));
        Some(events)
    }
}

/// Whether the prompt was refused.
fn is_blocked(answer: &Object) -> bool {
    member(answer, "promptFeedback").is_some_and(|feedback| feedback.contains_key("blockReason"))
}

fn read_candidate(candidate: &Object, reply: &mut Reply, losses: &mut Losses) {
    let at = "/candidates/0";
    rest(losses, at, candidate, &["content", "index", "finishReason"], &OF_CANDIDATE);
    let content = member(candidate, "content");
    let parts = content.map(|content| elements(content, "parts")).unwrap_or_default();
    let mut last = None;
    for (index, part) in parts.iter().enumerate() {
        let at = format!("{at}/content/parts/{index}");
        let Some(part) = part.as_object() else { continue };
        let rank = read_part(part, &at, reply, losses);
        // Parts of one kind are one text.
        if rank.is_some() && last > rank {
            losses.add(Lost::Order, at);
        }
        last = last.max(rank);
    }
    reply.finish =
        candidate.get("finishReason").and_then(Value::as_str).map(|reason| finish_of(reason, reply));
    if reply.finish == Some(Finish::Other) {
        losses.add(Lost::Finish, "/candidates/0/finishReason");
    }
}

/// Reads a part and returns its place in the order of a reply.
fn read_part(part: &Object, at: &str, reply: &mut Reply, losses: &mut Losses) -> Option<u8> {
    if let Some(call) = member(part, "functionCall") {
        rest(losses, at, part, &["functionCall"], &OF_PART);
        reply.calls.push(read_call(call));
        return Some(2);
    }
    if let Some(Value::String(words)) = part.get("text") {
        rest(losses, at, part, &["text", "thought"], &OF_PART);
        let thinks = is_thought(part);
        if thinks {
            reply.reasoning.push(words)
        } else {
            reply.content.push(words)
        }
        return (!words.is_empty()).then_some(u8::from(!thinks));
    }
    losses.add(
        match () {
            () if part.contains_key("inlineData") || part.contains_key("fileData") => Lost::Media,
            () if part.contains_key("executableCode") || part.contains_key("codeExecutionResult") => {
                Lost::ServerTool
            }
            () if OF_PART.iter().any(|(name, _)| part.contains_key(*name)) => Lost::Sealed,
            () => Lost::Part,
        },
        at,
    );
    None
}

fn is_thought(part: &Object) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

fn read_call(call: &Object) -> Call {
    let arguments = arguments_text(call.get("args"));
    Call {
        id: text(call, "id").into(),
        name: text(call, "name").into(),
        arguments: if arguments.is_empty() { "{}".into() } else { arguments.into() },
        kind: CallKind::Function,
    }
}

fn finish_of(reason: &str, reply: &Reply) -> Finish {
    match reason {
        "STOP" if !reply.calls.is_empty() => Finish::Calls,
        "STOP" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
        | "IMAGE_SAFETY" => Finish::Filtered,
        _ => Finish::Other,
    }
}

fn write_finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::Calls | Finish::Paused => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::Filtered | Finish::Refusal => "SAFETY",
        Finish::Cancelled | Finish::Failed | Finish::Other => "OTHER",
    }
}

/// What was thought is counted beside what was said, and a total may be all there is.
fn read_usage(usage: &Object, losses: &mut Losses) -> Usage {
    let read = [
        "promptTokenCount",
        "cachedContentTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "toolUsePromptTokenCount",
        "totalTokenCount",
    ];
    let [prompt, cached, said, reasoning, tools, total] = read.map(|key| number(usage, key));
    if usage.iter().any(|(key, value)| !read.contains(&key.as_str()) && !is_nothing(value)) || tools > 0 {
        losses.add(Lost::Usage, "/usageMetadata");
    }
    let input = prompt.saturating_add(tools);
    let counted = said.saturating_add(reasoning);
    let output = if counted == 0 { total.saturating_sub(input) } else { counted };
    Usage { input, cached, written: 0, output, reasoning }
}

fn write_usage(usage: Usage) -> Value {
    json!({
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.input.saturating_add(usage.output),
    })
}

/// A stream of answers, each with the next parts.
#[derive(Clone, Default)]
struct Pieces {
    root: Object,
    candidates: Vec<Object>,
    /// What the first candidate called, as far as it matters for its end.
    reply: Reply,
    came: bool,
}

impl Assembly for Pieces {
    fn take(&mut self, event: Value, losses: &mut Losses) -> Vec<Delta> {
        let Value::Object(mut piece) = event else {
            losses.add(Lost::Unread, "");
            return Vec::new();
        };
        let mut deltas = Vec::new();
        let known = READ.iter().any(|key| piece.contains_key(*key)) || piece.contains_key("promptFeedback");
        if !known {
            losses.add(Lost::Event, "");
            return deltas;
        }
        self.came = true;
        let candidates = piece.remove("candidates");
        for (at, candidate) in candidates.iter().filter_map(Value::as_array).flatten().enumerate() {
            if let Some(candidate) = candidate.as_object() {
                self.candidate(index(candidate, "index").unwrap_or(at), candidate, &mut deltas, losses);
            }
        }
        let blocked = is_blocked(&piece);
        if blocked && self.candidates.is_empty() {
            deltas.push(Delta::Finish(Finish::Filtered));
        }
        if piece.contains_key("error") {
            deltas.push(Delta::Finish(Finish::Failed));
        }
        for (key, value) in piece {
            merge(self.root.entry(key).or_insert(Value::Null), value, Again::Replace);
        }
        if let Some(usage) = member(&self.root, "usageMetadata") {
            deltas.push(Delta::Usage(read_usage(usage, &mut Losses::default())));
        }
        deltas
    }

    fn so_far(&self) -> Option<Value> {
        Box::new(self.clone()).whole()
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        let mut root = self.root;
        if !self.candidates.is_empty() {
            let candidates = self.candidates.into_iter().filter(|candidate| !candidate.is_empty());
            root.insert("candidates".to_owned(), candidates.map(Value::Object).collect());
        }
        self.came.then_some(Value::Object(root))
    }
}

impl Pieces {
    fn candidate(&mut self, at: usize, piece: &Object, deltas: &mut Vec<Delta>, losses: &mut Losses) {
        if at >= MAX_CANDIDATES {
            return losses.add(Lost::Choice, "/candidates");
        }
        if self.candidates.len() <= at {
            self.candidates.resize_with(at + 1, Object::new);
        }
        let candidate = &mut self.candidates[at];
        let parts = member(piece, "content").map(|content| elements(content, "parts")).unwrap_or_default();
        let content = candidate.entry("content").or_insert_with(|| json!({ "parts": [], "role": "model" }));
        for part in parts {
            if at == 0 {
                deltas.extend(tell(part, &mut self.reply));
            }
            if let Some(Value::Array(held)) = content.get_mut("parts") {
                push_part(held, part);
            }
        }
        for (key, value) in piece.iter().filter(|(key, _)| *key != "content") {
            candidate.insert(key.clone(), value.clone());
        }
        let reason = piece.get("finishReason").and_then(Value::as_str).filter(|_| at == 0);
        deltas.extend(reason.map(|reason| Delta::Finish(finish_of(reason, &self.reply))));
    }
}

/// Adds a part. Unsigned text goes on in the part before it, if that is text of the same kind.
fn push_part(parts: &mut Vec<Value>, part: &Value) {
    let plain = |part: &Object| part.keys().all(|key| key == "text" || key == "thought");
    if let (Some(Value::Object(last)), Some(new)) = (parts.last_mut(), part.as_object())
        && plain(last)
        && plain(new)
        && is_thought(last) == is_thought(new)
        && let Some(Value::String(text)) = last.get_mut("text")
    {
        return text.push_str(crate::json::text(new, "text"));
    }
    parts.push(part.clone());
}

fn tell(part: &Value, reply: &mut Reply) -> Option<Delta> {
    let part = part.as_object()?;
    if let Some(call) = member(part, "functionCall") {
        let call = read_call(call);
        reply.calls.push(Call::default());
        return Some(Delta::Call(call));
    }
    let words = text(part, "text");
    let delta = if is_thought(part) { Delta::Reasoning } else { Delta::Content };
    (!words.is_empty()).then(|| delta(words.into()))
}
