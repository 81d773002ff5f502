//! Packed files in requests (PDF, office documents, archives), read by whatever reads them for the gate.
//!
//! Agents send the same file on every turn: what was read is remembered by a digest of its bytes, within
//! a bound, and so is that one could not be read; that one was not read in time is not, since the machine may have been
//! busy. A request without such files asks for nothing.

use std::borrow::Cow;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use leafgate_extract::{Extract, Extraction, Unread, UnreadReason, is_readable};
use leafgate_policy::FileText;
use leafgate_tree::NodeId;
use lru::LruCache;
use sha2::{Digest as _, Sha256};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::config::OnUnread;
use crate::lock::lock;
use leafgate_http::Refusal;

/// Files that are read at a time; others wait.
const AT_A_TIME: usize = 2;

/// Bytes of texts that are remembered.
const REMEMBERED: usize = 64 << 20;

/// What a file takes in memory beside its texts, about.
const EACH: usize = 512;

/// How long reading the files of one request may take, and how many bytes of text they may have.
const TIME: Duration = Duration::from_secs(60);
const TEXT: usize = 32 << 20;

/// What it takes to remember a file.
fn size(read: &Extraction) -> usize {
    EACH + read.texts.iter().map(|text| text.len()).sum::<usize>()
}

/// What was read of files, by their SHA-256.
type KnownFiles = LruCache<[u8; 32], Arc<Extraction>>;

/// What reads files, and what it has read.
pub(crate) struct FileReader {
    extract: Option<Arc<dyn Extract>>,
    /// What was read, and the bytes that it takes.
    known: Mutex<(KnownFiles, usize)>,
    /// How many more may be read now.
    turns: (Mutex<usize>, Condvar),
}

impl FileReader {
    pub(crate) fn new(extract: Option<Arc<dyn Extract>>) -> Self {
        let known = Mutex::new((LruCache::unbounded(), 0));
        FileReader { extract, known, turns: (Mutex::new(AT_A_TIME), Condvar::new()) }
    }

    /// Returns what is read of a file; `None` where nobody reads such files, or can be asked before the
    /// time is over.
    fn read(&self, file: &[u8], until: Instant) -> Option<Arc<Extraction>> {
        let extract = self.extract.as_ref().filter(|_| is_readable(file))?;
        let digest: [u8; 32] = Sha256::digest(file).into();
        if let Some(known) = lock(&self.known).0.get(&digest) {
            return Some(Arc::clone(known));
        }
        let read = Arc::new(making_way(|| self.in_turn(until, || extract.extract(file)))?.ok()?);
        if read.unread.is_some_and(|unread| unread.why == UnreadReason::Late) {
            return Some(read);
        }
        let (known, bytes) = &mut *lock(&self.known);
        *bytes += size(&read);
        if let Some(same) = known.put(digest, Arc::clone(&read)) {
            *bytes -= size(&same);
        }
        while *bytes > REMEMBERED
            && let Some((_, oldest)) = known.pop_lru()
        {
            *bytes -= size(&oldest);
        }
        Some(read)
    }

    fn in_turn<R>(&self, until: Instant, work: impl FnOnce() -> R) -> Option<R> {
        let (free, freed) = &self.turns;
        let left = until.saturating_duration_since(Instant::now());
        let waited = freed.wait_timeout_while(lock(free), left, |free| *free == 0);
        let (mut turns, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *turns == 0 || Instant::now() >= until {
            return None;
        }
        *turns -= 1;
        drop(turns);
        scopeguard::defer! {
            *lock(free) += 1;
            freed.notify_one();
        }
        Some(work())
    }
}

/// Lets another thread take over what this one serves besides, where there is one.
fn making_way<R>(work: impl FnOnce() -> R) -> R {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// The files in one request that are no text as they stand.
pub(crate) struct RequestFiles {
    reader: Arc<FileReader>,
    on_unread: OnUnread,
    until: Option<Instant>,
    /// Bytes of text that more of them may have.
    left: usize,
    pub(crate) texts: Arc<[FileText]>,
    /// How many were read.
    pub(crate) read: usize,
    /// How many could not be, or not all of them.
    pub(crate) unread: usize,
}

/// A file in a request.
pub(crate) struct FileIn<'f> {
    /// The leaf that holds it.
    pub(crate) node: NodeId,
    /// Its place, for whoever sent it.
    pub(crate) place: String,
    /// What it is by its first bytes, with an article.
    pub(crate) what: &'static str,
    /// Its bytes; `None` where they cannot be told.
    pub(crate) bytes: Option<Cow<'f, [u8]>>,
}

impl RequestFiles {
    pub(crate) fn new(reader: &Arc<FileReader>, on_unread: OnUnread) -> Self {
        let reader = Arc::clone(reader);
        RequestFiles { reader, on_unread, until: None, left: TEXT, texts: Arc::default(), read: 0, unread: 0 }
    }

    /// Reads files, counts those that cannot be read, and refuses the first of them where that is asked
    /// for.
    pub(crate) fn look_into<'f>(&mut self, files: impl Iterator<Item = FileIn<'f>>) -> Result<(), Refusal> {
        let (mut texts, mut first) = (Vec::new(), None);
        for file in files {
            let until = *self.until.get_or_insert_with(|| Instant::now() + TIME);
            let read = file.bytes.as_ref().and_then(|bytes| self.reader.read(bytes, until));
            let size = read.as_ref().map_or(0, |read| size(read));
            let Some(read) = read.filter(|_| size <= self.left) else {
                self.unread += 1;
                let why = (size > 0).then(|| Unread::whole(UnreadReason::TooMuch));
                first.get_or_insert((file.place, file.what, why));
                continue;
            };
            self.left -= size;
            let text =
                |text: &Arc<str>| FileText { node: file.node, what: file.what, text: Arc::clone(text) };
            texts.extend(read.texts.iter().map(text));
            match read.unread {
                None => self.read += 1,
                Some(unread) => {
                    self.unread += 1;
                    first.get_or_insert((file.place, file.what, Some(unread)));
                }
            }
        }
        // Parts of an upload and strings of JSON are looked into one after the other.
        if !texts.is_empty() {
            self.texts = self.texts.iter().cloned().chain(texts).collect();
        }
        match (self.on_unread, first) {
            (OnUnread::Block, Some((place, what, why))) => {
                let why = why.map_or_else(
                    || "which cannot be looked into".to_owned(),
                    |why| format!("of which {why}"),
                );
                Err(Refusal::unsupported_body(format!(
                    "{place} is {what}, {why}; send its text, or let such files pass with the setting \
                     `on-unread = \"pass\"`"
                )))
            }
            (OnUnread::Block | OnUnread::Pass, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    /// Reads no file the first time, for this reason.
    #[derive(Debug)]
    struct First(UnreadReason, AtomicUsize);

    impl Extract for First {
        fn extract(&self, _: &[u8]) -> io::Result<Extraction> {
            let unread = (self.1.fetch_add(1, Relaxed) == 0).then(|| Unread::whole(self.0));
            Ok(Extraction { texts: Vec::new(), unread })
        }
    }

    /// A busy moment must not blind the gate for a file for ever.
    #[test]
    fn a_file_that_was_not_read_in_time_is_read_the_next_time() {
        for (why, read, asked) in [(UnreadReason::Late, [0, 1, 1], 2), (UnreadReason::Failed, [0, 0, 0], 1)] {
            let extract = Arc::new(First(why, AtomicUsize::new(0)));
            let reader = Arc::new(FileReader::new(Some(Arc::clone(&extract) as Arc<dyn Extract>)));
            let looked = [(); 3].map(|()| {
                let mut files = RequestFiles::new(&reader, OnUnread::Pass);
                let (node, bytes) = (NodeId::from_index(0), Some(Cow::Borrowed(&b"%PDF-1.7"[..])));
                let file = FileIn { node, place: String::new(), what: "a PDF", bytes };
                files.look_into([file].into_iter()).unwrap();
                files.read
            });
            assert_eq!((looked, extract.1.load(Relaxed)), (read, asked), "{why:?}");
        }
    }
}
