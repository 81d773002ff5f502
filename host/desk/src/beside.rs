//! What a client asks beside a turn with the turn's own words: a title, the choice of a model.
//!
//! A rule that holds the turn for its words holds such a request too, and a person would be asked
//! twice about one message. So the request waits with the turn and shares its decision, where
//! nothing leaves by that which nobody looked at. A client, or whoever drives it, may put anything
//! into a side request, and may repeat a turn's words for that very purpose. Hence:
//!
//! - It *repeats* the turn's words only as they would leave, whole, in lines of their own, to the
//!   upstream that the turn goes to.
//! - Every rule that holds it holds the turn as well, for a reason of the same kind.
//! - What it *adds*, which is all of it without those words, would have left by itself without
//!   anybody being asked; or a person let it go before, byte for byte, with other words in their
//!   place. A count of the turn's tokens adds nothing: the turn has all its members, byte for byte.
//!
//! Whatever falls short of that is a turn of its own, and is asked about like any other.
//!
//! It shares the decision as it is. A turn that was let go as it came lets it go, with its own body.
//! One that a person edited before does not: the words that were changed would leave by the side.
//! One that did not leave, by a person, a deadline or the loss of its client, takes it along. It
//! has no deadline of its own.
//!
//! What comes when the turn is over shares its decision for as long as a cancel holds, by the same
//! conditions: clients ask before, beside and behind a turn. A side request that came first stands
//! beside the turn once that comes. The same side request twice at a time is asked about once: the
//! later one stands beside the first.

use std::sync::Arc;

use bytes::Bytes;
use leafgate_policy::{Cause, Hold};
use leafgate_tree::{
    Author, Document, Draft, Format, Leaf, Limits, NodeId, NodeType, Section, SectionId, Segment, ValueType,
};

use crate::digest::Destination;
use crate::identity::TurnId;
use crate::reviewer::Reviewer;

/// A turn whose decision side requests may share.
#[derive(Clone)]
pub struct Lead {
    /// Its number.
    pub turn: TurnId,
    /// What its user said last, as the policy left it.
    pub(crate) said: Arc<str>,
    /// What would leave; `None` once it is over.
    pub(crate) shows: Option<(Format, Bytes)>,
}

/// Turns that a side request is compared with. A client asks beside its latest one.
const MOST_LEADS: usize = 64;

impl Lead {
    /// Whether it has every member of a request, byte for byte.
    fn shows(&self, document: &Document) -> bool {
        let Some((format, body)) = &self.shows else { return false };
        let bytes = |of: &Document, node| of.source().slice(of.body_span(node));
        let members: Vec<NodeId> = document.children(document.root()).collect();
        let longest = members.iter().map(|&member| bytes(document, member)).max_by_key(Bytes::len);
        let Some(longest) = longest.filter(|_| *format == document.format()) else { return false };
        // Whatever is said in it must be found, before the turn is read for where it stands.
        let is_there = match (str::from_utf8(body), str::from_utf8(&longest)) {
            (Ok(body), Ok(longest)) => body.contains(longest),
            _ => false,
        };
        if !is_there {
            return false;
        }
        let Ok(turn) = Document::parse(body.clone(), *format, &Limits::default()) else { return false };
        members.iter().all(|&member| {
            let Some(Segment::Key(key)) = document.segment(member) else { return false };
            let shown = turn.member(turn.root(), &key);
            shown.is_some_and(|shown| bytes(&turn, shown) == bytes(document, member))
        })
    }
}

/// What a side request repeats of a turn, and what it adds.
#[derive(Clone)]
pub struct Repeats {
    pub(crate) turn: TurnId,
    pub(crate) said: Arc<str>,
    pub(crate) adds: Addition,
    /// Whether a rule would hold what it adds.
    pub(crate) is_asked: bool,
}

/// SHA-256 of what a side request adds to the words that it repeats, where and how it goes, and the
/// rules that hold it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Addition([u8; 32]);

impl Repeats {
    /// Returns what a side request that rules hold repeats of one of these turns: of the first of
    /// which it adds nothing that is asked about, or else of the first at all. Looks at no more than
    /// `MOST_LEADS` of them.
    ///
    /// It has the policy judge what is added, so it belongs outside of any lock.
    pub fn of<G: Reviewer>(
        side: &Draft,
        to: &Destination,
        holds: &[Hold],
        reviewer: &G,
        leads: &[Lead],
    ) -> Option<Self> {
        let leads = leads.get(..leads.len().min(MOST_LEADS)).filter(|leads| !leads.is_empty())?;
        let format = side.document().format();
        let document = Arc::new(Document::parse(side.render(), format, &Limits::default()).ok()?);
        let mut first = None;
        for lead in leads {
            let repeats = |adds: &[u8], is_asked: bool| Repeats {
                turn: lead.turn,
                said: Arc::clone(&lead.said),
                adds: Addition::of(to, holds, adds),
                is_asked,
            };
            if lead.shows(&document) {
                return Some(repeats(b"", false));
            }
            let Some(rest) = without(&document, &lead.said) else { continue };
            let found = repeats(&rest.source().clone(), reviewer.asks(rest));
            if !found.is_asked {
                return Some(found);
            }
            first = first.or(Some(found));
        }
        first
    }

    /// Whether these are the words of a turn.
    pub(crate) fn are_of(&self, said: Option<&Arc<str>>) -> bool {
        said == Some(&self.said)
    }
}

impl Addition {
    fn of(to: &Destination, holds: &[Hold], rest: &[u8]) -> Self {
        let mut parts = to.parts();
        holds.iter().for_each(|hold| parts.add(hold.rule.as_bytes()));
        parts.add(rest);
        Addition(parts.finish())
    }
}

/// Whether every rule that holds a side request holds a turn as well. What is held for the request
/// as a whole, and not for what it says, is its own affair.
pub(crate) fn covers<'h>(mut asked: impl Iterator<Item = (&'h str, Cause)> + Clone, holds: &[Hold]) -> bool {
    holds.iter().all(|hold| {
        let key = (&*hold.rule, hold.cause);
        !hold.rule.starts_with('(') && asked.clone().any(|one| one == key)
    }) && asked.next().is_some()
}

/// Takes words out of a request, wherever they stand in lines of their own; `None` where they do not
/// stand anywhere. The last message goes whole where nothing is left of it; any other one stays, for
/// a rule may count those behind it.
fn without(document: &Arc<Document>, said: &str) -> Option<Document> {
    let mut rest = Draft::new(Arc::clone(document));
    for leaf in document.leaves().filter(|leaf| leaf.value_type() == ValueType::Text) {
        if let Some(left) = cut(leaf.text().expose(), said) {
            // What cannot be changed is what it adds.
            let _ = rest.set(leaf.id(), &left, &Author::Person);
        }
    }
    if !rest.is_dirty() {
        return None;
    }
    let is_listed = |section: &Section| section.node_type == NodeType::Message && section.message.is_some();
    let last = document.sections().iter().rposition(is_listed).map(SectionId::from_index);
    if let Some(last) = last.filter(|&last| says_nothing(&rest, document.section(last).node)) {
        let _ = rest.delete(last, &Author::Person);
    }
    Document::parse(rest.render(), document.format(), &Limits::default()).ok()
}

/// Members of a message that has words and nothing else, and what they say besides.
const PLAIN: [&str; 7] = ["role", "content", "parts", "type", "text", "cache_control", "ttl"];
const PLAINLY: [&str; 7] = ["user", "text", "input_text", "message", "ephemeral", "5m", "1h"];

/// Whether words were all that a message said. Anything may stand in a key too.
fn says_nothing(rest: &Draft, message: NodeId) -> bool {
    let document = rest.document();
    let nodes = || document.subtree(message).map(NodeId::from_index);
    let is_plain = |node: NodeId| match document.segment(node) {
        Some(Segment::Key(key)) if node != message => PLAIN.contains(&&*key),
        _ => true,
    };
    let is_blank = |leaf: Leaf<'_>| {
        let text = rest.text(leaf.id());
        text.expose().trim().is_empty() || PLAINLY.contains(&text.expose())
    };
    nodes().all(|node| is_plain(node) && document.leaf(node).is_none_or(is_blank))
        && nodes().any(|node| !rest.is_as_received(node))
}

/// A text without these words; `None` where they do not stand in it in lines of their own.
fn cut(text: &str, said: &str) -> Option<String> {
    let (mut left, mut at, mut found) = (String::new(), 0, false);
    for (start, words) in text.match_indices(said) {
        let end = start + words.len();
        let begins = text[..start].is_empty() || text[..start].ends_with('\n');
        let ends = text[end..].is_empty() || text[end..].starts_with(['\n', '\r']);
        if begins && ends {
            left.push_str(&text[at..start]);
            (at, found) = (end, true);
        }
    }
    left.push_str(&text[at..]);
    found.then_some(left)
}
