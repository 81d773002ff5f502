//! Who changed what: the record of one request's edits, with undo and redo.
//!
//! Every edit is a list of switches, each from one numbered state to another, so that undoing it is walking the list backwards. The
//! states themselves are kept by the [`crate::Draft`]. Redactions are no edits: they amend the state that they find, so that no undo
//! brings a redacted value back. They are listed beside the edits as span, label and replacement. Only a release, which is an edit of
//! a person, shows a received value again, and only where the redaction was made on such terms.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::node::NodeId;

/// Number of a change of one request. Counts up through edits, undos and redos alike, and never repeats.
pub type Version = u64;

/// Who made an edit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, derive_more::Display)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub enum Author {
    /// A rule, by id.
    #[display("rule {id}")]
    Rule {
        /// Its id.
        id: Arc<str>,
    },
    /// A plugin, on behalf of a rule.
    #[display("plugin {plugin} (rule {rule})")]
    Plugin {
        /// The rule's id.
        rule: Arc<str>,
        /// The name that the plugin is declared under.
        plugin: Arc<str>,
    },
    /// An edit that a person saved earlier, by id.
    #[display("saved edit {id}")]
    SavedEdit {
        /// Its id.
        id: Arc<str>,
    },
    /// A person, now.
    #[display("person")]
    Person,
}

impl Author {
    /// A rule.
    pub fn rule(id: impl Into<Arc<str>>) -> Self {
        Author::Rule { id: id.into() }
    }

    /// Returns the rule that it is, or on behalf of which a plugin is asked.
    pub fn of_rule(&self) -> Option<&Arc<str>> {
        match self {
            Author::Rule { id } | Author::Plugin { rule: id, .. } => Some(id),
            Author::SavedEdit { .. } | Author::Person => None,
        }
    }

    /// Whether a person decides, now.
    pub fn is_person(&self) -> bool {
        *self == Author::Person
    }
}

/// One edit: the `EditOp` of a request's history.
#[derive(Clone, Debug)]
pub struct Edit {
    /// Its number.
    pub version: Version,
    /// Who made it.
    pub author: Author,
    /// What it does.
    pub kind: EditKind,
    /// The value that it is about: the leaf, the section's node, or the message that something was put before.
    pub target: NodeId,
    pub(crate) switches: Vec<Switch>,
}

leafgate_words::words! {
    /// What an edit does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub enum EditKind {
        /// Gives a leaf another text.
        Set = "set",
        /// Leaves a section out, with what must go with it.
        Delete = "delete",
        /// Puts a deleted section back, with what went with it.
        Restore = "restore",
        /// Puts a whole message in.
        Insert = "insert",
        /// Puts a member into the body, in the place of what stands under its key.
        Option = "option",
        /// Takes a redaction back, so that the received value leaves.
        Release = "release",
        /// Takes every edit back at once.
        Reset = "reset",
    }
    /// The word for it, as in JSON.
    pub fn name = 0;
}

/// One step of an edit: from one numbered state of something to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch {
    pub(crate) what: Switched,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// What has states. In state 0 it is as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Switched {
    /// A leaf, with its texts.
    Leaf(NodeId),
    /// A value that is left out in state 1.
    Deleted(NodeId),
    /// What was put in and stands in state 1, by its number.
    PutIn(usize),
}

impl Switch {
    pub(crate) fn forward(what: Switched) -> Self {
        Switch { what, from: 0, to: 1 }
    }

    pub(crate) fn inverse(self) -> Self {
        Switch { from: self.to, to: self.from, ..self }
    }
}

/// A stretch to redact in the present text of a leaf.
#[derive(Clone)]
pub struct Redaction {
    /// UTF-8 byte range of the present text.
    pub at: Range<usize>,
    /// What was recognised there.
    pub label: Arc<str>,
    /// What stands there from now on.
    pub replacement: String,
    /// The id of what recognised it, where that is known.
    pub detector: Option<Arc<str>>,
    /// Whether a person may take it back.
    pub terms: ReleaseTerms,
}

impl Redaction {
    /// A redaction for good.
    pub fn new(at: Range<usize>, label: impl Into<Arc<str>>, replacement: impl Into<String>) -> Self {
        let (label, replacement) = (label.into(), replacement.into());
        Redaction { at, label, replacement, detector: None, terms: ReleaseTerms::KEPT }
    }
}

/// Whether a person may take a redaction back. The value must have been received as well: what somebody wrote is kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseTerms {
    /// Nobody may.
    Kept {
        /// The rule that keeps it, where that is another one than the redaction's own.
        by: Option<Arc<str>>,
    },
    /// A person may, with all other pieces of the same finding.
    Releasable(FindingId),
}

impl ReleaseTerms {
    /// Nobody may, by the redaction's own rule.
    pub const KEPT: ReleaseTerms = ReleaseTerms::Kept { by: None };
}

/// The number of a finding whose redactions are released together. See [`crate::Draft::new_finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FindingId(usize);

/// A redaction that was made, without the value that it took away.
#[derive(Clone, Debug)]
pub struct RedactionRecord {
    /// Its number among all redactions of the request, from 0. Never given again.
    pub number: usize,
    /// The leaf.
    pub node: NodeId,
    /// Where it wrote, in the text that it left.
    pub at: Range<usize>,
    /// What was recognised.
    pub label: Arc<str>,
    /// What it wrote: a token, mask, hash or surrogate.
    pub replacement: Arc<str>,
    /// Bytes of the value that it took away.
    pub removed: usize,
    /// On whose behalf.
    pub author: Author,
    /// The id of what recognised it, where that is known.
    pub detector: Option<Arc<str>>,
    /// Whether a person may take it back.
    pub terms: ReleaseTerms,
    /// The stretch of the received text that it took away; `None` where the value was not received as it was found.
    pub received: Option<Range<usize>>,
}

impl RedactionRecord {
    /// Whether a person may take it back, as far as its own terms go.
    pub fn is_releasable(&self) -> bool {
        matches!(self.terms, ReleaseTerms::Releasable(_)) && self.received.is_some()
    }
}

/// The edits that are done and those that were undone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    pub(crate) done: Vec<Edit>,
    pub(crate) undone: Vec<Edit>,
    /// All redactions, in order.
    pub(crate) redactions: Arc<Vec<RedactionRecord>>,
    last_version: Version,
    last_finding: usize,
}

impl Journal {
    pub(crate) fn next_finding(&mut self) -> FindingId {
        self.last_finding += 1;
        FindingId(self.last_finding)
    }

    /// Bytes of memory, about.
    pub(crate) fn memory(&self) -> usize {
        let edits = self.done.iter().chain(&self.undone);
        let edits: usize =
            edits.map(|edit| size_of::<Edit>() + edit.switches.len() * size_of::<Switch>()).sum();
        let redaction = |made: &RedactionRecord| size_of::<RedactionRecord>() + made.replacement.len();
        edits + self.redactions.iter().map(redaction).sum::<usize>()
    }

    pub(crate) fn next_version(&mut self) -> Version {
        self.last_version += 1;
        self.last_version
    }

    /// Leaves out the numbers up to and including one that was given away already.
    pub(crate) fn skip_to(&mut self, version: Version) {
        self.last_version = self.last_version.max(version);
    }

    /// Records an edit that has just been made; what was undone is gone.
    pub(crate) fn record(
        &mut self,
        author: Author,
        kind: EditKind,
        target: NodeId,
        switches: Vec<Switch>,
    ) -> Version {
        let version = self.next_version();
        self.undone.clear();
        self.done.push(Edit { version, author, kind, target, switches });
        version
    }
}
