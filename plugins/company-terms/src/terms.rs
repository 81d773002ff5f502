//! A list of terms, as it is looked up: all of them in their plain form, words with one blank between.

use std::collections::HashSet;
use std::ops::Range;

use crate::words;

/// Most words of one term.
const LONGEST: usize = 8;

/// A list of terms.
pub(crate) struct TermList {
    plain: HashSet<String>,
    /// Words of the longest one.
    longest: usize,
    case: bool,
}

impl TermList {
    /// Takes a list.
    ///
    /// # Errors
    /// An empty one, and a term that is none.
    pub(crate) fn new<'t>(terms: impl Iterator<Item = &'t str>, case: bool) -> Result<Self, String> {
        let mut plain = HashSet::new();
        let mut longest = 0;
        for term in terms {
            let mut form = String::new();
            let mut count = 0;
            for at in words::words(term) {
                add(&mut form, &term[at], case);
                count += 1;
            }
            if count == 0 {
                return Err(format!("`{term}` has no word in it"));
            }
            if count > LONGEST {
                return Err(format!("`{term}` has more than {LONGEST} words"));
            }
            longest = longest.max(count);
            plain.insert(form);
        }
        if plain.is_empty() {
            return Err("there are no terms in `terms` or `list`, so nothing would ever be found".to_owned());
        }
        Ok(TermList { plain, longest, case })
    }

    /// Returns where terms stand in a text: from left to right, of those that begin at one word the
    /// longest.
    pub(crate) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let words: Vec<Range<usize>> = words::words(text).collect();
        let mut found = Vec::new();
        let mut form = String::new();
        let mut first = 0;
        while first < words.len() {
            form.clear();
            let mut end = None;
            let last = words.len().min(first + self.longest);
            for (count, at) in words[first..last].iter().enumerate() {
                add(&mut form, &text[at.clone()], self.case);
                if self.plain.contains(&form) {
                    end = Some((count + 1, at.end));
                }
            }
            match end {
                Some((count, end)) => {
                    found.push(words[first].start..end);
                    first += count;
                }
                None => first += 1,
            }
        }
        found
    }
}

/// Adds a word to the plain form of a term.
fn add(form: &mut String, word: &str, case: bool) {
    if !form.is_empty() {
        form.push(' ');
    }
    words::push(form, word, case);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(list: &[&str]) -> TermList {
        TermList::new(list.iter().copied(), false).unwrap()
    }

    fn found<'t>(list: &[&str], text: &'t str) -> Vec<&'t str> {
        terms(list).find(text).into_iter().map(|at| &text[at]).collect()
    }

    #[test]
    fn words_count_and_what_stands_between_them_does_not() {
        let list = ["Blue Sky", "ACME", "Straße"];
        assert_eq!(found(&list, "BLUE_SKY blue\n sky, blue. Sky"), ["BLUE_SKY", "blue\n sky", "blue. Sky"]);
        assert_eq!(found(&list, "bluesky blueskies acmeist"), [""; 0]);
        assert_eq!(found(&list, "(acme) STRAßE 'acme'"), ["acme", "STRAßE", "acme"]);
    }

    #[test]
    fn the_longest_term_counts_and_its_words_do_not_count_again() {
        let list = ["new york", "new york office", "york", "office"];
        assert_eq!(found(&list, "new york office york, new office"), ["new york office", "york", "office"]);
        assert_eq!(found(&["a b c", "a", "b"], "a b d"), ["a", "b"], "a longer one that does not end");
    }

    #[test]
    fn a_hundred_thousand_terms_are_found_and_nothing_else() {
        let list: Vec<String> = (0..100_000).map(|n| format!("project {n:x}")).collect();
        let terms = TermList::new(list.iter().map(String::as_str), false).unwrap();
        for n in (0..100_000).step_by(997) {
            let text = format!("about Project-{n:X}!");
            assert_eq!(terms.find(&text), vec![6..text.len() - 1; 1], "{text}");
        }
        assert_eq!(terms.find("project 186a0, projects 1869f"), []);
    }

    proptest::proptest! {
        #[test]
        fn a_term_is_found_wherever_it_stands(
            list in proptest::collection::vec("[a-zé]{1,3}( [a-z0-9]{1,2}){0,2}", 1..20),
            which in 0_usize..20,
            before in "[-,. \n]{1,3}",
        ) {
            let term = &list[which % list.len()];
            let text = format!("{before}{}{before}", term.to_uppercase().replace(' ', &before));
            let terms = TermList::new(list.iter().map(String::as_str), false).unwrap();
            let found = terms.find(&text);
            proptest::prop_assert_eq!(found.first(), Some(&(before.len()..text.len() - before.len())));
        }
    }
}
