//! What the gate needs while a large body passes.

use leafgate_tests::{plant, sample};
use serde_json::{Value, json};

use crate::setup::{Setup, holds};

const SIZE: usize = 20 << 20;

/// Text with the escapes that source code has in JSON, and a credential.
fn text(bytes: usize) -> String {
    let line = "    let value = self.reader(\"line\\n\", offset); // of the stream\n";
    let mut text = line.repeat(bytes / line.len());
    text.push_str(&plant::github(7));
    text
}

/// The gate's peak above what it had before, as a share of the body.
#[expect(clippy::print_stdout, reason = "the figure is there to be read")]
fn peak_share(body: &Value) -> Option<f64> {
    let body = body.to_string().into_bytes();
    let mut setup = Setup::with_policy("default".as_ref());
    setup.passes(&sample::chat("Hello"));
    let before = setup.gate.memory().unwrap()?;
    let sent = setup.passes(&body).body;
    assert!(!holds(&sent, &plant::github(7)), "the credential was found");
    let peak = setup.gate.peak_memory().unwrap()?;
    #[expect(clippy::cast_precision_loss, reason = "sizes of memory")]
    let share = ((peak - before) * 1024) as f64 / body.len() as f64;
    println!("{} bytes: peak of {share:.2} times the body", body.len());
    Some(share)
}

#[test]
fn twenty_megabytes_of_messages_take_less_than_three_times_their_size() {
    let messages = (0..2000).map(|_| json!({ "role": "user", "content": text(SIZE / 2000) }));
    let share = peak_share(&json!({ "model": "m", "messages": messages.collect::<Vec<_>>() }));
    assert!(share.is_none_or(|share| share < 3.0), "{share:?}");
}

#[test]
fn twenty_megabytes_in_one_leaf_take_less_than_three_times_their_size() {
    let messages = json!([{ "role": "user", "content": text(SIZE) }]);
    let share = peak_share(&json!({ "model": "m", "messages": messages }));
    assert!(share.is_none_or(|share| share < 3.0), "{share:?}");
}
