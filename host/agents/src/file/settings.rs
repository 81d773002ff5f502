//! What a file says beside its team: `leafgate`.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::value::RawValue;

use super::members::TeamText;
use super::{Notes, shown};
use crate::team::{SystemAs, TeamSettings};

const KNOWN: [&str; 6] =
    ["defaultModel", "maxDepth", "maxIterations", "delegationTimeoutMs", "systemAs", "progress"];

const DEPTH: RangeInclusive<u64> = 1..=20;
const ITERATIONS: RangeInclusive<u64> = 1..=1_000;
const TIMEOUT_MS: RangeInclusive<u64> = 1_000..=3_600_000;

/// Reads the settings, or notes all that is wrong with them.
pub(super) fn read<'t>(text: &TeamText<'t>, value: &'t RawValue, notes: &mut Notes) -> TeamSettings {
    let mut settings = TeamSettings::default();
    let Some(members) = text.members(value) else {
        notes.wrong(text.line(value), "/leafgate", "an object is expected");
        return settings;
    };
    // Templates are read by themselves.
    for key in members.unknown(&KNOWN).filter(|key| *key != "templates") {
        let what = format!("`{}` is no setting: there are {}, templates", shown(key), KNOWN.join(", "));
        notes.wrong(text.line(value), "/leafgate", what);
    }
    for key in KNOWN {
        let Some(member) = members.get(key).filter(|member| member.get() != "null") else { continue };
        if let Err(expected) = set(text, key, member, &mut settings) {
            notes.wrong(text.line(member), format!("/leafgate/{key}"), expected);
        }
    }
    settings
}

fn set(text: &TeamText<'_>, key: &str, value: &RawValue, settings: &mut TeamSettings) -> Result<(), String> {
    let number = |range: RangeInclusive<u64>| {
        let within = text.number(value).filter(|number| range.contains(number));
        within.ok_or_else(|| format!("a whole number from {} to {} is expected", range.start(), range.end()))
    };
    match key {
        "defaultModel" => {
            let model = text.string(value).filter(|model| !model.is_empty());
            settings.default_model = Some(model.ok_or("the name of a model is expected")?);
        }
        "maxDepth" => settings.max_depth = number(DEPTH)? as u32,
        "maxIterations" => settings.max_iterations = number(ITERATIONS)? as u32,
        "delegationTimeoutMs" => settings.delegation_timeout = Duration::from_millis(number(TIMEOUT_MS)?),
        "systemAs" => {
            settings.system_as = match text.string(value).as_deref() {
                Some("system") => SystemAs::System,
                Some("user") => SystemAs::User,
                _ => return Err("\"system\" or \"user\" is expected".to_owned()),
            };
        }
        _ => settings.progress = text.boolean(value).ok_or("true or false is expected")?,
    }
    Ok(())
}
