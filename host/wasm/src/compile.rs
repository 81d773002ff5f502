//! Compiles components within bounds.
//!
//! Compiling is the one step that no limit of WebAssembly bounds: a file of 31 KB can keep the
//! compiler busy for half a minute, and one of 60 KB for minutes. A thread cannot be ended from
//! outside, so the compiler runs in a process of its own, which can: it ends when its time is over,
//! and is killed when its result is no longer needed. A loader without such a process compiles in
//! place, for programs that trust the files they load.
//!
//! Its time is processor time, which the system counts and ends: on a busy machine a sound plugin
//! compiles for long by the clock. The clock bounds it too, far out, for a process that does not run.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::limits::LoaderLimits;
use crate::refusal::LoadRefusal;
use crate::runtime::{self, Runtime};

/// How often a waiting load looks whether its result is still wanted.
const LOOK: Duration = Duration::from_millis(10);

/// The first of the pauses, each twice the one before, in which a process that has said all it had
/// to say may end.
const LAST_BREATH: Duration = Duration::from_micros(100);

/// So many times its processor time a compiler may take by the clock.
const PATIENCE: u32 = 20;

/// Compiled code is larger than WebAssembly, hardly ever as much as this many times.
const LARGEST_GROWTH: usize = 16;
/// Room for what does not grow with the file.
const LARGEST_BASE: usize = 16 << 20;
/// Bytes of what a compiler says about a file that it refuses.
const LONGEST_COMPLAINT: usize = 4 << 10;

/// The place where components are compiled.
#[derive(Clone, Debug, Default)]
pub enum Compiler {
    /// In this process. Nothing bounds how long it takes.
    #[default]
    InPlace,
    /// In a process that runs [`compile_worker`] and ends, killed where it takes too long.
    Process {
        /// The program, of the very build that loads what it compiles.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<OsString>,
    },
}

/// How long compiling one component may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileTime {
    /// Of the processor, over all threads.
    pub processor: Duration,
    /// By the clock.
    pub clock: Duration,
}

impl CompileTime {
    fn of(limits: &LoaderLimits, component: &[u8]) -> Self {
        let processor = limits.compile_time(component.len());
        CompileTime { processor, clock: processor.saturating_mul(PATIENCE) }
    }

    /// Has the system end this process, with the signal `SIGXCPU`, once it has used up its processor
    /// time. A core is not written. Limits that are lower already stay.
    ///
    /// # Errors
    /// The system's, where it takes no limit.
    pub fn bind_process(&self) -> io::Result<()> {
        let seconds = self.seconds();
        // The second limit ends a process that does not hear the signal.
        lower(Resource::Cpu, seconds, seconds.saturating_add(1))?;
        lower(Resource::Core, 0, 0)
    }

    /// The system counts whole seconds.
    fn seconds(&self) -> u64 {
        self.processor.as_secs() + u64::from(self.processor.subsec_nanos() > 0)
    }
}

fn lower(resource: Resource, current: u64, maximum: u64) -> io::Result<()> {
    let known = getrlimit(resource);
    let lower = |known: Option<u64>, wanted: u64| Some(known.map_or(wanted, |known| known.min(wanted)));
    let limit = Rlimit { current: lower(known.current, current), maximum: lower(known.maximum, maximum) };
    setrlimit(resource, limit).map_err(io::Error::from)
}

/// Compiles an admitted component, or takes its code from disk; gives up where `abandoned` says
/// that the result is no longer wanted.
pub(crate) fn compile(
    runtime: &Runtime,
    component: &[u8],
    abandoned: &dyn Fn() -> bool,
) -> Result<Component, LoadRefusal> {
    let failed = |error: wasmtime::Error| LoadRefusal::Compile(format!("{error:#}"));
    let engine = &runtime.engine;
    let kept = runtime.cache.as_ref().and_then(|cache| cache.get(engine, component, largest(component)));
    // Code that does not load, because it is of another build, is as good as none.
    if let Some(loaded) = kept.and_then(|code| load(engine, &code).ok()) {
        return Ok(loaded);
    }
    let code = match &runtime.compiler {
        Compiler::InPlace => engine.precompile_component(component).map_err(failed)?,
        Compiler::Process { program, arguments } => {
            let mut command = Command::new(program);
            command.args(arguments);
            in_process(command, component, &runtime.limits, abandoned)?
        }
    };
    let loaded = load(engine, &code).map_err(failed)?;
    if let Some(cache) = &runtime.cache {
        cache.put(engine, component, &code);
    }
    Ok(loaded)
}

/// Returns how large the code of a component may be.
fn largest(component: &[u8]) -> usize {
    component.len().saturating_mul(LARGEST_GROWTH).saturating_add(LARGEST_BASE)
}

/// Loads code that was compiled here, by [`compile_worker`], or by either of them earlier.
#[allow(unsafe_code, reason = "compiled code is run as it is, so who wrote it is what counts")]
fn load(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: this process compiled the bytes, or they came through a pipe from one that it started
    // from its own program, into which nobody else can write, or from the cache, which gives what
    // bears the code of authentication of this installation and no other bytes. wasmtime itself
    // refuses code of another version or configuration.
    unsafe { Component::deserialize(engine, code) }
}

/// The other end: reads a component, compiles it as a loader with the default limits does, and
/// writes the code. Returns false where the output is a complaint instead.
///
/// A process that calls this does nothing else, and ends with status 0, or with status 1 after a
/// complaint. `began` sees to it that the process ends when its time is over: it binds it
/// ([`CompileTime::bind_process`]), and ends it by the clock even if the loader is gone.
///
/// # Errors
/// A pipe that breaks, because the loader is gone, or a process that cannot be bound.
pub fn compile_worker(
    mut input: impl Read,
    mut output: impl Write,
    began: impl FnOnce(CompileTime) -> io::Result<()>,
) -> io::Result<bool> {
    let limits = LoaderLimits::default();
    let mut component = Vec::new();
    input.read_to_end(&mut component)?;
    began(CompileTime::of(&limits, &component))?;
    let compiled = runtime::engine(&limits).and_then(|engine| engine.precompile_component(&component));
    match &compiled {
        Ok(code) => output.write_all(code)?,
        Err(error) => output.write_all(format!("{error:#}").as_bytes())?,
    }
    output.flush()?;
    Ok(compiled.is_ok())
}

fn in_process(
    mut command: Command,
    component: &[u8],
    limits: &LoaderLimits,
    abandoned: &dyn Fn() -> bool,
) -> Result<Vec<u8>, LoadRefusal> {
    let broken = |error: io::Error| LoadRefusal::Compile(format!("the compiler cannot be run: {error}"));
    command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Worker(command.spawn().map_err(broken)?);
    let limit = largest(component);
    let writer = running.feed(component.to_vec());
    let time = CompileTime::of(limits, component);
    let end = Instant::now() + time.clock;
    let late = || LoadRefusal::CompileClock { limit: time.clock };
    let output = running.listen(limit);
    let answer = heard(&output, end, abandoned, late)?.map_err(broken)?;
    if answer.len() > limit {
        return Err(LoadRefusal::Compile(format!("its compiled code is larger than {limit} bytes")));
    }
    let status = running.ends(end, late)?;
    // Both pipes are closed, so the thread is at its end.
    let written = writer.join().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()));
    match status.code() {
        Some(0) => written.map(|()| answer).map_err(broken),
        Some(1) => Err(LoadRefusal::Compile(
            String::from_utf8_lossy(&answer[..answer.len().min(LONGEST_COMPLAINT)]).into_owned(),
        )),
        None if status.signal() == Some(Signal::XCPU.as_raw()) => {
            Err(LoadRefusal::CompileTime { limit: time.processor })
        }
        _ => Err(LoadRefusal::Compile(format!("the compiler ended with {status}"))),
    }
}

/// A compiler under way. Dropping it kills it.
struct Worker(Child);

impl Worker {
    fn feed(&mut self, component: Vec<u8>) -> JoinHandle<io::Result<()>> {
        let input = self.0.stdin.take();
        std::thread::spawn(move || input.map_or(Ok(()), |mut input| input.write_all(&component)))
    }

    /// Reads one byte more than allowed, so that it shows. The channel has it as soon as the output
    /// ends.
    fn listen(&mut self, limit: usize) -> Receiver<io::Result<Vec<u8>>> {
        let (heard, output) = mpsc::channel();
        let pipe = self.0.stdout.take();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.map_or(Ok(0), |pipe| pipe.take(limit as u64 + 1).read_to_end(&mut bytes));
            // Nobody listens any more where the load was given up.
            let _ = heard.send(read.map(|_| bytes));
        });
        output
    }

    /// Waits for the end of a process whose output has ended.
    fn ends(&mut self, end: Instant, late: impl FnOnce() -> LoadRefusal) -> Result<ExitStatus, LoadRefusal> {
        let mut pause = LAST_BREATH;
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() >= end => return Err(late()),
                Ok(None) => std::thread::sleep(pause),
                Err(error) => return Err(lost(&error)),
            }
            pause = (pause * 2).min(LOOK);
        }
    }
}

/// Returns what a process has said, once it has said it all.
fn heard(
    output: &Receiver<io::Result<Vec<u8>>>,
    end: Instant,
    abandoned: &dyn Fn() -> bool,
    late: impl FnOnce() -> LoadRefusal,
) -> Result<io::Result<Vec<u8>>, LoadRefusal> {
    loop {
        match output.recv_timeout(LOOK) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Disconnected) => return Ok(Err(io::ErrorKind::BrokenPipe.into())),
            Err(RecvTimeoutError::Timeout) if abandoned() => return Err(LoadRefusal::Abandoned),
            Err(RecvTimeoutError::Timeout) if Instant::now() >= end => return Err(late()),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn lost(error: &io::Error) -> LoadRefusal {
    LoadRefusal::Compile(format!("the compiler is lost: {error}"))
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail where it has ended, which is what they are for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn limits(compile_time: Duration) -> LoaderLimits {
        LoaderLimits { compile_time, compile_time_per_mib: Duration::ZERO, ..LoaderLimits::default() }
    }

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn a_compiler_that_does_not_run_is_ended_by_the_clock() {
        let limits = limits(Duration::from_millis(5));
        let refused = in_process(shell("exec sleep 600"), b"x", &limits, &|| false).unwrap_err();
        assert!(matches!(refused, LoadRefusal::CompileClock { .. }), "{refused}");
    }

    #[test]
    fn a_compiler_whose_processor_time_is_over_is_told_as_such() {
        // A second of work, which the system counts however long it takes.
        let busy = "ulimit -c 0; ulimit -S -t 1; while :; do :; done";
        let refused = in_process(shell(busy), b"x", &limits(LONG), &|| false).unwrap_err();
        assert!(matches!(refused, LoadRefusal::CompileTime { limit } if limit == LONG), "{refused}");
        // Any other end by a signal is none of time.
        let refused = in_process(shell("kill -9 $$"), b"x", &limits(LONG), &|| false).unwrap_err();
        assert!(refused.to_string().contains("the compiler ended with signal: 9"), "{refused}");
    }

    #[test]
    fn processor_time_is_rounded_up_to_seconds() {
        for (time, seconds) in [(Duration::ZERO, 0), (Duration::from_millis(1), 1), (LONG, 600)] {
            let time = CompileTime { processor: time, clock: time };
            assert_eq!(time.seconds(), seconds);
        }
    }

    #[test]
    fn a_compiler_whose_result_nobody_wants_is_ended() {
        let refused = in_process(shell("exec sleep 600"), b"x", &limits(LONG), &|| true).unwrap_err();
        assert!(matches!(refused, LoadRefusal::Abandoned), "{refused}");
    }

    #[test]
    fn an_output_without_end_is_not_kept() {
        let refused =
            in_process(shell("exec cat /dev/zero"), b"x", &limits(Duration::from_secs(60)), &|| false);
        assert!(refused.unwrap_err().to_string().contains("larger than"));
    }

    #[test]
    fn what_the_compiler_says_is_the_answer_or_the_error() {
        let run = |script| in_process(shell(script), b"component", &limits(LONG), &|| false);
        assert_eq!(run("cat").unwrap(), b"component");
        assert!(run("echo no; exit 1").unwrap_err().to_string().contains("does not compile: no"));
        assert!(run("exit 7").unwrap_err().to_string().contains("exit status: 7"));
    }

    #[test]
    fn the_worker_compiles_for_a_loader_of_the_same_build() {
        let component = wat::parse_str("(component)").unwrap();
        let mut code = Vec::new();
        let mut time = None;
        let began = |limit| {
            time = Some(limit);
            Ok(())
        };
        assert!(compile_worker(component.as_slice(), &mut code, began).unwrap());
        assert_eq!(time, Some(CompileTime::of(&LoaderLimits::default(), &component)));
        assert!(load(&runtime::engine(&LoaderLimits::default()).unwrap(), &code).is_ok());
        let mut complaint = Vec::new();
        assert!(!compile_worker(b"\0asm".as_slice(), &mut complaint, |_| Ok(())).unwrap());
        assert!(!complaint.is_empty());
    }

    #[test]
    fn a_worker_that_cannot_be_bound_compiles_nothing() {
        let component = wat::parse_str("(component)").unwrap();
        let mut code = Vec::new();
        let unbound = |_| Err(io::ErrorKind::PermissionDenied.into());
        assert!(compile_worker(component.as_slice(), &mut code, unbound).is_err());
        assert!(code.is_empty());
    }
}
