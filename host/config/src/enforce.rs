//! What the settings of a machine's operator leave to users.
//!
//! Where they are enforced, what they set is set, for each upstream too; what protects is on, unless they
//! say otherwise; and all else is as users like it.

use crate::file::Layer;
use crate::keys::KEYS;
use crate::resolve::{OWN, SettingSource, of_upstream};
use crate::value::Value;

/// Where a gate of this user listens: several users of one machine need several ports.
const OF_USER: [&str; 2] = ["admin.listen", "listen"];

/// The policy that lets everything pass.
const NO_POLICY: &str = "none";

/// What protects, as it is where the operator who enforces says nothing.
fn protecting() -> [(&'static str, Value); 4] {
    let block = Value::Text("block".to_owned());
    [
        ("enabled", true.into()),
        ("on-unread", block),
        ("raw", Value::Texts(Vec::new())),
        ("switch-off", false.into()),
    ]
}

impl Layer {
    /// Has settings of the operator that are enforced say what protects.
    pub fn protect(&mut self) {
        let source = self.source("enforce");
        for (key, value) in protecting() {
            self.values.entry(key.to_owned()).or_insert((value, source.clone()));
        }
    }

    /// Returns what this layer of a user's says that only the operator may, whose settings `enforced` are.
    /// Each is told with its place, and no value is quoted.
    pub fn beyond(&self, enforced: Option<&Layer>) -> Vec<String> {
        let told = |(key, (value, source)): (&String, &(Value, SettingSource))| {
            if KEYS.iter().any(|known| known.operator && known.name == *key) {
                return Some(format!(
                    "`{key}` ({source}) counts in the settings of the machine's operator alone: take it out"
                ));
            }
            let enforced = enforced?;
            let theirs =
                enforced.fixed(key).filter(|(fixed, _)| fixed != value).map(|(_, source)| source.to_string());
            let weakens = match of_upstream(key).map_or(key.as_str(), |(_, last)| last) {
                "policy" => *value == Value::Text(NO_POLICY.to_owned()),
                // The operator's newer rules would wait for requests.
                "reload.shadow" => !enforced.values.contains_key(key),
                _ => false,
            };
            let theirs = theirs.or_else(|| weakens.then(|| enforced.source("enforce").to_string()))?;
            Some(format!(
                "`{key}` ({source}) is not yours to set otherwise than the operator of this machine did ({theirs}): take it out, or ask the operator, who decides about it"
            ))
        };
        self.values.iter().filter_map(told).collect()
    }

    fn source(&self, key: &str) -> SettingSource {
        self.values.get(key).map_or(SettingSource::Default, |(_, source)| source.clone())
    }

    /// Returns what a setting must be, and where that is said. That of an upstream must be as the one at
    /// the top, which it would override.
    fn fixed(&self, key: &str) -> Option<&(Value, SettingSource)> {
        let top = of_upstream(key).map(|(_, last)| last).filter(|last| !OWN.contains(last));
        let said = self.values.get(key).or_else(|| self.values.get(top?));
        said.filter(|_| !OF_USER.contains(&key))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use leafgate_diagnostic::Diagnostics;

    use super::*;

    fn layer(file: &str, text: &str) -> Layer {
        let mut diagnostics = Diagnostics::default();
        let layer = Layer::of_file(Path::new(file), text.to_owned(), &mut diagnostics);
        assert!(diagnostics.into_all().is_empty(), "{text}");
        layer
    }

    fn operator() -> Layer {
        let mut layer = layer(
            "/etc/config.toml",
            "enforce = true\nrestore = false\nlisten = '127.0.0.1:4141'\n[limits]\nbody = '2 MiB'\n[upstreams.a]\nurl = 'https://a.example'\n",
        );
        layer.protect();
        layer
    }

    #[test]
    fn what_the_operator_set_or_what_protects_is_not_set_otherwise() {
        for (text, key) in [
            ("restore = true", "restore"),
            ("enabled = false", "enabled"),
            ("switch-off = true", "switch-off"),
            ("on-unread = 'pass'", "on-unread"),
            ("raw = ['*']", "raw"),
            ("policy = 'none'", "policy"),
            ("[reload]\nshadow = 1000", "reload.shadow"),
            ("[limits]\nbody = '64 MiB'", "limits.body"),
            ("[upstreams.a]\nurl = 'https://b.example'", "upstreams.a.url"),
            ("[upstreams.b]\nurl = 'https://b.example'\nrestore = true", "upstreams.b.restore"),
            ("[upstreams.b]\nurl = 'https://b.example'\non-unread = 'pass'", "upstreams.b.on-unread"),
            ("[upstreams.b]\nurl = 'https://b.example'\npolicy = 'none'", "upstreams.b.policy"),
        ] {
            let user = layer("config.toml", text);
            let [told] = &user.beyond(Some(&operator()))[..] else {
                panic!("{text}: {:?}", user.beyond(Some(&operator())))
            };
            assert!(
                told.contains(&format!("`{key}` (config.toml:")) && told.contains("(/etc/config.toml:"),
                "{told}"
            );
            assert!(told.contains("ask the operator"), "{told}");
            assert!(user.beyond(None).is_empty(), "{text}");
        }
    }

    #[test]
    fn the_rest_and_what_is_the_same_is_the_users_own() {
        let text = "restore = false\nlisten = '127.0.0.1:4242'\npolicy = 'rules'\nlog = 'warn'\nswitch-off = false\n[limits]\nbody = '2 MiB'\nidle = '5s'\n[upstreams.b]\nurl = 'https://b.example'\n";
        assert_eq!(layer("config.toml", text).beyond(Some(&operator())), Vec::<String>::new());
    }

    #[test]
    fn what_is_the_operators_counts_nowhere_else() {
        for enforced in [Some(&operator()), None] {
            let mut flags = Layer::default();
            flags.set_flag("--set", "enforce", "false").unwrap();
            let told = flags.beyond(enforced);
            assert!(told.len() == 1 && told[0].contains("`enforce` (--set)"), "{told:?}");
        }
    }

    #[test]
    fn an_operator_may_say_that_less_protects() {
        let mut layer = layer("/etc/config.toml", "enforce = true\nswitch-off = true\n");
        layer.protect();
        assert_eq!(layer.values["switch-off"].0, true.into());
        assert_eq!(layer.values["enabled"].0, true.into());
    }
}
