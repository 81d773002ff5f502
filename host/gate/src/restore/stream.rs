//! Puts the real values back into an answer that comes as a stream of events.
//!
//! A token may be broken over many events, so each text that a stream speaks has a restorer of its own, which holds back the shortest
//! suffix that may still become a token of this session. Held text leaves with the next event of its text; when the text ends, or the
//! stream does, in an added event before that. Lines in which nothing was held or restored leave byte for byte as they came, before the
//! next one is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use leafgate_tree::{Document, Draft, NodeId};
use leafgate_vault::{Channel, Restorer};

use super::{Added, Place, RESTORER, Restoring, Said};
use crate::sse::{self, Lines, Piece};

/// A line longer than this passes unrestored.
const MAX_LINE: usize = 1024 * 1024;

/// So many texts are restored at a time; no request asks for more choices.
const MAX_TEXTS: usize = 512;

/// Restores one stream.
pub(crate) struct EventStream {
    restoring: Restoring,
    lines: Lines,
    texts: BTreeMap<Place, Spoken>,
    /// Lines of the present event before its data: they must stay with it when an event is added before it.
    pending: BytesMut,
    /// Whether the stream stands between two events.
    at_boundary: bool,
}

/// A text that is being spoken.
struct Spoken {
    restorer: Restorer,
    /// The event that ends in what is held.
    last: Option<Arc<Document>>,
}

impl EventStream {
    pub(crate) fn new(restoring: Restoring) -> Self {
        EventStream {
            restoring,
            lines: Lines::new(MAX_LINE),
            texts: BTreeMap::new(),
            pending: BytesMut::new(),
            at_boundary: true,
        }
    }

    /// Takes the next bytes of the stream and returns what may leave.
    pub(crate) fn push(&mut self, chunk: Bytes) -> Bytes {
        let mut out = BytesMut::with_capacity(chunk.len());
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(MAX_LINE));
        lines.push(chunk, |piece| self.piece(&piece, &mut out));
        self.lines = lines;
        out.freeze()
    }

    /// Returns what was held back, when the stream has ended.
    pub(crate) fn finish(&mut self) -> Bytes {
        let mut out = BytesMut::new();
        if let Some(piece) = self.lines.finish() {
            self.piece(&piece, &mut out);
        }
        out.extend_from_slice(&self.pending.split());
        let mut added = BytesMut::new();
        if out.last().is_some_and(|last| !matches!(last, b'\n' | b'\r')) {
            // What is added must not go on with a line that was cut off.
            added.extend_from_slice(b"\n\n");
            self.at_boundary = true;
        }
        let ending = added.len();
        self.end(|_| true, &mut added);
        if added.len() > ending {
            out.extend_from_slice(&added);
        }
        out.freeze()
    }

    fn piece(&mut self, piece: &Piece, out: &mut BytesMut) {
        let line = match piece {
            Piece::Line(line) => line,
            Piece::Through(bytes) if self.pending.is_empty() => return out.extend_from_slice(bytes),
            Piece::Through(bytes) => return self.pending.extend_from_slice(bytes),
        };
        let (text, ending) = sse::split_ending(line);
        if let Some(data) = sse::data(text) {
            let restored = self.data(&line.slice_ref(data), out);
            out.extend_from_slice(&self.pending.split());
            match restored {
                Some(restored) => {
                    out.extend_from_slice(&text[..text.len() - data.len()]);
                    out.extend_from_slice(&restored);
                    out.extend_from_slice(ending);
                }
                None => out.extend_from_slice(line),
            }
            self.at_boundary = false;
        } else if text.is_empty() {
            out.extend_from_slice(&self.pending.split());
            out.extend_from_slice(line);
            self.at_boundary = true;
        } else if self.pending.is_empty() && text.starts_with(b":")
            || self.pending.len() + line.len() > MAX_LINE
        {
            // A comment is a sign of life and waits for nothing.
            out.extend_from_slice(&self.pending.split());
            out.extend_from_slice(line);
        } else {
            self.pending.extend_from_slice(line);
        }
    }

    /// Restores what a data line carries; `None` where it stays as it is. Events that must come before it are written to `out`.
    fn data(&mut self, data: &Bytes, out: &mut BytesMut) -> Option<Bytes> {
        if data.trim_ascii() == b"[DONE]" {
            self.end(|_| true, out);
            return None;
        }
        let event = Arc::new(super::read(data.clone())?);
        let said = self.restoring.reader.event(&event);
        let mut draft = Draft::new(event);
        for (at, &one) in said.iter().enumerate() {
            match one {
                Said::More(place, leaf) => {
                    let ends = said[at..].contains(&Said::End(place));
                    self.more(&mut draft, place, leaf, ends);
                }
                Said::Id(leaf) => self.restoring.follow(draft.document(), leaf),
                Said::Whole(leaf) => self.restoring.repeat(&mut draft, leaf),
                Said::End(place) => self.end(|other| other == place, out),
                Said::EndItem(item) => self.end(|other| other.item == item, out),
                Said::EndAll => self.end(|_| true, out),
            }
        }
        draft.is_dirty().then(|| draft.render())
    }

    /// Takes what a leaf says through the restorer of its text, and all that is held where the text ends with it.
    fn more(&mut self, draft: &mut Draft, place: Place, leaf: NodeId, ends: bool) {
        let event = draft.document().clone();
        let Some(leaf) = event.leaf(leaf) else { return };
        let Some(spoken) = self.spoken(place) else { return };
        let mut restored = spoken.restorer.push(leaf.text().expose());
        spoken.last = spoken.restorer.is_holding().then(|| event.clone());
        if ends {
            restored.push_str(&spoken.restorer.finish());
            self.texts.remove(&place);
        }
        // Refused only for leaves that `super::text` does not give.
        let _ = draft.set(leaf.id(), &restored, &RESTORER);
    }

    fn spoken(&mut self, place: Place) -> Option<&mut Spoken> {
        if self.texts.len() >= MAX_TEXTS && !self.texts.contains_key(&place) {
            return None;
        }
        let vault = &self.restoring.vault;
        let begun = || Spoken { restorer: vault.restorer(Channel::Text), last: None };
        Some(self.texts.entry(place).or_insert_with(begun))
    }

    /// Ends texts; what they held leaves in events of its own.
    fn end(&mut self, ends: impl Fn(Place) -> bool, out: &mut BytesMut) {
        let ended: Vec<_> = self.texts.extract_if(.., |&place, _| ends(place)).collect();
        for (place, mut spoken) in ended {
            let held = spoken.restorer.finish();
            let Some(last) = spoken.last.filter(|_| !held.is_empty()) else { continue };
            let Added { name, data } = self.restoring.reader.added(&last, place, &held);
            let mut event = String::new();
            sse::event(&mut event, name, &data);
            if !self.at_boundary {
                // Servers that end events with one newline have clients that read it so; otherwise a blank line ends the event.
                event.pop();
            }
            out.extend_from_slice(event.as_bytes());
        }
    }
}
