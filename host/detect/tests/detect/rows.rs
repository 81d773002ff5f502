//! The labelled rows, and what counts as found, masked and alarmed.

use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use leafgate_detect::Finding;
use leafgate_harness::recordings;
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Row {
    pub(crate) text: String,
    pub(crate) label: u8,
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) rules: Vec<String>,
    #[serde(default)]
    pub(crate) spans: Vec<Span>,
    #[serde(default)]
    pub(crate) neg_class: Option<String>,
    #[serde(default)]
    pub(crate) contested: bool,
}

#[derive(Deserialize)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    #[serde(rename = "type")]
    pub(crate) kind: String,
}

#[derive(Default, Clone)]
pub(crate) struct Score {
    pub(crate) positives: usize,
    pub(crate) found: usize,
    pub(crate) benign: usize,
    pub(crate) benign_alarms: usize,
    pub(crate) near: usize,
    pub(crate) near_alarms: usize,
    pub(crate) spans: usize,
    pub(crate) masked: usize,
    /// Rows in which a published example was found and nothing else: neither recall nor an alarm.
    pub(crate) published: usize,
}

impl Score {
    pub(crate) fn recall(&self) -> f64 {
        self.found as f64 / self.positives.max(1) as f64
    }

    pub(crate) fn precision(&self) -> f64 {
        self.found as f64 / (self.found + self.benign_alarms).max(1) as f64
    }

    pub(crate) fn masked(&self) -> f64 {
        self.masked as f64 / self.spans.max(1) as f64
    }

    pub(crate) fn add(&mut self, row: &Row, findings: &[Finding]) {
        let live: Vec<Finding> = findings.iter().filter(|finding| !finding.published).cloned().collect();
        let counts = |findings: &[Finding]| {
            if row.label == 1 { is_found(row, findings) } else { !findings.is_empty() }
        };
        if counts(findings) && !counts(&live) && !row.contested {
            self.published += 1;
        } else if row.label == 1 {
            self.positives += 1;
            self.found += usize::from(is_found(row, findings));
            self.spans += row.spans.len();
            self.masked += row.spans.iter().filter(|span| is_masked(span, findings)).count();
        } else if !row.contested {
            let near = row.neg_class.as_deref() == Some("near-miss");
            let (count, alarms) = match near {
                true => (&mut self.near, &mut self.near_alarms),
                false => (&mut self.benign, &mut self.benign_alarms),
            };
            *count += 1;
            *alarms += usize::from(!live.is_empty());
        }
    }

    pub(crate) fn print(&self, name: &str) {
        println!(
            "{name:18} recall {:.3} ({}/{})  precision {:.3}  benign alarms {}/{}  near-miss {}/{}  masked {:.3} ({}/{})  published {}",
            self.recall(),
            self.found,
            self.positives,
            self.precision(),
            self.benign_alarms,
            self.benign,
            self.near_alarms,
            self.near,
            self.masked(),
            self.masked,
            self.spans,
            self.published,
        );
    }
}

pub(crate) fn is_found(row: &Row, findings: &[Finding]) -> bool {
    match row.spans.is_empty() {
        true => !findings.is_empty(),
        false => row
            .spans
            .iter()
            .any(|span| findings.iter().any(|f| f.range.start < span.end && span.start < f.range.end)),
    }
}

pub(crate) fn is_masked(span: &Span, findings: &[Finding]) -> bool {
    (span.start..span.end).all(|at| findings.iter().any(|f| f.range.contains(&at)))
}

/// The rows of each source, in the order of their names.
pub(crate) fn sources() -> Option<Vec<(String, Vec<Row>)>> {
    let folder = recordings::corpora()?;
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "gz"));
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let lines = BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines();
        let rows = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        (path.file_name().unwrap().to_string_lossy().replace(".jsonl.gz", ""), rows)
    };
    Some(files.iter().map(read).collect())
}
