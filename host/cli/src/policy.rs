//! `check`, and how every command loads its policy.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use leafgate_config::{Layer, Settings};
use leafgate_contract::{LoadError, PluginLoader as _, PluginSource};
use leafgate_policy::{Diagnostic, ManagedPolicy, Policy, PolicySource};
use leafgate_trials::RuleTests;
use leafgate_wasm::{CodeCache, CompileTime, Compiler, LoaderConfig, LogSink, WasmLoader, compile_worker};
use serde::Serialize;
use serde_json::json;

use crate::admin::AdminClient;
use crate::confine::this_program;
use crate::options::{CheckArgs, own_policy};
use crate::print::{Exit, Printer, counted};
use crate::{home, known, managed, masking, private, runtime, settings, team};

/// Loads a policy with its plugins. The error holds all diagnostics.
pub(crate) fn load(source: &PolicySource) -> Result<Policy, leafgate_policy::LoadError> {
    let known = known::of_user().map_err(|error| {
        let hint = "mend the configuration, or take out of its `[known]` what cannot be read";
        leafgate_policy::LoadError::because("the configuration", format!("{error:#}"), hint)
    })?;
    if let Some(known) = &known {
        masking::know(known);
    }
    let loader = LazyLoader::new(|| loader(None));
    let plugins = |source: &PluginSource| loader.as_ref().map_err(Clone::clone)?.load(source);
    let (managed, now) = (managed()?, SystemTime::now());
    let loaded = Policy::load_knowing(source, managed.as_ref(), &plugins, now, known)?;
    Ok(team::known_to(loaded, source))
}

/// Returns the policy of the machine's operator, as it is now.
pub(crate) fn managed() -> Result<Option<ManagedPolicy>, leafgate_policy::LoadError> {
    managed::policy().map_err(|error| {
        let hint = "only who keeps that folder can mend it";
        leafgate_policy::LoadError::because("the operator's policy", format!("{error:#}"), hint)
    })
}

/// A loader that starts the WebAssembly engine with the first plugin. Most policies have none, and the start
/// takes longer than judging a request.
pub(crate) type LazyLoader = LazyLock<Result<WasmLoader, LoadError>>;

/// Returns the loader of a gate, which asks a plugin no more that fails on many texts.
pub(crate) fn loader_of_gate() -> LazyLoader {
    LazyLock::new(|| loader_with(None, true))
}

/// Returns a loader that compiles in processes of this very program; an author reads what plugins log.
pub(crate) fn loader(log: Option<LogSink>) -> Result<WasmLoader, LoadError> {
    loader_with(log, false)
}

fn loader_with(log: Option<LogSink>, quarantine: bool) -> Result<WasmLoader, LoadError> {
    let (compiler, cache) = (compiler(), code_cache());
    let config = LoaderConfig { log, compiler, cache, quarantine, ..LoaderConfig::default() };
    WasmLoader::new(config).map_err(|error| LoadError::new(error.to_string()))
}

/// Opens the folder of compiled plugins. Without one, as on a system that is read-only, each start
/// compiles.
fn code_cache() -> Option<Arc<CodeCache>> {
    // Tests of this crate read the machine's environment.
    let folder = home::cache_folder().filter(|_| !cfg!(test))?.join("plugins");
    let secret = home::installation().map(|key| key.secret_for("compiled plugins"));
    let opened = secret.and_then(|secret| Ok(CodeCache::open(folder, secret)?));
    match opened {
        Ok(cache) => Some(Arc::new(cache)),
        Err(error) => {
            tracing::warn!(error = %format_args!("{error:#}"), "compiled plugins are not kept on disk");
            None
        }
    }
}

/// The one argument with which this program compiles a component. No command has this name.
pub(crate) const COMPILE: &str = "--compile-component";

fn compiler() -> Compiler {
    match cfg!(test) {
        // A test harness is not this program.
        true => Compiler::InPlace,
        false => Compiler::Process { program: this_program(), arguments: vec![COMPILE.into()] },
    }
}

/// Compiles a component from standard input to standard output.
pub(crate) fn compile() -> Exit {
    match compile_worker(io::stdin().lock(), io::stdout().lock(), bind) {
        Ok(true) => Exit::Done,
        Ok(false) => Exit::Unmet,
        Err(_) => Exit::Bad,
    }
}

/// Has this process end when its processor time is over, and a little after its loader's patience,
/// because the loader may have been killed.
fn bind(time: CompileTime) -> io::Result<()> {
    time.bind_process()?;
    std::thread::spawn(move || {
        std::thread::sleep(time.clock + Duration::from_secs(5));
        std::process::exit(Exit::Bad.code().into());
    });
    Ok(())
}

/// The first rule file of a new policy.
const FIRST: &str = include_str!("policy/first.toml");

/// `policy new`.
pub(crate) fn begin(folder: Option<PathBuf>, printer: &mut Printer) -> anyhow::Result<Exit> {
    let named = folder.is_some();
    let folder =
        folder.or_else(own_policy).context("there is no home to begin a policy in: name a folder")?;
    let file = folder.join("rules.toml");
    if file.exists() {
        bail!("{} is there already: write your rules into it, or a file beside it", file.display());
    }
    private::write(&folder, "rules.toml", FIRST.as_bytes())
        .with_context(|| format!("cannot write {}", file.display()))?;
    let (flag, serves) = match named {
        true => (format!(" --policy {}", folder.display()), ""),
        false => (String::new(), ", and a gate that runs follows it"),
    };
    let file = file.display().to_string();
    let line = format!(
        "{file}\nThe built-in rules act beneath yours{serves}. `leafgate check{flag}` says what is wrong with it, `leafgate help rules` what can be said."
    );
    printer.tell(&json!({ "file": file }), &line)
}

/// Returns a policy in a few words.
pub(crate) fn summary(policy: &Policy) -> String {
    let (rules, plugins) = (counted(policy.rules().len(), "rule"), counted(policy.plugins().len(), "plugin"));
    format!("{rules}, {plugins}, generation {}", policy.generation_name())
}

/// The output of `check --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckedPolicy<'a> {
    ok: bool,
    generation: Option<String>,
    rules: usize,
    plugins: usize,
    unprotected: Option<&'static str>,
    diagnostics: &'a [Diagnostic],
}

pub(crate) fn check(args: &CheckArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let source = &args.policy.source;
    let loaded = load(source).and_then(|loaded| with_sound_tests(loaded, source));
    let loaded = match loaded {
        Ok(policy) if policy.routes().next().is_some() => {
            let settings = settings::load(&args.config, Layer::default())?;
            with_known_upstreams(policy, &settings)
        }
        loaded => loaded,
    };
    if printer.is_json {
        let policy = loaded.as_ref().ok();
        printer.json(&CheckedPolicy {
            ok: policy.is_some(),
            generation: policy.map(Policy::generation_name),
            rules: policy.map_or(0, |policy| policy.rules().len()),
            plugins: policy.map_or(0, |policy| policy.plugins().len()),
            unprotected: policy.and_then(Policy::unprotected),
            diagnostics: loaded.as_ref().map_or_else(|error| error.diagnostics(), Policy::warnings),
        })?;
        return Ok(if loaded.is_ok() { Exit::Done } else { Exit::Bad });
    }
    let policy = loaded?;
    for warning in policy.warnings() {
        printer.line(&format!("{warning}\n"))?;
    }
    let warnings = match policy.warnings().len() {
        0 => String::new(),
        count => format!(", with {}", counted(count, "warning")),
    };
    printer.line(&format!("the policy is sound{warnings}: {}", summary(&policy)))?;
    let unprotected = policy.unprotected().map(str::to_owned);
    for warning in unprotected.into_iter().chain(told_by_gates(&policy)) {
        printer.line(&format!("warning: {warning}"))?;
    }
    Ok(Exit::Done)
}

/// Reads the tests in the folder of a policy, and runs none of them: a gate that requires them would be
/// the first to tell that they cannot be read.
fn with_sound_tests(policy: Policy, source: &PolicySource) -> Result<Policy, leafgate_policy::LoadError> {
    if let Some(folder) = source.folder() {
        RuleTests::read(&leafgate_folder::tests_of(folder), &policy)?;
    }
    Ok(policy)
}

/// Refuses a policy with a route to an upstream that the configuration does not have, as a gate does.
fn with_known_upstreams(policy: Policy, settings: &Settings) -> Result<Policy, leafgate_policy::LoadError> {
    let unknown = policy.routes().find(|(to, ..)| settings.upstream(to).is_none());
    let Some((to, rule, origin)) = unknown else { return Ok(policy) };
    let names: Vec<&str> = settings.upstreams().map(|upstream| upstream.name()).collect();
    let there = if names.is_empty() { "it has none".to_owned() } else { names.join(", ") };
    let message = format!(
        "rule `{rule}` routes to `{to}`, and no upstream of the configuration is called so ({there})"
    );
    let hint = format!(
        "write `[upstreams.{to}]` with its `url` into the configuration, or name a file that has it with `--config`"
    );
    Err(leafgate_policy::LoadError::because(origin, message, &hint))
}

/// What gates that serve this very policy have seen of it and nobody can see in its files. Where none
/// runs, or answers, there is nothing to say.
fn told_by_gates(policy: &Policy) -> Vec<String> {
    let mut known: Vec<String> = policy.warnings().iter().map(Diagnostic::on_one_line).collect();
    known.extend(policy.unprotected().map(str::to_owned));
    let gates = runtime::folder().and_then(|folder| runtime::find_running(&folder)).unwrap_or_default();
    let statuses = gates.iter().filter_map(|gate| AdminClient::new(gate).ok()?.status().ok());
    let told = statuses.filter(|status| status.policy.generation == policy.generation_name());
    told.flat_map(|status| status.policy.warnings).filter(|warning| !known.contains(warning)).collect()
}
