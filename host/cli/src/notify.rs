//! `run --notify-command`: a command of the user's own when a request begins to wait.
//!
//! It learns which turn waits and why from its environment, and nothing of what the request says.
//! At most one runs at a time, and none for longer than [`TIMEOUT`]. Turns that come while it runs
//! are told by the next run, which names the newest of them.

use std::io;
use std::process::Stdio;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use leafgate_admin::{Event, RuntimeFile, TurnSummary};
use leafgate_review::printer;

use crate::admin::{self, AdminClient, EventResult};
use crate::child;

/// Longest time of one run. A notification takes milliseconds, one over a network a second or two.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a command for each turn that begins to wait at a gate, until its events end.
pub(crate) fn start(command: String, gate: RuntimeFile) -> io::Result<()> {
    let follow = move || {
        // The gate ends with its process, so there is nobody to tell of an error at its end.
        if let Ok(events) = admin::listen(&gate, None) {
            let waiting = AdminClient::new(&gate).ok().and_then(|gate| gate.pending().ok());
            Notifier::new(command, TIMEOUT).follow(waiting.unwrap_or_default().last(), &events);
        }
    };
    std::thread::Builder::new().name("notify".to_owned()).spawn(follow).map(drop)
}

struct Notifier {
    command: String,
    timeout: Duration,
    /// Whether the last run failed. Then the next failure is nothing new.
    has_failed: bool,
}

impl Notifier {
    fn new(command: String, timeout: Duration) -> Self {
        Notifier { command, timeout, has_failed: false }
    }

    fn follow(&mut self, waiting: Option<&TurnSummary>, events: &Receiver<EventResult>) {
        if let Some(turn) = waiting {
            self.tell(turn);
        }
        // A turn may be in the list and among the events. Ids are numbers that count up.
        let number = |turn: &str| turn.parse().unwrap_or(u64::MAX);
        let mut told = waiting.map_or(0, |turn| number(&turn.id));
        while let Ok(Ok(event)) = events.recv() {
            // What came while the last run lasted.
            let came = std::iter::once(event).chain(events.try_iter().flatten()).filter_map(began);
            if let Some(newest) = came.filter(|turn| number(&turn.id) > told).last() {
                told = number(&newest.id);
                self.tell(&newest);
            }
        }
    }

    fn tell(&mut self, turn: &TurnSummary) {
        let ended = self.run(turn);
        if let Some(failure) = self.news(ended) {
            tracing::warn!(
                target: "leafgate::notify",
                "the command of --notify-command failed: {failure:#}; later failures are not said until it succeeds"
            );
        }
    }

    /// Returns a failure that was not said yet.
    fn news(&mut self, ended: anyhow::Result<()>) -> Option<anyhow::Error> {
        let failed_before = std::mem::replace(&mut self.has_failed, ended.is_err());
        ended.err().filter(|_| !failed_before)
    }

    fn run(&self, turn: &TurnSummary) -> anyhow::Result<()> {
        let mut shell = child::shell(&self.command);
        for (name, value) in variables(turn) {
            shell.env(name, printer::line(&value).as_str());
        }
        child::within(self.timeout, 0, shell.stdout(Stdio::null()).stderr(Stdio::null())).map(drop)
    }
}

/// Returns what the command learns of a turn.
fn variables(turn: &TurnSummary) -> [(&'static str, String); 4] {
    let rules: Vec<_> = turn.holds.iter().map(|hold| hold.rule.as_str()).collect();
    let by_mode = || turn.mode.map_or(String::new(), |mode| mode.label().to_owned());
    [
        ("LEAFGATE_TURN", turn.id.clone()),
        ("LEAFGATE_SESSION", turn.label.clone()),
        ("LEAFGATE_RULES", rules.join(",")),
        ("LEAFGATE_REASON", turn.holds.first().map_or_else(by_mode, |hold| hold.reason.clone())),
    ]
}

fn began(event: Event) -> Option<TurnSummary> {
    match event {
        Event::Paused { turn } if turn.with.is_none() => Some(turn),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::path::Path;
    use std::process::Command;
    use std::sync::mpsc;

    use leafgate_admin::{HoldState, HoldView, OnTimeout, State, TurnClass, TurnMode};
    use rustix::fs::{OFlags, fcntl_setfl};

    use super::*;

    fn turn(id: &str) -> TurnSummary {
        TurnSummary {
            id: id.to_owned(),
            label: "chat · codex · …abc123".to_owned(),
            session: "SESSION".to_owned(),
            model: "m".to_owned(),
            words: None,
            format: "openai-chat".to_owned(),
            class: TurnClass::Main,
            mode: None,
            state: State::Waiting,
            ending: None,
            holds: vec![HoldView {
                rule: "ask".to_owned(),
                severity: None,
                reason: "Look\u{1b}[2J".to_owned(),
                detail: String::new(),
                places: Vec::new(),
                total: 0,
                blocks: false,
                state: HoldState::Open,
            }],
            waited_ms: 0,
            left_ms: 1,
            on_timeout: OnTimeout::Cancel,
            edits: 0,
            redactions: 0,
            connections: 1,
            with: None,
            beside: 0,
            generation: "g".to_owned(),
        }
    }

    fn notifier(command: &str, scratch: &Path) -> Notifier {
        let command = command.replace("SCRATCH", &scratch.display().to_string());
        Notifier::new(command, Duration::from_secs(60))
    }

    #[test]
    fn what_comes_during_a_run_is_told_by_one_more_that_names_the_newest() {
        let scratch = tempfile::tempdir().unwrap();
        let (sender, events) = mpsc::channel();
        // The first one was in the list already.
        for id in ["1", "2", "3", "4"] {
            sender.send(Ok(Event::Paused { turn: turn(id) })).unwrap();
            sender.send(Ok(Event::Changed { turn: turn("9") })).unwrap();
        }
        drop(sender);
        let command = "echo \"$LEAFGATE_TURN $LEAFGATE_RULES $LEAFGATE_REASON\" >> SCRATCH/told";
        notifier(command, scratch.path()).follow(Some(&turn("1")), &events);
        let told = fs::read_to_string(scratch.path().join("told")).unwrap();
        assert_eq!(told, "1 ask Look\\u{1b}[2J\n4 ask Look\\u{1b}[2J\n");
    }

    #[test]
    fn a_mode_is_a_reason_too() {
        let by_mode = TurnSummary { holds: Vec::new(), mode: Some(TurnMode::InterceptOnce), ..turn("1") };
        let [.., (_, rules), (_, reason)] = variables(&by_mode);
        assert_eq!((rules.as_str(), reason.as_str()), ("", "Pause next turn"));
    }

    #[test]
    fn a_run_that_takes_too_long_is_ended_with_all_that_it_started() {
        let scratch = tempfile::tempdir().unwrap();
        let pipe = scratch.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut notifier = notifier("(exec sleep 600 > SCRATCH/pipe) & wait", scratch.path());
        notifier.timeout = Duration::from_millis(200);
        // Opened before anybody writes, so that neither side waits for the other.
        let mut read = fs::File::options();
        let mut held =
            read.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(&pipe).unwrap();
        let ended = notifier.run(&turn("1")).unwrap_err();
        assert!(ended.to_string().starts_with("it was ended after"), "{ended}");
        // Ends when nobody has it open any more: then what was started is gone.
        fcntl_setfl(&held, OFlags::empty()).unwrap();
        assert_eq!(held.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_failure_is_said_once_until_a_run_succeeds() {
        let mut notifier = notifier("exit 3", Path::new("/"));
        let ended = notifier.run(&turn("1"));
        let said = notifier.news(ended).unwrap().to_string();
        assert_eq!(said, "it ended with exit status: 3");
        let failed = || Err(anyhow::anyhow!("it failed"));
        assert!(notifier.news(failed()).is_none());
        assert!(notifier.news(Ok(())).is_none());
        assert!(notifier.news(failed()).is_some());
    }
}
