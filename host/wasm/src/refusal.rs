//! Why a plugin is not loaded, and what its author or operator can do about it.

use leafgate_contract::{ConfigFinding, Fault, InvalidAnswer, LoadError, one_line};

/// Findings of a configuration that are told: a plugin may say thousands of things about one key.
const MOST_FINDINGS: usize = 10;

/// A plugin that is not loaded. The policy adds where the plugin was declared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadRefusal {
    /// Its file is not admitted.
    #[error(transparent)]
    File(#[from] leafgate_admission::Refusal),
    #[error("it does not compile: {}", one_line(.0))]
    Compile(String),
    #[error("its exports are not those of the contract: {}", one_line(.0))]
    Exports(String),
    #[error("it does not compile within {} s of processor time", .limit.as_secs())]
    CompileTime { limit: std::time::Duration },
    #[error("its compiler has not ended after {} s, and hardly ran", .limit.as_secs())]
    CompileClock { limit: std::time::Duration },
    #[error("it was not compiled: newer files are there")]
    Abandoned,
    #[error("`{call}` failed on load: it {fault}")]
    Canary { call: &'static str, fault: Fault },
    #[error("its configuration is not accepted: {}", said(.0))]
    Configuration(Vec<ConfigFinding>),
}

impl LoadRefusal {
    /// What a plugin says of its configuration, as JSON text.
    pub(crate) fn configuration(said: Vec<String>, config: &str) -> Self {
        let told = said.iter().take(MOST_FINDINGS);
        LoadRefusal::Configuration(told.map(|text| ConfigFinding::said(text, config)).collect())
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            LoadRefusal::File(refusal) => return Some(refusal.hint()),
            LoadRefusal::Exports(_) => "build it against the `wit/plugin.wit` of this version of leafgate",
            LoadRefusal::CompileTime { .. } => {
                "make its functions smaller: deeply nested loops and blocks cost most; `opt-level = \"s\"` helps"
            }
            LoadRefusal::CompileClock { .. } => {
                "the machine is too busy, or something stops the compiler: try again when it is idle"
            }
            LoadRefusal::Compile(_) => {
                "threads, garbage collection, 64-bit memory and exceptions are not available to plugins"
            }
            LoadRefusal::Canary { fault, .. } => {
                return Some(match limit_on_load(fault) {
                    Some("description_bytes") => "let it say less: this limit has no setting".to_owned(),
                    Some(limit) => format!("let it do less on load, or set `{limit}` in its `limits`"),
                    None => "`leafgate plugin check FILE` shows what it logs until then".to_owned(),
                });
            }
            LoadRefusal::Configuration(_) | LoadRefusal::Abandoned => return None,
        };
        Some(hint.to_owned())
    }
}

impl LoadRefusal {
    /// The key of the plugin's table in a rule file that is to blame.
    fn key(&self) -> Option<String> {
        match self {
            LoadRefusal::File(leafgate_admission::Refusal::WrongDigest { .. }) => Some("/sha256".to_owned()),
            LoadRefusal::Canary { fault, .. } => limit_on_load(fault).map(|limit| format!("/limits/{limit}")),
            _ => None,
        }
    }
}

impl From<LoadRefusal> for LoadError {
    fn from(refusal: LoadRefusal) -> Self {
        let (message, hint, key) = (refusal.to_string(), refusal.hint(), refusal.key());
        let config = match refusal {
            LoadRefusal::Configuration(findings) => findings,
            _ => vec![],
        };
        LoadError { message, hint, config, key }
    }
}

/// All findings on one line, each with what to do about it.
fn said(findings: &[ConfigFinding]) -> String {
    let said = findings.iter().map(|ConfigFinding { message, hint, .. }| match hint {
        Some(hint) => format!("{message} ({hint})"),
        None => message.clone(),
    });
    said.collect::<Vec<_>>().join("; ")
}

/// On load other limits hold than in a call.
fn limit_on_load(fault: &Fault) -> Option<&'static str> {
    match fault {
        Fault::Deadline { .. } => Some("start_deadline"),
        Fault::Invalid(InvalidAnswer::Unreadable { .. }) => Some("description_bytes"),
        other => other.limit(),
    }
}
