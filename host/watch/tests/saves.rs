//! The ways in which editors and deployments change a folder. Each is one change, reported with
//! what the folder holds at the end.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use leafgate_watch::{FolderWatch, Snapshot, Timing};

/// Longer than any machine needs; a test that waits this long has failed.
const FOREVER: Duration = Duration::from_secs(60);

struct Fixture {
    _root: tempfile::TempDir,
    folder: PathBuf,
    changes: Receiver<(Snapshot, Option<String>)>,
    _watch: FolderWatch,
}

/// A watched folder with one rule file. Changes arrive with the text of the file at that moment.
fn watched(rescan: Duration) -> Fixture {
    watched_with(Timing { rescan, ..Timing::default() })
}

fn watched_with(timing: Timing) -> Fixture {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("policy");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("rules.toml"), "one").unwrap();
    let (fixture_folder, (send, changes)) = (folder.clone(), mpsc::channel());
    let watch = FolderWatch::start(folder.clone(), timing, Snapshot::take(&folder), move |snapshot| {
        let text = fs::read_to_string(fixture_folder.join("rules.toml")).ok();
        send.send((snapshot, text)).unwrap();
    })
    .unwrap();
    watch.events().unwrap();
    Fixture { _root: root, folder, changes, _watch: watch }
}

impl Fixture {
    fn rules(&self) -> PathBuf {
        self.folder.join("rules.toml")
    }

    /// Waits for the change that reports what the folder holds in the end: a rule file with this
    /// text. A look in the middle of a write may report that first.
    fn expect(&self, text: Option<&str>) -> Snapshot {
        let end = Snapshot::take(&self.folder);
        loop {
            let (snapshot, found) = self.changes.recv_timeout(FOREVER).expect("a change");
            if found.as_deref() == text && snapshot == end {
                return snapshot;
            }
        }
    }
}

/// No rescan within the test: it must pass by events alone.
const EVENTS_ALONE: Duration = Duration::from_secs(3600);

fn rename_over(file: &Path, text: &str) {
    let new = file.with_extension("toml.new");
    fs::write(&new, text).unwrap();
    fs::rename(&new, file).unwrap();
}

#[test]
fn a_write_in_place() {
    let fixture = watched(EVENTS_ALONE);
    fs::write(fixture.rules(), "two").unwrap();
    fixture.expect(Some("two"));
}

/// A reload took the longest wait whenever something was written beside the folder.
#[test]
fn what_is_written_beside_the_folder_holds_nothing_up() {
    let timing = Timing { longest_wait: EVENTS_ALONE, rescan: EVENTS_ALONE, ..Timing::default() };
    let fixture = watched_with(timing);
    let (stop, stopped) = mpsc::channel::<()>();
    let beside = fixture.folder.with_file_name("beside.log");
    let writer = std::thread::spawn(move || {
        while stopped.recv_timeout(timing.quiet / 10).is_err() {
            fs::write(&beside, "more").unwrap();
        }
    });
    fs::write(fixture.rules(), "two").unwrap();
    fixture.expect(Some("two"));
    stop.send(()).unwrap();
    writer.join().unwrap();
}

#[test]
fn a_rename_over() {
    let fixture = watched(EVENTS_ALONE);
    rename_over(&fixture.rules(), "two");
    fixture.expect(Some("two"));
    rename_over(&fixture.rules(), "three");
    fixture.expect(Some("three"));
}

#[test]
fn truncate_then_write_ends_at_what_was_written() {
    let fixture = watched(EVENTS_ALONE);
    fs::write(fixture.rules(), "").unwrap();
    fs::write(fixture.rules(), "two").unwrap();
    fixture.expect(Some("two"));
}

#[test]
fn backup_and_new_file() {
    let fixture = watched(EVENTS_ALONE);
    fs::rename(fixture.rules(), fixture.folder.join("rules.toml~")).unwrap();
    fs::write(fixture.rules(), "two").unwrap();
    fs::remove_file(fixture.folder.join("rules.toml~")).unwrap();
    fixture.expect(Some("two"));
}

#[test]
fn a_component_in_a_folder_made_later() {
    let fixture = watched(EVENTS_ALONE);
    let before = Snapshot::take(&fixture.folder);
    fs::create_dir(fixture.folder.join("plugins")).unwrap();
    fs::write(fixture.folder.join("plugins/new.wasm"), b"\0asm").unwrap();
    let after = fixture.expect(Some("one"));
    assert_ne!(before, after);
}

#[test]
fn a_folder_removed_and_back() {
    let fixture = watched(EVENTS_ALONE);
    fs::remove_dir_all(&fixture.folder).unwrap();
    let gone = fixture.expect(None);
    assert_eq!(gone, Snapshot::take(Path::new("/nowhere")), "none is there");
    fs::create_dir(&fixture.folder).unwrap();
    fs::write(fixture.rules(), "two").unwrap();
    fixture.expect(Some("two"));
    // The folder that is now at the path is watched like the first.
    rename_over(&fixture.rules(), "three");
    fixture.expect(Some("three"));
}

#[cfg(unix)]
#[test]
fn a_symlink_swapped_behind_the_files() {
    // Configuration volumes of orchestrators do so: files point through one link, which is
    // replaced.
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("policy");
    fs::create_dir_all(folder.join(".first")).unwrap();
    fs::create_dir_all(folder.join(".second")).unwrap();
    fs::write(folder.join(".first/rules.toml"), "one").unwrap();
    fs::write(folder.join(".second/rules.toml"), "two").unwrap();
    std::os::unix::fs::symlink(".first", folder.join(".data")).unwrap();
    std::os::unix::fs::symlink(".data/rules.toml", folder.join("rules.toml")).unwrap();
    let (send, changes) = mpsc::channel();
    let timing = Timing { rescan: EVENTS_ALONE, ..Timing::default() };
    let watched = folder.clone();
    let _watch = FolderWatch::start(folder.clone(), timing, Snapshot::take(&folder), move |_| {
        send.send(fs::read_to_string(watched.join("rules.toml")).unwrap()).unwrap();
    })
    .unwrap();
    std::os::unix::fs::symlink(".second", folder.join(".data.new")).unwrap();
    fs::rename(folder.join(".data.new"), folder.join(".data")).unwrap();
    assert_eq!(changes.recv_timeout(FOREVER).unwrap(), "two");
}

#[test]
fn a_file_saved_unchanged_is_no_change() {
    let fixture = watched(EVENTS_ALONE);
    rename_over(&fixture.rules(), "one");
    fs::write(fixture.folder.join("notes.md"), "nothing that is loaded").unwrap();
    fs::write(fixture.folder.join(".rules.toml.swp"), "an editor's own").unwrap();
    rename_over(&fixture.rules(), "two");
    let (_, first) = fixture.changes.recv_timeout(FOREVER).unwrap();
    assert_eq!(first.as_deref(), Some("two"), "the first change reported is the first change made");
}

#[test]
fn what_no_event_tells_the_rescan_finds() {
    // A file elsewhere behind a link: no event of the folder tells of it.
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("shared.toml");
    fs::write(&target, "a").unwrap();
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("policy");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(&target, folder.join("shared.toml")).unwrap();
    let (send, changes) = mpsc::channel();
    let timing = Timing { rescan: Duration::from_millis(20), ..Timing::default() };
    let _watch = FolderWatch::start(folder.clone(), timing, Snapshot::take(&folder), move |snapshot| {
        send.send(snapshot).unwrap();
    })
    .unwrap();
    fs::write(&target, "another text").unwrap();
    assert_eq!(changes.recv_timeout(FOREVER).unwrap(), Snapshot::take(&folder));
}

#[cfg(unix)]
#[test]
fn a_pipe_and_a_device_keep_no_change_from_being_seen() {
    let fixture = watched(EVENTS_ALONE);
    for (name, make) in [("x.wasm", "mkfifo"), ("pipe.toml", "mkfifo")] {
        let made = std::process::Command::new(make).arg(fixture.folder.join(name)).status().unwrap();
        assert!(made.success());
    }
    std::os::unix::fs::symlink("/dev/zero", fixture.folder.join("zero.wasm")).unwrap();
    rename_over(&fixture.rules(), "two");
    fixture.expect(Some("two"));
}

#[test]
fn what_is_not_loaded_is_a_change_by_its_name_alone() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(root.path().join(name), text).unwrap();
    write("a.toml", "one");
    let before = Snapshot::take(root.path());
    // The loader warns of such a file, so its appearance is a change, but nothing reads it.
    write(".b.toml", "hidden");
    let warned = Snapshot::take(root.path());
    assert_ne!(before, warned);
    write(".b.toml", "and changed");
    assert_eq!(warned, Snapshot::take(root.path()));
}

#[test]
fn dropping_the_watch_ends_its_thread() {
    let root = tempfile::tempdir().unwrap();
    let (send, changes) = mpsc::channel::<()>();
    let watch = FolderWatch::start(root.path(), Timing::default(), Snapshot::take(root.path()), move |_| {
        let _ = send.send(());
    })
    .unwrap();
    drop(watch);
    // The closure, and the sender in it, are gone with the thread.
    assert_eq!(changes.recv_timeout(FOREVER), Err(mpsc::RecvTimeoutError::Disconnected));
}
