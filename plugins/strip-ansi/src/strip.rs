//! A text without its control sequences.

use crate::line::ScreenLine;
use crate::sequence::{self, Sequence};

/// Returns a text as a screen would show it, or `None` where it is that already. Lines that were
/// written over stay as they are unless `overwritten`.
pub(crate) fn strip(text: &str, overwritten: bool) -> Option<String> {
    if !has_controls(text, overwritten) {
        return None;
    }
    let mut stripped = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let body = line.strip_suffix('\n').unwrap_or(line);
        // A carriage return before the end writes over nothing.
        let body = body.strip_suffix('\r').unwrap_or(body);
        match overwritten && memchr::memchr2(b'\r', 0x08, body.as_bytes()).is_some() {
            true => play(body, &mut stripped),
            false => remove(body, &mut stripped),
        }
        stripped.push_str(&line[body.len()..]);
    }
    (stripped != text).then_some(stripped)
}

/// Most texts have none, and are not looked at again.
fn has_controls(text: &str, overwritten: bool) -> bool {
    let bytes = text.as_bytes();
    let escape = memchr::memchr(0x1b, bytes).is_some();
    let is_c1 = |at: usize| matches!(bytes[at + 1], 0x90 | 0x98 | 0x9b | 0x9d..=0x9f);
    let c1 = || memchr::memchr_iter(0xc2, bytes).any(is_c1);
    let is_over = |at: usize| bytes[at] == 0x08 || bytes.get(at + 1) != Some(&b'\n');
    let over = || memchr::memchr2_iter(b'\r', 0x08, bytes).any(is_over);
    escape || c1() || overwritten && over()
}

/// Leaves sequences out.
fn remove(line: &str, stripped: &mut String) {
    let (mut kept, mut at) = (0, 0);
    while let Some(found) = memchr::memchr2(0x1b, 0xc2, &line.as_bytes()[at..]) {
        at += found;
        match sequence::read(&line[at..]) {
            Some((_, length)) => {
                stripped.push_str(&line[kept..at]);
                at += length;
                kept = at;
            }
            // A letter of two bytes.
            None => at += 2,
        }
    }
    stripped.push_str(&line[kept..]);
}

/// Writes a line as a terminal does, letter by letter.
fn play(line: &str, stripped: &mut String) {
    let mut screen = ScreenLine::default();
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        if let Some((sequence, length)) = sequence::read(rest) {
            if let Sequence::EraseLine(part) = sequence {
                screen.erase(part);
            }
            rest = &rest[length..];
            continue;
        }
        match letter {
            '\r' => screen.home(),
            '\u{8}' => screen.back(),
            letter => screen.write(letter),
        }
        rest = &rest[letter.len_utf8()..];
    }
    stripped.extend(screen.into_letters());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        strip(text, true).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn a_text_is_what_a_screen_would_show() {
        for (text, expected) in [
            ("\x1b[1m\x1b[32m   Compiling\x1b[0m x v0.1.0\n", "   Compiling x v0.1.0\n"),
            ("\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
            ("10%\r 50%\r100%\ndone\n", "100%\ndone\n"),
            ("100%\r5", "500%"),
            ("downloading...\r\x1b[Kdone", "done"),
            ("downloading\x1b[2K\rdone", "done"),
            ("abc\x1b[2Kd\re", "e  d"),
            ("abcd\u{8}\u{8}\x1b[1Kx", "  xd"),
            ("ab\u{8}\u{8}cd", "cd"),
            ("\u{8}a", "a"),
            ("one\r\ntwo\r\n", "one\r\ntwo\r\n"),
            ("one\r\r\ntwo", "one\r\ntwo"),
            ("\u{9b}31mred", "red"),
            ("caf\u{e9} \u{a0}\x1b[0m", "caf\u{e9} \u{a0}"),
            ("\x1b]0;never ends, and hides nothing", "]0;never ends, and hides nothing"),
            ("", ""),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_without_controls_is_left_alone() {
        for text in ["", "plain", "one\r\ntwo\n", "caf\u{e9} \u{a0}", "tab\t"] {
            assert_eq!(strip(text, true), None, "{text:?}");
        }
        assert_eq!(strip("10%\r20%", false), None);
    }

    proptest::proptest! {
        #[test]
        fn sequences_go_and_nothing_else_does(
            parts in proptest::collection::vec((
                "[a-z \u{e9}\u{a0}]{0,8}\n?",
                proptest::sample::select(vec!["", "\x1b[0m", "\x1b[38;5;1m", "\x1b]0;t\x07", "\u{9b}1m", "\x1b(B"]),
            ), 0..20),
        ) {
            let plain: String = parts.iter().map(|(text, _)| text.as_str()).collect();
            let text: String = parts.iter().flat_map(|(text, sequence)| [text.as_str(), sequence]).collect();
            proptest::prop_assert_eq!(shown(&text), plain);
        }

        #[test]
        fn any_text_is_stripped_without_a_panic_and_keeps_its_lines(
            text in "[\x1b\u{8}\r\n\\[\\]0-9;Ka-c\u{9b}\u{9c}\u{7}\u{e9}]{0,60}",
            overwritten: bool,
        ) {
            if let Some(stripped) = strip(&text, overwritten) {
                // A string that ends may span lines only where no line ends within it.
                proptest::prop_assert_eq!(stripped.matches('\n').count(), text.matches('\n').count());
            }
        }
    }
}
