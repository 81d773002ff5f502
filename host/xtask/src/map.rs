//! Holds `host/ARCHITECTURE.md` to the repository: its length, its crates and their arrows, its paths, its invariants.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::invariants;
use crate::paths;

/// The map, and the recipes that go on from it.
const MAP: &str = "host/ARCHITECTURE.md";
const RECIPES: &str = "CONTRIBUTING.md";

/// So many words are read in some minutes.
const WORDS: usize = 1800;
const WORDS_OF_RECIPES: usize = 1100;

/// What each crate uses, by the names of their folders.
type Arrows = BTreeMap<String, BTreeSet<String>>;

fn text(path: &str) -> String {
    std::fs::read_to_string(paths::root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the folders of all crates: those of the workspace, and of the workspaces beside it.
fn crates() -> Vec<String> {
    let folders = ["host", "plugins"].into_iter().flat_map(|folder| {
        std::fs::read_dir(paths::root().join(folder)).unwrap().map(move |entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            format!("{folder}/{name}")
        })
    });
    let is_crate = |folder: &String| paths::root().join(folder).join("Cargo.toml").exists();
    folders.chain(["tests".to_owned()]).filter(is_crate).collect()
}

/// Returns the arrows of all `Cargo.toml`, without those of tests and benches, and without an arrow to what another one leads to.
fn declared() -> Arrows {
    let manifests: Vec<(String, String)> = crates()
        .into_iter()
        .map(|folder| {
            let name = Path::new(&folder).file_name().unwrap().to_str().unwrap().to_owned();
            (name, text(&format!("{folder}/Cargo.toml")))
        })
        .collect();
    let package = |manifest: &str| manifest.split("name = \"").nth(1)?.split('"').next().map(str::to_owned);
    let folders: BTreeMap<String, &String> =
        manifests.iter().map(|(folder, manifest)| (package(manifest).unwrap(), folder)).collect();
    let uses = |manifest: &str| {
        let mut section = "";
        let mut used = BTreeSet::new();
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line.trim_matches(['[', ']']);
            } else if section == "dependencies" || section.ends_with(".dependencies") {
                let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
                used.extend(folders.get(name).map(|folder| (*folder).clone()));
            }
        }
        used
    };
    let all: Arrows = manifests.iter().map(|(name, manifest)| (name.clone(), uses(manifest))).collect();
    let reduced = |used: &BTreeSet<String>| {
        let is_led_to = |name: &String| used.iter().any(|other| other != name && reaches(&all, other, name));
        used.iter().filter(|name| !is_led_to(name)).cloned().collect()
    };
    all.iter().map(|(name, used)| (name.clone(), reduced(used))).collect()
}

fn reaches(arrows: &Arrows, from: &str, to: &str) -> bool {
    arrows[from].iter().any(|next| next == to || reaches(arrows, next, to))
}

/// Returns the arrows that the map draws: `- **a**, **b** → x, y. Text`.
fn drawn(map: &str) -> Arrows {
    let mut arrows = Arrows::new();
    for row in map.replace("\n  ", " ").lines().filter_map(|line| line.strip_prefix("- **")) {
        let (names, rest) = row.rsplit_once("**").unwrap();
        let used = rest.strip_prefix(" → ").and_then(|used| used.split('.').next()).unwrap_or_default();
        for name in names.split("**, **") {
            let used = used.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect();
            assert!(arrows.insert(name.to_owned(), used).is_none(), "{name} is on the map twice");
        }
    }
    arrows
}

#[test]
fn the_map_is_read_in_some_minutes() {
    for (page, most) in [(MAP, WORDS), (RECIPES, WORDS_OF_RECIPES)] {
        let words = text(page).split_whitespace().count();
        assert!(words <= most, "{page} has {words} words, and {most} are enough");
    }
}

#[test]
fn every_crate_is_on_the_map_with_its_arrows() {
    let (drawn, declared) = (drawn(&text(MAP)), declared());
    assert!(declared["gate"].contains("record"), "{declared:?}");
    let names = |arrows: &Arrows| arrows.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&drawn), names(&declared), "the crates of {MAP}, and those that are there");
    for (name, used) in &declared {
        assert_eq!(&drawn[name], used, "what {name} uses: {MAP}, and its Cargo.toml");
    }
}

#[test]
fn the_paths_of_map_and_recipes_exist() {
    let folders = ["host/", "plugins/", "tests/", "examples/", "docs/", "wit/"];
    for page in [MAP, RECIPES] {
        let text = text(page);
        let quoted = text.split('`').skip(1).step_by(2);
        let paths = quoted.filter(|word| folders.iter().any(|folder| word.starts_with(folder)));
        let paths: Vec<&str> = paths.filter(|path| !path.contains(['<', '*'])).collect();
        assert!(paths.len() > 10, "{page}: {paths:?}");
        for path in paths {
            assert!(paths::root().join(path).exists(), "{page}: there is no {path}");
        }
    }
}

#[test]
fn the_invariants_of_the_map_are_those_that_tests_show() {
    let text = text(MAP);
    let numbered = text.lines().filter_map(|line| line.split_once(". **")?.0.parse::<usize>().ok());
    assert_eq!(numbered.collect::<Vec<_>>(), (1..=invariants::COUNT).collect::<Vec<_>>());
}
