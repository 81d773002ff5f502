//! Escape sequences of terminals (ECMA-48): colours, `ESC[K` of `grep --color`, links.

/// Parameters are a few numbers.
const LONGEST_PART: usize = 32;

/// A link or a title is shorter.
const LONGEST_STRING: usize = 2048;

/// Reads the sequence that begins at an escape character or a one-character CSI; returns its
/// length.
pub(super) fn sequence(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [0x1b, b'[', rest @ ..] => Some(2 + control(rest)),
        [0xc2, 0x9b, rest @ ..] => Some(2 + control(rest)),
        // Operating system command: to BEL or to ESC \.
        [0x1b, b']', rest @ ..] => Some(2 + string(rest)),
        // A character set: ESC ( B.
        [0x1b, b' '..=b'/', b'0'..=b'~', ..] => Some(3),
        [0x1b, b'0'..=b'~', ..] => Some(2),
        [0x1b, ..] => Some(1),
        _ => None,
    }
}

fn control(rest: &[u8]) -> usize {
    let count = |from: usize, is: fn(u8) -> bool| {
        rest[from..].iter().take(LONGEST_PART).take_while(|&&byte| is(byte)).count()
    };
    let parameters = count(0, |byte| matches!(byte, b'0'..=b'?'));
    let end = parameters + count(parameters, |byte| matches!(byte, b' '..=b'/'));
    match rest.get(end) {
        Some(b'@'..=b'~') => end + 1,
        _ => 0,
    }
}

fn string(rest: &[u8]) -> usize {
    let reach = &rest[..rest.len().min(LONGEST_STRING)];
    match reach.iter().position(|&byte| byte == 0x07 || byte == 0x1b) {
        Some(end) if reach[end] == 0x07 => end + 1,
        Some(end) if reach.get(end + 1) == Some(&b'\\') => end + 2,
        _ => 0,
    }
}
