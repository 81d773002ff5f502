//! `scan`: where files hold secrets and personal data. For people, as JSON and as SARIF.
//!
//! No form of the output holds any of what was found.

mod files;
mod places;
mod sarif;
mod windows;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use leafgate_detect::{
    Confidence, DetectorInfo, Engine, Finding, Input, KnownValues, UnknownDetector, pack_of,
};
use serde::Serialize;

use crate::known;
use crate::print::{Exit, Printer, Row, Style, counted};
use files::ScanText;
use places::{ScanPlace, places};
use windows::{ScanWindow, ScanWindows};

/// What the built-in policy looks for. A test compares.
const DEFAULT: [&str; 3] = ["secrets", "pii/payment-card", "pii/iban"];

#[derive(Args)]
pub(crate) struct ScanArgs {
    /// The packs and detectors to look with, as `detectors list` names them; all of `secrets`,
    /// `pii/payment-card` and `pii/iban` without it, as the built-in policy does
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    detect: Vec<String>,
    /// Write SARIF 2.1.0, for code hosts and editors
    #[arg(long, conflicts_with = "json")]
    sarif: bool,
    /// Files, and folders with all that is in them but `.git` and binary files; `-` reads standard
    /// input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn run(args: &ScanArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let known = known::of_user()?;
    let scanner = match args.detect.is_empty() {
        true => FileScanner::new(&DEFAULT, known.as_ref()),
        false => FileScanner::new(&args.detect, known.as_ref()),
    }?;
    let mut scanned = Scanned::default();
    for (name, text) in files::texts(&args.files) {
        if let Err(error) = text.and_then(|text| scanned.add(&name, text, &scanner)) {
            scanned.unread.push(format!("cannot read {name}: {error}"));
        }
    }
    match args.sarif {
        true => printer.json(&sarif::log(&scanned, scanner.detectors()))?,
        false => drop(printer.show(&scanned, Scanned::print)?),
    }
    scanned.print_notes(printer);
    Ok(scanned.exit())
}

/// Engines, one for each pack: what one pack says of a text takes nothing from what another says.
struct FileScanner(Vec<Engine>);

impl FileScanner {
    fn new<S: AsRef<str>>(names: &[S], known: Option<&Arc<KnownValues>>) -> Result<Self, UnknownDetector> {
        let mut by_pack: Vec<(&str, Vec<&str>)> = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            let pack = name.split('/').next().unwrap_or(name);
            match by_pack.iter_mut().find(|(known, _)| *known == pack) {
                Some((_, of_pack)) => of_pack.push(name),
                None => by_pack.push((pack, vec![name])),
            }
        }
        let engines = by_pack.iter().map(|(_, names)| Engine::with_known(names, known));
        Ok(Self(engines.collect::<Result<_, _>>()?))
    }

    fn scan(&self, text: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        self.0.iter().for_each(|engine| engine.scan_into(&Input::new(text), &mut findings));
        findings.sort_by_key(|finding| (finding.range.start, finding.range.end));
        findings
    }

    fn detectors(&self) -> Vec<&DetectorInfo> {
        self.0.iter().flat_map(Engine::detectors).collect()
    }
}

/// What was found in all files: the output of `--json`.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Scanned {
    findings: Vec<ScanFinding>,
    /// Texts that were looked at.
    files: usize,
    /// Files of folders that hold no text.
    binary: usize,
    /// What could not be read, and why.
    unread: Vec<String>,
}

/// A finding in a file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScanFinding {
    file: String,
    #[serde(flatten)]
    place: ScanPlace,
    /// Offsets in bytes.
    start: usize,
    end: usize,
    detector: String,
    pack: &'static str,
    label: String,
    confidence: Confidence,
    published: bool,
}

impl Scanned {
    fn add(&mut self, name: &str, text: ScanText, scanner: &FileScanner) -> io::Result<()> {
        let Some(text) = text else {
            self.binary += 1;
            return Ok(());
        };
        self.files += 1;
        let mut windows = ScanWindows::new(text);
        while let Some(window) = windows.next()? {
            self.add_window(name, &window, scanner);
        }
        Ok(())
    }

    fn add_window(&mut self, name: &str, window: &ScanWindow, scanner: &FileScanner) {
        let mut findings = scanner.scan(&window.text);
        findings.retain(|finding| window.counts.contains(&finding.range.start));
        let ranges = findings.iter().map(|finding| finding.range.clone());
        let places = places(&window.text, window.begins, ranges);
        let found = findings.iter().zip(places).map(|(finding, place)| ScanFinding {
            file: name.to_owned(),
            place,
            start: finding.range.start + window.at,
            end: finding.range.end + window.at,
            detector: finding.detector.to_string(),
            pack: pack_of(&finding.detector, finding.confidence),
            label: finding.label.to_string(),
            confidence: finding.confidence,
            published: finding.published,
        });
        self.findings.extend(found);
    }

    fn print(&self, printer: &mut Printer) -> std::io::Result<()> {
        for found in &self.findings {
            let place = &found.place;
            let published = if found.published { ", a published example" } else { "" };
            let what = format!(": {} {} ({}{published})", found.label, found.detector, found.confidence);
            let place = format!("{}:{}:{}", found.file, place.line, place.column);
            printer.rows(&[Row::of(&place, Style::Edited).and(&what, Style::Plain)])?;
        }
        Ok(())
    }

    fn print_notes(&self, printer: &mut Printer) {
        self.unread.iter().for_each(|why| printer.error_line(&format!("leafgate: {why}")));
        if self.binary > 0 {
            let files = counted(self.binary, "binary file");
            let were = if self.binary == 1 { "was" } else { "were" };
            printer.error_line(&format!("leafgate: {files} {were} left out"));
        }
    }

    /// What could not be read may hold anything. Published examples open nothing.
    fn exit(&self) -> Exit {
        if !self.unread.is_empty() {
            Exit::Bad
        } else if self.findings.iter().any(|found| !found.published) {
            Exit::Unmet
        } else {
            Exit::Done
        }
    }
}
