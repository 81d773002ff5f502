//! Texts in hexadecimal. VS Code writes the configuration of a dev container, host paths and
//! settings included, as hexadecimal digits into the authority of every address. A policy finds
//! secrets there, and can only hold the file for them.
//!
//! Here the policy gets shadows of the export: the same with decoded texts in the places of the encoded
//! ones, so that rules select as they do in the export itself. The redactions there are encoded again and
//! written into the export.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
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

/// Redacts the encoded texts of an export: `judge` redacts the same export with decoded texts in their
/// places, and what it put there is encoded again. It is asked as often as one leaf has different texts.
/// It is not asked where a leaf has too many: a policy finds them in their encoding, and holds the file.
///
/// # Errors
/// Those of `judge`. A leaf that cannot be set, or a draft that renders no JSON, is none of these.
pub fn redact<E: From<EditError> + From<ParseError>>(
    document: &Arc<Document>,
    mut judge: impl FnMut(Bytes) -> Result<Draft, E>,
) -> Result<Draft, E> {
    let hidden = encoded(document);
    let mut by_leaf: BTreeMap<NodeId, BTreeMap<&str, Vec<&Encoded>>> = BTreeMap::new();
    for one in &hidden {
        by_leaf.entry(one.node).or_default().entry(&one.text).or_default().push(one);
    }
    if by_leaf.values().any(|texts| texts.len() > MOST_IN_A_LEAF) {
        by_leaf.clear();
    }
    let mut texts: Vec<_> = by_leaf.into_iter().map(|(node, texts)| (node, texts.into_iter())).collect();
    let mut opened = Draft::new(Arc::clone(document));
    loop {
        let next = texts.iter_mut().filter_map(|(node, texts)| Some((*node, texts.next()?)));
        let round: Vec<_> = next.collect();
        if round.is_empty() {
            return Ok(opened);
        }
        let mut shadow = Draft::new(Arc::clone(document));
        for (node, (text, _)) in &round {
            shadow.set(*node, text, &Author::Person)?;
        }
        let seen = judge(shadow.render())?;
        let after = rendered(&seen, seen.document().format())?;
        for (node, (_, same)) in round {
            let Some(stand_in) = stand_in(&seen, &after, &document.pointer(node)) else { continue };
            // What cannot be written stays, and the policy holds the file for it as well.
            same.into_iter().for_each(|one| drop(write(&mut opened, one, &stand_in)));
        }
    }
}

/// Returns what a policy put in the place of a decoded text, where it redacted something of it.
fn stand_in(seen: &Draft, after: &Document, pointer: &str) -> Option<StandIn> {
    let below = seen.document().subtree(seen.document().resolve(pointer).ok()?);
    let record = seen.redactions().find(|record| below.contains(&record.node.index()))?;
    let replacement = after.settable(after.resolve(pointer).ok()?)?.text().into_cow().into_owned();
    Some(StandIn { label: record.label.clone(), replacement, author: record.author.clone() })
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
