//! Rows in, findings out: JSON Lines, so that another program can ask about many texts.

use std::io::{BufRead, BufReader, Read};

use anyhow::{Context as _, ensure};
use leafgate_detect::pack_of;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::error::Category;

use super::Scanner;
use crate::print::Printer;

/// Longest row, in bytes: one is held whole.
const LONGEST: u64 = 256 << 20;

/// A row as it comes. Other members are the caller's own.
#[derive(Deserialize)]
struct Row {
    id: Value,
    text: String,
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a Value,
    findings: Vec<Found>,
}

/// A finding: half-open range of byte offsets into the row's text as UTF-8.
#[derive(Serialize)]
struct Found {
    start: usize,
    end: usize,
    detector: String,
    pack: &'static str,
    confidence: &'static str,
    published: bool,
}

/// Answers row by row. An answer is written at the latest when the next row is waited for.
pub(super) fn run(scanner: &Scanner, input: impl Read, printer: &mut Printer) -> anyhow::Result<()> {
    let mut input = BufReader::new(input);
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        if !input.buffer().contains(&b'\n') {
            printer.flush()?;
        }
        line.clear();
        let mut row = (&mut input).take(LONGEST + 1);
        if row.read_until(b'\n', &mut line).context("cannot read standard input")? == 0 {
            return Ok(());
        }
        number += 1;
        ensure!(
            line.len() as u64 <= LONGEST,
            "line {number} of standard input has more than {LONGEST} bytes"
        );
        if line.trim_ascii().is_empty() {
            continue;
        }
        let row: Row = serde_json::from_slice(&line).map_err(|error| wrong(&error, number))?;
        let findings = scanner.scan(&row.text).into_iter().map(|finding| Found {
            start: finding.range.start,
            end: finding.range.end,
            detector: finding.detector.to_string(),
            pack: pack_of(&finding.detector, finding.confidence),
            confidence: finding.confidence.as_str(),
            published: finding.published,
        });
        printer.json_line(&Answer { id: &row.id, findings: findings.collect() })?;
    }
}

/// What is wrong with a row. The parser's own message may quote the text.
fn wrong(error: &serde_json::Error, number: usize) -> anyhow::Error {
    let column = error.column();
    match error.classify() {
        Category::Data => anyhow::anyhow!(
            "line {number} of standard input is no row: it must be an object with `id` and a string `text`"
        ),
        _ => anyhow::anyhow!("line {number} of standard input is no JSON, from column {column} on"),
    }
}
