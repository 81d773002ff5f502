//! `detectors`: which built-in detectors there are, and what each looks for; those of other scanners as a policy's own.

mod go_regex;
mod import;

use leafgate_detect::{DetectorInfo, Engine, Explanation};
use serde::Serialize;

use crate::args::{DetectorsCommand, ExplainDetectorArgs, JsonArgs};
use crate::exit::Exit;
use crate::print::{Printer, Style};

pub(crate) fn run(command: &DetectorsCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        DetectorsCommand::List(args) => list(args, printer)?,
        DetectorsCommand::Explain(args) => explain(args, printer)?,
        DetectorsCommand::Import { file } => return import::run(file, printer),
    }
    printer.flush()?;
    Ok(Exit::Done)
}

/// One detector in the output of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownDetector<'a> {
    id: String,
    pack: &'static str,
    label: String,
    confidence: &'static str,
    has_prefix: bool,
    examples: usize,
    description: &'a str,
}

impl<'a> ShownDetector<'a> {
    fn new(info: &'a DetectorInfo) -> Self {
        ShownDetector {
            id: info.id.to_string(),
            pack: info.pack(),
            label: info.label.to_string(),
            confidence: info.confidence.as_str(),
            has_prefix: info.has_prefix,
            examples: info.examples,
            description: &info.description,
        }
    }
}

fn list(args: &JsonArgs, printer: &mut Printer) -> anyhow::Result<()> {
    let shown: Vec<_> = leafgate_detect::all_detectors().iter().map(ShownDetector::new).collect();
    if args.json {
        printer.json(&shown)?;
        return Ok(());
    }
    let widest = |column: fn(&ShownDetector<'_>) -> usize| shown.iter().map(column).max().unwrap_or(0);
    let (id, label) = (widest(|row| row.id.len()), widest(|row| row.label.len()));
    for row in &shown {
        printer.line(&format!(
            "{:id$}  {:label$}  {:6}  {}",
            row.id, row.label, row.confidence, row.description
        ))?;
    }
    Ok(())
}

/// The output of `explain --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownExplanation<'a> {
    #[serde(flatten)]
    detector: ShownDetector<'a>,
    candidates: &'static str,
    keywords: &'a [String],
    pattern: &'a str,
    names: &'a [String],
    names_after: &'a [String],
    names_not_after: &'a [String],
    bounds: &'static str,
    checks: &'a [String],
    found_in: &'a [String],
    not_found_in: &'a [String],
}

fn explain(args: &ExplainDetectorArgs, printer: &mut Printer) -> anyhow::Result<()> {
    let Some(explained) = leafgate_detect::explain(&args.id) else {
        // A pack is a selector too, but it is many detectors.
        Engine::new(&[&args.id])?;
        anyhow::bail!("{:?} is a pack; `leafgate detectors list` shows its detectors", args.id);
    };
    match args.json.json {
        true => printer.json(&ShownExplanation::new(&explained))?,
        false => print(&explained, printer)?,
    }
    Ok(())
}

impl<'a> ShownExplanation<'a> {
    fn new(explained: &'a Explanation) -> Self {
        ShownExplanation {
            detector: ShownDetector::new(&explained.info),
            candidates: explained.candidates,
            keywords: &explained.keywords,
            pattern: &explained.pattern,
            names: &explained.names,
            names_after: &explained.names_after,
            names_not_after: &explained.names_not_after,
            bounds: explained.bounds,
            checks: &explained.checks,
            found_in: &explained.examples,
            not_found_in: &explained.counterexamples,
        }
    }
}

fn print(explained: &Explanation, printer: &mut Printer) -> anyhow::Result<()> {
    let info = &explained.info;
    printer.text(Style::Heading, &format!("{}\n", info.id))?;
    printer.line(&info.description)?;
    let rows = [
        ("label", info.label.to_string()),
        ("pack", format!("{}, confidence {}", info.pack(), info.confidence)),
        ("looks at", explained.candidates.to_owned()),
        ("keywords", explained.keywords.join(", ")),
        ("names", explained.names.join(", ")),
        ("after", explained.names_after.join(", ")),
        ("not after", explained.names_not_after.join(", ")),
        ("pattern", explained.pattern.clone()),
        ("beside it", explained.bounds.to_owned()),
        ("checks", explained.checks.join(", ")),
    ];
    for (name, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
        printer.line(&format!("{name:<10}{text}"))?;
    }
    for (name, texts) in [("found", &explained.examples), ("not found", &explained.counterexamples)] {
        for text in texts {
            printer.line(&format!("{name:<10}{}", text.replace('\n', "\n          ")))?;
        }
    }
    Ok(())
}
