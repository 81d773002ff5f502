//! Reports when the content of a policy folder has changed.
//!
//! Events of the file system only start a look: they come in bursts, twice, too early, or not at
//! all (network mounts, full queues, symlinks to elsewhere). A [`Snapshot`] decides: the digest of
//! every file that counts. A change is reported once the folder has been quiet for a moment and two
//! snapshots agree, so that an editor that truncates before it writes, or a deployment that swaps a
//! symlink, is one change. A slow rescan finds changes that had no event.
//!
//! The caller decides what a change means: this crate knows no policies.

mod busy;
mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

pub use busy::Busy;
pub use snapshot::Snapshot;

/// The times of a watch.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// How long the folder must be quiet. Editors write and rename within a few milliseconds.
    pub quiet: Duration,
    /// The longest wait for quiet. A folder that changes all the time is read all the same, and
    /// read again.
    pub longest_wait: Duration,
    /// The time between two looks without an event.
    pub rescan: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            quiet: Duration::from_millis(60),
            longest_wait: Duration::from_secs(1),
            rescan: Duration::from_secs(2),
        }
    }
}

/// A thread that watches one folder. Dropping it ends the thread.
#[derive(Debug)]
pub struct FolderWatch {
    signals: Sender<Signal>,
    thread: Option<JoinHandle<()>>,
    events: Result<(), WatchError>,
    looking: Busy,
}

/// The system gives no events for the folder; the rescan alone finds changes.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct WatchError(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Event,
    Stop,
}

impl FolderWatch {
    /// Starts to watch a folder, which need not exist yet. `loaded` is the snapshot that the caller
    /// has acted on already.
    ///
    /// `on_change` runs on the watch's own thread, for one change at a time. A change during the
    /// call is the next change.
    ///
    /// # Errors
    /// A system that gives no thread.
    pub fn start(
        folder: impl Into<PathBuf>,
        timing: Timing,
        loaded: Snapshot,
        on_change: impl FnMut(Snapshot) + Send + 'static,
    ) -> std::io::Result<Self> {
        let folder = folder.into();
        let (signals, received) = mpsc::channel();
        let watcher = subscribe(&folder, timing, signals.clone());
        let events = watcher.as_ref().map(|_| ()).map_err(Clone::clone);
        let (looking, watcher) = (Busy::default(), watcher.ok());
        let watching =
            WatchLoop { folder, timing, seen: loaded, received, watcher, looking: looking.clone() };
        let thread = std::thread::Builder::new().name("policy-watch".to_owned());
        let thread = Some(thread.spawn(move || watching.run(on_change))?);
        Ok(FolderWatch { signals, thread, events, looking })
    }

    /// Returns an error if the system reports no changes, so that only the rescan finds them.
    ///
    /// # Errors
    /// The system's reason.
    pub fn events(&self) -> Result<(), WatchError> {
        self.events.clone()
    }

    /// Returns the time of the present look at the folder. A long one means that the disk does not
    /// answer.
    pub fn looking(&self) -> Busy {
        self.looking.clone()
    }
}

impl Drop for FolderWatch {
    fn drop(&mut self) {
        let _ = self.signals.send(Signal::Stop);
        if let Some(thread) = self.thread.take() {
            // A panic in `on_change` has been reported where it happened.
            let _ = thread.join();
        }
    }
}

/// Subscribes to events of the folder and of its parent: the folder itself may be renamed, removed
/// or a symlink that is swapped.
fn subscribe(
    folder: &Path,
    timing: Timing,
    signals: Sender<Signal>,
) -> Result<RecommendedWatcher, WatchError> {
    let failed = |why: notify::Error| {
        let (folder, rescan) = (folder.display(), timing.rescan);
        WatchError(format!(
            "the system reports no changes of {folder}, which is looked at every {rescan:?} instead: {why}"
        ))
    };
    let parent = folder.parent();
    let parent =
        parent.map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent }.to_owned());
    // As it is asked for, and as the system may name it.
    let real = parent.as_ref().and_then(|parent| parent.canonicalize().ok());
    let parents: Vec<PathBuf> = parent.iter().cloned().chain(real).collect();
    let name = folder.file_name().map(ToOwned::to_owned);
    // Whoever writes beside the folder all the time must not hold up a reload.
    let is_beside = move |path: &PathBuf| {
        name.is_some()
            && path.file_name() != name.as_deref()
            && path.parent().is_some_and(|parent| parents.iter().any(|one| one == parent))
    };
    // This crate reads, and reads are no changes.
    let tells_nothing = move |event: &notify::Event| {
        event.kind.is_access()
            || !event.need_rescan() && !event.paths.is_empty() && event.paths.iter().all(&is_beside)
    };
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Errors (a full queue) are a reason to look.
        if !event.is_ok_and(|event| tells_nothing(&event)) {
            let _ = signals.send(Signal::Event);
        }
    })
    .map_err(failed)?;
    if let Some(parent) = parent {
        watcher.watch(&parent, RecursiveMode::NonRecursive).map_err(failed)?;
    }
    follow(&mut watcher, folder);
    Ok(watcher)
}

/// Subscribes to the folder that is now at the path, whether or not it is the one of before. What
/// happens in it meanwhile has no event: a look must come after.
fn follow(watcher: &mut impl Watcher, folder: &Path) {
    let _ = watcher.unwatch(folder);
    let _ = watcher.watch(folder, RecursiveMode::Recursive);
}

/// The state of the thread.
struct WatchLoop<W> {
    folder: PathBuf,
    timing: Timing,
    seen: Snapshot,
    received: Receiver<Signal>,
    watcher: Option<W>,
    looking: Busy,
}

impl<W: Watcher> WatchLoop<W> {
    fn run(mut self, mut on_change: impl FnMut(Snapshot)) {
        // A change between the caller's look and the subscription had no event.
        self.report_change(&mut on_change);
        loop {
            match self.received.recv_timeout(self.timing.rescan) {
                Ok(Signal::Event) if self.settle().is_some() => {}
                Err(RecvTimeoutError::Timeout) if self.looks_the_same() => continue,
                Err(RecvTimeoutError::Timeout) => {}
                Ok(_) | Err(RecvTimeoutError::Disconnected) => return,
            }
            self.report_change(&mut on_change);
        }
    }

    fn looks_the_same(&self) -> bool {
        self.looking.run(|| self.seen.looks_the_same(&self.folder))
    }

    /// Looks, and reports what has changed. The events of the folder that is at the path now are
    /// asked for first, also where it holds the same as the one before it.
    fn report_change(&mut self, on_change: &mut impl FnMut(Snapshot)) {
        let looked = self.looking.clone().run(|| {
            if let Some(watcher) = &mut self.watcher {
                follow(watcher, &self.folder);
            }
            self.stable()
        });
        // What holds the same may have other times: a rescan is to compare those that it has now.
        let before = std::mem::replace(&mut self.seen, looked.clone());
        if looked != before {
            on_change(looked);
        }
    }

    /// Waits until no event has come for a moment. Returns `None` when told to stop.
    fn settle(&self) -> Option<()> {
        let end = Instant::now() + self.timing.longest_wait;
        while Instant::now() < end {
            match self.received.recv_timeout(self.timing.quiet) {
                Ok(Signal::Event) => {}
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        Some(())
    }

    /// Returns the folder's content: what was reported last, or what two looks agree on.
    fn stable(&self) -> Snapshot {
        let mut first = self.seen.again(&self.folder);
        let end = Instant::now() + self.timing.longest_wait;
        while first != self.seen {
            let second = self.seen.again(&self.folder);
            if second == first || Instant::now() > end {
                return second;
            }
            first = second;
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Gives no events. What it is told to do happens while the folder is not subscribed to.
    #[derive(Debug)]
    struct Unsubscribed(fn(&Path));

    impl Watcher for Unsubscribed {
        fn new<F: notify::EventHandler>(_: F, _: notify::Config) -> notify::Result<Self> {
            Ok(Unsubscribed(|_| ()))
        }

        fn watch(&mut self, _: &Path, _: RecursiveMode) -> notify::Result<()> {
            Ok(())
        }

        fn unwatch(&mut self, folder: &Path) -> notify::Result<()> {
            (self.0)(folder);
            Ok(())
        }

        fn kind() -> notify::WatcherKind {
            notify::WatcherKind::NullWatcher
        }
    }

    /// Returns the changes that one look reports, in a folder with a rule file that was emptied, where
    /// `meanwhile` happens between the two subscriptions.
    fn reported(loaded: &str, meanwhile: fn(&Path)) -> Vec<Snapshot> {
        let folder = tempfile::tempdir().unwrap();
        let rules = folder.path().join("rules.toml");
        fs::write(&rules, loaded).unwrap();
        let seen = Snapshot::take(folder.path());
        fs::write(&rules, "").unwrap();
        let (_signals, received) = mpsc::channel();
        let mut watching = WatchLoop {
            folder: folder.path().to_owned(),
            timing: Timing::default(),
            seen,
            received,
            watcher: Some(Unsubscribed(meanwhile)),
            looking: Busy::default(),
        };
        let mut reported = Vec::new();
        watching.report_change(&mut |snapshot| reported.push(snapshot));
        assert!(reported.iter().all(|snapshot| *snapshot == Snapshot::take(folder.path())));
        assert!(watching.looks_the_same(), "a rescan would read all of it again");
        reported
    }

    #[test]
    fn a_write_without_an_event_while_the_folder_is_subscribed_to_again_is_seen() {
        let write = |folder: &Path| fs::write(folder.join("rules.toml"), "two").unwrap();
        assert_eq!(reported("one", write).len(), 1);
        assert_eq!(reported("two", write).len(), 0, "what is loaded is there again");
    }

    #[test]
    fn a_file_that_was_saved_unchanged_is_read_once() {
        let touch = |folder: &Path| {
            let file = fs::File::options().write(true).open(folder.join("rules.toml")).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        };
        assert_eq!(reported("", touch).len(), 0);
    }

    #[test]
    fn a_folder_that_holds_the_same_is_subscribed_to_all_the_same() {
        // The one that was watched is gone, and its events with it.
        static SUBSCRIBED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
        let replaced = |folder: &Path| {
            fs::remove_dir_all(folder).unwrap();
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("rules.toml"), "").unwrap();
            SUBSCRIBED.store(true, std::sync::atomic::Ordering::Relaxed);
        };
        assert_eq!(reported("", replaced).len(), 0);
        assert!(SUBSCRIBED.load(std::sync::atomic::Ordering::Relaxed));
    }
}
