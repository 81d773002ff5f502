//! What the desk adds to a request that nobody holds, alone and among all the conversations that it keeps.
//!
//! `cargo bench -p leafgate-desk`. "known" is a request of the conversation that was silent for longest, "new" one of a conversation that the oldest makes room for.

use std::sync::Arc;

use divan::Bencher;
use leafgate_admin::TurnMode;
use leafgate_desk::{Desk, DeskLimits, Request, Reviewer, Tick, Title, TurnClass};
use leafgate_policy::{Hold, Verdict};
use leafgate_tree::{Document, Draft};

const KEPT: [usize; 2] = [1, 1024];

/// What reviews no turn, since none waits.
enum Unasked {}

impl Reviewer for Unasked {
    fn review(&self, _: &mut Draft) -> Result<Verdict, Hold> {
        match *self {}
    }

    fn veiled(&self, _: &Draft) -> Option<Draft> {
        match *self {}
    }

    fn asks(&self, _: Document) -> bool {
        match *self {}
    }

    fn model_by_path(&self, _: &Document) -> Option<String> {
        match *self {}
    }

    fn generation(&self) -> &str {
        match *self {}
    }

    fn memory(&self) -> usize {
        match *self {}
    }
}

fn main() {
    divan::main();
}

#[divan::bench(args = KEPT)]
fn known(bencher: Bencher<'_, '_>, kept: usize) {
    costs(bencher, kept, kept);
}

#[divan::bench(args = KEPT)]
fn new(bencher: Bencher<'_, '_>, kept: usize) {
    costs(bencher, kept, kept + 1);
}

/// Times requests of `asking` conversations, one after the other, at a desk that keeps `kept`.
fn costs(bencher: Bencher<'_, '_>, kept: usize, asking: usize) {
    let limits = DeskLimits { sessions: kept, ..DeskLimits::default() };
    let mut desk = Desk::<Unasked>::new(limits, TurnMode::Off);
    let requests: Vec<_> = (0..asking).map(request).collect();
    let mut turns = requests.iter().cycle();
    let mut next = move || {
        let request = turns.next().expect("it never ends");
        desk.receive(request, Tick::default());
        let asked = desk.ask(&request.session, request.class, None, Tick::default());
        (asked, desk.effects())
    };
    for _ in 0..asking {
        next();
    }
    bencher.bench_local(next);
}

fn request(number: usize) -> Request {
    let words = || Arc::from("bench");
    Request {
        session: format!("conversation {number}").into(),
        class: TurnClass::Main,
        model: None,
        title: Title { location: words(), name: words() },
    }
}
