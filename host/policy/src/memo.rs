//! What detectors said before: clients resend their whole history with each turn, and only what is
//! new should cost.
//!
//! - **Exact.** An answer is remembered for all that the detector was given to look at and for
//!   nothing else, so asking it again would give the same. A memo belongs to one generation: other
//!   detectors have another memo.
//! - **By spelling.** The question names a text by the bytes that came, and a whole message by its
//!   own. Nothing is decoded for an answer that is known.
//! - **Keyed.** A question is kept as 128 bits of HighwayHash under a secret of 256 bits that this
//!   process made and that never leaves it. Nobody is shown a hash; who writes texts learns at most
//!   that two of them do not collide. To pass off one text as another he must guess a collision
//!   without the secret: one chance in 2^128 for each pair.
//! - **Bounded** in bytes. Answers live in two halves; when the young half is full, it becomes the
//!   old one, and what nobody has asked for since is gone.
//! - **Silent.** Ranges and labels are kept, no text.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use highway::{HighwayHash, HighwayHasher, Key};
use leafgate_contract::DetectLeaf;
use leafgate_detect::Finding;
use rustc_hash::FxHashMap;

use crate::index::{EngineIndex, PluginIndex};
use crate::work;

/// All answers of one generation together may take this many bytes: some hundred thousand leaves
/// and messages, which are a hundred long sessions.
const BYTES: usize = 8 << 20;

/// Requests on different threads seldom wait for each other.
const SHARDS: usize = 16;

/// Shorter texts are scanned by an engine faster than hashed. A call of a plugin costs more than
/// any hash.
const LEAST: usize = 48;

/// A larger answer is not kept: one text of a million findings would take the room of all others.
const MOST_OF_ONE: usize = HALF / 8;

/// What the young and the old half of a shard may each take.
const HALF: usize = BYTES / SHARDS / 2;

/// Places of the table of a half, of which it fills seven in eight before it grows to twice as many.
const PLACES: usize = 4096;

/// What an entry without findings takes: its share of a table that is full.
const ENTRY: usize = HALF.div_ceil(PLACES / 8 * 7);

const _: () = assert!(PLACES * (size_of::<(u128, MemoEntry)>() + 1) <= HALF, "a table is within its half");

/// What is remembered.
#[derive(Clone, Debug)]
enum MemoEntry {
    /// What a detector said about a text.
    Text(Answer),
    /// Which places of a block hold something that any detector found: see [`crate::evaluate`].
    Block(Option<Arc<[u32]>>),
}

impl MemoEntry {
    fn bytes(&self) -> usize {
        ENTRY
            + match self {
                MemoEntry::Text(answer) => size_of_val(answer.findings()),
                MemoEntry::Block(places) => places.as_deref().map_or(0, size_of_val),
            }
    }
}

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
}

/// What stands for a text in questions: itself a hash under the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u128);

/// A question that was asked before, or was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question(u128);

/// The answers of one generation.
#[derive(derive_more::Debug)]
#[debug("Memo {{ .. }}")]
pub(crate) struct Memo {
    secret: [u64; 4],
    /// Nothing is remembered: each request is the first.
    forgets: bool,
    shards: [Mutex<Shard>; SHARDS],
}

impl Default for Memo {
    fn default() -> Self {
        // Each state has keys of its own, from the operating system.
        let secret = std::array::from_fn(|_| RandomState::new().hash_one(0));
        Memo { secret, forgets: false, shards: Default::default() }
    }
}

impl Memo {
    /// A memo that keeps nothing.
    pub(crate) fn that_forgets() -> Self {
        Memo { forgets: true, ..Memo::default() }
    }

    /// Whether it keeps anything.
    pub(crate) fn remembers(&self) -> bool {
        !self.forgets
    }

    /// Digests a text that several engines are asked about, by its spelling and whether that has the escapes of JSON; `None` where
    /// asking costs less than remembering.
    pub(crate) fn digest(&self, (text, escaped): (&str, bool)) -> Option<Digest> {
        let how = [u8::from(escaped)];
        (text.len() >= LEAST).then(|| Digest(self.question(0, &[b"text", &how], text.as_bytes()).0))
    }

    /// What an engine is asked about a text under a key. `whole`: all its detectors look, not those
    /// with a prefix alone.
    pub(crate) fn engine(&self, engine: EngineIndex, key: &str, whole: bool, text: Digest) -> Question {
        let parts = [b"engine", key.as_bytes(), &[u8::from(whole)]];
        self.question(engine.get(), &parts, &text.0.to_le_bytes())
    }

    /// What a detector plugin is asked about a leaf, whose text may be digested already.
    pub(crate) fn plugin(
        &self,
        plugin: PluginIndex,
        leaf: &DetectLeaf<'_>,
        text: Option<Digest>,
    ) -> Question {
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
            &[u8::from(text.is_some())],
        ];
        match text {
            Some(Digest(digest)) => self.question(plugin.get(), &parts, &digest.to_le_bytes()),
            None => self.question(plugin.get(), &parts, leaf.text.as_bytes()),
        }
    }

    /// What all detectors of some rules are asked about a block, by how it is spelled and by all
    /// else that decides what they are shown of it.
    pub(crate) fn block(&self, rules: &[u8], description: &[u8], spelling: &[u8]) -> Question {
        self.question(0, &[b"block", rules, description], spelling)
    }

    /// What all built-in detectors of some rules are asked about texts that requests repeat.
    pub(crate) fn texts<'t>(&self, rules: &[u8], texts: impl Iterator<Item = &'t str>) -> Question {
        let mut spelled = Vec::new();
        for text in texts {
            spelled.extend_from_slice(&(text.len() as u64).to_le_bytes());
            spelled.extend_from_slice(text.as_bytes());
        }
        self.question(0, &[b"texts", rules], &spelled)
    }

    fn question(&self, asked: usize, parts: &[&[u8]], text: &[u8]) -> Question {
        work::hashed(text.len());
        let mut hasher = HighwayHasher::new(Key(self.secret));
        hasher.append(&(asked as u64).to_le_bytes());
        for part in parts {
            // Lengths keep the parts apart.
            hasher.append(&(part.len() as u64).to_le_bytes());
            hasher.append(part);
        }
        hasher.append(text);
        let [low, high] = hasher.finalize128();
        Question(u128::from(high) << 64 | u128::from(low))
    }

    /// How often it was asked and knew, and what it holds now.
    pub(crate) fn counts(&self) -> MemoCounts {
        let mut counts = MemoCounts::default();
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            counts.asked += shard.asked;
            counts.known += shard.known;
            for table in [&shard.young, &shard.old] {
                counts.entries += table.len();
                counts.bytes += table.values().map(MemoEntry::bytes).sum::<usize>();
            }
        }
        counts
    }

    /// What was said then.
    pub(crate) fn recall(&self, question: Question) -> Option<Answer> {
        match self.shard(question).recall(question.0)? {
            MemoEntry::Text(answer) => Some(answer),
            MemoEntry::Block(_) => None,
        }
    }

    /// Keeps an answer.
    pub(crate) fn keep(&self, question: Question, answer: Answer) {
        self.keep_entry(question, MemoEntry::Text(answer));
    }

    fn keep_entry(&self, question: Question, entry: MemoEntry) {
        if !self.forgets && entry.bytes() <= MOST_OF_ONE {
            self.shard(question).keep(question.0, entry);
        }
    }

    /// The places of a block in which something was found then.
    pub(crate) fn recall_block(&self, question: Question) -> Option<Places> {
        match self.shard(question).recall(question.0)? {
            MemoEntry::Block(places) => Some(Places(places)),
            MemoEntry::Text(_) => None,
        }
    }

    /// Keeps the places of a block in which something was found.
    pub(crate) fn keep_block(&self, question: Question, places: &[u32]) {
        let places = (!places.is_empty()).then(|| places.into());
        self.keep_entry(question, MemoEntry::Block(places));
    }

    fn shard(&self, question: Question) -> MutexGuard<'_, Shard> {
        let shard = &self.shards[question.0 as usize % SHARDS];
        // A shard is whole between any two of its statements.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Places of a block, as they were kept.
#[derive(Clone, Debug)]
pub(crate) struct Places(Option<Arc<[u32]>>);

impl Places {
    pub(crate) fn as_slice(&self) -> &[u32] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// How a memo has fared since its generation serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoCounts {
    /// Texts, and blocks of them, about which it was asked.
    pub asked: u64,
    /// Those of them whose answer it knew.
    pub known: u64,
    /// Answers that it holds.
    pub entries: usize,
    /// Bytes that they take.
    pub bytes: usize,
}

/// One of the parts between which questions are spread.
#[derive(Default)]
struct Shard {
    asked: u64,
    known: u64,
    young: Table,
    old: Table,
    /// Bytes of the young half.
    bytes: usize,
}

/// Its keys are keyed hashes already.
type Table = FxHashMap<u128, MemoEntry>;

impl Shard {
    fn recall(&mut self, question: u128) -> Option<MemoEntry> {
        self.asked += 1;
        if let Some(answer) = self.young.get(&question) {
            self.known += 1;
            return Some(answer.clone());
        }
        let answer = self.old.remove(&question)?;
        self.known += 1;
        self.keep(question, answer.clone());
        Some(answer)
    }

    fn keep(&mut self, question: u128, answer: MemoEntry) {
        self.bytes += answer.bytes();
        if self.bytes > HALF {
            self.bytes = answer.bytes();
            // Both keep their memory: a table that grows anew takes up to three times as much.
            std::mem::swap(&mut self.old, &mut self.young);
            self.young.clear();
        }
        self.young.insert(question, answer);
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

    fn ask(memo: &Memo, engine: usize) -> Question {
        memo.engine(EngineIndex::new(engine), "", true, memo.digest((TEXT, false)).unwrap())
    }

    #[test]
    fn every_part_of_a_question_makes_another_one() {
        let memo = Memo::default();
        let engine = |engine: usize, key: &str, whole: bool, text: (&str, bool)| {
            memo.digest(text).map(|text| memo.engine(EngineIndex::new(engine), key, whole, text))
        };
        let leaf = DetectLeaf {
            kind: LeafKind::Text,
            value: ValueType::Text,
            role: Role::User,
            tool: None,
            key: "",
            text: TEXT,
        };
        let longer = format!("{TEXT}!");
        let (plain, escaped) = ((TEXT, false), (TEXT, true));
        let questions = [
            engine(0, "", true, plain),
            engine(1, "", true, plain),
            engine(0, "key", true, plain),
            engine(0, "", false, plain),
            engine(0, "", true, escaped),
            engine(0, "", true, (&longer, false)),
            Some(memo.plugin(PluginIndex::new(0), &leaf, None)),
            Some(memo.plugin(PluginIndex::new(1), &leaf, None)),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { kind: LeafKind::Other, ..leaf }, None)),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { value: ValueType::Number, ..leaf }, None)),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { role: Role::Tool, ..leaf }, None)),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { tool: Some(""), ..leaf }, None)),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { tool: Some("f"), ..leaf }, None)),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { key: "f", ..leaf }, None)),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { text: &longer, ..leaf }, None)),
            Some(memo.plugin(PluginIndex::new(0), &leaf, memo.digest(plain))),
            Some(memo.plugin(PluginIndex::new(0), &leaf, memo.digest(escaped))),
            Some(memo.plugin(PluginIndex::new(1), &leaf, memo.digest(plain))),
            Some(memo.plugin(PluginIndex::new(0), &DetectLeaf { key: "f", ..leaf }, memo.digest(plain))),
            Some(memo.block(b"rules", b"description", TEXT.as_bytes())),
            Some(memo.block(b"rule", b"sdescription", TEXT.as_bytes())),
            Some(memo.block(b"rules", b"descriptio", format!("n{TEXT}").as_bytes())),
            Some(memo.texts(b"rules", [TEXT].into_iter())),
            Some(memo.texts(b"rule", [TEXT].into_iter())),
            Some(memo.texts(b"rules", [TEXT, ""].into_iter())),
            Some(memo.texts(b"rules", ["", TEXT].into_iter())),
            Some(memo.texts(b"rules", [&TEXT[..1], &TEXT[1..]].into_iter())),
        ];
        for (place, question) in questions.iter().enumerate() {
            assert!(question.is_some(), "question {place}");
            assert_eq!(questions.iter().filter(|other| *other == question).count(), 1, "question {place}");
        }
        assert_eq!(engine(0, "", true, plain), questions[0], "the same question is the same");
        assert_ne!(Some(ask(&Memo::default(), 0)), questions[0], "another memo has another secret");
    }

    #[test]
    fn an_answer_is_recalled_as_it_was_given() {
        let memo = Memo::default();
        let question = ask(&memo, 0);
        assert!(memo.recall(question).is_none());
        memo.keep(question, Answer { plain: true, ..answer(2) });
        let recalled = memo.recall(question).unwrap();
        assert!(recalled.plain);
        assert_eq!(recalled.findings(), answer(2).findings());
        let block = memo.block(b"", b"", TEXT.as_bytes());
        memo.keep_block(block, &[3, 5]);
        assert_eq!(memo.recall_block(block).unwrap().as_slice(), [3, 5]);
        assert!(memo.recall(block).is_none(), "a block is no text");
        let counts = memo.counts();
        assert_eq!((counts.asked, counts.known, counts.entries), (4, 3, 2), "{counts:?}");
        assert!(counts.bytes >= 2 * ENTRY + 2 * size_of::<Finding>(), "{counts:?}");
    }

    #[test]
    fn one_large_answer_is_not_kept() {
        let memo = Memo::default();
        let most = (MOST_OF_ONE - ENTRY) / size_of::<Finding>();
        memo.keep(ask(&memo, 0), answer(100_000));
        memo.keep(ask(&memo, 1), answer(most));
        memo.keep(ask(&memo, 2), answer(most + 1));
        let kept: Vec<bool> = (0..3).map(|engine| memo.recall(ask(&memo, engine)).is_some()).collect();
        assert_eq!(kept, [false, true, false]);
        let block = memo.block(b"", b"", TEXT.as_bytes());
        memo.keep_block(block, &[0; 100_000]);
        assert!(memo.recall_block(block).is_none());
    }

    #[test]
    fn a_memo_that_forgets_recalls_nothing() {
        let memo = Memo::that_forgets();
        memo.keep(ask(&memo, 0), answer(1));
        assert!(memo.recall(ask(&memo, 0)).is_none());
    }

    #[test]
    fn the_memo_stays_within_its_bytes_and_keeps_what_is_asked_for() {
        let memo = Memo::default();
        let often = ask(&memo, 0);
        memo.keep(often, answer(1));
        for n in 1..200_000 {
            memo.keep(ask(&memo, n), answer(n % 3));
            assert!(n % 1000 != 0 || memo.recall(often).is_some(), "after {n}");
        }
        let held: usize = memo
            .shards
            .iter()
            .map(|shard| {
                let shard = shard.lock().unwrap();
                shard.young.values().chain(shard.old.values()).map(MemoEntry::bytes).sum::<usize>()
            })
            .sum();
        assert!(held <= BYTES, "{held} bytes");
        let largest = memo.shards.iter().map(|shard| shard.lock().unwrap().young.capacity()).max();
        assert!(largest <= Some(PLACES), "no table has grown beyond its share");
        assert!(held > BYTES / 4, "{held} bytes: it forgets more than it must");
        assert!(memo.recall(ask(&memo, 1)).is_none(), "what nobody asked for is gone");
    }
}
