//! The manual of all commands: what `--help` says of each.

use anyhow::Result;

use super::written;

/// Writes the chapter.
pub(crate) fn chapter() -> Result<String> {
    let mut chapter = String::from(
        "# Commands\n\nWhat `leafgate COMMAND --help` says, which `leafgate man` writes as a manual page.\n",
    );
    command(&mut Vec::new(), &mut chapter)?;
    Ok(chapter)
}

/// Writes a command and all below it.
fn command(words: &mut Vec<String>, chapter: &mut String) -> Result<()> {
    let arguments: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
    let help = written(&arguments)?;
    let level = "#".repeat((words.len() + 2).min(4));
    let name = [&["leafgate".to_owned()], words.as_slice()].concat().join(" ");
    chapter.push_str(&format!("\n{level} `{name}`\n\n```text\n{}\n```\n", help.trim_end()));
    for below in below(&help) {
        words.push(below);
        command(words, chapter)?;
        words.pop();
    }
    Ok(())
}

/// The commands that a help lists: what is indented by two blanks below `Usage:` and is no option. `help` says of itself all that there is.
fn below(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Usage:")).skip(1);
    let listed = lines.take_while(|line| !line.starts_with("Options:") && !line.starts_with("Arguments:"));
    // A line that goes on with what one says is indented further.
    let entries = listed.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names = entries.filter_map(|line| line.split_whitespace().next());
    let is_name = |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    names.filter(is_name).filter(|name| *name != "help").map(str::to_owned).collect()
}
