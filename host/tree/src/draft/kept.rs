//! What nobody may change or leave out, a person neither: redaction alone writes there.

use super::{Draft, EditError};
use crate::journal::Author;
use crate::node::NodeId;
use crate::section::SectionId;

impl Draft {
    /// Keeps the text of a leaf as it is. The first to keep it is named.
    pub fn keep_text(&mut self, node: NodeId, by: &Author) {
        self.kept_texts.entry(node).or_insert_with(|| by.clone());
    }

    /// Keeps a section from being left out. The first to keep it is named.
    pub fn keep_section(&mut self, section: SectionId, by: &Author) {
        let node = self.document.section(section).node;
        self.kept_sections.entry(node).or_insert_with(|| by.clone());
    }

    /// Who keeps the text of a leaf, or of anything that a string spells.
    pub fn kept_by(&self, node: NodeId) -> Option<&Author> {
        self.kept_texts.range(self.document.nodes_in(node)).next().map(|(_, by)| by)
    }

    /// Whether anybody keeps a section from being left out.
    pub fn is_section_kept(&self, section: SectionId) -> bool {
        self.kept_sections.contains_key(&self.document.section(section).node)
    }

    /// Nothing that would be left out with these is kept.
    pub(super) fn may_leave_out(&self, nodes: &[NodeId]) -> Result<(), EditError> {
        let mut within =
            nodes.iter().flat_map(|&node| self.kept_sections.range(self.document.nodes_in(node)));
        within.next().map_or(Ok(()), |(_, by)| Err(EditError::Kept { by: by.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Document, Format, Limits, Redaction};

    fn draft() -> Draft {
        let body = r#"{"messages": [
            {"role": "user", "content": "{\"a\": \"one\"}"}, {"role": "user", "content": "two"}
        ]}"#;
        Draft::new(Arc::new(Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap()))
    }

    #[test]
    fn what_is_kept_is_redacted_and_nothing_else() {
        let mut draft = draft();
        let rule = Author::rule("house");
        let inner = draft.document().resolve("/messages/0/content/a").unwrap();
        let whole = draft.document().resolve("/messages/0/content").unwrap();
        draft.keep_text(inner, &rule);
        let kept = Err(EditError::Kept { by: rule.clone() });
        assert_eq!(draft.set(inner, "x", &Author::Person), kept);
        assert_eq!(draft.set(whole, "{}", &Author::Person), kept, "it would go with what is around it");
        let redaction = Redaction::new(0..3, "WORD", "WORD_1");
        draft.redact(inner, &[redaction], &rule).unwrap();
        assert_eq!(draft.text(inner).expose(), "WORD_1");
    }

    #[test]
    fn a_section_that_is_kept_is_not_left_out_and_others_are() {
        let mut draft = draft();
        let section = |draft: &Draft, at: &str| {
            draft.document().section_of(draft.document().resolve(at).unwrap()).unwrap()
        };
        let (first, second) = (section(&draft, "/messages/0"), section(&draft, "/messages/1"));
        draft.keep_section(first, &Author::rule("house"));
        assert!(draft.is_section_kept(first) && !draft.is_section_kept(second));
        assert!(matches!(draft.delete(first, &Author::Person), Err(EditError::Kept { .. })));
        draft.delete(second, &Author::Person).unwrap();
    }
}
