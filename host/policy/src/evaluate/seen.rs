//! Where a value stands that is redacted: in the result of which tool, of which file. The vault
//! remembers it with the token, for the rules that say where a value may return.

use std::sync::Arc;

use leafgate_tree::{NodeId, SectionKind};
use leafgate_vault::Seen;

use super::Run;
use crate::called;

impl Run<'_> {
    /// Returns where a leaf stands.
    pub(super) fn seen(&self, node: NodeId) -> Arc<Seen> {
        let mut section = self.document.section_of(node);
        while let Some(id) = section {
            let at = self.document.section(id);
            if at.kind == SectionKind::ToolResult {
                let arguments =
                    self.arguments.get_or_init(|| self.document.tool_arguments()).get(&id).copied();
                let file = at
                    .tool
                    .as_deref()
                    .zip(arguments)
                    .and_then(|(tool, arguments)| called::read_file(tool, self.document, arguments));
                return Arc::new(Seen { tool: at.tool.clone(), file });
            }
            section = at.parent;
        }
        Arc::default()
    }
}
