//! `cargo xtask requirements`: the table in `host/REQUIREMENTS.md`, and the tests that show its rows.
//!
//! Two things can go wrong with such a table: a row that nobody shows, and a test that is named and does not run. The first is found in
//! the sources, without a build; the second after `cargo xtask test` has run everything.

mod named;
mod sources;
mod table;

use anyhow::{Context as _, Result, ensure};

use crate::paths;
use crate::ran::Ran;
pub(crate) use named::{Named, is_made_of};
use table::{Shown, Table};

/// Where the table is.
const TABLE: &str = "host/REQUIREMENTS.md";

/// A table whose rows are complete and whose tests exist.
pub(crate) struct Requirements(Table);

/// Prints each row with what shows it, and how many are open.
pub(crate) fn requirements() -> Result<()> {
    let requirements = check()?;
    for row in &requirements.0.rows {
        println!("{}  {}", row.id, row.shown);
    }
    println!("\nopen, by what is missing:");
    for (what, rows) in requirements.0.open() {
        println!("{:>4}  {what}: {}", rows.len(), rows.join(", "));
    }
    println!("\nxtask: {}", requirements.counted());
    Ok(())
}

/// Reads the table, and checks that it is complete and that the sources have each test that it names.
pub(crate) fn check() -> Result<Requirements> {
    let text =
        std::fs::read_to_string(paths::root().join(TABLE)).with_context(|| format!("cannot read {TABLE}"))?;
    let table = Table::read(&text).context(TABLE)?;
    let mut wrong = table.incomplete();
    for (row, test) in table.tests() {
        if let Err(why) = sources::find(test, &paths::root()) {
            wrong.push(format!("{row}: `{test}`: {why:#}"));
        }
    }
    ensure!(wrong.is_empty(), "{TABLE}:\n  {}", wrong.join("\n  "));
    Ok(Requirements(table))
}

impl Requirements {
    /// Fails where a test of the table is not among those that passed.
    pub(crate) fn all_ran(&self, ran: &Ran) -> Result<()> {
        let missing: Vec<String> = self
            .0
            .tests()
            .filter(|(_, test)| {
                !test.language().is_some_and(|language| ran.skipped(language)) && !ran.passed(test)
            })
            .map(|(row, test)| format!("{row}: `{test}`"))
            .collect();
        ensure!(missing.is_empty(), "tests that {TABLE} names did not run:\n  {}", missing.join("\n  "));
        Ok(())
    }

    /// Says how many rows are shown, and how many are not.
    pub(crate) fn counted(&self) -> String {
        let count = |wanted: fn(&Shown) -> bool| self.0.rows.iter().filter(|row| wanted(&row.shown)).count();
        format!(
            "{} rows of requirements are shown by {} tests, {} are open, {} ask for nothing that a test could show",
            count(|shown| matches!(shown, Shown::By(_))),
            self.0.tests().map(|(_, test)| test).collect::<std::collections::BTreeSet<&Named>>().len(),
            count(|shown| matches!(shown, Shown::Open(_))),
            count(|shown| matches!(shown, Shown::Nothing(_))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_its_tests_exist() {
        check().unwrap();
    }

    #[test]
    fn a_test_that_did_not_run_is_named_with_its_row() {
        let table = "| S0-01 | a | `desk modes::pauses`, `clients node held.test.mjs::held: ${api}` |";
        let requirements = Requirements(Table::read(table).unwrap());
        let mut ran = Ran::default();
        ran.add_rust("desk modes::pauses");
        let error = requirements.all_ran(&ran).unwrap_err().to_string();
        assert!(
            error.ends_with("did not run:\n  S0-01: `clients node held.test.mjs::held: ${api}`"),
            "{error}"
        );
        ran.hear_client("Node", "✔ held: openai (1.5ms)");
        requirements.all_ran(&ran).unwrap();
    }

    #[test]
    fn a_language_that_is_not_there_is_no_fault_of_the_table() {
        let requirements =
            Requirements(Table::read("| S0-01 | a | `clients python test_held.py::test_a` |").unwrap());
        let mut ran = Ran::default();
        assert!(requirements.all_ran(&ran).is_err());
        ran.skip("Python");
        requirements.all_ran(&ran).unwrap();
    }
}
