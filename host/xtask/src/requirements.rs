//! `cargo xtask requirements`: the rows of `host/REQUIREMENTS.md`, and the tests that show them.
//!
//! A test names its rows in a comment above it (`// S0-12, S0-16`). Two things can go wrong: a row that nobody shows, and a test that does
//! not run. The first is found in the sources, without a build; the second after `cargo xtask test` has run everything.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};

use crate::paths;
use crate::ran::Ran;
use crate::sources::{self, Test};

/// Where the rows are.
const TABLE: &str = "host/REQUIREMENTS.md";

/// How many rows each document has.
const DOCUMENTS: [(&str, usize); 5] = [("S0", 135), ("S1", 18), ("S2", 32), ("S3", 28), ("S4", 27)];

/// What begins the line that names the rows which are about the page alone.
const PAGE_ONLY: &str = "Left out, since they are about the web page alone:";

/// Rows that are complete, each with what it asks for and, where no test shows it, why; and all tests.
pub(crate) struct Requirements<'a> {
    rows: Vec<(String, String, String)>,
    tests: &'a [Test],
}

/// Prints each row with what shows it, and how many are open.
pub(crate) fn requirements() -> Result<()> {
    let tests = sources::tests()?;
    let requirements = check(&tests)?;
    for (id, says, why) in &requirements.rows {
        println!("{id}  {says}");
        requirements.of(id).for_each(|test| println!("       {}::{}", test.file, test.name));
        if !why.is_empty() {
            println!("       {why}");
        }
    }
    println!("\nxtask: {}", requirements.counted());
    Ok(())
}

/// Reads the rows, and checks that each is there once and shown by tests that run, or says why not.
pub(crate) fn check(tests: &[Test]) -> Result<Requirements<'_>> {
    let text =
        std::fs::read_to_string(paths::root().join(TABLE)).with_context(|| format!("cannot read {TABLE}"))?;
    let rows = text.lines().filter_map(row).collect();
    let requirements = Requirements { rows, tests };
    let left_out = text.lines().find_map(|line| line.strip_prefix(PAGE_ONLY)).unwrap_or_default();
    let wrong =
        requirements.wrong(&left_out.trim_end_matches('.').split(',').map(str::trim).collect::<Vec<_>>());
    ensure!(wrong.is_empty(), "{TABLE}:\n  {}", wrong.join("\n  "));
    Ok(requirements)
}

/// Reads a line, if it is a row: id, what it asks for, and why no test shows it.
fn row(line: &str) -> Option<(String, String, String)> {
    let mut cells = line.strip_prefix("| S")?.trim_end_matches([' ', '|']).split('|').map(str::trim);
    let mut next = || cells.next().unwrap_or_default();
    Some((format!("S{}", next()), next().to_owned(), next().to_owned()))
}

impl Requirements<'_> {
    /// The tests of a row.
    fn of<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a Test> {
        self.tests.iter().filter(move |test| test.rows.iter().any(|row| row == id))
    }

    /// Says which rows are missing, doubled, unknown, without tests or with tests that no run has.
    fn wrong(&self, left_out: &[&str]) -> Vec<String> {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for id in self.rows.iter().map(|(id, ..)| id.as_str()).chain(left_out.iter().copied()) {
            *seen.entry(id).or_default() += 1;
        }
        let mut wrong = Vec::new();
        for (document, count) in DOCUMENTS {
            for id in (1..=count).map(|number| format!("{document}-{number:02}")) {
                match seen.remove(id.as_str()) {
                    None => wrong.push(format!("{id} has no row")),
                    Some(1) => {}
                    Some(_) => wrong.push(format!("{id} has two rows")),
                }
            }
        }
        wrong.extend(seen.keys().map(|id| format!("{id} is no requirement")));
        for (id, says, why) in &self.rows {
            let reason = ["open: ", "nothing to show: "].iter().any(|word| why.starts_with(word));
            match (self.of(id).count(), reason) {
                _ if says.is_empty() => wrong.push(format!("{id} does not say what it asks for")),
                (0, false) => wrong.push(format!("{id} has no test, and does not say why")),
                (1.., _) if !why.is_empty() => wrong.push(format!("{id} has tests and says why it has none")),
                _ => {}
            }
        }
        for test in self.tests {
            for id in &test.rows {
                if !self.rows.iter().any(|(row, ..)| row == id) {
                    wrong.push(format!("{}::{} shows {id}, which has no row", test.file, test.name));
                } else if test.ignored {
                    wrong.push(format!("{}::{} is ignored, so no run shows {id}", test.file, test.name));
                }
            }
        }
        wrong
    }

    /// Fails where a test that shows a row is not among those that passed.
    pub(crate) fn all_ran(&self, ran: &Ran) -> Result<()> {
        let shown = self.tests.iter().filter(|test| !test.rows.is_empty());
        let missing: Vec<String> = shown
            .filter(|test| !ran.all_of(test, self.tests))
            .map(|test| format!("{}: {}::{}", test.rows.join(", "), test.file, test.name))
            .collect();
        ensure!(missing.is_empty(), "tests that show requirements did not run:\n  {}", missing.join("\n  "));
        Ok(())
    }

    /// Says how many rows are shown, and how many are not.
    pub(crate) fn counted(&self) -> String {
        let count = |word: &str| self.rows.iter().filter(|(.., why)| why.starts_with(word)).count();
        let (open, nothing) = (count("open: "), count("nothing to show: "));
        format!(
            "{} rows of requirements are shown by {} tests, {open} are open, {nothing} ask for nothing that a test could show",
            self.rows.len() - open - nothing,
            self.tests.iter().filter(|test| !test.rows.is_empty()).count(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_shown_or_says_why_not() {
        check(&sources::tests().unwrap()).unwrap();
    }

    #[test]
    fn what_is_wrong_is_named() {
        let test = |name: &str, ignored, row: &str| {
            let rows = row.split_whitespace().map(str::to_owned).collect();
            Test { file: "a.rs".into(), name: name.into(), ignored, rows }
        };
        let tests = [
            test("a", false, "S0-01 S0-02"),
            test("b", true, "S0-03"),
            test("c", false, "S9-01"),
            test("d", false, "S0-05 S0-06"),
        ];
        let text = "| S0-01 | a | |\n| S0-01 | a | |\n| S0-02 | a | open: later |\n| S0-03 | a | |\n| S0-04 | a | |\n| S0-05 | | |\n\
                    | S0-06 | a | |\n| S0-07 | a | nothing to show: a choice |\n| S0-08 | a | some words |\n| S5-01 | a | |\n";
        let requirements = Requirements { rows: text.lines().filter_map(row).collect(), tests: &tests };
        let wrong = requirements.wrong(&[]);
        let missing = |line: &&String| !line.ends_with("has no row") || line.contains("::");
        assert_eq!(
            wrong.iter().filter(missing).collect::<Vec<_>>(),
            [
                "S0-01 has two rows",
                "S5-01 is no requirement",
                "S0-02 has tests and says why it has none",
                "S0-04 has no test, and does not say why",
                "S0-05 does not say what it asks for",
                "S0-08 has no test, and does not say why",
                "S5-01 has no test, and does not say why",
                "a.rs::b is ignored, so no run shows S0-03",
                "a.rs::c shows S9-01, which has no row",
            ]
        );
        let rows: usize = DOCUMENTS.iter().map(|(_, rows)| rows).sum();
        assert_eq!(wrong.len(), 9 + rows - 8, "each row that is missing is named");
        let mut ran = Ran::default();
        ran.hear("test a ... ok");
        let error = requirements.all_ran(&ran).unwrap_err().to_string();
        assert!(error.ends_with("S9-01: a.rs::c\n  S0-05, S0-06: a.rs::d"), "{error}");
    }
}
