//! The contract of plugins: the interface between the policy and the runner of plugins.
//!
//! `leafgate-wasm` implements these traits; tests of the policy implement them in a few lines,
//! without wasmtime. The types mirror `wit/plugin.wit` one to one. An answer reaches the policy as
//! [`CheckedFindings`] or [`CheckedEdits`], which exist only after a check: every span lies inside
//! its leaf on character boundaries, every leaf, section and label was among those given, and every
//! action fits its target. Anything else is a [`Fault`], and the whole answer is gone.

mod answer;
mod aside;
mod config;
mod fault;
mod health;
mod limits;
mod line;
mod schema;
mod signer;
mod spent;

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use leafgate_detect::Label;
use serde::Serialize;

pub use answer::{CheckedEdits, CheckedFindings};
pub use aside::{Way, aside, is_needed, making_way};
pub use config::{ConfigFinding, config_json};
pub use fault::{Amount, Fault, InvalidAnswer, PluginWords};
pub use health::{Health, Quarantine};
pub use limits::PluginLimits;
pub use line::one_line;
pub use schema::check_config;
pub use signer::{NoSigner, Signer, of_hex};
pub use spent::{Cost, Spent};

pub use leafgate_tree::{LeafKind, Role, SectionKind, ValueType};

/// The file and the settings of a declared plugin: one `[plugins.<name>]` table of a rule file.
#[derive(Clone, Debug)]
pub struct PluginSource {
    /// The name of the table; rules say `plugin:<name>` or `plugin = "<name>"`.
    pub name: String,
    /// The file, resolved against the policy folder.
    pub path: PathBuf,
    /// The digest that the file must have, if the rule file pins one.
    pub sha256: Option<[u8; 32]>,
    /// Who may have signed it; `None` where a signature is not asked for.
    pub signers: Option<Arc<[Signer]>>,
    /// The limits that it has of its own.
    pub limits: PluginLimits,
    /// `config` as JSON text; `{}` where the table has none.
    pub config: String,
}

impl PluginSource {
    /// Returns the source of a plugin of any author and of any content, under the usual limits.
    pub fn new(name: impl Into<String>, path: PathBuf, config: impl Into<String>) -> Self {
        let (name, config, limits) = (name.into(), config.into(), PluginLimits::default());
        PluginSource { name, path, sha256: None, signers: None, limits, config }
    }
}

/// Loads plugins; handed to `leafgate_policy::Policy::load`.
pub trait PluginLoader {
    /// Loads, checks and configures one plugin.
    ///
    /// # Errors
    /// Says what was wrong with the file or its configuration and what to do; the policy adds where
    /// it was declared.
    fn load(&self, source: &PluginSource) -> Result<Arc<dyn Plugin>, LoadError>;
}

impl<F: Fn(&PluginSource) -> Result<Arc<dyn Plugin>, LoadError>> PluginLoader for F {
    fn load(&self, source: &PluginSource) -> Result<Arc<dyn Plugin>, LoadError> {
        self(source)
    }
}

/// A plugin that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct LoadError {
    /// What was wrong, in one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What is wrong with its configuration, where that is to blame and not the plugin.
    pub config: Vec<ConfigFinding>,
    /// The key of its table that is to blame, where that is not its file: a pointer like
    /// `/limits/edits`.
    pub key: Option<String>,
}

impl LoadError {
    /// Returns an error of a plugin's file that nothing can be done about.
    pub fn new(message: impl Into<String>) -> Self {
        LoadError { message: message.into(), hint: None, config: vec![], key: None }
    }
}

/// A [`PluginLoader`] for policies without plugins: refuses each one.
#[derive(Clone, Copy, Debug)]
pub struct NoPlugins;

impl PluginLoader for NoPlugins {
    fn load(&self, source: &PluginSource) -> Result<Arc<dyn Plugin>, LoadError> {
        Err(LoadError::new(format!("plugin `{}` cannot run here", source.name)))
    }
}

leafgate_words::words! {
    /// Which world of `leafgate:plugin` a component implements.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum World {
        /// Finds spans; answers may be remembered.
        Detector = "detector" / "detect",
        /// Edits a request that it sees as a whole.
        Transformer = "transformer" / "transform",
    }
    /// Its name in the contract.
    pub fn name = 0;
    /// The function that does its work.
    pub fn function = 1;
}

/// A plugin's description of itself (`lifecycle.describe`).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Description {
    /// Its own name, which need not be the one it is declared under.
    pub name: String,
    /// Its version, free text.
    pub version: String,
    /// One sentence.
    pub summary: String,
    /// Labels of its findings and redactions; findings name them by place.
    pub labels: Vec<Label>,
    /// JSON Schema of its configuration, as it wrote it, if it wrote any: authors see that it is none
    /// where it is none.
    #[serde(skip)]
    pub config_schema: Option<String>,
}

/// A loaded, configured plugin.
///
/// The thread that calls it may have others to serve. What takes milliseconds makes way for them: see
/// [`aside`].
pub trait Plugin: Send + Sync + fmt::Debug {
    /// What it says about itself.
    fn description(&self) -> &Description;

    /// Which of the two calls below it answers.
    fn world(&self) -> World;

    /// SHA-256 of the file it was loaded from.
    fn digest(&self) -> [u8; 32];

    /// Finds what a redaction rule covers in each leaf. The cost of the call is added to `spent`,
    /// the total of this plugin for this request.
    ///
    /// # Errors
    /// A [`Fault`]; nothing of the answer is used. One of them says that the request has cost too
    /// much.
    fn detect(&self, leaves: &[DetectLeaf<'_>], spent: &Spent) -> Result<CheckedFindings, Fault>;

    /// Proposes edits of a request. The cost of the call is added to `spent`, the total of this
    /// plugin for this request.
    ///
    /// # Errors
    /// A [`Fault`]; nothing of the answer is used. One of them says that the request has cost too
    /// much.
    fn transform(&self, request: &TransformRequest<'_>, spent: &Spent) -> Result<CheckedEdits, Fault>;

    /// How it has fared so far.
    fn health(&self) -> Health {
        Health::default()
    }

    /// Ends its quarantine and forgets its faults. Returns false where it was in none.
    fn release(&self) -> bool {
        false
    }
}

/// One leaf as a detector sees it (`detect.leaf`); its id is its place in the slice.
#[derive(Clone, Copy)]
pub struct DetectLeaf<'a> {
    /// What the leaf is.
    pub kind: LeafKind,
    /// Its JSON type.
    pub value: ValueType,
    /// Role of the message that it belongs to.
    pub role: Role,
    /// The tool's name where it belongs to a call or a result.
    pub tool: Option<&'a str>,
    /// The nearest object key above it, or "".
    pub key: &'a str,
    /// Decoded text.
    pub text: &'a str,
}

/// A stretch of one leaf that a detector plugin recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFinding {
    /// Place of the leaf in the slice that was given.
    pub leaf: usize,
    /// UTF-8 byte range of its text.
    pub at: Range<usize>,
    /// Place in [`Description::labels`].
    pub label: usize,
    /// How sure the plugin is.
    pub confidence: leafgate_detect::Confidence,
}

/// A request as a transformer sees it (`transform.request` with its sections and leaves).
#[derive(Clone, Copy)]
pub struct TransformRequest<'a> {
    /// Name of the format, as in `leafgate_tree::Format::name`.
    pub format: &'a str,
    /// The model asked for, or "".
    pub model: &'a str,
    /// Opaque, the same for every turn of one conversation.
    pub session: &'a str,
    /// True where a sub-agent is known to have sent it.
    pub subagent: bool,
    /// All sections, in order.
    pub sections: &'a [TransformSection<'a>],
    /// The leaves that the rule selected, in order; a leaf's id is its place here.
    pub leaves: &'a [TransformLeaf<'a>],
}

/// One section (`transform.section`).
#[derive(Clone, Copy, Default)]
pub struct TransformSection<'a> {
    /// What it is.
    pub kind: SectionKind,
    /// Role of its message.
    pub role: Role,
    /// As shown to people.
    pub label: &'a str,
    /// The tool's name where it is a call or a result.
    pub tool: Option<&'a str>,
    /// Place of the section around it.
    pub parent: Option<usize>,
    /// Place of its message among the messages.
    pub message: Option<usize>,
}

/// One selected leaf (`transform.leaf`).
#[derive(Clone, Copy)]
pub struct TransformLeaf<'a> {
    /// Place of its section.
    pub section: usize,
    /// What it is.
    pub kind: LeafKind,
    /// Its JSON type.
    pub value: ValueType,
    /// RFC 6901 pointer into the request as it stands now.
    pub pointer: &'a str,
    /// The nearest object key above it, or "".
    pub key: &'a str,
    /// Its text as it stands now.
    pub text: &'a str,
}

/// The target of a plugin's edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The request as a whole.
    Request,
    /// A section, by place.
    Section(usize),
    /// A leaf, by place among those given.
    Leaf(usize),
}

/// The action of a plugin's edit (`transform.action`).
#[derive(Clone, PartialEq, Eq)]
pub enum Action {
    /// Redact stretches of a leaf: byte range and place of the label.
    Redact(Vec<(Range<usize>, usize)>),
    /// New text of a leaf, or the JSON spelling of a number, boolean or null.
    Set(String),
    /// Later rules may not change the target.
    Pin,
    /// Delete the section's message.
    Delete,
    /// Insert a whole message before the section.
    InsertBefore {
        /// Its role.
        role: Role,
        /// Its text.
        text: String,
    },
    /// A remark for the reviewer.
    Note(String),
    /// Ask a person; the text is for the reviewer.
    Pause(String),
    /// Stop the request; the text is for the reviewer.
    Block(String),
}

impl Action {
    /// Returns the action's name in the contract.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Redact(_) => "redact",
            Action::Set(_) => "set",
            Action::Pin => "pin",
            Action::Delete => "delete",
            Action::InsertBefore { .. } => "insert-before",
            Action::Note(_) => "note",
            Action::Pause(_) => "pause",
            Action::Block(_) => "block",
        }
    }
}

impl fmt::Debug for Action {
    /// Names the action only: what a plugin wrote may hold what it read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One edit that a transformer proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginEdit {
    /// What it is about.
    pub target: Target,
    /// What it does.
    pub action: Action,
}
