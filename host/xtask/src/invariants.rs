//! `cargo xtask invariants`: the tests of each invariant, found by their names.
//!
//! `host/ARCHITECTURE.md` says what each of them promises. A test shows one if its name begins with
//! `invariant_` and its number. The names are read from the sources, so that this takes no build. A
//! function counts with an attribute of a test right above it, and not without.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::paths;

/// How many invariants there are.
const COUNT: usize = 12;

/// What the name of a test of an invariant begins with.
const PREFIX: &str = "fn invariant_";

/// Where tests are.
const FOLDERS: [&str; 3] = ["host", "plugins", "tests"];

/// Prints the tests of each invariant.
pub(crate) fn invariants() -> Result<()> {
    for (number, tests) in check()? {
        println!("{number:>2}  {}", tests.join("\n    "));
    }
    Ok(())
}

/// Finds the tests of each invariant.
pub(crate) fn check() -> Result<BTreeMap<usize, Vec<String>>> {
    let mut found = BTreeMap::new();
    for folder in FOLDERS {
        read(&paths::root().join(folder), &mut found)?;
    }
    let missing: Vec<String> =
        (1..=COUNT).filter(|number| !found.contains_key(number)).map(|number| number.to_string()).collect();
    ensure!(missing.is_empty(), "no test is named after invariant {}", missing.join(", "));
    Ok(found)
}

fn read(folder: &Path, found: &mut BTreeMap<usize, Vec<String>>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                read(&path, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)?;
            let place = path.strip_prefix(paths::root()).unwrap_or(&path).display().to_string();
            for name in tests(&text) {
                let number = name.split('_').nth(1).and_then(|number| number.parse().ok());
                let number: usize = number.with_context(|| format!("{place}: {name} bears no number"))?;
                found.entry(number).or_default().push(format!("{place}::{name}"));
            }
        }
    }
    Ok(())
}

/// Returns the names of the tests of invariants in a source, in order.
fn tests(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_test = false;
    for line in source.lines() {
        match line.trim() {
            attribute if attribute.starts_with("#[") => {
                let path = attribute["#[".len()..].split(['(', ']']).next().unwrap_or_default();
                is_test |= path.rsplit("::").next() == Some("test");
            }
            // Comments and attributes over several lines stand between as well.
            other => {
                if let Some(name) = name(line).filter(|_| is_test) {
                    found.push(name);
                }
                if other.contains("fn ") || other.ends_with('}') {
                    is_test = false;
                }
            }
        }
    }
    found
}

/// The name of a test of an invariant in a line that begins one.
fn name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.starts_with(PREFIX).then(|| line["fn ".len()..].split('(').next()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_where_functions_begin() {
        assert_eq!(name("    fn invariant_3_no_leaf_unseen() {"), Some("invariant_3_no_leaf_unseen"));
        assert_eq!(name("async fn invariant_8_one_request(a: u8)"), Some("invariant_8_one_request"));
        assert_eq!(name("// fn invariant_9_is_told"), None);
    }

    #[test]
    fn a_function_counts_with_an_attribute_of_a_test_above_it() {
        let source = "#[test]\n#[ignore = \"long\"]\nfn invariant_1_a() {\n}\n\n#[tokio::test(start_paused = true)]\nasync fn invariant_2_b() {\n}\n\nfn invariant_3_helper() {\n}\n#[cfg(test)]\nfn invariant_4_helper() {}\n";
        assert_eq!(tests(source), ["invariant_1_a", "invariant_2_b"]);
    }

    #[test]
    fn every_invariant_has_a_test_with_its_number() {
        assert_eq!(check().unwrap().len(), COUNT);
    }
}
