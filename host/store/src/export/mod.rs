//! A log as files that other programs read.
//!
//! What is written is what the log has: findings masked, tokens not restored, no headers.

use std::io::{self, Write};

use bytes::Bytes;
use leafgate_adapt::{TurnMessage, further_ids};
use leafgate_record::chosen_upstream;
use leafgate_tree::{Document, Limits};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::keys::StoreKeys;
use crate::lists::{Filter, RequestLine};
use crate::live::SavedCall;
use crate::log::{Log, LogError, RequestView};
use crate::receipt;

mod chat;
mod questions;
mod replay;

use questions::Questions;

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

impl Log {
    /// Writes requests in a form, the oldest first, and gives how many. Each stretch that `write` takes is text of JSON whose
    /// strings are whole.
    ///
    /// # Errors
    /// When the log cannot be read, or the file not written.
    pub fn export(
        &self,
        filter: &Filter,
        format: ExportFormat,
        mut write: impl FnMut(&str) -> io::Result<()>,
    ) -> Result<usize, LogError> {
        match format {
            ExportFormat::Jsonl => self.each(filter, |request| {
                let line = serde_json::to_string(&request).map_err(io::Error::from)?;
                // A client may have spelled its body over several lines. No line ends within a string.
                Ok(write(&(line.replace(['\r', '\n'], " ") + "\n"))?)
            }),
            ExportFormat::Har => {
                let creator = json!({ "name": "leafgate", "version": env!("CARGO_PKG_VERSION") });
                write(&format!("{{\"log\":{{\"version\":\"1.2\",\"creator\":{creator},\"entries\":["))?;
                let mut first = true;
                let count = self.each(filter, |request| {
                    let comma = if std::mem::take(&mut first) { "" } else { "," };
                    Ok(write(&format!("{comma}\n{}", har_entry(&request)))?)
                })?;
                write("\n]}}\n")?;
                Ok(count)
            }
            ExportFormat::Replay => self.questions(filter, write, replay::add, replay::json),
            ExportFormat::Chat => self.questions(filter, write, chat::add, chat::json),
        }
    }

    /// Writes requests in a form that has them by what people asked.
    fn questions(
        &self,
        filter: &Filter,
        mut write: impl FnMut(&str) -> io::Result<()>,
        add: fn(&mut Questions, &RequestView),
        json: fn(Questions) -> Value,
    ) -> Result<usize, LogError> {
        let mut questions = Questions::default();
        let count = self.each(filter, |request| {
            add(&mut questions, &request);
            Ok(())
        })?;
        write(&format!("{:#}\n", json(questions)))?;
        Ok(count)
    }

    fn each(
        &self,
        filter: &Filter,
        mut take: impl FnMut(RequestView) -> Result<(), LogError>,
    ) -> Result<usize, LogError> {
        // Bodies are read one at a time.
        let numbers = self.numbers(filter)?;
        numbers.iter().try_for_each(|&id| take(self.show(id)?))?;
        Ok(numbers.len())
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

/// Whether an answer came whole, with a status that says so.
fn is_answered(line: &RequestLine) -> bool {
    line.status.is_some_and(|status| (200..300).contains(&status))
}

/// The messages of a body as the log has it.
fn messages(request: &RequestView) -> Vec<TurnMessage> {
    let document = Document::detect(Bytes::copy_from_slice(&request.body.0), &Limits::default());
    document.map(|document| leafgate_adapt::messages(&document)).unwrap_or_default()
}

/// Gives calls that answers brought the ids by which [`messages`] names them, where the API has none.
fn with_ids(calls: &[SavedCall], before: &[TurnMessage]) -> Vec<SavedCall> {
    let ids = further_ids(calls.iter().map(|call| (&*call.id, &*call.name)), before);
    calls.iter().zip(ids).map(|(call, id)| SavedCall { id, ..call.clone() }).collect()
}
