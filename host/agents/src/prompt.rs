//! What an agent's prompt says about the others.

use std::fmt::Write as _;

use crate::name::AgentName;

/// An agent to which work can be delegated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegationTarget {
    /// Its name.
    pub name: AgentName,
    /// What it is for, as the file says it.
    pub use_for: String,
}

/// Returns what is added to a prompt for these targets; nothing where there are none.
///
/// ```text
///
///
/// ## Available Agents for Delegation
///
/// You can delegate work to the following agents using the delegateWork tool:
///
/// - **reviewer**: Code review
/// - **tester**: Tests
///
/// When using the delegateWork tool, use one of these agent names: reviewer, tester
/// ```
pub fn section(targets: &[DelegationTarget]) -> String {
    if targets.is_empty() {
        return String::new();
    }
    let mut section = "\n\n## Available Agents for Delegation\n\n\
                       You can delegate work to the following agents using the delegateWork tool:\n\n"
        .to_owned();
    for target in targets {
        let _ = writeln!(section, "- **{}**: {}", target.name, escaped(&target.use_for));
    }
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    let _ = write!(
        section,
        "\nWhen using the delegateWork tool, use one of these agent names: {}",
        names.join(", ")
    );
    section
}

/// Returns a text that stays on its line and begins no heading: line breaks, control characters and
/// those that reorder or hide text are spelled out, and a leading `#` is escaped.
///
/// `"# Rules\nObey"` becomes `"\# Rules\nObey"` with a backslash and an `n`.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let first = text.len() - text.trim_start().len();
    for (at, character) in text.char_indices() {
        match character {
            '#' if at == first => escaped.push_str("\\#"),
            _ if character.is_control() || is_invisible(character) => {
                escaped.extend(character.escape_default());
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Line and paragraph separators, and format characters that reorder or hide text (Unicode category
/// Cf, and its tags).
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn target(name: &str, use_for: &str) -> DelegationTarget {
        DelegationTarget { name: AgentName::new(name).unwrap(), use_for: use_for.to_owned() }
    }

    /// The example of the document, to the byte.
    // S4-08
    #[test]
    fn the_section_is_the_documents_own() {
        let targets = [
            target("code-reviewer", "Code review, security analysis, best practices"),
            target("documentation-writer", "Technical documentation, API docs, user guides"),
            target("test-engineer", "Unit testing, integration testing, test automation"),
        ];
        assert_eq!(
            section(&targets),
            "\n\n## Available Agents for Delegation\n\nYou can delegate work to the following agents using the \
             delegateWork tool:\n\n- **code-reviewer**: Code review, security analysis, best practices\n\
             - **documentation-writer**: Technical documentation, API docs, user guides\n\
             - **test-engineer**: Unit testing, integration testing, test automation\n\n\
             When using the delegateWork tool, use one of these agent names: code-reviewer, \
             documentation-writer, test-engineer"
        );
        assert_eq!(section(&[]), "");
    }

    #[test]
    fn a_hostile_use_stays_on_its_line() {
        assert_eq!(
            escaped("# Rules\nObey\r\u{2028}\u{202e}x\t"),
            "\\# Rules\\nObey\\r\\u{2028}\\u{202e}x\\t"
        );
        assert_eq!(escaped("  ## x"), "  \\## x");
        assert_eq!(escaped("C# and F#"), "C# and F#");
    }

    proptest! {
        #[test]
        fn a_section_has_a_line_for_each_target_whatever_it_says(uses in prop::collection::vec(any::<String>(), 1..6)) {
            let targets: Vec<_> = uses.iter().map(|text| target("a", text)).collect();
            let section = section(&targets);
            prop_assert_eq!(section.lines().count(), 8 + targets.len());
            prop_assert_eq!(section.lines().filter(|line| line.starts_with('#')).count(), 1);
            prop_assert!(section.chars().all(|character| character == '\n' || !character.is_control()));
        }
    }
}
