//! Settings of this process: read from the file of the user, that of `--config`, the environment and
//! flags, and turned into what a gate is started with. `leafgate-config` knows what can be set.

mod command;
mod limits;
mod shown;
mod upstream;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use leafgate_config::{Layer, Settings};
use leafgate_gate::{
    FirstUpstream, GateConfig, GateLimits, NamedUpstream, PathPattern, TrialConfig, UpstreamName,
    listen_address,
};
use leafgate_policy::PolicySource;
use leafgate_policy::diagnostics::Diagnostics;
use leafgate_tokenize::Models;

pub(crate) use self::command::{run, schema};
pub(crate) use self::upstream::upstream_at;
use crate::args::{ConfigArgs, policy_source};
use crate::home;
use crate::known::KnownSource;
use crate::masking::masked;
use crate::serve::{GateSetup, LogTo};

/// The file in the user's configuration folder.
const FILE: &str = "leafgate/config.toml";

/// What `--config` says where no file is to be read.
const NO_FILE: &str = "none";

/// Where a gate listens where nothing is said.
const LISTEN: &str = "127.0.0.1:4141";
const FREE_PORT: &str = "127.0.0.1:0";

/// Reads all settings; `flags` are the strongest.
pub(crate) fn load(args: &ConfigArgs, mut flags: Layer) -> anyhow::Result<Settings> {
    let mut layers = files(args.config.as_deref())?;
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("LEAFGATE_"))
        .collect();
    let variables = variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    layers.push(Layer::of_environment(variables).map_err(anyhow::Error::msg)?);
    for setting in &args.set {
        let (key, value) =
            setting.split_once('=').context("--set is written KEY=VALUE, as `limits.body=64MiB`")?;
        flags.set_flag("--set", key.trim(), value.trim()).map_err(anyhow::Error::msg)?;
    }
    layers.push(flags);
    let mut settings = Settings::of(layers);
    add_defaults(&mut settings);
    Ok(settings)
}

/// Returns what the files say, the weakest first.
fn files(config: Option<&Path>) -> anyhow::Result<Vec<Layer>> {
    if config == Some(Path::new(NO_FILE)) {
        return Ok(Vec::new());
    }
    let mut diagnostics = Diagnostics::default();
    let mut layers = Vec::new();
    if let Some(own) = own_file() {
        match fs::read_to_string(&own) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            text => {
                layers.push(Layer::of_file(&own, text.with_context(|| unreadable(&own))?, &mut diagnostics))
            }
        }
    }
    if let Some(named) = config {
        let text = fs::read_to_string(named).with_context(|| unreadable(named))?;
        layers.push(Layer::of_file(named, text, &mut diagnostics));
    }
    let wrong = diagnostics.into_all();
    if wrong.is_empty() {
        return Ok(layers);
    }
    // A line that is quoted may hold a password.
    let said: String = wrong.iter().map(|diagnostic| masked(&format!("{diagnostic}\n\n"))).collect();
    let errors = if wrong.len() == 1 { "1 error".to_owned() } else { format!("{} errors", wrong.len()) };
    bail!("the configuration is not used: {errors}\n{said}")
}

fn unreadable(file: &Path) -> String {
    format!("the configuration {} cannot be read", file.display())
}

/// Returns where the user's file is, whether it is there or not.
pub(crate) fn own_file() -> Option<PathBuf> {
    let folder = home::variable("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
    let folder = folder.or_else(|| Some(home::variable("HOME")?.join(".config")));
    folder.map(|folder| folder.join(FILE))
}

fn add_defaults(settings: &mut Settings) {
    for (key, value) in [
        ("enabled", true),
        ("restore", true),
        ("admin.enabled", true),
        ("require-tests", false),
        ("answer-cancelled", false),
    ] {
        settings.default_to(key, value.into());
    }
    for (key, value) in [
        ("listen", LISTEN),
        ("admin.listen", FREE_PORT),
        ("policy", "default"),
        ("workspace", "."),
        ("log", "info"),
        ("proxy", upstream::ENVIRONMENT),
    ] {
        settings.default_to(key, value.into());
    }
    settings.default_to("metadata-fields", shown::default_fields().into());
    settings.default_to("reload.rise", TrialConfig::default().rise.into());
    limits::add_defaults(settings);
    crate::log::add_defaults(settings);
}

/// Returns what a gate is started with that these settings describe.
pub(crate) fn setup(settings: &Settings) -> anyhow::Result<GateSetup> {
    let first = settings.text("upstream").with_context(no_upstream)?;
    let mut setup = setup_before(settings, FirstUpstream::Own(Box::new(upstream_at(settings, "echo:")?)))?;
    setup.config.upstream = match settings.upstream(first) {
        Some(_) => FirstUpstream::Named(first.parse()?),
        None => {
            let upstream = upstream_at(settings, first);
            FirstUpstream::Own(Box::new(upstream.with_context(|| wrong(settings, "upstream"))?))
        }
    };
    Ok(setup)
}

fn no_upstream() -> String {
    let file = own_file().map(|file| format!(" in {}", file.display())).unwrap_or_default();
    format!("there is no upstream: name one with --upstream URL, or set `upstream`{file}")
}

/// The same with another upstream than the settings name.
pub(crate) fn setup_before(settings: &Settings, first: FirstUpstream) -> anyhow::Result<GateSetup> {
    let mut limits = GateLimits::default();
    limits::apply(settings, &mut limits);
    let mut named = Vec::new();
    let mut policies = Vec::new();
    for upstream in settings.upstreams() {
        let name: UpstreamName = upstream
            .name()
            .parse()
            .with_context(|| format!("the upstream at {} has a wrong name", upstream.source("url")))?;
        let config =
            upstream::named(&upstream).with_context(|| format!("the upstream `{name}` cannot be used"))?;
        if let Some(policy) = upstream.text("policy") {
            policies.push((name.clone(), source(policy)?));
        }
        named.push(NamedUpstream { name, upstream: config });
    }
    let address = |key: &str| {
        let text = settings.text(key).unwrap_or(FREE_PORT);
        listen_address(text).with_context(|| wrong(settings, key))
    };
    let admin = settings.switch("admin.enabled") == Some(true);
    Ok(GateSetup {
        config: GateConfig {
            upstream: first,
            named,
            enabled: settings.switch("enabled") == Some(true),
            intercept: patterns(settings.texts("intercept")).with_context(|| wrong(settings, "intercept"))?,
            policy_source: String::new(),
            answer_cancelled: settings.switch("answer-cancelled") == Some(true),
            metadata_fields: shown::fields(settings.texts("metadata-fields"))
                .with_context(|| wrong(settings, "metadata-fields"))?,
            trial: TrialConfig {
                requests: settings.number("reload.shadow").unwrap_or(0),
                rise: settings.number("reload.rise").unwrap_or_default(),
            },
            models: models(settings)?,
            limits,
        },
        listen: address("listen")?,
        admin_listen: admin.then(|| address("admin.listen")).transpose()?,
        policy: source(settings.text("policy").unwrap_or("default"))?,
        requires_tests: settings.switch("require-tests") == Some(true),
        upstream_policies: policies,
        known: KnownSource::of(settings),
        workspace: settings.text("workspace").unwrap_or(".").into(),
        agents: settings.text("agents").map(Into::into),
        log: LogTo::Terminal,
        keep: crate::log::store_config(settings)?,
        traces: settings
            .text("traces")
            .map(|url| url.parse().with_context(|| wrong(settings, "traces")))
            .transpose()?,
        log_level: settings.text("log").unwrap_or("info").to_owned(),
        client: None,
    })
}

/// Returns the models that are known: those of the settings before those that are built in.
pub(crate) fn models(settings: &Settings) -> anyhow::Result<Models> {
    Models::with(settings.texts("models")).with_context(|| wrong(settings, "models"))
}

/// Says which setting is wrong, and where it stands.
fn wrong(settings: &Settings, key: &str) -> String {
    format!("the setting `{key}` is wrong ({})", settings.source(key))
}

fn source(text: &str) -> anyhow::Result<PolicySource> {
    policy_source(text).map_err(anyhow::Error::msg)
}

fn patterns(texts: &[String]) -> anyhow::Result<Vec<PathPattern>> {
    texts.iter().map(|text| Ok(text.parse()?)).collect()
}

#[cfg(test)]
mod tests {
    use leafgate_admin::MetadataField;

    use super::*;

    fn settings(text: &str) -> anyhow::Result<Settings> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        fs::write(&file, text).unwrap();
        let mut settings = Settings::of(files(Some(&file))?);
        add_defaults(&mut settings);
        Ok(settings)
    }

    fn setup_error(text: &str) -> String {
        let error = settings(text).and_then(|settings| setup(&settings)).err().unwrap();
        format!("{error:#}")
    }

    #[test]
    fn settings_become_a_gate() {
        let text = "upstream = 'a'\nmetadata-fields = ['dirty', 'model']\nmodels = ['gpt-9 = 7']\nenabled = false\nlisten = 'localhost:4200'\n[admin]\nenabled = false\n[limits]\nbody = '1 KiB'\nidle = '5s'\ndepth = 7\nturns = 3\n[upstreams.a]\nurl = 'https://a.example'\nproxy = 'none'\nrestore = false\nraw = ['/v1/files']\npolicy = 'none'\n[upstreams.b]\nurl = 'echo:'\n";
        let setup = setup(&settings(text).unwrap()).unwrap();
        assert!(matches!(&setup.config.upstream, FirstUpstream::Named(name) if name.as_str() == "a"));
        assert_eq!((setup.listen.port(), setup.admin_listen, setup.config.enabled), (4200, None, false));
        assert_eq!(setup.config.metadata_fields, [MetadataField::Dirty, MetadataField::Model]);
        assert_eq!(setup.config.models.find("gpt-9").prompt, Some(7));
        let limits = &setup.config.limits;
        assert_eq!(
            (limits.body, limits.idle.as_secs(), limits.document.depth, limits.desk.turns),
            (1024, 5, 7, 3)
        );
        assert_eq!(limits.ratio, GateLimits::default().ratio);
        let [a, b] = &setup.config.named[..] else { panic!("two") };
        assert!(!a.upstream.restore && b.upstream.restore && a.upstream.raw.len() == 1);
        assert_eq!(setup.upstream_policies, [("a".parse().unwrap(), PolicySource::None)]);
    }

    #[test]
    fn what_is_wrong_names_its_setting_and_its_place() {
        assert!(setup_error("").contains("--upstream URL"));
        for (text, words) in [
            ("upstream = 'https://a:b@c'", "the setting `upstream` is wrong ("),
            ("upstream = 'echo:'\nlisten = 'x'", "config.toml:2"),
            ("upstream = 'echo:'\nintercept = ['v1']", "begins with `/`"),
            ("upstream = 'echo:'\n[upstreams.A]\nurl = 'echo:'", "has a wrong name"),
            ("upstream = 'echo:'\n[upstreams.a]\nurl = 'echo:'\nca = ['gone.pem']", "gone.pem"),
            ("upstream = 'echo:'\nlissten = 'x'", "did you mean `listen`?"),
            ("upstream = 'echo:'\nmetadata-fields = ['sessionid']", "did you mean `sessionId`?"),
            ("upstream = 'echo:'\ntraces = 'https://collector.example'", "run a collector beside the gate"),
            ("upstream = 'echo:'\nmodels = ['gpt-9 = many']", "`gpt-9 = many` says nothing about a model"),
        ] {
            let error = setup_error(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
