//! Which value counts, and where it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;
use serde_with::SerializeDisplay;

use crate::file::Layer;
use crate::keys::{KEYS, SettingKey, UPSTREAM_KEYS, UPSTREAMS};
use crate::value::{Kind, Value};

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display, SerializeDisplay)]
pub enum SettingSource {
    /// It is built in.
    #[display("built in")]
    Default,
    /// A file.
    #[display("{file}:{line}")]
    File {
        /// Its name, as shown.
        file: String,
        /// The 1-based line.
        line: usize,
    },
    /// A variable of the environment.
    #[display("the variable {_0}")]
    Variable(String),
    /// A flag.
    #[display("{_0}")]
    Flag(String),
}

/// All settings: of each key the strongest value.
#[derive(Debug, Default)]
pub struct Settings {
    values: BTreeMap<String, (Value, SettingSource)>,
}

/// A setting as people are shown it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Its key.
    pub key: String,
    /// Its value as TOML, without passwords; `None` where nothing is set and nothing built in.
    pub value: Option<String>,
    /// Whether people write it freely: a secret may stand where nobody expects one.
    #[serde(skip)]
    pub is_free: bool,
    /// Where that comes from.
    pub source: SettingSource,
}

/// What of a named upstream is its own alone.
pub(crate) const OWN: [&str; 4] = ["api", "kind", "policy", "url"];

/// The settings of an upstream: its own, and else those at the top, where they mean the same.
#[derive(Debug, derive_more::Deref)]
pub struct UpstreamSettings<'s> {
    name: &'s str,
    #[deref]
    settings: Settings,
}

impl<'s> UpstreamSettings<'s> {
    /// Returns its name; it is empty for what no table names.
    pub fn name(&self) -> &'s str {
        self.name
    }
}

impl Settings {
    /// Joins layers, the weakest first.
    pub fn of(layers: impl IntoIterator<Item = Layer>) -> Settings {
        let values = layers.into_iter().flat_map(|layer| layer.values).collect();
        Settings { values }
    }

    /// Adds a value that is built in, where nothing else is set.
    pub fn default_to(&mut self, key: &str, value: Value) {
        self.values.entry(key.to_owned()).or_insert((value, SettingSource::Default));
    }

    /// Adds what is built in, but for limits.
    pub fn add_defaults(&mut self) {
        for key in *KEYS {
            let value = key.default.as_ref().and_then(|default| key.kind().parse(default).ok());
            value.into_iter().for_each(|value| self.default_to(&key.name, value));
        }
    }

    /// Returns a value.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key).map(|(value, _)| value)
    }

    /// Returns where a value comes from.
    pub fn source(&self, key: &str) -> SettingSource {
        self.values.get(key).map_or(SettingSource::Default, |(_, source)| source.clone())
    }

    /// Returns a text, a path, a policy or a word.
    pub fn text(&self, key: &str) -> Option<&str> {
        let Value::Text(text) = self.get(key)? else { return None };
        Some(text)
    }

    /// Returns several texts or paths; none where they are not set.
    pub fn texts(&self, key: &str) -> &[String] {
        match self.get(key) {
            Some(Value::Texts(texts)) => texts,
            _ => &[],
        }
    }

    /// Returns a switch.
    pub fn switch(&self, key: &str) -> Option<bool> {
        let Value::Switch(on) = self.get(key)? else { return None };
        Some(*on)
    }

    /// Returns a size or a count.
    pub fn number(&self, key: &str) -> Option<usize> {
        let Value::Number(number) = self.get(key)? else { return None };
        Some(usize::try_from(*number).unwrap_or(usize::MAX))
    }

    /// Returns a time.
    pub fn time(&self, key: &str) -> Option<Duration> {
        let Value::Time(time) = self.get(key)? else { return None };
        Some(*time)
    }

    /// Returns what is wrong with settings beside each other: one that is above another which must hold it.
    /// Says of both where they come from, and what to do.
    pub fn disorder(&self) -> Vec<String> {
        let said = |key: &str| {
            let kind = KEYS.iter().find(|known| known.name == key).map(SettingKey::kind);
            let value = self.get(key).zip(kind).map(|(value, kind)| kind.show(value));
            format!("`{key} = {}` ({})", value.unwrap_or_default(), self.source(key))
        };
        let pairs = KEYS.iter().flat_map(|key| key.within.iter().map(|all| (&*key.name, &**all)));
        let is_above = |(one, all): &(&str, &str)| {
            self.number(one).zip(self.number(all)).is_some_and(|(one, all)| one > all)
        };
        let told = |(one, all): (&str, &str)| {
            let (said_one, said_all) = (said(one), said(all));
            format!("{said_one} does not fit into {said_all}: lower `{one}`, or raise `{all}`")
        };
        pairs.filter(is_above).map(told).collect()
    }

    /// Returns the named upstreams, by name.
    pub fn upstreams(&self) -> impl Iterator<Item = UpstreamSettings<'_>> {
        let names: BTreeSet<&str> =
            self.values.keys().filter_map(|key| of_upstream(key)).map(|(name, _)| name).collect();
        names.into_iter().map(|name| self.named(name))
    }

    /// Returns the upstream of this name.
    pub fn upstream<'s>(&'s self, name: &str) -> Option<UpstreamSettings<'s>> {
        self.upstreams().find(|upstream| upstream.name == name)
    }

    /// Returns what an upstream has that no table names: what stands at the top. Its name is empty.
    pub fn first_upstream(&self) -> UpstreamSettings<'_> {
        self.named("")
    }

    fn named<'s>(&'s self, name: &'s str) -> UpstreamSettings<'s> {
        let mut values = self.values.clone();
        values.retain(|key, _| !OWN.contains(&key.as_str()));
        for (key, value) in &self.values {
            let own = match of_upstream(key) {
                Some((of, own)) if of == name => own,
                None if name.is_empty() && key == "upstream" => "url",
                _ => continue,
            };
            values.insert(own.to_owned(), value.clone());
        }
        UpstreamSettings { name, settings: Settings { values } }
    }

    /// Returns bytes that differ wherever a value does. Passwords stand in them as they are: only a keyed
    /// digest may be kept.
    pub fn identity(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (key, (value, _)) in &self.values {
            let texts = value.texts();
            for part in [vec![key.clone(), texts.len().to_string()], texts].concat() {
                bytes.extend_from_slice(&part.len().to_be_bytes());
                bytes.extend_from_slice(part.as_bytes());
            }
        }
        bytes
    }

    /// Returns every setting, those of upstreams last.
    pub fn shown(&self) -> impl Iterator<Item = Shown> {
        let show = |key: &str, known: &SettingKey| Shown {
            key: key.to_owned(),
            value: self.get(key).map(|value| known.kind().show(value)),
            is_free: matches!(known.kind(), Kind::Url | Kind::Texts),
            source: self.source(key),
        };
        let top = KEYS.iter().map(move |key| show(&key.name, key));
        let named = self.values.keys().filter_map(move |key| {
            let (_, last) = of_upstream(key)?;
            Some(show(key, UPSTREAM_KEYS.iter().find(|known| known.name == last)?))
        });
        top.chain(named)
    }
}

/// Splits `upstreams.<name>.<key>`.
pub(crate) fn of_upstream(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix(UPSTREAMS)?.strip_prefix('.')?.rsplit_once('.')
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Value::Number(number as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use leafgate_diagnostic::Diagnostics;

    use super::*;

    fn file(name: &str, text: &str) -> Layer {
        let mut diagnostics = Diagnostics::default();
        let layer = Layer::of_file(Path::new(name), text.to_owned(), &mut diagnostics);
        let wrong: Vec<String> = diagnostics.into_all().iter().map(ToString::to_string).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        layer
    }

    fn complaints(text: &str) -> String {
        let mut diagnostics = Diagnostics::default();
        Layer::of_file(Path::new("config.toml"), text.to_owned(), &mut diagnostics);
        let all: Vec<String> = diagnostics.into_all().iter().map(ToString::to_string).collect();
        all.join("\n\n")
    }

    #[test]
    fn the_strongest_value_counts_and_says_where_it_is_from() {
        let own = file(
            "/home/config.toml",
            "listen = '127.0.0.1:1'\nlog = 'warn'\n[limits]\nbody = '1 MiB'\nidle = '5s'\n",
        );
        let given = file("given.toml", "[limits]\nidle = '6s'\nbody = 2048\n");
        let variables = [("LEAFGATE_LIMITS_BODY", "3 KiB"), ("LEAFGATE_LOG", ""), ("HOME", "/root")];
        let environment = Layer::of_environment(variables.into_iter()).unwrap();
        let mut flags = Layer::default();
        flags.set_flag("--listen", "listen", "127.0.0.1:2").unwrap();
        let mut settings = Settings::of([own, given, environment, flags]);
        settings.default_to("limits.ratio", 200.into());
        settings.default_to("limits.body", 1.into());
        assert_eq!(
            (settings.text("listen"), settings.source("listen").to_string()),
            (Some("127.0.0.1:2"), "--listen".into())
        );
        assert_eq!(
            (settings.text("log"), settings.source("log").to_string()),
            (Some("warn"), "/home/config.toml:2".into())
        );
        assert_eq!(
            (settings.time("limits.idle"), settings.source("limits.idle").to_string()),
            (Some(Duration::from_secs(6)), "given.toml:2".into())
        );
        assert_eq!(
            (settings.number("limits.body"), settings.source("limits.body").to_string()),
            (Some(3072), "the variable LEAFGATE_LIMITS_BODY".into())
        );
        assert_eq!(
            (settings.number("limits.ratio"), settings.source("limits.ratio")),
            (Some(200), SettingSource::Default)
        );
    }

    #[test]
    fn a_setting_that_does_not_fit_into_another_is_told_with_both_places() {
        let mut settings = Settings::of([file("c.toml", "[limits]\nbodies = '1 MiB'\nanswers = '1 GiB'\n")]);
        assert_eq!(settings.disorder(), Vec::<String>::new(), "what is not known is not compared");
        for key in ["limits.body", "limits.answer", "limits.turn-memory"] {
            settings.default_to(key, (32 << 20).into());
        }
        assert_eq!(
            settings.disorder(),
            [
                "`limits.body = \"32 MiB\"` (built in) does not fit into `limits.bodies = \"1 MiB\"` (c.toml:2): \
              lower `limits.body`, or raise `limits.bodies`"
            ]
        );
    }

    #[test]
    fn numbers_beyond_what_makes_sense_are_refused_with_their_bounds() {
        let text = "[limits]\nbody = 512\nevents = 9223372036854775807\ndepth = 5000\nidle = '1ms'\n[reload]\nrise = 101\n\
                    [store]\nsize = '1 KiB'\ndays = 9223372036854775807\n";
        insta::assert_snapshot!(complaints(text));
    }

    #[test]
    fn an_upstream_has_what_stands_at_the_top_and_its_own_rules_alone() {
        let text = "policy = 'rules'\nrestore = false\nca = ['own.pem']\n[upstreams.a]\nurl = 'https://a.example'\n[upstreams.b]\nurl = 'https://b.example'\npolicy = 'none'\nrestore = true\nraw = ['/v1/*']\n";
        let settings = Settings::of([file("/etc/leafgate/config.toml", text)]);
        let [a, b] = &settings.upstreams().collect::<Vec<_>>()[..] else { panic!("two") };
        assert_eq!(
            (a.name(), a.text("url"), a.text("policy"), a.switch("restore")),
            ("a", Some("https://a.example"), None, Some(false))
        );
        assert_eq!(
            (b.text("policy"), b.switch("restore"), b.texts("raw")),
            (Some("none"), Some(true), &["/v1/*".to_owned()][..])
        );
        assert_eq!(a.texts("ca"), ["/etc/leafgate/own.pem"]);
        assert_eq!(settings.text("policy"), Some("/etc/leafgate/rules"));
        assert!(settings.upstream("c").is_none());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_a_hint() {
        let text = "lissten = 'x'\nenabled = 'yes'\nlog = 'loud'\nadmin = 3\n[limits]\nbodie = 1\nidle = '5'\nratio = 0\n[upstreams.a]\nproxi = 'x'\n[upstreams]\nb = 'https://b.example'\n";
        insta::assert_snapshot!(complaints(text));
    }

    #[test]
    fn a_table_is_meant_by_a_tables_name_and_a_key_by_a_key_of_its_table() {
        assert!(complaints("[limit]\nbody = 1").contains("did you mean `limits`?"));
        let said = complaints("[store]\nwhatever_is_meant = 'x'");
        assert!(said.contains("known here: store.") && !said.contains("limits."), "{said}");
    }

    #[test]
    fn a_value_that_does_not_parse_is_not_quoted_in_the_message() {
        let said = Layer::of_environment([("LEAFGATE_LIMITS_IDLE", "quoted")].into_iter()).unwrap_err();
        assert!(said.contains("LEAFGATE_LIMITS_IDLE") && !said.contains("quoted"), "{said}");
        let said = Layer::of_environment([("LEAFGATE_LIMITS_BODYS", "1")].into_iter()).unwrap_err();
        assert!(said.contains("did you mean"), "{said}");
        let mut flags = Layer::default();
        let unknown = flags.set_flag("--set", "limits.bodi", "1").unwrap_err();
        assert!(unknown.contains("`limits.bodi`") && unknown.contains("`limits.body`"), "{unknown}");
        let empty = flags.set_flag("--set", "limits.body", "").unwrap_err();
        assert!(empty.contains("limits.body") && empty.contains("expected bytes"), "{empty}");
    }

    #[test]
    fn a_variable_that_sets_nothing_is_refused_unless_it_is_known() {
        let read = |name: &str| Layer::of_environment([(name, "x")].into_iter());
        for (name, hint) in [
            ("LEAFGATE_POLCY", "did you mean `LEAFGATE_POLICY`?"),
            ("LEAFGATE_STORE_SIZ", "did you mean `LEAFGATE_STORE_SIZE`?"),
            ("LEAFGATE_LIMIT_BODY", "did you mean `LEAFGATE_LIMITS_BODY`?"),
            ("LEAFGATE_DATADIR", "did you mean `LEAFGATE_DATA_DIR`?"),
            ("LEAFGATE_UPSTREAMS_A_URL", "`[upstreams.name]`"),
            ("LEAFGATE_", "is no setting"),
        ] {
            let said = read(name).unwrap_err();
            assert!(said.contains(name) && said.contains(hint), "{said}");
        }
        for name in ["LEAFGATE_DATA_DIR", "LEAFGATE_TURN", "LEAFGATE_BIN", "LEAFGATE_TEST_FOLDER", "PATH"] {
            assert!(read(name).unwrap().values.is_empty(), "{name}");
        }
    }

    #[test]
    fn every_key_is_shown_once() {
        let settings = Settings::of([file("f", "[upstreams.a]\nurl = 'http://a.example'\n")]);
        let shown: Vec<_> = settings.shown().collect();
        assert_eq!(shown.len(), KEYS.len() + 1);
        let last = shown.last().unwrap();
        assert_eq!(
            (last.key.as_str(), last.value.as_deref()),
            ("upstreams.a.url", Some("\"http://a.example\""))
        );
    }
}
