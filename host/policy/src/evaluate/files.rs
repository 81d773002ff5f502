//! Texts of packed files in the body: searched, and asked about, as texts of the leaves that they stand in.

use std::borrow::Cow;
use std::cell::OnceCell;

use leafgate_tree::{Access, Leaf, NodeId};

use super::Run;
use super::search::{Rules, Search};
use super::site::{Site, Why};
use super::subject::Subject;
use crate::condition::ConditionError;
use crate::file_text::FileText;
use crate::index::RuleIndex;

impl<'p> Search<'_, 'p> {
    /// Searches the texts of packed files, each on behalf of the rules that apply to it.
    pub(super) fn files(&mut self, rules: &Rules<'p>) {
        for (number, (leaf, file)) in self.run.files() {
            let applying: Rules<'p> = rules
                .iter()
                .filter(|(rule, _)| self.applies(*rule, &leaf, || (&*file.text).into()))
                .copied()
                .collect();
            let subject = Subject {
                site: Site::File(number),
                leaf: None,
                decoded: OnceCell::from(Cow::Borrowed(&*file.text)),
                access: Access::Open,
                ..Subject::received(leaf, false)
            };
            self.text(&applying, subject);
        }
    }
}

impl<'p> Run<'p> {
    /// Returns the texts of packed files, by their numbers, with their leaves.
    pub(super) fn files(&self) -> impl Iterator<Item = (usize, (Leaf<'p>, &'p FileText))> {
        let (document, texts) = (self.document, self.request.context.files);
        let leaf = move |text: &'p FileText| Some((document.settable(text.node)?, text));
        texts.iter().enumerate().filter_map(move |(number, text)| Some((number, leaf(text)?)))
    }

    /// Returns the first leaf that spells a file to a text of which a rule applies.
    pub(super) fn first_file(&self, index: RuleIndex) -> Result<Option<NodeId>, ConditionError> {
        for (_, (leaf, file)) in self.files() {
            if !self.draft.is_deleted(leaf.id()) && self.applies(index, &leaf, || (&*file.text).into())? {
                return Ok(Some(leaf.id()));
            }
        }
        Ok(None)
    }

    /// Returns where a finding holds the request, and why it cannot be replaced: what stands in the text of
    /// a file stands in its leaf.
    pub(super) fn held_at(&self, site: Site, why: Why) -> (Site, Why) {
        match site {
            Site::File(number) => {
                let file = &self.request.context.files[number];
                (Site::Leaf(file.node), Why::File(file.what))
            }
            site => (site, why),
        }
    }
}
