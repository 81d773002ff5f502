//! Where a value stands that is redacted: in the result of which tool, of which file. The vault
//! remembers it with the token, for the rules that say where a value may return.

use std::sync::Arc;

use leafgate_tree::{NodeId, SectionId, SectionKind};
use leafgate_vault::{FileName, Seen};

use super::Run;
use crate::called;
use crate::condition::FactArguments;

impl Run<'_> {
    /// Returns what the tool was called with whose call or result a section stands in, where a condition of
    /// the policy asks.
    pub(super) fn called_with(&self, mut section: Option<SectionId>) -> FactArguments<'_> {
        while let Some(id) = section.filter(|_| self.policy.lookup.asked.arguments) {
            let at = self.document.section(id);
            if matches!(at.kind, SectionKind::ToolCall | SectionKind::ToolResult) {
                let arguments = self.arguments.get_or_init(|| self.document.tool_arguments()).get(&id);
                let file = at.call_before.as_ref().and_then(|call| call.file.as_deref());
                return match (arguments, file) {
                    (Some(&node), _) => FactArguments::Node(self.document, node),
                    (None, Some(file)) => FactArguments::File(file),
                    (None, None) => FactArguments::Unknown,
                };
            }
            section = at.parent;
        }
        FactArguments::Unknown
    }

    /// Returns where a leaf stands.
    pub(super) fn seen(&self, node: NodeId) -> Arc<Seen> {
        let mut section = self.document.section_of(node);
        while let Some(id) = section {
            let at = self.document.section(id);
            if at.kind == SectionKind::ToolResult {
                let arguments = self.arguments.get_or_init(|| self.document.tool_arguments()).get(&id);
                let name = match (at.tool.as_deref(), arguments) {
                    (Some(tool), Some(&arguments)) => called::file_read(tool, self.document, arguments),
                    _ => at.call_before.as_ref().and_then(|call| call.file.as_deref().map(str::to_owned)),
                };
                let file = name.and_then(|name| FileName::parse(&name));
                return Arc::new(Seen { tool: at.tool.clone(), file });
            }
            section = at.parent;
        }
        Arc::default()
    }
}
