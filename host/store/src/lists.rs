//! Lists of a log: its requests, what was redacted in them, and how many there are.

use std::iter;

use leafgate_admin::shown_url;
use rusqlite::params;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use crate::log::{Log, LogError, read_row};

/// Which requests are meant.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Those since then, in milliseconds of Unix time.
    pub since: Option<i64>,
    /// Those of a conversation, by the beginning of its key.
    pub session: Option<String>,
}

/// Requests that are read at a time.
const PAGE: usize = 200;

/// What the keys of all conversations begin with.
pub(crate) const KEYS: &str = "SESSION_h";

/// One request in a list. Its fields are read by the names of its columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all(serialize = "camelCase"))]
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
    #[serde(deserialize_with = "shown")]
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
    #[serde(deserialize_with = "listed")]
    pub rules: Vec<String>,
    /// How much the one of them matters that matters most; `None` where none says it.
    pub severity: Option<String>,
    /// What rules tagged it with.
    #[serde(deserialize_with = "listed")]
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
    #[serde(deserialize_with = "yes_or_no")]
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
    #[serde(deserialize_with = "listed")]
    pub ruled_by: Vec<String>,
    /// Why the model stopped.
    pub finish: Option<String>,
    /// Tokens that the provider says it read.
    #[serde(rename(deserialize = "input"))]
    pub input_tokens: Option<i64>,
    /// Those of them that came from its cache.
    #[serde(rename(deserialize = "cached"))]
    pub cached_tokens: Option<i64>,
    /// Tokens that it says it wrote.
    #[serde(rename(deserialize = "output"))]
    pub output_tokens: Option<i64>,
}

/// Returns a URL without what may be a key: an older program logged it whole.
fn shown<'de, D: Deserializer<'de>>(column: D) -> Result<String, D::Error> {
    String::deserialize(column).map(|url| shown_url(&url))
}

/// Reads a list that is kept as JSON.
pub(crate) fn listed<'de, D: Deserializer<'de>, T: DeserializeOwned>(column: D) -> Result<Vec<T>, D::Error> {
    String::deserialize(column).map(|list| serde_json::from_str(&list).unwrap_or_default())
}

fn yes_or_no<'de, D: Deserializer<'de>>(column: D) -> Result<Option<bool>, D::Error> {
    Option::<i64>::deserialize(column).map(|number| number.map(|number| number != 0))
}

/// How often something was redacted at places of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// Returns what the requests of a conversation, the first parameter, have; or all. Each form has an index.
fn of(session: Option<&String>) -> &'static str {
    if session.is_some() { "session = ?1" } else { "?1 IS NULL" }
}

impl Log {
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
        let session = self.session(filter)?;
        let of = of(session.as_ref());
        let query =
            format!("SELECT * FROM request WHERE {of} AND id < ?2 AND id >= ?3 ORDER BY id DESC LIMIT ?4");
        let before = before.unwrap_or(i64::MAX);
        self.rows(&query, params![session, before, self.first_since(filter)?, most], read_row)
    }

    /// Returns requests, the newest first. So many are read at a time that no log is too long.
    pub fn newest_first(&self, filter: &Filter) -> impl Iterator<Item = Result<RequestLine, LogError>> {
        let (mut before, mut page) = (None, Vec::new().into_iter());
        iter::from_fn(move || {
            if page.len() == 0 {
                match self.list(filter, before, PAGE) {
                    Ok(next) => page = next.into_iter(),
                    Err(error) => return Some(Err(error)),
                }
            }
            let line = page.next()?;
            before = Some(line.id);
            Some(Ok(line))
        })
    }

    /// Returns the numbers of requests, the oldest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(crate) fn numbers(&self, filter: &Filter) -> Result<Vec<i64>, LogError> {
        let session = self.session(filter)?;
        let query = format!("SELECT id FROM request WHERE {} AND id >= ?2 ORDER BY id", of(session.as_ref()));
        self.rows(&query, params![session, self.first_since(filter)?], |row| row.get(0))
    }

    /// Returns the requests behind one, the oldest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn after(&self, id: i64, most: usize) -> Result<Vec<RequestLine>, LogError> {
        let query = "SELECT * FROM request WHERE id > ?1 ORDER BY id LIMIT ?2";
        self.rows(query, params![id, most], read_row)
    }

    /// Returns what was redacted, the most frequent first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn redactions(&self, filter: &Filter) -> Result<Vec<RedactionLine>, LogError> {
        let query =
            "SELECT coalesce(label, '') AS label, count(*) AS count, count(DISTINCT edit.request) AS requests, place, detector,
             rule, max(edit.at) AS last FROM edit
             WHERE kind = 'redact' AND edit.at >= ?1
             AND (?2 IS NULL OR (SELECT session FROM request WHERE id = edit.request) = ?2)
             GROUP BY label, place, detector, rule ORDER BY count(*) DESC, label, place, rule";
        self.rows(query, params![filter.since.unwrap_or(0), self.session(filter)?], read_row)
    }

    /// Returns how many requests were logged since a time, and how many of them did not leave.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn count(&self, filter: &Filter) -> Result<(i64, i64), LogError> {
        let session = self.session(filter)?;
        let query = format!(
            "SELECT count(*), coalesce(sum(verdict <> 'forwarded'), 0) FROM request WHERE {} AND id >= ?2",
            of(session.as_ref())
        );
        let params = params![session, self.first_since(filter)?];
        Ok(self.database.prepare_cached(&query)?.query_row(params, |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    /// Returns the whole key of a conversation by its beginning, or by the beginning that lists show,
    /// which leaves out what all keys have in common; the newest one's, where several begin alike. A beginning that
    /// no key has stays, and is no request's.
    fn session(&self, filter: &Filter) -> Result<Option<String>, LogError> {
        let Some(begin) = &filter.session else { return Ok(None) };
        let query = "SELECT session FROM request WHERE session >= ?1 AND session < ?1 || char(1114111)
             GROUP BY session ORDER BY session = ?1 DESC, max(id) DESC LIMIT 1";
        for begin in [begin, &format!("{KEYS}{begin}")] {
            if let Some(session) = self.row(query, [begin], |row| row.get(0))? {
                return Ok(Some(session));
            }
        }
        Ok(Some(begin.clone()))
    }

    /// Returns the number of the first request since a time.
    pub(crate) fn first_since(&self, filter: &Filter) -> Result<i64, LogError> {
        let Some(since) = filter.since else { return Ok(0) };
        let query = "SELECT id FROM request WHERE at >= ?1 ORDER BY at, id LIMIT 1";
        Ok(self.row(query, [since], |row| row.get(0))?.unwrap_or(i64::MAX))
    }
}
