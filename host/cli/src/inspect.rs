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

/// Writes the help of the program or of a subcommand, or the reference of rule files.
pub(crate) fn help(words: &[String], printer: &mut Printer) -> anyhow::Result<Exit> {
    if words.first().is_some_and(|word| word == "rules") {
        ensure!(
            words.len() == 1,
            "there is nothing below `leafgate help rules`, which has all keys of rule files"
        );
        printer.line(leafgate_policy::REFERENCE.trim_end())?;
    } else {
        let mut command = args::command();
        command.build();
        let mut asked = &mut command;
        for word in words {
            let unknown = || format!("there is no subcommand `{word}`: `leafgate help` lists them");
            asked = asked.find_subcommand_mut(word).with_context(unknown)?;
        }
        printer.line(asked.render_long_help().to_string().trim_end())?;
    }
    Ok(Exit::Done)
}

/// Returns the words of `help` for a call like `plugin help check`, which asks what `help plugin check`
/// does. clap has no such command for groups where the program has a `help` of its own.
pub(crate) fn help_of_group(arguments: &[OsString]) -> Option<Vec<String>> {
    let program = args::command();
    let (mut asked, mut words) = (&program, Vec::new());
    for (place, argument) in arguments.iter().enumerate() {
        let word = argument.to_str()?;
        if word == "help" && asked.has_subcommands() && !words.is_empty() {
            let rest = arguments[place + 1..].iter().map(|word| word.to_str().map(str::to_owned));
            words.extend(rest.collect::<Option<Vec<String>>>()?);
            return Some(words);
        }
        asked = asked.find_subcommand(word)?;
        words.push(word.to_owned());
    }
    None
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
