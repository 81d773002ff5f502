//! What waits for the writer, and what was written and is to be dropped.
//!
//! Two things about it decide what the log costs a gate that has no time to spare. A transaction costs
//! much beside its rows, and each wake of the writer takes a core from a request, so the writer lets
//! messages gather for a moment before it takes them, unless somebody waits for one or there are
//! enough. And what was written is dropped by the threads that hand over more, not by the writer: the
//! system's allocator locks the memory of a thread to take back what is large, and the writer has the
//! lowest of all niceness: where it is stopped with that lock, the requests of that thread stop too.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use leafgate_answer::Delta;
use leafgate_record::{AnswerPart, RecordId, RequestRecord, RevealRecord};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, Semaphore, TryAcquireError, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

/// What a message weighs beside its texts, with all that is kept for it: parts of streams are small and many.
const LEAST: usize = 2048;

/// What one edit of a request weighs.
const EDIT: usize = 256;

/// Messages of one transaction.
const BATCH: usize = 512;

/// Bytes that one transaction takes: so many are kept at most after it, until they are dropped. It is
/// some forty turns of an agent, and more gain nothing.
const BATCH_BYTES: usize = 4 << 20;

/// How long the first message waits for others.
const GATHER: Duration = Duration::from_millis(20);

/// Written messages that are dropped for each that is handed over: more than come.
const DROPPED: usize = 2;

/// What waits for the writer.
pub(crate) struct WriterMessage {
    pub(crate) task: WriterTask,
    /// Who waits for it to be on disk.
    pub(crate) waits: Option<oneshot::Sender<()>>,
}

pub(crate) enum WriterTask {
    Request(Box<RequestRecord>),
    Answer(RecordId, AnswerPart),
    /// Somebody asks for a value.
    Reveal(RevealRecord),
    /// Somebody waits until what came before it is written, or cannot be.
    Flush,
    Stop,
}

impl From<WriterTask> for WriterMessage {
    fn from(task: WriterTask) -> Self {
        WriterMessage { task, waits: None }
    }
}

impl WriterMessage {
    /// Returns the bytes that it keeps in memory.
    fn weight(&self) -> usize {
        let texts = match &self.task {
            WriterTask::Request(record) => {
                // One buffer may be all three.
                let (received, source) = (&record.received, &record.source);
                let is_another = |one: &Bytes, other: &Bytes| one.as_ptr() != other.as_ptr();
                let source_too = is_another(source, received).then_some(source);
                let sent = record.sent.as_ref();
                let sent = sent.filter(|sent| is_another(sent, received) && is_another(sent, source));
                let edits = record.edits.len() * EDIT;
                [Some(received), source_too, sent].into_iter().flatten().map(Bytes::len).sum::<usize>()
                    + edits
            }
            WriterTask::Answer(_, AnswerPart::Said(deltas)) => deltas.iter().map(Delta::len).sum(),
            WriterTask::Answer(_, AnswerPart::End { answer: Some(answer), .. }) => answer.weight(),
            WriterTask::Answer(..) | WriterTask::Reveal(_) | WriterTask::Flush | WriterTask::Stop => 0,
        };
        LEAST + texts
    }

    /// Returns whether somebody waits for it.
    fn is_awaited(&self) -> bool {
        self.waits.is_some() || matches!(self.task, WriterTask::Stop)
    }

    /// Returns whether it is taken without room: there are few for each request that was taken, and without the end of its answer a
    /// row would stay open.
    fn must_be_taken(&self) -> bool {
        match &self.task {
            WriterTask::Answer(_, part) => !matches!(part, AnswerPart::Said(_)),
            WriterTask::Flush | WriterTask::Stop => true,
            WriterTask::Request(_) | WriterTask::Reveal(_) => false,
        }
    }
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfferError {
    /// There is no room for it.
    Full,
    /// Nobody takes any more.
    Ended,
}

/// What both ends look at.
struct QueueState {
    /// Bytes that may still wait.
    room: Semaphore,
    limit: usize,
    /// Bytes that need not wait for more.
    enough: usize,
    /// How long the first message waits for others.
    gather: Duration,
    /// Messages that wait and for which somebody waits: the writer is not to let more gather.
    awaited: AtomicUsize,
    /// Wakes a writer that lets more gather.
    pressed: Notify,
    /// What was written.
    written: Mutex<VecDeque<WriterMessage>>,
}

impl QueueState {
    fn is_awaited(&self) -> bool {
        self.awaited.load(SeqCst) > 0
    }

    /// Bytes that wait.
    fn waiting(&self) -> usize {
        self.limit - self.room.available_permits()
    }

    fn drop_written(&self) {
        // Who comes while another thread is at it need not wait: it is done.
        let Ok(mut written) = self.written.try_lock() else { return };
        let some: [Option<WriterMessage>; DROPPED] = std::array::from_fn(|_| written.pop_front());
        drop(written);
        drop(some);
    }

    /// Drops all that was written, and keeps `last` instead.
    fn replace_written(&self, last: Vec<WriterMessage>) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = std::mem::replace(&mut *written, last.into());
        drop(written);
        drop(earlier);
    }

    async fn wait_until(&self, end: Instant, is_over: impl Fn() -> bool) {
        while !is_over() && timeout_at(end, self.pressed.notified()).await.is_ok() {}
    }
}

/// A message, and the room that it takes.
type Weighed = (WriterMessage, u32);

/// Where messages are handed over.
#[derive(derive_more::Debug)]
#[debug("Entrance(..)")]
pub(crate) struct Entrance {
    sender: UnboundedSender<Weighed>,
    shared: Arc<QueueState>,
}

/// Where the writer takes them.
pub(crate) struct QueueExit {
    receiver: UnboundedReceiver<Weighed>,
    shared: Arc<QueueState>,
    /// Has the writer's thread wait.
    runtime: Runtime,
}

/// What the writer takes at once.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) messages: Vec<WriterMessage>,
    /// Whether it is the last one.
    pub(crate) is_last: bool,
    /// Who waits until these are done.
    flushes: Vec<oneshot::Sender<()>>,
    room: usize,
}

impl Batch {
    fn push(&mut self, (message, room): Weighed, shared: &QueueState) {
        shared.awaited.fetch_sub(usize::from(message.is_awaited()), SeqCst);
        self.room += room as usize;
        match message.task {
            WriterTask::Stop => self.is_last = true,
            WriterTask::Flush => self.flushes.extend(message.waits),
            _ => self.messages.push(message),
        }
    }

    fn is_full(&self) -> bool {
        self.is_last || self.messages.len() >= BATCH || self.room >= BATCH_BYTES
    }
}

/// Returns a queue with room for so many bytes, or for one message.
pub(crate) fn queue(limit: usize) -> io::Result<(Entrance, QueueExit)> {
    gathering(limit, GATHER)
}

fn gathering(limit: usize, gather: Duration) -> io::Result<(Entrance, QueueExit)> {
    let (sender, receiver) = unbounded_channel();
    let limit = limit.clamp(1, u32::MAX as usize >> 1);
    let shared = Arc::new(QueueState {
        room: Semaphore::new(limit),
        limit,
        enough: BATCH_BYTES.min(limit / 2),
        gather,
        awaited: AtomicUsize::new(0),
        pressed: Notify::new(),
        written: Mutex::default(),
    });
    let runtime = Builder::new_current_thread().enable_time().build()?;
    Ok((Entrance { sender, shared: Arc::clone(&shared) }, QueueExit { receiver, shared, runtime }))
}

impl Entrance {
    /// Hands a message over, if there is room.
    pub(crate) fn offer(&self, message: WriterMessage) -> Result<(), OfferError> {
        let shared = &*self.shared;
        shared.drop_written();
        // One message always fits, however large.
        let weight = u32::try_from(message.weight().min(shared.limit)).unwrap_or(u32::MAX);
        let room = match shared.room.try_acquire_many(weight) {
            Ok(permits) => {
                permits.forget();
                weight
            }
            Err(TryAcquireError::NoPermits) if message.must_be_taken() => 0,
            Err(_) => return Err(OfferError::Full),
        };
        let is_awaited = message.is_awaited();
        shared.awaited.fetch_add(usize::from(is_awaited), SeqCst);
        self.sender.send((message, room)).map_err(|_| OfferError::Ended)?;
        let waiting = shared.waiting();
        if is_awaited || (waiting >= shared.enough && waiting - (room as usize).min(waiting) < shared.enough)
        {
            shared.pressed.notify_one();
        }
        Ok(())
    }
}

impl QueueExit {
    /// Waits for messages, so long at most, and takes what has gathered. Before the end of a rest it
    /// takes only what somebody waits for, and what came before that.
    pub(crate) fn take(&mut self, patience: Duration, rest: Duration) -> Batch {
        let QueueExit { receiver, shared, runtime } = self;
        let mut batch = Batch::default();
        runtime.block_on(async {
            let rested = Instant::now() + rest;
            let soon = shared.gather.min(patience);
            let first = match timeout(soon, receiver.recv()).await {
                Ok(first) => first,
                Err(_) => {
                    // No more comes that could drop it.
                    shared.replace_written(Vec::new());
                    let Ok(first) = timeout(patience - soon, receiver.recv()).await else { return };
                    first
                }
            };
            let Some(first) = first else { return batch.is_last = true };
            // Other threads have the processor.
            shared.wait_until(rested, || shared.is_awaited()).await;
            // Messages come without a wake for each.
            let is_enough = || shared.waiting() >= shared.enough || receiver.len() >= BATCH;
            let gathered = Instant::now() + shared.gather;
            shared.wait_until(gathered, || shared.is_awaited() || is_enough()).await;
            batch.push(first, shared);
            while !batch.is_full()
                && let Ok(next) = receiver.try_recv()
            {
                batch.push(next, shared);
            }
        });
        batch
    }

    /// Gives back what was taken, written or not: it waits no more, and can be dropped.
    pub(crate) fn done(&self, batch: Batch) {
        self.shared.room.add_permits(batch.room);
        // Nobody waits any more where the caller has gone.
        for waits in batch.flushes {
            let _ = waits.send(());
        }
        // Where nobody hands over more, as much as two batches would stay.
        self.shared.replace_written(batch.messages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So long that a test that waits for it does not end.
    const EVER: Duration = Duration::from_secs(24 * 3600);

    /// Room for more than a batch of small messages.
    const ROOM: usize = 8 * BATCH * LEAST;

    type Words = Arc<[Delta]>;

    fn words(length: usize) -> Words {
        [Delta::Content("a".repeat(length).into())].into()
    }

    fn part(words: &Words) -> WriterMessage {
        WriterTask::Answer(RecordId(1), AnswerPart::Said(Arc::clone(words))).into()
    }

    fn awaited() -> (WriterMessage, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        let reveal = RevealRecord {
            at: std::time::SystemTime::UNIX_EPOCH,
            token: String::new(),
            session: "".into(),
            by: String::new(),
        };
        (WriterMessage { task: WriterTask::Reveal(reveal), waits: Some(sender) }, receiver)
    }

    /// Takes from a queue that lets messages gather for ever, once the first of them waits.
    fn taken(limit: usize, messages: impl IntoIterator<Item = WriterMessage>) -> Batch {
        let (entrance, mut exit) = gathering(limit, EVER).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(move || exit.take(EVER, Duration::ZERO));
            messages.into_iter().for_each(|message| entrance.offer(message).unwrap());
            writer.join().unwrap()
        })
    }

    #[test]
    fn messages_gather_until_somebody_waits_or_there_are_enough() {
        let small = words(1);
        let (waits, _receiver) = awaited();
        let batch = taken(ROOM, [part(&small), part(&small), waits]);
        assert_eq!(batch.messages.len(), 3);

        let half = words(LEAST);
        assert_eq!(taken(4 * LEAST, [part(&half)]).messages.len(), 1, "half of the room is enough");

        let (entrance, mut exit) = gathering(ROOM, EVER).unwrap();
        (0..=BATCH).for_each(|_| entrance.offer(part(&small)).unwrap());
        assert_eq!(exit.take(EVER, Duration::ZERO).messages.len(), BATCH);
    }

    #[test]
    fn who_waits_ends_a_rest_and_much_does_not() {
        let (entrance, mut exit) = gathering(ROOM, Duration::ZERO).unwrap();
        let (taken, takes) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                exit.take(EVER, EVER);
                taken.send(()).unwrap();
            });
            let small = words(1);
            (0..BATCH).for_each(|_| entrance.offer(part(&small)).unwrap());
            assert!(takes.try_recv().is_err(), "it rests");
            let (waits, _receiver) = awaited();
            entrance.offer(waits).unwrap();
            takes.recv().unwrap();
        });
    }

    #[test]
    fn who_reads_has_what_came_before_written_at_once() {
        let (entrance, mut exit) = gathering(ROOM, EVER).unwrap();
        let (sender, mut flushed) = oneshot::channel();
        let small = words(1);
        entrance.offer(part(&small)).unwrap();
        entrance.offer(WriterMessage { task: WriterTask::Flush, waits: Some(sender) }).unwrap();
        entrance.offer(part(&small)).unwrap();
        let batch = exit.take(EVER, EVER);
        assert_eq!(batch.messages.len(), 2);
        assert!(flushed.try_recv().is_err(), "it is not written yet");
        exit.done(batch);
        flushed.try_recv().unwrap();
    }

    #[test]
    fn the_end_is_waited_for_by_nobody() {
        let (entrance, mut exit) = gathering(ROOM, EVER).unwrap();
        entrance.offer(part(&words(1))).unwrap();
        let batch = std::thread::scope(|scope| {
            let writer = scope.spawn(move || exit.take(EVER, Duration::ZERO));
            entrance.offer(WriterTask::Stop.into()).unwrap();
            writer.join().unwrap()
        });
        assert_eq!((batch.messages.len(), batch.is_last), (1, true));
    }

    #[test]
    fn who_waits_behind_a_full_batch_is_next() {
        let (entrance, mut exit) = gathering(ROOM, EVER).unwrap();
        let small = words(1);
        (0..BATCH).for_each(|_| entrance.offer(part(&small)).unwrap());
        let (waits, _receiver) = awaited();
        entrance.offer(waits).unwrap();
        let first = exit.take(EVER, Duration::ZERO);
        assert_eq!(first.messages.len(), BATCH);
        exit.done(first);
        assert_eq!(exit.take(EVER, Duration::ZERO).messages.len(), 1);
    }

    #[test]
    fn what_was_written_is_dropped_by_who_hands_over_more() {
        let (entrance, mut exit) = gathering(ROOM, Duration::ZERO).unwrap();
        let text = words(4);
        (0..3).for_each(|_| entrance.offer(part(&text)).unwrap());
        let batch = exit.take(EVER, Duration::ZERO);
        assert_eq!(batch.messages.len(), 3);
        exit.done(batch);
        assert_eq!(Arc::strong_count(&text), 4, "the writer keeps it");
        entrance.offer(part(&words(0))).unwrap();
        assert_eq!(Arc::strong_count(&text), 2, "one of three is left");
        entrance.offer(part(&words(0))).unwrap();
        assert_eq!(Arc::strong_count(&text), 1);
    }

    #[test]
    fn what_was_written_goes_where_nobody_hands_over_more() {
        let (entrance, mut exit) = gathering(ROOM, Duration::ZERO).unwrap();
        let text = words(4);
        entrance.offer(part(&text)).unwrap();
        let batch = exit.take(EVER, Duration::ZERO);
        exit.done(batch);
        assert_eq!(Arc::strong_count(&text), 2);
        assert!(exit.take(Duration::ZERO, Duration::ZERO).messages.is_empty());
        assert_eq!(Arc::strong_count(&text), 1);
    }

    #[test]
    fn what_has_no_room_is_left_and_one_message_always_fits() {
        let (entrance, mut exit) = gathering(10, Duration::ZERO).unwrap();
        let long = words(100);
        entrance.offer(part(&long)).unwrap();
        assert_eq!(entrance.offer(part(&long)), Err(OfferError::Full));
        let batch = exit.take(EVER, Duration::ZERO);
        exit.done(batch);
        entrance.offer(part(&long)).unwrap();
        let batch = exit.take(EVER, Duration::ZERO);
        exit.done(batch);
        drop(exit);
        assert_eq!(entrance.offer(part(&words(0))), Err(OfferError::Ended));
    }

    #[test]
    fn the_end_of_an_answer_is_taken_where_its_words_have_no_room() {
        let (entrance, mut exit) = gathering(ROOM, Duration::ZERO).unwrap();
        let small = words(1);
        while entrance.offer(part(&small)).is_ok() {}
        let end = AnswerPart::End { complete: true, answer: None };
        entrance.offer(WriterTask::Answer(RecordId(1), end).into()).unwrap();
        let (waits, _receiver) = awaited();
        assert_eq!(entrance.offer(waits), Err(OfferError::Full));
        entrance.offer(WriterTask::Stop.into()).unwrap();
        let mut taken = 0;
        loop {
            let batch = exit.take(EVER, Duration::ZERO);
            taken += batch.messages.len();
            let is_last = batch.is_last;
            exit.done(batch);
            if is_last {
                break;
            }
        }
        assert_eq!(taken, ROOM / (LEAST + 1) + 1, "what was taken is written, and there is room again");
        entrance.offer(part(&small)).unwrap();
    }
}
