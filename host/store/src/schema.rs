//! The database: its tables, and how an older one becomes a present one.

use rusqlite::Connection;

/// Each step leads from the version of its place to the next. Steps that were published are never
/// changed.
const STEPS: [&str; 5] = [FIRST, MARKS, RULED, WRITER, NAMED];

/// Times are milliseconds of Unix time. `piece.epoch` is the latest block of requests that uses the
/// piece ([`EPOCH`]).
///
/// In `words`, texts stand in the order of the requests that said them first: see [`words_of`].
/// `piece.words` is that of a piece.
const FIRST: &str = "
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
  output INTEGER
) STRICT;
CREATE INDEX request_at ON request (at);
CREATE INDEX request_session ON request (session, id);
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
";

/// What people say of the matches of rules.
const MARKS: &str = "
CREATE TABLE mark (
  request INTEGER NOT NULL,
  rule TEXT NOT NULL,
  is_right INTEGER NOT NULL,
  PRIMARY KEY (request, rule)
) STRICT, WITHOUT ROWID;
";

/// What rules and people made of an answer, and the rules that matched in it as JSON; who asked for the
/// value of which token.
const RULED: &str = "
ALTER TABLE request ADD COLUMN ruled TEXT;
ALTER TABLE request ADD COLUMN ruled_by TEXT NOT NULL DEFAULT '[]';
CREATE TABLE reveal (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  token TEXT NOT NULL,
  session TEXT NOT NULL,
  who TEXT NOT NULL
) STRICT;
";

/// Which process wrote a request, where that can be told, and the rows about which something is still to
/// come: see `presence.rs`. What is open here was left so by processes that ended.
const WRITER: &str = "
ALTER TABLE request ADD COLUMN writer INTEGER;
UPDATE request SET answer = 'broken' WHERE answer = 'open';
UPDATE request SET ruled = 'abandoned' WHERE ruled = 'held';
CREATE INDEX request_open ON request (writer)
  WHERE writer IS NOT NULL AND (answer = 'open' OR ruled = 'held');
";

/// What the configuration calls the upstream of a request.
const NAMED: &str = "
ALTER TABLE request ADD COLUMN upstream_name TEXT;
";

/// Texts of one request that can be searched, its answer included.
const TEXTS: i64 = 1 << 20;

/// Returns the place in `words` of a text of a request: 0 is its answer, and from 1 on the pieces that
/// it was the first to have.
pub(crate) fn words_of(request: i64, text: usize) -> i64 {
    request * TEXTS + i64::try_from(text).unwrap_or(TEXTS).min(TEXTS - 1)
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

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("a newer leafgate has written it (version {0}): use that one, or another data folder")]
    Newer(i64),
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// The version that this program writes.
pub(crate) fn version() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Returns the version of a database.
pub(crate) fn version_of(database: &Connection) -> rusqlite::Result<i64> {
    database.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Brings a database to the present version.
///
/// One that has it is only read: a process that writes without a break would keep the lock from a
/// process that starts.
pub(crate) fn migrate(database: &mut Connection) -> Result<(), SchemaError> {
    if version_of(database)? == version() {
        return Ok(());
    }
    let transaction = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let from = version_of(&transaction)?;
    if from > version() {
        return Err(SchemaError::Newer(from));
    }
    for step in &STEPS[usize::try_from(from).unwrap_or(0)..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", version())?;
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_migrated_once_and_a_newer_one_is_refused() {
        let mut database = Connection::open_in_memory().unwrap();
        migrate(&mut database).unwrap();
        assert_eq!(version_of(&database).unwrap(), version());
        migrate(&mut database).unwrap();
        database.pragma_update(None, "user_version", version() + 1).unwrap();
        let error = migrate(&mut database).unwrap_err().to_string();
        assert!(error.contains("newer leafgate"), "{error}");
    }

    #[test]
    fn what_an_older_program_wrote_is_there_after_each_step() {
        for version in 1..=STEPS.len() {
            let mut database = Connection::open_in_memory().unwrap();
            for step in &STEPS[..version] {
                database.execute_batch(step).unwrap();
            }
            database.pragma_update(None, "user_version", version).unwrap();
            database
                .execute(
                    "INSERT INTO request (at, session, agent, class, api, method, path, upstream, verdict, generation,
                     rules, edits, redactions, bytes_received, received, judging_us, pieces, receipt, signature)
                     VALUES (7, 's', 'a', 'main', 'chat', 'POST', '/', 'u', 'forwarded', 'g', '[]', 0, 0, 1, 'd', 1,
                     x'', 'r', x'')",
                    [],
                )
                .unwrap();
            migrate(&mut database).unwrap();
            let query = "SELECT at, ruled, ruled_by, upstream_name FROM request";
            let row: (i64, Option<String>, String, Option<String>) = database
                .query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
                .unwrap();
            assert_eq!(row, (7, None, "[]".to_owned(), None), "from version {version}");
        }
    }

    /// How SQLite answers the queries of a page: by an index, never by a walk of the table.
    #[test]
    fn pages_are_read_by_an_index() {
        let mut database = Connection::open_in_memory().unwrap();
        migrate(&mut database).unwrap();
        for query in [
            "SELECT id FROM request WHERE id < 9 ORDER BY id DESC LIMIT 50",
            "SELECT id FROM request WHERE session = 'a' AND id < 9 ORDER BY id DESC LIMIT 50",
            "SELECT * FROM edit WHERE at >= 9",
            "SELECT * FROM edit WHERE request = 9",
            "DELETE FROM piece WHERE epoch < 9",
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
