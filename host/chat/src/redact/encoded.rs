//! Texts in hexadecimal. VS Code writes the configuration of a dev container, host paths and
//! settings included, as hexadecimal digits into the authority of every address. A policy finds
//! secrets there, and can only hold the file for them.
//!
//! Here the policy gets a [`DecodedShadow`]: the same export with decoded texts in the places of the
//! encoded ones, so that rules select as they do in the export itself. The redactions there are
//! encoded again and written into the export.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use leafgate_detect::Encoding;
use leafgate_tree::{
    Access, Author, Document, Draft, EditError, Leaf, NodeId, ParseError, Redaction, ValueType,
};

use super::{StandIn, rendered};

/// A stretch of a leaf that spells a text in hexadecimal. It has no `Debug`, because the text is
/// the user's.
#[derive(Clone)]
pub struct Encoded {
    /// The leaf.
    pub node: NodeId,
    /// The digits, in UTF-8 bytes of the leaf's text as received.
    pub at: Range<usize>,
    /// The text.
    pub text: String,
}

/// Returns the encoded texts of an export, in order, without those of frozen and opaque leaves,
/// which nobody can change.
pub fn encoded(document: &Document) -> Vec<Encoded> {
    let mut found = Vec::new();
    let is_looked_at = |leaf: &Leaf<'_>| {
        // A number of many digits may spell a text too, and could not hold it.
        leaf.value_type() == ValueType::Text && !matches!(leaf.access(), Access::Frozen | Access::Opaque)
    };
    for leaf in document.leaves().filter(is_looked_at) {
        for view in leafgate_detect::views(leaf.text().expose()) {
            let (text, at) = (view.text(), view.source(0..view.text().len()).range);
            // Other views are not encoded again: those of a part of the text, or of other
            // encodings. The policy holds them.
            if view.encodings().eq([Encoding::Hex]) && at.len() == 2 * text.len() {
                found.push(Encoded { node: leaf.id(), at, text: text.to_owned() });
            }
        }
    }
    found
}

/// Returns a document whose keys are the decoded texts of the keys of an export. `None` if there
/// are none. Keys are read-only, so a policy can only hold a file for them.
pub fn encoded_keys(document: &Document) -> Option<String> {
    let mut members = BTreeMap::new();
    for key in document.keys() {
        let views = leafgate_detect::views(key.text.expose());
        members.extend(views.into_iter().map(|view| (view.text().to_owned(), 0)));
    }
    (!members.is_empty()).then(|| serde_json::to_string(&members).expect("texts and numbers are JSON"))
}

fn encode(text: &str, like: &str) -> String {
    if like.bytes().any(|byte| byte.is_ascii_uppercase()) {
        base16ct::upper::encode_string(text.as_bytes())
    } else {
        base16ct::lower::encode_string(text.as_bytes())
    }
}

/// How many different encoded texts of one leaf are shown. Each costs a copy of the export and a
/// run of the policy; an address of a dev container has two.
const MOST_IN_A_LEAF: usize = 64;

/// An export in which each leaf with encoded text holds one such text, decoded, instead.
pub struct DecodedShadow<'e> {
    /// The export's bytes with the decoded texts in them.
    pub bytes: bytes::Bytes,
    places: Vec<(String, Vec<&'e Encoded>)>,
}

/// A redaction of an encoded text. It has no `Debug`: it holds the text.
pub struct Reencoded<'e> {
    encoded: &'e Encoded,
    /// With the whole text, redacted.
    stand_in: StandIn,
}

/// Returns the shadows that show all encoded texts, one after the other: as many as one leaf has
/// different texts. There is none where a leaf has too many: a policy finds them in their encoding, and holds the file.
pub fn shadows<'e>(
    document: &Arc<Document>,
    encoded: &'e [Encoded],
) -> impl Iterator<Item = Result<DecodedShadow<'e>, EditError>> {
    let mut by_leaf: BTreeMap<NodeId, BTreeMap<&str, Vec<&Encoded>>> = BTreeMap::new();
    for one in encoded {
        by_leaf.entry(one.node).or_default().entry(&one.text).or_default().push(one);
    }
    if by_leaf.values().any(|texts| texts.len() > MOST_IN_A_LEAF) {
        by_leaf.clear();
    }
    let mut texts: Vec<_> = by_leaf.into_iter().map(|(node, texts)| (node, texts.into_values())).collect();
    let document = Arc::clone(document);
    std::iter::from_fn(move || {
        let round: Vec<_> =
            texts.iter_mut().filter_map(|(node, texts)| Some((*node, texts.next()?))).collect();
        (!round.is_empty()).then(|| shadow(&document, round))
    })
}

fn shadow<'e>(
    document: &Arc<Document>,
    round: Vec<(NodeId, Vec<&'e Encoded>)>,
) -> Result<DecodedShadow<'e>, EditError> {
    let mut draft = Draft::new(Arc::clone(document));
    for (node, same) in &round {
        let text = same.first().map_or("", |one| &one.text);
        draft.set(*node, text, &Author::Person)?;
    }
    let places = round.into_iter().map(|(node, same)| (document.pointer(node), same)).collect();
    Ok(DecodedShadow { bytes: draft.render(), places })
}

impl<'e> DecodedShadow<'e> {
    /// Returns the policy's redactions in the decoded texts, given its draft of the shadow.
    ///
    /// # Errors
    /// A draft that renders no JSON, which none does.
    pub fn redacted(&self, draft: &Draft) -> Result<Vec<Reencoded<'e>>, ParseError> {
        let before = draft.document();
        let after = rendered(draft, before.format())?;
        let found = self.places.iter().filter_map(|(pointer, same)| {
            let node = before.resolve(pointer).ok()?;
            let below = before.subtree(node);
            let record = draft.redactions().find(|record| below.contains(&record.node.index()))?;
            let stand_in = StandIn {
                label: record.label.clone(),
                replacement: after.settable(after.resolve(pointer).ok()?)?.text().into_cow().into_owned(),
                author: record.author.clone(),
            };
            let again = move |&encoded: &&'e Encoded| Reencoded { encoded, stand_in: stand_in.clone() };
            Some(same.iter().map(again).collect::<Vec<_>>())
        });
        Ok(found.flatten().collect())
    }
}

impl Reencoded<'_> {
    /// Writes the redacted text into the export, encoded as before.
    ///
    /// # Errors
    /// The leaf cannot be redacted, or no longer holds the encoded text.
    pub fn write(&self, draft: &mut Draft) -> Result<(), EditError> {
        write(draft, self.encoded, &self.stand_in)
    }
}

/// Replaces an encoded text by another one.
pub(super) fn write(draft: &mut Draft, encoded: &Encoded, stand_in: &StandIn) -> Result<(), EditError> {
    let original = draft.document().settable(encoded.node).ok_or(EditError::NotALeaf)?;
    let original = original.text();
    let digits = original.expose()[encoded.at.clone()].to_owned();
    let ends = ends(original.expose(), &encoded.at);
    let start = find_run(draft.text(encoded.node).expose(), &digits, ends).ok_or(EditError::BadRange)?;
    let replacement = encode(&stand_in.replacement, &digits);
    let redaction = Redaction { replacement, ..stand_in.redaction(start..start + digits.len()) };
    draft.redact(encoded.node, &[redaction], &stand_in.author)
}

/// Returns whether a hexadecimal digit stands directly before a range, and behind it.
fn ends(text: &str, at: &Range<usize>) -> (bool, bool) {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    (is_digit(text.as_bytes()[..at.start].last()), is_digit(text.as_bytes()[at.end..].first()))
}

/// Finds digits that end as they did in the received text: the same digits may also be a part of a
/// longer run.
fn find_run(text: &str, digits: &str, received: (bool, bool)) -> Option<usize> {
    let mut from = 0;
    loop {
        let start = from + text[from..].find(digits)?;
        if ends(text, &(start..start + digits.len())) == received {
            return Some(start);
        }
        // The next match may overlap this one: `0101` begins twice in `010101`.
        from = start + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_run_with_the_same_digits_stays() {
        let alone = (false, false);
        assert_eq!(find_run("ff6162 and 6162.", "6162", alone), Some(11));
        assert_eq!(find_run("616261 616 6162", "6162", alone), Some(11));
        assert_eq!(find_run("6162", "6162", alone), Some(0));
        assert_eq!(find_run("61626 x6162f", "6162", alone), None);
        assert_eq!(find_run("6162 and f6162", "6162", (true, false)), Some(10));
    }
}
