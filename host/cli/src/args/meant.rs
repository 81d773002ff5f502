//! Words that people try for commands, by what they mean.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What is tried, and the command that does it.
const MEANT: [(&[&str], &str); 17] = [
    (&["allow", "ignore", "whitelist", "allowlist", "exception", "unmask"], "except add"),
    (&["approve", "inbox", "prompt", "waiting", "queue"], "review"),
    (&["resume", "cancel", "edit"], "pending"),
    (&["history", "requests", "redactions", "list", "show", "audit", "tail", "search", "diff"], "log"),
    (&["pause", "hold", "intercept"], "mode"),
    (&["disable", "bypass", "skip"], "off"),
    (&["enable"], "on"),
    (&["serve", "gate", "proxy"], "run"),
    (&["launch", "wrap", "claude", "codex", "copilot", "gemini", "code"], "exec"),
    (&["init", "rules", "rule", "new"], "policy new"),
    (&["lint", "validate"], "check"),
    (&["install", "uninstall", "daemon", "autostart"], "service"),
    (&["settings", "set", "options"], "config show"),
    (&["version"], "--version"),
    (&["secrets", "add", "dotenv"], "known add"),
    (&["find", "grep"], "scan"),
    (&["export"], "log export"),
];

/// Adds to the error of a word that is no command the command that was meant.
pub(super) fn suggested(mut error: Error) -> Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    if let Some(command) = meant(word) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![command.to_owned()]));
    }
    error
}

fn meant(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let row = MEANT.iter().find(|(words, _)| words.contains(&word.as_str()));
    row.map(|(_, command)| *command)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::command;
    use super::*;

    #[test]
    fn a_word_leads_to_one_command_and_is_none_itself() {
        let program = command();
        let mut words = BTreeSet::new();
        for (tried, meant) in MEANT {
            let mut below = &program;
            for word in meant.split(' ').filter(|word| !word.starts_with('-')) {
                below = below.find_subcommand(word).expect(meant);
            }
            for word in tried {
                assert!(words.insert(*word) && program.find_subcommand(word).is_none(), "{word}");
            }
        }
        let told = |call: &[&str]| {
            let error = command().try_get_matches_from(call).map_err(suggested).unwrap_err();
            error.to_string()
        };
        assert!(told(&["leafgate", "Allow"]).contains("'except add'"), "{}", told(&["leafgate", "Allow"]));
        // clap knows words that are spelled alike.
        assert!(told(&["leafgate", "stauts"]).contains("'status'"));
    }
}
