//! `test`: runs the tests of a policy, says in what they differ, and writes what they should expect
//! once somebody has seen it.

mod junit;

use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;
use leafgate_policy::Policy;
use leafgate_review::rows::text_diff_rows;
use leafgate_trials::{
    Difference, Expectation, Grade, RuleTest, RuleTests, TestOutcome, TestPlace, WrittenFile,
};
use serde::Serialize;

use crate::options::PolicyArg;
use crate::print::{Exit, Printer, Row, Style, counted};
use crate::{policy, private};

#[derive(Args)]
pub(crate) struct TestArgs {
    /// Run only tests whose name holds one of these texts
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    policy: PolicyArg,
    /// The folder of the tests; without it, `tests` in the policy folder
    #[arg(long, value_name = "DIR")]
    tests: Option<PathBuf>,
    /// Show what each test that fails would have to expect, and write it where you say so
    #[arg(long, conflicts_with = "json")]
    update: bool,
    /// Write all of it without asking
    #[arg(long, requires = "update")]
    yes: bool,
    /// Write the outcomes to a file as JUnit does, for a build server
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// A test that was run.
#[derive(Serialize)]
struct RanTest<'t> {
    #[serde(flatten)]
    test: &'t TestPlace,
    #[serde(flatten)]
    outcome: TestOutcome,
}

pub(crate) fn run(args: &TestArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let loaded = policy::load(&args.policy.source)?;
    let folder = folder(args)?;
    let tests = RuleTests::read(&folder, &loaded)?;
    if tests.iter().len() == 0 {
        bail!(
            "there are no tests in {}: write `[[test]]` tables into `*.toml` files there",
            folder.display()
        );
    }
    let named = |test: &&RuleTest| {
        args.names.is_empty() || args.names.iter().any(|name| test.place.name.contains(name.as_str()))
    };
    let ran: Vec<RanTest<'_>> = tests
        .iter()
        .filter(named)
        .map(|test| RanTest { test: &test.place, outcome: test.run(&loaded) })
        .collect();
    if ran.is_empty() {
        bail!("no test has a name with {} in it", args.names.join(" or "));
    }
    let ok = !ran.iter().any(|ran| ran.outcome.fails());
    printer.show(&TestedPolicy { ok, tests: &ran }, |tested, printer| print(tested.tests, printer))?;
    if let Some(file) = &args.junit {
        let written = std::fs::write(file, junit::document(&ran));
        written.with_context(|| format!("cannot write {}", file.display()))?;
    }
    let failed: Vec<&RanTest<'_>> = ran.iter().filter(|ran| ran.outcome.fails()).collect();
    let left = match args.update {
        true => failed.len() - update(args, &tests, &loaded, &failed, printer)?,
        false => failed.len(),
    };
    Ok(if left == 0 { Exit::Done } else { Exit::Unmet })
}

fn folder(args: &TestArgs) -> anyhow::Result<PathBuf> {
    let of_policy = args.policy.source.folder().map(leafgate_folder::tests_of);
    args.tests
        .clone()
        .or(of_policy)
        .context("a built-in policy has no tests: name a policy folder, or tests with `--tests DIR`")
}

fn print(ran: &[RanTest<'_>], printer: &mut Printer) -> io::Result<()> {
    let mut file = "";
    for RanTest { test, outcome } in ran {
        if file != &*test.file {
            file = &test.file;
            printer.rows(&[Row::of(file, Style::Strong)])?;
        }
        print_outcome(test, outcome, printer)?;
    }
    let graded = Grade::ALL.iter().map(|grade| grade.name()).chain([TO_DO]);
    let counts = graded.map(|word| (ran.iter().filter(|ran| self::word(&ran.outcome) == word).count(), word));
    let counts = counts.filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    printer.line(&format!("{}: {}", counted(ran.len(), "test"), counts.collect::<Vec<_>>().join(", ")))
}

/// The word for a test that fails as is known.
const TO_DO: &str = "to do";

/// Returns an outcome in a word.
fn word(outcome: &TestOutcome) -> &'static str {
    if outcome.todo && outcome.grade != Grade::Right { TO_DO } else { outcome.grade.name() }
}

fn print_outcome(test: &TestPlace, outcome: &TestOutcome, printer: &mut Printer) -> io::Result<()> {
    let style = match (outcome.grade, outcome.todo) {
        (Grade::Right, _) => Style::Added,
        (_, true) => Style::Dim,
        _ => Style::Deleted,
    };
    let rest = match (outcome.grade, outcome.todo) {
        (Grade::Right, true) => "  (it is right: take `todo` away)".to_owned(),
        (Grade::Right, false) => String::new(),
        _ => format!("  line {}", test.line),
    };
    let row =
        Row::of(&format!("  {:<8}", word(outcome)), style).and(&format!(" {}", test.name), Style::Plain);
    printer.rows(&[row.and(&rest, Style::Dim)])?;
    let told = outcome.differences.iter().filter(|_| outcome.fails());
    told.into_iter().try_for_each(|difference| print_difference(difference, printer))
}

fn print_difference(difference: &Difference, printer: &mut Printer) -> io::Result<()> {
    let Difference { at, expected, found, .. } = difference;
    let said = match (expected, found) {
        (Some(_), None) => "  expected, and not there",
        (None, Some(_)) => "  not expected",
        (Some(_), Some(_)) | (None, None) => "",
    };
    let head = Row::of(&format!("      {at}"), Style::Strong).and(said, Style::Plain);
    let [expected, found] = [expected, found].map(|text| text.as_deref().unwrap_or_default());
    let indented = |row| Row::of("        ", Style::Plain).followed_by(row);
    let rows = text_diff_rows(expected, found).into_iter().map(indented);
    printer.rows(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}

/// Shows what each of some tests would have to expect, and writes what is agreed to. Returns how many
/// tests that were.
fn update(
    args: &TestArgs,
    tests: &RuleTests,
    policy: &Policy,
    failed: &[&RanTest<'_>],
    printer: &mut Printer,
) -> anyhow::Result<usize> {
    let asks = !args.yes && io::stdin().is_terminal();
    let mut answer = if args.yes { UpdateAnswer::All } else { UpdateAnswer::No };
    let mut accepted: Vec<(&TestPlace, &Expectation)> = Vec::new();
    for RanTest { test, outcome } in failed {
        printer.text(Style::Strong, &format!("\n{}:{} {}\n", test.file, test.line, test.name))?;
        printer.text(Style::Plain, &outcome.snapshot.to_string())?;
        if asks && answer != UpdateAnswer::All {
            printer.text(Style::Plain, "write this? yes, no, all, quit: ")?;
            printer.flush()?;
            answer = UpdateAnswer::read(&mut io::stdin().lock())?;
        }
        match answer {
            UpdateAnswer::Yes | UpdateAnswer::All => accepted.push((test, &outcome.snapshot)),
            UpdateAnswer::No => {}
            UpdateAnswer::Quit => break,
        }
    }
    if !asks && !args.yes && !failed.is_empty() {
        printer
            .error_line("leafgate: nothing is written: nobody can be asked here, and `--yes` was not given");
    }
    for WrittenFile { path, content } in tests.expecting(&accepted, policy)? {
        // A test that is cut off would guard nothing.
        private::replace(&path, &content).with_context(|| format!("cannot write {}", path.display()))?;
        printer.line(&format!("written: {}", path.display()))?;
    }
    Ok(accepted.len())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum UpdateAnswer {
    Yes,
    No,
    All,
    Quit,
}

impl UpdateAnswer {
    /// Reads a line. What is no answer writes nothing.
    fn read(input: &mut impl BufRead) -> io::Result<UpdateAnswer> {
        let mut line = String::new();
        let read = input.read_line(&mut line)?;
        Ok(match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => UpdateAnswer::Yes,
            "a" | "all" => UpdateAnswer::All,
            "q" | "quit" => UpdateAnswer::Quit,
            _ if read == 0 => UpdateAnswer::Quit,
            _ => UpdateAnswer::No,
        })
    }
}

/// The output of `--json`.
#[derive(Serialize)]
struct TestedPolicy<'t> {
    ok: bool,
    tests: &'t [RanTest<'t>],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_writes() {
        let read = |line: &str| UpdateAnswer::read(&mut line.as_bytes()).unwrap();
        assert!(read("y\n") == UpdateAnswer::Yes && read("ALL\n") == UpdateAnswer::All);
        assert!(read("\n") == UpdateAnswer::No && read("yep\n") == UpdateAnswer::No);
        assert!(read("") == UpdateAnswer::Quit && read("q") == UpdateAnswer::Quit);
    }
}
