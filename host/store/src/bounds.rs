//! Keeps a log within its bounds: the oldest requests are removed, and what only they used.

use std::collections::HashSet;

use rusqlite::{Connection, TransactionBehavior};

use crate::pieces::read_ids;
use crate::schema::{EPOCH, words_of};

/// Removes requests of before a time, then the oldest until no more than `limit` bytes are left.
/// Gives how many there are.
pub(crate) fn keep(database: &mut Connection, oldest: i64, limit: u64) -> rusqlite::Result<u64> {
    let expired: Option<i64> =
        database.query_row("SELECT max(id) FROM request WHERE at < ?1", [oldest], |row| row.get(0))?;
    if let Some(expired) = expired {
        remove_up_to(database, expired)?;
    }
    loop {
        let bytes = size(database)?;
        let (first, last): (Option<i64>, Option<i64>) =
            database.query_row("SELECT min(id), max(id) FROM request", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let (Some(first), Some(last)) = (first, last) else { return Ok(bytes) };
        if bytes <= limit || first == last {
            return Ok(bytes);
        }
        remove_up_to(database, first + (last - first) / 10)?;
    }
}

fn size(database: &Connection) -> rusqlite::Result<u64> {
    let pragma = |name: &str| database.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    Ok((pragma("page_count")? * pragma("page_size")?).cast_unsigned())
}

/// Removes the oldest requests, but never the last one: the chain of receipts goes on from it.
fn remove_up_to(database: &mut Connection, id: i64) -> rusqlite::Result<()> {
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let last: Option<i64> = transaction.query_row("SELECT max(id) FROM request", [], |row| row.get(0))?;
    let id = id.min(last.unwrap_or(0) - 1);
    let epoch = id / EPOCH;
    for words in [
        "DELETE FROM words WHERE rowid IN (SELECT ?2 * request FROM answer WHERE request <= ?1)",
        "DELETE FROM words WHERE rowid IN (SELECT ?2 * (id + 1) - 1 FROM request INDEXED BY request_message \
         WHERE id <= ?1 AND message IS NOT NULL)",
    ] {
        transaction.execute(words, [id, words_of(1, 0)])?;
    }
    for table in [
        "DELETE FROM answer WHERE request <= ?1",
        "DELETE FROM edit WHERE request <= ?1",
        "DELETE FROM mark WHERE request <= ?1",
        "DELETE FROM request WHERE id <= ?1",
    ] {
        transaction.execute(table, [id])?;
    }
    // Pieces of earlier blocks are used by none of the requests that are left; those of this block
    // perhaps by the rest of it.
    let mut used = HashSet::new();
    let mut rest = transaction.prepare("SELECT pieces FROM request WHERE id < ?1")?;
    for pieces in rest.query_map([(epoch + 1) * EPOCH], |row| row.get::<_, Vec<u8>>(0))? {
        used.extend(read_ids(&pieces?));
    }
    let mut old = transaction.prepare("SELECT id, words FROM piece WHERE epoch <= ?1")?;
    let pieces: Vec<(i64, i64)> =
        old.query_map([epoch], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    for (piece, words) in pieces.into_iter().filter(|(piece, _)| !used.contains(piece)) {
        transaction.execute("DELETE FROM words WHERE rowid = ?1", [words])?;
        transaction.execute("DELETE FROM piece WHERE id = ?1", [piece])?;
    }
    drop((rest, old));
    // The index of words only marks what was removed, and keeps its pages until it is merged.
    transaction.execute("INSERT INTO words (words) VALUES ('optimize')", [])?;
    transaction.commit()?;
    // Gives a row for each page; all of them must be asked for.
    let mut vacuum = database.prepare("PRAGMA incremental_vacuum")?;
    let mut pages = vacuum.query([])?;
    while pages.next()?.is_some() {}
    Ok(())
}
