//! Values over the seam of two pieces. An editor cuts an answer and its reasoning into parts as
//! they come, and a value may begin in one part and end in the next, so that no detector finds it
//! in either.
//!
//! The policy gets the export once more with each text [`joined`] in its first piece. Its
//! redactions over a seam are then made here, each piece with its share: the first gets the token,
//! and the others lose their part of the value, so that the joined pieces read as the joined text
//! does.

use std::ops::Range;
use std::sync::Arc;

use leafgate_tree::{Access, Author, Document, Draft, EditError, NodeId, ValueType};

use super::StandIn;
use crate::export;
use crate::node::JsonView;

/// The pieces of one text, in order. It has no `Debug`: it holds the text.
pub struct SeamRun {
    pieces: Vec<SeamPiece>,
    /// Prefix of the joined text.
    prefix: &'static str,
}

struct SeamPiece {
    node: NodeId,
    text: String,
    /// Its start in the joined text with the prefix.
    start: usize,
}

/// A value over a seam.
pub struct SeamFinding {
    /// The value itself. It has no `Debug`.
    pub value: String,
    pub(super) stand_in: StandIn,
    /// The share of each piece.
    shares: Vec<(NodeId, Range<usize>)>,
}

/// The policy's redactions in joined texts.
#[derive(Default)]
pub struct Finds {
    /// The values over seams.
    pub values: Vec<SeamFinding>,
    /// First pieces of texts with a value over a seam whose place is unknown.
    pub unclear: Vec<NodeId>,
}

/// Prefix of a joined text that would be read as a JSON document, in which the places of the pieces
/// would be lost.
const NO_DOCUMENT: &str = "- ";

/// Returns the texts that an export holds in several pieces.
pub fn runs(document: &Document) -> Vec<SeamRun> {
    let groups: Vec<Vec<NodeId>> =
        export::pieces(document).iter().map(|pieces| pieces.iter().map(|piece| piece.id).collect()).collect();
    runs_of(document, &groups)
}

/// Returns the texts of these groups of leaves, each in order.
pub fn runs_of(document: &Document, groups: &[Vec<NodeId>]) -> Vec<SeamRun> {
    let mut runs = Vec::new();
    for group in groups {
        let pieces: Vec<JsonView<'_>> = group.iter().map(|&node| JsonView::of(document, node)).collect();
        // A piece that nobody may change ends a text: nothing over its seam could be redacted, and
        // the policy searches it alone.
        for run in pieces.split(|piece| !is_open(document, *piece)) {
            runs.extend(SeamRun::of(run));
        }
    }
    runs
}

fn is_open(document: &Document, piece: JsonView<'_>) -> bool {
    document
        .settable(piece.id)
        .is_some_and(|leaf| leaf.value_type() == ValueType::Text && leaf.access() == Access::Open)
}

/// Returns the export with each of these texts in its first piece, and empty other pieces.
///
/// # Errors
/// A leaf that cannot be set. None of these is one.
pub fn joined(document: &Arc<Document>, runs: &[SeamRun]) -> Result<bytes::Bytes, EditError> {
    let mut draft = Draft::new(Arc::clone(document));
    for run in runs {
        draft.set(run.first(), &run.text(), &Author::Person)?;
        for piece in &run.pieces[1..] {
            draft.set(piece.node, "", &Author::Person)?;
        }
    }
    Ok(draft.render())
}

/// Returns the policy's redactions over seams, given its draft of the joined export.
pub fn found(document: &Document, runs: &[SeamRun], seen: &Draft) -> Finds {
    let mut finds = Finds::default();
    for run in runs {
        let Ok(node) = seen.document().resolve(&document.pointer(run.first())) else { continue };
        match super::traced(seen, node) {
            Some(traced) => {
                let over = traced.into_iter().filter(|(range, _)| run.is_over_seam(range));
                finds.values.extend(over.map(|(range, stand_in)| run.found(&range, stand_in)));
            }
            None if seen.hidden(node).iter().any(|(range, _)| run.is_over_seam(range)) => {
                finds.unclear.push(run.first());
            }
            None => {}
        }
    }
    finds
}

impl SeamRun {
    /// `None`: fewer than two of the pieces have content.
    fn of(nodes: &[JsonView<'_>]) -> Option<SeamRun> {
        let texts = nodes.iter().filter_map(|node| Some((node.id, node.text()?.into_owned())));
        let texts: Vec<_> = texts.filter(|(_, text)| !text.is_empty()).collect();
        let (_, first) = texts.iter().find(|(_, text)| !text.trim_start().is_empty())?;
        let prefix = if first.trim_start().starts_with(['{', '[']) { NO_DOCUMENT } else { "" };
        let mut start = prefix.len();
        let pieces = texts.iter().map(|(node, text)| {
            let piece = SeamPiece { node: *node, text: text.clone(), start };
            start += text.len();
            piece
        });
        let pieces: Vec<SeamPiece> = pieces.collect();
        (pieces.len() > 1).then_some(SeamRun { pieces, prefix })
    }

    fn first(&self) -> NodeId {
        self.pieces[0].node
    }

    fn text(&self) -> String {
        self.pieces.iter().fold(self.prefix.to_owned(), |text, piece| text + &piece.text)
    }

    /// Returns whether a range of the joined text lies in more than one piece.
    fn is_over_seam(&self, range: &Range<usize>) -> bool {
        self.within(range).len() > 1
    }

    /// Returns the pieces in which a range of the joined text lies.
    fn within(&self, range: &Range<usize>) -> &[SeamPiece] {
        let first = self.pieces.partition_point(|piece| piece.start + piece.text.len() <= range.start);
        let end = self.pieces.partition_point(|piece| piece.start < range.end);
        self.pieces.get(first..end).unwrap_or_default()
    }

    fn found(&self, range: &Range<usize>, stand_in: StandIn) -> SeamFinding {
        let mut value = String::new();
        let mut shares = Vec::new();
        for piece in self.within(range) {
            let end = range.end.min(piece.start + piece.text.len()) - piece.start;
            let at = range.start.saturating_sub(piece.start)..end;
            value.push_str(&piece.text[at.clone()]);
            shares.push((piece.node, at));
        }
        SeamFinding { value, stand_in, shares }
    }
}

/// Redacts the share of each piece.
///
/// # Errors
/// A piece that cannot be redacted. None of these is one.
pub fn redact(draft: &mut Draft, finds: &Finds) -> Result<(), EditError> {
    let mut shares = Vec::new();
    for SeamFinding { stand_in, shares: of, .. } in &finds.values {
        shares.extend(of.iter().enumerate().map(|(at, (node, range))| (*node, range, at == 0, stand_in)));
    }
    // From the end, so that earlier offsets stay valid.
    shares.sort_by_key(|(node, range, ..)| std::cmp::Reverse((*node, range.start)));
    for (node, range, is_first, stand_in) in shares {
        let mut redaction = stand_in.redaction(range.clone());
        // The first piece has the token.
        if !is_first {
            redaction.replacement.clear();
        }
        draft.redact(node, &[redaction], &stand_in.author)?;
    }
    Ok(())
}
