//! Where a value stands that is redacted: in the result of which tool, of which file. The vault
//! remembers it with the token, for the rules that say where a value may return.

use std::sync::Arc;

use leafgate_tree::{NodeId, SectionKind};
use leafgate_vault::{Seen, editor};

use super::Run;

impl Run<'_> {
    /// Returns where a leaf stands.
    pub(super) fn seen(&self, node: NodeId) -> Arc<Seen> {
        let mut section = self.document.section_of(node);
        while let Some(id) = section {
            let at = self.document.section(id);
            if at.kind == SectionKind::ToolResult {
                let arguments =
                    self.arguments.get_or_init(|| self.document.tool_arguments()).get(&id).copied();
                let path = arguments.and_then(|arguments| self.path_in(arguments));
                return Arc::new(Seen { tool: at.tool.clone(), path });
            }
            section = at.parent;
        }
        Arc::default()
    }

    /// The file that a tool was called with. Of several there is none.
    fn path_in(&self, arguments: NodeId) -> Option<Arc<str>> {
        let mut named = editor::PATHS.iter().filter_map(|key| self.document.member(arguments, key));
        let path = named.next().filter(|_| named.next().is_none())?;
        Some(Arc::from(self.document.leaf(path)?.text().expose()))
    }
}
