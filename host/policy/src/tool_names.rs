//! How rules name tools, and how case counts.
//!
//! Clients lower names, models write them in other cases, and each client calls its shell by another
//! name. So what restricts takes a name in any case, and the word `shell` stands for every tool that
//! runs commands ([`tools::shells`]). What allows takes a name exactly as it stands.

use leafgate_glob::Glob;
use leafgate_vault::tools;

/// The word for all tools that run commands.
pub(crate) const SHELL: &str = "shell";

/// Items of Responses that are calls of a shell and have no name but their type.
const SHELL_CALLS: [&str; 2] = ["local_shell_call", "shell_call"];

/// What one pattern of a rule means for a tool.
pub(crate) fn names(pattern: &Glob, tool: &str) -> bool {
    pattern.matches_any_case(tool)
        || is_shell_word(pattern) && shells().any(|name| name.eq_ignore_ascii_case(tool))
}

/// What one pattern means for a tool that it lets pass: the name as it stands, or one of all shells.
pub(crate) fn names_exactly(pattern: &Glob, tool: &str) -> bool {
    pattern.matches(tool) || is_shell_word(pattern) && names(pattern, tool)
}

/// Whether a pattern is the word for all shells.
pub(crate) fn is_shell_word(pattern: &Glob) -> bool {
    pattern.name().is_some_and(|name| name.eq_ignore_ascii_case(SHELL))
}

/// The names that the word stands for.
pub(crate) fn shells() -> impl Iterator<Item = &'static str> {
    tools::shells().chain(SHELL_CALLS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_in_any_case_and_one_word_stands_for_all_shells() {
        let fits = |pattern: &str, tool: &str| names(&Glob::new(pattern), tool);
        assert!(fits("bash", "Bash") && fits("*delete*", "FileDelete") && fits("Read", "read"));
        for shell in ["Bash", "shell", "container.exec", "local_shell_call", "run_in_terminal", "PowerShell"]
        {
            assert!(fits("shell", shell) && fits("Shell", shell), "{shell}");
        }
        assert!(!fits("shell", "Read") && !fits("bash", "shell") && !fits("shell*", "Bash"));
        assert!(!fits("bash", "bash ") && !fits("bash", "functions.bash"));
    }
}
