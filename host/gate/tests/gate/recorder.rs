//! A recorder that keeps what it is told, and says of each request and reveal what a test wants.

use std::sync::{Arc, Mutex};

use leafgate_admin::StoreStatus;
use leafgate_gate::Gate;
use leafgate_record::{AnswerOutcome, AnswerPart, RecordId, Recorded, Recorder, RequestRecord, RevealRecord};
use tokio::sync::{Notify, oneshot};

/// What it says.
#[derive(Clone, Copy, Default)]
pub(crate) enum Says {
    #[default]
    Taken,
    Missed,
    Refused,
    /// It waits until it has kept what it was told.
    Waits,
    /// The same, and has lost it.
    Lost,
}

/// Keeps what it is told.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) of_requests: Says,
    pub(crate) of_reveals: Says,
    pub(crate) requests: Mutex<Vec<RequestRecord>>,
    pub(crate) answers: Mutex<Vec<(RecordId, AnswerPart)>>,
    pub(crate) reveals: Mutex<Vec<RevealRecord>>,
    pub(crate) told: Notify,
}

impl Kept {
    /// Keeps what a gate tells from now on.
    pub(crate) fn of(gate: &Gate) -> Arc<Kept> {
        Kept::default().keeps(gate)
    }

    pub(crate) fn keeps(self, gate: &Gate) -> Arc<Kept> {
        let kept = Arc::new(self);
        gate.record(Arc::clone(&kept) as Arc<dyn Recorder>);
        kept
    }

    /// What became of answers, with the rules that decided.
    pub(crate) fn outcomes(&self) -> Vec<(RecordId, AnswerOutcome, Vec<String>)> {
        let answers = self.answers.lock().unwrap();
        let outcome = |(id, part): &(RecordId, AnswerPart)| match part {
            AnswerPart::Ruled { outcome, rules } => Some((*id, *outcome, rules.clone())),
            _ => None,
        };
        answers.iter().filter_map(outcome).collect()
    }

    /// Waits until what was told of answers is so.
    pub(crate) async fn until(&self, is_so: impl Fn(&Kept) -> bool) {
        loop {
            let told = self.told.notified();
            if is_so(self) {
                return;
            }
            told.await;
        }
    }
}

fn said(says: Says) -> Recorded {
    match says {
        Says::Taken => Recorded::Taken,
        Says::Missed => Recorded::Missed,
        Says::Refused => Recorded::Refused,
        Says::Waits => {
            let (sender, receiver) = oneshot::channel();
            sender.send(()).unwrap();
            Recorded::Awaited(receiver)
        }
        // A sender that is gone has kept nothing.
        Says::Lost => Recorded::Awaited(oneshot::channel().1),
    }
}

impl Recorder for Kept {
    fn request(&self, request: Box<RequestRecord>) -> Recorded {
        self.requests.lock().unwrap().push(*request);
        said(self.of_requests)
    }

    fn answer(&self, request: RecordId, part: AnswerPart) {
        self.answers.lock().unwrap().push((request, part));
        self.told.notify_one();
    }

    fn reveal(&self, reveal: RevealRecord) -> Recorded {
        self.reveals.lock().unwrap().push(reveal);
        said(self.of_reveals)
    }

    fn is_required(&self) -> bool {
        true
    }

    fn status(&self) -> Option<StoreStatus> {
        None
    }
}
