//! A patch that names its files itself, as `apply_patch` takes it.
//!
//! Those who apply patches differ in what ends a line, in whether a header may be indented, and in
//! where one may say to which file another moves. So a patch with a header that is not spelled as
//! the format has it says nothing about any file, and the lines of a file that moves may come to stand
//! in either.

use std::sync::Arc;

use leafgate_vault::FileName;

use super::{PatchNames, Stretch};

/// The headers that begin a file's part.
const BEGINS: [&str; 3] = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
/// The header that names the file to which one moves.
const MOVES: &str = "*** Move to: ";
/// Those that name none.
const PLAIN: [&str; 3] = ["*** Begin Patch", "*** End Patch", "*** End of File"];

/// A line of a patch.
enum PatchLine<'p> {
    Begins(&'p str),
    Moves(&'p str),
    Ends,
    OfFile,
}

/// The part of one file: its names, `None` where one of them has several readings, and its lines.
#[derive(Default)]
struct PatchPart {
    files: Option<Vec<FileName>>,
    lines: Vec<std::ops::Range<usize>>,
}

/// Reads a patch line by line; `None` where those who apply patches may read it in several ways.
pub(super) fn read(patch: &str, names: &PatchNames) -> Option<Vec<Stretch>> {
    if has_odd_line_ends(patch) {
        return None;
    }
    let (mut stretches, mut part, mut at) = (Vec::new(), PatchPart::default(), 0);
    for line in patch.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        match line_of(line.strip_suffix('\n').unwrap_or(line))? {
            PatchLine::Begins(name) => {
                part.end(patch, &mut stretches);
                part.files = names.parse(name).map(|name| vec![name]);
            }
            PatchLine::Moves(name) => {
                // A file that moves twice moves to neither for somebody.
                let file = part.files.take().filter(|files| files.len() == 1);
                part.files = file.zip(names.parse(name)).map(|(file, name)| [file, vec![name]].concat());
            }
            PatchLine::Ends => part.end(patch, &mut stretches),
            PatchLine::OfFile => part.lines.push(range),
        }
    }
    part.end(patch, &mut stretches);
    Some(stretches)
}

impl PatchPart {
    fn end(&mut self, patch: &str, stretches: &mut Vec<Stretch>) {
        let PatchPart { files, lines } = std::mem::take(self);
        let Some(files) = files.map(Arc::<[FileName]>::from) else { return };
        stretches.extend(lines.into_iter().map(|at| Stretch {
            lead: match patch.as_bytes()[at.start] {
                b'+' => "+",
                b'-' => "-",
                _ => " ",
            },
            at,
            files: Arc::clone(&files),
            editor: None,
        }));
    }
}

fn line_of(line: &str) -> Option<PatchLine<'_>> {
    let is_blank = |c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}';
    if !line.trim_start_matches(is_blank).starts_with("***") {
        return Some(PatchLine::OfFile);
    }
    if let Some(name) = BEGINS.iter().find_map(|begins| line.strip_prefix(begins)) {
        return Some(PatchLine::Begins(name));
    }
    if let Some(name) = line.strip_prefix(MOVES) {
        return Some(PatchLine::Moves(name));
    }
    match PLAIN.iter().position(|plain| line.trim_end() == *plain)? {
        2 => Some(PatchLine::OfFile),
        _ => Some(PatchLine::Ends),
    }
}

/// What some take for the end of a line, other than a line feed with or without a carriage return.
fn has_odd_line_ends(text: &str) -> bool {
    let odd =
        |c: char| matches!(c, '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    text.contains(odd) || text.replace("\r\n", "").contains('\r')
}
