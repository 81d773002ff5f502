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
    for name in ["starter", "demo", "vault", "team", "steady"] {
        let folder = paths::example("policies").join(name);
        let output = gate::run(&["check", "--policy", &folder.to_string_lossy()], b"").unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

// S0-112
#[test]
fn the_commands_of_the_readme_exist() {
    let readme = std::fs::read_to_string(paths::root().join("README.md")).unwrap();
    let calls = readme.lines().filter_map(|line| line.strip_prefix("leafgate ")?.split('#').next());
    let mut seen = 0;
    for call in calls {
        // What follows `exec` is another program's.
        let most = if call.starts_with("exec") { 1 } else { usize::MAX };
        let words = call
            .split_whitespace()
            .take(most)
            .take_while(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()));
        let command: Vec<&str> = words.chain(["--help"]).collect();
        let output = gate::run(&command, b"").unwrap();
        assert!(
            output.status.success(),
            "`leafgate {call}` of the README: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let options = call.split_whitespace().filter(|word| word.starts_with("--"));
        let help = String::from_utf8(output.stdout).unwrap();
        for option in options {
            assert!(help.contains(option), "`leafgate {call}` of the README: there is no {option}");
        }
        seen += 1;
    }
    assert!(seen > 10, "{seen} commands in the README");
}
