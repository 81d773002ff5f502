//! What can be set: the rows of `keys.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::value::Kind;

/// A setting.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingKey {
    /// Its name: in a file the tables and the key, joined by dots.
    pub name: String,
    takes: String,
    /// What it does, in a sentence.
    pub about: String,
    /// What is built in, as a flag says it. Limits have what the gate has.
    pub(crate) default: Option<String>,
    /// Settings that it must not be above: it has room in what all share.
    #[serde(default)]
    pub(crate) within: Vec<String>,
    /// Whether it counts in the settings of the machine's operator alone.
    #[serde(default)]
    pub(crate) operator: bool,
}

impl SettingKey {
    /// Returns what it takes.
    pub fn kind(&self) -> &'static Kind {
        &TABLE.kinds[&self.takes]
    }
}

/// The table of named upstreams.
pub const UPSTREAMS: &str = "upstreams";

/// All settings but those of named upstreams.
pub static KEYS: LazyLock<&[SettingKey]> = LazyLock::new(|| &TABLE.setting);

/// Settings of a named upstream, `[upstreams.<name>]`. Those that are left out are as at the top.
pub static UPSTREAM_KEYS: LazyLock<&[SettingKey]> = LazyLock::new(|| &TABLE.upstream);

pub(crate) static TABLE: LazyLock<SettingTable> =
    LazyLock::new(|| toml::from_str(include_str!("keys.toml")).expect("a test reads it"));

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct SettingTable {
    /// Variables that set no key: where files are kept, and what started commands are told.
    pub(crate) variables_of_program: Vec<String>,
    /// Variables of the tests and of `cargo xtask`, but those that begin with `LEAFGATE_TEST`.
    pub(crate) variables_of_tests: Vec<String>,
    kinds: BTreeMap<String, Kind>,
    setting: Vec<SettingKey>,
    upstream: Vec<SettingKey>,
}

/// Returns the variable of the environment that sets a key: `LEAFGATE_LIMITS_BODY_TIME`.
pub fn variable(key: &str) -> String {
    let word = |c: char| if matches!(c, '.' | '-') { '_' } else { c.to_ascii_uppercase() };
    format!("LEAFGATE_{}", key.chars().map(word).collect::<String>())
}

/// Returns whether a variable of the environment sets a key.
pub fn is_setting(name: &str) -> bool {
    KEYS.iter().any(|key| variable(&key.name) == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_key_and_each_variable_stands_once() {
        let names: BTreeSet<_> = KEYS.iter().map(|key| &*key.name).collect();
        let variables: BTreeSet<_> = KEYS.iter().map(|key| variable(&key.name)).collect();
        assert_eq!((names.len(), variables.len()), (KEYS.len(), KEYS.len()));
        assert_eq!(variable("limits.body-time"), "LEAFGATE_LIMITS_BODY_TIME");
        for key in UPSTREAM_KEYS.iter().filter(|key| !matches!(&*key.name, "api" | "kind" | "url")) {
            let top = KEYS.iter().find(|top| top.name == key.name);
            assert_eq!(top.map(SettingKey::kind), Some(key.kind()), "{}", key.name);
        }
        UPSTREAM_KEYS.iter().for_each(|key| _ = key.kind());
        for key in *KEYS {
            key.kind();
            assert!(key.within.iter().all(|name| names.contains(&**name)), "{}", key.name);
        }
    }
}
