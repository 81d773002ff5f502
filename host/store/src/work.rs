//! What one transaction writes: requests with their pieces and receipts, and answers.

use bytes::Bytes;
use leafgate_answer::Finish;
use leafgate_desk::Digest;
use leafgate_policy::{Background, Urgency};
use leafgate_record::{AnswerOutcome, RecordId, RecordedEdit, RequestRecord};
use leafgate_tree::{Document, Limits, Role};
use lru::LruCache;
use memchr::memmem;
use rusqlite::{OptionalExtension, Transaction, params};
use zstd::bulk::Compressor;

use crate::keys::StoreKeys;
use crate::live::{LiveRow, SavedCall, cut_short, settled};
use crate::mask::{Masked, Masker};
use crate::names::{PieceName, PieceNames};
use crate::pieces::{Cutter, Within, write_ids};
use crate::receipt::{self, Receipt, sha256};
use crate::schema::{EPOCH, message_of, whole_millis, words_of};

/// A piece that is in the database.
#[derive(Clone, Copy)]
pub(crate) struct KnownPiece {
    id: i64,
    epoch: i64,
}

/// What one transaction does, for what follows from its end.
#[derive(Default)]
pub(crate) struct WorkDone {
    /// The messages that it took.
    pub(crate) taken: usize,
    pub(crate) written: u64,
    pub(crate) mismatches: u64,
    /// Answers that began here: they have no row where it fails.
    pub(crate) begun: Vec<RecordId>,
    /// Answers that ended here.
    pub(crate) ended: Vec<RecordId>,
    pub(crate) saved: Vec<RecordId>,
}

/// What is done within one transaction.
pub(crate) struct Work<'t, 'd> {
    pub(crate) transaction: &'t Transaction<'d>,
    pub(crate) keys: &'t StoreKeys,
    pub(crate) masker: &'t Masker,
    /// What rows name this process by, where they can.
    pub(crate) writer: Option<i64>,
    pub(crate) names: &'t PieceNames,
    pub(crate) known: &'t mut LruCache<PieceName, KnownPiece>,
    /// One for all pieces: to make one takes longer than to compress a piece.
    pub(crate) compressor: &'t mut Compressor<'static>,
    /// The last request and its receipt, once they were looked up.
    pub(crate) last: Option<(i64, String)>,
}

impl Work<'_, '_> {
    /// Writes a request and gives its row.
    pub(crate) fn request(&mut self, record: &RequestRecord, done: &mut WorkDone) -> rusqlite::Result<i64> {
        let policy = Some(&*record.policy);
        let (row, previous) = self.last().map(|(last, receipt)| (last + 1, receipt))?;
        let body = logged_body(record);
        let shown_is_sent = shown_is_sent(record, body);
        done.mismatches += u64::from(shown_is_sent == Some(false));
        let edits = self.edits(record);
        let edits_json = serde_json::to_string(&edits).expect("texts and numbers always serialise");
        let path = self.masker.text(policy, "", &record.path).into_owned();
        let receipt = Receipt { number: row, previous, ..Receipt::of(record, self.keys, &path, &edits_json) };
        let text = receipt.text();
        let pieces = self.pieces(record, body, row)?;
        let redactions = edits.iter().filter(|edit| edit.kind == "redact").count();
        let masked = |text: &str| self.masker.text(policy, "", text).into_owned();
        let message = message_id(&record.source).as_deref().map(masked);
        let mut insert = self.transaction.prepare_cached(
            "INSERT INTO request (id, at, session, agent, class, api, method, path, upstream, model, verdict, held,
             generation, rules, edits, redactions, bytes_received, bytes_sent, received, sent, shown_is_sent,
             judging_us, waiting_ms, pieces, receipt, signature, writer, upstream_name, severity, tags, message)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
             ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31)",
        )?;
        insert.execute(params![
            row,
            receipt.at,
            receipt.session,
            receipt.agent,
            record.class,
            record.api,
            receipt.method,
            receipt.path,
            receipt.upstream,
            record.model.as_deref().map(masked),
            receipt.verdict,
            record.held.as_deref().map(masked),
            record.policy.generation_name(),
            serde_json::to_string(&record.rules).expect("texts always serialise"),
            edits.len() - redactions,
            redactions,
            record.received.len(),
            record.sent.as_ref().map(|sent| sent.len()),
            receipt.received,
            receipt.sent,
            shown_is_sent,
            i64::try_from(record.judging.as_micros()).unwrap_or(i64::MAX),
            record.waiting.map(whole_millis),
            write_ids(&pieces),
            text,
            self.keys.signer.sign(text.as_bytes()).as_ref(),
            self.writer,
            record.upstream_name.as_deref(),
            record.policy.severity(&record.rules).map(Urgency::name),
            serde_json::to_string(&record.policy.tags(&record.rules)).expect("texts always serialise"),
            message,
        ])?;
        self.index(message_of(row), message.as_deref().unwrap_or_default())?;
        self.insert_edits(row, receipt.at, &edits)?;
        self.last = Some((row, sha256(&text)));
        Ok(row)
    }

    /// Returns the last request and the digest of its receipt.
    fn last(&mut self) -> rusqlite::Result<(i64, String)> {
        if let Some(last) = &self.last {
            return Ok(last.clone());
        }
        let query = "SELECT id, receipt FROM request ORDER BY id DESC LIMIT 1";
        let last = self
            .transaction
            .prepare_cached(query)?
            .query_row([], |row| Ok((row.get(0)?, sha256(&row.get::<_, String>(1)?))));
        Ok(last.optional()?.unwrap_or((0, receipt::NONE.to_owned())))
    }

    fn edits(&self, record: &RequestRecord) -> Vec<RecordedEdit> {
        let edits = record.edits.iter().map(|edit| RecordedEdit {
            path: self.masker.text(Some(&record.policy), "", &edit.path).into_owned(),
            ..edit.clone()
        });
        edits.collect()
    }

    fn insert_edits(&self, row: i64, at: i64, edits: &[RecordedEdit]) -> rusqlite::Result<()> {
        let mut insert = self.transaction.prepare_cached(
            "INSERT INTO edit (request, at, kind, path, place, rule, label, detector, length)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        for edit in edits {
            insert.execute(params![
                row,
                at,
                edit.kind,
                edit.path,
                without_numbers(&edit.path),
                edit.rule,
                edit.label,
                edit.detector,
                edit.length,
            ])?;
        }
        Ok(())
    }

    /// Writes the pieces of a body that are not there yet, and gives the ids of all.
    fn pieces(&mut self, record: &RequestRecord, body: &[u8], row: i64) -> rusqlite::Result<Vec<i64>> {
        let epoch = row / EPOCH;
        let is_json = matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
        let digest = record.policy.digest();
        let mut ids = Vec::new();
        for piece in Cutter::new(body) {
            let name = self.names.of(piece, &digest);
            let known = match self.known.get(&name).copied() {
                Some(known) if known.epoch == epoch => {
                    ids.push(known.id);
                    continue;
                }
                Some(known) => known,
                None => {
                    Background::give_way();
                    let policy = Some(&*record.policy);
                    let masked = match is_json {
                        true => self.masker.json(policy, piece.within, piece.text),
                        false => self.masker.plain(policy, piece.text),
                    };
                    self.new_piece(&masked, row, words_of(row, ids.len() + 1))?
                }
            };
            if known.epoch != epoch {
                let mut update =
                    self.transaction.prepare_cached("UPDATE piece SET epoch = ?1 WHERE id = ?2")?;
                update.execute([epoch, known.id])?;
            }
            self.known.put(name, KnownPiece { epoch, ..known });
            ids.push(known.id);
        }
        Ok(ids)
    }

    fn new_piece(&mut self, masked: &Masked, row: i64, words: i64) -> rusqlite::Result<KnownPiece> {
        let digest = blake3::hash(&masked.json);
        let mut find = self.transaction.prepare_cached("SELECT id, epoch FROM piece WHERE digest = ?1")?;
        let found = find
            .query_row([digest.as_bytes()], |row| Ok(KnownPiece { id: row.get(0)?, epoch: row.get(1)? }))
            .optional()?;
        if let Some(known) = found {
            return Ok(known);
        }
        let data = self
            .compressor
            .compress(&masked.json)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        let mut insert = self.transaction.prepare_cached(
            "INSERT INTO piece (digest, epoch, words, size, data) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let id = insert.insert(params![digest.as_bytes(), row / EPOCH, words, masked.json.len(), data])?;
        self.index(words, &masked.words)?;
        Ok(KnownPiece { id, epoch: row / EPOCH })
    }

    fn index(&self, id: i64, words: &str) -> rusqlite::Result<()> {
        if words.trim().is_empty() {
            return Ok(());
        }
        let mut insert =
            self.transaction.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
        insert.execute(params![id, words]).map(|_| ())
    }

    /// Saves an answer, as far as it has come.
    pub(crate) fn answer(&self, live: &LiveRow, ended: bool) -> rusqlite::Result<()> {
        let whole = |text: &str| self.masker.text(None, "", text).into_owned();
        let is_cut_short = live.is_cut_short;
        let text = |text: &str| match ended {
            true if is_cut_short => whole(&cut_short(text)),
            true => whole(text),
            false => whole(settled(text)),
        };
        let reasoning = text(live.reply.reasoning.expose());
        let content = text(live.reply.content.expose());
        let calls: Vec<SavedCall> = live
            .reply
            .calls
            .iter()
            // A call that has not ended is no JSON yet, and cannot be masked like it.
            .filter(|_| ended)
            .map(|call| SavedCall {
                id: whole(call.id.expose()),
                name: whole(call.name.expose()),
                arguments: self.arguments(call.arguments.expose(), is_cut_short),
            })
            .collect();
        let calls = serde_json::to_string(&calls).expect("texts always serialise");
        if live.status.is_some() {
            let mut save = self.transaction.prepare_cached(
                "INSERT OR REPLACE INTO answer (request, model, reasoning, content, calls, failure)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            let failure = live.failure.as_deref().map(whole);
            save.execute(params![live.row, whole(&live.model), reasoning, content, calls, failure])?;
        }
        if ended {
            self.index(words_of(live.row, 0), &format!("{reasoning}\n{content}\n{calls}"))?;
        }
        let usage = live.reply.usage;
        let count = |count: Option<u64>| count.and_then(|count| i64::try_from(count).ok());
        let mut update = self.transaction.prepare_cached(
            "UPDATE request SET status = ?2, head_ms = ?3, answer_ms = ?4, answer = ?5, finish = ?6, input = ?7,
             cached = ?8, output = ?9 WHERE id = ?1",
        )?;
        update.execute(params![
            live.row,
            live.status,
            live.head.map(whole_millis),
            ended.then(|| whole_millis(live.began.elapsed())),
            live.state,
            live.reply.finish.map(Finish::name),
            count(usage.map(|usage| usage.input)),
            count(usage.map(|usage| usage.cached)),
            count(usage.map(|usage| usage.output)),
        ])?;
        Ok(())
    }

    /// Writes what became of the answer to a request.
    pub(crate) fn ruled(&self, row: i64, outcome: AnswerOutcome, rules: &[String]) -> rusqlite::Result<()> {
        let mut update =
            self.transaction.prepare_cached("UPDATE request SET ruled = ?2, ruled_by = ?3 WHERE id = ?1")?;
        let rules = serde_json::to_string(rules).expect("texts always serialise");
        update.execute(params![row, outcome.as_str(), rules]).map(|_| ())
    }

    /// Arguments with masks. JSON that is complete is no part of anything.
    fn arguments(&self, arguments: &str, is_cut_short: bool) -> String {
        let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok();
        let arguments = if is_cut_short && !is_json() { cut_short(arguments) } else { arguments.into() };
        let masked = match arguments.trim_start().starts_with(['{', '[']) {
            true => self.masker.json(None, Within::Start, arguments.as_bytes()).json,
            false => return self.masker.text(None, "", &arguments).into_owned(),
        };
        String::from_utf8_lossy(&masked).into_owned()
    }
}

/// Returns whether what a person was shown is what left, where a person let it go.
fn shown_is_sent(record: &RequestRecord, body: &[u8]) -> Option<bool> {
    let approval = record.approved.as_ref()?;
    Some(record.sent.is_none() || Digest::of(&approval.to, body) == approval.digest)
}

/// Characters of the longest id of a message that is kept.
const LONGEST_ID: usize = 256;

/// Returns the id by which a client names its user's last message; `None` where it gives it none, or no short text.
fn message_id(source: &Bytes) -> Option<String> {
    memmem::find(source, b"\"message_id\"")?;
    let document = Document::detect(source.clone(), &Limits::default()).ok()?;
    let messages = document.messages().map(|message| document.section(message));
    let of_user = messages.filter(|message| message.role == Role::User);
    let ids = of_user.filter_map(|message| document.leaf(document.member(message.node, "message_id")?));
    let id = ids.last()?.text().into_cow().into_owned();
    (!id.trim().is_empty() && id.len() <= LONGEST_ID).then_some(id)
}

/// Returns the body that the log shows: what left, or what came where nothing did.
fn logged_body(record: &RequestRecord) -> &[u8] {
    match &record.sent {
        // It left as it came, compressed.
        Some(sent) if record.coded && *sent == record.received => &record.source,
        Some(sent) => sent,
        None => &record.source,
    }
}

/// Returns a display path with no numbers of elements: places of the same kind are counted together.
fn without_numbers(path: &str) -> String {
    let mut place = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(open) = rest.find('[') {
        let (before, after) = rest.split_at(open + 1);
        place.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        rest = if after[digits..].starts_with(']') { &after[digits..] } else { after };
    }
    place.push_str(rest);
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_one_kind_are_one_place() {
        assert_eq!(without_numbers("messages[12].content[3].text"), "messages[].content[].text");
        assert_eq!(without_numbers("a[b].c[1"), "a[b].c[1");
        assert_eq!(without_numbers("model"), "model");
    }
}
