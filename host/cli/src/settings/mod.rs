//! Settings of this process: read from the file of the user, that of `--config`, the environment and
//! flags, and turned into what a gate is started with. `leafgate-config` knows what can be set.

mod command;
mod limits;
mod setup;
mod upstream;

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use leafgate_admin::MetadataField;
use leafgate_config::{Layer, Settings, is_setting};
use leafgate_diagnostic::{Diagnostics, hint_for};
use leafgate_gate::{FirstUpstream, GateConfig, GateLimits, NamedUpstream, TrialConfig, UpstreamName};
use leafgate_http::listen_address;
use leafgate_policy::PolicySource;
use leafgate_tokenize::Models;
use leafgate_trace::Collector;

pub(crate) use self::command::run;
pub(crate) use self::setup::{GateSetup, LogTo};
pub(crate) use self::upstream::upstream_at;
use crate::home;
use crate::managed;
use crate::masking::masked;
use crate::options::{ConfigArgs, policy_source};
use crate::private;

/// What `--config` says where no file is to be read.
const NO_FILE: &str = "none";

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
    let beyond: Vec<_> = beyond.map(anyhow::Error::msg).collect();
    if !beyond.is_empty() {
        return Err(refused(beyond));
    }
    let mut settings = Settings::of(managed.map(|managed| managed.settings).into_iter().chain(layers));
    add_defaults(&mut settings);
    Ok(settings)
}

/// Reads what counts without any flag.
pub(crate) fn of_user() -> anyhow::Result<Settings> {
    load(&ConfigArgs::default(), Layer::default())
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
    if let Some(own) = home::own_file() {
        let text = private::if_there(fs::read_to_string(&own)).with_context(|| unreadable(&own))?;
        layers.extend(text.map(|text| Layer::of_file(&own, text, &mut diagnostics)));
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

fn add_defaults(settings: &mut Settings) {
    settings.add_defaults();
    let fields: Vec<_> = MetadataField::DEFAULT.iter().map(|field| field.name().to_owned()).collect();
    settings.default_to("metadata-fields", fields.into());
    settings.default_to("reload.rise", TrialConfig::default().rise.into());
    limits::add_defaults(settings);
}

/// Returns what a gate is started with that these settings describe.
pub(crate) fn setup(settings: &Settings) -> anyhow::Result<GateSetup> {
    let url = settings.text("upstream").with_context(no_upstream)?;
    setup_of(settings, first_upstream(settings, url)).map_err(refused)
}

fn no_upstream() -> String {
    let file = home::own_file().map(|file| format!(" in {}", file.display())).unwrap_or_default();
    format!("there is no upstream: name one with --upstream URL, or set `upstream`{file}")
}

/// Returns the upstream at the top: that of a URL, or one that has this name.
fn first_upstream(settings: &Settings, url: &str) -> anyhow::Result<FirstUpstream> {
    if settings.upstream(url).is_some() {
        return Ok(FirstUpstream::Named(url.parse()?));
    }
    let first = upstream_at(settings, url).map_err(|error| {
        let names: Vec<&str> = settings.upstreams().map(|upstream| upstream.name()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        match url.parse::<UpstreamName>() {
            Ok(name) => {
                error.context(format!("there is no upstream `{name}`: the configuration names {names}"))
            }
            Err(_) => error,
        }
    });
    Ok(FirstUpstream::Own(Box::new(first?)))
}

/// The same with another upstream than the settings name.
pub(crate) fn setup_before(settings: &Settings, first: FirstUpstream) -> anyhow::Result<GateSetup> {
    setup_of(settings, Ok(first)).map_err(refused)
}

/// Returns all that keeps a gate from being started with these settings.
fn problems(settings: &Settings) -> Vec<anyhow::Error> {
    // A command may name the upstream that no setting does.
    let first = settings.text("upstream").unwrap_or("echo:");
    setup_of(settings, first_upstream(settings, first)).err().unwrap_or_default()
}

/// One error is that error; several stand below each other.
fn refused(mut problems: Vec<anyhow::Error>) -> anyhow::Error {
    match problems.len() {
        1 => problems.remove(0),
        count => {
            let said: String = problems.iter().map(|problem| format!("\n- {problem:#}")).collect();
            anyhow!("the configuration is not used: {count} errors{said}")
        }
    }
}

/// Reads settings into types, and keeps what is wrong with them.
struct SettingsReader<'s> {
    settings: &'s Settings,
    wrong: Vec<anyhow::Error>,
}

impl SettingsReader<'_> {
    /// Returns the upstreams that have names, and the policies of those that have their own.
    fn upstreams(&mut self) -> (Vec<NamedUpstream>, Vec<(UpstreamName, PolicySource)>) {
        let (mut upstreams, mut policies) = (Vec::new(), Vec::new());
        for upstream in self.settings.upstreams() {
            let Some(named) = self.take(upstream::named(&upstream)) else { continue };
            let policy = self.take(upstream.text("policy").map(source).transpose()).flatten();
            policies.extend(policy.map(|policy| (named.name.clone(), policy)));
            upstreams.push(named);
        }
        (upstreams, policies)
    }

    fn take<T>(&mut self, read: anyhow::Result<T>) -> Option<T> {
        read.map_err(|error| self.wrong.push(error)).ok()
    }

    /// The same of a setting, which the error names.
    fn of<T>(&mut self, key: &str, read: anyhow::Result<T>) -> Option<T> {
        let read = read.with_context(|| wrong(self.settings, key));
        self.take(read)
    }

    fn address(&mut self, key: &str) -> Option<SocketAddr> {
        let address = self.settings.text(key).map(listen_address).transpose();
        self.of(key, address.map_err(Into::into)).flatten()
    }
}

/// Returns what a gate is started with, or all that is wrong.
fn setup_of(
    settings: &Settings,
    first: anyhow::Result<FirstUpstream>,
) -> Result<GateSetup, Vec<anyhow::Error>> {
    let mut reader = SettingsReader { settings, wrong: Vec::new() };
    let is_on = |key| settings.switch(key) == Some(true);
    let first = reader.take(first);
    let (upstreams, policies) = reader.upstreams();
    let (listen, admin_listen) = (reader.address("listen"), reader.address("admin.listen"));
    let metrics_listen = reader.address("metrics.listen");
    let intercept = reader.of("intercept", parsed(settings.texts("intercept")));
    let metadata_fields = reader.of("metadata-fields", metadata_fields(settings.texts("metadata-fields")));
    let models = reader.take(models(settings));
    let traces = settings.text("traces").map(str::parse::<Collector>).transpose();
    let traces = reader.of("traces", traces.map_err(Into::into));
    let keep = reader.take(crate::log::store_config(settings));
    let policy = reader.take(source(settings.text("policy").unwrap_or_default()));
    reader.wrong.extend(settings.disorder().into_iter().map(anyhow::Error::msg));
    let (Some(upstream), Some(listen), Some(policy), []) = (first, listen, policy, &reader.wrong[..]) else {
        return Err(reader.wrong);
    };
    let mut limits = GateLimits::default();
    limits::apply(settings, &mut limits);
    Ok(GateSetup {
        config: GateConfig {
            upstream,
            named: upstreams,
            enabled: is_on("enabled"),
            intercept: intercept.unwrap_or_default(),
            policy_source: String::new(),
            may_be_off: is_on("switch-off"),
            answer_cancelled: is_on("answer-cancelled"),
            metadata_fields: metadata_fields.unwrap_or_default(),
            trial: TrialConfig {
                requests: settings.number("reload.shadow").unwrap_or(0),
                rise: settings.number("reload.rise").unwrap_or_default(),
            },
            models: models.unwrap_or_default(),
            extract: Some(crate::extract::extractor()),
            limits,
        },
        listen,
        metrics_listen,
        admin_listen: admin_listen.filter(|_| is_on("admin.enabled")),
        policy,
        upstream_policies: policies,
        log: LogTo::Terminal,
        keep: keep.flatten(),
        traces: traces.flatten(),
        client: None,
        standing: None,
    })
}

/// Returns the fields of these names, which people are shown beside what a request says; none for none.
fn metadata_fields(names: &[String]) -> anyhow::Result<Vec<MetadataField>> {
    let known: Vec<&str> = MetadataField::ALL.iter().map(|field| field.name()).collect();
    let field = |name: &String| match MetadataField::from_name(name) {
        Some(field) => Ok(field),
        None => bail!("there is no field `{name}`; {}", hint_for(name, &known)),
    };
    names.iter().map(field).collect()
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

fn parsed<P>(texts: &[String]) -> anyhow::Result<Vec<P>>
where
    P: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
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
