//! A second thread for a large request: it searches the new texts from the last one on, while the
//! first thread searches them from the first one on, until they meet.
//!
//! The second thread only fills the memo. What it found there is what the first one would have
//! found, so nothing hangs on how far it came, or on whether there was one. No text is searched by
//! both: where the first thread reaches what the second one took, it waits for the end of that text.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use leafgate_tree::{Leaf, NodeId};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::Run;
use super::scanner::Scanner;
use super::search::Rules;
use super::subject::Subject;
use crate::Policy;
use crate::background::{self, Background};
use crate::index::EngineIndex;
use crate::selector::Selection;

/// So many bytes of new text are worth to wake a thread for.
const WORTH: usize = 48 << 10;

/// So many bytes are worth it where nothing says what else the machine does.
const WORTH_A_GUESS: usize = 256 << 10;

/// Threads that search large requests at this moment. Where each core has one, a further one would
/// only take turns with them.
static SEARCHING: AtomicUsize = AtomicUsize::new(0);

/// Cores of this machine. Tests within this crate count the work of their own thread: they have one.
static CORES: LazyLock<usize> = LazyLock::new(|| match cfg!(test) {
    true => 1,
    false => std::thread::available_parallelism().map_or(1, usize::from),
});

/// The second threads, asleep until a request needs one: to start a thread takes what it saves at
/// 100 KB. None where the system gives no threads: then searches take longer, and that is all.
static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let threads = CORES.saturating_sub(1);
    let pool = || ThreadPoolBuilder::new().num_threads(threads).thread_name(|_| "leafgate-search".to_owned());
    (threads > 0).then(|| pool().build().ok()).flatten()
});

/// A share of [`SEARCHING`].
struct Share(usize);

impl Share {
    /// Counts a search, and a second thread for it where a core is idle.
    fn take(bytes: usize) -> Share {
        let others = SEARCHING.fetch_add(1, Ordering::Relaxed);
        let second = usize::from(others + 1 < *CORES && has_idle_core(bytes));
        SEARCHING.fetch_add(second, Ordering::Relaxed);
        Share(1 + second)
    }

    fn has_second(&self) -> bool {
        self.0 > 1
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        SEARCHING.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Calls a search with what runs ahead of it over the new leaves of a request.
pub(super) fn with<'d>(
    run: &Run<'_>,
    rules: &Rules<'_>,
    new: impl Iterator<Item = Leaf<'d>>,
    search: impl FnOnce(Ahead<'_, '_>),
) {
    let engines: Vec<(&Selection<'_>, EngineIndex)> = rules
        .iter()
        .filter_map(|(rule, redact)| Some((run.steady_selection(*rule)?, redact.engine?)))
        .collect();
    let texts = match !engines.is_empty() && *CORES > 1 && run.policy.memo.remembers() {
        true => texts(run, new),
        false => Vec::new(),
    };
    let bytes = texts.iter().map(Text::len).sum::<usize>();
    if bytes < WORTH || texts.len() < 2 {
        return search(None);
    }
    let share = Share::take(bytes);
    let (true, Some(pool)) = (share.has_second(), &*POOL) else {
        return search(None);
    };
    let (policy, meeting) = (run.policy, Meeting::new(texts));
    let _shared = Background::begin_search();
    pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            // Where it panics, the search asks the same engine about the same text itself.
            let _ = catch_unwind(AssertUnwindSafe(|| fill(policy, &engines, &meeting)));
            meeting.second_ends();
        });
        search(Some(&meeting));
        meeting.first_ends();
    });
}

/// Returns false where every core has something else to run that does not give way: then a second
/// thread makes this request faster at the cost of all others.
fn has_idle_core(bytes: usize) -> bool {
    running()
        .map_or(bytes >= WORTH_A_GUESS, |running| running.saturating_sub(background::at_work()) <= *CORES)
}

/// Returns how many threads of the whole machine run or could run, this one included (proc(5),
/// `/proc/loadavg`, fourth field).
#[cfg(target_os = "linux")]
fn running() -> Option<usize> {
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    /// Three averages and the count.
    const MOST_READ: usize = 64;
    static LOAD: LazyLock<Option<File>> = LazyLock::new(|| File::open("/proc/loadavg").ok());
    let mut text = [0; MOST_READ];
    let length = LOAD.as_ref()?.read_at(&mut text, 0).ok()?;
    let fields = std::str::from_utf8(&text[..length]).ok()?;
    fields.split(' ').nth(3)?.split('/').next()?.parse().ok()
}

/// No other system says it this cheaply.
#[cfg(not(target_os = "linux"))]
fn running() -> Option<usize> {
    None
}

/// A new text, and what the draft says of it.
struct Text<'d> {
    leaf: Leaf<'d>,
    unwalked: bool,
}

impl Text<'_> {
    fn len(&self) -> usize {
        self.leaf.spelling().0.len()
    }
}

fn texts<'d>(run: &Run<'_>, new: impl Iterator<Item = Leaf<'d>>) -> Vec<Text<'d>> {
    let received = new.filter(|leaf| run.draft.is_as_received(leaf.id()));
    received.map(|leaf| Text { leaf, unwalked: run.draft.is_unwalked(leaf.id()) }).collect()
}

/// Asks the engines about one text after the other, from the last one on.
fn fill(policy: &Policy, engines: &[(&Selection<'_>, EngineIndex)], meeting: &Meeting<'_>) {
    let mut scanner = Scanner::default();
    while let Some(Text { leaf, unwalked }) = meeting.last() {
        let mut subject = Subject::received(leaf, unwalked);
        // What nobody remembers would be searched twice.
        if subject.digest(&policy.memo).is_none() || subject.is_media() {
            continue;
        }
        scanner.begin();
        for &(selection, engine) in engines {
            if selection.selects(&leaf) {
                scanner.scan(policy, engine, &mut subject);
            }
        }
    }
}

/// Where the two threads are.
pub(super) struct Meeting<'d> {
    between: Mutex<Between<'d>>,
    second_ended: Condvar,
}

struct Between<'d> {
    /// What the second thread has not taken, in body order.
    texts: Vec<Text<'d>>,
    /// What the first thread has reached.
    first: Option<NodeId>,
    /// What the second thread took last.
    second: Option<NodeId>,
    /// The second thread takes nothing more, and all that it took is in the memo.
    second_ended: bool,
}

impl Between<'_> {
    /// Returns true if and only if the second thread was at a leaf before the first one.
    fn is_taken(&self, node: NodeId) -> bool {
        self.second.is_some_and(|second| second <= node)
    }
}

impl<'d> Meeting<'d> {
    fn new(texts: Vec<Text<'d>>) -> Self {
        let between = Between { texts, first: None, second: None, second_ended: false };
        Meeting { between: Mutex::new(between), second_ended: Condvar::new() }
    }

    /// Takes the last text, unless the first thread has reached it.
    fn last(&self) -> Option<Text<'d>> {
        let mut between = self.lock();
        let first = between.first;
        let text = between.texts.pop_if(|text| first.is_none_or(|first| first < text.leaf.id()))?;
        between.second = Some(text.leaf.id());
        Some(text)
    }

    /// Records what the first thread has reached. Where the second one was there before it, waits
    /// until all that it took is in the memo.
    pub(super) fn reach(&self, node: NodeId) {
        let mut between = self.lock();
        between.first = between.first.max(Some(node));
        while between.is_taken(node) && !between.second_ended {
            between = self.second_ended.wait(between).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Leaves the second thread nothing to take.
    fn first_ends(&self) {
        self.lock().texts.clear();
    }

    fn second_ends(&self) {
        self.lock().second_ended = true;
        self.second_ended.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Between<'d>> {
        self.between.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What runs ahead of a search; `None` where there is little to search or no core is idle.
pub(super) type Ahead<'a, 'd> = Option<&'a Meeting<'d>>;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use leafgate_tree::{Document, Limits};

    use super::*;

    fn document(texts: usize) -> Arc<Document> {
        let messages: Vec<_> = (0..texts)
            .map(|text| serde_json::json!({ "role": "user", "content": text.to_string() }))
            .collect();
        let body = serde_json::json!({ "model": "m", "messages": messages }).to_string();
        Arc::new(Document::detect(body.into(), &Limits::default()).unwrap())
    }

    fn meeting(document: &Document) -> (Meeting<'_>, Vec<NodeId>) {
        let leaves: Vec<_> = document.leaves().collect();
        let texts = leaves.iter().map(|&leaf| Text { leaf, unwalked: false }).collect();
        (Meeting::new(texts), leaves.iter().map(Leaf::id).collect())
    }

    #[test]
    fn two_threads_meet_and_take_nothing_twice() {
        let document = document(5);
        let (meeting, nodes) = meeting(&document);
        let last = || meeting.last().map(|text| text.leaf.id());
        let end = nodes.len();
        meeting.reach(nodes[0]);
        assert_eq!(last(), Some(nodes[end - 1]));
        assert_eq!(last(), Some(nodes[end - 2]));
        for &node in &nodes[1..end - 2] {
            assert!(!meeting.lock().is_taken(node), "{node:?} was not taken");
            meeting.reach(node);
        }
        assert_eq!(last(), None, "the first thread has been there");
        assert!(meeting.lock().is_taken(nodes[end - 2]), "it was taken");
    }

    #[test]
    fn the_first_thread_goes_on_once_the_second_one_has_ended() {
        let document = document(5);
        let (meeting, nodes) = meeting(&document);
        let taken = meeting.last().map(|text| text.leaf.id()).unwrap();
        let ended = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while meeting.last().is_some() {}
                ended.store(1, Ordering::Relaxed);
                meeting.second_ends();
            });
            meeting.reach(taken);
            assert_eq!(ended.load(Ordering::Relaxed), 1);
        });
        assert!(nodes.contains(&taken));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_says_that_this_thread_runs() {
        assert!(running().is_some_and(|running| running >= 1), "{:?}", running());
    }

    #[test]
    fn a_search_that_ends_leaves_nothing_to_take() {
        let document = document(5);
        let (meeting, _) = meeting(&document);
        meeting.first_ends();
        assert!(meeting.last().is_none());
    }
}
