//! Sources of others: how many alarms packs raise in code that hardly holds a secret.

use std::fs;
use std::path::{Path, PathBuf};

use leafgate_detect::{Engine, Input};

/// Bytes of sources that are read, in the order of their names.
const MOST: u64 = 60 << 20;

/// Alarms that these sources may raise outside of tests.
const ALARMS: usize = 5;

/// Where the sources are: a folder with crates, as cargo keeps them.
const VARIABLE: &str = "LEAFGATE_SOURCES";

#[test]
#[ignore = "reads 60 MB of sources: `cargo xtask corpus --sources DIR`"]
fn sources_of_others_raise_few_alarms() {
    let folder = std::env::var_os(VARIABLE).expect("LEAFGATE_SOURCES names a folder of sources");
    // What the built-in policy looks for.
    let engine = Engine::new(&["secrets", "pii/payment-card", "pii/iban"]).unwrap();
    let (mut read, mut files, mut planted, mut alarms) = (0, 0, 0, Vec::new());
    for path in sources(Path::new(&folder)) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if read + text.len() as u64 > MOST {
            break;
        }
        (read, files) = (read + text.len() as u64, files + 1);
        for finding in engine.scan(&Input::new(&text)).iter().filter(|finding| !finding.published) {
            let line = text[..finding.range.start].matches('\n').count() + 1;
            match is_test(&path, &text[..finding.range.start]) {
                true => planted += 1,
                false => alarms.push(format!("{}:{line} {}", path.display(), finding.detector)),
            }
        }
    }
    alarms.iter().for_each(|alarm| println!("{alarm}"));
    println!(
        "{files} files, {} MB: {} alarms, and {planted} in tests and examples",
        read >> 20,
        alarms.len()
    );
    assert!(files > 0, "no sources in {}", Path::new(&folder).display());
    assert!(alarms.len() <= ALARMS, "{} alarms, {ALARMS} expected at most", alarms.len());
}

/// All Rust sources below a folder, in order.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths.into_iter().rev() {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Whether a finding stands where test secrets are planted: in files of tests, examples and
/// benchmarks, behind `#[cfg(test)]`, and in documentation.
fn is_test(path: &Path, before: &str) -> bool {
    let of_tests = path.components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        ["test", "example", "bench", "fixture"].iter().any(|word| name.contains(word))
    });
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
    of_tests || before.contains("#[cfg(test)]") || line.starts_with("///") || line.starts_with("//!")
}
