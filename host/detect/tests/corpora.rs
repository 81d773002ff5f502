//! Recall, precision and masking over public projects' labelled rows, with floors a little under what is reached.
//!
//! The rows stand outside this repository (`LEAFGATE_CORPORA`, or `../shared/corpora` beside it). Labels are read as their authors
//! mean them: near-miss negatives apart from benign ones, negatives that several engines flag left out.

// Helpers of tests are tests: a panic is their report.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;

use flate2::read::GzDecoder;
use leafgate_detect::{Engine, Finding, Input, View, views};
use leafgate_harness::recordings;
use serde::Deserialize;

#[derive(Deserialize)]
struct Row {
    text: String,
    label: u8,
    kind: String,
    #[serde(default)]
    rules: Vec<String>,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    neg_class: Option<String>,
    #[serde(default)]
    contested: bool,
}

#[derive(Deserialize)]
struct Span {
    start: usize,
    end: usize,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Default, Clone)]
struct Score {
    positives: usize,
    found: usize,
    benign: usize,
    benign_alarms: usize,
    near: usize,
    near_alarms: usize,
    spans: usize,
    masked: usize,
    /// Rows in which a published example was found and nothing else: neither recall nor an alarm.
    published: usize,
}

impl Score {
    fn recall(&self) -> f64 {
        self.found as f64 / self.positives.max(1) as f64
    }

    fn precision(&self) -> f64 {
        self.found as f64 / (self.found + self.benign_alarms).max(1) as f64
    }

    fn masked(&self) -> f64 {
        self.masked as f64 / self.spans.max(1) as f64
    }

    fn add(&mut self, row: &Row, findings: &[Finding]) {
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

    fn print(&self, name: &str) {
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

fn is_found(row: &Row, findings: &[Finding]) -> bool {
    match row.spans.is_empty() {
        true => !findings.is_empty(),
        false => row
            .spans
            .iter()
            .any(|span| findings.iter().any(|f| f.range.start < span.end && span.start < f.range.end)),
    }
}

fn is_masked(span: &Span, findings: &[Finding]) -> bool {
    (span.start..span.end).all(|at| findings.iter().any(|f| f.range.contains(&at)))
}

/// The rows of each source, in the order of their names.
fn sources() -> Option<Vec<(String, Vec<Row>)>> {
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

/// `gitleaks:stripe-access-token` → `stripe`.
fn family(row: &Row) -> String {
    let rule = row.rules.first().map_or("?", String::as_str);
    let name = rule.rsplit(':').next().unwrap_or(rule);
    let name = name.trim_start_matches("kingfisher.").trim_start_matches("np.");
    name.split(['-', '.']).next().unwrap_or(name).to_lowercase()
}

#[test]
fn secrets_are_found_and_little_else_is() {
    let Some(sources) = sources() else { return };
    let engine = Engine::new(&["secrets"]).unwrap();
    let mut all = Score::default();
    // What noseyparker marks first is often the user name beside a password, and many of secretlint's and credsweeper's rows hold
    // `pass`, `xxxx` or a lone UUID: we leave those in clear.
    let floors = BTreeMap::from([
        ("betterleaks", 0.965),
        ("credsweeper", 0.81),
        ("detect-secrets", 0.79),
        ("gitleaks", 0.97),
        ("kingfisher-1.x", 0.83),
        ("noseyparker", 0.65),
        ("secretlint", 0.64),
    ]);
    let mut missed: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (name, rows) in &sources {
        let mut score = Score::default();
        for row in rows.iter().filter(|row| row.kind == "secret") {
            let findings = engine.scan(&Input::new(&row.text));
            score.add(row, &findings);
            all.add(row, &findings);
            if row.label == 1 {
                let entry = missed.entry(family(row)).or_default();
                entry.0 += usize::from(!is_found(row, &findings));
                entry.1 += 1;
            }
        }
        if score.positives > 0 {
            score.print(name);
            let floor = floors.get(name.as_str()).copied().unwrap_or(0.0);
            assert!(
                score.recall() > floor,
                "{name}: recall {:.3}, at least {floor} expected",
                score.recall()
            );
        }
    }
    all.print("all");
    let mut missed: Vec<_> = missed.into_iter().filter(|(_, (missed, _))| *missed > 1).collect();
    missed.sort_by_key(|(_, (missed, _))| std::cmp::Reverse(*missed));
    println!("missed more than once, by family:");
    for (family, (missed, of)) in missed {
        println!("  {family:28} {missed} of {of}");
    }
    assert!(all.recall() > 0.895, "recall {:.3}", all.recall());
    assert!(all.precision() > 0.97, "precision {:.3}", all.precision());
    assert!(all.masked() > 0.87, "masked {:.3}", all.masked());
    assert!(all.benign_alarms < 80, "benign alarms {}", all.benign_alarms);
}

#[test]
fn personal_data_with_a_checksum_or_a_form_is_found() {
    let Some(sources) = sources() else { return };
    let floors: [(&[&str], &str, f64); 7] = [
        (&["pii/email"], "EMAIL_ADDRESS", 0.99),
        (&["pii/iban"], "IBAN_CODE", 0.99),
        (&["pii/payment-card", "pii/payment-card-named"], "CREDIT_CARD", 0.98),
        // One row is a number without a word beside it and without groups.
        (&["pii/us-ssn", "pii/us-ssn-named"], "US_SSN", 0.97),
        (&["pii/ip-address"], "IP_ADDRESS", 0.98),
        (&["pii/phone"], "PHONE", 0.97),
        (&["pii/mac-address"], "MAC_ADDRESS", 0.99),
    ];
    for (detectors, entity, floor) in floors {
        let engine = Engine::new(detectors).unwrap();
        let rows =
            sources.iter().flat_map(|(_, rows)| rows).filter(|row| row.kind == "pii" && row.label == 1);
        let (mut spans, mut masked) = (0u32, 0u32);
        for row in rows {
            let findings = engine.scan(&Input::new(&row.text));
            let text = |span: &&Span| row.text.get(span.start..span.end).unwrap_or_default();
            let asked = |span: &&Span| {
                span.kind.starts_with(entity) && (entity != "IP_ADDRESS" || is_public(text(span)))
            };
            for span in row.spans.iter().filter(asked) {
                spans += 1;
                masked += u32::from(is_masked(span, &findings));
            }
        }
        let share = f64::from(masked) / f64::from(spans.max(1));
        println!("{entity:18} {masked}/{spans} = {share:.3}");
        assert!(share >= floor, "{detectors:?}: {share:.3} of {entity} found, at least {floor} expected");
    }
}

/// Returns true if and only if a text is the public address of a host: private ones have a detector
/// of their own, and loopback, documentation, multicast and networks as a whole are no findings.
fn is_public(text: &str) -> bool {
    match text.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
        Ok(IpAddr::V4(ip)) => {
            let none = ip.is_loopback() || ip.is_unspecified() || ip.is_broadcast() || ip.is_documentation();
            !(none || ip.is_private() || ip.is_link_local() || ip.is_multicast())
        }
        Ok(IpAddr::V6(ip)) => {
            let [first, second, ..] = ip.segments();
            let given_out = first & 0xe000 == 0x2000 || !text.contains("::");
            given_out && (first, second) != (0x2001, 0x0db8)
        }
        Err(_) => false,
    }
}

#[test]
fn personal_data_raises_few_alarms_where_there_is_none() {
    let Some(sources) = sources() else { return };
    let engine = Engine::new(&["pii"]).unwrap();
    let none = sources.iter().flat_map(|(_, rows)| rows).filter(|row| row.kind == "pii" && row.label == 0);
    let rows: Vec<_> = none.collect();
    let alarms = rows.iter().filter(|row| !engine.scan(&Input::new(&row.text)).is_empty()).count();
    println!("{alarms} alarms of {} rows", rows.len());
    // Most are another kind of personal data than the row is about.
    assert!(alarms <= 12, "{alarms} alarms");
}

#[test]
fn views_raise_no_alarm_on_benign_rows_that_their_texts_do_not() {
    let Some(sources) = sources() else { return };
    let engine = Engine::new(&["secrets", "pii/payment-card", "pii/iban"]).unwrap();
    let (mut rows, mut plain, mut more) = (0, 0, Vec::new());
    for (name, source) in &sources {
        let benign = source.iter().filter(|row| row.label == 0 && !row.contested);
        for row in benign.filter(|row| row.neg_class.as_deref() != Some("near-miss")) {
            rows += 1;
            let live = |text: &str| {
                let found = engine.scan(&Input::new(text)).into_iter();
                found.filter(|finding| !finding.published).collect::<Vec<_>>()
            };
            if !live(&row.text).is_empty() {
                plain += 1;
                continue;
            }
            let alarms = |view: &View| {
                let found = live(view.text());
                found.first().map(|finding| format!("{name}: {} in {}", finding.detector, view.phrase()))
            };
            more.extend(views(&row.text).iter().find_map(alarms));
        }
    }
    println!("{rows} benign rows: {plain} alarms in texts, {} more in views", more.len());
    assert!(more.len() <= MOST_IN_VIEWS, "{}", more.join("\n"));
}

/// A row whose base64 spells a password under its name.
const MOST_IN_VIEWS: usize = 1;
