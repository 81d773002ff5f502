//! Reads a log, beside the gate that writes it or without one.

use std::path::{Path, PathBuf};

use leafgate_admin::shown_url;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, params};
use serde::Serialize;

use crate::found;
use crate::live::SavedCall;
use crate::pieces::read_ids;
use crate::schema::{self, FILE, OPENING};
use crate::work::WrittenEdit;

/// A piece is no larger when it is read: a body has that bound.
const MOST: usize = 64 << 20;

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// There is none.
    #[error("there is no log yet: {} is not there; `leafgate run` writes it", path.display())]
    None {
        /// Where it would be.
        path: PathBuf,
    },
    /// What stands there is none that this user can read.
    #[error(
        "the log {} cannot be read: {why}; LEAFGATE_DATA_DIR names the folder of the gate that wrote it, whose user reads it",
        path.display()
    )]
    Unreadable {
        /// Where it would be.
        path: PathBuf,
        /// Why not.
        why: std::io::Error,
    },
    /// It was written by another version of the program.
    #[error(
        "the log has version {found}, and this program reads {expected}: start its gate once with this program"
    )]
    Version {
        /// That of the log.
        found: i64,
        /// That of the program.
        expected: i64,
    },
    /// A request is not there.
    #[error(
        "request {id} is not in the log, where it may have been removed for its age: `leafgate log list` shows those that are"
    )]
    NoRequest {
        /// Which.
        id: i64,
    },
    /// No rule matched in a request.
    #[error("no rule matched in request {id}")]
    NoRules {
        /// Which.
        id: i64,
    },
    /// A rule did not match in a request.
    #[error("rule `{rule}` did not match in request {id}: `leafgate log show {id}` names those that did")]
    NoMatch {
        /// The request.
        id: i64,
        /// The rule.
        rule: String,
    },
    /// The text is no search.
    #[error("nothing to search for: give a word, or several")]
    NoWords,
    /// What is read is damaged.
    #[error("the log is damaged at request {id}: move it away, and the next gate begins a new one")]
    Damaged {
        /// Which.
        id: i64,
    },
    /// The database does not answer.
    #[error("the log cannot be read")]
    Sqlite(#[source] rusqlite::Error),
    /// The file is no database any more.
    #[error("the log {} is damaged: move it away, and the next gate begins a new one", path.display())]
    NoDatabase {
        /// Which.
        path: PathBuf,
    },
    /// What was read cannot be written.
    #[error("cannot write")]
    Io(#[from] std::io::Error),
}

impl From<rusqlite::Error> for LogError {
    fn from(error: rusqlite::Error) -> Self {
        LogError::Sqlite(error)
    }
}

/// Which requests are meant.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Those since then, in milliseconds of Unix time.
    pub since: Option<i64>,
    /// Those of a conversation, by the beginning of its key.
    pub session: Option<String>,
}

/// What the keys of all conversations begin with.
const KEYS: &str = "SESSION_h";

/// One request in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestLine {
    /// Its number.
    pub id: i64,
    /// When it came, in milliseconds of Unix time.
    pub at: i64,
    /// The conversation, by its opaque key.
    pub session: String,
    /// The client program.
    pub agent: String,
    /// Whose request it is: `main`, `subagent`, `side`.
    pub class: String,
    /// The API that it asked.
    pub api: String,
    /// The HTTP method.
    pub method: String,
    /// The path without its query.
    pub path: String,
    /// The URL of the upstream that it went to, without what may be a key.
    pub upstream: String,
    /// What the configuration calls that upstream; `None` for one without a name, and for what an
    /// older program logged.
    pub upstream_name: Option<String>,
    /// The model that it asked.
    pub model: Option<String>,
    /// `forwarded`, or why it was not.
    pub verdict: String,
    /// What held it.
    pub held: Option<String>,
    /// The generation of the policy that judged it.
    pub generation: String,
    /// The rules that matched.
    pub rules: Vec<String>,
    /// How much the one of them matters that matters most; `None` where none says it.
    pub severity: Option<String>,
    /// What rules tagged it with.
    pub tags: Vec<String>,
    /// The id by which its client names the last message of its user, `message_id`.
    pub message: Option<String>,
    /// Edits that stand in what left.
    pub edits: i64,
    /// Redactions that stand in what left.
    pub redactions: i64,
    /// Bytes that came.
    pub bytes_received: i64,
    /// Bytes that left.
    pub bytes_sent: Option<i64>,
    /// The keyed digest of what came.
    pub received: String,
    /// The keyed digest of what left.
    pub sent: Option<String>,
    /// Whether what left is what a person agreed to; `None` where nobody was asked.
    pub shown_is_sent: Option<bool>,
    /// Microseconds that the gate took to judge it.
    pub judging_us: i64,
    /// Milliseconds that it waited for a person.
    pub waiting_ms: Option<i64>,
    /// The status of the answer.
    pub status: Option<i64>,
    /// Milliseconds until the answer began.
    pub head_ms: Option<i64>,
    /// Milliseconds until it ended.
    pub answer_ms: Option<i64>,
    /// `none`, `open` (it is coming, or the gate was killed and none has started since), `complete`,
    /// `broken`, `unread`.
    pub answer: String,
    /// What rules and people made of it: `passed`, `changed`, `held` (a person was asked, and has not
    /// decided), `approved`, `edited`, `partly-refused`, `refused`, `abandoned` (its client left, or the
    /// gate ended, while a person was asked), `blocked`; `None` where no rule matched in it.
    pub ruled: Option<String>,
    /// The rules that matched in it.
    pub ruled_by: Vec<String>,
    /// Why the model stopped.
    pub finish: Option<String>,
    /// Tokens that the provider says it read.
    pub input_tokens: Option<i64>,
    /// Those of them that came from its cache.
    pub cached_tokens: Option<i64>,
    /// Tokens that it says it wrote.
    pub output_tokens: Option<i64>,
}

/// A request in which words were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundRequest {
    /// What lists show of it.
    #[serde(flatten)]
    pub request: RequestLine,
    /// The line that says them first, as the log has it, or the part of it around them; `None` where the
    /// words are spelled otherwise there, as with accents.
    pub found: Option<String>,
}

/// The columns of [`RequestLine`], in order.
const LINE: &str = "id, at, session, agent, class, api, method, path, upstream, model, verdict, held, generation, \
rules, edits, redactions, bytes_received, bytes_sent, received, sent, shown_is_sent, judging_us, waiting_ms, status, \
head_ms, answer_ms, answer, finish, input, cached, output, ruled, ruled_by, upstream_name, severity, tags, message";

fn line(row: &Row<'_>) -> rusqlite::Result<RequestLine> {
    let rules: String = row.get(13)?;
    Ok(RequestLine {
        id: row.get(0)?,
        at: row.get(1)?,
        session: row.get(2)?,
        agent: row.get(3)?,
        class: row.get(4)?,
        api: row.get(5)?,
        method: row.get(6)?,
        path: row.get(7)?,
        // An older program logged it whole.
        upstream: shown_url(&row.get::<_, String>(8)?),
        upstream_name: row.get(33)?,
        model: row.get(9)?,
        verdict: row.get(10)?,
        held: row.get(11)?,
        generation: row.get(12)?,
        rules: serde_json::from_str(&rules).unwrap_or_default(),
        severity: row.get(34)?,
        tags: serde_json::from_str(&row.get::<_, String>(35)?).unwrap_or_default(),
        message: row.get(36)?,
        edits: row.get(14)?,
        redactions: row.get(15)?,
        bytes_received: row.get(16)?,
        bytes_sent: row.get(17)?,
        received: row.get(18)?,
        sent: row.get(19)?,
        shown_is_sent: row.get(20)?,
        judging_us: row.get(21)?,
        waiting_ms: row.get(22)?,
        status: row.get(23)?,
        head_ms: row.get(24)?,
        answer_ms: row.get(25)?,
        answer: row.get(26)?,
        finish: row.get(27)?,
        input_tokens: row.get(28)?,
        cached_tokens: row.get(29)?,
        output_tokens: row.get(30)?,
        ruled: row.get(31)?,
        ruled_by: serde_json::from_str(&row.get::<_, String>(32)?).unwrap_or_default(),
    })
}

/// A body as the log has it: what left, or what came where nothing did; findings masked.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("{} bytes", self.0.len())]
pub struct BodyView(pub Vec<u8>);

/// An answer as the log has it: findings masked, tokens not restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerView {
    /// The model that answered.
    pub model: String,
    /// What it thought, as far as it is shown.
    pub reasoning: String,
    /// What it said.
    pub content: String,
    /// What it asked the client to do.
    pub calls: Vec<SavedCall>,
    /// What the upstream says went wrong.
    pub failure: Option<String>,
}

/// All that the log has of one request.
#[derive(Clone, Debug)]
pub struct RequestView {
    /// What lists show of it.
    pub line: RequestLine,
    /// What was changed.
    pub edits: Vec<WrittenEdit>,
    /// Its body.
    pub body: BodyView,
    /// Its answer.
    pub answer: Option<AnswerView>,
}

/// How often something was redacted at places of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RedactionLine {
    /// What was recognised.
    pub label: String,
    /// How often it was redacted. A turn that repeats a value counts again.
    pub count: i64,
    /// In how many requests.
    pub requests: i64,
    /// Where, with no numbers of elements.
    pub place: String,
    /// Which detector found it, where it is known.
    pub detector: Option<String>,
    /// The rule that redacted it.
    pub rule: String,
    /// When it was redacted last, in milliseconds of Unix time.
    pub last: i64,
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
        match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Err(LogError::Unreadable { path, why: std::io::Error::other("it is no file") }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(LogError::None { path });
            }
            Err(why) => return Err(LogError::Unreadable { path, why }),
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(&path, flags)?;
        database.busy_timeout(OPENING)?;
        let found = schema::version_of(&database).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => LogError::NoDatabase { path },
            _ => LogError::Sqlite(error),
        })?;
        if found != schema::VERSION {
            return Err(LogError::Version { found, expected: schema::VERSION });
        }
        Ok(Log { database })
    }

    /// Returns requests, the newest first: those before `before`, where one is given, and at most
    /// `most`.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn list(
        &self,
        filter: &Filter,
        before: Option<i64>,
        most: usize,
    ) -> Result<Vec<RequestLine>, LogError> {
        let before = before.unwrap_or(i64::MAX);
        let first = self.first_since(filter)?;
        let query = |condition: &str| {
            format!(
                "SELECT {LINE} FROM request WHERE {condition} id < ?1 AND id >= ?2 ORDER BY id DESC LIMIT ?3"
            )
        };
        let lines = match &filter.session {
            None => {
                let mut list = self.database.prepare_cached(&query(""))?;
                list.query_map(params![before, first, most], line)?.collect::<Result<_, _>>()?
            }
            Some(begin) => {
                let Some(session) = self.session(begin)? else { return Ok(Vec::new()) };
                let mut list = self.database.prepare_cached(&query("session = ?4 AND"))?;
                list.query_map(params![before, first, most, session], line)?.collect::<Result<_, _>>()?
            }
        };
        Ok(lines)
    }

    /// Returns the requests behind one, the oldest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn after(&self, id: i64, most: usize) -> Result<Vec<RequestLine>, LogError> {
        let query = format!("SELECT {LINE} FROM request WHERE id > ?1 ORDER BY id LIMIT ?2");
        let mut list = self.database.prepare_cached(&query)?;
        Ok(list.query_map(params![id, most], line)?.collect::<Result<_, _>>()?)
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

    /// Returns all that is known of a request.
    ///
    /// # Errors
    /// When it is not there, or the log cannot be read.
    pub fn show(&self, id: i64) -> Result<RequestView, LogError> {
        let query = format!("SELECT {LINE}, pieces FROM request WHERE id = ?1");
        let mut show = self.database.prepare_cached(&query)?;
        let found =
            show.query_row([id], |row| Ok((line(row)?, row.get::<_, Vec<u8>>("pieces")?))).optional()?;
        let (line, pieces) = found.ok_or(LogError::NoRequest { id })?;
        Ok(RequestView {
            edits: self.edits(id)?,
            body: self.body(id, &pieces)?,
            answer: self.answer(id)?,
            line,
        })
    }

    fn edits(&self, id: i64) -> Result<Vec<WrittenEdit>, LogError> {
        let mut edits = self.database.prepare_cached(
            "SELECT kind, path, rule, label, detector, length FROM edit WHERE request = ?1 ORDER BY rowid",
        )?;
        let edits = edits.query_map([id], |row| {
            Ok(WrittenEdit {
                kind: row.get(0)?,
                path: row.get(1)?,
                rule: row.get(2)?,
                label: row.get(3)?,
                detector: row.get(4)?,
                length: row.get(5)?,
            })
        })?;
        Ok(edits.collect::<Result<_, _>>()?)
    }

    fn body(&self, id: i64, pieces: &[u8]) -> Result<BodyView, LogError> {
        let mut body = Vec::new();
        for piece in read_ids(pieces) {
            body.extend(self.piece(id, piece)?);
        }
        Ok(BodyView(body))
    }

    /// Returns a piece of a request's body.
    fn piece(&self, id: i64, piece: i64) -> Result<Vec<u8>, LogError> {
        let mut find = self.database.prepare_cached("SELECT size, data FROM piece WHERE id = ?1")?;
        let found = find.query_row([piece], |row| Ok((row.get::<_, usize>(0)?, row.get::<_, Vec<u8>>(1)?)));
        let (size, data) = found.optional()?.ok_or(LogError::Damaged { id })?;
        zstd::bulk::decompress(&data, size.min(MOST)).map_err(|_| LogError::Damaged { id })
    }

    fn answer(&self, id: i64) -> Result<Option<AnswerView>, LogError> {
        let mut find = self.database.prepare_cached(
            "SELECT model, reasoning, content, calls, failure FROM answer WHERE request = ?1",
        )?;
        let found = find.query_row([id], |row| {
            let calls: String = row.get(3)?;
            Ok(AnswerView {
                model: row.get::<_, Option<String>>(0)?.unwrap_or_default(),
                reasoning: row.get(1)?,
                content: row.get(2)?,
                calls: serde_json::from_str(&calls).unwrap_or_default(),
                failure: row.get(4)?,
            })
        });
        Ok(found.optional()?)
    }

    /// Returns the number of the request of a conversation that came at this moment, in milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn came_at(&self, session: &str, at: u64) -> Result<Option<i64>, LogError> {
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        let mut find = self.database.prepare_cached(
            "SELECT id FROM request WHERE session = ?1 AND at = ?2 ORDER BY id DESC LIMIT 1",
        )?;
        Ok(find.query_row(params![session, at], |row| row.get(0)).optional()?)
    }

    /// Returns the requests in which words appear for the first time, and those in whose answers or ids of messages they
    /// do: all the words, in any order, the newest request first. A turn that only repeats what was
    /// said before is not among them.
    ///
    /// # Errors
    /// When there is no word, or the log cannot be read.
    pub fn search(
        &self,
        words: &str,
        before: Option<i64>,
        most: usize,
    ) -> Result<Vec<FoundRequest>, LogError> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Err(LogError::NoWords);
        }
        let asked: Vec<String> =
            words.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
        let before = schema::words_of(before.unwrap_or(i64::MAX >> 32), 0);
        let mut found = self.database.prepare_cached(
            "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC",
        )?;
        let query = format!("SELECT {LINE}, pieces FROM request WHERE id = ?1");
        let mut show = self.database.prepare_cached(&query)?;
        let (mut lines, mut last) = (Vec::new(), None);
        // The newest stand first, so what is behind the page is not looked at.
        let mut rows = found.query(params![asked.join(" "), before])?;
        while let Some(row) = rows.next()? {
            let place = row.get(0)?;
            let id = schema::request_of(place);
            if last.replace(id) == Some(id) {
                continue;
            }
            let request =
                show.query_row([id], |row| Ok((line(row)?, row.get::<_, Vec<u8>>("pieces")?))).optional()?;
            if let Some((request, pieces)) = request {
                let found = match place == schema::message_of(id) {
                    true => request.message.clone(),
                    false => self.line_with(&words, id, &pieces, schema::text_of(place))?,
                };
                lines.push(FoundRequest { request, found });
            }
            if lines.len() == most {
                break;
            }
        }
        Ok(lines)
    }

    /// Returns the line with some words of a text that can be searched: of the answer, or of a piece of the
    /// body.
    fn line_with(
        &self,
        words: &[String],
        id: i64,
        pieces: &[u8],
        text: usize,
    ) -> Result<Option<String>, LogError> {
        let Some(place) = text.checked_sub(1) else {
            let Some(AnswerView { content, reasoning, calls, .. }) = self.answer(id)? else {
                return Ok(None);
            };
            let calls = calls.into_iter().map(|call| format!("{} {}", call.name, call.arguments));
            let texts: Vec<String> = [content, reasoning].into_iter().chain(calls).collect();
            return Ok(found::line_with(words, &texts));
        };
        let Some(piece) = read_ids(pieces).into_iter().nth(place) else { return Ok(None) };
        let piece = self.piece(id, piece)?;
        Ok(found::line_of_piece(words, String::from_utf8_lossy(&piece).into_owned()))
    }

    /// Returns what was redacted, the most frequent first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn redactions(&self, filter: &Filter) -> Result<Vec<RedactionLine>, LogError> {
        let session = match &filter.session {
            None => None,
            Some(begin) => match self.session(begin)? {
                None => return Ok(Vec::new()),
                found => found,
            },
        };
        let mut sum = self.database.prepare_cached(
            "SELECT label, count(*), count(DISTINCT edit.request), place, detector, rule, max(edit.at) FROM edit
             WHERE kind = 'redact' AND edit.at >= ?1
             AND (?2 IS NULL OR (SELECT session FROM request WHERE id = edit.request) = ?2)
             GROUP BY label, place, detector, rule ORDER BY count(*) DESC, label, place, rule",
        )?;
        let lines = sum.query_map(params![filter.since.unwrap_or(0), session], |row| {
            Ok(RedactionLine {
                label: row.get::<_, Option<String>>(0)?.unwrap_or_default(),
                count: row.get(1)?,
                requests: row.get(2)?,
                place: row.get(3)?,
                detector: row.get(4)?,
                rule: row.get(5)?,
                last: row.get(6)?,
            })
        })?;
        Ok(lines.collect::<Result<_, _>>()?)
    }

    /// Returns how many requests were logged since a time, and how many of them did not leave.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn count(&self, filter: &Filter) -> Result<(i64, i64), LogError> {
        let first = self.first_since(filter)?;
        let session = match &filter.session {
            None => None,
            Some(begin) => self.session(begin)?.or_else(|| Some(String::new())),
        };
        let mut count = self.database.prepare_cached(
            "SELECT count(*), coalesce(sum(verdict <> 'forwarded'), 0) FROM request
             WHERE id >= ?1 AND (?2 IS NULL OR session = ?2)",
        )?;
        Ok(count.query_row(params![first, session], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    /// Returns the whole key of a conversation by its beginning, or by the beginning that lists show,
    /// which leaves out what all keys have in common; the newest one's, where several begin alike.
    fn session(&self, begin: &str) -> Result<Option<String>, LogError> {
        let mut find = self.database.prepare_cached(
            "SELECT session FROM request WHERE session >= ?1 AND session < ?1 || char(1114111)
             GROUP BY session ORDER BY session = ?1 DESC, max(id) DESC LIMIT 1",
        )?;
        for begin in [begin, &format!("{KEYS}{begin}")] {
            if let Some(session) = find.query_row([begin], |row| row.get(0)).optional()? {
                return Ok(Some(session));
            }
        }
        Ok(None)
    }

    /// Returns the number of the first request since a time.
    pub(crate) fn first_since(&self, filter: &Filter) -> Result<i64, LogError> {
        let Some(since) = filter.since else { return Ok(0) };
        let mut find =
            self.database.prepare_cached("SELECT id FROM request WHERE at >= ?1 ORDER BY at, id LIMIT 1")?;
        Ok(find.query_row([since], |row| row.get(0)).optional()?.unwrap_or(i64::MAX))
    }
}
