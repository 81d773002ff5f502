//! A draft as people see it: without values that stand in it and that nobody may read.

use std::ops::Range;
use std::sync::Arc;

use super::Draft;
use crate::changes::display_mask;
use crate::kinds::ValueType;
use crate::node::NodeId;
use crate::pieces::LeafPiece;

/// What a number reads as that nobody may read.
const NO_NUMBER: &str = "0";

impl Draft {
    /// Shows [`display_mask`] in the place of stretches of a leaf, whatever its format says of it: of its present text, and of
    /// the received one. For a copy that people see: what it renders is not what leaves. It is no edit, and no redaction that a
    /// journal has.
    pub fn veil(
        &mut self,
        node: NodeId,
        now: &[(Range<usize>, Arc<str>)],
        received: &[(Range<usize>, Arc<str>)],
    ) {
        let Ok(value) = self.settable(node) else { return };
        let length = self.document.content_text(node).len();
        let before = self.pieces_of(node, length);
        let shown = |label: &Arc<str>, text: &str| LeafPiece::Redacted {
            label: Arc::clone(label),
            text: text.into(),
            record: None,
        };
        let edits: Vec<_> = match (value, now.first()) {
            (ValueType::Text, _) => {
                now.iter().map(|(at, label)| (at.clone(), shown(label, &display_mask(label)))).collect()
            }
            (_, Some((_, label))) => vec![(0..self.text(node).expose().len(), shown(label, NO_NUMBER))],
            (_, None) => Vec::new(),
        };
        let pieces = before.replace(edits);
        self.amend(node, length, pieces, received.to_vec());
    }
}
