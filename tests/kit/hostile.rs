//! Plugins that fail or attack, under load: what others notice of them beside what they would notice
//! of any program that is as busy.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use leafgate_tests::gate::Gate;
use leafgate_tests::{plugins, sample};

use crate::run::{p99, step};

/// Those that load, and fail in each call.
const HOSTILE: [&str; 7] = [
    "allocates-without-end",
    "answers-for-another-leaf",
    "lists-without-end",
    "loops-for-ever",
    "span-inside-character",
    "span-outside",
    "traps",
];

/// A detector that does what it should.
const SECOND: &str =
    "export const labels = [\"NAME\"];\nexport const detect = (leaf) => leaf.find(\"Zeppelin\");\n";

/// The leaf that every attack is about. The same one each time: on others, quarantine would end it.
const TEXT: &str = "ä private thought";

/// Requests of each kind whose times are taken.
const REQUESTS: usize = 2_000;

/// So many times as long a request may take beside the attack as beside a busy program.
const TIMES: u32 = 2;

/// What memory may grow by from one attack to the next, in KiB.
const GROWTH: usize = 32 * 1024;

/// The share of the machine that others may have used for its times to count, in percent.
const OTHERS: u64 = 5;

/// What takes the machine's time while requests are sent, on one thread, until it is told to stop.
type Neighbour = fn(&Gate, &AtomicBool) -> Result<()>;

/// The longest times but for one in a hundred, and what share of the machine others had, in percent,
/// where the system tells.
struct Seen {
    beside: &'static str,
    plain: Duration,
    second: Duration,
    others: Option<u64>,
}

/// Sends requests beside a busy program, and beside the attack.
pub(crate) fn hostile() -> Result<()> {
    step(&format!("sending {REQUESTS} requests beside {} plugins that attack", HOSTILE.len()));
    let folder = tempfile::tempdir()?;
    write_policy(folder.path())?;
    let gate = Gate::of(folder.path())?;
    let busy = beside(&gate, "a busy program", spin)?;
    let attacked = beside(&gate, "the attack", attack)?;
    let before = gate.memory()?;
    // Pools have their size now: what the next attack takes is what an attack leaves behind.
    let again = beside(&gate, "the next attack", attack)?;
    let after = gate.memory()?;
    for seen in [&busy, &attacked, &again] {
        step(&format!(
            "beside {}: p99 of a plain request {:?}, of a second plugin's {:?}{}",
            seen.beside,
            seen.plain,
            seen.second,
            seen.others.map_or_else(String::new, |others| format!(", others had {others} % of the machine"))
        ));
    }
    if let (Some(before), Some(after)) = (before, after) {
        step(&format!("{} MiB after an attack, {} MiB after the next", before / 1024, after / 1024));
        ensure!(after < before + GROWTH, "the gate's memory grew from {before} to {after} KiB");
    }
    let idle = |seen: &Seen| seen.others.is_some_and(|others| others <= OTHERS);
    if ![&busy, &attacked, &again].into_iter().all(idle) {
        step("the machine had other work, so these times are only told");
        return Ok(());
    }
    // The better of two, so that one hiccup is none of the gate's.
    let (plain, second) = (attacked.plain.min(again.plain), attacked.second.min(again.second));
    ensure!(plain <= busy.plain * TIMES, "a plain request takes {plain:?} beside the attack");
    ensure!(second <= busy.second * TIMES, "a second plugin's request takes {second:?} beside the attack");
    Ok(())
}

/// Each plugin looks at requests for the model of its name.
fn write_policy(folder: &Path) -> Result<()> {
    let mut rules = String::new();
    let names = HOSTILE.map(|name| (name, format!("{name}.wasm"))).into_iter();
    for (name, file) in names.chain([("second", "second.js".to_owned())]) {
        rules += &format!(
            "[plugins.{name}]\nfile = \"{file}\"\n\n[[rule]]\nid = \"{name}\"\n\
             match = {{ model = \"{name}\", kind = \"text\" }}\ndetect = [\"plugin:{name}\"]\naction = \"redact\"\n\n"
        );
    }
    for name in HOSTILE {
        plugins::hostile(name, &folder.join(format!("{name}.wasm")))?;
    }
    std::fs::write(folder.join("second.js"), SECOND)?;
    std::fs::write(folder.join("rules.toml"), rules).context("the policy cannot be written")
}

/// Takes the times of requests while a neighbour is busy on half of the cores.
fn beside(gate: &Gate, beside: &'static str, neighbour: Neighbour) -> Result<Seen> {
    let stop = AtomicBool::new(false);
    let cores = std::thread::available_parallelism()?.get();
    let began = Ticks::now(gate);
    let times = std::thread::scope(|scope| {
        let neighbours: Vec<_> =
            (0..cores.div_ceil(2)).map(|_| scope.spawn(|| neighbour(gate, &stop))).collect();
        let times = times(gate, beside);
        stop.store(true, Ordering::Relaxed);
        for neighbour in neighbours {
            neighbour.join().map_err(|_| anyhow::anyhow!("a neighbour's thread panicked"))??;
        }
        times
    })?;
    let others = began.zip(Ticks::now(gate)).and_then(|(began, now)| now.others_since(&began));
    let [plain, second] = times.map(p99);
    Ok(Seen { beside, plain, second, others })
}

/// One request of each kind after the other. None may fail.
fn times(gate: &Gate, beside: &str) -> Result<[Vec<Duration>; 2]> {
    let mut client = gate.client()?;
    let mut taken = [Vec::new(), Vec::new()];
    for number in 0..REQUESTS {
        // Each text is new: what a detector has answered about one is remembered.
        let text = format!("beside {beside}: on Zeppelin {number}");
        for (model, taken) in ["plain", "second"].into_iter().zip(&mut taken) {
            let body = sample::chat_for(model, &text);
            let began = Instant::now();
            let answer = client.chat(&body)?;
            taken.push(began.elapsed());
            ensure!(answer.status() == 200, "request {number} for {model} got `{}`", answer.start);
        }
    }
    Ok(taken)
}

/// A busy program that is no plugin.
fn spin(_: &Gate, stop: &AtomicBool) -> Result<()> {
    let mut turns = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        turns = std::hint::black_box(turns.wrapping_add(1));
    }
    Ok(())
}

/// Every plugin in turn, as fast as the gate answers. Each request of these is blocked.
fn attack(gate: &Gate, stop: &AtomicBool) -> Result<()> {
    let mut client = gate.client()?;
    for name in HOSTILE.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let answer = client.chat(&sample::chat_for(name, TEXT))?;
        ensure!(answer.status() == 400, "the request for {name} got `{}`", answer.start);
    }
    Ok(())
}

/// The processors' time since the machine began, in the system's ticks.
struct Ticks {
    all: u64,
    idle: u64,
    ours: u64,
}

impl Ticks {
    fn now(gate: &Gate) -> Option<Self> {
        let machine = std::fs::read_to_string("/proc/stat").ok()?;
        let fields: Vec<u64> = machine
            .lines()
            .next()?
            .split_whitespace()
            .skip(1)
            .map_while(|field| field.parse().ok())
            .collect();
        // Time of guests is counted as their hosts' too.
        let (all, idle) = (fields.get(..8)?.iter().sum(), fields.get(3)? + fields.get(4)?);
        let ours = [std::process::id(), gate.pid()].into_iter().map(of_process).sum::<Option<u64>>()?;
        Some(Ticks { all, idle, ours })
    }

    /// The share of the machine that neither the gate nor this program had, in percent.
    fn others_since(&self, began: &Ticks) -> Option<u64> {
        let all = self.all.checked_sub(began.all).filter(|&all| all > 0)?;
        let idle = self.idle.saturating_sub(began.idle);
        let ours = self.ours.saturating_sub(began.ours);
        Some(all.saturating_sub(idle).saturating_sub(ours) * 100 / all)
    }
}

/// Time that a process has had, in its own code and in the kernel.
fn of_process(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may hold anything: the state is field 3, the times are 14 and 15.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}
