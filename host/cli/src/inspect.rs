//! Commands that need no request: the program's own documentation.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, ensure};
use clap_complete::Shell;

use crate::args;
use crate::options::SchemaCommand;
use crate::print::{Exit, Printer};

pub(crate) fn completions(shell: Shell, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "leafgate", &mut script);
    printer.bytes(&script)?;
    Ok(Exit::Done)
}

/// Writes the schema of what other programs read.
pub(crate) fn schema(of: SchemaCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    printer.json(&match of {
        SchemaCommand::Admin { openapi: false } => leafgate_admin::schema::schema(),
        SchemaCommand::Admin { openapi: true } => leafgate_admin::schema::openapi(),
        SchemaCommand::Config => leafgate_config::schema::schema(),
        SchemaCommand::Rules => leafgate_policy::rules_schema(),
    })?;
    Ok(Exit::Done)
}

/// Writes the reference of rule files.
pub(crate) fn rules(rest: &[OsString], printer: &mut Printer) -> anyhow::Result<Exit> {
    ensure!(
        rest.is_empty(),
        "there is nothing below `leafgate help rules`, which has all keys of rule files"
    );
    printer.line(leafgate_policy::REFERENCE.trim_end())?;
    Ok(Exit::Done)
}

/// Writes one page for the program and all its commands, or a page for each into a folder.
pub(crate) fn man(folder: Option<&Path>, printer: &mut Printer) -> anyhow::Result<Exit> {
    let program = args::command();
    let Some(folder) = folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(built(&program)).render(&mut page)?;
        write_subcommands(&built(&program), &mut page)?;
        printer.bytes(&page)?;
        return Ok(Exit::Done);
    };
    let cannot = || format!("cannot write manual pages into {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    clap_mangen::generate_to(program.disable_help_subcommand(true), folder).with_context(cannot)?;
    Ok(Exit::Done)
}

fn built(program: &clap::Command) -> clap::Command {
    let mut program = program.clone();
    program.build();
    program
}

fn write_subcommands(command: &clap::Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    for subcommand in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        let man = clap_mangen::Man::new(subcommand.clone());
        man.render_synopsis_section(page)?;
        man.render_description_section(page)?;
        man.render_options_section(page)?;
        write_subcommands(subcommand, page)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(command: &clap::Command, above: &str) -> Vec<String> {
        let name = format!("{above}{}", command.get_name());
        let below = command.get_subcommands().filter(|below| !below.is_hide_set());
        let below = below.flat_map(|below| pages(below, &format!("{name}-")));
        below.chain([format!("{name}.1")]).collect()
    }

    #[test]
    fn every_command_has_a_manual_page() {
        let folder = tempfile::tempdir().unwrap();
        man(Some(folder.path()), &mut Printer::for_terminal()).unwrap();
        let written = std::fs::read_dir(folder.path()).unwrap();
        let mut written: Vec<_> =
            written.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let mut pages = pages(&args::command(), "");
        written.sort();
        pages.sort();
        assert!(pages.len() > 80 && written == pages, "{written:?}\n{pages:?}");
    }
}
