//! Counting the tests that cargo, Python and Node ran, from what they print.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::run::shown;

/// How many tests ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
    /// Languages whose client tests did not run.
    pub(crate) skipped: Vec<String>,
}

impl Counts {
    /// Adds what one line of output counts, if it counts anything.
    fn add_line(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result:") {
            self.passed += number_before(result, "passed");
            self.failed += number_before(result, "failed");
            self.ignored += number_before(result, "ignored");
        } else if let Some(ran) = line.strip_prefix("Ran ") {
            self.passed += ran.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
        } else if let Some(passed) = line.strip_prefix("ℹ pass ") {
            self.passed += passed.parse().unwrap_or(0);
        } else if let Some((_, language)) = line.split_once(": skipped the client tests in ") {
            self.skipped.extend(language.split(':').next().map(str::to_owned));
        }
    }

    /// Adds the counts of another run.
    pub(crate) fn add(&mut self, other: &Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.skipped.extend_from_slice(&other.skipped);
    }
}

fn number_before(text: &str, word: &str) -> usize {
    let words: Vec<&str> = text.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|&known| known == word).unwrap_or(0);
    at.checked_sub(1).and_then(|before| words[before].parse().ok()).unwrap_or(0)
}

/// Runs tests, passes on what they print as they print it, counts them, and has each line heard.
pub(crate) fn counted(command: &mut Command, heard: &mut dyn FnMut(&str)) -> Result<Counts> {
    let shown = shown(command);
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("`{shown}` cannot be run"))?;
    let mut counts = Counts::default();
    for line in BufReader::new(child.stdout.take().context("no standard output")?).lines() {
        let line = line?;
        counts.add_line(&line);
        heard(&line);
        println!("{line}");
    }
    let status = child.wait()?;
    ensure!(
        status.success(),
        "`{shown}` failed after {} tests passed and {} failed",
        counts.passed,
        counts.failed
    );
    ensure!(counts.passed > 0 || !counts.skipped.is_empty(), "`{shown}` ran no test at all");
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_languages_add_up() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
            "Ran 9 tests in 1.2s",
            "ℹ tests 6",
            "ℹ pass 5",
            "kit: skipped the client tests in Node: there is no node",
        ] {
            counts.add_line(line);
        }
        let skipped = vec!["Node".to_owned()];
        assert_eq!(counts, Counts { passed: 29, failed: 2, ignored: 1, skipped });
    }
}
