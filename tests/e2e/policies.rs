//! A policy that is wrong: nothing starts with it, and what is wrong is shown with its place and what to do. What each mistake is told,
//! the tests of `policy` show.

use leafgate_tests::gate::{self, Gate};

use crate::setup::policy;

#[test]
fn all_errors_of_all_files_are_shown_at_once_and_nothing_starts() {
    let folder =
        policy("[[rule]]\nid = \"Not Kebab\"\nmatch = {}\naction = \"redact\"\ndetekt = [\"secrets\"]\n");
    std::fs::write(
        folder.path().join("second.toml"),
        "[[rule]]\nid = \"b\"\naction = \"explode\"\nmatch = {}\n",
    )
    .unwrap();
    let folder = folder.path().to_string_lossy();
    for command in [&["check", "--policy", &*folder][..], &["apply", "--policy", &folder, "-"]] {
        let output = gate::run(command, b"{}").unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        assert!(output.stdout.is_empty(), "{command:?} writes no bytes that could be taken for a request");
    }
    let error =
        Gate::start(&["--policy", &folder, "--upstream", "echo:"]).err().expect("the gate must not start");
    let said = format!("{error:#}");
    for word in
        ["Not Kebab", "did you mean `detect`", "explode", "rules.toml:2", "rules.toml:5:1", "second.toml:3"]
    {
        assert!(said.contains(word), "`{word}` is missing:\n{said}");
    }
}

#[test]
fn a_file_that_is_not_read_is_named_by_check_and_at_the_start() {
    let folder = policy("[[rule]]\nid = \"own\"\nmatch = {}\naction = \"pause\"\n");
    std::fs::write(folder.path().join("more.yaml"), "rules: []\n").unwrap();
    let shown = folder.path().to_string_lossy();
    let output = gate::run(&["check", "--policy", &*shown], b"").unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("more.yaml") && said.contains("with 1 warning"), "{said}");
    let gate = Gate::start(&["--policy", &*shown, "--upstream", "echo:"]).unwrap();
    gate.wait_for_log(|log| log.contains("more.yaml")).unwrap();
}
