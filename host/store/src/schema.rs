//! The tables of the database.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

use crate::fault::StoreFault;

/// The file of the database in its folder.
pub(crate) const FILE: &str = "log.db";

/// How long whoever opens a log waits for one that makes it, or puts in order what a killed one left. Under load that
/// takes seconds.
pub(crate) const OPENING: Duration = Duration::from_secs(20);

/// The version that this program writes: another for each change of [`TABLES`].
pub(crate) const VERSION: i64 = 7;

/// What makes tables of version 5 those of version 6, and these those of this one. A gate of such a version that still runs
/// writes on.
const SINCE_5: &str = "
ALTER TABLE request ADD COLUMN severity TEXT;
ALTER TABLE request ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
";
const SINCE_6: &str = "
ALTER TABLE request ADD COLUMN message TEXT;
CREATE INDEX request_message ON request (id) WHERE message IS NOT NULL;
";

/// Times are milliseconds of Unix time. `piece.epoch` is the latest block of requests that uses the
/// piece ([`EPOCH`]).
///
/// In `words`, texts stand in the order of the requests that said them first: see [`words_of`].
/// `piece.words` is that of a piece.
///
/// `request.message` is the id by which the client names its user's last message, which profiles leave out of what leaves; it
/// can be searched as the text behind all others.
///
/// `request.ruled` says what rules and people made of an answer, and `ruled_by` which rules matched in it, as JSON. `request.writer` is
/// the process that wrote the row, where that can be told: see `presence.rs`. `mark` has what people say of the matches of rules,
/// `reveal` who asked for the value of which token.
const TABLES: &str = "
CREATE TABLE request (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  class TEXT NOT NULL,
  api TEXT NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  upstream TEXT NOT NULL,
  model TEXT,
  verdict TEXT NOT NULL,
  held TEXT,
  generation TEXT NOT NULL,
  rules TEXT NOT NULL,
  edits INTEGER NOT NULL,
  redactions INTEGER NOT NULL,
  bytes_received INTEGER NOT NULL,
  bytes_sent INTEGER,
  received TEXT NOT NULL,
  sent TEXT,
  shown_is_sent INTEGER,
  judging_us INTEGER NOT NULL,
  waiting_ms INTEGER,
  pieces BLOB NOT NULL,
  receipt TEXT NOT NULL,
  signature BLOB NOT NULL,
  status INTEGER,
  head_ms INTEGER,
  answer_ms INTEGER,
  answer TEXT NOT NULL DEFAULT 'none',
  finish TEXT,
  input INTEGER,
  cached INTEGER,
  output INTEGER,
  ruled TEXT,
  ruled_by TEXT NOT NULL DEFAULT '[]',
  writer INTEGER,
  upstream_name TEXT,
  severity TEXT,
  tags TEXT NOT NULL DEFAULT '[]',
  message TEXT
) STRICT;
CREATE INDEX request_at ON request (at);
CREATE INDEX request_session ON request (session, id);
CREATE INDEX request_open ON request (writer)
  WHERE writer IS NOT NULL AND (answer = 'open' OR ruled = 'held');
CREATE INDEX request_message ON request (id) WHERE message IS NOT NULL;
CREATE TABLE edit (
  request INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  path TEXT NOT NULL,
  place TEXT NOT NULL,
  rule TEXT NOT NULL,
  label TEXT,
  detector TEXT,
  length INTEGER
) STRICT;
CREATE INDEX edit_request ON edit (request);
CREATE INDEX edit_at ON edit (at);
CREATE TABLE piece (
  id INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  epoch INTEGER NOT NULL,
  words INTEGER NOT NULL,
  size INTEGER NOT NULL,
  data BLOB NOT NULL
) STRICT;
CREATE INDEX piece_epoch ON piece (epoch);
CREATE TABLE answer (
  request INTEGER PRIMARY KEY,
  model TEXT,
  reasoning TEXT NOT NULL,
  content TEXT NOT NULL,
  calls TEXT NOT NULL,
  failure TEXT
) STRICT;
CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1);
CREATE TABLE mark (
  request INTEGER NOT NULL,
  rule TEXT NOT NULL,
  is_right INTEGER NOT NULL,
  PRIMARY KEY (request, rule)
) STRICT, WITHOUT ROWID;
CREATE TABLE reveal (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  token TEXT NOT NULL,
  session TEXT NOT NULL,
  who TEXT NOT NULL
) STRICT;
";

/// Texts of one request that can be searched, its answer included.
const TEXTS: i64 = 1 << 20;

/// Returns the place in `words` of a text of a request: 0 is its answer, and from 1 on the pieces that
/// it was the first to have.
pub(crate) fn words_of(request: i64, text: usize) -> i64 {
    request * TEXTS + i64::try_from(text).unwrap_or(TEXTS).min(TEXTS - 1)
}

/// Returns the place of the id of a request's message.
pub(crate) fn message_of(request: i64) -> i64 {
    words_of(request, usize::MAX)
}

/// Returns the number of its text there, of a place in `words`.
pub(crate) fn text_of(words: i64) -> usize {
    usize::try_from(words % TEXTS).unwrap_or_default()
}

/// Returns the request of a place in `words`.
pub(crate) fn request_of(words: i64) -> i64 {
    words / TEXTS
}

/// Requests by whose blocks pieces are forgotten: a piece is marked as used once a block, and not
/// with each request.
pub(crate) const EPOCH: i64 = 256;

/// Returns the version of a database; 0 for one without tables.
pub(crate) fn version_of(database: &Connection) -> rusqlite::Result<i64> {
    database.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Makes the tables where there are none, and those of versions 5 and 6 to this one.
///
/// A database that has them is only read: a process that writes without a break would keep the lock from a process that starts.
pub(crate) fn make(database: &mut Connection) -> Result<(), StoreFault> {
    if version_of(database)? == VERSION {
        return Ok(());
    }
    let transaction = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    match version_of(&transaction)? {
        0 => transaction.execute_batch(TABLES)?,
        5 => transaction.execute_batch(&(SINCE_5.to_owned() + SINCE_6))?,
        6 => transaction.execute_batch(SINCE_6)?,
        VERSION => return Ok(()),
        other => {
            return Err(StoreFault::Refused(format!(
                "another leafgate has written it (version {other}): use that one, or another data folder"
            )));
        }
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

/// Returns a time as milliseconds of Unix time.
pub(crate) fn millis(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, whole_millis)
}

pub(crate) fn whole_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_made_once_and_those_of_another_version_are_refused() {
        let mut database = Connection::open_in_memory().unwrap();
        make(&mut database).unwrap();
        assert_eq!(version_of(&database).unwrap(), VERSION);
        make(&mut database).unwrap();
        for version in [4, VERSION + 1] {
            database.pragma_update(None, "user_version", version).unwrap();
            let error = make(&mut database).unwrap_err().to_string();
            assert!(error.contains("another leafgate"), "{error}");
        }
    }

    #[test]
    fn tables_of_earlier_versions_become_those_of_this_one() {
        let columns = |database: &Connection| -> Vec<String> {
            let mut named = database.prepare("SELECT name FROM pragma_table_info('request')").unwrap();
            named.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
        };
        let mut made = Connection::open_in_memory().unwrap();
        make(&mut made).unwrap();
        for (version, later) in [(5, &["severity", "tags", "message"][..]), (6, &["message"])] {
            let mut older = Connection::open_in_memory().unwrap();
            older.execute_batch(TABLES).unwrap();
            older.execute_batch("DROP INDEX request_message").unwrap();
            for column in later {
                older.execute_batch(&format!("ALTER TABLE request DROP COLUMN {column}")).unwrap();
            }
            older.pragma_update(None, "user_version", version).unwrap();
            make(&mut older).unwrap();
            assert_eq!(version_of(&older).unwrap(), VERSION);
            assert_eq!(columns(&older), columns(&made));
        }
    }

    /// How SQLite answers the queries of a page: by an index, never by a walk of the table.
    #[test]
    fn pages_are_read_by_an_index() {
        let mut database = Connection::open_in_memory().unwrap();
        make(&mut database).unwrap();
        for query in [
            "SELECT id FROM request WHERE id < 9 ORDER BY id DESC LIMIT 50",
            "SELECT id FROM request WHERE session = 'a' AND id < 9 ORDER BY id DESC LIMIT 50",
            "SELECT * FROM edit WHERE at >= 9",
            "SELECT * FROM edit WHERE request = 9",
            "DELETE FROM piece WHERE epoch < 9",
            "SELECT id FROM request INDEXED BY request_message WHERE id <= 9 AND message IS NOT NULL",
            "SELECT id FROM request WHERE writer IS NOT NULL AND (answer = 'open' OR ruled = 'held') AND writer = 9",
        ] {
            let mut plan = database.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
            let steps: Vec<String> =
                plan.query_map([], |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap();
            let plan = steps.join("; ");
            assert!(plan.contains("SEARCH") && !plan.contains("SCAN"), "{query}: {plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{query}: {plan}");
        }
    }
}
