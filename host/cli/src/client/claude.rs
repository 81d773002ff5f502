//! Claude Code: it sends to `ANTHROPIC_BASE_URL`, unless a cloud is chosen or a settings file says
//! otherwise.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

use super::text_variable;
use crate::home;

/// Variables that choose a cloud, whose addresses and signatures no gate can stand before.
const CLOUDS: [(&str, &str); 3] = [
    ("CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock"),
    ("CLAUDE_CODE_USE_VERTEX", "Vertex AI"),
    ("CLAUDE_CODE_USE_FOUNDRY", "Microsoft Foundry"),
];

/// The variable that a settings file may set too.
const BASE_URL: &str = "ANTHROPIC_BASE_URL";

/// Where the settings of an organisation lie.
const MANAGED: [&str; 2] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];

/// Refuses what would have Claude Code send past the gate.
pub(super) fn refuse_what_passes_by() -> anyhow::Result<()> {
    for (variable, cloud) in CLOUDS {
        if text_variable(variable).is_some_and(|value| is_on(&value)) {
            bail!(
                "{variable} has Claude Code ask {cloud}, past the gate: unset it, or start claude without `leafgate exec`"
            );
        }
    }
    settings_files().iter().try_for_each(|file| check(file))
}

/// Returns the settings files that Claude Code reads in this folder, whether they are there or not.
fn settings_files() -> Vec<PathBuf> {
    let own = home::variable("CLAUDE_CONFIG_DIR").or_else(|| Some(home::variable("HOME")?.join(".claude")));
    let own = own.map(|folder| folder.join("settings.json"));
    let project = [".claude/settings.json", ".claude/settings.local.json"].map(PathBuf::from);
    MANAGED.iter().map(PathBuf::from).chain(own).chain(project).collect()
}

/// Refuses a settings file whose variables win against those that a program is started with.
fn check(file: &Path) -> anyhow::Result<()> {
    let Ok(text) = std::fs::read(file) else { return Ok(()) };
    let shown = file.display();
    // The file may hold keys: the error names the line and quotes nothing.
    let settings: Value = serde_json::from_slice(&text)
        .map_err(|error| anyhow::anyhow!("line {}", error.line()))
        .with_context(|| format!("the settings of Claude Code in {shown} are no JSON"))?;
    let variables = &settings["env"];
    if !variables[BASE_URL].is_null() {
        bail!(
            "{shown} sets {BASE_URL}, which wins against the gate's: remove it there, and name the address with `leafgate exec --upstream URL`"
        );
    }
    let value = |name: &str| match &variables[name] {
        Value::String(text) => is_on(text),
        other => !other.is_null(),
    };
    match CLOUDS.into_iter().find(|(name, _)| value(name)) {
        Some((variable, cloud)) => {
            bail!("{shown} sets {variable}: Claude Code would ask {cloud}, past the gate")
        }
        None => Ok(()),
    }
}

fn is_on(value: &str) -> bool {
    !matches!(value.trim().to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(settings: &str) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        std::fs::write(&file, settings).unwrap();
        check(&file).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn settings_that_lead_past_the_gate_are_refused() {
        for (settings, words) in [
            (r#"{"env": {"ANTHROPIC_BASE_URL": "https://x.example"}}"#, "remove it there"),
            (r#"{"env": {"CLAUDE_CODE_USE_BEDROCK": "1"}}"#, "Amazon Bedrock"),
            (r#"{"env": {"CLAUDE_CODE_USE_VERTEX": true}}"#, "Vertex"),
            ("{\n\"env\": {\"ANTHROPIC_API_KEY\": quoted", "line 2"),
        ] {
            let error = checked(settings).unwrap_err();
            assert!(error.contains(words) && !error.contains("quoted"), "{error}");
        }
        for settings in ["{}", r#"{"env": {"CLAUDE_CODE_USE_BEDROCK": "0", "A": "1"}, "model": "opus"}"#] {
            assert_eq!(checked(settings), Ok(()), "{settings}");
        }
        assert!(check(Path::new("/nowhere/settings.json")).is_ok());
    }
}
