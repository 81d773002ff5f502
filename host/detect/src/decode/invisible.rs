//! Characters that take no room on a screen: zero-width ones, soft hyphens, byte order marks, marks
//! of direction, variation selectors. Beside them blanks of other widths, which a screen shows like
//! any other.

/// What a reader sees of a character where it is a blank; of others nothing.
const BLANK: Option<char> = Some(' ');

/// Reads the character at the beginning; returns what is seen of it and its length, `None` where it
/// is an ordinary one.
pub(super) fn character(bytes: &[u8]) -> Option<(Option<char>, usize)> {
    Some(match bytes {
        // U+00AD, U+00A0
        [0xc2, 0xad, ..] => (None, 2),
        [0xc2, 0xa0, ..] => (BLANK, 2),
        // U+034F
        [0xcd, 0x8f, ..] => (None, 2),
        // U+180B to U+180F
        [0xe1, 0xa0, 0x8b..=0x8f, ..] => (None, 3),
        // U+2000 to U+200A, U+202F, U+205F, U+3000
        [0xe2, 0x80, 0x80..=0x8a | 0xaf, ..] | [0xe2, 0x81, 0x9f, ..] | [0xe3, 0x80, 0x80, ..] => (BLANK, 3),
        // U+200B to U+200F, U+202A to U+202E, U+2060 to U+206F
        [0xe2, 0x80, 0x8b..=0x8f | 0xaa..=0xae, ..] | [0xe2, 0x81, 0xa0..=0xaf, ..] => (None, 3),
        // U+FE00 to U+FE0F, U+FEFF
        [0xef, 0xb8, 0x80..=0x8f, ..] | [0xef, 0xbb, 0xbf, ..] => (None, 3),
        // U+E0000 to U+E0FFF
        [0xf3, 0xa0, _, _, ..] => (None, 4),
        _ => return None,
    })
}

/// Returns true if and only if what is not seen at `at` stands inside a word, between a name and its
/// value, or between groups of a number.
pub(super) fn hides(bytes: &[u8], at: usize, seen: Option<char>) -> bool {
    let before = at.checked_sub(1).map_or(b' ', |i| bytes[i]);
    match seen {
        None => before.is_ascii_graphic(),
        Some(_) => matches!(before, b':' | b'=') || joins_groups(&bytes[at..]),
    }
}

/// Returns true if and only if three or four digits stand between a blank at the beginning and another.
fn joins_groups(bytes: &[u8]) -> bool {
    let Some((_, length)) = character(bytes) else { return false };
    let digits = bytes[length..].iter().take(5).take_while(|byte| byte.is_ascii_digit()).count();
    matches!(digits, 3 | 4) && matches!(character(&bytes[length + digits..]), Some((BLANK, _)))
}
