//! What README and documents show is what the binary does. The plugin is a documentation test of this crate.

use std::path::PathBuf;
use std::process::Command;

use leafgate_tests::gate::{self, Gate};
use leafgate_tests::{paths, plant, plugins, sample};

use crate::setup::policy;

fn text(path: &str) -> String {
    std::fs::read_to_string(paths::root().join(path)).unwrap()
}

/// The documents for users, README first.
fn documents() -> Vec<String> {
    let docs = std::fs::read_dir(paths::root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut pages: Vec<PathBuf> = pages.collect();
    pages.sort();
    let name = |page: PathBuf| format!("docs/{}", page.file_name().unwrap().to_string_lossy());
    let own = ["README.md", "plugins/README.md", "SECURITY.md"].map(str::to_owned);
    own.into_iter().chain(pages.into_iter().map(name)).collect()
}

#[test]
fn the_rules_of_readme_and_documents_load() {
    for (page, marker) in
        [("README.md", "[[rule]]"), ("docs/rules.md", "match = {}"), ("docs/rules.md", "[[exception]]")]
    {
        let text = text(page);
        let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let rules = blocks.into_iter().find(|block| block.contains(marker)).expect("a block of rules");
        let folder = policy(rules);
        let output = gate::run(&["check", "--policy", &folder.path().to_string_lossy()], b"").unwrap();
        assert!(output.status.success(), "{page}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_example_policies_load() {
    plugins::install(&paths::example("policies/demo")).unwrap();
    for name in ["starter", "demo", "vault", "team", "steady", "context"] {
        let folder = paths::example("policies").join(name);
        let output = gate::run(&["check", "--policy", &folder.to_string_lossy()], b"").unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!said.contains("extends"), "{name} has the built-in rules beneath its own: {said}");
    }
}

// S0-112
#[test]
fn the_commands_of_the_documents_exist() {
    let pages = documents();
    let texts: Vec<String> = pages.iter().map(|page| text(page)).collect();
    let calls = texts.iter().flat_map(|text| text.lines());
    let calls = calls.filter_map(|line| line.strip_prefix("leafgate ")?.split('#').next());
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
            "`leafgate {call}` of the documents: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let options = call.split_whitespace().filter(|word| word.starts_with("--"));
        let help = String::from_utf8(output.stdout).unwrap();
        for option in options {
            let option = option.split('=').next().unwrap_or(option);
            assert!(help.contains(option), "`leafgate {call}` of the documents: there is no {option}");
        }
        seen += 1;
    }
    assert!(seen > 60, "{seen} commands in the documents");
}

/// Commands of the README that other tests run: with the real client, at a terminal, in the settings of editors.
const ELSEWHERE: [&str; 4] = ["exec claude", "review", "vscode on", "vscode off"];

#[test]
fn the_commands_of_the_readme_run_in_its_order() {
    let (data, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let gate = Gate::start_in(data.path(), &["--upstream", "echo:"]).unwrap();
    let answer = gate.client().unwrap().chat(&sample::chat(&plant::github(3))).unwrap();
    assert_eq!(answer.status(), 200);
    let binary = gate::binary().unwrap();
    let runtime = gate.runtime_file().parent().unwrap();
    let readme = text("README.md");
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut ran = 0;
    for line in blocks.flat_map(str::lines).filter_map(|line| line.split('#').next()) {
        let Some(call) = line.trim().strip_prefix("leafgate ") else {
            assert!(line.trim_start().starts_with("cargo "), "`{line}` is run by nobody");
            continue;
        };
        if ELSEWHERE.contains(&call.trim()) {
            continue;
        }
        let output = Command::new("sh")
            .args(["-c", line])
            .env("PATH", format!("{}:/usr/bin:/bin", binary.parent().unwrap().display()))
            .env("HOME", home.path())
            .env("XDG_CONFIG_HOME", home.path().join(".config"))
            .env("LEAFGATE_DATA_DIR", data.path())
            .env("LEAFGATE_RUNTIME_DIR", runtime)
            .output()
            .unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.status.success(), "{line}: {said}");
        ran += 1;
    }
    assert!(ran >= 11, "{ran} commands");
    let begun = home.path().join(".config/leafgate/policy");
    assert!(begun.join("exceptions.toml").exists() && begun.join("rules.toml").exists());
}

/// The README of 5,000 words was read by nobody, and these could not be found in it.
#[test]
fn the_readme_is_short_and_has_what_people_look_for() {
    let readme = text("README.md");
    let words = readme.split_whitespace().count();
    assert!(words <= 900, "{words} words");
    let help = gate::run(&["--help"], b"").unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let first_screen = help.lines().take(24);
    let headings = readme.lines().filter(|line| line.starts_with('#'));
    let places: Vec<String> = headings.chain(first_screen).map(str::to_lowercase).collect();
    for wanted in [
        "start",
        "redacted",
        "exception",
        "rule",
        "approve",
        "off",
        "remove",
        "update",
        "data",
        "what leaves",
    ] {
        assert!(places.iter().any(|place| place.contains(wanted)), "`{wanted}` is not found at once");
    }
}

/// A link that leads nowhere, and a page that no other one names.
#[test]
fn the_links_of_the_documents_lead_somewhere_and_every_page_is_linked() {
    let pages = documents();
    let mut linked = std::collections::BTreeSet::new();
    for page in &pages {
        let text = text(page);
        let folder = paths::root().join(page).parent().unwrap().to_owned();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://")) {
            let target = folder.join(link);
            assert!(target.exists(), "{page} links {link}");
            linked.insert(target.canonicalize().unwrap());
        }
    }
    for page in pages.iter().filter(|page| *page != "README.md") {
        assert!(linked.contains(&paths::root().join(page).canonicalize().unwrap()), "nobody links {page}");
    }
}
