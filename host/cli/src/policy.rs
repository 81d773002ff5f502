//! `explain` and `check`, and how every command loads its policy.

use std::sync::{Arc, OnceLock};

use leafgate_policy::plugin::{LoadError, Plugin, PluginLoader, PluginSource};
use leafgate_policy::{Diagnostic, Policy, PolicySource};
use leafgate_wasm::{LoaderConfig, WasmLoader};
use serde::Serialize;

use crate::args::PolicyArgs;
use crate::exit::Exit;
use crate::print::Printer;

/// Loads a policy with its plugins. The error is all diagnostics.
pub(crate) fn load(source: &PolicySource) -> Result<Policy, leafgate_policy::LoadError> {
    Policy::load(source, &LazyLoader::default())
}

/// Starts the WebAssembly engine with the first plugin: most policies have none, and starting it takes longer than judging a request.
#[derive(Default)]
pub(crate) struct LazyLoader(OnceLock<Result<WasmLoader, String>>);

impl PluginLoader for LazyLoader {
    fn load(&self, source: &PluginSource) -> Result<Arc<dyn Plugin>, LoadError> {
        let started = self
            .0
            .get_or_init(|| WasmLoader::new(LoaderConfig::default()).map_err(|error| error.to_string()));
        match started {
            Ok(loader) => loader.load(source),
            Err(message) => Err(LoadError { message: message.clone(), hint: None }),
        }
    }
}

pub(crate) fn explain(args: &PolicyArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let explanation = load(&args.policy.source)?.explain();
    match args.json.json {
        true => printer.json(&explanation)?,
        false => printer.line(explanation.to_string().trim_end())?,
    }
    printer.flush()?;
    Ok(Exit::Done)
}

/// A policy in a few words.
pub(crate) fn summary(policy: &Policy) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (rules, plugins) = (count(policy.rules().len(), "rule"), count(policy.plugins().len(), "plugin"));
    format!("{rules}, {plugins}, generation {}", policy.generation_name())
}

/// What `check --json` writes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked<'a> {
    ok: bool,
    generation: Option<String>,
    rules: usize,
    plugins: usize,
    diagnostics: &'a [Diagnostic],
}

pub(crate) fn check(args: &PolicyArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let loaded = load(&args.policy.source);
    if args.json.json {
        printer.json(&checked(&loaded))?;
    } else if let Ok(policy) = &loaded {
        printer.line(&format!("the policy is sound: {}", summary(policy)))?;
    }
    printer.flush()?;
    match loaded {
        Ok(_) => Ok(Exit::Done),
        Err(_) if args.json.json => Ok(Exit::Bad),
        Err(error) => Err(error.into()),
    }
}

fn checked(loaded: &Result<Policy, leafgate_policy::LoadError>) -> Checked<'_> {
    match loaded {
        Ok(policy) => Checked {
            ok: true,
            generation: Some(policy.generation_name()),
            rules: policy.rules().len(),
            plugins: policy.plugins().len(),
            diagnostics: &[],
        },
        Err(error) => {
            Checked { ok: false, generation: None, rules: 0, plugins: 0, diagnostics: error.diagnostics() }
        }
    }
}
