//! Settings of this process: read from the file of the user, that of `--config`, the environment and
//! flags, and turned into what a gate is started with. `leafgate-config` knows what can be set.

mod command;
mod limits;
mod shown;
mod upstream;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use leafgate_admin::MetadataField;
use leafgate_config::{Layer, Settings, UpstreamSettings, is_setting};
use leafgate_gate::{
    FirstUpstream, GateConfig, GateLimits, NamedUpstream, PathPattern, TrialConfig, UpstreamConfig,
    UpstreamName, listen_address,
};
use leafgate_policy::PolicySource;
use leafgate_policy::diagnostics::Diagnostics;
use leafgate_tokenize::Models;
use leafgate_trace::Collector;

pub(crate) use self::command::run;
pub(crate) use self::upstream::upstream_at;
use crate::args::{ConfigArgs, OWN_POLICY, policy_source};
use crate::home;
use crate::known::KnownSource;
use crate::managed;
use crate::masking::masked;
use crate::serve::{GateSetup, LogTo};
use crate::standing;

/// The file in the user's configuration folder.
const FILE: &str = "leafgate/config.toml";

/// What `--config` says where no file is to be read.
const NO_FILE: &str = "none";

/// Where a gate listens where nothing is said.
const LISTEN: &str = "127.0.0.1:4141";
const FREE_PORT: &str = "127.0.0.1:0";

/// Reads all settings; `flags` are the strongest, but for what the operator of the machine enforces.
pub(crate) fn load(args: &ConfigArgs, mut flags: Layer) -> anyhow::Result<Settings> {
    let managed = managed::find()?;
    let mut layers = files(args.config.as_deref())?;
    let variables = variables(std::env::vars_os())?;
    let variables = variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    layers.push(Layer::of_environment(variables).map_err(anyhow::Error::msg)?);
    for setting in &args.set {
        let (key, value) =
            setting.split_once('=').context("--set is written KEY=VALUE, as `limits.body=64MiB`")?;
        flags.set_flag("--set", key.trim(), value.trim()).map_err(anyhow::Error::msg)?;
    }
    layers.push(flags);
    let enforced = managed.as_ref().filter(|managed| managed.policy.is_enforced);
    let enforced = enforced.map(|managed| &managed.settings);
    let beyond = layers.iter().flat_map(|layer| layer.beyond(enforced));
    refuse(beyond.map(anyhow::Error::msg).collect())?;
    let mut settings = Settings::of(managed.map(|managed| managed.settings).into_iter().chain(layers));
    add_defaults(&mut settings);
    Ok(settings)
}

/// Returns the variables that are texts. A setting that is none would be passed over otherwise.
fn variables(all: impl Iterator<Item = (OsString, OsString)>) -> anyhow::Result<Vec<(String, String)>> {
    let mut variables = Vec::new();
    for (name, value) in all {
        let Ok(name) = name.into_string() else { continue };
        match value.into_string() {
            Ok(value) => variables.push((name, value)),
            Err(_) if is_setting(&name) => bail!("the variable {name} is wrong: it is no UTF-8"),
            Err(_) => {}
        }
    }
    Ok(variables)
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
    format!("the configuration {} cannot be read (`--config none` goes without)", file.display())
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
        ("switch-off", true),
    ] {
        settings.default_to(key, value.into());
    }
    for (key, value) in [
        ("listen", LISTEN),
        ("admin.listen", FREE_PORT),
        ("policy", OWN_POLICY),
        ("workspace", "."),
        ("log", "info"),
        ("log-format", "text"),
        ("proxy", upstream::ENVIRONMENT),
    ] {
        settings.default_to(key, value.into());
    }
    settings.default_to("metadata-fields", shown::default_fields().into());
    settings.default_to("reload.rise", TrialConfig::default().rise.into());
    settings.default_to("standing.grace", standing::GRACE.into());
    limits::add_defaults(settings);
    crate::log::add_defaults(settings);
}

/// Returns what a gate is started with that these settings describe.
pub(crate) fn setup(settings: &Settings) -> anyhow::Result<GateSetup> {
    let first = settings.text("upstream").with_context(no_upstream)?;
    refuse(problems(settings))?;
    let upstream = match settings.upstream(first) {
        Some(_) => FirstUpstream::Named(first.parse()?),
        None => FirstUpstream::Own(Box::new(first_upstream(settings, first)?)),
    };
    setup_of(settings, upstream)
}

fn no_upstream() -> String {
    let file = own_file().map(|file| format!(" in {}", file.display())).unwrap_or_default();
    format!("there is no upstream: name one with --upstream URL, or set `upstream`{file}")
}

/// Returns the upstream of a URL that stands at the top. What is no URL may be the name of one.
fn first_upstream(settings: &Settings, url: &str) -> anyhow::Result<UpstreamConfig> {
    upstream_at(settings, url).map_err(|error| {
        let names: Vec<&str> = settings.upstreams().map(|upstream| upstream.name()).collect();
        match url.parse::<UpstreamName>() {
            Ok(_) if names.is_empty() => {
                error.context(format!("there is no upstream `{url}`: the configuration names none"))
            }
            Ok(name) => error.context(format!(
                "there is no upstream `{name}`: the configuration names {}",
                names.join(", ")
            )),
            Err(_) => error,
        }
    })
}

/// The same with another upstream than the settings name.
pub(crate) fn setup_before(settings: &Settings, first: FirstUpstream) -> anyhow::Result<GateSetup> {
    refuse(problems_before(settings))?;
    setup_of(settings, first)
}

/// Returns all that keeps a gate from being started with these settings.
pub(crate) fn problems(settings: &Settings) -> Vec<anyhow::Error> {
    let first = settings.text("upstream").filter(|first| settings.upstream(first).is_none());
    let first = first.and_then(|first| first_upstream(settings, first).err());
    first.into_iter().chain(problems_before(settings)).collect()
}

/// Returns the same but for the upstream at the top.
fn problems_before(settings: &Settings) -> Vec<anyhow::Error> {
    let mut problems: Vec<Option<anyhow::Error>> =
        settings.upstreams().map(|upstream| named(&upstream).err()).collect();
    problems.extend([
        address(settings, "listen").err(),
        address(settings, "admin.listen").err(),
        metrics_listen(settings).err(),
        intercept(settings).err(),
        metadata_fields(settings).err(),
        models(settings).err(),
        traces(settings).err(),
        crate::log::store_config(settings).err(),
    ]);
    let disorder = settings.disorder().into_iter().map(anyhow::Error::msg);
    problems.into_iter().flatten().chain(disorder).collect()
}

/// One error is that error; several stand below each other.
fn refuse(mut problems: Vec<anyhow::Error>) -> anyhow::Result<()> {
    match problems.len() {
        0 => Ok(()),
        1 => Err(problems.remove(0)),
        count => {
            let said: String = problems.iter().map(|problem| format!("\n- {problem:#}")).collect();
            bail!("the configuration is not used: {count} errors{said}")
        }
    }
}

fn named(upstream: &UpstreamSettings<'_>) -> anyhow::Result<NamedUpstream> {
    let name: UpstreamName = upstream
        .name()
        .parse()
        .with_context(|| format!("the upstream at {} has a wrong name", upstream.source("url")))?;
    Ok(NamedUpstream { name, upstream: upstream::named(upstream)? })
}

fn address(settings: &Settings, key: &str) -> anyhow::Result<SocketAddr> {
    listen_address(settings.text(key).unwrap_or(FREE_PORT)).with_context(|| wrong(settings, key))
}

fn metrics_listen(settings: &Settings) -> anyhow::Result<Option<SocketAddr>> {
    settings.text("metrics.listen").map(|_| address(settings, "metrics.listen")).transpose()
}

fn intercept(settings: &Settings) -> anyhow::Result<Vec<PathPattern>> {
    patterns(settings.texts("intercept")).with_context(|| wrong(settings, "intercept"))
}

fn metadata_fields(settings: &Settings) -> anyhow::Result<Vec<MetadataField>> {
    shown::fields(settings.texts("metadata-fields")).with_context(|| wrong(settings, "metadata-fields"))
}

fn traces(settings: &Settings) -> anyhow::Result<Option<Collector>> {
    let collector = settings.text("traces").map(str::parse::<Collector>).transpose();
    collector.with_context(|| wrong(settings, "traces"))
}

fn setup_of(settings: &Settings, first: FirstUpstream) -> anyhow::Result<GateSetup> {
    let mut limits = GateLimits::default();
    limits::apply(settings, &mut limits);
    let mut upstreams = Vec::new();
    let mut policies = Vec::new();
    for upstream in settings.upstreams() {
        let named = named(&upstream)?;
        if let Some(policy) = upstream.text("policy") {
            policies.push((named.name.clone(), source(policy)?));
        }
        upstreams.push(named);
    }
    let admin = settings.switch("admin.enabled") == Some(true);
    Ok(GateSetup {
        config: GateConfig {
            upstream: first,
            named: upstreams,
            enabled: settings.switch("enabled") == Some(true),
            intercept: intercept(settings)?,
            policy_source: String::new(),
            may_be_off: settings.switch("switch-off") == Some(true),
            answer_cancelled: settings.switch("answer-cancelled") == Some(true),
            metadata_fields: metadata_fields(settings)?,
            trial: TrialConfig {
                requests: settings.number("reload.shadow").unwrap_or(0),
                rise: settings.number("reload.rise").unwrap_or_default(),
            },
            models: models(settings)?,
            extract: Some(crate::extract::extractor()),
            limits,
        },
        listen: address(settings, "listen")?,
        metrics_listen: metrics_listen(settings)?,
        admin_listen: admin.then(|| address(settings, "admin.listen")).transpose()?,
        policy: source(settings.text("policy").unwrap_or(OWN_POLICY))?,
        requires_tests: settings.switch("require-tests") == Some(true),
        upstream_policies: policies,
        known: KnownSource::of(settings),
        workspace: settings.text("workspace").unwrap_or(".").into(),
        agents: settings.text("agents").map(Into::into),
        log: LogTo::Terminal,
        keep: crate::log::store_config(settings)?,
        traces: traces(settings)?,
        log_level: settings.text("log").unwrap_or("info").to_owned(),
        log_in_json: settings.text("log-format") == Some("json"),
        client: None,
        standing: None,
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
    fn what_one_thing_may_take_fits_into_what_all_share() {
        let said = setup_error("upstream = 'echo:'\n[limits]\nbody = '2 MiB'\nbodies = '1 MiB'\n");
        assert!(said.contains("config.toml:3") && said.contains("config.toml:4"), "{said}");
        let said = setup_error("upstream = 'echo:'\n[limits]\nturn-memory = '1 MiB'\n");
        assert!(said.contains("`limits.body = \"32 MiB\"` (built in)"), "{said}");
    }

    // S0-13, S0-14, S0-100
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

    #[test]
    fn all_that_is_wrong_is_said_at_once_with_its_places() {
        let text = "upstream = 'echo:'\nlisten = 'x'\nclient-key = 'k.pem'\n[upstreams.a]\nurl = 'https://a.example'\nca = ['gone.pem']\n[upstreams.b]\nurl = 'ftp://b.example'\n[store]\nenabled = false\nrequired = true\n";
        let error = setup_error(text);
        for (place, words) in [
            ("config.toml:2", "`listen`"),
            ("config.toml:3", "belong together"),
            ("config.toml:6", "`ca` of the upstream `a`"),
            ("config.toml:8", "`url` of the upstream `b`"),
            ("config.toml:11", "log"),
        ] {
            let line = error.lines().find(|line| line.contains(place));
            assert!(line.is_some_and(|line| line.contains(words)), "{place}: {error}");
        }
    }

    #[test]
    fn a_name_that_no_upstream_has_is_told_those_that_there_are() {
        let error = setup_error("upstream = 'foo'\n[upstreams.other]\nurl = 'echo:'\n");
        assert!(error.contains("there is no upstream `foo`: the configuration names other"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_setting_that_is_no_text_is_not_passed_over() {
        use std::os::unix::ffi::OsStringExt as _;
        let of = |name: &str| {
            let all = [(name.into(), OsString::from_vec(vec![0xff]))];
            variables(all.into_iter()).map_err(|error| error.to_string())
        };
        assert!(of("LEAFGATE_POLICY").unwrap_err().contains("LEAFGATE_POLICY"));
        assert_eq!(of("LEAFGATE_DATA_DIR"), Ok(vec![]));
    }
}
