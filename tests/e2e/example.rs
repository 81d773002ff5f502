//! The example request under the example policy: what README and demo promise of them.

use leafgate_tests::{paths, plugins, sample};

use crate::setup::{Setup, holds};

#[test]
fn the_example_policy_keeps_the_examples_secrets() {
    let policy = paths::example("policies/demo");
    plugins::install(&policy).unwrap();
    let mut setup = Setup::with_policy(&policy);
    let example = sample::example("agent.json").unwrap();
    let left = setup.passes(&example.body).body;
    for secret in [example.credential.as_str(), "marlene.okafor@", "Marlene Okafor", "/home/marlene"] {
        assert!(holds(&example.body, secret), "the example holds `{secret}`");
        assert!(!holds(&left, secret), "`{secret}` left");
    }
    assert!(serde_json::from_slice::<serde_json::Value>(&left).is_ok());
}
