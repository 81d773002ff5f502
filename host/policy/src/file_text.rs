//! Texts of packed files in a request: of a PDF, an office document, an archive.
//!
//! Each is judged as a text of the leaf that spells the file, beside that leaf's own. Nothing in it can be
//! replaced, so a finding holds the request as one in an encoded value does.

use std::fmt;
use std::sync::Arc;

use leafgate_tree::NodeId;

/// One text of a packed file.
#[derive(Clone)]
pub struct FileText {
    /// The leaf that spells the file.
    pub node: NodeId,
    /// What the file is, with an article.
    pub what: &'static str,
    /// The text.
    pub text: Arc<str>,
}

impl fmt::Debug for FileText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes in {} at {:?}", self.text.len(), self.what, self.node)
    }
}
