//! What people say of a rule's matches: that it was right in a request, or wrong.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use crate::lists::Filter;
use crate::log::{Log, LogError};
use crate::schema::{FILE, OPENING};

/// Wrong matches that are named.
const NAMED: usize = 8;

/// The matches of one rule under the generations of a policy that have the same rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleHits {
    /// In how many requests it matched and is not called wrong, but those of `wrong`.
    pub requests: i64,
    /// In how many of them somebody calls it right.
    pub right: i64,
    /// In how many somebody calls it wrong, as the policy stands.
    pub wrong: i64,
    /// In how many others, before exceptions were what they are.
    pub wrong_before: i64,
    /// The newest requests in which it is called wrong, at most eight.
    pub wrong_in: Vec<i64>,
    /// In how many requests a rule of this id matched under other generations: of another folder, or
    /// of this one before it was changed. What that rule was, the log does not say.
    pub elsewhere: i64,
}

impl Log {
    /// Returns in how many requests, or answers to them, a rule matched under this generation or others
    /// whose names begin with `rules`, and what people say of that.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn hits(
        &self,
        rule: &str,
        generation: &str,
        rules: &str,
        filter: &Filter,
    ) -> Result<RuleHits, LogError> {
        let first = self.first_since(filter)?;
        let matched = "FROM request LEFT JOIN mark ON mark.request = request.id AND mark.rule = ?1
            WHERE request.id >= ?2 AND (?1 IN (SELECT value FROM json_each(request.rules))
            OR ?1 IN (SELECT value FROM json_each(request.ruled_by)))";
        let counts = format!(
            "WITH hit AS (SELECT generation = ?3 AS now, substr(generation, 1, length(?4)) = ?4 AS same,
                coalesce(mark.is_right, 0) AS is_right, coalesce(NOT mark.is_right, 0) AS is_wrong {matched})
             SELECT coalesce(sum(same AND (now OR NOT is_wrong)), 0), coalesce(sum(same AND is_right), 0),
                coalesce(sum(now AND is_wrong), 0), coalesce(sum(same AND NOT now AND is_wrong), 0),
                coalesce(sum(NOT same), 0) FROM hit"
        );
        let counted = self.database.query_row(&counts, params![rule, first, generation, rules], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
        });
        let [requests, right, wrong, wrong_before, elsewhere] = counted?;
        let wrong_in = format!(
            "SELECT request.id {matched} AND generation = ?3 AND NOT mark.is_right ORDER BY request.id DESC LIMIT ?4"
        );
        let wrong_in = self.rows(&wrong_in, params![rule, first, generation, NAMED], |row| row.get(0))?;
        Ok(RuleHits { requests, right, wrong, wrong_before, wrong_in, elsewhere })
    }
}

/// Writes down that a rule was right in a request, or wrong; of all rules that matched there, where none
/// is named. The last word counts. Returns the rules.
///
/// # Errors
/// When the request is not in the log, a rule did not match in it, or nothing can be written.
pub fn mark(folder: &Path, id: i64, rule: Option<&str>, is_right: bool) -> Result<Vec<String>, LogError> {
    // It looks whether there is a log, and of which version.
    Log::open(folder)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut database = Connection::open_with_flags(folder.join(FILE), flags)?;
    database.busy_timeout(OPENING)?;
    let transaction = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let matched: Option<[String; 2]> = transaction
        .query_row("SELECT rules, ruled_by FROM request WHERE id = ?1", [id], |row| {
            Ok([row.get(0)?, row.get(1)?])
        })
        .optional()?;
    let rules = |json: String| serde_json::from_str::<Vec<String>>(&json).unwrap_or_default();
    let matched: Vec<String> =
        matched.ok_or_else(|| LogError::no_request(id))?.into_iter().flat_map(rules).collect();
    let marked: Vec<String> = match rule {
        None => matched,
        Some(rule) => matched.iter().filter(|one| *one == rule).cloned().collect(),
    };
    if marked.is_empty() {
        return Err(LogError::Refused(match rule {
            Some(rule) => format!(
                "rule `{rule}` did not match in request {id}: `leafgate log show {id}` names those that did"
            ),
            None => format!("no rule matched in request {id}"),
        }));
    }
    for rule in &marked {
        transaction.execute(
            "INSERT INTO mark (request, rule, is_right) VALUES (?1, ?2, ?3)
             ON CONFLICT (request, rule) DO UPDATE SET is_right = excluded.is_right",
            params![id, rule, is_right],
        )?;
    }
    transaction.commit()?;
    Ok(marked)
}
