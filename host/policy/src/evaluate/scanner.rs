//! One text under the built-in detectors: each set of them runs at most once on it and on each text
//! beneath it, and not at all where the memo knows what it says.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use leafgate_detect::{Finding, Input};
use leafgate_tree::Access;

use super::search::input_of;
use super::subject::Subject;
use crate::Policy;
use crate::index::EngineIndex;
use crate::memo::Answer;
use crate::work;

/// Which text of a subject an engine ran on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Ran {
    Own,
    /// On the text itself, though it cannot be edited, and for what check digits vouch for.
    Checked,
    Beneath(usize),
}

/// Runs engines on one subject after the other, and keeps its buffer between them.
#[derive(Default)]
pub(super) struct Scanner {
    /// Which engine has run on what, and where its findings lie. A text may have very many beneath
    /// it.
    ran: HashMap<(EngineIndex, Ran), Range<usize>>,
    findings: Vec<Finding>,
    /// Engines that are known to find nothing beneath the subject's text.
    quiet: Vec<EngineIndex>,
}

impl Scanner {
    /// Forgets the last subject.
    pub(super) fn begin(&mut self) {
        self.ran.clear();
        self.findings.clear();
        self.quiet.clear();
    }

    /// Returns what an engine finds in a subject's own text, and whether it is known to find
    /// nothing beneath that.
    pub(super) fn scan(
        &mut self,
        policy: &Policy,
        engine: EngineIndex,
        subject: &mut Subject<'_>,
    ) -> (&[Finding], bool) {
        let range = self.known(engine, Ran::Own).unwrap_or_else(|| self.ask(policy, engine, subject));
        (&self.findings[range], self.quiet.contains(&engine))
    }

    /// Returns what an engine of numbers with check digits finds in a text that cannot be edited.
    /// Such texts are ids and signatures, in which digits make a valid number by chance: it counts
    /// where it is a word of its own.
    pub(super) fn scan_checked(
        &mut self,
        policy: &Policy,
        engine: EngineIndex,
        subject: &Subject<'_>,
    ) -> &[Finding] {
        let range = self.known(engine, Ran::Checked).unwrap_or_else(|| {
            let start = self.findings.len();
            let text = subject.text();
            if has_digits(text) {
                work::scanned(text.len());
                let mut found = policy.engines[engine].scan(&Input::new(text));
                found.retain(|finding| is_word(text, &finding.range));
                self.findings.append(&mut found);
            }
            self.ran(engine, Ran::Checked, start)
        });
        &self.findings[range]
    }

    /// Returns what an engine finds in one of the texts beneath it.
    pub(super) fn scan_beneath(
        &mut self,
        policy: &Policy,
        engine: EngineIndex,
        subject: &mut Subject<'_>,
        view: usize,
    ) -> &[Finding] {
        let range = self.known(engine, Ran::Beneath(view)).unwrap_or_else(|| {
            let start = self.findings.len();
            let beneath = Arc::clone(&subject.beneath()[view]);
            // The leaf's key names what is encoded as little as it names a part of it.
            let key = if beneath.is_named_by_key(subject.text().len()) { &*subject.key } else { "" };
            // What looks like media can be anything: all detectors look at what it spells.
            let access = if subject.access == Access::Opaque { Access::Open } else { subject.access };
            let input = input_of(access, beneath.text(), key);
            work::scanned(beneath.text().len());
            policy.engines[engine].scan_into(&input, &mut self.findings);
            self.ran(engine, Ran::Beneath(view), start)
        });
        &self.findings[range]
    }

    /// Returns true if and only if an engine finds nothing in any of the texts beneath the
    /// subject's.
    fn finds_nothing_beneath(
        &mut self,
        policy: &Policy,
        engine: EngineIndex,
        subject: &mut Subject<'_>,
    ) -> bool {
        (0..subject.beneath().len()).all(|view| self.scan_beneath(policy, engine, subject, view).is_empty())
    }

    fn known(&self, engine: EngineIndex, what: Ran) -> Option<Range<usize>> {
        self.ran.get(&(engine, what)).cloned()
    }

    fn ran(&mut self, engine: EngineIndex, what: Ran, start: usize) -> Range<usize> {
        let range = start..self.findings.len();
        self.ran.insert((engine, what), range.clone());
        range
    }

    /// Asks the memo, else the engine.
    fn ask(&mut self, policy: &Policy, engine: EngineIndex, subject: &mut Subject<'_>) -> Range<usize> {
        let start = self.findings.len();
        let memo = &policy.memo;
        let whole = subject.access == Access::Open;
        let digest = subject.digest(memo);
        let question = digest.map(|text| memo.engine(engine, &subject.key, whole, text));
        match question.and_then(|question| memo.recall(question)) {
            Some(answer) => {
                self.findings.extend_from_slice(answer.findings());
                if subject.is_walked_text() {
                    if answer.plain {
                        subject.is_plain();
                    }
                    if answer.quiet {
                        self.quiet.push(engine);
                    }
                }
                self.ran(engine, Ran::Own, start)
            }
            None => {
                let input = input_of(subject.access, subject.text(), &subject.key);
                work::scanned(subject.text().len());
                policy.engines[engine].scan_into(&input, &mut self.findings);
                let own = self.ran(engine, Ran::Own, start);
                if let Some(question) = question {
                    let walked = subject.is_walked_text();
                    let plain = walked && subject.beneath().is_empty();
                    let quiet = walked && self.finds_nothing_beneath(policy, engine, subject);
                    memo.keep(question, Answer::new(&self.findings[own.clone()], plain, quiet));
                }
                own
            }
        }
    }
}

/// Fewer digits than every card and every bank account has.
const LEAST_DIGITS: usize = 8;

fn has_digits(text: &str) -> bool {
    text.bytes().filter(u8::is_ascii_digit).nth(LEAST_DIGITS - 1).is_some()
}

/// Returns true if and only if a range of a text stands between blanks, quotes, brackets or the
/// ends of sentences.
fn is_word(text: &str, range: &Range<usize>) -> bool {
    let delimits = |sign: Option<char>| {
        sign.is_none_or(|sign| sign.is_whitespace() || "\"'`()[]{}<>,;:.!?".contains(sign))
    };
    delimits(text[..range.start].chars().next_back()) && delimits(text[range.end..].chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stands_between_blanks_quotes_or_the_ends_of_sentences() {
        for (text, expected) in [
            ("12345", true),
            ("is 12345.", true),
            ("\"12345\"", true),
            ("id_12345", false),
            ("12345/x", false),
        ] {
            let start = text.find("12345").unwrap();
            assert_eq!(is_word(text, &(start..start + 5)), expected, "{text}");
        }
    }
}
