//! Who asked for the value of which token. Values are never here.

use leafgate_record::RevealRecord;
use rusqlite::{Connection, Transaction, params};
use serde::{Deserialize, Serialize};

use crate::lists::{Filter, KEYS};
use crate::log::{Log, LogError, read_row};
use crate::mask::Masker;
use crate::schema::millis;

/// Rows that are kept at most, whatever their age.
const MOST: i64 = 100_000;

/// One time that somebody asked for a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevealLine {
    /// When, in milliseconds of Unix time.
    pub at: i64,
    /// The token.
    pub token: String,
    /// The conversation that remembers its value, by its opaque key.
    pub session: String,
    /// Who asked, as the caller said.
    pub by: String,
}

/// Writes that somebody asked.
pub(crate) fn write(
    transaction: &Transaction<'_>,
    masker: &Masker,
    reveal: &RevealRecord,
) -> rusqlite::Result<()> {
    let mut insert =
        transaction.prepare_cached("INSERT INTO reveal (at, token, session, who) VALUES (?1, ?2, ?3, ?4)")?;
    let who = masker.text(None, "", &reveal.by);
    insert.execute(params![millis(reveal.at), reveal.token, &*reveal.session, who])?;
    Ok(())
}

/// Removes what is older than a time, and the oldest of too many.
pub(crate) fn keep(database: &Connection, oldest: i64) -> rusqlite::Result<()> {
    let remove = "DELETE FROM reveal WHERE at < ?1 OR id <= (SELECT max(id) FROM reveal) - ?2";
    database.execute(remove, [oldest, MOST]).map(|_| ())
}

impl Log {
    /// Returns who asked for the value of which token, the newest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn reveals(&self, filter: &Filter, most: usize) -> Result<Vec<RevealLine>, LogError> {
        // By the beginning of a key, or by that which lists show.
        let query = "SELECT at, token, session, who AS by FROM reveal WHERE at >= ?1
             AND (substr(session, 1, length(?2)) = ?2 OR substr(session, 1, length(?4 || ?2)) = ?4 || ?2)
             ORDER BY id DESC LIMIT ?3";
        let session = filter.session.as_deref().unwrap_or_default();
        self.rows(query, params![filter.since.unwrap_or(0), session, most, KEYS], read_row)
    }
}
