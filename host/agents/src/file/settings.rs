//! What a file says beside its team: `leafgate`.

use std::ops::RangeInclusive;
use std::time::Duration;

use jsonc_parser::ast::Value;

use super::members::{FileMembers, string};
use super::{Notes, shown};
use crate::team::{SystemAs, TeamSettings};

const KNOWN: [&str; 6] =
    ["defaultModel", "maxDepth", "maxIterations", "delegationTimeoutMs", "systemAs", "progress"];

const DEPTH: RangeInclusive<u64> = 1..=20;
const ITERATIONS: RangeInclusive<u64> = 1..=1_000;
const TIMEOUT_MS: RangeInclusive<u64> = 1_000..=3_600_000;

/// Reads the settings, or notes all that is wrong with them.
pub(super) fn read(value: &Value<'_>, notes: &mut Notes) -> TeamSettings {
    let mut settings = TeamSettings::default();
    let Some(members) = FileMembers::of(value) else {
        notes.wrong::<()>(value, "/leafgate", "an object is expected");
        return settings;
    };
    // Templates are read by themselves.
    for key in members.unknown(&KNOWN).filter(|key| *key != "templates") {
        let what = format!("`{}` is no setting: there are {}, templates", shown(key), KNOWN.join(", "));
        notes.wrong::<()>(value, "/leafgate", what);
    }
    for key in KNOWN {
        let member = members.get(key).filter(|member| member.as_null_keyword().is_none());
        if let Some(member) = member
            && let Err(expected) = set(key, member, &mut settings)
        {
            notes.wrong::<()>(member, format!("/leafgate/{key}"), expected);
        }
    }
    settings
}

fn set(key: &str, value: &Value<'_>, settings: &mut TeamSettings) -> Result<(), String> {
    let number = |range: RangeInclusive<u64>| {
        let number = value.as_number_lit().and_then(|number| number.value.parse().ok());
        let within = number.filter(|number| range.contains(number));
        within.ok_or_else(|| format!("a whole number from {} to {} is expected", range.start(), range.end()))
    };
    match key {
        "defaultModel" => {
            let model = string(value).filter(|model| !model.is_empty());
            settings.default_model = Some(model.ok_or("the name of a model is expected")?.to_owned());
        }
        "maxDepth" => settings.max_depth = number(DEPTH)? as u32,
        "maxIterations" => settings.max_iterations = number(ITERATIONS)? as u32,
        "delegationTimeoutMs" => settings.delegation_timeout = Duration::from_millis(number(TIMEOUT_MS)?),
        "systemAs" => {
            let system_as = string(value).and_then(SystemAs::from_name);
            settings.system_as = system_as.ok_or("\"system\" or \"user\" is expected")?;
        }
        _ => settings.progress = value.as_boolean_lit().ok_or("true or false is expected")?.value,
    }
    Ok(())
}
