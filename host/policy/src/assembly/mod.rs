//! Profiles of a policy: what becomes of a request whose client leaves its making to the gate.
//!
//! An [`Assembly`] is a `[[assemble]]` table that was read. It runs before all rules, so that they
//! search what it puts in like everything else.

mod below;
mod made;

use std::path::PathBuf;
use std::sync::Arc;

use leafgate_assemble::Profile;
use leafgate_glob::Glob;
use leafgate_tree::Document;

use crate::request::facts::request_facts;
use crate::request::{OfRequest, Reach};
use crate::rule::words;
use crate::said::Asked;
use crate::{Context, Policy};

pub use below::FolderFiles;
pub use made::{MadeRequest, NotMade};

/// A profile, and which requests it is for.
#[derive(Debug)]
pub struct Assembly {
    /// Its id.
    pub id: Arc<str>,
    /// File and line.
    pub origin: String,
    /// Its table.
    pub(crate) says: toml::Table,
    /// `None` where only a base URL chooses it.
    pub(crate) request: Option<OfRequest>,
    /// What a request is made of: prompt, context, tools and options.
    pub profile: Profile,
    /// The folder of its files.
    pub(crate) root: PathBuf,
    /// Bytes of one file.
    pub(crate) max_file: u64,
    /// What happens where a provider refuses.
    pub downgrade: Downgrade,
    /// Whether an answer in one piece is given as a stream to a client that asked for one.
    pub replay_stream: bool,
    /// What becomes of the tool calls of its answers; `None` where they pass.
    pub approval: Option<Approval>,
}

/// Which tool calls of an answer pass by themselves, and what becomes of the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approval {
    pub(crate) auto: Vec<Glob>,
    /// What becomes of a call that does not pass by itself.
    pub rest: Rest,
}

words! {
    /// What becomes of a tool call that does not pass by itself.
    #[derive(Default)]
    Rest {
        /// A person decides.
        #[default]
        Ask = "ask",
        /// The client does not get it.
        Block = "block",
    }
}

impl Approval {
    /// Returns whether the call of a tool passes by itself.
    pub fn passes(&self, tool: &str) -> bool {
        self.auto.iter().any(|glob| glob.matches(tool))
    }
}

/// What happens where a provider refuses what was assembled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Downgrade {
    /// Whether images are left out for a provider that takes none.
    pub images: bool,
    /// Whether tools are left out for a provider that takes none.
    pub tools: bool,
    /// Models that are asked instead of one that is not there, in order.
    pub models: Vec<String>,
    /// Whether the answer ends with a sentence about it.
    pub footnote: bool,
    /// What happens where nothing can be left out any more.
    pub otherwise: Otherwise,
}

words! {
    /// What happens to a refused request that has no lesser form.
    #[derive(Default)]
    Otherwise {
        /// The client gets the provider's error.
        #[default]
        Pass = "pass",
        /// A person decides, who may choose another model.
        Pause = "pause",
    }
}

impl Assembly {
    /// Returns its files, as they are on disk.
    pub fn files(&self) -> FolderFiles {
        FolderFiles::new(&self.root, self.max_file)
    }
}

impl Policy {
    /// Returns the profiles, in file order.
    pub fn assemblies(&self) -> &[Arc<Assembly>] {
        &self.assemblies
    }

    /// Returns the profile of this id.
    pub fn assembly(&self, id: &str) -> Option<&Arc<Assembly>> {
        self.assemblies.iter().find(|assembly| &*assembly.id == id)
    }

    /// Returns the first profile whose `match` is met by a request; `None` for a request of a format
    /// that no profile can make.
    pub fn assembly_for(&self, document: &Document, context: &Context<'_>) -> Option<&Arc<Assembly>> {
        if self.assemblies.is_empty() {
            return None;
        }
        document.format().api()?;
        let matches = self.assemblies.iter().filter_map(|assembly| assembly.request.as_ref());
        let facts = request_facts(&Asked::of_requests(matches), document, context);
        let fits = |assembly: &&Arc<Assembly>| {
            assembly
                .request
                .as_ref()
                .is_some_and(|request| request.applies(Reach::Changes, document.format(), &facts))
        };
        self.assemblies.iter().find(fits)
    }
}
