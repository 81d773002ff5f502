//! What detectors said before: clients resend their whole history with each turn, and only what is
//! new should cost.
//!
//! - **Exact.** An answer is remembered for all that the detector was given to look at and for
//!   nothing else, so asking it again would give the same. A memo belongs to one generation: other
//!   detectors have another memo.
//! - **Keyed.** The key is a 128-bit hash under a secret of this process. Whoever writes a text
//!   cannot aim at the answer for another.
//! - **Bounded** in bytes. Answers live in two halves; when the young half is full, it becomes the
//!   old one, and what nobody has asked for since is gone.
//! - **Silent.** Ranges and labels are kept, no text.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leafgate_detect::{Finding, Input};

use crate::index::{EngineIndex, PluginIndex};
use crate::plugin::DetectLeaf;

/// All answers of one generation together may take this many bytes: some fifty thousand leaves,
/// which are a hundred long sessions.
const BYTES: usize = 8 << 20;

/// Requests on different threads seldom wait for each other.
const SHARDS: usize = 16;

/// Shorter texts are scanned by an engine faster than hashed. A call of a plugin costs more than
/// any hash.
const LEAST: usize = 48;

/// An entry without findings: key, answer and the table's own share.
const ENTRY: usize = 64;

/// What a detector said about a text.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// `None` for none: most texts have none, and no memory is taken for them.
    findings: Option<Arc<[Finding]>>,
    /// Whether the text is known to hold nothing encoded.
    pub(crate) plain: bool,
    /// Whether the detector is known to find nothing in what the text holds encoded.
    pub(crate) quiet: bool,
}

impl Answer {
    pub(crate) fn new(findings: &[Finding], plain: bool, quiet: bool) -> Self {
        Answer { findings: (!findings.is_empty()).then(|| findings.into()), plain, quiet }
    }

    pub(crate) fn findings(&self) -> &[Finding] {
        self.findings.as_deref().unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        ENTRY + size_of_val(self.findings())
    }
}

/// A question that was asked before, or was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question(u128);

/// The answers of one generation.
pub(crate) struct Memo {
    secret: [u8; 32],
    shards: [Mutex<Shard>; SHARDS],
}

impl Default for Memo {
    fn default() -> Self {
        let mut secret = [0; 32];
        for part in secret.chunks_exact_mut(8) {
            // Each state has keys of its own, from the operating system.
            part.copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
        }
        Memo { secret, shards: Default::default() }
    }
}

impl Memo {
    /// What an engine is asked about a leaf; `None` where asking costs less than remembering.
    pub(crate) fn engine(&self, engine: EngineIndex, input: &Input<'_>) -> Option<Question> {
        let parts = [b"engine", input.key.as_bytes(), &[u8::from(input.prefix_only)]];
        (input.text.len() >= LEAST).then(|| self.question(engine.get(), &parts, input.text))
    }

    /// What a detector plugin is asked about a leaf.
    pub(crate) fn plugin(&self, plugin: PluginIndex, leaf: &DetectLeaf<'_>) -> Question {
        let tool = leaf.tool.unwrap_or_default().as_bytes();
        let has_tool = [u8::from(leaf.tool.is_some())];
        let (kind, value, role) = (leaf.kind.name(), leaf.value.name(), leaf.role.name());
        let parts = [
            b"plugin",
            leaf.key.as_bytes(),
            kind.as_bytes(),
            value.as_bytes(),
            role.as_bytes(),
            &has_tool,
            tool,
        ];
        self.question(plugin.get(), &parts, leaf.text)
    }

    fn question(&self, asked: usize, parts: &[&[u8]], text: &str) -> Question {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(&(asked as u64).to_le_bytes());
        for part in parts {
            // Lengths keep the parts apart.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.update(text.as_bytes());
        let mut half = [0; 16];
        hasher.finalize_xof().fill(&mut half);
        Question(u128::from_le_bytes(half))
    }

    /// What was said then.
    pub(crate) fn recall(&self, question: Question) -> Option<Answer> {
        self.shard(question).recall(question.0)
    }

    /// Keeps an answer.
    pub(crate) fn keep(&self, question: Question, answer: Answer) {
        self.shard(question).keep(question.0, answer);
    }

    fn shard(&self, question: Question) -> MutexGuard<'_, Shard> {
        let shard = &self.shards[question.0 as usize % SHARDS];
        // A shard is whole between any two of its statements.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memo").finish_non_exhaustive()
    }
}

/// One of the parts between which questions are spread.
#[derive(Default)]
struct Shard {
    young: Table,
    old: Table,
    /// Bytes of the young half.
    bytes: usize,
}

type Table = HashMap<u128, Answer, BuildHasherDefault<Spread>>;

impl Shard {
    fn recall(&mut self, question: u128) -> Option<Answer> {
        if let Some(answer) = self.young.get(&question) {
            return Some(answer.clone());
        }
        let answer = self.old.remove(&question)?;
        self.keep(question, answer.clone());
        Some(answer)
    }

    fn keep(&mut self, question: u128, answer: Answer) {
        self.bytes += answer.bytes();
        if self.bytes > BYTES / SHARDS / 2 {
            self.bytes = answer.bytes();
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(question, answer);
    }
}

/// The hash of a keyed hash is a part of it.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        // Not used: the key of the tables is a `u128`.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = (key >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use leafgate_detect::{Confidence, DetectorId, Label};
    use leafgate_tree::{LeafKind, Role, ValueType};

    use super::*;

    const TEXT: &str = "a text that is long enough for an answer to be worth remembering";

    fn answer(findings: usize) -> Answer {
        let finding = Finding {
            range: 0..4,
            label: Label::new("NAME").unwrap(),
            detector: DetectorId::new("t/t").unwrap(),
            confidence: Confidence::High,
            published: false,
        };
        Answer::new(&vec![finding; findings], false, false)
    }

    #[test]
    fn every_part_of_a_question_makes_another_one() {
        let memo = Memo::default();
        let input = Input::new(TEXT);
        let leaf = DetectLeaf {
            kind: LeafKind::Text,
            value: ValueType::Text,
            role: Role::User,
            tool: None,
            key: "",
            text: TEXT,
        };
        let longer = format!("{TEXT}!");
        let questions = [
            memo.engine(EngineIndex::new(0), &input),
            memo.engine(EngineIndex::new(1), &input),
            memo.engine(EngineIndex::new(0), &input.with_key("key")),
            memo.engine(EngineIndex::new(0), &input.prefix_only()),
            memo.engine(EngineIndex::new(0), &Input::new(&longer)),
            Some(memo.plugin(PluginIndex::new(0), &leaf)),
            Some(memo.plugin(PluginIndex::new(1), &leaf)),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { kind: LeafKind::Other, ..leaf })),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { value: ValueType::Number, ..leaf })),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { role: Role::Tool, ..leaf })),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { tool: Some(""), ..leaf })),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { tool: Some("f"), ..leaf })),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { key: "f", ..leaf })),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { text: &longer, ..leaf })),
        ];
        for (place, question) in questions.iter().enumerate() {
            assert!(question.is_some(), "question {place}");
            assert_eq!(questions.iter().filter(|other| *other == question).count(), 1, "question {place}");
        }
        assert_eq!(memo.engine(EngineIndex::new(0), &input), questions[0], "the same question is the same");
        assert_ne!(
            Memo::default().engine(EngineIndex::new(0), &input),
            questions[0],
            "another memo has another secret"
        );
    }

    #[test]
    fn an_answer_is_recalled_as_it_was_given() {
        let memo = Memo::default();
        let question = memo.engine(EngineIndex::new(0), &Input::new(TEXT)).unwrap();
        assert!(memo.recall(question).is_none());
        memo.keep(question, Answer { plain: true, ..answer(2) });
        let recalled = memo.recall(question).unwrap();
        assert!(recalled.plain);
        assert_eq!(recalled.findings(), answer(2).findings());
    }

    #[test]
    fn the_memo_stays_within_its_bytes_and_keeps_what_is_asked_for() {
        let memo = Memo::default();
        let ask = |n: usize| memo.engine(EngineIndex::new(n), &Input::new(TEXT)).unwrap();
        let often = ask(0);
        memo.keep(often, answer(1));
        for n in 1..200_000 {
            memo.keep(ask(n), answer(n % 3));
            assert!(n % 1000 != 0 || memo.recall(often).is_some(), "after {n}");
        }
        let held: usize = memo
            .shards
            .iter()
            .map(|shard| {
                let shard = shard.lock().unwrap();
                shard.young.values().chain(shard.old.values()).map(Answer::bytes).sum::<usize>()
            })
            .sum();
        assert!(held <= BYTES, "{held} bytes");
        assert!(held > BYTES / 4, "{held} bytes: it forgets more than it must");
        assert!(memo.recall(ask(1)).is_none(), "what nobody asked for is gone");
    }
}
