//! Policies that are wrong: nothing starts with them, and what is wrong is shown with its place and what to do.

use std::path::Path;

use leafgate_tests::gate::{self, Gate};

use crate::setup::policy;

/// What `run`, `check` and `apply` say to a policy that they must all refuse; `run` by not starting.
fn refusal(folder: &Path) -> String {
    let folder = folder.to_string_lossy();
    for command in [&["check", "--policy", &*folder][..], &["apply", "--policy", &folder, "-"]] {
        let output = gate::run(command, b"{}").unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        assert!(output.stdout.is_empty(), "{command:?} writes no bytes that could be taken for a request");
    }
    let error =
        Gate::start(&["--policy", &folder, "--upstream", "echo:"]).err().expect("the gate must not start");
    format!("{error:#}")
}

#[test]
fn a_typo_is_shown_with_its_place_and_a_hint() {
    let folder =
        policy("[[rule]]\nid = \"secrets\"\nmatch = {}\ndetekt = [\"secrets\"]\naction = \"redact\"\n");
    let said = refusal(folder.path());
    assert!(said.contains("rules.toml:4:1"), "{said}");
    assert!(said.contains("detekt") && said.contains("^^^^^^"), "{said}");
    assert!(said.contains("did you mean `detect`"), "{said}");
}

#[test]
fn all_errors_of_all_files_are_shown_at_once() {
    let folder =
        policy("[[rule]]\nid = \"Not Kebab\"\nmatch = {}\naction = \"redact\"\ndetect = [\"secretz\"]\n");
    std::fs::write(
        folder.path().join("second.toml"),
        "[[rule]]\nid = \"b\"\naction = \"explode\"\nmatch = {}\n",
    )
    .unwrap();
    let said = refusal(folder.path());
    for word in ["Not Kebab", "secretz", "explode", "rules.toml:2", "rules.toml:5", "second.toml:3"] {
        assert!(said.contains(word), "`{word}` is missing:\n{said}");
    }
}

#[test]
fn a_rule_that_names_a_missing_plugin_refuses_the_start() {
    let undeclared =
        policy("[[rule]]\nid = \"trim\"\nmatch = {}\naction = \"transform\"\nplugin = \"trim\"\n");
    let said = refusal(undeclared.path());
    assert!(said.contains("rules.toml:5") && said.contains("trim"), "{said}");
    let absent = policy(
        "[plugins.trim]\nfile = \"plugins/trim.wasm\"\n\n[[rule]]\nid = \"trim\"\nmatch = {}\naction = \"transform\"\nplugin = \"trim\"\n",
    );
    let said = refusal(absent.path());
    assert!(said.contains("rules.toml:2") && said.contains("plugins/trim.wasm"), "{said}");
}

#[test]
fn an_empty_or_missing_folder_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    assert!(refusal(empty.path()).contains("no rule file"));
    assert!(refusal(&empty.path().join("nowhere")).contains("cannot be read"));
}

#[test]
fn a_key_that_means_nothing_to_its_rule_is_refused_and_not_ignored() {
    let folder = policy("[[rule]]\nid = \"tools\"\nmatch = {}\naction = \"pause\"\nreleasable = true\n");
    let said = refusal(folder.path());
    assert!(said.contains("`releasable` means nothing to `pause`"), "{said}");
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
