//! Why a plugin's file is refused, and what its author or operator can do about it.
//!
//! A message may quote what the file says, as one line of bounded length: the file's author must
//! not write the operator's log.

use leafgate_contract::{Signer, one_line};

use crate::contract::{Contract, Unspoken};
use crate::signature::BadSignatures;

/// A plugin's file that is not admitted. The policy adds where it was declared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The file cannot be read.
    #[error("cannot read `{}`: {error}", one_line(.path))]
    Unreadable {
        /// Where it should be.
        path: String,
        /// What the system said.
        error: leafgate_folder::ReadError,
    },
    /// The file is larger than allowed.
    #[error("the file is larger than {limit} bytes")]
    TooLarge {
        /// Largest file, in bytes.
        limit: usize,
    },
    /// Its first bytes are not those of WebAssembly.
    #[error("the file is neither a WebAssembly component nor a core module")]
    NotWasm,
    /// The script is larger than allowed.
    #[error("the script is larger than {limit} bytes")]
    ScriptTooLarge {
        /// Largest script, in bytes.
        limit: usize,
    },
    /// The script is no text.
    #[error("the script {0}")]
    ScriptText(&'static str),
    /// The script cannot be evaluated, or is no plugin.
    #[error("the script does not run: {}", one_line(.0))]
    Script(String),
    /// The file stops making sense.
    #[error("the file is damaged: {}", one_line(.0))]
    Damaged(String),
    /// The file imports and exports more than any plugin needs.
    #[error("it has more than {limit} imports and exports")]
    TooManyNames {
        /// The most.
        limit: usize,
    },
    /// The file is not the one that the rule file pins.
    #[error("the file has the SHA-256 {actual}, the rule file pins {expected}")]
    WrongDigest {
        /// The pinned digest.
        expected: String,
        /// The file's own.
        actual: String,
    },
    /// There is a file of signatures, and it is none.
    #[error("its signatures cannot be read: {0}")]
    Signatures(BadSignatures),
    /// Nobody who may has signed it.
    #[error("it is not signed{}, and the rule files require that", by_whom(.by))]
    Unsigned {
        /// Those who have signed it.
        by: Vec<Signer>,
    },
    /// It was changed after it was signed.
    #[error("the signature of {signer} is of another file")]
    SignedOther {
        /// Whose signature that is.
        signer: Signer,
    },
    /// The module does not name its contract.
    #[error("the core module does not say which contract it was built for")]
    NoTypeInfo,
    /// The module does not fit the contract that it names.
    #[error("the core module cannot be wrapped as a component: {}", one_line(.0))]
    Wrap(String),
    /// It imports what no plugin may.
    #[error("it imports {}, and a plugin may import nothing but `leafgate:plugin/host`", list(.0))]
    ForeignImports(Vec<String>),
    /// It was built for a contract that this host does not speak.
    #[error("`{}` is of {} contract; this host speaks {spoken}", one_line(.interface), which(*.why))]
    WrongVersion {
        /// The interface that bears the version.
        interface: String,
        /// The versions that this host speaks.
        spoken: String,
        /// Which side is older.
        why: Unspoken,
    },
    /// It exports neither world.
    #[error("it exports neither `leafgate:plugin/detect` nor `leafgate:plugin/transform`")]
    NoWorld,
    /// It exports both worlds.
    #[error("it exports both `leafgate:plugin/detect` and `leafgate:plugin/transform`")]
    BothWorlds,
    /// It exports one world, and nothing that describes it.
    #[error("it does not export `leafgate:plugin/lifecycle`")]
    NoLifecycle,
    /// What it says about itself cannot be used.
    #[error("`describe` is not acceptable: {0}")]
    Description(String),
}

impl Refusal {
    /// An interface of a version that this host does not speak.
    pub(crate) fn version(interface: &str, contract: Contract, why: Unspoken) -> Self {
        Refusal::WrongVersion { interface: interface.to_owned(), spoken: contract.to_string(), why }
    }

    /// Returns what its author or operator can do.
    pub fn hint(&self) -> String {
        let hint = match self {
            Refusal::Unreadable { .. } => {
                "a plugin is a regular file, `….wasm` or `….js`; `leafgate plugin build DIR` makes one of a project"
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
                return format!("if the change is intended, set `sha256 = \"{actual}\"`");
            }
            Refusal::TooManyNames { .. } => "export the interfaces of the contract alone",
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
            Refusal::Description(_) => {
                "change what it describes itself as: a name, and a few labels of capitals and digits, like `NAME`"
            }
        };
        hint.to_owned()
    }
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
    let mut text =
        names.iter().take(SHOWN).map(|name| format!("`{}`", one_line(name))).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

impl From<wasmparser::BinaryReaderError> for Refusal {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        Refusal::Damaged(error.to_string())
    }
}
