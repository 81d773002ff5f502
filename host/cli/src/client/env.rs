//! `env`: what leads clients to a running gate, for a shell to evaluate.

use std::collections::BTreeMap;

use super::{ClientOrigin, PROVIDERS};
use crate::admin::AdminClient;
use crate::managed;
use crate::options::GateArgs;
use crate::print::{Exit, Printer};

/// Writes `export` lines.
pub(crate) fn run(gate: &GateArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let gate = gate.find()?;
    managed::check_gate(&gate)?;
    let status = AdminClient::new(&gate)?.status()?;
    let mut variables: BTreeMap<&str, String> = BTreeMap::new();
    for provider in &PROVIDERS {
        let origin = ClientOrigin::of(provider.name, provider.url)?;
        variables.extend(origin.at(&status).map(|way| (provider.variable, way.url)));
    }
    if super::exec::is_behind_proxy() {
        let named = super::exec::past_proxies().into_iter();
        variables.extend(named.map(|(name, value)| (name, value.to_string_lossy().into_owned())));
    }
    printer.show(&variables, |variables, printer| {
        for (name, value) in variables {
            printer.line(&format!("export {name}={}", quoted(value)))?;
        }
        printer.line("# Codex reads no variable for this: `leafgate exec codex`")
    })
}

/// Returns a word that every shell reads as this text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_what_was_meant() {
        assert_eq!(quoted("http://127.0.0.1:1/u/a"), "'http://127.0.0.1:1/u/a'");
        assert_eq!(quoted("a'; rm -rf $HOME"), "'a'\\''; rm -rf $HOME'");
    }
}
