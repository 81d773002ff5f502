//! The examples of clients do what their comments say.

use std::process::Command;

use leafgate_tests::{paths, plant, skip};

use crate::setup::{Setup, holds};

#[test]
fn the_curl_example_sends_a_chat_through_the_gate() {
    for needed in ["bash", "curl", "python3"] {
        if Command::new(needed).arg("--version").output().is_err() {
            return skip(&format!("no {needed} for examples/clients/curl.sh"));
        }
    }
    let setup = Setup::with_policy("default".as_ref());
    let secret = plant::github(61);
    let output = Command::new(paths::example("clients/curl.sh"))
        .arg(format!("Say \"{secret}\"."))
        .env("LEAFGATE_URL", format!("http://{}", setup.gate.address()))
        .env("MODEL", "gpt-sample")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains(" 200 "), "{said}");
    let left = setup.arrived();
    assert!(!holds(&left.body, &secret), "the credential left");
    assert!(
        holds(&left.body, "Say \\\"") && holds(&left.body, "gpt-sample"),
        "{}",
        String::from_utf8_lossy(&left.body)
    );
}
