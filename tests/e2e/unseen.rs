//! Invariant 3, no leaf unseen, through a running gate: a secret in the place of any one value or key of a recorded request does not
//! reach the upstream.
//!
//! The positions come from the walk of `leafgate-verify`, which shares no code with the tree; `tree/tests/tree/invariants.rs` holds the two
//! against each other. Secrets without a prefix, media, and requests of other formats are planted by `cli/tests/cli/verify.rs`.

use leafgate_harness::recordings;
use leafgate_verify::canary::Family;
use leafgate_verify::walk::{self, PositionKind, Replacement};

use crate::setup::{Setup, holds};

/// What is found wherever it stands, by its prefix.
const FAMILIES: [Family; 2] = [Family::Github, Family::Aws];

#[test]
fn invariant_3_no_leaf_unseen() {
    let mut setup = Setup::of_recordings("default".as_ref());
    let (mut redacted, mut blocked, mut wrong) = (0, 0, Vec::new());
    for recording in recordings::read("openai-chat", ".request.json") {
        let body = std::str::from_utf8(&recording.body).unwrap();
        for (number, position) in walk::positions(body).unwrap().iter().enumerate() {
            if position.what == PositionKind::Document {
                continue;
            }
            let secret = FAMILIES[number % FAMILIES.len()].canary(number as u64);
            let here = Replacement::Text(secret.clone());
            let planted =
                walk::rewrite(body, &mut |place| (place.position == *position).then(|| here.clone()))
                    .unwrap();
            let answer = setup.client.chat(planted.as_bytes()).unwrap();
            let received = setup.upstream.take();
            let reached = received.iter().any(|request| holds(&request.body, &secret));
            match (answer.status(), received.len(), reached) {
                (200, 1, false) => redacted += 1,
                (400, 0, false) if answer.refusal().is_ok_and(|(code, _)| code == "leafgate_blocked") => {
                    blocked += 1;
                }
                fate => wrong.push(format!("{position:?} of {}: {fate:?}", recording.name)),
            }
        }
    }
    setup.still_serves();
    assert!(wrong.is_empty(), "{} positions (status, requests, reached):\n{}", wrong.len(), wrong.join("\n"));
    // Requests that every clone has, or fifty more beside them.
    let least = if recordings::fixtures().is_some() { 200 } else { 20 };
    assert!(
        redacted > least && blocked > least,
        "{redacted} and {blocked} positions: the recordings have more"
    );
}
