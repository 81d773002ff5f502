//! The table: rows of Markdown with an id, what it asks for, and the tests that show it.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, Result, bail, ensure};

use super::named::Named;

/// How many rows each document has, and whether all of them must be there.
const DOCUMENTS: [(&str, usize, bool); 5] =
    [("S0", 127, true), ("S1", 18, true), ("S2", 31, true), ("S3", 27, true), ("S4", 27, true)];

/// What begins the line that names the rows which are about the page alone.
const PAGE_ONLY: &str = "Left out, since they are about the web page alone:";

/// All rows.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    /// Ids of rows about the page alone.
    page_only: Vec<String>,
}

/// One row.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) shown: Shown,
}

/// What shows a row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// These tests.
    By(Vec<Named>),
    /// Nothing yet, and what is missing.
    Open(String),
    /// Nothing, since it asks for nothing that could fail, and why.
    Nothing(String),
}

impl Table {
    /// Reads the table out of a document. Lines that are no rows are text for people.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let (mut rows, mut page_only) = (Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate() {
            if let Some(ids) = line.strip_prefix(PAGE_ONLY) {
                page_only.extend(ids.trim_end_matches('.').split(',').map(|id| id.trim().to_owned()));
            } else if let Some(row) = row(line).with_context(|| format!("line {}", number + 1))? {
                rows.push(row);
            }
        }
        Ok(Self { rows, page_only })
    }

    /// Returns each test with the id of the row that names it.
    pub(crate) fn tests(&self) -> impl Iterator<Item = (&str, &Named)> {
        self.rows.iter().flat_map(|row| match &row.shown {
            Shown::By(tests) => tests.iter().map(|test| (row.id.as_str(), test)).collect(),
            Shown::Open(_) | Shown::Nothing(_) => Vec::new(),
        })
    }

    /// Returns what is missing, with the ids of the rows that wait for it.
    pub(crate) fn open(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut open: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for row in &self.rows {
            if let Shown::Open(what) = &row.shown {
                open.entry(what).or_default().push(&row.id);
            }
        }
        open
    }

    /// Says which rows are missing, doubled or unknown.
    pub(crate) fn incomplete(&self) -> Vec<String> {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for id in self.rows.iter().map(|row| &row.id).chain(&self.page_only) {
            *seen.entry(id).or_default() += 1;
        }
        let mut wrong = Vec::new();
        for (document, count, whole) in DOCUMENTS {
            for number in 1..=count {
                match seen.remove(format!("{document}-{number:02}").as_str()) {
                    None if whole => wrong.push(format!("{document}-{number:02} has no row")),
                    Some(2..) => wrong.push(format!("{document}-{number:02} has two rows")),
                    None | Some(_) => {}
                }
            }
        }
        wrong.extend(seen.keys().map(|id| format!("{id} is no requirement")));
        wrong
    }
}

/// Reads a line, if it is a row of the table.
fn row(line: &str) -> Result<Option<Row>> {
    let Some(inner) = line.trim().strip_prefix('|').and_then(|line| line.strip_suffix('|')) else {
        return Ok(None);
    };
    let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
    let is_id =
        |id: &str| id.strip_prefix('S').is_some_and(|id| id.starts_with(|c: char| c.is_ascii_digit()));
    if !cells.first().is_some_and(|id| is_id(id)) {
        return Ok(None);
    }
    let [id, says, shown] = cells[..] else {
        bail!("{} has {} cells where three belong", cells[0], cells.len())
    };
    ensure!(!says.is_empty(), "{id} does not say what it asks for");
    Ok(Some(Row { id: id.to_owned(), shown: self::shown(shown).with_context(|| id.to_owned())? }))
}

fn shown(cell: &str) -> Result<Shown> {
    for (word, shown) in [("open:", Shown::Open as fn(String) -> Shown), ("nothing to show:", Shown::Nothing)]
    {
        if let Some(why) = cell.strip_prefix(word) {
            ensure!(!why.trim().is_empty(), "`{word}` needs its reason behind it");
            ensure!(!why.contains("::"), "it names a test and is marked `{word}`: it can be one of them");
            return Ok(shown(why.trim().to_owned()));
        }
    }
    let tests: Vec<&str> = cell.split("`, `").map(|test| test.trim_matches('`')).collect();
    Ok(Shown::By(tests.into_iter().map(Named::read).collect::<Result<_>>()?))
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(tests) => {
                let tests: Vec<String> = tests.iter().map(Named::to_string).collect();
                write!(f, "{}", tests.join("\n       "))
            }
            Self::Open(what) => write!(f, "open: {what}"),
            Self::Nothing(why) => write!(f, "nothing to show: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(line: &str) -> Shown {
        Table::read(line).unwrap().rows.remove(0).shown
    }

    #[test]
    fn a_row_is_shown_by_tests_or_open_or_has_nothing_to_show() {
        let tests = ["desk modes::each", "clients node a.test.mjs::a, and b"];
        let named = tests.iter().map(|test| Named::read(test).unwrap()).collect();
        assert_eq!(only(&format!("| S0-01 | what | `{}` |", tests.join("`, `"))), Shown::By(named));
        assert_eq!(only("| S0-01 | what | desk each |"), Shown::By(vec![Named::read("desk each").unwrap()]));
        assert_eq!(only("| S0-01 | what | open: the log |"), Shown::Open("the log".into()));
        assert_eq!(only("| S0-01 | what | nothing to show: later |"), Shown::Nothing("later".into()));
    }

    #[test]
    fn open_rows_stand_by_what_is_missing() {
        let row = |id: &str, shown: &str| format!("| {id} | what | {shown} |\n");
        let text = [
            ("S0-01", "open: log"),
            ("S0-02", "desk each"),
            ("S0-03", "open: tokens"),
            ("S0-04", "open: log"),
        ];
        let table = Table::read(&text.map(|(id, shown)| row(id, shown)).concat()).unwrap();
        assert_eq!(
            table.open().into_iter().collect::<Vec<_>>(),
            [("log", vec!["S0-01", "S0-04"]), ("tokens", vec!["S0-03"])]
        );
    }

    #[test]
    fn a_row_that_says_two_things_or_nothing_is_refused_with_its_line() {
        for row in [
            "| S0-01 | what | open: `desk modes::each` |",
            "| S0-01 | what | open: |",
            "| S0-01 | what | |",
            "| S0-01 | | `desk modes::each` |",
            "| S0-01 | what |",
            "| S0-01 | what | `desk modes::each` | more |",
            "| S0-01 | what | some words that are no test at all |",
        ] {
            let error = Table::read(&format!("| row | what | test |\n|---|---|---|\n{row}")).unwrap_err();
            assert!(format!("{error:#}").starts_with("line 3: "), "{row}: {error:#}");
        }
    }

    #[test]
    fn rows_that_are_missing_doubled_or_unknown_are_named() {
        let row = |id: String| format!("| {id} | what | `desk modes::each` |\n");
        let mut text: String = (2..=127)
            .filter(|number| *number != 109)
            .map(|number| row(format!("S0-{number:02}")))
            .chain((1..=18).map(|number| row(format!("S1-{number:02}"))))
            .chain((1..=31).map(|number| row(format!("S2-{number:02}"))))
            .chain(
                (1..=27).flat_map(|number| [row(format!("S3-{number:02}")), row(format!("S4-{number:02}"))]),
            )
            .chain([row("S1-18".into()), row("S0-128".into())])
            .collect();
        text += &format!("{PAGE_ONLY} S0-109, S0-110.\n");
        assert_eq!(
            Table::read(&text).unwrap().incomplete(),
            ["S0-01 has no row", "S0-110 has two rows", "S1-18 has two rows", "S0-128 is no requirement"]
        );
    }
}
