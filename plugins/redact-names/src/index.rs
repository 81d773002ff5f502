//! All ways to write all names, as one trie that is followed from each beginning of a word.
//!
//! For `Augusta Ada King` these are: the words in order, joined by anything that joins words;
//! `King, Augusta Ada`; initials for any given names but the whole name's last word (`A. A. King`,
//! `Augusta A. King`, `King, A. A.`); and without the names in the middle.

use std::ops::Range;

use smallvec::SmallVec;

use crate::begin::{Beginnings, Edge, ends_word};
use crate::fold::{self, FoldCursor};

/// A node of the trie.
#[derive(Default)]
struct TrieNode {
    /// The edges with the nodes that they lead to, in order. Most nodes have one, and it stands in the
    /// node: what memory the trie takes is what each call of the plugin puts back.
    edges: SmallVec<[(Edge, usize); 1]>,
    ends: bool,
}

impl TrieNode {
    /// Returns the node that an edge leads to, or the place where the edge belongs.
    fn next(&self, edge: Edge) -> Result<usize, usize> {
        self.edges.binary_search_by_key(&edge, |(edge, _)| *edge).map(|at| self.edges[at].1)
    }
}

/// The ways to write names.
struct Trie {
    nodes: Vec<TrieNode>,
}

/// Names, ready to be found.
pub struct NameIndex {
    trie: Trie,
    beginnings: Beginnings,
}

impl NameIndex {
    /// Makes an index of names in full.
    ///
    /// # Errors
    /// The place of a name, and why it is none: with fewer than two letters it would be found
    /// everywhere.
    pub fn of(names: &[impl AsRef<str>]) -> Result<Self, (usize, &'static str)> {
        let mut trie = Trie { nodes: vec![TrieNode::default()] };
        for (place, name) in names.iter().enumerate() {
            trie.add(name.as_ref()).map_err(|reason| (place, reason))?;
        }
        let beginnings = trie.beginnings();
        Ok(NameIndex { trie, beginnings })
    }

    /// Byte ranges of names, in order and apart.
    pub fn find<'s>(&'s self, text: &'s str) -> impl Iterator<Item = Range<usize>> + 's {
        let mut from = 0;
        std::iter::from_fn(move || {
            while let Some(start) = self.beginnings.next(text, from) {
                if let Some(end) = self.trie.longest(0, FoldCursor::new(text, start)) {
                    from = end;
                    return Some(start..end);
                }
                from = start + text[start..].chars().next().map_or(1, char::len_utf8);
            }
            None
        })
    }
}

impl Trie {
    fn add(&mut self, name: &str) -> Result<(), &'static str> {
        if name.chars().filter(|character| character.is_alphanumeric()).count() < 2 {
            return Err("has fewer than two letters");
        }
        let is_join =
            |character: char| character.is_whitespace() || matches!(character, '-' | '_' | '.' | ',');
        let words: Vec<&str> = name.split(is_join).filter(|word| !word.is_empty()).collect();
        for spelling in [fold::folded, fold::transliterated] {
            self.add_words(&words.iter().map(|word| spelling(word)).collect::<Vec<_>>());
        }
        Ok(())
    }

    fn add_words(&mut self, words: &[String]) {
        let Some((last, given)) = words.split_last() else { return };
        for given in given_names(given) {
            let joined = self.add_given(0, &given, Edge::Join);
            self.add_word(joined, last, true);
            if !given.is_empty() {
                let last_first = self.add_word(0, last, false);
                let comma = self.step(last_first, Edge::Comma);
                self.add_given_at_end(comma, &given);
            }
        }
    }

    /// Given names, each with what joins it to what follows.
    fn add_given(&mut self, mut node: usize, given: &[GivenName<'_>], join: Edge) -> usize {
        for name in given {
            node = self.add_one(node, *name);
            node = self.step(node, join);
        }
        node
    }

    /// Given names with nothing after them.
    fn add_given_at_end(&mut self, node: usize, given: &[GivenName<'_>]) {
        let Some((last, before)) = given.split_last() else { return };
        let node = self.add_given(node, before, Edge::Join);
        let node = self.add_one(node, *last);
        self.nodes[node].ends = true;
    }

    fn add_one(&mut self, node: usize, name: GivenName<'_>) -> usize {
        match name {
            GivenName::Full(word) => self.add_word(node, word, false),
            GivenName::Initial(letter) => {
                let node = self.step(node, Edge::Letter(letter));
                self.step(node, Edge::Stop)
            }
        }
    }

    fn add_word(&mut self, mut node: usize, word: &str, ends: bool) -> usize {
        for letter in word.chars() {
            node = self.step(node, Edge::Letter(letter));
        }
        self.nodes[node].ends |= ends;
        node
    }

    fn step(&mut self, node: usize, edge: Edge) -> usize {
        let fresh = self.nodes.len();
        let from = &mut self.nodes[node];
        match from.next(edge) {
            Ok(next) => next,
            Err(at) => {
                from.edges.insert(at, (edge, fresh));
                self.nodes.push(TrieNode::default());
                fresh
            }
        }
    }

    /// The first two characters of all names.
    fn beginnings(&self) -> Beginnings {
        let mut beginnings = Beginnings::default();
        for (edge, next) in &self.nodes[0].edges {
            if let Edge::Letter(first) = edge {
                self.allow(&mut beginnings, *first, *next);
            }
        }
        beginnings
    }

    fn allow(&self, beginnings: &mut Beginnings, first: char, node: usize) {
        let node = &self.nodes[node];
        if node.ends {
            beginnings.allow(first, None);
        }
        for &(edge, next) in &node.edges {
            beginnings.allow(first, Some(edge));
            // Nothing need stand between two words.
            if edge == Edge::Join {
                self.allow(beginnings, first, next);
            }
        }
    }

    /// End of the longest name that begins here. As deep as a name is long, and no text makes it
    /// longer.
    fn longest(&self, node: usize, cursor: FoldCursor<'_>) -> Option<usize> {
        let node = &self.nodes[node];
        let here = cursor.boundary().filter(|_| node.ends && ends_word(cursor));
        // Letters come first in the order of edges.
        let further = node.edges.iter().rev().take_while(|(edge, _)| !matches!(edge, Edge::Letter(_)));
        let joined = further.filter_map(|&(edge, next)| match edge {
            Edge::Join => {
                let behind = join(cursor).and_then(|length| self.longest(next, cursor.skip(length)));
                self.longest(next, cursor).max(behind)
            }
            Edge::Comma => self.longest(next, cursor.skip(comma(cursor)?)),
            Edge::Stop => self.longest(next, cursor.skip(stop(cursor)?)),
            Edge::Letter(_) => None,
        });
        let letter = cursor
            .next()
            .and_then(|(letter, behind)| self.longest(node.next(Edge::Letter(letter)).ok()?, behind));
        joined.chain(letter).chain(here).max()
    }
}

/// A given name as it may be written.
#[derive(Clone, Copy)]
enum GivenName<'w> {
    Full(&'w str),
    Initial(char),
}

/// The ways to write given names: in full, with initials from some place on, as initials, and
/// without those in the middle.
fn given_names(words: &[String]) -> Vec<Vec<GivenName<'_>>> {
    let initial = |word: &String| word.chars().next().map(GivenName::Initial);
    let from = |full: usize| {
        let (whole, short) = words.split_at(full);
        whole.iter().map(|word| GivenName::Full(word)).chain(short.iter().filter_map(initial)).collect()
    };
    let mut ways: Vec<Vec<GivenName<'_>>> = (0..=words.len()).map(from).collect();
    if let [first, _, ..] = words {
        ways.push(vec![GivenName::Full(first)]);
    }
    ways
}

/// Length of what joins two words here, where there is something.
fn join(cursor: FoldCursor<'_>) -> Option<usize> {
    cursor.boundary()?;
    let rest = cursor.rest();
    let blank = blanks(rest);
    if blank > 0 {
        return Some(blank);
    }
    let joins = ["-", "_", ".", "+", "%20", "\u{2010}", "\u{2011}"];
    joins.iter().find(|join| rest.starts_with(**join)).map(|join| join.len())
}

fn comma(cursor: FoldCursor<'_>) -> Option<usize> {
    cursor.boundary()?;
    cursor.rest().strip_prefix(',').map(|rest| 1 + blanks(rest))
}

fn stop(cursor: FoldCursor<'_>) -> Option<usize> {
    cursor.boundary()?;
    cursor.rest().starts_with('.').then_some(1)
}

/// Length of the blanks here, a line break and an indent among them; more than that separates
/// paragraphs, not words.
fn blanks(text: &str) -> usize {
    const MOST: usize = 16;
    text.chars().take(MOST).take_while(|character| character.is_whitespace()).map(char::len_utf8).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::{is_unspaced, is_word};

    /// What [`NameIndex::find`] finds, looked for from every beginning of a word.
    fn find_everywhere(index: &NameIndex, text: &str) -> Vec<Range<usize>> {
        let (mut found, mut free, mut inside) = (Vec::<Range<usize>>::new(), 0, false);
        for (start, character) in text.char_indices() {
            let begins = (is_word(character) && !inside) || is_unspaced(character);
            inside = is_word(character);
            let end = (begins && start >= free).then(|| index.trie.longest(0, FoldCursor::new(text, start)));
            if let Some(end) = end.flatten() {
                free = end;
                found.push(start..end);
            }
        }
        found
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_passed_over(
            names in proptest::collection::vec("[a-cÄßæ山é]{1,3}([ -][A-Caé山ł1]{1,3}){0,2}", 1..4),
            text in "([a-cA-C1]{1,2}|[äÄßæÆ山é\u{301}łŁ]|[ .,_%+\\-\n\u{a0}]|%20|\\PC){0,40}",
        ) {
            let names: Vec<String> =
                names.into_iter().filter(|name| name.chars().filter(|it| it.is_alphanumeric()).count() > 1).collect();
            let index = NameIndex::of(&names).unwrap();
            let found: Vec<_> = index.find(&text).collect();
            proptest::prop_assert_eq!(found, find_everywhere(&index, &text));
        }
    }

    #[test]
    fn nothing_is_passed_over_in_the_contract_and_the_sources() {
        let index =
            NameIndex::of(&["Plugin Gate", "Lea F.", "A leaf", "Half The", "İstanbul Ö", "Ö Ö", "an X"])
                .unwrap();
        for text in [include_str!("index.rs"), include_str!("fold.rs"), include_str!("lib.rs")] {
            assert_eq!(index.find(text).collect::<Vec<_>>(), find_everywhere(&index, text));
        }
    }
}
