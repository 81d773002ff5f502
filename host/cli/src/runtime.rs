//! How commands find a running gate: each gate has one private file in the user's runtime folder.
//!
//! The folder is `LEAFGATE_RUNTIME_DIR`, else `$XDG_RUNTIME_DIR/leafgate`, else `run` in the data
//! folder. A gate keeps its file locked while it runs and removes it at the end. An unlocked file
//! was left by a gate that was killed: unlike a process id, a lock never belongs to another
//! process. The file holds the token of the admin API, so a file that others may read is refused.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail, ensure};
use leafgate_admin::RuntimeFile;

use crate::{home, private};

/// Names a running gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GateName {
    /// The port that clients send their requests to.
    Port(u16),
    /// Its runtime file.
    File(PathBuf),
}

impl FromStr for GateName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A URL is what `leafgate run` prints, and what a person copies.
        let port = text.strip_prefix("http://").and_then(|url| url.trim_end_matches('/').rsplit(':').next());
        match port.unwrap_or(text).parse() {
            Ok(port) => Ok(GateName::Port(port)),
            Err(_) if text.is_empty() => Err("name the port of a gate, or its runtime file".to_owned()),
            Err(_) => Ok(GateName::File(text.into())),
        }
    }
}

/// Returns the folder of the runtime files, which need not exist.
pub(crate) fn folder() -> anyhow::Result<PathBuf> {
    let of_session = home::variable("XDG_RUNTIME_DIR").filter(|folder| folder.is_absolute());
    let of_session = of_session.map(|folder| folder.join("leafgate"));
    match home::variable("LEAFGATE_RUNTIME_DIR").or(of_session) {
        Some(folder) => Ok(folder),
        None => Ok(home::data_folder()?.join("run")),
    }
}

/// Returns the address that a gate's URL names, that of its clients or that of its admin API.
pub(crate) fn address_of(url: &str) -> anyhow::Result<SocketAddr> {
    let address = url.strip_prefix("http://").and_then(|address| address.parse().ok());
    address.with_context(|| format!("{url} names no address of a gate"))
}

/// Returns the name of the runtime file of a gate that listens on this port.
pub(crate) fn file_of(port: u16) -> String {
    format!("gate-{port}.json")
}

/// The runtime file of this process. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct Published {
    path: PathBuf,
    /// Holds the lock.
    file: File,
}

/// Publishes the runtime file of a gate that listens on this port.
pub(crate) fn publish(folder: &Path, port: u16, gate: &RuntimeFile) -> anyhow::Result<Published> {
    let publish = || {
        make_private(folder)?;
        remove_stale(folder)?;
        write(folder, port, gate)
    };
    publish().with_context(|| {
        let folder = folder.display();
        format!("commands could not find this gate through {folder}; set LEAFGATE_RUNTIME_DIR, or run it with --no-admin")
    })
}

/// Makes the folder, or ensures that nobody else may put files into an existing one.
fn make_private(folder: &Path) -> anyhow::Result<()> {
    private::make_folder(folder)?;
    let found = fs::metadata(folder)?;
    ensure_own(&found)?;
    private::ensure_mode(&found, 0o022, "write into it", "run `chmod 700` on it")
}

/// Ensures that no other user made a file or folder, who could lead commands to a gate of his own.
fn ensure_own(found: &fs::Metadata) -> anyhow::Result<()> {
    let (owner, user) = (found.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        bail!("it belongs to another user (uid {owner}, and this is uid {user}): name one of your own");
    }
    Ok(())
}

/// Removes the files of gates that are gone.
fn remove_stale(folder: &Path) -> anyhow::Result<()> {
    for path in files(folder)? {
        // An unreadable file is not ours to remove. A search for gates reports it.
        if let Ok(RuntimeEntry::Stale(file)) = RuntimeEntry::read(&path)
            && is_at(&file, &path)
        {
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

/// Writes the file under another name and locks it before it gets its own: others see a whole,
/// locked file or none.
fn write(folder: &Path, port: u16, gate: &RuntimeFile) -> anyhow::Result<Published> {
    let name = file_of(port);
    let path = folder.join(&name);
    let mut text = serde_json::to_vec_pretty(gate)?;
    text.push(b'\n');
    let draft = private::draft(folder, name.as_ref(), 0o600, &text)?;
    draft.as_file().try_lock()?;
    match draft.persist_noclobber(&path) {
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
            bail!("{} is another gate's, which listens on the same port: choose another port", path.display())
        }
        linked => Ok(Published { file: linked?, path }),
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        // Only our own: somebody may have removed it and started another gate.
        if is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns whether an open file is the one at a path.
fn is_at(file: &File, path: &Path) -> bool {
    let place = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => place(open) == place(named),
        _ => false,
    }
}

/// Finds the gate that is named, or the one that stands, or the only one that runs.
pub(crate) fn find(folder: &Path, name: Option<&GateName>) -> anyhow::Result<RuntimeFile> {
    let mut found = find_all(folder, name)?;
    match found.iter().position(|gate| gate.standing) {
        None if found.len() > 1 => bail!("several gates run{}", others(folder)),
        place => Ok(found.swap_remove(place.unwrap_or(0))),
    }
}

/// Finds the gate that is named, or else all that run, at least one.
pub(crate) fn find_all(folder: &Path, name: Option<&GateName>) -> anyhow::Result<Vec<RuntimeFile>> {
    let path = match name {
        Some(GateName::File(path)) => path.clone(),
        Some(GateName::Port(port)) => folder.join(file_of(*port)),
        None => {
            let running = find_running(folder)?;
            ensure!(
                !running.is_empty(),
                "no gate runs: {} names none; start one with `leafgate run`, or name its runtime file with --gate",
                folder.display()
            );
            return Ok(running);
        }
    };
    let shown = path.display();
    match (path.exists(), name) {
        (true, _) => {}
        (false, Some(GateName::Port(port))) => {
            let others = others(folder);
            let start = if others.is_empty() { "; start one with `leafgate run`" } else { "" };
            bail!("no gate runs on port {port}: {shown} is not there{others}{start}");
        }
        _ => bail!(
            "there is no runtime file {shown}: give --gate the port of a gate that runs, or start one with `leafgate run`"
        ),
    }
    match RuntimeEntry::read(&path).with_context(|| format!("the runtime file {shown} cannot be used"))? {
        RuntimeEntry::Live(gate) => Ok(vec![gate]),
        RuntimeEntry::Stale(_) => bail!("the gate of {shown} has ended: start one with `leafgate run`"),
    }
}

/// Finds the gate that is named, or the only one that runs; `None` where none was named and none
/// runs.
pub(crate) fn find_if_any(folder: &Path, name: Option<&GateName>) -> anyhow::Result<Option<RuntimeFile>> {
    match name {
        None if find_running(folder)?.is_empty() => Ok(None),
        name => find(folder, name).map(Some),
    }
}

/// Returns the names that could have been given instead.
fn others(folder: &Path) -> String {
    let running = find_running(folder).unwrap_or_default();
    let urls: Vec<_> = running.iter().map(|gate| gate.listen.as_str()).collect();
    if urls.is_empty() {
        return String::new();
    }
    format!("; choose by port with --gate: {}", urls.join(", "))
}

/// Finds all that run, by the name of their files.
pub(crate) fn find_running(folder: &Path) -> anyhow::Result<Vec<RuntimeFile>> {
    let mut running = Vec::new();
    for path in files(folder)? {
        let entry = RuntimeEntry::read(&path);
        match entry.with_context(|| format!("the runtime file {} cannot be used", path.display()))? {
            RuntimeEntry::Live(gate) => running.push(gate),
            RuntimeEntry::Stale(_) => {}
        }
    }
    Ok(running)
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || {
        let folder = folder.display();
        format!("the runtime folder {folder} cannot be read (LEAFGATE_RUNTIME_DIR names another)")
    };
    let entries = private::if_there(fs::read_dir(folder)).with_context(unreadable)?;
    let mut files = Vec::new();
    for entry in entries.into_iter().flatten() {
        let entry = entry.with_context(unreadable)?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("gate-") && name.ends_with(".json")) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// The state of a runtime file.
enum RuntimeEntry {
    /// Its gate runs.
    Live(RuntimeFile),
    /// Its gate ended without removing it.
    Stale(File),
}

impl RuntimeEntry {
    fn read(path: &Path) -> anyhow::Result<RuntimeEntry> {
        let file = File::open(path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            bail!("it is no file: name the one that a gate wrote, or its port");
        }
        ensure_own(&found)?;
        let to_do = "where a gate wrote it, stop that gate and remove it; else name the file that one wrote, or its port";
        private::ensure_mode(&found, 0o077, "read it", to_do)?;
        match file.try_lock_shared() {
            Ok(()) => Ok(RuntimeEntry::Stale(file)),
            Err(TryLockError::Error(error)) => Err(error).context("it cannot be seen whether its gate runs"),
            // The file holds a token: the error names the column and quotes nothing.
            Err(TryLockError::WouldBlock) => match serde_json::from_reader(BufReader::new(file)) {
                Ok(gate) => Ok(RuntimeEntry::Live(gate)),
                Err(error) => bail!("line {} is not what a gate writes", error.line()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn gate(port: u16) -> RuntimeFile {
        RuntimeFile {
            pid: 1,
            admin: "http://127.0.0.1:9".to_owned(),
            token: "t".repeat(64),
            listen: format!("http://127.0.0.1:{port}"),
            ..RuntimeFile::default()
        }
    }

    fn found(folder: &Path, name: Option<&str>) -> Result<String, String> {
        let name = name.map(|name| name.parse().unwrap());
        find(folder, name.as_ref()).map(|gate| gate.listen).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_gate_is_found_privately_while_it_runs() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/run");
        assert!(found(&folder, None).unwrap_err().contains("no gate runs"));
        let published = publish(&folder, 4141, &gate(4141)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&published.path)), (0o700, 0o600));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no draft is left");
        for name in [None, Some("4141"), published.path.to_str()] {
            assert_eq!(found(&folder, name).unwrap(), "http://127.0.0.1:4141");
        }
        assert!(found(&folder, Some("4142")).unwrap_err().contains("http://127.0.0.1:4141"));
        drop(published);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    /// P-26: whoever owns the folder may put in it what he likes, whatever its mode.
    #[test]
    fn a_folder_or_file_of_another_user_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = match rustix::process::geteuid().is_root() {
            true => parent.path().join("run"),
            false => PathBuf::from("/"),
        };
        if folder.starts_with(parent.path()) {
            let published = publish(&folder, 5, &gate(5)).unwrap();
            std::os::unix::fs::chown(&published.path, Some(1), None).unwrap();
            assert!(found(&folder, Some("5")).unwrap_err().contains("belongs to another user (uid 1"));
            std::os::unix::fs::chown(&folder, Some(1), None).unwrap();
        }
        let error = format!("{:#}", publish(&folder, 6, &gate(6)).unwrap_err());
        assert!(error.contains("belongs to another user"), "{error}");
    }

    #[test]
    fn of_several_gates_one_must_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let _one = publish(folder.path(), 1, &gate(1)).unwrap();
        let _two = publish(folder.path(), 2, &gate(2)).unwrap();
        let error = found(folder.path(), None).unwrap_err();
        assert!(error.contains("http://127.0.0.1:1, http://127.0.0.1:2"), "{error}");
        assert_eq!(found(folder.path(), Some("2")).unwrap(), "http://127.0.0.1:2");
        let all: Vec<_> =
            find_all(folder.path(), None).unwrap().into_iter().map(|gate| gate.listen).collect();
        assert_eq!(all, ["http://127.0.0.1:1", "http://127.0.0.1:2"]);
        assert_eq!(find_all(folder.path(), Some(&GateName::Port(2))).unwrap().len(), 1);
        for name in ["2", "http://127.0.0.1:2", "http://[::1]:2/"] {
            assert_eq!(name.parse(), Ok(GateName::Port(2)), "{name}");
        }
        let error = publish(folder.path(), 2, &gate(2)).unwrap_err();
        assert!(format!("{error:#}").contains("another port"), "{error:#}");
    }

    #[test]
    fn what_a_killed_gate_left_is_ignored_and_swept() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join("gate-1.json");
        fs::write(&left, serde_json::to_vec(&gate(1)).unwrap()).unwrap();
        fs::set_permissions(&left, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(found(folder.path(), None).unwrap_err().contains("no gate runs"));
        assert!(found(folder.path(), Some("1")).unwrap_err().contains("has ended"));
        let published = publish(folder.path(), 2, &gate(2)).unwrap();
        assert!(!left.exists());
        assert_eq!(found(folder.path(), None).unwrap(), "http://127.0.0.1:2");
        // The same port again, as after a crash.
        drop(published);
        fs::write(&left, "{").unwrap();
        fs::set_permissions(&left, fs::Permissions::from_mode(0o600)).unwrap();
        let _again = publish(folder.path(), 1, &gate(1)).unwrap();
        assert_eq!(found(folder.path(), None).unwrap(), "http://127.0.0.1:1");
    }

    #[test]
    fn a_gate_removes_no_file_but_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let first = publish(folder.path(), 1, &gate(1)).unwrap();
        fs::remove_file(&first.path).unwrap();
        let second = publish(folder.path(), 1, &gate(1)).unwrap();
        drop(first);
        assert!(second.path.exists());
    }

    #[test]
    fn what_others_may_touch_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let published = publish(folder.path(), 1, &gate(1)).unwrap();
        fs::set_permissions(&published.path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(found(folder.path(), None).unwrap_err().contains("mode 644"));
        let open = folder.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let error = format!("{:#}", publish(&open, 1, &gate(1)).unwrap_err());
        assert!(error.contains("chmod 700"), "{error}");
    }

    #[test]
    fn a_file_that_no_gate_wrote_is_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate-1.json");
        let mut file = File::create_new(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        file.try_lock().unwrap();
        file.write_all(b"{\"token\": \"quoted\"}").unwrap();
        let error = found(folder.path(), None).unwrap_err();
        assert!(error.contains("line 1") && !error.contains("quoted"), "{error}");
    }
}
