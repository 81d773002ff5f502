//! Reads a log, beside the gate that writes it or without one: by the numbers of requests. `lists` and `search` read it
//! otherwise.

use std::path::Path;

use leafgate_record::RecordedEdit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Params, Row, params};
use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lists::{RequestLine, listed};
use crate::live::SavedCall;
use crate::pieces::read_ids;
use crate::schema::{self, FILE, OPENING};
use crate::tokens::{JsonToken, JsonTokenKind, JsonTokens};

/// A piece is no larger when it is read: a body has that bound.
const MOST: usize = 64 << 20;

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// What was asked for is not there, or nobody can read it: what, and what to do.
    #[error("{0}")]
    Refused(String),
    /// The database does not answer.
    #[error("the log cannot be read")]
    Sqlite(#[from] rusqlite::Error),
    /// What was read cannot be written.
    #[error("cannot write")]
    Io(#[from] std::io::Error),
}

impl LogError {
    pub(crate) fn no_request(id: i64) -> Self {
        LogError::Refused(format!(
            "request {id} is not in the log, where it may have been removed for its age: `leafgate log list` shows \
             those that are"
        ))
    }

    fn damaged(id: i64) -> Self {
        LogError::Refused(format!(
            "the log is damaged at request {id}: move it away, and the next gate begins a new one"
        ))
    }
}

/// A body as the log has it: what left, or what came where nothing did; findings masked.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("{} bytes", self.0.len())]
pub struct BodyView(pub Vec<u8>);

/// An answer as the log has it: findings masked, tokens not restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerView {
    /// The model that answered.
    pub model: String,
    /// What it thought, as far as it is shown.
    pub reasoning: String,
    /// What it said.
    pub content: String,
    /// What it asked the client to do.
    #[serde(deserialize_with = "listed")]
    pub calls: Vec<SavedCall>,
    /// What the upstream says went wrong.
    pub failure: Option<String>,
}

impl BodyView {
    /// Returns JSON over several lines, spelled as it is; what is none, unchanged.
    pub fn pretty(&self) -> String {
        if serde_json::from_slice::<IgnoredAny>(&self.0).is_err() {
            return String::from_utf8_lossy(&self.0).into_owned();
        }
        let (mut out, mut depth, mut is_begun) =
            (String::with_capacity(self.0.len() * 5 / 4), 0_usize, false);
        let line = |out: &mut String, depth| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        for JsonToken { text, kind, .. } in JsonTokens::new(&self.0) {
            let is_end = matches!(kind, JsonTokenKind::Sign(b'}' | b']'));
            if matches!(kind, JsonTokenKind::Sign(sign) if sign.is_ascii_whitespace()) {
                continue;
            }
            depth -= usize::from(is_end);
            // What was just begun and ends at once stays in one line.
            if is_begun != is_end {
                line(&mut out, depth);
            }
            is_begun = matches!(kind, JsonTokenKind::Sign(b'{' | b'['));
            depth += usize::from(is_begun);
            out.push_str(&String::from_utf8_lossy(text));
            match kind {
                JsonTokenKind::Sign(b',') => line(&mut out, depth),
                JsonTokenKind::Sign(b':') => out.push(' '),
                JsonTokenKind::Sign(_) | JsonTokenKind::String | JsonTokenKind::Scalar => {}
            }
        }
        out
    }
}

impl Serialize for BodyView {
    /// Writes JSON as it is spelled, and what is none as a text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_slice::<&RawValue>(&self.0) {
            Ok(json) => json.serialize(serializer),
            Err(_) => String::from_utf8_lossy(&self.0).serialize(serializer),
        }
    }
}

/// All that the log has of one request.
#[derive(Clone, Debug, Serialize)]
pub struct RequestView {
    /// What lists show of it.
    #[serde(flatten)]
    pub line: RequestLine,
    /// What was changed.
    #[serde(rename = "operations")]
    pub edits: Vec<RecordedEdit>,
    /// Its answer.
    #[serde(rename = "reply")]
    pub answer: Option<AnswerView>,
    /// Its body.
    pub body: BodyView,
}

/// A log that is read.
#[derive(Debug)]
pub struct Log {
    pub(crate) database: Connection,
}

impl Log {
    /// Opens the log of a folder.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Log, LogError> {
        let path = folder.join(FILE);
        let shown = path.display();
        let unreadable = |why: std::io::Error| {
            LogError::Refused(format!(
                "the log {shown} cannot be read: {why}; LEAFGATE_DATA_DIR names the folder of the gate that wrote it, \
                 whose user reads it"
            ))
        };
        match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Err(unreadable(std::io::Error::other("it is no file"))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let none = format!("there is no log yet: {shown} is not there; `leafgate run` writes it");
                return Err(LogError::Refused(none));
            }
            Err(why) => return Err(unreadable(why)),
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(&path, flags)?;
        database.busy_timeout(OPENING)?;
        let found = schema::version_of(&database).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => LogError::Refused(format!(
                "the log {shown} is damaged: move it away, and the next gate begins a new one"
            )),
            _ => LogError::Sqlite(error),
        })?;
        if found != schema::VERSION {
            return Err(LogError::Refused(format!(
                "the log has version {found}, and this program reads {}: start its gate once with this program",
                schema::VERSION
            )));
        }
        Ok(Log { database })
    }

    /// Returns the rows that a query gives.
    pub(crate) fn rows<T>(
        &self,
        query: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, LogError> {
        let mut query = self.database.prepare_cached(query)?;
        Ok(query.query_map(params, read)?.collect::<Result<_, _>>()?)
    }

    /// Returns the first row that a query gives.
    pub(crate) fn row<T>(
        &self,
        query: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, LogError> {
        Ok(self.database.prepare_cached(query)?.query_row(params, read).optional()?)
    }

    /// Returns what lists show of a request, and the ids of its pieces.
    pub(crate) fn line_and_pieces(&self, id: i64) -> Result<Option<(RequestLine, Vec<i64>)>, LogError> {
        self.row("SELECT * FROM request WHERE id = ?1", [id], |row| {
            Ok((read_row(row)?, read_ids(&row.get::<_, Vec<u8>>("pieces")?)))
        })
    }

    /// Returns all that is known of a request.
    ///
    /// # Errors
    /// When it is not there, or the log cannot be read.
    pub fn show(&self, id: i64) -> Result<RequestView, LogError> {
        let (line, pieces) = self.line_and_pieces(id)?.ok_or_else(|| LogError::no_request(id))?;
        let body: Result<Vec<_>, _> = pieces.into_iter().map(|piece| self.piece(id, piece)).collect();
        Ok(RequestView {
            edits: self.edits(id)?,
            body: BodyView(body?.concat()),
            answer: self.answer(id)?,
            line,
        })
    }

    fn edits(&self, id: i64) -> Result<Vec<RecordedEdit>, LogError> {
        let query =
            "SELECT kind, path, rule, label, detector, length FROM edit WHERE request = ?1 ORDER BY rowid";
        self.rows(query, [id], read_row)
    }

    /// Returns a piece of a request's body.
    pub(crate) fn piece(&self, id: i64, piece: i64) -> Result<Vec<u8>, LogError> {
        let found = self.row("SELECT size, data FROM piece WHERE id = ?1", [piece], |row| {
            Ok((row.get::<_, usize>(0)?, row.get::<_, Vec<u8>>(1)?))
        })?;
        let (size, data) = found.ok_or_else(|| LogError::damaged(id))?;
        zstd::bulk::decompress(&data, size.min(MOST)).map_err(|_| LogError::damaged(id))
    }

    pub(crate) fn answer(&self, id: i64) -> Result<Option<AnswerView>, LogError> {
        let query = "SELECT coalesce(model, '') AS model, reasoning, content, calls, failure FROM answer WHERE request = ?1";
        self.row(query, [id], read_row)
    }

    /// Returns the number of the request of a conversation that came at this moment, in milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn came_at(&self, session: &str, at: u64) -> Result<Option<i64>, LogError> {
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        let query = "SELECT id FROM request WHERE session = ?1 AND at = ?2 ORDER BY id DESC LIMIT 1";
        self.row(query, params![session, at], |row| row.get(0))
    }

    /// Returns the number of the newest request, 0 where there is none.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn newest(&self) -> Result<i64, LogError> {
        Ok(self.database.query_row("SELECT coalesce(max(id), 0) FROM request", [], |row| row.get(0))?)
    }

    /// Returns a number that is another one as soon as anybody has written since it was last asked
    /// for.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn data_version(&self) -> Result<i64, LogError> {
        Ok(self.database.query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }
}

/// Reads a row by the names of its columns, but for bytes.
pub(crate) fn read_row<T: DeserializeOwned>(row: &Row<'_>) -> rusqlite::Result<T> {
    let mut columns = Vec::new();
    for (place, name) in row.as_ref().column_names().into_iter().enumerate() {
        columns.push((
            name,
            match row.get_ref(place)? {
                ValueRef::Integer(number) => number.into(),
                ValueRef::Text(text) => {
                    std::str::from_utf8(text).map_err(|_| rusqlite::Error::InvalidQuery)?.into()
                }
                ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => Value::Null,
            },
        ));
    }
    // Why it does not fit would quote it.
    T::deserialize(MapDeserializer::<_, serde_json::Error>::new(columns.into_iter()))
        .map_err(|_| rusqlite::Error::InvalidQuery)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_shown_over_several_lines_as_it_is_spelled() {
        let json = r#"{"b":[1.50,{}, [] ],"a":"\"{,\\","c":{"d":null}}"#;
        assert_eq!(
            BodyView(json.into()).pretty(),
            "{\n  \"b\": [\n    1.50,\n    {},\n    []\n  ],\n  \"a\": \"\\\"{,\\\\\",\n  \"c\": {\n    \"d\": null\n  }\n}"
        );
        assert_eq!(BodyView(b"{no json".to_vec()).pretty(), "{no json");
    }
}
