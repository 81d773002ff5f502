//! Messages that are put in: where they stand, when they do not, and what redaction does with them.
//!
//! A message is put in once. Where the same one stands already, because the client sent it or a
//! rule put it in before, nothing is done: the same request gives the same bytes however often it
//! passes. Whoever put a message in, its text is searched by every redact rule of the request, as
//! any text is: it is no leaf of the received body that a `match` could name.

use std::sync::Arc;

use leafgate_tree::{
    Author, Document, EditError, Inserted, LeafKind, LeafText, NodeId, NodeType, Redaction, Role, SectionId,
    ValueType,
};

use super::edit::Change;
use super::hits::{Hit, exempt, sorted_apart};
use super::search::{Rules, Search};
use super::site::Site;
use super::subject::Subject;
use super::{Run, author};
use crate::index::RuleIndex;
use crate::rule::Rule;

impl<'p> Run<'p> {
    /// Puts a rule's message directly before the latest one of the user.
    pub(super) fn insert(&mut self, index: RuleIndex, rule: &Rule, text: &str) {
        self.edit_request(index, |run| {
            let Some(before) = run.document.latest_user_message() else {
                run.leave_undone(index, None, "no message of the user");
                return Ok(0);
            };
            run.change(index, &author(rule), None, Change::Insert(before, Role::User, text))
        });
    }

    /// Puts a message before another one. Returns `false` where it stands there already.
    pub(super) fn put_in(
        &mut self,
        before: SectionId,
        role: Role,
        text: &str,
        author: &Author,
    ) -> Result<bool, EditError> {
        let node = self.document.section(before).node;
        if self.draft.is_deleted(node) {
            return Err(EditError::Deleted);
        }
        if self.stands_already(before, role, text) {
            return Ok(false);
        }
        self.draft.insert(before, role, text, author).map(|_| true)
    }

    /// Returns true if and only if one of the messages of the same role directly before a place
    /// says the same, as it came or as it leaves.
    fn stands_already(&self, before: SectionId, role: Role, text: &str) -> bool {
        // Redacted alike, a text and what became of it are the same.
        let leaves_as = self.redacted_copy(role, text);
        let same = |other: &str| other == text || leaves_as.as_deref() == Some(other);
        let node = self.document.section(before).node;
        let put_in = |inserted: &Inserted| {
            inserted.before == node && inserted.role == role && same(inserted.text().expose())
        };
        if self.draft.inserted().any(put_in) {
            return true;
        }
        let messages = self.document.sections()[..before.index()].iter().rev();
        let messages = messages.filter(|section| section.node_type == NodeType::Message);
        messages
            .filter(|section| !self.draft.is_deleted(section.node))
            .take_while(|section| section.role == role)
            .filter_map(|section| only_text(self.document, section.node))
            .any(|leaf| {
                let came: LeafText<'_> = self.document.leaf(leaf).expect("it is a leaf").text();
                same(came.expose()) || same(self.draft.text(leaf).expose())
            })
    }

    /// Returns the text as redaction would leave it; `None` where it could not look.
    fn redacted_copy(&self, role: Role, text: &str) -> Option<String> {
        let mut search = Search::new(self);
        search.text(&self.redact_rules(), message_text(Site::Elsewhere, role, text));
        let hits = search.finish().hits.into_iter().map(|(_, hit)| hit).collect();
        let replacements =
            self.replacements(&self.united_of_acting(hits), false, text, &Arc::default()).ok()?;
        let mut copy = text.to_owned();
        for (_, redaction) in replacements.into_iter().rev() {
            copy.replace_range(redaction.at, &redaction.replacement);
        }
        Some(copy)
    }

    /// Replaces what was found in a message that was put in.
    pub(super) fn replace_in_inserted(&mut self, number: usize, hits: Vec<Hit>) {
        let Some(inserted) = self.draft.inserted_at(number) else { return };
        let text = inserted.text().into_cow().into_owned();
        let mut ours = self.vault.keys().find(&text);
        ours.extend(inserted.redacted().into_iter().map(|(range, _)| range));
        let hits = exempt(hits, &sorted_apart(ours), &text);
        self.remember(Site::Inserted(number), &hits);
        let replacements =
            match self.replacements(&self.united_of_acting(hits), false, &text, &Arc::default()) {
                Ok(replacements) => replacements,
                Err((index, collision)) => return self.collided(index, &collision),
            };
        if replacements.is_empty() {
            return;
        }
        for (rule, _) in &replacements {
            self.report.rules[*rule].edits += 1;
        }
        let redactions: Vec<Redaction> = replacements.into_iter().map(|(_, redaction)| redaction).collect();
        self.draft
            .redact_inserted(number, &redactions)
            .expect("united findings are sorted, apart and on the text's own character boundaries");
    }
}

impl<'p> Search<'_, 'p> {
    /// Searches the messages that were put in and stand, but for the first `from`.
    pub(super) fn inserted(&mut self, rules: &Rules<'p>, from: usize) {
        for inserted in self.run.draft.inserted().skip(from) {
            let text = inserted.text().into_cow().into_owned();
            self.text(rules, message_text(Site::Inserted(inserted.number), inserted.role, text));
        }
    }
}

fn message_text<'s>(site: Site, role: Role, text: impl Into<std::borrow::Cow<'s, str>>) -> Subject<'s> {
    Subject { kind: LeafKind::Text, role, key: "content".into(), ..Subject::new(site, text) }
}

/// Returns the one text of a message that holds nothing else.
fn only_text(document: &Document, message: NodeId) -> Option<NodeId> {
    let leaves = document.subtree(message).filter_map(|at| document.leaf(NodeId::from_index(at)));
    let mut texts =
        leaves.filter(|leaf| leaf.kind() == LeafKind::Text && leaf.value_type() == ValueType::Text);
    let only = texts.next()?;
    texts.next().is_none().then_some(only.id())
}
