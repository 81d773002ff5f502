//! Where a value stands that is redacted: in the result of which tool, of which file. The vault
//! remembers it with the token, for the rules that say where a value may return.

use std::sync::Arc;

use leafgate_tree::{NodeId, Section, SectionId, SectionKind};
use leafgate_vault::{FileName, Seen};

use super::Run;
use crate::called;
use crate::condition::FactArguments;

impl Run<'_> {
    /// Returns the call or the result that a section stands in, where it is one of these, and what the tool was
    /// called with.
    fn call_around(
        &self,
        section: Option<SectionId>,
        kinds: &[SectionKind],
    ) -> Option<(&Section, Option<NodeId>)> {
        let mut around = self.document.way_out(section);
        let id = around.find(|&id| kinds.contains(&self.document.section(id).kind))?;
        let arguments = self.arguments.get_or_init(|| self.document.tool_arguments()).get(&id);
        Some((self.document.section(id), arguments.copied()))
    }

    /// Returns what the tool was called with whose call or result a section stands in, where a condition of
    /// the policy asks.
    pub(super) fn called_with(&self, section: Option<SectionId>) -> FactArguments<'_> {
        let asked = section.filter(|_| self.policy.lookup.asked.arguments);
        match self.call_around(asked, &[SectionKind::ToolCall, SectionKind::ToolResult]) {
            None => FactArguments::Unknown,
            Some((_, Some(node))) => FactArguments::Node(self.document, node),
            Some((at, None)) => known_file(at).map_or(FactArguments::Unknown, FactArguments::File),
        }
    }

    /// Returns where a leaf stands.
    pub(super) fn seen(&self, node: NodeId) -> Arc<Seen> {
        let section = self.document.section_of(node);
        let Some((at, arguments)) = self.call_around(section, &[SectionKind::ToolResult]) else {
            return Arc::default();
        };
        let name = match (at.tool.as_deref(), arguments) {
            (Some(tool), Some(arguments)) => called::file_read(tool, self.document, arguments),
            _ => known_file(at).map(str::to_owned),
        };
        Arc::new(Seen { tool: at.tool.clone(), file: name.and_then(|name| FileName::parse(&name)) })
    }
}

/// Returns the file of a call that the conversation before knows.
fn known_file(section: &Section) -> Option<&str> {
    section.call_before.as_ref()?.file.as_deref()
}
