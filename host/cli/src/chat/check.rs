//! `chat check`: the versions of VS Code that would import an export, and the parts that they would
//! show.

use std::path::Path;

use leafgate_chat::{ImportCheck, check};
use leafgate_tree::Format;

use crate::print::{Exit, Printer, Row, Style};
use crate::{masking, request};

pub(super) fn run(file: Option<&Path>, printer: &mut Printer) -> anyhow::Result<Exit> {
    let document = request::read_as(file, Format::VscodeChat)?;
    let mut check = check(&document);
    for useless in &mut check.useless {
        useless.pointer = masking::masked(&useless.pointer);
    }
    printer.show(&check, print)?;
    Ok(if check.importable { Exit::Done } else { Exit::Unmet })
}

fn print(check: &ImportCheck, printer: &mut Printer) -> anyhow::Result<()> {
    for import in &check.imports {
        let (style, word) =
            if import.refused.is_none() { (Style::Added, "import") } else { (Style::Error, "refuse") };
        let why = import.refused.map_or_else(String::new, |why| format!(": {why}"));
        let what = format!("  {}{why}", import.test.description());
        printer.rows(&[Row::of(word, style).and(&what, Style::Plain)])?;
    }
    for useless in &check.useless {
        let place = if useless.pointer.is_empty() { "the file" } else { &useless.pointer };
        let what = format!("  {place}: {}", useless.reason);
        printer.rows(&[Row::of("useless", Style::Edited).and(&what, Style::Plain)])?;
    }
    Ok(())
}
