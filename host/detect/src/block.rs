//! Blocks of key material: from a header to its footer, or as far as the text was cut.
//!
//! Keys come in every state: whole, indented, with line numbers, with `\n` as two characters, as
//! concatenated string literals, in narrow lines, without a footer because a tool result was cut. A
//! regex that takes all of them either stops too early or runs away with the prose that follows.

use memchr::memmem;

/// A footer further away than this belongs to another block: the longest keys in use are a tenth of
/// it.
const FARTHEST: usize = 64 << 10;

/// Less key material than this under a header is a placeholder or a mention.
const LEAST: usize = 24;

/// Returns where the block ends whose header is `bytes[..header_end]`, `None` where it holds no
/// key.
pub(crate) fn end(bytes: &[u8], header_end: usize) -> Option<usize> {
    let reach = &bytes[header_end..bytes.len().min(header_end + FARTHEST)];
    let dashes = memmem::find(reach, b"-----");
    if let Some(at) = dashes.map(|at| last_five_dashes(reach, at))
        && reach[at..].starts_with(b"-----END")
    {
        let line = &reach[at + 8..reach.len().min(at + 80)];
        let footer = memmem::find(line, b"-----").map_or(at + 8, |n| at + 8 + n + 5);
        return (material(&reach[..at]) >= LEAST).then_some(header_end + footer);
    }
    let cut = dashes.unwrap_or(reach.len());
    let end = truncated(&reach[..cut], cut == reach.len());
    (material(&reach[..end]) >= LEAST).then_some(header_end + end)
}

/// `grep -n` puts a dash behind the number of a line of context, and so before those of a footer.
fn last_five_dashes(reach: &[u8], at: usize) -> usize {
    at + reach[at..].iter().take_while(|&&byte| byte == b'-').count() - 5
}

fn is_material(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// How many different-looking bytes of key material there are; a row of stars or of one letter is
/// none.
fn material(body: &[u8]) -> usize {
    let mut before = 0;
    body.iter().filter(|&&b| is_material(b) && std::mem::replace(&mut before, b) != b).count()
}

/// Narrower lines are prose.
const NARROWEST: usize = 8;

/// A word of this length is key material whatever stands beside it.
const SURE: usize = 16;

/// Where the key material ends that was cut: `whole` if by the end of the text.
fn truncated(body: &[u8], whole: bool) -> usize {
    let mut words = BlockWords::default();
    let (mut at, mut line_start) = (0, false);
    while at < body.len() {
        if let Some((length, ends_line)) = separator(&body[at..]) {
            at += length;
            line_start |= ends_line;
            continue;
        }
        if std::mem::take(&mut line_start) {
            let skipped = line_number(&body[at..]).or_else(|| remark(&body[at..], words.end == 0));
            if let Some(length) = skipped {
                at += length;
                continue;
            }
        }
        let length = body[at..].iter().position(|&b| !is_material(b)).unwrap_or(body.len() - at);
        let word = &body[at..at + length];
        let ends_text = whole && at + length == body.len();
        let ends_line = separator(&body[at + length..]).is_some_and(|(_, ends_line)| ends_line);
        let last = word.ends_with(b"=") || ends_text || (ends_line && !is_prose(word));
        if !words.takes(at, length, last) {
            break;
        }
        at += length;
    }
    words.end
}

/// Small letters alone, but for the first.
fn is_prose(word: &[u8]) -> bool {
    word.iter().skip(1).all(u8::is_ascii_lowercase)
}

/// The words of key material that were taken, one after the other.
#[derive(Default)]
struct BlockWords {
    /// Length of the first one, which those after it share.
    width: usize,
    /// Words that are shorter than a line of a key: the last one is.
    short: usize,
    end: usize,
}

impl BlockWords {
    fn takes(&mut self, at: usize, length: usize, last: bool) -> bool {
        self.short += usize::from(length < 40);
        let even = length == self.width && length >= NARROWEST;
        let rest = last && self.width > 0 && (1..=self.width).contains(&length);
        match self.width {
            // The first narrow word counts once a second one of its width follows.
            0 if (NARROWEST..SURE).contains(&length) => self.width = length,
            0 if length >= SURE => (self.width, self.end) = (length, at + length),
            _ if even || rest || (length >= SURE && self.short <= 1) => self.end = at + length,
            _ => return false,
        }
        true
    }
}

/// What may stand between two words: its length, and whether a line ends with it.
fn separator(rest: &[u8]) -> Option<(usize, bool)> {
    match rest {
        [b'\\', b'n' | b'r', ..] => Some((2, true)),
        [b'\\', b't', ..] => Some((2, false)),
        [b'\n' | b'\r', ..] => Some((1, true)),
        [b'"' | b'\'' | b'\\' | b'+' | b'>' | b'*' | b'|' | b',' | b';', ..] => Some((1, false)),
        [byte, ..] if byte.is_ascii_whitespace() => Some((1, false)),
        _ => None,
    }
}

/// `2:`, `2-`, `2→`, `2<tab>`, `2 |` at the beginning of a line: its length.
fn line_number(line: &[u8]) -> Option<usize> {
    const LONGEST: usize = 7;
    let digits = line.iter().take(LONGEST + 1).take_while(|byte| byte.is_ascii_digit()).count();
    let sign = match &line[digits..] {
        [b':' | b'-' | b'\t' | b'|' | b' ' | b'.' | b')', ..] => 1,
        [0xe2, 0x86, 0x92, ..] | [0xe2, 0x94, 0x82, ..] => 3,
        _ => return None,
    };
    (1..=LONGEST).contains(&digits).then_some(digits + sign)
}

/// `Proc-Type: 4,ENCRYPTED`, `Comment: …` before the key, or a comment of the file that it stands
/// in: the line's length.
fn remark(line: &[u8], before: bool) -> Option<usize> {
    const LONGEST_NAME: usize = 24;
    const LONGEST: usize = 200;
    let is_name = |byte: &&u8| byte.is_ascii_alphabetic() || **byte == b'-';
    let name = line.iter().take(LONGEST_NAME).take_while(is_name).count();
    let named = before && name > 1 && line[name..].starts_with(b": ");
    let comment = line.starts_with(b"#") || line.starts_with(b"// ") || line.starts_with(b"-- ");
    let end = line.iter().take(LONGEST).position(|&byte| byte == b'\n' || byte == b'\\')?;
    (named || comment).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDAC4AWkdwKYSd8";

    #[test]
    fn a_block_ends_at_its_footer_or_where_the_text_was_cut() {
        let whole = format!("\n{LINE}\n{LINE}\n-----END X PRIVATE KEY-----");
        assert_eq!(end(format!("{whole} and then").as_bytes(), 0), Some(whole.len()));
        let escaped = format!("\\n{LINE}\\nabcdefghijklmnopqrstuv");
        assert_eq!(end(format!("{escaped}\" and then a long word").as_bytes(), 0), Some(escaped.len()));
    }

    /// A key of three lines, the last of which is not whole, as a tool shows it.
    fn shown(line: impl Fn(usize, &str) -> String, width: usize) -> String {
        let key = [LINE, &LINE[8..], &LINE[..40]].concat();
        let lines = key.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap());
        lines.enumerate().map(|(n, text)| line(n + 2, text)).collect()
    }

    #[test]
    fn a_key_that_was_cut_ends_with_its_last_line_however_a_tool_shows_it() {
        for width in [64, 15, 76] {
            for body in [
                shown(|n, line| format!("\n{n:6}\u{2192}{line}"), width),
                shown(|n, line| format!("\n{n:6}\t{line}"), width),
                shown(|n, line| format!("\n{n}:{line}"), width),
                shown(|n, line| format!("\n{n}-{line}"), width),
                shown(|n, line| format!("\n{n:4} | {line}"), width),
                shown(
                    |n, line| if n == 3 { format!("\n# no secret\n{line}") } else { format!("\n{line}") },
                    width,
                ),
                format!(
                    "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n{}",
                    shown(|_, line| format!("\n{line}"), width)
                ),
                format!("\nComment: \"a key\"{}", shown(|_, line| format!("\n{line}"), width)),
            ] {
                assert_eq!(end(body.as_bytes(), 0), Some(body.len()), "{body}");
                // What goes on behind it is not taken, but for the last line's rest.
                let more = format!("{body}\n\nand then prose");
                let found = end(more.as_bytes(), 0).unwrap();
                assert!(found <= body.len() && found + 16 > body.len(), "{more}");
            }
        }
    }

    #[test]
    fn a_footer_behind_a_line_number_ends_the_block() {
        for sign in ["-", ":", "\u{2192}", "\t"] {
            let whole = format!("\n2{sign}{LINE}\n3{sign}-----END X PRIVATE KEY-----");
            assert_eq!(end(format!("{whole}\n4{sign}and then").as_bytes(), 0), Some(whole.len()), "{sign:?}");
        }
    }

    #[test]
    fn a_header_without_key_material_is_no_block() {
        for body in
            ["----------END X-----", "\n***\n-----END X-----", " is how a key begins", "", "\n-----BEGIN"]
        {
            assert_eq!(end(body.as_bytes(), 0), None, "{body}");
        }
    }
}
