//! Commands that need no request: the program's own documentation.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::print::Printer;

pub(crate) fn completions(shell: Shell, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "leafgate", &mut script);
    printer.bytes(&script)?;
    printer.flush()?;
    Ok(Exit::Done)
}

/// Writes the schema of the admin API.
pub(crate) fn admin_schema(printer: &mut Printer) -> anyhow::Result<Exit> {
    printer.json(&leafgate_admin::schema::schema())?;
    printer.flush()?;
    Ok(Exit::Done)
}

/// Writes one page for the program and all its subcommands.
pub(crate) fn man(printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let main = clap_mangen::Man::new(command.clone());
    main.render(&mut page)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        let man = clap_mangen::Man::new(subcommand.clone());
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    printer.bytes(&page)?;
    printer.flush()?;
    Ok(Exit::Done)
}
