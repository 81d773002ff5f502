//! Texts of packed files in a request: of a PDF, an office document, an archive.
//!
//! Each is judged as a text of the leaf that spells the file, beside that leaf's own. Nothing in it can be
//! replaced, so a finding holds the request as one in an encoded value does.

use std::sync::Arc;

use leafgate_tree::NodeId;

/// One text of a packed file.
#[derive(Clone, derive_more::Debug)]
#[debug("{} bytes in {} at {:?}", self.text.len(), self.what, self.node)]
pub struct FileText {
    /// The leaf that spells the file.
    pub node: NodeId,
    /// What the file is, with an article.
    pub what: &'static str,
    /// The text.
    pub text: Arc<str>,
}
