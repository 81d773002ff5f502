//! Limits by their names, which error messages cite.

use leafgate_config::{Settings, Value};
use leafgate_gate::{GateLimits, Limit};

/// Returns every limit with its key.
fn fields(limits: &mut GateLimits) -> impl Iterator<Item = (String, Limit<'_>)> {
    limits.each().into_iter().map(|(name, limit)| (format!("limits.{}", name.replace('_', "-")), limit))
}

/// Adds what is built in.
pub(super) fn add_defaults(settings: &mut Settings) {
    for (key, limit) in fields(&mut GateLimits::default()) {
        let value = match limit {
            Limit::Number(number) => Value::from(*number),
            Limit::Time(time) => Value::from(*time),
        };
        settings.default_to(&key, value);
    }
}

/// Sets what the settings say.
pub(super) fn apply(settings: &Settings, limits: &mut GateLimits) {
    for (key, limit) in fields(limits) {
        match limit {
            Limit::Number(number) => *number = settings.number(&key).unwrap_or(*number),
            Limit::Time(time) => *time = settings.time(&key).unwrap_or(*time),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use leafgate_config::KEYS;

    use super::*;

    #[test]
    fn every_limit_that_can_be_set_is_one_of_the_gate() {
        let mut limits = GateLimits::default();
        let ours: BTreeSet<_> = fields(&mut limits).map(|(key, _)| key).collect();
        let keys: BTreeSet<_> =
            KEYS.iter().map(|key| key.name.to_owned()).filter(|name| name.starts_with("limits.")).collect();
        assert_eq!(ours, keys);
    }

    /// Reads the sources: whoever meets a limit in a message must find it in the configuration.
    #[test]
    fn every_limit_that_a_message_names_can_be_set() {
        let host = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut named = BTreeSet::new();
        let mut folders = vec![host.join("gate/src"), host.join("http/src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = std::fs::read_to_string(path).unwrap();
                    let words = text.split("limit `").skip(1).filter_map(|rest| rest.split('`').next());
                    named.extend(words.map(|word| format!("limits.{word}")));
                }
            }
        }
        assert!(named.len() > 8, "{named:?}");
        for name in named {
            assert!(KEYS.iter().any(|key| key.name == name), "{name}");
        }
    }
}
