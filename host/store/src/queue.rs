//! What waits for the writer, and what was written and is to be dropped.
//!
//! Two things about it decide what the log costs a gate that has no time to spare. A transaction costs
//! much beside its rows, and each wake of the writer takes a core from a request, so the writer lets
//! messages gather for a moment before it takes them, unless somebody waits for one or there are
//! enough. And what was written is dropped by the threads that hand over more, not by the writer: the
//! system's allocator locks the memory of a thread to take back what is large, and the writer has the
//! lowest of all niceness: where it is stopped with that lock, the requests of that thread stop too.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use leafgate_answer::Delta;
use leafgate_gate::record::{AnswerPart, RecordId, RequestRecord, RevealRecord};
use tokio::sync::oneshot;

/// Messages that wait for the writer: parts of streams are small and many.
const MESSAGES: usize = 8192;

/// Messages of one transaction.
const BATCH: usize = 512;

/// Bytes of bodies that one transaction takes: so many are kept at most after it, until they are
/// dropped. It is some forty turns of an agent, and more gain nothing.
const BATCH_BYTES: usize = 4 << 20;

/// How long the first message waits for others.
const GATHER: Duration = Duration::from_millis(20);

/// Written messages that are dropped for each that is handed over: more than come.
const DROPPED: usize = 2;

/// What waits for the writer.
pub(crate) enum Message {
    /// A request, and who waits for it to be on disk.
    Request(Box<RequestRecord>, Option<oneshot::Sender<()>>),
    Answer(RecordId, AnswerPart),
    /// Somebody asks for a value, and waits for that to be on disk.
    Reveal(RevealRecord, Option<oneshot::Sender<()>>),
    Stop,
}

impl Message {
    /// Bytes that it keeps in memory.
    fn weight(&self) -> usize {
        match self {
            Message::Request(record, _) => {
                // One buffer may be all three.
                let (received, source) = (&record.received, &record.source);
                let is_another = |one: &bytes::Bytes, other: &bytes::Bytes| one.as_ptr() != other.as_ptr();
                let mut weight = received.len();
                if is_another(source, received) {
                    weight += source.len();
                }
                let sent = record.sent.as_ref();
                weight
                    + sent
                        .filter(|sent| is_another(sent, received) && is_another(sent, source))
                        .map_or(0, bytes::Bytes::len)
            }
            Message::Answer(_, AnswerPart::Said(deltas)) => deltas.iter().map(Delta::len).sum(),
            Message::Answer(_, AnswerPart::End { answer: Some(answer), .. }) => answer.weight(),
            Message::Answer(..) | Message::Reveal(..) | Message::Stop => 0,
        }
    }

    /// Takes who waits for it to be on disk.
    pub(crate) fn take_waits(&mut self) -> Option<oneshot::Sender<()>> {
        match self {
            Message::Request(_, waits) | Message::Reveal(_, waits) => waits.take(),
            Message::Answer(..) | Message::Stop => None,
        }
    }

    /// Whether somebody waits for it.
    fn is_awaited(&self) -> bool {
        match self {
            Message::Request(_, waits) | Message::Reveal(_, waits) => waits.is_some(),
            Message::Answer(..) => false,
            Message::Stop => true,
        }
    }
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// There is no room for it.
    Full,
    /// Nobody takes any more.
    Ended,
}

/// What both ends look at.
struct Shared {
    /// Bytes of bodies that wait.
    bytes: AtomicUsize,
    /// Messages that wait.
    messages: AtomicUsize,
    /// Messages that wait and for which somebody waits: the writer is not to let more gather.
    awaited: AtomicUsize,
    /// Whether the writer lets more gather.
    gathers: AtomicBool,
    writer: OnceLock<Thread>,
    /// What was written.
    written: Mutex<VecDeque<Message>>,
    /// Bytes that may wait.
    limit: usize,
    /// Bytes that need not wait for more.
    enough: usize,
    /// How long the first message waits for others.
    gather: Duration,
}

impl Shared {
    fn is_awaited(&self) -> bool {
        self.awaited.load(SeqCst) > 0
    }

    fn is_enough(&self) -> bool {
        self.bytes.load(SeqCst) >= self.enough || self.messages.load(SeqCst) >= BATCH
    }

    fn drop_written(&self) {
        // Who comes while another thread is at it need not wait: it is done.
        let Ok(mut written) = self.written.try_lock() else { return };
        let some: [Option<Message>; DROPPED] = std::array::from_fn(|_| written.pop_front());
        drop(written);
        drop(some);
    }
}

/// Where messages are handed over.
pub(crate) struct Entrance {
    sender: SyncSender<Message>,
    shared: Arc<Shared>,
}

/// Where the writer takes them.
pub(crate) struct Exit {
    receiver: Receiver<Message>,
    shared: Arc<Shared>,
}

/// What the writer takes at once.
pub(crate) struct Batch {
    pub(crate) messages: Vec<Message>,
    /// Whether it is the last one.
    pub(crate) is_last: bool,
    /// Whether somebody waits for one of them.
    is_awaited: bool,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, message: Message) {
        self.bytes += message.weight();
        self.messages.push(message);
    }
}

/// Returns a queue with room for the bodies of so many bytes, or for one message.
pub(crate) fn queue(limit: usize) -> (Entrance, Exit) {
    gathering(limit, GATHER)
}

fn gathering(limit: usize, gather: Duration) -> (Entrance, Exit) {
    let (sender, receiver) = mpsc::sync_channel(MESSAGES);
    let shared = Arc::new(Shared {
        bytes: AtomicUsize::new(0),
        messages: AtomicUsize::new(0),
        awaited: AtomicUsize::new(0),
        gathers: AtomicBool::new(false),
        writer: OnceLock::new(),
        written: Mutex::default(),
        limit,
        enough: BATCH_BYTES.min(limit / 2),
        gather,
    });
    (Entrance { sender, shared: Arc::clone(&shared) }, Exit { receiver, shared })
}

impl fmt::Debug for Entrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entrance(..)")
    }
}

impl Entrance {
    /// Hands a message over, if there is room.
    pub(crate) fn offer(&self, message: Message) -> Result<(), Left> {
        let shared = &*self.shared;
        shared.drop_written();
        let (weight, is_awaited) = (message.weight(), message.is_awaited());
        let before = shared.bytes.fetch_add(weight, SeqCst);
        shared.messages.fetch_add(1, SeqCst);
        shared.awaited.fetch_add(usize::from(is_awaited), SeqCst);
        // One message always fits, however large.
        let fits = before == 0 || before + weight <= shared.limit;
        let taken = match fits {
            true => self.sender.try_send(message).map_err(|error| match error {
                TrySendError::Full(_) => Left::Full,
                TrySendError::Disconnected(_) => Left::Ended,
            }),
            false => Err(Left::Full),
        };
        match taken {
            Ok(()) => self.press(),
            Err(_) => {
                shared.bytes.fetch_sub(weight, SeqCst);
                shared.messages.fetch_sub(1, SeqCst);
                shared.awaited.fetch_sub(usize::from(is_awaited), SeqCst);
            }
        }
        taken
    }

    /// Says that nothing more comes; waits for room.
    pub(crate) fn stop(&self) {
        self.shared.messages.fetch_add(1, SeqCst);
        self.shared.awaited.fetch_add(1, SeqCst);
        // An error means that the writer has ended.
        let _ = self.sender.send(Message::Stop);
        self.press();
    }

    /// Ends the writer's waiting for more where it must.
    fn press(&self) {
        let shared = &*self.shared;
        if (shared.is_awaited() || (shared.gathers.load(SeqCst) && shared.is_enough()))
            && let Some(writer) = shared.writer.get()
        {
            writer.unpark();
        }
    }
}

impl Exit {
    /// Waits for messages, so long at most, and takes what has gathered. Before the end of a rest it
    /// takes only what somebody waits for, and what came before that.
    pub(crate) fn take(&self, patience: Duration, rest: Duration) -> Batch {
        let rested = Instant::now() + rest;
        let mut batch = Batch { messages: Vec::new(), is_last: false, is_awaited: false, bytes: 0 };
        match self.first(patience) {
            Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => batch.is_last = true,
            Ok(message) => {
                self.add(&mut batch, message);
                self.rest_until(rested, &batch);
                self.let_gather(&batch);
                self.fill(&mut batch);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        batch
    }

    /// Takes the first message. What was written is dropped here where no more comes.
    fn first(&self, patience: Duration) -> Result<Message, RecvTimeoutError> {
        let soon = self.shared.gather.min(patience);
        match self.receiver.recv_timeout(soon) {
            Err(RecvTimeoutError::Timeout) => {
                let written = std::mem::take(&mut *self.written());
                drop(written);
                self.receiver.recv_timeout(patience.saturating_sub(soon))
            }
            first => first,
        }
    }

    /// Lets other threads have the processor.
    fn rest_until(&self, end: Instant, batch: &Batch) {
        self.wait_until(end, || batch.is_awaited || self.shared.is_awaited());
    }

    /// Lets messages come without a wake for each.
    fn let_gather(&self, batch: &Batch) {
        let shared = &*self.shared;
        shared.gathers.store(true, SeqCst);
        self.wait_until(Instant::now() + shared.gather, || {
            batch.is_awaited || shared.is_awaited() || shared.is_enough()
        });
        shared.gathers.store(false, SeqCst);
    }

    fn wait_until(&self, end: Instant, is_over: impl Fn() -> bool) {
        self.shared.writer.get_or_init(std::thread::current);
        while !is_over()
            && let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
        {
            std::thread::park_timeout(left);
        }
    }

    fn fill(&self, batch: &mut Batch) {
        while batch.messages.len() < BATCH && batch.bytes < BATCH_BYTES {
            match self.receiver.try_recv() {
                Ok(Message::Stop) => {
                    batch.is_last = true;
                    return;
                }
                Ok(message) => self.add(batch, message),
                Err(_) => return,
            }
        }
    }

    /// Adds a message that was taken.
    fn add(&self, batch: &mut Batch, message: Message) {
        let is_awaited = message.is_awaited();
        self.shared.awaited.fetch_sub(usize::from(is_awaited), SeqCst);
        batch.is_awaited |= is_awaited;
        batch.push(message);
    }

    /// Gives back what was taken, written or not: it waits no more, and can be dropped.
    pub(crate) fn done(&self, batch: Batch) {
        self.shared.bytes.fetch_sub(batch.bytes, SeqCst);
        self.shared.messages.fetch_sub(batch.messages.len(), SeqCst);
        let earlier = {
            let mut written = self.written();
            // Where nobody hands over more, as much as two batches would stay.
            let earlier = std::mem::take(&mut *written);
            written.extend(batch.messages);
            earlier
        };
        drop(earlier);
    }

    fn written(&self) -> std::sync::MutexGuard<'_, VecDeque<Message>> {
        self.shared.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So long that a test that waits for it does not end.
    const EVER: Duration = Duration::from_secs(24 * 3600);

    type Words = Arc<[Delta]>;

    fn words(length: usize) -> Words {
        [Delta::Content("a".repeat(length).into())].into()
    }

    fn part(words: &Words) -> Message {
        Message::Answer(RecordId(1), AnswerPart::Said(Arc::clone(words)))
    }

    fn awaited() -> (Message, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        let reveal = RevealRecord {
            at: std::time::SystemTime::UNIX_EPOCH,
            token: String::new(),
            session: "".into(),
            by: String::new(),
        };
        (Message::Reveal(reveal, Some(sender)), receiver)
    }

    /// Takes from a queue that lets messages gather for ever, once the first of them waits.
    fn taken(limit: usize, messages: impl IntoIterator<Item = Message>) -> Batch {
        let (entrance, exit) = gathering(limit, EVER);
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
        let batch = taken(1 << 20, [part(&small), part(&small), waits]);
        assert_eq!(batch.messages.len(), 3);

        let half = words(600);
        assert_eq!(taken(1000, [part(&half)]).messages.len(), 1, "half of the room is enough");

        let batch = taken(1 << 20, (0..BATCH).map(|_| part(&small)));
        assert_eq!(batch.messages.len(), BATCH);
    }

    #[test]
    fn who_waits_ends_a_rest_and_much_does_not() {
        let (entrance, exit) = gathering(1 << 20, Duration::ZERO);
        let (taken, takes) = mpsc::channel();
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
    fn the_end_is_waited_for_by_nobody() {
        let (entrance, exit) = gathering(1 << 20, EVER);
        entrance.offer(part(&words(1))).unwrap();
        let batch = std::thread::scope(|scope| {
            let writer = scope.spawn(move || exit.take(EVER, Duration::ZERO));
            entrance.stop();
            writer.join().unwrap()
        });
        assert_eq!((batch.messages.len(), batch.is_last), (1, true));
    }

    #[test]
    fn who_waits_behind_a_full_batch_is_next() {
        let (entrance, exit) = gathering(1 << 20, EVER);
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
        let (entrance, exit) = gathering(1 << 20, Duration::ZERO);
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
        let (entrance, exit) = gathering(1 << 20, Duration::ZERO);
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
        let (entrance, exit) = gathering(10, Duration::ZERO);
        let long = words(100);
        entrance.offer(part(&long)).unwrap();
        assert_eq!(entrance.offer(part(&long)), Err(Left::Full));
        let batch = exit.take(EVER, Duration::ZERO);
        exit.done(batch);
        entrance.offer(part(&long)).unwrap();
        let batch = exit.take(EVER, Duration::ZERO);
        exit.done(batch);
        drop(exit);
        assert_eq!(entrance.offer(part(&words(0))), Err(Left::Ended));
    }
}
