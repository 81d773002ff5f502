//! What a transformer needs: `use leafgate_plugin::transform::*;`

use std::ops::Range;

use crate::bindings::transform::exports::leafgate::plugin::transform as wit;

pub use crate::bindings::lifecycle::leafgate::plugin::types::{
    Attribute, Failure, LeafKind, Role, SectionKind, Span, ValueType,
};
pub use wit::{Action, Edit, Leaf, NewSection, Redaction, Section, Target};

/// A request as far as the rule selected it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// `openai-chat`, `openai-responses`, `anthropic-messages`, `raw`, `vscode-chat` or `generic`.
    pub format: String,
    /// The model asked for, or "".
    pub model: String,
    /// Opaque, and the same for every turn of one conversation.
    pub session: String,
    /// Whether a sub-agent sent it.
    pub subagent: bool,
    /// Open vocabulary; skip the names that you do not know.
    pub attributes: Vec<Attribute>,
    /// All sections, in order.
    pub sections: Vec<Section>,
    /// The leaves that the rule selected, in order.
    pub leaves: Vec<Leaf>,
}

impl Request {
    pub(crate) fn new(head: wit::Request, sections: Vec<Section>, leaves: Vec<Leaf>) -> Self {
        let wit::Request { format, model, session, subagent, attributes } = head;
        Request { format, model, session, subagent, attributes, sections, leaves }
    }

    /// The section of a leaf.
    #[must_use]
    pub fn section_of(&self, leaf: &Leaf) -> Option<&Section> {
        self.sections.get(leaf.section as usize)
    }

    /// Whether a leaf lies in a section of this kind, at any depth.
    #[must_use]
    pub fn is_within(&self, leaf: &Leaf, kind: SectionKind) -> bool {
        // No deeper than there are sections, should a parent ever name a child.
        let parents = |section: &&Section| section.parent.and_then(|place| self.sections.get(place as usize));
        std::iter::successors(self.section_of(leaf), parents)
            .take(self.sections.len())
            .any(|section| section.kind == kind)
    }

    /// The texts that tools gave back, whether the leaf says so itself or only its section.
    pub fn results(&self) -> impl Iterator<Item = &Leaf> {
        self.leaves.iter().filter(|leaf| {
            let inside = || leaf.kind == LeafKind::Text && self.is_within(leaf, SectionKind::ToolResult);
            leaf.value == ValueType::Text && (leaf.kind == LeafKind::ToolResult || inside())
        })
    }

    /// Adds a section at the end, for tests.
    #[must_use]
    pub fn with_section(mut self, kind: SectionKind, role: Role) -> Self {
        let label = String::new();
        self.sections.push(Section {
            kind,
            role,
            label,
            tool: None,
            parent: None,
            message: None,
            attributes: vec![],
        });
        self
    }

    /// Adds a text leaf to the last section, for tests.
    #[must_use]
    pub fn with_leaf(mut self, kind: LeafKind, text: impl Into<String>) -> Self {
        let place = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        self.leaves.push(Leaf {
            id: place(self.leaves.len()),
            section: place(self.sections.len().saturating_sub(1)),
            kind,
            value: ValueType::Text,
            pointer: String::new(),
            key: "content".to_owned(),
            text: text.into(),
        });
        self
    }
}

impl Leaf {
    /// Gives the leaf a new text; for a number, a boolean or null, a new JSON spelling.
    #[must_use]
    pub fn set(&self, text: impl Into<String>) -> Edit {
        Edit::new(self.target(), Action::Set(text.into()))
    }

    /// Redacts byte ranges of [`Leaf::text`]; the label is named by its place in the attribute's
    /// `labels`.
    #[must_use]
    pub fn redact(&self, ranges: impl IntoIterator<Item = Range<usize>>, label: u32) -> Edit {
        let redactions = ranges.into_iter().map(|at| Redaction { at: at.into(), label }).collect();
        Edit::new(self.target(), Action::Redact(redactions))
    }

    /// Keeps later rules from changing the leaf.
    #[must_use]
    pub fn pin(&self) -> Edit {
        Edit::new(self.target(), Action::Pin)
    }

    /// The leaf as the target of an [`Edit`].
    #[must_use]
    pub fn target(&self) -> Target {
        Target::Leaf(self.id)
    }
}

impl Edit {
    /// Any action on any target; the host refuses the whole answer where they do not fit.
    #[must_use]
    pub fn new(target: Target, action: Action) -> Self {
        Edit { target, action }
    }

    /// Deletes the message of a section, named by its place in [`Request::sections`].
    #[must_use]
    pub fn delete(section: u32) -> Self {
        Edit::new(Target::Section(section), Action::Delete)
    }

    /// Inserts a message before the one of a section.
    #[must_use]
    pub fn insert_before(section: u32, role: Role, text: impl Into<String>) -> Self {
        Edit::new(Target::Section(section), Action::InsertBefore(NewSection { role, text: text.into() }))
    }

    /// Leaves a remark for the reviewer.
    #[must_use]
    pub fn note(text: impl Into<String>) -> Self {
        Edit::new(Target::Request, Action::Note(text.into()))
    }

    /// Asks a person.
    #[must_use]
    pub fn pause(reason: impl Into<String>) -> Self {
        Edit::new(Target::Request, Action::Pause(reason.into()))
    }

    /// Stops the request.
    #[must_use]
    pub fn block(reason: impl Into<String>) -> Self {
        Edit::new(Target::Request, Action::Block(reason.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_lies_within_all_sections_above_its_own() {
        let mut request = Request::default()
            .with_section(SectionKind::ToolResult, Role::Tool)
            .with_section(SectionKind::ContentPart, Role::Tool)
            .with_leaf(LeafKind::Text, "x");
        request.sections[1].parent = Some(0);
        let leaf = &request.leaves[0];
        assert!(request.is_within(leaf, SectionKind::ToolResult));
        assert!(request.is_within(leaf, SectionKind::ContentPart));
        assert!(!request.is_within(leaf, SectionKind::ToolCall));
    }

    #[test]
    fn parents_in_a_circle_end() {
        let mut request =
            Request::default().with_section(SectionKind::Other, Role::User).with_leaf(LeafKind::Text, "x");
        request.sections[0].parent = Some(0);
        assert!(!request.is_within(&request.leaves[0], SectionKind::ToolResult));
    }
}
