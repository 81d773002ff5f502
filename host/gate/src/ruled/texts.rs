//! The texts of a stream, judged while it comes.
//!
//! Events wait in a line until all that they say is decided, and leave byte for byte where nothing
//! of it was changed. What is changed stands in the event in which its segment begins. Texts that follow
//! each other in parts, blocks or items are judged as the one text that clients make of them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use leafgate_answer::{Account, CallError, Heard, Position, RunKind, Said, TextPlace, with_data};
use leafgate_tree::{Author, Document, Draft, NodeId};

use super::RuledExchange;
use super::scan::TextScan;
use super::whole::SoFar;
use leafgate_http::Refusal;

/// So many texts an answer may have.
const MAX_TEXTS: usize = 512;

/// Judges the texts of one stream.
pub(super) struct PassingTexts {
    exchange: Arc<RuledExchange>,
    /// Texts that follow each other: what is said, and what is thought.
    runs: Vec<(RunKind, TextScan)>,
    /// Those that may go on.
    open: BTreeMap<RunKind, usize>,
    /// Where each text stands.
    texts: BTreeMap<TextPlace, TextStretch>,
    line: VecDeque<WaitingEvent>,
    /// What rules did so far.
    pub(super) so_far: SoFar,
}

/// A stretch of a run.
#[derive(Clone)]
struct TextStretch {
    run: usize,
    range: Range<usize>,
}

/// An event that waits, or what stands between two.
#[derive(Default)]
struct WaitingEvent {
    bytes: Bytes,
    document: Option<Arc<Document>>,
    says: Vec<(NodeId, TextStretch)>,
    /// Those of these leaves in which nothing may be changed.
    sealed: Vec<NodeId>,
    /// What becomes of texts beside these.
    beside: Vec<(NodeId, String)>,
}

impl PassingTexts {
    pub(super) fn new(exchange: &Arc<RuledExchange>) -> Self {
        PassingTexts {
            exchange: Arc::clone(exchange),
            runs: Vec::new(),
            open: BTreeMap::new(),
            texts: BTreeMap::new(),
            line: VecDeque::new(),
            so_far: SoFar::default(),
        }
    }

    /// Whether events wait.
    pub(super) fn are_waiting(&self) -> bool {
        !self.line.is_empty()
    }

    /// Takes what stands between events, and returns what may leave.
    pub(super) fn between(&mut self, bytes: Bytes) -> Result<Bytes, Refusal> {
        self.line.push_back(WaitingEvent { bytes, ..WaitingEvent::default() });
        self.leave()
    }

    /// Takes an event, and returns what may leave.
    pub(super) fn event(&mut self, bytes: Bytes, heard: &Heard, account: &Account) -> Result<Bytes, Refusal> {
        let text = |leaf: &NodeId| heard.document.leaf(*leaf).map(|leaf| leaf.text().into_cow().into_owned());
        let (mut says, mut sealed) = (Vec::new(), Vec::new());
        for said in &heard.said {
            sealed.extend(said.text().filter(|_| said.is_sealed()).map(|(_, leaf)| leaf));
            match said {
                Said::Text { .. } if !said.is_judged() => {}
                Said::Text { place, leaf, again, .. } => {
                    let said = text(leaf).unwrap_or_default();
                    let stretch = match self.texts.get(place).filter(|_| *again) {
                        Some(_) if said.is_empty() => None,
                        Some(first) => Some(first.clone()),
                        None => self.more(*place, &said)?,
                    };
                    says.extend(stretch.map(|stretch| (*leaf, stretch)));
                }
                Said::End(0, Position::LAST) | Said::EndAll => self.end(|_| true)?,
                // Calls are read when the stream has ended.
                Said::Id(_) | Said::Item(..) | Said::Call(..) | Said::End(..) | Said::Items(_) => {}
            }
        }
        let (document, beside) = (Some(Arc::clone(&heard.document)), self.beside(heard, account)?);
        self.line.push_back(WaitingEvent { bytes, document, says, sealed, beside });
        self.leave()
    }

    /// What rules make of the texts of an event that stand beside what the model says. Each is there
    /// as a whole.
    fn beside(&mut self, heard: &Heard, account: &Account) -> Result<Vec<(NodeId, String)>, Refusal> {
        let mut changes = Vec::new();
        for leaf in account.beside(heard, true) {
            let Some(text) = heard.document.leaf(leaf).map(|leaf| leaf.text().into_cow().into_owned()) else {
                continue;
            };
            let now = self.exchange.texts(&[&text], &mut self.so_far.tally)?;
            if now != text {
                self.so_far.changed = true;
                changes.push((leaf, now));
            }
        }
        Ok(changes)
    }

    /// The end of what was said or thought, as it left: what comes behind a call goes on with it for some clients. What stands
    /// beside goes on from nothing.
    pub(super) fn end_of(&self, kind: RunKind) -> String {
        let most = self.exchange.of.look_behind.unwrap_or_default();
        let run = self.runs.iter().rfind(|(run, _)| *run == kind);
        let mut left = run.map(|(_, scan)| scan.left()).unwrap_or_default();
        left.split_off(left.floor_char_boundary(left.len().saturating_sub(most)))
    }

    /// Decides all that is left, and returns it.
    pub(super) fn finish(&mut self) -> Result<Bytes, Refusal> {
        self.end(|_| true)?;
        self.leave()
    }

    /// Takes more of a text. It goes on with the run of its kind.
    fn more(&mut self, place: TextPlace, more: &str) -> Result<Option<TextStretch>, Refusal> {
        if more.is_empty() {
            return Ok(None);
        }
        // Who joins choices joins them when each is complete: a request for several has its answer read as a whole.
        if place.choice > 0 {
            return Err(odd());
        }
        // Clients join what is said, whatever is thought between.
        let kind = if place.text.is_reasoning() { RunKind::Thought } else { RunKind::Said };
        if kind == RunKind::Said {
            self.end(|kind| kind == RunKind::Thought)?;
        }
        let run = *self.open.entry(kind).or_insert_with(|| {
            self.runs.push((kind, TextScan::new(self.exchange.of.look_behind.unwrap_or_default())));
            self.runs.len() - 1
        });
        let (_, scan) = &mut self.runs[run];
        let start = scan.end();
        if start > 0 && !self.texts.contains_key(&place) {
            scan.border();
        }
        let text = self.texts.entry(place).or_insert(TextStretch { run, range: start..start });
        // What comes behind another text does not go on with this one for every client.
        if text.run != run || text.range.end != start {
            return Err(odd());
        }
        let (exchange, told) = (&self.exchange, &mut self.so_far.tally);
        self.so_far.changed |= scan.push(more, |texts| exchange.texts(texts, told))?;
        text.range.end = scan.end();
        let range = start..text.range.end;
        if self.texts.len() > MAX_TEXTS {
            return Err(odd());
        }
        Ok(Some(TextStretch { run, range }))
    }

    fn end(&mut self, ends: impl Fn(RunKind) -> bool) -> Result<(), Refusal> {
        let (exchange, told) = (&self.exchange, &mut self.so_far.tally);
        let ended: Vec<RunKind> = self.open.keys().copied().filter(|&kind| ends(kind)).collect();
        for run in ended.into_iter().filter_map(|kind| self.open.remove(&kind)) {
            self.so_far.changed |= self.runs[run].1.finish(|texts| exchange.texts(texts, told))?;
        }
        Ok(())
    }

    /// What leaves of the line.
    fn leave(&mut self) -> Result<Bytes, Refusal> {
        let mut left = BytesMut::new();
        while let Some(first) = self.line.front() {
            let is_decided =
                |(_, said): &(NodeId, TextStretch)| said.range.end <= self.runs[said.run].1.decided();
            if !first.says.iter().all(is_decided) {
                break;
            }
            let Some(first) = self.line.pop_front() else { break };
            left.extend_from_slice(&self.told(first)?);
        }
        Ok(left.freeze())
    }

    /// An event as it leaves.
    fn told(&self, waiting: WaitingEvent) -> Result<Bytes, Refusal> {
        let said = waiting
            .says
            .iter()
            .filter_map(|(leaf, said)| Some((*leaf, self.runs[said.run].1.now(&said.range)?)));
        let changes: BTreeMap<NodeId, String> = said.chain(waiting.beside).collect();
        if waiting.sealed.iter().any(|leaf| changes.contains_key(leaf)) {
            return Err(Refusal::upstream(CallError::Sealed.to_string()));
        }
        let Some(document) = waiting.document.filter(|_| !changes.is_empty()) else {
            return Ok(waiting.bytes);
        };
        let mut draft = Draft::new(document);
        for (leaf, text) in changes {
            draft.set(leaf, &text, &Author::Person).map_err(|_| odd())?;
        }
        Ok(with_data(&waiting.bytes, &draft.render()))
    }
}

fn odd() -> Refusal {
    super::whole::unreadable(leafgate_answer::AnswerError::Unclear)
}
