//! What the commands of the line mode are, and what is wrong with a line that is none.

/// The help page of the line mode.
pub(super) const HELP: &str = include_str!("help.txt");

/// Says why a line with this first word is no command: how one with it is typed.
pub(super) fn usage(word: &str) -> String {
    let is_of = |line: &&str| {
        let (names, _) = line.split_once("  ").unwrap_or_default();
        names.split(", ").any(|name| name.split(' ').next() == Some(word))
    };
    let first = HELP.lines().skip_while(|line| !is_of(line));
    let lines = first.take_while(|line| line.starts_with(' ') || is_of(line));
    let lines = lines.map(|line| match line.split_once("  ") {
        Some((form, what)) if !form.is_empty() => format!(" `{form}`: {}", what.trim()),
        _ => format!(" {}", line.trim()),
    });
    match lines.collect::<String>() {
        none if none.is_empty() => format!("no command `{word}`: `help` lists them"),
        forms => format!("`{word}` is typed otherwise.{forms}"),
    }
}
