//! What a page shows: its text in the order in which it is painted. What follows on the same line stands
//! together unless there is a gap, however it is cut into strings, because a value that is cut is found by
//! nobody.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Object, ObjectId, Stream};

use super::{Font, PageText, Survey, name, why};
use crate::{FileBounds, UnreadReason};

/// Forms within forms.
const DEPTH: usize = 12;

/// So many letters in a row of which nothing says what they are may be a value.
const LOST: usize = 8;

/// A gap between letters and between lines, as parts of the size.
const GAP: f32 = 0.2;
const LINE: f32 = 0.5;

pub(super) struct Painter<'d> {
    document: &'d Document,
    survey: &'d Survey<'d>,
    bounds: &'d FileBounds,
    fonts: HashMap<*const Dictionary, Rc<Font<'d>>>,
    /// What was painted on the way: each once at a time, and so many times in all.
    pub(super) forms: BTreeSet<ObjectId>,
    under_way: Vec<ObjectId>,
    left: usize,
    shown: PageText,
    /// Whether something is shown that is no text.
    draws: bool,
    /// Letters in a row that nothing says.
    lost: usize,
    /// Where the last letter ended.
    end: Option<(f32, f32)>,
}

/// A matrix of PDF: `[a b c d e f]`.
type Matrix = [f32; 6];

const SAME: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

fn times([a, b, c, d, e, f]: Matrix, by: Matrix) -> Matrix {
    let [p, q, r, s, t, u] = by;
    [a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u]
}

/// The state of painting (ISO 32000-1, 8.4 and 9.3).
#[derive(Clone)]
struct PaintState<'d> {
    page: Matrix,
    text: Matrix,
    line: Matrix,
    font: Option<Rc<Font<'d>>>,
    size: f32,
    leading: f32,
    letter_space: f32,
    word_space: f32,
    scale: f32,
}

impl<'d> Painter<'d> {
    pub(super) fn new(document: &'d Document, survey: &'d Survey<'d>, bounds: &'d FileBounds) -> Self {
        Painter {
            document,
            survey,
            bounds,
            fonts: HashMap::new(),
            forms: BTreeSet::new(),
            under_way: Vec::new(),
            left: bounds.parts,
            shown: PageText::default(),
            draws: false,
            lost: 0,
            end: None,
        }
    }

    /// Returns what a page shows.
    pub(super) fn page(&mut self, page: ObjectId) -> PageText {
        let mut content = Vec::new();
        for part in self.document.get_page_contents(page) {
            let stream = self.document.get_object(part).and_then(Object::as_stream);
            let limit = self.bounds.text.saturating_mul(4).saturating_sub(content.len());
            match stream.and_then(|stream| stream.get_plain_content_with_limit(limit)) {
                Ok(part) => content.extend([&part[..], b"\n"].concat()),
                Err(error) => self.miss(why(&error)),
            }
        }
        let resources = match self.document.get_page_resources(page) {
            Ok((own, others)) => {
                let others = others.into_iter().filter_map(|id| self.document.get_dictionary(id).ok());
                own.into_iter().chain(others).collect()
            }
            Err(_) => Vec::new(),
        };
        self.paint(&content, &resources, SAME);
        self.finish()
    }

    /// Returns what a form shows that no page paints.
    pub(super) fn form_alone(&mut self, form: ObjectId) -> PageText {
        self.form(form, &[], SAME);
        self.finish()
    }

    fn finish(&mut self) -> PageText {
        self.note_lost();
        let mut shown = std::mem::take(&mut self.shown);
        if std::mem::take(&mut self.draws) && shown.text.trim().is_empty() {
            shown.unread.get_or_insert(UnreadReason::NoText);
        }
        self.end = None;
        shown
    }

    fn miss(&mut self, why: UnreadReason) {
        self.shown.unread.get_or_insert(why);
    }

    fn note_lost(&mut self) {
        if std::mem::take(&mut self.lost) >= LOST {
            self.miss(UnreadReason::NoLetters);
        }
    }

    fn paint(&mut self, content: &[u8], resources: &[&'d Dictionary], page: Matrix) {
        let operations = Content::decode_strict(content).or_else(|_| {
            self.miss(UnreadReason::Broken);
            Content::decode(content)
        });
        let mut state = PaintState {
            page,
            text: SAME,
            line: SAME,
            font: None,
            size: 1.0,
            leading: 0.0,
            letter_space: 0.0,
            word_space: 0.0,
            scale: 1.0,
        };
        let mut kept = Vec::new();
        for operation in operations.iter().flat_map(|content| &content.operations) {
            match &*operation.operator {
                "q" => kept.push(state.clone()),
                "Q" => state = kept.pop().unwrap_or(state),
                "cm" => state.page = times(matrix(&operation.operands), state.page),
                "Do" => self.place(operation, resources, &state),
                "f" | "F" | "f*" | "B" | "B*" | "b" | "b*" | "S" | "s" | "sh" | "BI" | "EI" => {
                    self.draws = true
                }
                "BDC" | "DP" => self.said_instead(operation),
                "Tf" => self.choose(operation, resources, &mut state),
                _ => self.write(operation, &mut state),
            }
        }
    }

    /// Paints what has a name: a form, or a picture.
    fn place(&mut self, operation: &Operation, resources: &[&'d Dictionary], state: &PaintState<'d>) {
        let named = operation.operands.first().and_then(|name| name.as_name().ok());
        let found = named.and_then(|name| self.resource(resources, b"XObject", name));
        match found.map(|object| (object, object.as_reference())) {
            Some((_, Ok(id))) => self.form(id, resources, state.page),
            // A stream is never without a number of its own.
            Some((_, Err(_))) | None => self.miss(UnreadReason::Broken),
        }
    }

    fn form(&mut self, id: ObjectId, around: &[&'d Dictionary], page: Matrix) {
        let Ok(stream) = self.document.get_object(id).and_then(Object::as_stream) else {
            return self.miss(UnreadReason::Broken);
        };
        if name(&stream.dict, b"Subtype") != Some(b"Form") {
            self.draws = true;
            return;
        }
        self.forms.insert(id);
        let Some(left) = self.left.checked_sub(1) else { return self.miss(UnreadReason::TooMuch) };
        self.left = left;
        if self.under_way.contains(&id) || self.under_way.len() == DEPTH {
            return self.miss(UnreadReason::TooMuch);
        }
        let content = match stream.get_plain_content_with_limit(self.bounds.text.saturating_mul(4)) {
            Ok(content) => content,
            Err(error) => return self.miss(why(&error)),
        };
        self.under_way.push(id);
        self.paint(&content, &self.resources_of(stream, around), times(self.matrix_of(stream), page));
        self.under_way.pop();
    }

    fn resources_of(&self, form: &'d Stream, around: &[&'d Dictionary]) -> Vec<&'d Dictionary> {
        let own = form.dict.get_deref(b"Resources", self.document).and_then(Object::as_dict);
        own.map_or_else(|_| around.to_vec(), |own| vec![own])
    }

    fn matrix_of(&self, form: &Stream) -> Matrix {
        let own = form.dict.get_deref(b"Matrix", self.document).and_then(Object::as_array);
        own.map_or(SAME, |own| matrix(own))
    }

    fn resource(&self, resources: &[&'d Dictionary], kind: &[u8], name: &[u8]) -> Option<&'d Object> {
        resources.iter().find_map(|resources| {
            resources.get_deref(kind, self.document).and_then(Object::as_dict).ok()?.get(name).ok()
        })
    }

    /// A text that is to be read in the place of what is painted.
    fn said_instead(&mut self, operation: &Operation) {
        for said in operation.operands.iter().filter_map(|operand| operand.as_dict().ok()) {
            for key in [&b"ActualText"[..], b"Alt", b"E"] {
                if let Some(text) = said.get(key).ok().and_then(|text| lopdf::decode_text_string(text).ok()) {
                    self.shown.text.push_str(&format!("\n{text}\n"));
                }
            }
        }
    }

    fn choose(&mut self, operation: &Operation, resources: &[&'d Dictionary], state: &mut PaintState<'d>) {
        let [named, size] = &operation.operands[..] else { return };
        state.size = size.as_float().unwrap_or(1.0);
        let found = named.as_name().ok().and_then(|name| self.resource(resources, b"Font", name));
        let font = found.and_then(|font| self.document.dereference(font).ok()?.1.as_dict().ok());
        state.font = font.and_then(|font| {
            let known = self.fonts.get(&std::ptr::from_ref(font)).cloned();
            known.or_else(|| {
                let probe = self.survey.fonts.get(&std::ptr::from_ref(font))?;
                let read = Rc::new(Font::of(self.document, probe, self.bounds.text));
                self.fonts.insert(font, Rc::clone(&read));
                Some(read)
            })
        });
    }

    /// Does what an operator of text says.
    fn write(&mut self, operation: &Operation, state: &mut PaintState<'d>) {
        let operands = &operation.operands;
        let number = |at: usize| operands.get(at).and_then(|number| number.as_float().ok()).unwrap_or(0.0);
        match &*operation.operator {
            "BT" => (state.text, state.line) = (SAME, SAME),
            "Tc" => state.letter_space = number(0),
            "Tw" => state.word_space = number(0),
            "Tz" => state.scale = number(0) / 100.0,
            "TL" => state.leading = number(0),
            "Tm" => (state.text, state.line) = (matrix(operands), matrix(operands)),
            "Td" => state.next_line(number(0), number(1)),
            "TD" => {
                state.leading = -number(1);
                state.next_line(number(0), number(1));
            }
            "T*" => state.next_line(0.0, -state.leading),
            "Tj" | "TJ" => self.show(operands, state),
            "'" | "\"" => {
                if operands.len() == 3 {
                    (state.word_space, state.letter_space) = (number(0), number(1));
                }
                state.next_line(0.0, -state.leading);
                self.show(operands.last().map_or(&[], std::slice::from_ref), state);
            }
            _ => {}
        }
    }

    fn show(&mut self, operands: &[Object], state: &mut PaintState<'d>) {
        for operand in operands {
            match operand {
                Object::Array(all) => self.show(all, state),
                Object::String(string, _) => self.show_string(string, state),
                moved => {
                    let moved = moved.as_float().unwrap_or(0.0);
                    state.advance(-moved / 1000.0 * state.size * state.scale);
                }
            }
        }
    }

    fn show_string(&mut self, string: &[u8], state: &mut PaintState<'d>) {
        let Some(font) = state.font.clone() else {
            self.lost += string.len();
            return;
        };
        for glyph in font.glyphs(string) {
            if self.shown.text.len() >= self.bounds.text {
                return self.miss(UnreadReason::TooMuch);
            }
            self.part_from_last(state);
            match glyph.letters {
                Some(letters) => {
                    self.note_lost();
                    self.shown.text.push_str(&letters);
                }
                None => self.lost += 1,
            }
            let space = state.letter_space + if glyph.is_blank { state.word_space } else { 0.0 };
            state.advance((glyph.width / 1000.0 * state.size + space) * state.scale);
            self.end = Some(state.place());
        }
    }

    /// Puts a blank or the end of a line between the last letter and the next, where they stand apart.
    fn part_from_last(&mut self, state: &PaintState<'d>) {
        let Some((x, y)) = self.end else { return };
        let [a, b, ..] = times(state.text, state.page);
        let length = a.hypot(b);
        let size = (length * state.size).abs();
        if size == 0.0 || self.shown.text.ends_with(char::is_whitespace) {
            return;
        }
        let (dx, dy) = (state.place().0 - x, state.place().1 - y);
        let (along, across) = ((dx * a + dy * b) / length, (dy * a - dx * b) / length);
        if across.abs() > LINE * size || along < -size {
            self.shown.text.push('\n');
        } else if along > GAP * size {
            self.shown.text.push(' ');
        }
    }
}

impl PaintState<'_> {
    fn next_line(&mut self, x: f32, y: f32) {
        self.line = times([1.0, 0.0, 0.0, 1.0, x, y], self.line);
        self.text = self.line;
    }

    fn advance(&mut self, by: f32) {
        self.text = times([1.0, 0.0, 0.0, 1.0, by, 0.0], self.text);
    }

    /// Where on the page the next letter stands.
    fn place(&self) -> (f32, f32) {
        let [.., x, y] = times(self.text, self.page);
        (x, y)
    }
}

fn matrix(operands: &[Object]) -> Matrix {
    let number = |at: usize| operands.get(at).and_then(|number| number.as_float().ok());
    std::array::from_fn(|at| number(at).unwrap_or(SAME[at]))
}
