//! Views: what a text says once its encodings are undone, with the way back to the text.
//!
//! Two kinds of encodings are undone:
//!
//! - **Character for character** ([`respell`], [`number`]): percent-encoding, HTML entities, escapes,
//!   invisible characters, terminal colours, signs between groups of digits. A range of such a view
//!   has a range of the text that spells it, so a finding in it can be replaced.
//! - **As a block** ([`runs`], [`spaced`], [`lines`], [`url`]): base64, base32, hexadecimal digits,
//!   hexdumps, data URLs. A finding in such a view lies somewhere in the stretch, and nothing can be
//!   replaced.
//!
//! Views have views again, up to [`LAYERS`] deep. All character-wise encodings of a layer are
//! undone in one pass, and a block is looked for in a view only where the view made a difference,
//! so that the views of a text together are never larger than [`MOST_TIMES_TEXT`] times that text,
//! however it nests.
//!
//! Nothing is decoded for its own sake. A character-wise view covers a window around the spellings
//! that made it; a block counts where text comes out, so pictures, signatures, hashes and
//! identifiers cost one look.

mod entity;
mod escape;
mod invisible;
mod lines;
mod map;
mod marks;
mod number;
mod percent;
mod respell;
mod runs;
mod source;
mod spaced;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod url;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use leafgate_words::words;
use map::Map;
use marks::Marks;
pub(crate) use source::base64_prefix;

/// Encodings inside one another that are undone: a token in JSON in base64 in a query.
pub const LAYERS: usize = 3;

/// A layer is never larger than its text: its character-wise views are shorter, its blocks are a
/// share of it, and no byte is in two blocks of the same encoding. With two kinds on each of three
/// layers this is never reached. Tests hold views to it.
pub const MOST_TIMES_TEXT: usize = 16;

words! {
    /// One way in which a text spells another.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Encoding {
        /// `%41`, `%u0041`.
        Percent = "percent-encoding",
        /// `&amp;`, `&#65;`, `&#x41;`.
        Entity = "HTML entities",
        /// `\u0041`, `\x41`, `\101`, `\/`.
        Escape = "escapes",
        /// Zero-width characters, soft hyphens and their kin.
        Invisible = "text with invisible characters",
        /// Escape sequences of terminals.
        Terminal = "terminal colours",
        /// Signs between groups of digits that stand for a blank, or a number with an exponent.
        Digits = "another spelling of a number",
        /// Base64 in either alphabet.
        Base64 = "base64",
        /// Base64 of UTF-16.
        Base64Utf16 = "base64 of UTF-16",
        /// Base32.
        Base32 = "base32",
        /// Hexadecimal digits, with separators or without.
        Hex = "hexadecimal digits",
        /// The columns of `xxd`, `hexdump` or `od`.
        Hexdump = "a hexdump",
        /// A data URL, in base64 or percent-encoded.
        DataUrl = "a data URL",
    }
    /// Returns the name used in reports, to be read behind "in".
    pub fn as_str = 0;
}

/// The encodings that one layer undid: one block, or any character-wise ones.
type Encodings = BTreeSet<Encoding>;

/// What a text, or a stretch of it, says once its encodings are undone. `Debug` prints lengths
/// only.
#[derive(Clone, derive_more::Debug)]
#[debug("{} bytes in {}", self.text.len(), self.phrase())]
pub struct View {
    text: String,
    layer: Arc<Layer>,
}

/// One undone layer, and those around it.
struct Layer {
    encodings: Encodings,
    map: Map,
    outer: Option<Arc<Layer>>,
}

/// Where in a text something lies that was found in a view of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What spells it, and where `exact` is false, the whole encoded stretch around it.
    pub range: Range<usize>,
    /// The range spells exactly what was found, so something else may stand there instead.
    pub exact: bool,
}

impl View {
    fn new(text: String, encodings: Encodings, map: Map, outer: Option<&Arc<Layer>>) -> Self {
        View { text, layer: Arc::new(Layer { encodings, map, outer: outer.cloned() }) }
    }

    fn of_block(block: Block, outer: Option<&Arc<Layer>>) -> Self {
        View::new(block.text, Encodings::from([block.encoding]), Map::Block(block.range), outer)
    }

    /// Returns the decoded text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns where a range of the view lies in the text that the view was made of.
    pub fn source(&self, range: Range<usize>) -> Source {
        let (mut range, mut exact) = (range, true);
        for layer in self.layers() {
            exact &= matches!(layer.map, Map::Units(_));
            range = layer.map.source(&range);
        }
        Source { range, exact }
    }

    /// Returns true if and only if any finding in this view can be replaced in the text.
    pub fn is_exact(&self) -> bool {
        self.layers().all(|layer| matches!(layer.map, Map::Units(_)))
    }

    /// Returns the encodings that were undone, the innermost first.
    pub fn encodings(&self) -> impl Iterator<Item = Encoding> {
        self.layers().flat_map(|layer| layer.encodings.iter().copied())
    }

    /// Returns the encodings as a phrase to be read behind "in": `base64 in percent-encoding`.
    pub fn phrase(&self) -> String {
        let phrase =
            |layer: &Layer| layer.encodings.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(" and ");
        self.layers().map(phrase).collect::<Vec<_>>().join(" in ")
    }

    /// The layers, the innermost first.
    fn layers(&self) -> impl Iterator<Item = &Layer> {
        std::iter::successors(Some(&*self.layer), |layer| layer.outer.as_deref())
    }
}

/// Returns all views of a text, and theirs. Most texts have none.
pub fn views(text: &str) -> Vec<View> {
    let mut all = Vec::new();
    add_views(text, None, LAYERS, &mut all);
    if all.len() > 1 { without_repetitions(all) } else { all }
}

/// Leaves out what a stretch spells a second time: a block beside an escape is read with the escape
/// and without.
fn without_repetitions(all: Vec<View>) -> Vec<View> {
    let mut order: Vec<(Range<usize>, usize)> =
        all.iter().map(|view| view.source(0..view.text.len()).range).zip(0..).collect();
    let key = |(range, at): &(Range<usize>, usize)| {
        (range.start, range.end, &*all[*at].text, all[*at].layers().count())
    };
    order.sort_by(|a, b| key(a).cmp(&key(b)));
    let same =
        |a: &(Range<usize>, usize), b: &(Range<usize>, usize)| a.0 == b.0 && all[a.1].text == all[b.1].text;
    let mut kept = vec![true; all.len()];
    order.windows(2).filter(|two| same(&two[0], &two[1])).for_each(|two| kept[two[1].1] = false);
    all.into_iter().zip(kept).filter_map(|(view, kept)| kept.then_some(view)).collect()
}

/// Returns the views of a text that is encoded as a whole, as media is: nothing but its first bytes
/// decides.
pub fn views_of_media(text: &str) -> Vec<View> {
    let mut all = Vec::new();
    if let Some(block) = runs::whole(text) {
        all.push(View::of_block(block, None));
        add_views_of(0, LAYERS - 1, &mut all);
    }
    all
}

/// A stretch of a text, and what it spells.
struct Block {
    encoding: Encoding,
    range: Range<usize>,
    text: String,
}

/// Adds the views of a text, which lies below `outer`, and theirs.
fn add_views(text: &str, outer: Option<&Arc<Layer>>, layers: usize, all: &mut Vec<View>) {
    let first = all.len();
    respell::each_window(text, |view, encodings, units| {
        all.push(View::new(view, encodings, Map::Units(units), outer));
    });
    let marks = Marks::of(text.as_bytes());
    number::each(text, &marks, |view, units| {
        all.push(View::new(view, Encodings::from([Encoding::Digits]), Map::Units(units), outer));
    });
    // What no unit touches stands in the text around the view too, and was decoded there.
    let is_new = |range: &Range<usize>| match outer.map(|layer| &layer.map) {
        Some(Map::Units(units)) => units.touch(range),
        Some(Map::Block(_)) | None => true,
    };
    each_block(text, &marks, |block| {
        if is_new(&block.range) {
            all.push(View::of_block(block, outer));
        }
    });
    if layers > 1 {
        (first..all.len()).for_each(|at| add_views_of(at, layers - 1, all));
    }
}

/// Adds the views of a view.
fn add_views_of(at: usize, layers: usize, all: &mut Vec<View>) {
    let (text, layer) = (std::mem::take(&mut all[at].text), Arc::clone(&all[at].layer));
    add_views(&text, Some(&layer), layers, all);
    all[at].text = text;
}

fn each_block(text: &str, marks: &Marks, mut f: impl FnMut(Block)) {
    let urls = url::data_urls(text);
    runs::each(text, marks, &urls, &mut f);
    urls.into_iter().for_each(&mut f);
    spaced::each(text, marks, &mut f);
    lines::each(text, marks, &mut f);
}
