//! Bodies that are wrong, hostile or merely odd, under the limits and the policy that a gate has by itself: each is refused in its own
//! words, or passes byte for byte, and the gate serves on.

use leafgate_tests::{plant, sample};

use crate::setup::{Setup, holds};
use crate::untouched::gzip;

/// The most that the gate reads of one body.
const LIMIT: usize = 32 * 1024 * 1024;

#[test]
fn what_is_too_large_is_refused_and_what_just_fits_passes() {
    let mut setup = Setup::with_default_policy();
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels)).into_bytes();
    let bomb = gzip(&vec![b' '; 2 * LIMIT]);
    assert!(bomb.len() < 100_000, "small on the wire");
    let bodies = [
        ("identity", nested(201), "deeper than 200 levels"),
        ("identity", format!("[{}0]", "0,".repeat(1_999_999)).into_bytes(), "more than 1000000 values"),
        ("identity", sample::chat(&"x".repeat(LIMIT)), "33554432"),
        ("gzip", bomb, "unpack"),
    ];
    for (coding, body, words) in bodies {
        let headers = [("content-encoding", coding)];
        let answer = setup.client.post("/v1/chat/completions", &headers, &body).unwrap();
        let message = setup.refused(&answer, 413, "leafgate_too_large");
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(setup.passes(&nested(200)).body, nested(200));
}

#[test]
fn what_is_odd_passes_as_it_came_and_hides_nothing() {
    let mut setup = Setup::with_default_policy();
    let said = |content: &str| {
        format!(r#"{{"model": "m", "messages": [{{"role": "user", "content": {content}}}]}}"#).into_bytes()
    };
    // Lone surrogates, both occurrences of a key, NUL and line separators, each around two secrets.
    for odd in [
        "\"\\udeaa @, \\ud83d\\ude00, # \\ud83d\"",
        "\"a @\", \"content\": \"b #\"",
        "\"\\u0000@\u{2028}c\\u2028#\"",
    ] {
        assert_eq!(setup.passes(&said(odd)).body, said(odd));
        let (first, second) = (plant::github(1), plant::stripe(2));
        let left = setup.passes(&said(&odd.replace('@', &first).replace('#', &second))).body;
        assert!(!holds(&left, &first) && !holds(&left, &second), "{odd}");
        for around in odd.split(['@', '#']) {
            assert!(holds(&left, around), "{around} of {odd} stays");
        }
    }
}
