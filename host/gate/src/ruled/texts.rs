//! The texts of a stream, judged while it comes.
//!
//! Events wait in a line until all that they say is decided, and leave byte for byte where nothing
//! of it was changed. What is changed stands in the event in which its segment begins.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use leafgate_tree::{Author, Document, Draft, NodeId};

use super::Ruling;
use super::scan::{Scan, Segment};
use crate::gate::Shared;
use crate::log::Tally;
use crate::refusal::Refusal;
use crate::restore::{self, Position, Reader, Reading, Said, TextPlace};
use crate::sse::{self, Field, Lines, Piece};

/// So many texts an answer may have.
const MAX_TEXTS: usize = 512;

/// Judges the texts of one stream.
pub(super) struct Texts {
    shared: Arc<Shared>,
    ruling: Arc<Ruling>,
    reader: Box<dyn Reader>,
    texts: BTreeMap<TextPlace, Text>,
    line: VecDeque<Waiting>,
    /// What rules did so far.
    pub(super) tally: Tally,
    /// Whether anything was changed.
    pub(super) changed: bool,
}

struct Text {
    scan: Scan,
    /// What the model said.
    said: String,
    segments: Vec<Segment>,
    decided: usize,
    over: bool,
}

/// An event that waits.
struct Waiting {
    event: Bytes,
    says: Vec<(TextPlace, NodeId, Saying)>,
    /// What becomes of texts beside these.
    beside: Vec<(NodeId, String)>,
}

/// What a leaf says of its text.
enum Saying {
    Part(Range<usize>),
    All,
}

impl Texts {
    pub(super) fn new(shared: &Arc<Shared>, ruling: &Arc<Ruling>, reader: Box<dyn Reader>) -> Self {
        Texts {
            shared: Arc::clone(shared),
            ruling: Arc::clone(ruling),
            reader,
            texts: BTreeMap::new(),
            line: VecDeque::new(),
            tally: Tally::default(),
            changed: false,
        }
    }

    /// Whether events wait.
    pub(super) fn are_waiting(&self) -> bool {
        !self.line.is_empty()
    }

    /// Takes an event, and returns what may leave.
    pub(super) fn event(&mut self, event: &Bytes) -> Result<Bytes, Refusal> {
        let (mut says, mut beside) = (Vec::new(), Vec::new());
        if let Some(data) = data(event)? {
            let document = restore::read(data).map_err(|_| odd())?;
            let reading = Reading::new(&document);
            let said = self.reader.event(&reading);
            if reading.is_odd() {
                return Err(odd());
            }
            let spoken: BTreeSet<NodeId> =
                said.iter().filter_map(|one| one.text()).map(|(_, leaf)| leaf).collect();
            beside = self.beside(&document, &spoken)?;
            for one in said {
                let text = |leaf: NodeId| document.leaf(leaf).map(|leaf| leaf.text().into_cow().into_owned());
                match one {
                    Said::More(place, leaf) => {
                        let text = text(leaf).unwrap_or_default();
                        if !text.is_empty() {
                            self.end(|other| other.choice == place.choice && other != place)?;
                            says.push((place, leaf, Saying::Part(self.more(place, &text)?)));
                        }
                    }
                    Said::Repeat(place, leaf) => {
                        let text = text(leaf).unwrap_or_default();
                        if !text.is_empty() {
                            self.again(place, &text)?;
                            says.push((place, leaf, Saying::All));
                        }
                    }
                    Said::End(choice, end) => self.end_up_to(choice, end)?,
                    Said::EndAll => self.end(|_| true)?,
                    // What is signed or sealed cannot be changed.
                    // Calls are read when the stream has ended.
                    Said::Id(_) | Said::Shown(..) | Said::ShownAgain(..) | Said::Call(..) => {}
                }
            }
        }
        self.line.push_back(Waiting { event: event.clone(), says, beside });
        self.leave()
    }

    /// What rules make of the texts of an event that stand beside what the model says. Each is there
    /// as a whole.
    fn beside(
        &mut self,
        event: &Document,
        spoken: &BTreeSet<NodeId>,
    ) -> Result<Vec<(NodeId, String)>, Refusal> {
        let Ok(value) = serde_json::from_slice(event.source()) else { return Ok(Vec::new()) };
        let places = self.ruling.answers.texts_beside(&value);
        let mut changes = Vec::new();
        for at in places {
            let leaf = event.resolve(&at).map_err(|_| odd())?;
            if spoken.contains(&leaf) {
                continue;
            }
            let Some(text) = event.leaf(leaf).map(|leaf| leaf.text().into_cow().into_owned()) else {
                continue;
            };
            let now = self.ruling.text(&self.shared, &text, &mut self.tally)?;
            if now != text {
                self.changed = true;
                changes.push((leaf, now));
            }
        }
        Ok(changes)
    }

    /// Decides all that is left, and returns it.
    pub(super) fn finish(&mut self) -> Result<Bytes, Refusal> {
        self.end(|_| true)?;
        self.leave()
    }

    fn more(&mut self, place: TextPlace, text: &str) -> Result<Range<usize>, Refusal> {
        if self.texts.len() >= MAX_TEXTS && !self.texts.contains_key(&place) {
            return Err(odd());
        }
        let look_behind = self.ruling.of.look_behind.unwrap_or_default();
        let spoken = self.texts.entry(place).or_insert_with(|| Text::new(look_behind));
        if spoken.over {
            return Err(odd());
        }
        let (shared, ruling, told) = (&self.shared, &self.ruling, &mut self.tally);
        let start = spoken.scan.end();
        spoken.said.push_str(text);
        for segment in spoken.scan.push(text, |text| ruling.text(shared, text, told))? {
            self.changed |= spoken.decide(segment);
        }
        Ok(start..spoken.scan.end())
    }

    /// Takes a text that is said again, or for the first time.
    fn again(&mut self, place: TextPlace, text: &str) -> Result<(), Refusal> {
        if !self.texts.contains_key(&place) {
            self.more(place, text)?;
        }
        self.end(|other| other == place)?;
        match self.texts.get(&place) {
            Some(spoken) if spoken.said == text => Ok(()),
            _ => Err(odd()),
        }
    }

    fn end_up_to(&mut self, choice: usize, end: Position) -> Result<(), Refusal> {
        self.end(|place| place.choice == choice && place.at <= end)
    }

    fn end(&mut self, ends: impl Fn(TextPlace) -> bool) -> Result<(), Refusal> {
        let (shared, ruling, told) = (&self.shared, &self.ruling, &mut self.tally);
        for (_, spoken) in self.texts.iter_mut().filter(|(place, text)| ends(**place) && !text.over) {
            spoken.over = true;
            if let Some(segment) = spoken.scan.finish(|text| ruling.text(shared, text, told))? {
                self.changed |= spoken.decide(segment);
            }
        }
        Ok(())
    }

    /// What leaves of the line.
    fn leave(&mut self) -> Result<Bytes, Refusal> {
        let mut left = BytesMut::new();
        while let Some(first) = self.line.front() {
            let texts = &self.texts;
            let is_decided = |(place, _, saying): &(TextPlace, NodeId, Saying)| {
                texts.get(place).is_some_and(|text| match saying {
                    Saying::Part(range) => range.end <= text.decided,
                    Saying::All => text.over,
                })
            };
            if !first.says.iter().all(is_decided) {
                break;
            }
            let Some(first) = self.line.pop_front() else { break };
            left.extend_from_slice(&self.told(first)?);
        }
        Ok(left.freeze())
    }

    /// An event as it leaves.
    fn told(&self, waiting: Waiting) -> Result<Bytes, Refusal> {
        let said = waiting
            .says
            .iter()
            .filter_map(|(place, leaf, saying)| Some((*leaf, self.texts.get(place)?.now(saying)?)));
        let changes: Vec<(NodeId, String)> = said.chain(waiting.beside).collect();
        let Some(data) = data(&waiting.event)?.filter(|_| !changes.is_empty()) else {
            return Ok(waiting.event);
        };
        let mut draft = Draft::new(Arc::new(restore::read(data).map_err(|_| odd())?));
        for (leaf, text) in changes {
            draft.set(leaf, &text, &Author::Person).map_err(|_| odd())?;
        }
        Ok(with_data(&waiting.event, &draft.render()))
    }
}

impl Text {
    fn new(look_behind: usize) -> Self {
        Text {
            scan: Scan::new(look_behind),
            said: String::new(),
            segments: Vec::new(),
            decided: 0,
            over: false,
        }
    }

    /// Keeps a segment, and returns whether it was changed.
    fn decide(&mut self, segment: Segment) -> bool {
        self.decided = segment.range.end;
        let changed = segment.now.is_some();
        if changed {
            self.segments.push(segment);
        }
        changed
    }

    /// What a leaf says now; `None` where that is what it said.
    fn now(&self, saying: &Saying) -> Option<String> {
        let range = match saying {
            Saying::Part(range) => range.clone(),
            Saying::All => 0..self.said.len(),
        };
        let within =
            self.segments.iter().filter(|it| it.range.start < range.end && it.range.end > range.start);
        let (mut now, mut at, mut changed) = (String::new(), range.start, false);
        for segment in within {
            changed = true;
            now.push_str(&self.said[at..segment.range.start.max(at)]);
            if segment.range.start >= range.start {
                now.push_str(segment.now.as_deref().unwrap_or_default());
            }
            at = segment.range.end.min(range.end);
        }
        now.push_str(&self.said[at..range.end]);
        changed.then_some(now)
    }
}

/// The JSON that an event carries; `None` where it carries none.
fn data(event: &Bytes) -> Result<Option<Bytes>, Refusal> {
    let mut found = BytesMut::new();
    let mut any = false;
    for line in lines(event) {
        match sse::field(&line) {
            Field::Data(data) => {
                if any {
                    found.extend_from_slice(b"\n");
                }
                any = true;
                found.extend_from_slice(data);
            }
            Field::Unclear => return Err(odd()),
            Field::End | Field::Comment | Field::Name(_) | Field::Other => {}
        }
    }
    let said = found.trim_ascii();
    Ok((any && !said.is_empty() && said != b"[DONE]").then(|| found.freeze()))
}

/// An event with other data, its other lines as they came.
fn with_data(event: &Bytes, data: &[u8]) -> Bytes {
    let mut told = BytesMut::new();
    let mut written = false;
    for line in lines(event) {
        if !matches!(sse::field(&line), Field::Data(_)) {
            told.extend_from_slice(&line);
        } else if !std::mem::replace(&mut written, true) {
            for line in data.split(|&byte| byte == b'\n') {
                told.extend_from_slice(b"data: ");
                told.extend_from_slice(line);
                told.extend_from_slice(b"\n");
            }
        }
    }
    told.freeze()
}

fn lines(event: &Bytes) -> Vec<Bytes> {
    let mut cut = Lines::new(event.len());
    let mut pieces = Vec::new();
    cut.push(event.clone(), |piece| pieces.push(piece));
    pieces.extend(cut.finish());
    pieces.iter().map(|piece: &Piece| piece.bytes().clone()).collect()
}

fn odd() -> Refusal {
    Refusal::upstream(
        "rules decide about the answer, and clients may read its stream in another way than this gate",
    )
}
