//! A second thread for a large request: it searches the new texts from the last one on, while the
//! first thread searches them from the first one on, until they meet.
//!
//! The second thread only fills the memo. What it found there is what the first one would have
//! found, so nothing hangs on how far it came, or on whether there was one. No text is searched by
//! both: where the first thread reaches what the second one took, it waits for the end of that text.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::{Builder, ScopedJoinHandle};

use leafgate_tree::{Leaf, NodeId};

use super::Run;
use super::scanner::Scanner;
use super::search::Rules;
use super::subject::Subject;
use crate::Policy;
use crate::index::EngineIndex;
use crate::selector::Selection;

/// So many bytes of new text are worth a thread. At 100 KB starting one, on a core that slept, takes
/// what it saves.
const WORTH: usize = 256 << 10;

/// Threads that search large requests at this moment. Where each core has one, a further one would
/// only take turns with them.
static SEARCHING: AtomicUsize = AtomicUsize::new(0);

/// Cores of this machine. Tests within this crate count the work of their own thread: they have one.
static CORES: LazyLock<usize> = LazyLock::new(|| match cfg!(test) {
    true => 1,
    false => std::thread::available_parallelism().map_or(1, usize::from),
});

/// A share of [`SEARCHING`].
struct Share(usize);

impl Share {
    /// Counts a search, and a second thread for it where a core is idle.
    fn take() -> Share {
        let others = SEARCHING.fetch_add(1, Ordering::Relaxed);
        let second = usize::from(others + 1 < *CORES);
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
    search: impl FnOnce(&mut Ahead<'_, '_>),
) {
    let engines: Vec<(&Selection<'_>, EngineIndex)> = rules
        .iter()
        .filter_map(|(rule, redact)| Some((run.steady_selection(*rule)?, redact.engine?)))
        .collect();
    let texts = match !engines.is_empty() && *CORES > 1 && run.policy.memo.remembers() {
        true => texts(run, new),
        false => Vec::new(),
    };
    if texts.iter().map(Text::len).sum::<usize>() < WORTH || texts.len() < 2 {
        return search(&mut Ahead::default());
    }
    let share = Share::take();
    if !share.has_second() {
        return search(&mut Ahead::default());
    }
    let (policy, meeting) = (run.policy, Meeting::new(texts));
    std::thread::scope(|scope| {
        let thread = Builder::new().name("leafgate-search".to_owned());
        let thread = thread.spawn_scoped(scope, || fill(policy, &engines, &meeting));
        // Without a thread the search takes longer, and that is all.
        let mut ahead = Ahead { meeting: Some(&meeting), thread: thread.ok() };
        search(&mut ahead);
        meeting.end();
        ahead.wait();
    });
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
struct Meeting<'d>(Mutex<Between<'d>>);

struct Between<'d> {
    /// What the second thread has not taken, in body order.
    texts: Vec<Text<'d>>,
    /// What the first thread has reached.
    first: Option<NodeId>,
    /// What the second thread took last.
    second: Option<NodeId>,
}

impl<'d> Meeting<'d> {
    fn new(texts: Vec<Text<'d>>) -> Self {
        Meeting(Mutex::new(Between { texts, first: None, second: None }))
    }

    /// Takes the last text, unless the first thread has reached it.
    fn last(&self) -> Option<Text<'d>> {
        let mut between = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = between.first;
        let text = between.texts.pop_if(|text| first.is_none_or(|first| first < text.leaf.id()))?;
        between.second = Some(text.leaf.id());
        Some(text)
    }

    /// Records what the first thread has reached, and returns whether the second one was there
    /// before it.
    fn reach(&self, node: NodeId) -> bool {
        let mut between = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        between.first = between.first.max(Some(node));
        between.second.is_some_and(|second| second <= node)
    }

    /// Leaves the second thread nothing to take.
    fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).texts.clear();
    }
}

/// What runs ahead of a search: nothing, where there is little to search or no core is idle.
#[derive(Default)]
pub(super) struct Ahead<'a, 'd> {
    meeting: Option<&'a Meeting<'d>>,
    thread: Option<ScopedJoinHandle<'a, ()>>,
}

impl Ahead<'_, '_> {
    /// Says that the search has come to a leaf. Where that was taken, waits until all that was
    /// taken is in the memo.
    pub(super) fn reach(&mut self, node: NodeId) {
        if self.meeting.is_some_and(|meeting| meeting.reach(node)) {
            self.wait();
        }
    }

    /// Waits for the end of the second thread.
    fn wait(&mut self) {
        if let Some(thread) = self.thread.take() {
            // Where it panicked, the search asks the same engine about the same text itself.
            let _ = thread.join();
        }
    }
}

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
        assert!(!meeting.reach(nodes[0]));
        assert_eq!(last(), Some(nodes[end - 1]));
        assert_eq!(last(), Some(nodes[end - 2]));
        for &node in &nodes[1..end - 2] {
            assert!(!meeting.reach(node), "{node:?} was not taken");
        }
        assert_eq!(last(), None, "the first thread has been there");
        assert!(meeting.reach(nodes[end - 2]), "it was taken");
    }

    #[test]
    fn a_search_that_ends_leaves_nothing_to_take() {
        let document = document(5);
        let (meeting, _) = meeting(&document);
        meeting.end();
        assert!(meeting.last().is_none());
    }
}
