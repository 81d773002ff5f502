//! Why a plugin is not loaded, and what its author or operator can do about it.

use leafgate_policy::plugin::{ConfigFinding, Fault, InvalidAnswer, LoadError, Signer};

use crate::contract::{Contract, Unspoken};
use crate::limits::AboveCap;
use crate::signature::BadSignatures;

/// A plugin that is not admitted. The policy adds where the plugin was declared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("cannot read `{path}`: {error}")]
    Unreadable { path: String, error: leafgate_folder::ReadError },
    #[error("the file is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the file is neither a WebAssembly component nor a core module")]
    NotWasm,
    #[error("the script is larger than {limit} bytes")]
    ScriptTooLarge { limit: usize },
    #[error("the script {0}")]
    ScriptText(&'static str),
    #[error("the script does not run: {0}")]
    Script(String),
    #[error("the file is damaged: {0}")]
    Damaged(String),
    #[error("the file has the SHA-256 {actual}, the rule file pins {expected}")]
    WrongDigest { expected: String, actual: String },
    #[error(transparent)]
    AboveCap(#[from] AboveCap),
    #[error("its signatures cannot be read: {0}")]
    Signatures(BadSignatures),
    #[error("it is not signed{}, and the rule files require that", by_whom(.by))]
    Unsigned { by: Vec<Signer> },
    #[error("the signature of {signer} is of another file")]
    SignedOther { signer: Signer },
    #[error("the core module does not say which contract it was built for")]
    NoTypeInfo,
    #[error("the core module cannot be wrapped as a component: {0}")]
    Wrap(String),
    #[error("it imports {}, and a plugin may import nothing but `leafgate:plugin/host`", list(.0))]
    ForeignImports(Vec<String>),
    #[error("`{interface}` is of {} contract; this host speaks {spoken}", which(*.why))]
    WrongVersion { interface: String, spoken: String, why: Unspoken },
    #[error("it exports neither `leafgate:plugin/detect` nor `leafgate:plugin/transform`")]
    NoWorld,
    #[error("it exports both `leafgate:plugin/detect` and `leafgate:plugin/transform`")]
    BothWorlds,
    #[error("it does not export `leafgate:plugin/lifecycle`")]
    NoLifecycle,
    #[error("it does not compile: {0}")]
    Compile(String),
    #[error("it does not compile within {} s of processor time", .limit.as_secs())]
    CompileTime { limit: std::time::Duration },
    #[error("its compiler has not ended after {} s, and hardly ran", .limit.as_secs())]
    CompileClock { limit: std::time::Duration },
    #[error("it was not compiled: newer files are there")]
    Abandoned,
    #[error("`{call}` failed on load: it {fault}")]
    Canary { call: &'static str, fault: Fault },
    #[error("`describe` is not acceptable: {0}")]
    Description(String),
    #[error("its configuration is not accepted: {}", said(.0))]
    Configuration(Vec<ConfigFinding>),
}

impl Refusal {
    /// An interface of a version that this host does not speak.
    pub(crate) fn version(interface: &str, contract: Contract, why: Unspoken) -> Self {
        Refusal::WrongVersion { interface: interface.to_owned(), spoken: contract.to_string(), why }
    }

    /// What a plugin says of its configuration, as JSON text.
    pub(crate) fn configuration(said: Vec<String>, config: &str) -> Self {
        Refusal::Configuration(said.into_iter().map(|text| ConfigFinding::said(text, config)).collect())
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Refusal::Unreadable { .. } => {
                "the path is relative to the policy folder; `cargo xtask plugins` builds the bundled ones"
            }
            Refusal::TooLarge { .. } => {
                "build it for size (`opt-level = \"s\"`, `lto`, `strip`): this limit has no setting"
            }
            Refusal::NotWasm => {
                "a plugin is a binary `.wasm` file, or a script `….js`; assemble text format first, for example with \
                 `wasm-tools parse`"
            }
            Refusal::ScriptTooLarge { .. } => {
                "a script is read anew for each call: build it as a component, with jco or in another language"
            }
            Refusal::ScriptText(_) => "write it as plain text",
            Refusal::Script(_) => {
                "a script is a module that exports `detect(leaf)` or `transform(request)`, and imports nothing; \
                 `leafgate plugin new NAME --lang js` writes one"
            }
            Refusal::Damaged(_) => "build or copy the file again",
            Refusal::WrongDigest { actual, .. } => {
                return Some(format!("if the change is intended, set `sha256 = \"{actual}\"`"));
            }
            Refusal::AboveCap(_) => "no plugin may have more: let it do less, or be shown fewer leaves",
            Refusal::Signatures(_) => {
                "signatures stand beside the plugin in `….wasm.sig`, as `leafgate plugin sign` writes them"
            }
            Refusal::Unsigned { .. } => {
                "have it signed (`leafgate plugin sign FILE --key KEY`) by one of the keys of `require_signed`, or add the \
                 signer's key there"
            }
            Refusal::SignedOther { .. } => {
                "the plugin was changed after it was signed: restore it, or have it looked at and signed again"
            }
            Refusal::NoTypeInfo | Refusal::NoWorld | Refusal::NoLifecycle => {
                "in Rust use `#[leafgate_plugin::detector]` or `#[leafgate_plugin::transformer]`; elsewhere build against `wit/plugin.wit`"
            }
            Refusal::Wrap(_) => "build it with the `leafgate-plugin` crate for `wasm32-unknown-unknown`",
            Refusal::ForeignImports(names) => how_to_build_without(names),
            Refusal::WrongVersion { why: Unspoken::TooNew, .. } => {
                "upgrade leafgate, or build the plugin against the `wit/plugin.wit` of this version"
            }
            Refusal::WrongVersion { .. } => {
                "build the plugin against the `wit/plugin.wit` of this version of leafgate"
            }
            Refusal::BothWorlds => {
                "split it in two: answers of a detector may be remembered, those of a transformer may not"
            }
            Refusal::CompileTime { .. } => {
                "make its functions smaller: deeply nested loops and blocks cost most; `opt-level = \"s\"` helps"
            }
            Refusal::CompileClock { .. } => {
                "the machine is too busy, or something stops the compiler: try again when it is idle"
            }
            Refusal::Compile(_) => {
                "threads, garbage collection, 64-bit memory and exceptions are not available to plugins"
            }
            Refusal::Canary { fault, .. } => {
                return limit_on_load(fault).map(|limit| match limit {
                    "description_bytes" => "let it say less: this limit has no setting".to_owned(),
                    limit => format!("let it do less on load, or set `{limit}` in its `limits`"),
                });
            }
            Refusal::Description(_) | Refusal::Configuration(_) | Refusal::Abandoned => return None,
        };
        Some(hint.to_owned())
    }
}

impl From<Refusal> for LoadError {
    fn from(refusal: Refusal) -> Self {
        let (message, hint) = (refusal.to_string(), refusal.hint());
        let config = match refusal {
            Refusal::Configuration(findings) => findings,
            _ => vec![],
        };
        LoadError { message, hint, config }
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

/// Who has signed it, where that is somebody else.
fn by_whom(others: &[Signer]) -> String {
    match others {
        [] => String::new(),
        [other] => format!(" by anyone who may (but by {other})"),
        [other, ..] => format!(" by anyone who may (but by {other} and {} more)", others.len() - 1),
    }
}

fn which(why: Unspoken) -> &'static str {
    match why {
        Unspoken::TooNew => "a newer",
        Unspoken::TooOld => "an older",
        Unspoken::NoVersion => "no released",
    }
}

/// On load other limits hold than in a call.
fn limit_on_load(fault: &Fault) -> Option<&'static str> {
    match fault {
        Fault::Deadline { .. } => Some("start_deadline"),
        Fault::Invalid(InvalidAnswer::Unreadable { .. }) => Some("description_bytes"),
        other => other.limit(),
    }
}

/// How to get rid of the first foreign import, by the tool that usually leaves it.
fn how_to_build_without(names: &[String]) -> &'static str {
    let first = names.first().map_or("", String::as_str);
    if first.starts_with("__wbindgen") {
        "leave out wasm-bindgen; a `js` feature of getrandom, uuid or chrono often brings it in"
    } else if first.starts_with("wasi:") || first.starts_with("wasi_") {
        "build without WASI: Rust with `--target wasm32-unknown-unknown`, JavaScript with `jco componentize --backend quickjs \
         --backend-qjs-disable-async --backend-qjs-stub-wasi`, Python with `componentize-py componentize --stub-wasi`"
    } else {
        "build it for `wasm32-unknown-unknown` and link nothing that calls the host; clocks, random numbers, files and sockets \
         are not available"
    }
}

/// The first few names, quoted. A component may import hundreds.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}
