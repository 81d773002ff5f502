//! `cargo xtask invariants`: the tests of each invariant, found by their names.
//!
//! `host/ARCHITECTURE.md` says what each of them promises. A test shows one if its name begins with
//! `invariant_` and its number. The names are read from the sources, so that this takes no build. A
//! function counts with an attribute of a test right above it, and not without.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::functions::tests;
use crate::paths;

/// How many invariants there are.
const COUNT: usize = 12;

/// What the name of a test of an invariant begins with.
const PREFIX: &str = "invariant_";

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
            let names = tests(&text).into_iter().map(|test| test.name);
            for name in names.filter(|name| name.starts_with(PREFIX)) {
                let number = name.split('_').nth(1).and_then(|number| number.parse().ok());
                let number: usize = number.with_context(|| format!("{place}: {name} bears no number"))?;
                found.entry(number).or_default().push(format!("{place}::{name}"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invariant_has_a_test_with_its_number() {
        assert_eq!(check().unwrap().len(), COUNT);
    }
}
