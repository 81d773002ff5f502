//! Blocks of key material: from a header to its footer, or as far as the text was cut.
//!
//! Keys come in every state: whole, indented, with `\n` as two characters, as concatenated string literals, without a footer
//! because a tool result was cut. A regex that takes all of them either stops too early or runs away with the prose that follows.

use memchr::memmem;

/// A footer further away than this belongs to another block: the longest keys in use are a tenth of it.
const FARTHEST: usize = 64 << 10;

/// Less key material than this under a header is a placeholder or a mention.
const LEAST: usize = 24;

/// Gives where the block ends whose header is `bytes[..header_end]`, `None` where it holds no key.
pub(crate) fn end(bytes: &[u8], header_end: usize) -> Option<usize> {
    let reach = &bytes[header_end..bytes.len().min(header_end + FARTHEST)];
    let dashes = memmem::find(reach, b"-----");
    if let Some(at) = dashes
        && reach[at..].starts_with(b"-----END")
    {
        let line = &reach[at + 8..reach.len().min(at + 80)];
        let footer = memmem::find(line, b"-----").map_or(at + 8, |n| at + 8 + n + 5);
        return (material(&reach[..at]) >= LEAST).then_some(header_end + footer);
    }
    let cut = dashes.unwrap_or(reach.len());
    let end = truncated(&reach[..cut]);
    (material(&reach[..end]) >= LEAST).then_some(header_end + end)
}

fn is_material(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// How many different-looking bytes of key material there are; a row of stars or of one letter is none.
fn material(body: &[u8]) -> usize {
    let mut before = 0;
    body.iter().filter(|&&b| is_material(b) && std::mem::replace(&mut before, b) != b).count()
}

/// Takes words of key material until one that is none: a word with a sign in it, or a second short one.
fn truncated(body: &[u8]) -> usize {
    let (mut at, mut end, mut short) = (0, 0, 0);
    while at < body.len() {
        let escape = body[at] == b'\\' && matches!(body.get(at + 1), Some(b'n' | b'r' | b't'));
        if escape {
            at += 2;
            continue;
        }
        if body[at].is_ascii_whitespace()
            || matches!(body[at], b'"' | b'\'' | b'\\' | b'+' | b'>' | b'#' | b'*' | b'|')
        {
            at += 1;
            continue;
        }
        let length = body[at..].iter().position(|&b| !is_material(b)).unwrap_or(body.len() - at);
        short += usize::from(length < 40);
        if length < 16 || short > 1 {
            return end;
        }
        at += length;
        end = at;
    }
    end
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

    #[test]
    fn a_header_without_key_material_is_no_block() {
        for body in
            ["----------END X-----", "\n***\n-----END X-----", " is how a key begins", "", "\n-----BEGIN"]
        {
            assert_eq!(end(body.as_bytes(), 0), None, "{body}");
        }
    }
}
