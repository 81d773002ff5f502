//! The names of the tests that ran and passed, from what cargo, Python and Node print.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::requirements::{Named, is_made_of};
use crate::run::shown;

/// The tests that passed.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    /// As the table of requirements names them: `desk modes::each`, `gate passage bounds::each`.
    rust: BTreeSet<String>,
    /// By file and name.
    python: BTreeSet<(String, String)>,
    /// By name. Node does not say of which file a test is.
    node: BTreeSet<String>,
    /// The Python test whose result has not come yet.
    begun: Option<(String, String)>,
    /// Languages that are not there.
    skipped: BTreeSet<String>,
}

impl Ran {
    pub(crate) fn add_rust(&mut self, name: &str) {
        self.rust.insert(name.to_owned());
    }

    /// Reads a line of a language's test runner.
    pub(crate) fn hear_client(&mut self, language: &str, line: &str) {
        match language {
            "Python" => self.hear_python(line),
            _ => self.hear_node(line),
        }
    }

    /// Reads a line of unittest: `test_a (test_held.Held.test_a) ... ok`, in two lines where the test is described.
    fn hear_python(&mut self, line: &str) {
        if let Some((name, rest)) = line.split_once(" (")
            && name.starts_with("test")
            && let Some((module, _)) = rest.split_once('.')
        {
            self.begun = Some((format!("{module}.py"), name.to_owned()));
        }
        // What a test says to standard error comes between its name and its result.
        if line == "ok" || line.ends_with(" ... ok") {
            self.python.extend(self.begun.take());
        }
    }

    /// Reads a line of Node's runner: `✔ a name (12.3ms)`.
    fn hear_node(&mut self, line: &str) {
        if let Some((name, _)) = line.trim_start().strip_prefix("✔ ").and_then(|line| line.rsplit_once(" ("))
        {
            self.node.insert(name.to_owned());
        }
    }

    /// Records that a language is not there, and its tests did not run.
    pub(crate) fn skip(&mut self, language: &str) {
        self.skipped.insert(language.to_lowercase());
    }

    /// Returns whether a language is not there.
    pub(crate) fn skipped(&self, language: &str) -> bool {
        self.skipped.contains(language)
    }

    /// Returns whether a test passed.
    pub(crate) fn passed(&self, test: &Named) -> bool {
        match test {
            Named::Rust { .. } => self.rust.contains(&test.to_string()),
            Named::Client { language, file, name } if language == "python" => {
                self.python.contains(&(file.clone(), name.clone()))
            }
            Named::Client { name, .. } => self.node.iter().any(|ran| is_made_of(ran, name)),
        }
    }
}

/// The programs that hold tests, by file name, with what names begin with: `desk`, `gate passage`.
#[derive(Debug, Default)]
pub(crate) struct Programs(BTreeMap<String, String>);

impl Programs {
    /// Builds tests, and reads which programs come of it. Progress and errors go where they always go.
    pub(crate) fn build(command: &mut Command) -> Result<Self> {
        command.arg("--message-format=json-render-diagnostics");
        let shown = shown(command);
        let mut child =
            command.stdout(Stdio::piped()).spawn().with_context(|| format!("`{shown}` cannot be run"))?;
        let mut programs = Self::default();
        for line in BufReader::new(child.stdout.take().context("no standard output")?).lines() {
            programs.add(&line?);
        }
        let status = child.wait()?;
        ensure!(status.success(), "`{shown}` failed ({status})");
        Ok(programs)
    }

    /// Adds the program that a message of cargo is about, if it is about one.
    fn add(&mut self, message: &str) {
        let file = |key| Some(Path::new(text_of(message, key)?));
        if let (Some(program), Some(manifest)) = (file("executable"), file("manifest_path"))
            && let Some(program) = program.file_name()
            && let Some(folder) = manifest.parent().and_then(Path::file_name)
        {
            let (folder, kind) = (folder.to_string_lossy(), message.contains(r#""kind":["test"]"#));
            let target = text_of(message, "name").filter(|_| kind).map(|name| format!(" {name}"));
            self.0.insert(
                program.to_string_lossy().into_owned(),
                format!("{folder}{}", target.unwrap_or_default()),
            );
        }
    }

    /// Returns what the names in a program begin with, given cargo's line that says that the program is run.
    fn prefix(&self, line: &str) -> Option<&str> {
        let (_, program) = line.trim_start().strip_prefix("Running ")?.strip_suffix(')')?.rsplit_once('(')?;
        self.0.get(program.rsplit(['/', '\\']).next()?).map(String::as_str)
    }
}

/// The text of a member of a message in JSON. Paths and names of this repository need no escapes.
fn text_of<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    message.split_once(&format!(r#""{key}":""#))?.1.split('"').next()
}

/// What a run of `cargo test` prints: which programs it runs on standard error, and what these say on standard output.
///
/// Two streams have no order among each other. But programs run one after the other, so the first block of results is of the first
/// program. Documentation tests come last, and no row is shown by one.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// What names begin with, program by program.
    prefixes: Vec<String>,
    /// The names that passed, block by block.
    passed: Vec<Vec<String>>,
}

impl Blocks {
    /// Reads a line of standard error.
    pub(crate) fn hear_error(&mut self, line: &str, programs: &Programs) {
        self.prefixes.extend(programs.prefix(line).map(str::to_owned));
    }

    /// Reads a line of standard output.
    pub(crate) fn hear(&mut self, line: &str) {
        let is_head = |rest: &str| rest.ends_with(" tests") || rest.ends_with(" test");
        if line.strip_prefix("running ").is_some_and(is_head) {
            self.passed.push(Vec::new());
        } else if let Some(name) = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... ok"))
            && let Some(block) = self.passed.last_mut()
        {
            block.push(name.trim_end_matches(" - should panic").to_owned());
        }
    }

    /// Adds the tests of all programs to those that passed.
    pub(crate) fn close(self, ran: &mut Ran) -> Result<()> {
        ensure!(!self.prefixes.is_empty(), "cargo named no program that it ran");
        ensure!(
            self.passed.len() >= self.prefixes.len(),
            "{} programs ran, and {} of them said which tests they have",
            self.prefixes.len(),
            self.passed.len()
        );
        for (prefix, names) in self.prefixes.iter().zip(self.passed) {
            names.iter().for_each(|name| ran.add_rust(&format!("{prefix} {name}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT: [&str; 4] = [
        r#"{"reason":"compiler-artifact","package_id":"x","manifest_path":"/a/host/desk/Cargo.toml","target":{"kind":["lib"],"crate_types":["lib"],"name":"leafgate_desk"},"executable":"/a/target/debug/deps/leafgate_desk-1f","fresh":true}"#,
        r#"{"reason":"compiler-artifact","package_id":"x","manifest_path":"/a/host/desk/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"properties"},"executable":"/a/target/debug/deps/properties-2f","fresh":true}"#,
        r#"{"reason":"compiler-artifact","package_id":"x","manifest_path":"/a/host/harness/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"properties"},"executable":"/a/target/debug/deps/properties-3f","fresh":true}"#,
        r#"{"reason":"compiler-artifact","package_id":"x","manifest_path":"/a/host/tree/Cargo.toml","target":{"kind":["lib"],"name":"leafgate_tree"},"executable":null,"fresh":true}"#,
    ];

    fn heard(errors: &[&str], output: &[&str]) -> Result<Ran> {
        let (mut programs, mut blocks, mut ran) = (Programs::default(), Blocks::default(), Ran::default());
        BUILT.iter().for_each(|message| programs.add(message));
        errors.iter().for_each(|line| blocks.hear_error(line, &programs));
        output.iter().for_each(|line| blocks.hear(line));
        blocks.close(&mut ran)?;
        Ok(ran)
    }

    #[test]
    fn names_that_several_programs_have_are_told_apart() {
        let errors = [
            "    Finished `test` profile in 1s",
            "     Running unittests src/lib.rs (target/debug/deps/leafgate_desk-1f)",
            "     Running tests/properties.rs (target/debug/deps/properties-2f)",
            "     Running tests/properties.rs (/elsewhere/target/debug/deps/properties-3f)",
            "     Running something of a test (target/debug/leafgate)",
            "   Doc-tests leafgate_desk",
        ];
        let output = [
            "",
            "running 2 tests",
            "test modes::tests::each ... ok",
            "test modes::tests::slow has been running for over 60 seconds",
            "test modes::tests::slow - should panic ... ok",
            "test result: ok. 2 passed; 0 failed; 0 ignored",
            "running 1 test",
            "test whatever ... ignored, not here",
            "running 1 test",
            "test whatever ... ok",
            "running 1 test",
            "test host/desk/src/lib.rs - a (line 3) ... ok",
        ];
        let ran = heard(&errors, &output).unwrap();
        assert_eq!(
            ran.rust.iter().map(String::as_str).collect::<Vec<_>>(),
            ["desk modes::tests::each", "desk modes::tests::slow", "harness properties whatever"]
        );
    }

    #[test]
    fn a_run_that_cannot_be_read_is_no_run() {
        heard(&[], &["running 1 test", "test a ... ok"]).unwrap_err();
        heard(&["Running tests/properties.rs (target/debug/deps/properties-2f)"], &[]).unwrap_err();
    }

    #[test]
    fn client_tests_are_known_by_language() {
        let mut ran = Ran::default();
        for line in [
            "test_a (test_held.Held.test_a) ... ok",
            "test_b (test_held.Held.test_b)",
            "It says what. ... ok",
            "test_e (test_held.Held.test_e) ... a warning of a library",
            "ok",
            "test_c (test_held.Held.test_c) ... skipped 'no'",
            "test_d (test_held.Held.test_d) ... ERROR",
        ] {
            ran.hear_python(line);
        }
        ran.hear_node("▶ openai");
        ran.hear_node("  ✔ echo (twice) (3.2ms)");
        ran.hear_node("✖ a fault (1ms)");
        let passed = |name: &str| ran.passed(&Named::read(name).unwrap());
        assert!(
            passed("clients python test_held.py::test_a") && passed("clients python test_held.py::test_b")
        );
        assert!(passed("clients node any.test.mjs::echo (twice)"));
        for name in
            ["python test_held.py::test_c", "python test_held.py::test_d", "python test_other.py::test_a"]
        {
            assert!(!passed(&format!("clients {name}")), "{name}");
        }
        assert!(
            !passed("clients node any.test.mjs::a fault") && !passed("clients node any.test.mjs::openai")
        );
    }
}
