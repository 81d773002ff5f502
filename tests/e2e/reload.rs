//! A policy that changes while requests flow: none fails, and each is judged by one generation.

use leafgate_tests::reloads;

/// In the soak of `cargo xtask test --soak` there are twenty times as many.
const RELOADS: usize = 50;

#[test]
fn reloads_under_traffic_disturb_no_request() {
    let figures = reloads::under_traffic(RELOADS).unwrap();
    assert_eq!(figures.reloads, RELOADS);
    // Otherwise most reloads saw no traffic, and nothing is shown.
    assert!(figures.requests > RELOADS && figures.generations > RELOADS / 2, "{figures:?}");
}
