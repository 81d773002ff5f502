//! The process that reads one file: what it gives up before it does, and how it is asked.
//!
//! A file may be made so that its parser does what the file's author wants. So the parser runs in a
//! process without environment, files, sockets or children, whose memory and time end, and which knows
//! nothing but that file. What it answers is no more than a claim about the file: at worst that a hostile
//! one is clean.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::{Extract, Extraction, FileBounds, Unread, UnreadReason, extract};

/// Bytes of memory that the process may map, the program itself among them.
const MEMORY: u64 = 1 << 30;

/// Seconds of the processor that it may take.
const PROCESSOR: u64 = 10;

/// How long it may take by the clock, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of an answer for each byte of text, which JSON spells with six at most.
const SPELLING: usize = 6;

/// Reads files, each in a process that calls [`serve`] and is killed where it takes too long.
#[derive(Clone, Debug)]
pub struct ChildExtractor {
    program: PathBuf,
    arguments: Vec<OsString>,
    patience: Duration,
}

impl ChildExtractor {
    /// Returns what starts this program for each document.
    pub fn new(program: PathBuf, arguments: Vec<OsString>) -> Self {
        ChildExtractor { program, arguments, patience: PATIENCE }
    }

    /// Sets how long a process may take by the clock.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        ChildExtractor { patience, ..self }
    }

    fn ask(&self, reader: &mut Child, file: &[u8]) -> io::Result<Extraction> {
        let input = reader.stdin.take();
        let file = file.to_vec();
        // It ends with the process, whether that has read all of it or not.
        std::thread::spawn(move || input.map_or(Ok(()), |mut input| input.write_all(&file)));
        let answer = match listen(reader).recv_timeout(self.patience) {
            Err(RecvTimeoutError::Timeout) => return Ok(unread(UnreadReason::Late)),
            answer => answer.map_err(io::Error::other)??,
        };
        // Whatever ended the process, an answer that is whole is one.
        serde_json::from_slice(&answer).map_err(io::Error::from)
    }
}

impl Extract for ChildExtractor {
    fn extract(&self, file: &[u8]) -> io::Result<Extraction> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        // What a parser says when it fails may repeat the file.
        let mut reader = scopeguard::guard(command.stderr(Stdio::null()).spawn()?, |mut reader| {
            // Both fail where it has ended, which is what they are for.
            let _ = reader.kill();
            let _ = reader.wait();
        });
        Ok(self.ask(&mut reader, file).unwrap_or_else(|_| unread(UnreadReason::Failed)))
    }
}

fn unread(why: UnreadReason) -> Extraction {
    Extraction { unread: Some(Unread::whole(why)), ..Extraction::default() }
}

/// Reads the answer, of which no more is kept than the largest has.
fn listen(reader: &mut Child) -> Receiver<io::Result<Vec<u8>>> {
    let (heard, answer) = mpsc::channel();
    let pipe = reader.stdout.take();
    let most = FileBounds::default().text * SPELLING + (1 << 20);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |pipe| pipe.take(most as u64).read_to_end(&mut bytes));
        // Nobody listens any more where it took too long.
        let _ = heard.send(read.map(|_| bytes));
    });
    answer
}

/// The other end: reads a file from standard input and writes its [`Extraction`] as JSON to standard
/// output. A process that calls this does nothing else, has no other thread, and ends.
///
/// # Errors
/// A process that cannot be confined, or a pipe that breaks because nobody waits any more.
pub fn serve() -> io::Result<()> {
    confine()?;
    let mut file = Vec::new();
    io::stdin().lock().read_to_end(&mut file)?;
    let answer = serde_json::to_vec(&extract(&file, &FileBounds::default()))?;
    let mut output = io::stdout().lock();
    output.write_all(&answer)?;
    output.flush()
}

/// Takes from this process, and from this thread where Linux knows threads alone, what reading a file
/// does not need: files, sockets, children, what others left open, and memory and time without end. What
/// standard input and output are stays.
///
/// # Errors
/// The system's, where it takes a limit from nobody.
pub fn confine() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    linux::confine()?;
    let limits = [
        (Resource::As, MEMORY),
        (Resource::Cpu, PROCESSOR),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nproc, 0),
        // Nothing new is opened: no file, no socket, no pipe.
        (Resource::Nofile, 0),
    ];
    for (resource, most) in limits {
        match setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }) {
            // macOS bounds no address space.
            Err(_) if resource == Resource::As && cfg!(target_os = "macos") => {}
            set => set?,
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::{FromRawFd as _, OwnedFd};

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
        RulesetStatus, Scope,
    };

    pub(super) fn confine() -> io::Result<()> {
        close_inherited()?;
        // A system without Landlock has the limits, which leave nothing to open either.
        forbid().map(drop)
    }

    /// Takes from this thread the files that paths name, TCP, and the sockets and processes of others by Landlock, as far
    /// as the kernel has it.
    fn forbid() -> io::Result<RulesetStatus> {
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI::V6))
            .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V6)))
            .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
            .and_then(Ruleset::create)
            .and_then(|ruleset| ruleset.restrict_self());
        ruleset.map(|status| status.ruleset).map_err(io::Error::other)
    }

    /// Closes what whoever started the gate left open for all that it starts.
    #[allow(unsafe_code, reason = "a descriptor that nobody handed over can be closed by its number alone")]
    fn close_inherited() -> io::Result<()> {
        let mut open = Vec::new();
        for entry in std::fs::read_dir("/proc/self/fd")? {
            let path = entry?.path();
            // The folder itself is open while it is read.
            let is_folder = std::fs::read_link(&path).is_ok_and(|target| target.ends_with("fd"));
            let number = path.file_name().and_then(|name| name.to_str()?.parse::<i32>().ok());
            open.extend(number.filter(|number| *number > 2 && !is_folder));
        }
        for number in open {
            // SAFETY: the process has just begun and has opened nothing: whatever else is open came with
            // it, and nothing in it uses that.
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
        Ok(())
    }

    #[cfg(test)]
    mod tests {
        use std::io::ErrorKind::PermissionDenied;
        use std::net::{TcpListener, TcpStream};
        use std::os::linux::net::SocketAddrExt as _;
        use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
        use std::{fs, thread};

        use super::*;

        /// Whether the kernel knows this of Landlock.
        fn is_known(of: impl FnOnce(Ruleset) -> Result<Ruleset, landlock::RulesetError>) -> bool {
            let strict = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
            of(strict).and_then(Ruleset::create).is_ok()
        }

        /// The limit of files says the same with another word, and not to what needs no descriptor: this is Landlock alone,
        /// of one thread.
        #[test]
        fn landlock_alone_opens_no_path_and_no_socket() {
            let temporary = tempfile::tempdir().unwrap();
            let folder = temporary.path().to_owned();
            let file = folder.join("file");
            fs::write(&file, "words").unwrap();
            let tcp = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let name = SocketAddr::from_abstract_name(folder.as_os_str().as_encoded_bytes()).unwrap();
            let listener = UnixListener::bind_addr(&name).unwrap();
            let scopes = is_known(|rules| rules.scope(Scope::from_all(ABI::V6)));
            let tcps = is_known(|rules| rules.handle_access(AccessNet::from_all(ABI::V4)));
            let confined = thread::spawn(move || {
                if forbid().unwrap() == RulesetStatus::NotEnforced {
                    eprintln!("not looked at: this kernel has no Landlock");
                    return;
                }
                let denied = |what: &str, tried: io::Result<()>| {
                    assert_eq!(tried.map_err(|error| error.kind()), Err(PermissionDenied), "{what}");
                };
                denied("a file", fs::File::open(&file).map(drop));
                denied("a folder", fs::read_dir(&folder).map(drop));
                denied("a new file", fs::write(folder.join("new"), ""));
                denied("a new folder", fs::create_dir(folder.join("new")));
                denied("a file that goes", fs::remove_file(&file));
                denied("a socket with a path", UnixListener::bind(folder.join("socket")).map(drop));
                if tcps {
                    denied("a connection", TcpStream::connect(tcp).map(drop));
                    denied("a listener", TcpListener::bind("127.0.0.1:0").map(drop));
                }
                if scopes {
                    denied("a socket with a name", UnixStream::connect_addr(&name).map(drop));
                }
            });
            confined.join().unwrap();
            drop(listener);
        }
    }
}
