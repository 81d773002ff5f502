//! A log as files that other programs read.
//!
//! What is written is what the log has: findings masked, tokens not restored, no headers.

use std::io::Write;

use leafgate_record::chosen_upstream;
use leafgate_tree::Role;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::keys::StoreKeys;
use crate::live::SavedCall;
use crate::log::{AnswerView, Filter, Log, LogError, RequestLine, RequestView};
use crate::receipt;
use crate::turns::{TurnText, said};
use crate::work::WrittenEdit;

leafgate_words::words! {
    /// The form of an export.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ExportFormat {
        /// A line of JSON for each request, with all that the log has of it.
        Jsonl = "jsonl" / "a line of JSON for each request",
        /// A chat replay, as the chat debug view of VS Code exports it.
        Replay = "replay" / "a chat replay of VS Code",
        /// A chat that VS Code imports, `chat.json`: one conversation.
        Chat = "chat" / "a chat that VS Code imports",
        /// An HTTP archive 1.2, as browsers read it.
        Har = "har" / "an HTTP archive 1.2",
    }
    /// The word for it on the command line.
    pub fn name = 0;
    /// What people read.
    pub fn label = 1;
}

/// A request with all that is known of it, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WholeRequest<'a> {
    #[serde(flatten)]
    line: &'a RequestLine,
    operations: &'a [WrittenEdit],
    reply: &'a Option<AnswerView>,
    /// As JSON where it is some, else as text.
    body: ExportBody<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ExportBody<'a> {
    Json(&'a RawValue),
    Text(std::borrow::Cow<'a, str>),
}

impl<'a> WholeRequest<'a> {
    /// Returns all that a log has of a request.
    #[must_use]
    pub fn of(request: &'a RequestView) -> Self {
        let RequestView { line, edits, body, answer } = request;
        let body = match serde_json::from_slice(&body.0) {
            Ok(json) => ExportBody::Json(json),
            Err(_) => ExportBody::Text(String::from_utf8_lossy(&body.0)),
        };
        WholeRequest { line, operations: edits, reply: answer, body }
    }
}

impl Log {
    /// Writes requests in a form, the oldest first, and gives how many.
    ///
    /// # Errors
    /// When the log cannot be read, or the file not written.
    pub fn export(
        &self,
        filter: &Filter,
        format: ExportFormat,
        out: &mut impl Write,
    ) -> Result<usize, LogError> {
        match format {
            ExportFormat::Jsonl => self.each(filter, |request| {
                serde_json::to_writer(&mut *out, &WholeRequest::of(&request))
                    .map_err(std::io::Error::from)?;
                Ok(out.write_all(b"\n")?)
            }),
            ExportFormat::Har => {
                let creator = json!({ "name": "leafgate", "version": env!("CARGO_PKG_VERSION") });
                write!(out, "{{\"log\":{{\"version\":\"1.2\",\"creator\":{creator},\"entries\":[")?;
                let mut first = true;
                let count = self.each(filter, |request| {
                    let comma = if std::mem::take(&mut first) { "" } else { "," };
                    Ok(write!(out, "{comma}\n{}", har_entry(&request))?)
                })?;
                writeln!(out, "\n]}}}}")?;
                Ok(count)
            }
            ExportFormat::Replay => {
                let mut prompts: Vec<Value> = Vec::new();
                let count = self.each(filter, |request| {
                    add_prompt(&mut prompts, &request);
                    Ok(())
                })?;
                let entries: usize =
                    prompts.iter().map(|prompt| prompt["logs"].as_array().map_or(0, Vec::len)).sum();
                let replay = json!({
                    "exportedAt": moment(crate::schema::millis(std::time::SystemTime::now())),
                    "totalPrompts": prompts.len(),
                    "totalLogEntries": entries,
                    "prompts": prompts,
                });
                writeln!(out, "{replay:#}")?;
                Ok(count)
            }
            ExportFormat::Chat => {
                let mut turns: Vec<Value> = Vec::new();
                let mut agent = String::new();
                let count = self.each(filter, |request| {
                    agent.clone_from(&request.line.agent);
                    add_turn(&mut turns, &request);
                    Ok(())
                })?;
                let chat = json!({
                    // Early versions want both names.
                    "requesterUsername": "you", "responderUsername": agent,
                    "initialLocation": "panel", "requests": turns,
                });
                writeln!(out, "{chat:#}")?;
                Ok(count)
            }
        }
    }

    fn each(
        &self,
        filter: &Filter,
        mut take: impl FnMut(RequestView) -> Result<(), LogError>,
    ) -> Result<usize, LogError> {
        let mut all = Vec::new();
        let mut before = None;
        // Numbers alone: bodies are read one at a time.
        loop {
            let page = self.list(filter, before, 1000)?;
            let Some(last) = page.last() else { break };
            before = Some(last.id);
            all.extend(page.iter().map(|line| line.id));
        }
        for &id in all.iter().rev() {
            take(self.show(id)?)?;
        }
        Ok(all.len())
    }

    /// Writes the receipts of all requests, or of those from one number on, as a file that
    /// [`receipt::verify`] checks. Gives how many there are.
    ///
    /// # Errors
    /// When the log cannot be read, or the file not written.
    pub fn export_receipts(
        &self,
        keys: &StoreKeys,
        from: Option<i64>,
        out: &mut impl Write,
    ) -> Result<usize, LogError> {
        let mut all = self
            .database
            .prepare_cached("SELECT id, receipt, signature FROM request WHERE id >= ?1 ORDER BY id")?;
        let from = from.unwrap_or(0);
        let first = all.query([from])?.next()?.map(|row| row.get::<_, String>(1)).transpose()?;
        let first: Option<receipt::Receipt> = first.and_then(|text| serde_json::from_str(&text).ok());
        let previous = first.map_or_else(|| receipt::NONE.to_owned(), |first| first.previous);
        let mut file = receipt::FileWriter::begin(out, keys, &previous)?;
        let mut rows = all.query([from])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let signature: Vec<u8> = row.get(2)?;
            file.receipt(row.get(0)?, row.get(1)?, &signature)?;
            count += 1;
        }
        file.end()?;
        Ok(count)
    }
}

fn moment(millis: i64) -> String {
    let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000).ok();
    moment.and_then(|moment| moment.format(&Rfc3339).ok()).unwrap_or_default()
}

fn har_entry(request: &RequestView) -> Value {
    let RequestView { line, body, answer, .. } = request;
    let sent = String::from_utf8_lossy(&body.0);
    let answered = answer.as_ref().map(|answer| serde_json::to_string(answer).unwrap_or_default());
    let answered = answered.unwrap_or_default();
    let wait = line.head_ms.unwrap_or(0);
    let receive = line.answer_ms.unwrap_or(wait).saturating_sub(wait);
    // An upstream that is no URL has none that an archive could name.
    let upstream = if line.upstream.contains("://") { &line.upstream } else { "http://leafgate.invalid" };
    let at = line.upstream_name.as_ref().map(|name| format!(", at upstream {name}")).unwrap_or_default();
    json!({
        "startedDateTime": moment(line.at),
        "time": wait + receive,
        "request": {
            "method": line.method, "url": format!("{}{}", upstream.trim_end_matches('/'), chosen_upstream(&line.path).1), "httpVersion": "HTTP/1.1",
            "cookies": [], "headers": [], "queryString": [], "headersSize": -1,
            "bodySize": line.bytes_sent.unwrap_or(0),
            "postData": { "mimeType": "application/json", "params": [], "text": sent },
        },
        "response": {
            "status": line.status.unwrap_or(0), "statusText": "", "httpVersion": "HTTP/1.1",
            "cookies": [], "headers": [], "redirectURL": "", "headersSize": -1, "bodySize": -1,
            "content": { "size": answered.len(), "mimeType": "application/json", "text": answered },
        },
        "cache": {},
        "timings": { "send": 0, "wait": wait, "receive": receive },
        "comment": format!("request {} of the log, findings masked: {}{at}", line.id, line.verdict),
    })
}

/// Returns what a person asked last: what comes behind it is the model's and its tools'.
fn question(messages: &[TurnText]) -> String {
    let asked = messages.iter().rev().find(|said| said.speaker == Role::User);
    asked.map(|said| said.text.clone()).unwrap_or_default()
}

/// Adds a request to a replay: to the prompt before it, where it goes on with that.
fn add_prompt(prompts: &mut Vec<Value>, request: &RequestView) {
    let RequestView { line, answer, .. } = request;
    let messages = said(&request.body.0);
    let asked = question(&messages);
    let goes_on =
        prompts.last().is_some_and(|last| last["prompt"] == *asked && last["session"] == *line.session);
    if !goes_on {
        prompts.push(
            json!({ "prompt": asked, "session": line.session, "hasSeen": false, "logCount": 0, "logs": [] }),
        );
    }
    let raw: Vec<Value> = messages
        .iter()
        .map(|said| {
            let role = match said.speaker {
                Role::System => 0,
                Role::User | Role::Other => 1,
                Role::Assistant => 2,
                Role::Tool => 3,
            };
            json!({ "role": role, "content": [{ "type": 1, "text": said.text }] })
        })
        .collect();
    let end = line.at + line.answer_ms.unwrap_or(0);
    let is_answered = line.status.is_some_and(|status| (200..300).contains(&status));
    let mut logs = vec![json!({
        "id": line.id.to_string(),
        "kind": "request",
        "type": if is_answered { "ChatMLSuccess" } else { "ChatMLFailure" },
        "name": format!("{}/{}", line.agent, line.class),
        "metadata": {
            "requestType": line.api, "model": line.model, "startTime": moment(line.at), "endTime": moment(end),
            "duration": line.answer_ms, "timeToFirstToken": line.head_ms, "ourRequestId": line.id.to_string(),
            "usage": {
                "prompt_tokens": line.input_tokens, "completion_tokens": line.output_tokens,
                "prompt_tokens_details": { "cached_tokens": line.cached_tokens },
            },
        },
        "requestMessages": { "messages": raw },
        "response": {
            "type": if is_answered { "success" } else { "failed" },
            "message": answer.iter().map(|answer| answer.content.as_str()).collect::<Vec<_>>(),
        },
    })];
    logs.extend(answer.iter().flat_map(|answer| &answer.calls).map(|SavedCall { id, name, arguments }| {
        json!({ "id": id, "kind": "toolCall", "tool": name, "args": arguments, "time": moment(end), "response": [] })
    }));
    if let Some(prompt) = prompts.last_mut() {
        if let Some(all) = prompt["logs"].as_array_mut() {
            all.append(&mut logs);
        }
        prompt["logCount"] = prompt["logs"].as_array().map_or(0, Vec::len).into();
    }
}

/// Adds a request to a chat: to the turn before it, where it asks the same. What no person asked is
/// left out.
fn add_turn(turns: &mut Vec<Value>, request: &RequestView) {
    let RequestView { line, answer, .. } = request;
    if line.class != "main" {
        return;
    }
    let asked = question(&said(&request.body.0));
    if turns.last().is_none_or(|last| last["message"]["text"] != *asked) {
        turns.push(json!({
            "requestId": format!("request_{}", line.id),
            "message": { "text": asked, "parts": [{ "kind": "text", "text": asked,
                "range": { "start": 0, "endExclusive": asked.encode_utf16().count() },
                "editorRange": { "startLineNumber": 1, "startColumn": 1, "endLineNumber": 1, "endColumn": 1 } }] },
            "variableData": { "variables": [] },
            "response": [],
            "timestamp": line.at,
            "modelId": line.model,
        }));
    }
    let mut parts = Vec::new();
    if let Some(answer) = answer {
        parts.extend((!answer.content.is_empty()).then(|| json!({ "value": answer.content })));
        parts.extend(answer.calls.iter().map(|call| {
            json!({ "value": format!("\n\n`{}` `{}`\n\n", call.name, call.arguments.replace('`', "'")) })
        }));
    }
    if let Some(all) = turns.last_mut().and_then(|turn| turn["response"].as_array_mut()) {
        all.append(&mut parts);
    }
}
