//! The one thread that writes: takes what waits, and makes one transaction of it.

use std::collections::HashMap;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use leafgate_policy::Background;
use leafgate_record::{AnswerPart, RecordId};
use lru::LruCache;
use rusqlite::{Connection, TransactionBehavior};
use zstd::bulk::Compressor;

use crate::bounds;
use crate::fault::StoreFault;
use crate::files::LogFiles;
use crate::keys::StoreKeys;
use crate::live::LiveRow;
use crate::mask::Masker;
use crate::names::{PieceName, PieceNames};
use crate::pace::WriterPace;
use crate::presence::Presence;
use crate::queue::{Batch, QueueExit, WriterMessage, WriterTask};
use crate::reveals;
use crate::schema::{EPOCH, millis};
use crate::store::{StoreConfig, StoreState};
use crate::work::{KnownPiece, Work, WorkDone};

/// Pieces whose ids are remembered: a megabyte each of conversations that go on.
const PIECES: NonZeroUsize = NonZeroUsize::new(16 * 1024).expect("it is not 0");

/// How hard pieces are compressed: little of what is written is ever read.
const FASTEST: i32 = 1;

/// Requests whose answers may still be decided about, long after their ends.
const DECIDED: NonZeroUsize = NonZeroUsize::new(16 * 1024).expect("it is not 0");

/// How long a transaction goes on with further messages. Others who write the log wait for two seconds,
/// and a writer to whom requests leave little time would need as long for one full batch.
const HELD: Duration = Duration::from_millis(100);

/// How often the bounds are looked at, beside every [`EPOCH`] requests.
const TIDY: Duration = Duration::from_secs(60);

/// How often the writer looks whether it can write again, where it could not.
const RETRY: Duration = Duration::from_secs(1);

/// The thread's own.
pub(crate) struct LogWriter {
    database: Connection,
    files: LogFiles,
    /// `None` where the folder knows no locks.
    presence: Option<Presence>,
    keys: StoreKeys,
    masker: Masker,
    exit: QueueExit,
    state: Arc<StoreState>,
    limit: u64,
    age: Duration,
    live: HashMap<RecordId, LiveRow>,
    /// The rows of the requests that left.
    rows: LruCache<RecordId, i64>,
    names: PieceNames,
    /// The pieces that are in the database, by their names.
    known: LruCache<PieceName, KnownPiece>,
    compressor: Compressor<'static>,
    /// Changes when another process has written.
    data_version: i64,
    tidied: Instant,
    since_tidied: i64,
}

impl LogWriter {
    pub(crate) fn new(
        (database, files): (Connection, LogFiles),
        presence: Option<Presence>,
        keys: StoreKeys,
        config: &StoreConfig,
        exit: QueueExit,
        state: Arc<StoreState>,
    ) -> io::Result<Self> {
        Ok(LogWriter {
            masker: Masker::new(keys.tokens.clone()),
            database,
            files,
            presence,
            keys,
            exit,
            state,
            limit: config.limit,
            age: config.age,
            live: HashMap::new(),
            rows: LruCache::new(DECIDED),
            names: PieceNames::new(),
            known: LruCache::new(PIECES),
            compressor: Compressor::new(FASTEST)?,
            data_version: 0,
            tidied: Instant::now(),
            since_tidied: 0,
        })
    }

    pub(crate) fn run(mut self) {
        self.tidy();
        let (mut pace, mut rest) = (WriterPace::new(), Duration::ZERO);
        loop {
            let mut batch = self.gather(rest);
            if batch.messages.is_empty() && !batch.is_last && self.state.get().failing.is_some() {
                self.try_again();
            }
            let background = Background::begin();
            self.write(&mut batch.messages);
            drop(background);
            let stop = batch.is_last;
            self.exit.done(batch);
            rest = pace.rest();
            if self.since_tidied >= EPOCH || self.tidied.elapsed() >= TIDY {
                self.tidy();
            }
            if stop {
                return self.end();
            }
        }
    }

    /// Nothing more is told: what has not ended breaks off, and nobody waits any more for a person.
    fn end(mut self) {
        let broken =
            |id: &RecordId| WriterTask::Answer(*id, AnswerPart::End { complete: false, answer: None });
        let mut broken: Vec<_> = self.live.keys().map(|id| broken(id).into()).collect();
        self.write(&mut broken);
        if let Some(Err(error)) = self.presence.take().map(|presence| presence.end(&self.database)) {
            self.state.fails(Some(StoreFault::from(error).to_string()));
        }
    }

    /// Waits for something to do, and takes what is there after a rest.
    fn gather(&mut self, rest: Duration) -> Batch {
        let now = Instant::now();
        let due = self.live.values().filter_map(|live| live.due(now)).min();
        let patience = if self.state.get().failing.is_some() { RETRY } else { TIDY };
        self.exit.take(due.unwrap_or(patience).min(patience), rest)
    }

    /// Looks whether the log can be written again, so that nobody is told otherwise until the next
    /// request comes. To take the lock is not enough: a page is written, as a full disk refuses that.
    fn try_again(&mut self) {
        let written =
            self.database.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|try_it| {
                let version: i64 = try_it.pragma_query_value(None, "user_version", |row| row.get(0))?;
                try_it.pragma_update(None, "user_version", version)?;
                try_it.commit()
            });
        let written = written.map_err(StoreFault::from).and_then(|()| self.still_there());
        self.state.fails(written.err().map(|why| why.to_string()));
    }

    /// Writes messages and what is due, in as many transactions as that takes.
    fn write(&mut self, messages: &mut [WriterMessage]) {
        let now = Instant::now();
        if messages.is_empty() && !self.live.values().any(|live| live.due(now) == Some(Duration::ZERO)) {
            return;
        }
        let mut taken = self.write_some(messages);
        while taken < messages.len() {
            taken += self.write_some(&mut messages[taken..]);
        }
    }

    /// Writes the first of some messages, and what is due, in one transaction; gives how many of them
    /// were written, or cannot be.
    fn write_some(&mut self, messages: &mut [WriterMessage]) -> usize {
        let now = Instant::now();
        let mut done = WorkDone::default();
        let written = self.transact(messages, now, &mut done);
        let taken = if written.is_ok() { done.taken } else { messages.len() };
        // Who waits hears of a failure once the status says it.
        let waits: Vec<_> = messages[..taken].iter_mut().filter_map(|message| message.waits.take()).collect();
        let ended: Vec<LiveRow> = done.ended.iter().filter_map(|id| self.live.remove(id)).collect();
        match written {
            Ok(()) => {
                for id in &done.saved {
                    if let Some(live) = self.live.get_mut(id) {
                        (live.is_new, live.saved) = (false, Some(now));
                    }
                }
                self.since_tidied += i64::try_from(done.written).unwrap_or(0);
                // An answer without its request is nothing to write, and shows nothing.
                if done.written > 0 || !done.saved.is_empty() || !ended.is_empty() {
                    self.state.fails(None);
                }
                let mut status = self.state.get();
                status.written += done.written;
                status.mismatches += done.mismatches;
                for usage in ended.iter().filter_map(|live| live.reply.usage) {
                    status.tokens.input = status.tokens.input.saturating_add(usage.input);
                    status.tokens.cached = status.tokens.cached.saturating_add(usage.cached);
                    status.tokens.output = status.tokens.output.saturating_add(usage.output);
                }
                drop(status);
                for waits in waits {
                    // Nobody waits any more where the client has gone.
                    let _ = waits.send(());
                }
            }
            Err(error) => {
                // Who waits hears of it by the loss of the sender.
                for id in &done.begun {
                    self.live.remove(id);
                    self.rows.pop(id);
                }
                self.known.clear();
                self.state.get().missed += taken as u64;
                self.state.fails(Some(error.to_string()));
            }
        }
        taken
    }

    /// Forgets which pieces are there once another connection has written.
    fn forget_what_others_changed(&mut self) -> rusqlite::Result<()> {
        let version = self.database.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        if std::mem::replace(&mut self.data_version, version) != version {
            self.known.clear();
        }
        Ok(())
    }

    /// One transaction: the first message in any case, and others as long as there is time.
    fn transact(
        &mut self,
        messages: &[WriterMessage],
        now: Instant,
        done: &mut WorkDone,
    ) -> Result<(), StoreFault> {
        self.forget_what_others_changed()?;
        let transaction = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut work = Work {
            transaction: &transaction,
            keys: &self.keys,
            masker: &self.masker,
            writer: self.presence.as_ref().map(|presence| presence.writer),
            names: &self.names,
            known: &mut self.known,
            compressor: &mut self.compressor,
            last: None,
        };
        for message in messages {
            if done.taken > 0 && now.elapsed() >= HELD {
                break;
            }
            done.taken += 1;
            match &message.task {
                WriterTask::Request(record) => {
                    let row = work.request(record, done)?;
                    done.written += 1;
                    if record.sent.is_some() {
                        self.live.insert(record.id, LiveRow::new(row));
                        self.rows.put(record.id, row);
                        done.begun.push(record.id);
                    }
                }
                WriterTask::Answer(id, AnswerPart::Ruled { outcome, rules }) => {
                    if let Some(row) = self.rows.get(id) {
                        work.ruled(*row, *outcome, rules)?;
                    }
                }
                WriterTask::Reveal(reveal) => reveals::write(work.transaction, work.masker, reveal)?,
                WriterTask::Answer(id, part) => {
                    // A request that was missed has no answer here.
                    if let Some(live) = self.live.get_mut(id)
                        && live.take(part)
                    {
                        work.answer(live, true)?;
                        done.ended.push(*id);
                    }
                }
                WriterTask::Flush | WriterTask::Stop => {}
            }
        }
        for (id, live) in &self.live {
            if live.due(now) == Some(Duration::ZERO) && !done.ended.contains(id) {
                work.answer(live, false)?;
                done.saved.push(*id);
            }
        }
        transaction.commit()?;
        self.still_there()
    }

    /// Fails where what was written is in no file of the log.
    fn still_there(&mut self) -> Result<(), StoreFault> {
        match self.files.lost() {
            Some(path) => Err(StoreFault::Refused(format!(
                "{} was removed or replaced while it was written: restart the gate, which begins a new log",
                path.display()
            ))),
            None => Ok(()),
        }
    }

    /// Removes what is beyond the bounds.
    fn tidy(&mut self) {
        (self.tidied, self.since_tidied) = (Instant::now(), 0);
        // What is removed may be among it.
        self.known.clear();
        let oldest = SystemTime::now().checked_sub(self.age).map_or(0, millis);
        let others = self.presence.as_ref().map(|presence| presence.end_what_others_left(&self.database));
        if let Some(Err(error)) = others {
            self.state.fails(Some(StoreFault::from(error).to_string()));
        }
        let kept = reveals::keep(&self.database, oldest)
            .and_then(|()| bounds::keep(&mut self.database, oldest, self.limit));
        match kept {
            Ok(bytes) => self.state.get().bytes = bytes,
            Err(error) => self.state.fails(Some(StoreFault::from(error).to_string())),
        }
    }
}
