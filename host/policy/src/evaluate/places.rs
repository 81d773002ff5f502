//! Pointers for reports and holds. A key is text of the request too: one that holds a finding is not spelled.

use leafgate_tree::{NodeId, Segment};

use super::Run;

/// What stands for a key that holds a finding.
const MASKED_KEY: &str = "[KEY]";

impl Run<'_> {
    /// The RFC 6901 pointer of a value in the request as received, with [`MASKED_KEY`] for every key that holds a finding.
    pub(super) fn pointer(&self, node: NodeId) -> String {
        if self.tainted.is_empty() {
            return self.document.pointer(node);
        }
        let way = std::iter::successors(Some(node), |&at| self.document.parent(at));
        let mut segments: Vec<String> = way.filter_map(|at| self.segment(at)).collect();
        segments.reverse();
        segments.iter().flat_map(|segment| ["/", segment]).collect()
    }

    fn segment(&self, node: NodeId) -> Option<String> {
        Some(match self.document.segment(node)? {
            Segment::Key(_) if self.tainted.contains(&node) => MASKED_KEY.to_owned(),
            Segment::Key(key) => key.replace('~', "~0").replace('/', "~1"),
            Segment::Index(index) => index.to_string(),
        })
    }
}
