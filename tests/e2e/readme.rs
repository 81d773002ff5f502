//! What the README shows is what the binary does. Its plugin is a documentation test of this crate.

use leafgate_tests::{gate, paths, plugins};

use crate::setup::policy;

#[test]
fn the_rules_of_the_readme_load() {
    let readme = std::fs::read_to_string(paths::root().join("README.md")).unwrap();
    let rules =
        readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of TOML");
    let folder = policy(rules);
    let output = gate::run(&["check", "--policy", &folder.path().to_string_lossy()], b"").unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_example_policies_load() {
    plugins::install(&paths::example("policies/demo")).unwrap();
    for name in ["starter", "demo"] {
        let folder = paths::example("policies").join(name);
        let output = gate::run(&["check", "--policy", &folder.to_string_lossy()], b"").unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_commands_of_the_readme_exist() {
    for command in ["run", "apply", "tree", "explain", "check", "detectors"] {
        let output = gate::run(&[command, "--help"], b"").unwrap();
        assert!(output.status.success(), "{command}");
    }
}
