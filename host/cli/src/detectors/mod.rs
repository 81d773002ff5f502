//! `detectors`: which built-in detectors there are, and what each looks for; those of other scanners as a policy's own.

mod go_regex;
mod import;

use anyhow::bail;
use leafgate_detect::{DetectorExplanation, DetectorInfo, Engine, all_detectors};

use crate::options::DetectorsCommand;
use crate::print::{Exit, Printer, Style};

pub(crate) fn run(command: &DetectorsCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        DetectorsCommand::List => printer.show(all_detectors(), |all, printer| {
            let row = |info: &DetectorInfo| {
                let words =
                    [info.id.as_str(), info.label.as_str(), info.confidence.as_str(), &info.description];
                words.map(Into::into)
            };
            printer.table(["detector", "label", "confidence", "what it finds"], all.iter().map(row))
        }),
        DetectorsCommand::Explain { id } => {
            let Some(explained) = leafgate_detect::explain(id) else {
                // A pack is a selector too, but it is many detectors.
                Engine::new(&[id])?;
                bail!("{id:?} is a pack; `leafgate detectors list` shows its detectors");
            };
            printer.show(&explained, print)
        }
        DetectorsCommand::Import { file } => import::run(file, printer),
    }
}

fn print(explained: &DetectorExplanation, printer: &mut Printer) -> std::io::Result<()> {
    let info = &explained.info;
    printer.text(Style::Strong, &format!("{}\n", info.id))?;
    printer.line(&info.description)?;
    let mut facts = vec![
        ("label", info.label.to_string()),
        ("pack", format!("{}, confidence {}", info.pack, info.confidence)),
        ("looks at", explained.candidates.to_owned()),
        ("keywords", explained.keywords.join(", ")),
        ("names", explained.names.join(", ")),
        ("after", explained.names_after.join(", ")),
        ("not after", explained.names_not_after.join(", ")),
        ("pattern", explained.pattern.clone()),
        ("beside it", explained.bounds.to_owned()),
        ("checks", explained.checks.join(", ")),
    ];
    facts.extend(explained.examples.iter().map(|text| ("found", text.clone())));
    facts.extend(explained.counterexamples.iter().map(|text| ("not found", text.clone())));
    facts.retain(|(_, text)| !text.is_empty());
    printer.facts(&facts)
}
