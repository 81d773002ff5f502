//! The tests that ran and passed, from what cargo, Python and Node print.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::Test;

/// How often a test of a name passed.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    passed: BTreeMap<String, usize>,
    /// The Python test whose result has not come yet.
    begun: Option<String>,
    /// Languages that are not there.
    skipped: BTreeSet<String>,
}

impl Ran {
    /// Reads a line of any test runner.
    ///
    /// Cargo: `test path::to::name ... ok`. Node: `✔ a name (12.3ms)`. Python: `test_a (test_held.Held.test_a) ... ok`, in two lines where
    /// the test is described or says something to standard error.
    pub(crate) fn hear(&mut self, line: &str) {
        let line = line.trim_start();
        let passed = |line: &str| line.strip_suffix(" ... ok").map(str::to_owned);
        if let Some(name) = line.strip_prefix("test ").and_then(passed) {
            let name = name.trim_end_matches(" - should panic");
            self.add(name.rsplit("::").next().unwrap_or(name));
        } else if let Some((name, _)) = line.strip_prefix("✔ ").and_then(|line| line.rsplit_once(" (")) {
            self.add(name);
        } else if let Some((name, _)) = line.split_once(" (").filter(|(name, _)| name.starts_with("test_")) {
            self.begun = Some(name.to_owned());
        }
        if (line == "ok" || passed(line).is_some())
            && let Some(name) = self.begun.take()
        {
            self.add(&name);
        }
    }

    fn add(&mut self, name: &str) {
        *self.passed.entry(name.to_owned()).or_default() += 1;
    }

    /// Records that a language is not there, and its tests did not run.
    pub(crate) fn skip(&mut self, language: &str) {
        self.skipped.insert(language.to_lowercase());
    }

    /// Returns whether a test passed, or its language is not there. Of several with one name, all must have passed.
    pub(crate) fn all_of(&self, test: &Test, tests: &[Test]) -> bool {
        let wanted = tests.iter().filter(|other| other.name == test.name && !other.ignored).count();
        // What a script puts together begins as the script says.
        let begins = test.name.split("${").next().unwrap_or_default();
        let count: usize = match begins == test.name {
            true => self.passed.get(&test.name).copied().unwrap_or(0),
            false => {
                self.passed.iter().filter(|(name, _)| name.starts_with(begins)).map(|(_, count)| count).sum()
            }
        };
        count >= wanted.max(1) || test.language().is_some_and(|language| self.skipped.contains(language))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(file: &str, name: &str) -> Test {
        Test { file: file.into(), name: name.into(), ignored: false, rows: Vec::new() }
    }

    #[test]
    fn what_passed_is_known_by_name_in_every_language() {
        let mut ran = Ran::default();
        for line in [
            "test modes::tests::each ... ok",
            "test modes::slow has been running for over 60 seconds",
            "test modes::slow - should panic ... ok",
            "test modes::elsewhere ... ignored, not here",
            "test_a (test_held.Held.test_a) ... ok",
            "test_b (test_held.Held.test_b)",
            "It says what. ... ok",
            "test_e (test_held.Held.test_e) ... a warning of a library",
            "ok",
            "test_c (test_held.Held.test_c) ... skipped 'no'",
            "test_d (test_held.Held.test_d) ... ERROR",
            "▶ openai",
            "  ✔ held: chat of openai (3.2ms)",
            "✖ a fault (1ms)",
        ] {
            ran.hear(line);
        }
        let passed = |name: &str| ran.all_of(&test("tests/a.rs", name), &[]);
        for name in ["each", "slow", "test_a", "test_b", "test_e", "held: ${api.name}"] {
            assert!(passed(name), "{name}");
        }
        for name in ["elsewhere", "test_c", "test_d", "a fault", "openai", "cancel: ${api}"] {
            assert!(!passed(name), "{name}");
        }
        let twins = [test("a.rs", "each"), test("b.rs", "each")];
        assert!(!ran.all_of(&twins[0], &twins), "one of two passed");
        ran.hear("test each ... ok");
        assert!(ran.all_of(&twins[0], &twins));
    }

    #[test]
    fn a_language_that_is_not_there_is_no_fault_of_a_test() {
        let (mut ran, client) = (Ran::default(), test("tests/clients/python/test_held.py", "test_a"));
        assert!(!ran.all_of(&client, &[]));
        ran.skip("Python");
        assert!(ran.all_of(&client, &[]));
    }
}
