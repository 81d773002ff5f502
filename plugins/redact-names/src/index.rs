//! All ways to write all names, as one trie that is followed from each beginning of a word.
//!
//! For `Augusta Ada King` these are: the words in order, joined by anything that joins words;
//! `King, Augusta Ada`; initials for any given names but the whole name's last word (`A. A. King`,
//! `Augusta A. King`, `King, A. A.`); and without the names in the middle.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::fold::{self, Cursor};

/// What leads from one node to the next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Letter(char),
    /// Between two words: nothing, blanks, or one of the characters that identifiers and addresses
    /// put there.
    Join,
    /// Between last and given names: a comma and blanks.
    Comma,
    /// After an initial: a full stop.
    Stop,
}

/// A node of the trie.
#[derive(Default)]
struct Node {
    edges: BTreeMap<Edge, usize>,
    ends: bool,
}

/// Names, ready to be found.
pub struct Index {
    nodes: Vec<Node>,
}

impl Default for Index {
    fn default() -> Self {
        Index { nodes: vec![Node::default()] }
    }
}

impl Index {
    /// Adds a name in full.
    ///
    /// # Errors
    /// Where the name has fewer than two letters: it would be found everywhere.
    pub fn add(&mut self, name: &str) -> Result<(), &'static str> {
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
    fn add_given(&mut self, mut node: usize, given: &[Given<'_>], join: Edge) -> usize {
        for name in given {
            node = self.add_one(node, *name);
            node = self.step(node, join);
        }
        node
    }

    /// Given names with nothing after them.
    fn add_given_at_end(&mut self, node: usize, given: &[Given<'_>]) {
        let Some((last, before)) = given.split_last() else { return };
        let node = self.add_given(node, before, Edge::Join);
        let node = self.add_one(node, *last);
        self.nodes[node].ends = true;
    }

    fn add_one(&mut self, node: usize, name: Given<'_>) -> usize {
        match name {
            Given::Full(word) => self.add_word(node, word, false),
            Given::Initial(letter) => {
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
        let next = *self.nodes[node].edges.entry(edge).or_insert(fresh);
        if next == fresh {
            self.nodes.push(Node::default());
        }
        next
    }

    /// Byte ranges of names, in order and apart.
    pub fn find<'s>(&'s self, text: &'s str) -> impl Iterator<Item = Range<usize>> + 's {
        let mut from = 0;
        std::iter::from_fn(move || {
            while let Some(start) = next_word(text, from) {
                if let Some(end) = self.longest(0, Cursor::new(text, start)) {
                    from = end;
                    return Some(start..end);
                }
                from = start + text[start..].chars().next().map_or(1, char::len_utf8);
            }
            None
        })
    }

    /// End of the longest name that begins here. As deep as a name is long, and no text makes it
    /// longer.
    fn longest(&self, node: usize, cursor: Cursor<'_>) -> Option<usize> {
        let node = &self.nodes[node];
        let here = cursor.boundary().filter(|_| node.ends && ends_word(cursor));
        let further = node.edges.iter().filter(|(edge, _)| !matches!(edge, Edge::Letter(_)));
        let joined = further.filter_map(|(edge, &next)| match edge {
            Edge::Join => {
                let behind = join(cursor).and_then(|length| self.longest(next, cursor.skip(length)));
                self.longest(next, cursor).max(behind)
            }
            Edge::Comma => self.longest(next, cursor.skip(comma(cursor)?)),
            Edge::Stop => self.longest(next, cursor.skip(stop(cursor)?)),
            Edge::Letter(_) => None,
        });
        let letter = cursor.next().and_then(|(letter, behind)| {
            let next = *node.edges.get(&Edge::Letter(letter))?;
            self.longest(next, behind)
        });
        joined.chain(letter).chain(here).max()
    }
}

/// A given name as it may be written.
#[derive(Clone, Copy)]
enum Given<'w> {
    Full(&'w str),
    Initial(char),
}

/// The ways to write given names: in full, with initials from some place on, as initials, and
/// without those in the middle.
fn given_names(words: &[String]) -> Vec<Vec<Given<'_>>> {
    let initial = |word: &String| word.chars().next().map(Given::Initial);
    let from = |full: usize| {
        let (whole, short) = words.split_at(full);
        whole.iter().map(|word| Given::Full(word)).chain(short.iter().filter_map(initial)).collect()
    };
    let mut ways: Vec<Vec<Given<'_>>> = (0..=words.len()).map(from).collect();
    if let [first, _, ..] = words {
        ways.push(vec![Given::Full(first)]);
    }
    ways
}

/// The next place where a word begins.
fn next_word(text: &str, from: usize) -> Option<usize> {
    let mut inside = text[..from].chars().next_back().is_some_and(is_word);
    for (offset, character) in text[from..].char_indices() {
        let word = is_word(character);
        if (word && !inside) || is_unspaced(character) {
            return Some(from + offset);
        }
        inside = word;
    }
    None
}

fn ends_word(cursor: Cursor<'_>) -> bool {
    !cursor.rest().chars().next().is_some_and(is_word)
}

/// An underscore joins words to identifiers, and names stand in identifiers: it is no part of a
/// word here.
fn is_word(character: char) -> bool {
    // Nearly all of nearly every text; the rest looks into tables.
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    (character.is_alphanumeric() && !is_unspaced(character)) || fold::is_accent(character)
}

/// Scripts that put no blanks between words, or hang particles on them (Thai to Khmer, Kana, Han,
/// Hangul): any character may begin or follow a name.
fn is_unspaced(character: char) -> bool {
    !character.is_ascii()
        && matches!(character,
        '\u{e00}'..='\u{eff}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Length of what joins two words here, where there is something.
fn join(cursor: Cursor<'_>) -> Option<usize> {
    cursor.boundary()?;
    let rest = cursor.rest();
    let blank = blanks(rest);
    if blank > 0 {
        return Some(blank);
    }
    let joins = ["-", "_", ".", "+", "%20", "\u{2010}", "\u{2011}"];
    joins.iter().find(|join| rest.starts_with(**join)).map(|join| join.len())
}

fn comma(cursor: Cursor<'_>) -> Option<usize> {
    cursor.boundary()?;
    cursor.rest().strip_prefix(',').map(|rest| 1 + blanks(rest))
}

fn stop(cursor: Cursor<'_>) -> Option<usize> {
    cursor.boundary()?;
    cursor.rest().starts_with('.').then_some(1)
}

/// Length of the blanks here, a line break and an indent among them; more than that separates
/// paragraphs, not words.
fn blanks(text: &str) -> usize {
    const MOST: usize = 16;
    text.chars().take(MOST).take_while(|character| character.is_whitespace()).map(char::len_utf8).sum()
}
