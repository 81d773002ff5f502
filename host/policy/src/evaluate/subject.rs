//! One text to search, and what detectors may know about it.
//!
//! What a text lets detectors do is its [`Access`]: in open texts all look, in protected and frozen
//! ones those with a prefix or with check digits, in media nothing but what proves to be text
//! beneath it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use leafgate_tree::{Access, Leaf, LeafKind, Role, ValueType};

use super::Run;
use super::beneath::{Beneath, beneath};
use super::site::Site;
use crate::memo::{Digest, Memo};
use crate::work;

/// One text to search, and what detectors may know about it.
#[derive(Default)]
pub(super) struct Subject<'s> {
    pub(super) site: Site,
    /// The text, once somebody asked: see [`Subject::text`].
    pub(super) decoded: OnceCell<Cow<'s, str>>,
    /// What the memo knows the text by, once it was asked.
    pub(super) digest: OnceCell<Option<Digest>>,
    /// The leaf whose text it is, as long as that is spelled as it came.
    pub(super) leaf: Option<Leaf<'s>>,
    pub(super) key: Cow<'s, str>,
    pub(super) kind: LeafKind,
    pub(super) value: ValueType,
    pub(super) role: Role,
    pub(super) tool: Option<&'s str>,
    pub(super) access: Access,
    /// Whether the text may spell a document whose inner leaves nobody has walked.
    pub(super) unwalked: bool,
    /// The texts beneath this one, once somebody asked: see [`Subject::beneath`].
    pub(super) beneath: Option<Vec<Arc<Beneath>>>,
}

impl<'s> Subject<'s> {
    /// Returns a text of which nothing else is known.
    pub(super) fn new(site: Site, text: impl Into<Cow<'s, str>>) -> Self {
        Subject { site, decoded: OnceCell::from(text.into()), ..Subject::default() }
    }

    /// Returns the present text of a leaf.
    pub(super) fn of_leaf(run: &'s Run<'_>, leaf: Leaf<'s>) -> Self {
        let unwalked = run.draft.is_unwalked(leaf.id());
        match run.draft.is_as_received(leaf.id()) {
            true => Subject::received(leaf, unwalked),
            false => Subject {
                leaf: None,
                decoded: OnceCell::from(run.draft.text(leaf.id()).into_cow()),
                ..Subject::received(leaf, unwalked)
            },
        }
    }

    /// Returns the text of a leaf as it was received.
    pub(super) fn received(leaf: Leaf<'s>, unwalked: bool) -> Self {
        Subject {
            site: Site::Leaf(leaf.id()),
            leaf: Some(leaf),
            key: leaf.key(),
            kind: leaf.kind(),
            value: leaf.value_type(),
            role: leaf.role(),
            tool: leaf.tool(),
            access: leaf.access(),
            unwalked,
            ..Subject::default()
        }
    }

    /// Returns the text. That of a leaf is decoded when it is first asked for.
    pub(super) fn text(&self) -> &str {
        self.decoded.get_or_init(|| {
            let text = self.leaf.map(|leaf| leaf.text().into_cow()).unwrap_or_default();
            work::decoded(text.len());
            text
        })
    }

    /// Returns what the memo knows the text by; `None` where it is not worth remembering. It goes by
    /// the spelling: nothing is decoded for it.
    pub(super) fn digest(&self, memo: &Memo) -> Option<Digest> {
        let spelling = || self.leaf.map_or_else(|| (self.text(), false), |leaf| leaf.spelling());
        *self.digest.get_or_init(|| memo.digest(spelling()))
    }

    /// Returns the texts beneath this one. They are looked for when they are first asked for.
    pub(super) fn beneath(&mut self) -> &[Arc<Beneath>] {
        if self.beneath.is_none() {
            let all = beneath(self.access, self.value, self.text(), self.unwalked);
            self.beneath = Some(all.into_iter().map(Arc::new).collect());
        }
        self.beneath.as_deref().unwrap_or_default()
    }

    /// Records that nothing is beneath the text.
    pub(super) fn is_plain(&mut self) {
        self.beneath = Some(Vec::new());
    }

    /// Returns true if and only if all that can be beneath the text is what is encoded in it.
    pub(super) fn is_walked_text(&self) -> bool {
        let decoded = matches!(self.access, Access::Open | Access::Protected);
        decoded && !self.unwalked && self.value == ValueType::Text
    }

    /// Returns true if and only if nothing but what proves to be text beneath it is searched.
    pub(super) fn is_media(&self) -> bool {
        self.access == Access::Opaque
    }

    /// Returns true if and only if plugins are shown the text itself. They have no notion of a
    /// prefix: of what cannot be changed, they see names alone.
    pub(super) fn is_for_plugins(&self) -> bool {
        match self.access {
            Access::Open => true,
            Access::Protected => matches!(self.kind, LeafKind::Metadata | LeafKind::ToolSchema),
            Access::Frozen | Access::Opaque => false,
        }
    }

    pub(super) fn is_decoded_for_plugins(&self) -> bool {
        self.access == Access::Opaque || self.is_for_plugins()
    }

    /// Whether something can stand in the place of a part of it.
    pub(super) fn is_replaceable(&self, run: &Run<'_>) -> bool {
        self.site.is_replaced()
            && self.access == Access::Open
            && self.value == ValueType::Text
            && !run.document.is_raw()
    }

    /// Returns true if and only if a plugin must be sure: a guess about what cannot be replaced
    /// would hold the request.
    pub(super) fn wants_certainty(&self) -> bool {
        self.access != Access::Open || matches!(self.site, Site::Key(_))
    }
}
