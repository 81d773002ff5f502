//! Policies of tests: folders whose rules are alone, and rules of any number, to see how cost grows with it.

use std::io;
use std::path::Path;

/// The text that the one rule with something to do finds, in a policy of four rules or more.
pub const FOUND: &str = "CASE-0003-17";

/// Writes a rule file into a policy folder. Unless it says what it extends, no built-in rules act beneath its own.
///
/// # Errors
/// When the folder cannot be written.
pub fn write_alone(folder: &Path, rules: &str) -> io::Result<()> {
    std::fs::write(folder.join("rules.toml"), rules)?;
    if rules.contains("extends =") {
        return Ok(());
    }
    std::fs::write(folder.join("alone.toml"), "extends = 'none'\n")
}

/// Returns a rule file in which a tenth of the rules replaces by a regular expression, and of the
/// others a third blocks by tool, a third by what a text holds, and a third goes by path.
///
/// However many there are, they do the same to a request: [`FOUND`] is replaced, and none of the
/// others finds what it looks for.
pub fn many(count: usize) -> String {
    (0..count).map(|number| rule(number, "", "")).collect()
}

/// Returns a rule file such as [`many`], in which each rule also says for which requests it is. A tenth
/// of the rules redacts what a detector of the file's own finds, and for each of these stands an
/// exception. They do the same to a request too.
///
/// Half of the selectors fit a request of chat completions to `gpt-…` with the header `x-team: red`,
/// so that these rules look at its leaves.
pub fn varied(count: usize) -> String {
    (0..count).map(|number| if number % 10 == 7 { own_detector(number) } else { chosen(number) }).collect()
}

/// A rule of [`many`] that is for some requests alone.
fn chosen(number: usize) -> String {
    let selector = match number % 11 {
        0 => ", option = { stream = \"*\" }".to_owned(),
        1 => ", latest = true".to_owned(),
        2 => ", stream = true".to_owned(),
        3 => ", model = \"gpt-*\"".to_owned(),
        4 => ", header = { x-team = \"red*\" }".to_owned(),
        5 => ", endpoint = \"/v1/*\"".to_owned(),
        6 => format!(", project = \"*/project-{number}\""),
        7 => ", subagent = true".to_owned(),
        8 => format!(", upstream = \"upstream-{number}\""),
        9 => format!(", header = {{ x-job = \"job-{number}\" }}"),
        _ => format!(", option = {{ reasoning = \"effort-{number}\" }}"),
    };
    rule(number, &selector, " && request.tokens > 10 && request.messages < 100000 && request.tools < 100")
}

/// A detector, a rule that redacts what it finds, and an exception from that.
fn own_detector(number: usize) -> String {
    format!(
        "[[detector]]\nid = \"ticket-{number}\"\nregex = 'TICKET-{number:04}-[0-9]{{4,}}'\n\
         keywords = [\"TICKET-{number:04}-\"]\nexamples = [\"see TICKET-{number:04}-1234\"]\n\n\
         [[rule]]\nid = \"rule-{number}\"\nmatch = {{}}\ndetect = [\"own/ticket-{number}\"]\naction = \"redact\"\n\n\
         [[exception]]\nrule = \"rule-{number}\"\nvalue = \"TICKET-{number:04}-0000\"\n\
         reason = \"stands in the manual\"\nby = \"support\"\nuntil = \"never\"\n\n"
    )
}

/// A rule, with more in its `match`, and more in the condition of one that has any.
fn rule(number: usize, selector: &str, condition: &str) -> String {
    let rest = match (number % 10, number % 9) {
        (3, _) => format!(
            "match = {{ kind = [\"text\", \"tool-result\"]{selector} }}\naction = \"rewrite\"\n\
             replace = {{ pattern = 'CASE-{number:04}-[0-9]+', with = 'the case' }}"
        ),
        (_, 0 | 3 | 6) => format!("match = {{ tool = \"tool_{number}\"{selector} }}\naction = \"block\""),
        (_, 1 | 4 | 7) => format!(
            "match = {{{} }}\nwhen = 'leaf.text.contains(\"customer-{number:04}\"){condition}'\naction = \"block\"",
            selector.trim_start_matches(',')
        ),
        (_, 2) => format!("match = {{ path = \"metadata.field_{number}\"{selector} }}\naction = \"pause\""),
        (_, 5) => format!(
            "match = {{ path = \"messages[*].note_{number}\"{selector} }}\naction = \"rewrite\"\nset = \"\""
        ),
        _ => format!("match = {{ path = \"**.internal_{number}\"{selector} }}\naction = \"pin\""),
    };
    format!("[[rule]]\nid = \"rule-{number}\"\n{rest}\n\n")
}
